"""One training as a search runs it: fitted, timed, measured, all in one call that any process can make.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.model_selection.jobs import Part
>>> from directranker.rankers import RankSVM
>>> train, test = Part("all", tuple(range(60))), Part("all", tuple(range(60, 90)))
>>> fit = Fit(RankSVM(), "RankSVM", {}, 0, train, None, test, ("ndcg@10", "map"))
>>> one, other = run_fit(fit, {"ndcg@10": "a", "map": "b"}, {"all": example_dataset()}, threads=1)
>>> one.key, one.metric, other.metric, 0.5 < one.score < 1
('a', 'ndcg@10', 'map', True)
"""

from __future__ import annotations

import inspect
import json
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from directranker.data.dataset import RankingDataset
from directranker.errors import FitError, TrainingWarning
from directranker.metrics import evaluate_per_query
from directranker.metrics.metric import mean_over_queries
from directranker.model_selection.diagnostics import collect_diagnostics
from directranker.model_selection.jobs import Fit, configured
from directranker.model_selection.store import JobResult
from directranker.model_selection.threads import with_threads
from directranker.rankers import Ranker
from directranker.training.interrupts import raise_interrupts

__all__ = ["fit_by_query", "predict_by_query", "run_fit", "shortened", "without_bar"]

# What makes a fit long, and what it may be in one that only compiles kernels.
_warm: set[str] = set()


def run_fit(
    fit: Fit, keys: Mapping[str, str], data: Mapping[str, RankingDataset], *, threads: int
) -> list[JobResult]:
    """Train, measure and give a cell per metric.

    Raises
    ------
    FitError
        Where the training or the measuring fails; it says which one it was.
    KeyboardInterrupt
        Also where the ranker itself would keep the best so far after Ctrl-C: that is no result.

    """
    try:
        with warnings.catch_warnings():
            # A search has too many trainings to tell how each of them ended.
            warnings.simplefilter("ignore", TrainingWarning)
            return _cells(fit, keys, data, threads)
    except FitError:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise FitError(f"the training of {fit} failed: {problem} (finished cells are kept)") from error


def _cells(
    fit: Fit, keys: Mapping[str, str], data: Mapping[str, RankingDataset], threads: int
) -> list[JobResult]:
    estimator = without_bar(with_threads(configured(fit.ranker, fit.parameters, fit.seed), threads))
    train, test = fit.train.of(data), fit.test.of(data)
    validation = None if fit.validation is None else fit.validation.of(data)
    with raise_interrupts():
        _warm_up(estimator, train.n_features, validated=validation is not None)
    start = time.perf_counter()
    with raise_interrupts():
        fit_by_query(estimator, train, validation)
    fitted = time.perf_counter()
    scores = predict_by_query(estimator, test)
    scored = time.perf_counter()
    values = evaluate_per_query(
        test.relevance, scores, offsets=test.offsets, metrics=fit.metrics, convention=fit.convention
    )
    look = collect_diagnostics(estimator, test, scores, fit.shown) if fit.shown else None
    return [
        JobResult(
            key=keys[metric],
            data=fit.train.data,
            fold=fit.fold,
            ranker=fit.name,
            parameters={name: in_json(value) for name, value in fit.parameters.items()},
            inner_fold=fit.inner_fold,
            metric=metric,
            seed=fit.seed,
            score=mean_over_queries(values[metric]),
            per_query=values[metric] if fit.keep_queries else None,
            fit_seconds=fitted - start,
            score_seconds=scored - fitted,
            n_train=train.n_documents,
            n_test=test.n_documents,
            threads=threads,
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            look=look,
        )
        for metric in fit.metrics
    ]


def fit_by_query(estimator: Any, train: RankingDataset, validation: RankingDataset | None = None) -> Any:
    """Fit on a data set; queries reach whoever takes `qid`, also within a pipeline.

    `validation` is handed as `eval_set` to estimators whose `fit` names it. The last step of a pipeline gets
    it as the steps before, fitted on `train` alone, transform it; not where the pipeline has a `memory`.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from directranker.data.synthetic import example_dataset
    >>> from directranker.encoding import QueryMinMax
    >>> from directranker.rankers import RankSVM
    >>> data = example_dataset().select(range(20))
    >>> for one in (RankSVM(), make_pipeline(QueryMinMax(), RankSVM()), make_pipeline(Ridge()), Ridge()):
    ...     len(predict_by_query(fit_by_query(one, data), data)) == data.n_documents
    True
    True
    True
    True
    """
    if validation is None:
        return _with_queries(estimator.fit, train, train.features, train.relevance)
    last, features, unseen = estimator, train.features, validation.features
    if isinstance(estimator, Pipeline) and estimator.memory is None:
        last = estimator[-1]  # the step itself, no copy, as those before
        if len(estimator) > 1:
            features = _with_queries(estimator[:-1].fit_transform, train, features, train.relevance)
            unseen = _with_queries(estimator[:-1].transform, validation, unseen)
    _with_queries(last.fit, train, features, train.relevance, **_eval_set(last, validation, unseen))
    return estimator


