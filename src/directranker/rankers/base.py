"""The base class of all rankers.

A ranker is a scikit-learn estimator. `fit(X, y, qid=…)` trains it, `predict(X)` returns scores, higher is
better, `rank` the rank within each query, `compare(A, B)` the ranking function r row by row, and `score` the
mean NDCG@10 in the paper's convention. `input_validation.py` describes what X, y and qid can be.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from directranker.arrays import Features, Float32Array, FloatArray, IntArray, query_of_rows
from directranker.data.dataset import RankingDataset
from directranker.data.grouping import resolve_query_ids
from directranker.errors import QueryWarning, warn_caller
from directranker.metrics import Metric
from directranker.metrics.constant_metrics import explain_constant_metric
from directranker.metrics.metric import mean_over_queries
from directranker.parameters import SEED, Constraint, check_parameters
from directranker.rankers.contract import RankerContract
from directranker.rankers.finite_scores import check_scores, saturate
from directranker.rankers.input_validation import (
    EvalSet,
    InputValidation,
    average_weight_by_query,
    encode_query_ids,
)
from directranker.training.data import TrainingData

__all__ = ["EvalSet", "Ranker", "as_metric", "as_seed"]


class Ranker(RankerContract, InputValidation, BaseEstimator, ABC):  # type: ignore[misc]
    """The base class of all rankers. A subclass implements `_fit` and `_scores` on validated data."""

    _rules: ClassVar[Mapping[str, Constraint]] = {}
    """The valid values of parameters, by name; other parameters are validated where they are used."""

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - scikit-learn's name and form
    __metadata_request__predict = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    def fit(
        self,
        X: object,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: EvalSet = None,
    ) -> Self:
        """Fit the ranker to labelled documents.

        Parameters
        ----------
        X
            Features, one row per document: an array or a pandas or polars table; or a `RankingDataset`.
        y
            Labels; higher is more relevant.
        qid
            The query of each row. By default the index of X if it is named `qid`, else all rows are one
            query.
        sample_weight
            One weight per row, or one per query in the order in which queries first appear. For a
            `RankingDataset` both are in its own order: `sample_weight[i]` is the weight of
            `X.relevance[i]`.
        eval_set
            The validation split of early stopping, never trained on: a data set, (X, y) or (X, y, qid). With
            `early_stopping=False` its metric is only recorded.

        """
        data = self._validate_training_data(X, y, qid, sample_weight)
        validation = None if eval_set is None else self._validate_eval_set(eval_set)
        self._check_and_fit(data, validation)
        self.n_queries_ = data.n_queries
        return self

    def predict(self, X: object, *, qid: ArrayLike | None = None) -> Float32Array:
        """Return a score per row, in the order of X; higher is more relevant.

        Scores of a data set are in its own order, as its labels are; `data.to_source_order(scores)` returns
        them in the order of the table that it was made from. `qid` matters to per-query transforms only.

        Scores are finite: scores beyond the range of float32 become its largest number. A row that has no
        score, for example because a missing value is not filled in, raises a `DataError`.
        """
        check_is_fitted(self)
        table = self._validate_features(X, reset=False)
        if isinstance(X, RankingDataset):
            return self._finite_scores(table, query_of_rows(X.offsets))
        return self._finite_scores(table, encode_query_ids(resolve_query_ids(X, qid), len(table)))

    def rank(self, X: object, *, qid: ArrayLike | None = None) -> IntArray:
        """Return the rank of each row within its query, 1 for the best; ties keep the input order."""
        if isinstance(X, RankingDataset):
            qid = query_of_rows(X.offsets)  # numbers are grouped faster than strings
        qid = resolve_query_ids(X, qid)
        scores = self.predict(X, qid=qid)
        codes = encode_query_ids(qid, len(scores))
        order = np.lexsort((-scores.astype(np.float64), codes))
        ranks = np.empty(len(scores), dtype=np.int64)
        starts = np.searchsorted(codes[order], codes[order])
        ranks[order] = np.arange(len(scores)) - starts + 1
        return ranks

    def compare(self, A: object, B: object) -> FloatArray:
        """Return the ranking function r(a, b) row by row: positive where a ranks before b, 0 where equal.

        r is computed from one score per document, which has the same bits in any batch. So r is exactly odd
        and transitive, and agrees with `rank`. Where scores depend on the other documents of the query, all
        rows of A and B count as one query.
        """
        first, second = self._validate_comparison(A, B)
        return self._compare(*self._score_as_one_query(first, second))

    def _validate_comparison(self, A: object, B: object) -> tuple[Features, Features]:
        check_is_fitted(self)
        first, second = (self._validate_features(X, reset=False) for X in (A, B))
        if len(first) != len(second):
            raise ValueError(f"A has {len(first)} rows and B has {len(second)}; give as many rows in both")
        return first, second

    def _score_as_one_query(self, first: Features, second: Features) -> tuple[FloatArray, FloatArray]:
        """Score two tables whose rows all belong to one query."""
        query = np.zeros(len(first), dtype=np.int64)
        one, other = (self._finite_scores(table, query).astype(np.float64) for table in (first, second))
        return one, other

    def score(
        self,
        X: object,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean NDCG@10 in the paper's convention.

        Labels of at least 1 are relevant, and queries without a relevant document are skipped. With weights,
        per row or per query, the weight of a query is the mean over its rows.
        """
        qid = resolve_query_ids(X, qid)
        scores = self.predict(X, qid=qid)
        if isinstance(X, RankingDataset):
            y, qid = X.relevance, query_of_rows(X.offsets)
        elif qid is None:
            self._warn_without_queries()
        if y is None:
            raise TypeError("score needs labels: give y, or a RankingDataset")
        metric = Metric.parse("ndcg@10", convention="paper")
        problem = explain_constant_metric(metric, y, qid=qid)
        if problem is not None:
            warn_caller(f"the score is meaningless: {problem}", UserWarning)
        values = metric.per_query(y, scores, qid=qid)
        weights = None if sample_weight is None else average_weight_by_query(sample_weight, qid, len(scores))
        return mean_over_queries(values, weights)

    def _warn_without_queries(self) -> None:
        """Warn once if the ranker was fitted with queries: scikit-learn calls `score` without them."""
        if getattr(self, "n_queries_", 1) == 1 or getattr(self, "_warned_without_queries", False):
            return
        self._warned_without_queries = True
        warn_caller(
            f"{type(self).__name__} was fitted with queries but is scored without them, so all rows count as "
            "one query; pass qid=…. Where scikit-learn calls score, make the query ids the index of the "
            "table, X.set_index('qid'), or enable metadata routing and pass params={'qid': qid}. If the rows "
            "are one query, pass qid=[0] * len(X)",
            QueryWarning,
        )

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted ranker to a folder that `load_ranker` reads."""
        from directranker.persistence import save_ranker  # noqa: PLC0415 - import cycle

        check_is_fitted(self)
        save_ranker(self, folder, overwrite=overwrite)

    def _check_and_fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        """Check the parameters and fit."""
        check_parameters(self, self._rules)
        self._fit(data, validation)

    @abstractmethod
    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _scores(self, table: Features, query: IntArray) -> FloatArray | Float32Array:
        """Return a float32 or float64 score per row; `query` is the query number of each row."""

    def _finite_scores(self, table: Features, query: IntArray) -> Float32Array:
        """Return a finite score per row, or raise for the first row without one."""
        scores = saturate(self._scores(table, query))
        check_scores(scores, table, getattr(self, "feature_names_in_", None))
        return scores

    def _compare(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return first - second

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def as_seed(random_state: object) -> int:
    """Return a seed from None, an int, a NumPy generator or a RandomState.

    >>> as_seed(7)
    7
    """
    SEED.check("random_state", random_state)
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(random_state)  # type: ignore[call-overload, no-any-return]


def as_metric(metric: str | Metric) -> Metric:
    """Return a metric, or parse its name in the paper's convention.

    >>> str(as_metric("map")), str(as_metric("map:trec"))
    ('map:paper', 'map:trec')
    """
    return metric if isinstance(metric, Metric) else Metric.parse(metric, convention="paper")
