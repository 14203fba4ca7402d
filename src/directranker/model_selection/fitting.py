"""One fit of a search: train, time and evaluate a ranker in one call that any process can run.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.model_selection.jobs import QuerySubset
>>> from directranker.rankers import RankSVM
>>> train, test = QuerySubset("all", tuple(range(60))), QuerySubset("all", tuple(range(60, 90)))
>>> fit = Fit(RankSVM(), "RankSVM", {}, 0, train, None, test, ("ndcg@10", "map"))
>>> first, second = run_fit(fit, {"ndcg@10": "a", "map": "b"}, {"all": example_dataset()}, threads=1)
>>> first.key, first.metric, second.metric, 0.5 < first.score < 1
('a', 'ndcg@10', 'map', True)
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
from sklearn.base import BaseEstimator, clone

from directranker.data.dataset import RankingDataset
from directranker.errors import FitError, TrainingWarning
from directranker.metrics import evaluate_per_query
from directranker.metrics.metric import mean_over_queries
from directranker.model_selection.diagnostics import collect_diagnostics
from directranker.model_selection.jobs import Fit, configure_ranker
from directranker.model_selection.store import JobResult
from directranker.model_selection.threads import limit_n_jobs
from directranker.rankers import Ranker
from directranker.rankers.pipelines import fit_by_query, predict_by_query
from directranker.training.interrupts import raise_interrupts

__all__ = [
    "disable_progress_bars",
    "run_fit",
    "shorten_training",
    "to_json",
]

_warmed_up: set[str] = set()
"""Estimator classes and settings whose kernels this process has compiled."""


def run_fit(
    fit: Fit, keys: Mapping[str, str], data: Mapping[str, RankingDataset], *, threads: int
) -> list[JobResult]:
    """Train and evaluate; return a result per metric.

    Raises
    ------
    FitError
        If the training or the evaluation fails; the message names the fit.
    KeyboardInterrupt
        On Ctrl-C, even if the ranker itself would keep its best state so far: that is not a result.

    """
    try:
        with warnings.catch_warnings():
            # A search has too many fits to warn how each of them ended.
            warnings.simplefilter("ignore", TrainingWarning)
            return _train_and_evaluate(fit, keys, data, threads)
    except FitError:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise FitError(f"the training of {fit} failed: {problem} (finished jobs are kept)") from error


def _train_and_evaluate(
    fit: Fit, keys: Mapping[str, str], data: Mapping[str, RankingDataset], threads: int
) -> list[JobResult]:
    estimator = configure_ranker(fit.ranker, fit.parameters, fit.seed)
    estimator = disable_progress_bars(limit_n_jobs(estimator, threads))
    train, test = fit.train.select(data), fit.test.select(data)
    validation = None if fit.validation is None else fit.validation.select(data)
    with raise_interrupts():
        _warm_up(estimator, train, with_validation=validation is not None)
    start = time.perf_counter()
    with raise_interrupts():
        fit_by_query(estimator, train, validation)
    fit_end = time.perf_counter()
    scores = predict_by_query(estimator, test)
    score_end = time.perf_counter()
    values = evaluate_per_query(
        test.relevance, scores, offsets=test.offsets, metrics=fit.metrics, convention=fit.convention
    )
    examples = fit.example_queries
    diagnostics = collect_diagnostics(estimator, test, scores, examples) if examples else None
    return [
        JobResult(
            key=keys[metric],
            data=fit.train.data,
            fold=fit.fold,
            ranker=fit.name,
            parameters={name: to_json(value) for name, value in fit.parameters.items()},
            inner_fold=fit.inner_fold,
            metric=metric,
            seed=fit.seed,
            score=mean_over_queries(values[metric]),
            per_query=values[metric] if fit.keep_per_query else None,
            fit_seconds=fit_end - start,
            score_seconds=score_end - fit_end,
            n_train=train.n_documents,
            n_test=test.n_documents,
            threads=threads,
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            diagnostics=diagnostics,
        )
        for metric in fit.metrics
    ]


def disable_progress_bars(estimator: BaseEstimator) -> BaseEstimator:
    """Set every parameter `progress` to False: a search shows one bar for all fits.

    >>> from directranker.rankers import AdaRank, Ensemble
    >>> disable_progress_bars(Ensemble(AdaRank())).get_params()["ranker__progress"]
    False
    """
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "progress"]
    return estimator.set_params(**dict.fromkeys(names, False))


def _warm_up(estimator: BaseEstimator, train: RankingDataset, *, with_validation: bool) -> None:
    """Compile the kernels that a fit with these settings calls, so that no measured time includes it."""
    parameters = estimator.get_params()
    if not any(isinstance(one, Ranker) for one in (estimator, *parameters.values())):
        return
    settings = {name: str(value) for name, value in parameters.items() if isinstance(value, str | bool)}
    key = json.dumps([str(type(estimator)), settings, with_validation], sort_keys=True)
    if key in _warmed_up:
        return
    _warmed_up.add(key)
    data = _make_warm_up_data(train)
    try:
        short = shorten_training(estimator)
        predict_by_query(fit_by_query(short, data, data if with_validation else None), data)
    except Exception:  # the real fit will raise
        return


def shorten_training(estimator: BaseEstimator) -> BaseEstimator:
    """Return a clone whose fit is just long enough to call every kernel.

    >>> from directranker.rankers import AdaRank, Ensemble
    >>> shorten_training(Ensemble(AdaRank(), 9))
    Ensemble(n_estimators=2, ranker=AdaRank(max_iter=2))
    """
    short = clone(estimator)
    for ranker in (short, *short.get_params().values()):
        if isinstance(ranker, Ranker):
            present = {key for key, value in ranker.get_params(deep=False).items() if value is not None}
            cheap = {key: value for key, value in ranker._warm_up_parameters.items() if key in present}
            ranker.set_params(**cheap)
    return short


def _make_warm_up_data(like: RankingDataset) -> RankingDataset:
    """Make data with these columns, large enough for distillation, the choice of an encoding and scoring."""
    n_queries, length = 40, 156
    relevance = np.tile(np.repeat([0.0, 1.0, 2.0], length // 3), n_queries)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(len(relevance), like.n_features)).astype(np.float32)
    features[:, :1] += relevance[:, None]
    for name, values in like.categories.items():
        features[:, like.feature_names.index(name)] = rng.integers(max(1, len(values)), size=len(relevance))
    return RankingDataset(
        features,
        relevance,
        offsets=np.arange(n_queries + 1) * length,
        query_ids=np.arange(n_queries),
        feature_names=like.feature_names,
        categories=like.categories,
        columns=like.columns,
    )


def to_json(value: object) -> object:
    """Convert a parameter to a JSON value; return its `repr` if JSON cannot represent it.

    >>> to_json((64, 32)), to_json(np.float32(0.5)), to_json(dict)
    ([64, 32], 0.5, "<class 'dict'>")
    """
    try:
        return json.loads(json.dumps(value, default=_to_serialisable))
    except (TypeError, ValueError):
        return repr(value)


def _to_serialisable(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)