def _eval_set(estimator: Any, validation: RankingDataset, features: Any) -> dict[str, Any]:
    if "eval_set" not in inspect.signature(estimator.fit).parameters:
        return {}
    return {"eval_set": (features, validation.relevance, query_numbers(validation))}


def predict_by_query(estimator: Any, data: RankingDataset) -> NDArray[Any]:
    """Scores of all documents, query by query."""
    return np.asarray(_with_queries(estimator.predict, data, data.features))


def _with_queries(method: Callable[..., Any], data: RankingDataset, *arguments: Any, **options: Any) -> Any:
    """Call it with `qid` where it takes one, by its own name or by scikit-learn's routing."""
    named = "qid" in inspect.signature(method).parameters
    with nullcontext() if named else config_context(enable_metadata_routing=True):
        if named or _is_routed(method):
            options["qid"] = query_numbers(data)
        return method(*arguments, **options)


def _is_routed(method: Any) -> bool:
    """Whether something within the estimator asks for the queries."""
    owner = method.__self__
    if not hasattr(owner, "get_metadata_routing"):
        return False
    return bool(owner.get_metadata_routing().consumes(method.__name__, ["qid"]))


def query_numbers(data: RankingDataset) -> NDArray[np.int64]:
    """The number of each document's query; ids are not in a cell's key, so no ranker sees them."""
    return np.repeat(np.arange(data.n_queries), np.diff(data.offsets))


def without_bar(estimator: Any) -> Any:
    """Set it to show no progress of its own; many trainings share one bar.

    >>> from directranker.rankers import AdaRank, Ensemble
    >>> without_bar(Ensemble(AdaRank())).get_params()["ranker__progress"]
    False
    """
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "progress"]
    return estimator.set_params(**dict.fromkeys(names, False))


def _warm_up(estimator: Any, n_features: int, *, validated: bool) -> None:
    """Compile what a first fit of a ranker with such words would, so that no measured time holds it."""
    parameters = estimator.get_params()
    if not any(isinstance(part, Ranker) for part in (estimator, *parameters.values())):
        return
    words = {name: str(value) for name, value in parameters.items() if isinstance(value, str | bool)}
    kind = json.dumps([str(type(estimator)), words, validated], sort_keys=True)
    if kind in _warm:
        return
    _warm.add(kind)
    made_up = _made_up(n_features)
    try:
        brief = shortened(estimator)
        predict_by_query(fit_by_query(brief, made_up, made_up if validated else None), made_up)
    except Exception:  # the real fit will tell what is wrong
        return


def shortened(estimator: Any) -> Any:
    """A clone whose fit is just long enough to call every kernel.

    >>> from directranker.rankers import AdaRank, Ensemble
    >>> shortened(Ensemble(AdaRank(), 9))
    Ensemble(n_estimators=2, ranker=AdaRank(max_iter=2))
    """
    brief = clone(estimator)
    for ranker in (brief, *brief.get_params().values()):
        if isinstance(ranker, Ranker):
            present = {key for key, value in ranker.get_params(deep=False).items() if value is not None}
            cheap = {key: value for key, value in ranker._warm_up_parameters.items() if key in present}
            ranker.set_params(**cheap)
    return brief


def _made_up(n_features: int) -> RankingDataset:
    """Queries enough for teachers and trials of encodings; a third of the documents is scored by kernels."""
    n_queries, length = 40, 156
    relevance = np.tile(np.repeat([0.0, 1.0, 2.0], length // 3), n_queries)
    features = np.random.default_rng(0).normal(size=(len(relevance), n_features)).astype(np.float32)
    features[:, :1] += relevance[:, None]
    return RankingDataset(features, relevance, np.arange(n_queries + 1) * length, np.arange(n_queries))


def in_json(value: Any) -> Any:
    """A parameter as JSON can hold it; what it cannot, in words.

    >>> in_json((64, 32)), in_json(np.float32(0.5)), in_json(dict)
    ([64, 32], 0.5, "<class 'dict'>")
    """
    try:
        return json.loads(json.dumps(value, default=_plain))
    except (TypeError, ValueError):
        return repr(value)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)
