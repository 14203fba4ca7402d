"""Candidates that Optuna suggests, each in the light of how good those before it were.

Bergstra et al., Algorithms for Hyper-Parameter Optimization, 2011 (TPE). Each metric has a study of its own.
The sampler is seeded and candidates come one after another, so the same call suggests the same ones, and what
is stored is not trained again. Of a distribution, the quantile is searched, so any of `scipy.stats` will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from directranker.model_selection.candidates import is_distribution
from directranker.model_selection.cross_validation import CrossValidation, Table, measure
from directranker.model_selection.digests import describe, digest_of
from directranker.model_selection.progress import Report, Tally
from directranker.model_selection.running import Runner
from directranker.model_selection.search_result import best_candidate

__all__ = ["search_with_optuna"]

OUTERMOST = 1e-6  # the quantiles of the least and the greatest value; 0 and 1 may be infinite


def search_with_optuna(
    validation: CrossValidation,
    grids: Sequence[Mapping[str, Any]],
    n_candidates: int,
    runner: Runner,
    report: Report | None,
) -> tuple[list[dict[str, Any]], dict[str, Table], dict[str, int]]:
    """The candidates of all metrics, each metric's table and its best candidate."""
    tally = Tally(n_candidates * len(validation.metrics) * len(validation.splits), report)
    candidates: list[dict[str, Any]] = []
    numbers: dict[str, list[int]] = {}
    for metric in validation.metrics:
        numbers[metric] = []
        for study, trial in _trials(n_candidates, validation.seed):
            candidate = _suggested(trial, grids)
            number = _number(candidate, candidates)
            numbers[metric].append(number)
            table = measure(validation, candidates, {metric: [number]}, runner, tally)[metric]
            mean = table.means[number]
            study.tell(trial, None if np.isnan(mean) else mean, state=_state(failed=bool(np.isnan(mean))))
    tables = measure(validation, candidates, numbers, runner, Tally(0, None))
    best = {metric: best_candidate(table.means, metric) for metric, table in tables.items()}
    return candidates, tables, best


def _trials(n: int, seed: int) -> Iterator[tuple[Any, Any]]:
    optuna = _optuna()
    with _quiet(optuna):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for _ in range(n):
        yield study, study.ask()


def _optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("method='optuna' needs Optuna: pip install 'directranker[optuna]'") from None
    return optuna


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _state(*, failed: bool) -> Any:
    states = _optuna().trial.TrialState
    return states.FAIL if failed else states.COMPLETE


def _suggested(trial: Any, grids: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A point of one of the grids."""
    which = trial.suggest_categorical("grid", list(range(len(grids)))) if len(grids) > 1 else 0
    return {name: _value(trial, f"{which} {name}", values) for name, values in grids[which].items()}


def _value(trial: Any, name: str, values: Any) -> Any:
    if not is_distribution(values):
        # By number: Optuna takes no tuples or objects.
        return values[trial.suggest_categorical(name, list(range(len(values))))]
    value = values.ppf(trial.suggest_float(name, OUTERMOST, 1 - OUTERMOST))
    return int(value) if hasattr(values.dist, "pmf") else float(value)


def _number(candidate: dict[str, Any], candidates: list[dict[str, Any]]) -> int:
    """Its place among the candidates, where it is put if it is new."""
    words = digest_of(describe(candidate))
    for number, other in enumerate(candidates):
        if digest_of(describe(other)) == words:
            return number
    candidates.append(candidate)
    return len(candidates) - 1
