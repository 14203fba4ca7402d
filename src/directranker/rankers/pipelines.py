"""Data sets through any scikit-learn estimator: a ranker, or a pipeline with a ranker at its end.

A pipeline gets the features of a data set as the table that it was made from: a pandas frame with the values
of categories, or an array where the features have no names of their own. `qid` reaches each step that takes
it; it is also the `groups` of steps that cross-validate, such as `TargetEncoder(cv=GroupKFold())`.

>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset().select(range(20))
>>> pipeline = make_pipeline(StandardScaler(), RankSVM(transform="none"))
>>> predict_by_query(fit_by_query(pipeline, data), data).shape == (data.n_documents,)
True
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from directranker.arrays import query_of_rows
from directranker.data.dataset import RankingDataset
from directranker.data.feature_frames import has_own_names, read_feature_frame
from directranker.encoding.adapters import is_routed, takes_qid
from directranker.rankers.base import Ranker

__all__ = ["fit_by_query", "get_ranker", "predict_by_query"]


def get_ranker(estimator: BaseEstimator) -> BaseEstimator:
    """Return the estimator that scores: the last step of a pipeline, or the estimator itself.

    >>> from directranker.rankers import RankSVM
    >>> get_ranker(Pipeline([("rank", RankSVM())]))
    RankSVM()
    """
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def fit_by_query(
    estimator: BaseEstimator, train: RankingDataset, validation: RankingDataset | None = None
) -> BaseEstimator:
    """Fit an estimator on a data set; pass `qid` to every estimator that takes it, also within a pipeline.

    `validation` is passed as `eval_set` to estimators whose `fit` takes it. The last step of a pipeline gets
    it transformed by the steps before, which are fitted on `train` alone. A pipeline with a `memory` gets no
    `eval_set`.

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
    if isinstance(estimator, Ranker) and has_own_names(train):
        takes_validation = validation is not None and _takes_eval_set(estimator)
        return estimator.fit(train, eval_set=validation) if takes_validation else estimator.fit(train)
    if isinstance(estimator, Pipeline) and estimator.memory is None and len(estimator) > 1:
        steps = estimator[:-1]  # the steps themselves, not copies
        features = _call_with_qid(steps.fit_transform, train, read_feature_frame(train), train.relevance)
        eval_set = _build_eval_set(estimator[-1], validation, steps)
        _call_with_qid(estimator[-1].fit, train, features, train.relevance, **eval_set)
        return estimator
    last = estimator[-1] if isinstance(estimator, Pipeline) and estimator.memory is None else estimator
    eval_set = _build_eval_set(last, validation)
    _call_with_qid(last.fit, train, read_feature_frame(train), train.relevance, **eval_set)
    return estimator


def _build_eval_set(
    estimator: BaseEstimator, validation: RankingDataset | None, steps: Pipeline | None = None
) -> dict[str, object]:
    """Return the argument `eval_set` of an estimator that takes it, after these steps."""
    if validation is None or not _takes_eval_set(estimator):
        return {}
    features = read_feature_frame(validation)
    if steps is not None:
        features = _call_with_qid(steps.transform, validation, features)
    return {"eval_set": (features, validation.relevance, query_of_rows(validation.offsets))}


def _takes_eval_set(estimator: BaseEstimator) -> bool:
    return "eval_set" in inspect.signature(estimator.fit).parameters


def predict_by_query(estimator: BaseEstimator, data: RankingDataset) -> NDArray[Any]:
    """Predict the scores of all documents; pass `qid` to every estimator that takes it."""
    if isinstance(estimator, Ranker) and has_own_names(data):
        return estimator.predict(data)
    return np.asarray(_call_with_qid(estimator.predict, data, read_feature_frame(data)))


def _call_with_qid(
    method: Callable[..., Any], data: RankingDataset, *arguments: object, **options: Any
) -> Any:
    """Call a method, with `qid` if it takes one by name or by scikit-learn's metadata routing."""
    # Indices, not ids: ids are not part of a job's key, so rankers must not see them.
    query = query_of_rows(data.offsets)
    if takes_qid(method):
        return method(*arguments, qid=query, **options)
    with config_context(enable_metadata_routing=True):
        # `groups` is for a TargetEncoder with cv=GroupKFold().
        routed = {name: query for name in ("qid", "groups") if is_routed(method, name)}
        if routed:
            return method(*arguments, **routed, **options)
    return method(*arguments, **options)
