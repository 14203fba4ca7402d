"""Search with Optuna, which suggests each candidate from the scores of those before it.

Bergstra et al., Algorithms for Hyper-Parameter Optimization, 2011 (TPE). Each metric has its own study. The
sampler is seeded and suggests one candidate at a time, so the same call suggests the same candidates, and
stored results are reused. For a distribution, Optuna searches its quantile; any of `scipy.stats` works.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from directranker.model_selection.candidates import is_distribution
from directranker.model_selection.cross_validation import CrossValidation, ScoreTable, evaluate_candidates
from directranker.model_selection.digests import compute_digest, describe
from directranker.model_selection.progress import ProgressCallback, ProgressTracker
from directranker.model_selection.running import Runner
from directranker.model_selection.search_result import select_best_candidate

__all__ = ["search_with_optuna"]

MIN_QUANTILE = 1e-6  # the quantiles 0 and 1 may be infinite


def search_with_optuna(
    validation: CrossValidation,
    grids: Sequence[Mapping[str, object]],
    n_candidates: int,
    runner: Runner,
    progress: ProgressCallback | None,
) -> tuple[list[dict[str, object]], dict[str, ScoreTable], dict[str, int]]:
    """Return the candidates of all metrics, each metric's table and its best candidate."""
    tracker = ProgressTracker(n_candidates * len(validation.metrics) * len(validation.splits), progress)
    candidates: list[dict[str, Any]] = []
    indices: dict[str, list[int]] = {}
    for metric in validation.metrics:
        indices[metric] = []
        for study, trial in _ask_trials(n_candidates, validation.seed):
            index = _find_or_append(_suggest_candidate(trial, grids), candidates)
            indices[metric].append(index)
            table = evaluate_candidates(validation, candidates, {metric: [index]}, runner, tracker)[metric]
            mean = table.means[index]
            has_failed = bool(np.isnan(mean))
            study.tell(trial, None if has_failed else mean, state=_trial_state(has_failed=has_failed))
    tables = evaluate_candidates(validation, candidates, indices, runner, ProgressTracker(0, None))
    best = {metric: select_best_candidate(table.means, metric) for metric, table in tables.items()}
    return candidates, tables, best


def _ask_trials(n: int, seed: int) -> Iterator[tuple[Any, Any]]:
    optuna = _import_optuna()
    with _silence_optuna(optuna):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for _ in range(n):
        yield study, study.ask()


def _import_optuna() -> ModuleType:
    try:
        import optuna  # noqa: PLC0415 - slow to import
    except ImportError:
        raise ImportError("method='optuna' needs Optuna: pip install 'directranker[optuna]'") from None
    module: ModuleType = optuna
    return module


@contextmanager
def _silence_optuna(optuna: Any) -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _trial_state(*, has_failed: bool) -> Any:
    states = _import_optuna().trial.TrialState
    return states.FAIL if has_failed else states.COMPLETE


def _suggest_candidate(trial: Any, grids: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Suggest a point of one of the grids."""
    which = trial.suggest_categorical("grid", list(range(len(grids)))) if len(grids) > 1 else 0
    return {name: _suggest_value(trial, f"{which} {name}", values) for name, values in grids[which].items()}


def _suggest_value(trial: Any, name: str, values: Any) -> Any:
    if not is_distribution(values):
        # By index: Optuna does not accept tuples or objects as categories.
        return values[trial.suggest_categorical(name, list(range(len(values))))]
    value = values.ppf(trial.suggest_float(name, MIN_QUANTILE, 1 - MIN_QUANTILE))
    return int(value) if hasattr(values.dist, "pmf") else float(value)


def _find_or_append(candidate: dict[str, object], candidates: list[dict[str, object]]) -> int:
    """Return the index of a candidate among the candidates; append it if it is new."""
    digest = compute_digest(describe(candidate))
    for index, other in enumerate(candidates):
        if compute_digest(describe(other)) == digest:
            return index
    candidates.append(candidate)
    return len(candidates) - 1
