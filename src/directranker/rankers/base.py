"""What every ranker promises, and the one place where its input is checked.

A ranker is a scikit-learn estimator. `fit(X, y, qid=…)` learns, `predict(X)` gives scores, higher is better,
`rank` the places within each query, `compare(A, B)` the ranking function r row by row, and `score` the mean
NDCG@10 in the paper's convention. Query ids come per row, ints or strings, in any order: as `qid`, or as the
index of a pandas table that is named `qid`. Without them all rows are one list. A `RankingDataset` may stand
wherever X, y and qid do; what has a value per row, weights and scores, is then in the data set's own order of
rows. For arrays and tables it is in the order of X.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from directranker.compilation import IntArray
from directranker.data.checking import Features, as_feature_names, as_relevance, check_finite, naming_columns
from directranker.data.dataset import RankingDataset
from directranker.data.grouping import group_by_query, means_of_queries, query_ids_of
from directranker.errors import DataError, QueryWarning, warn_caller
from directranker.metrics import Metric
from directranker.metrics.constant_metrics import explain_constant_metric
from directranker.metrics.metric import mean_over_queries
from directranker.parameters import SEED, Rule, check_parameters
from directranker.rankers.contract import RankerContract
from directranker.rankers.finite_scores import check_scores, saturated
from directranker.rankers.training_data import NOTHING_VARIES, TrainingData

__all__ = ["EvalSet", "Ranker", "as_metric", "as_seed"]

EvalSet = RankingDataset | tuple[Any, ...] | None
"""A data set, (X, y) or (X, y, qid): the part that early stopping looks at."""


class Ranker(RankerContract, BaseEstimator, ABC):  # type: ignore[misc]
    """The base of all rankers. A subclass learns in `_fit` and scores checked rows in `_scores`."""

    _rules: ClassVar[Mapping[str, Rule]] = {}
    """What parameters may be, by name; the others are checked where they are used."""

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - scikit-learn's name and form
    __metadata_request__predict = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: EvalSet = None,
    ) -> Self:
        """Learn from documents, their labels and the queries they belong to.

        Parameters
        ----------
        X
            Features, one row per document: an array or a pandas or polars table; or a `RankingDataset`.
        y
            Labels, the higher the more relevant.
        qid
            The query of each row; else the index of X, if it is named `qid`; else all rows are one list.
        sample_weight
            One per row, or one per query in the order in which queries first appear; for a `RankingDataset`
            both in its own order, so that `sample_weight[i]` is the weight of `X.relevance[i]`.
        eval_set
            Data for early stopping, never for learning: a data set or (X, y, qid). With
            `early_stopping=False` a ranker only records its metric.

        """
        data = self._training_data(X, y, qid, sample_weight)
        validation = None if eval_set is None else self._evaluation_data(eval_set)
        self._fit_checked(data, validation)
        self.n_queries_ = data.n_queries
        return self

    def predict(self, X: Any, *, qid: ArrayLike | None = None) -> NDArray[np.float32]:
        """Scores, one per row of X in its order; the higher, the more relevant.

        Those of a data set are in its own order, as its labels are; `data.to_source_order(scores)` are in
        the order of the table that it was made from. `qid` matters to per-query transforms only.

        Scores are finite: those beyond the range of float32 become its largest number, and a row that has no
        score, as where a missing value is not filled in, is a `DataError`.
        """
        check_is_fitted(self)
        if isinstance(X, RankingDataset):
            return self._checked_scores(self._table(X, reset=False), _query_numbers(X))
        table = self._table(X, reset=False)
        return self._checked_scores(table, group_codes(query_ids_of(X, qid), len(table)))

    def rank(self, X: Any, *, qid: ArrayLike | None = None) -> IntArray:
        """The place of each row within its query, from 1 for the best; equal scores in input order."""
        if isinstance(X, RankingDataset):
            qid = _query_numbers(X)  # sooner grouped than ids that are words
        qid = query_ids_of(X, qid)
        scores = self.predict(X, qid=qid)
        codes = group_codes(qid, len(scores))
        order = np.lexsort((-scores.astype(np.float64), codes))
        places = np.empty(len(scores), dtype=np.int64)
        starts = np.searchsorted(codes[order], codes[order])
        places[order] = np.arange(len(scores)) - starts + 1
        return places

    def compare(self, A: Any, B: Any) -> NDArray[np.float64]:
        """The ranking function r(a, b), row by row: positive where a ranks before b, 0 where equal.

        It is made of one score per document, which has the same bits in any batch; so r is odd and transitive
        to the bit, and agrees with `rank`.
        Where scores depend on the list that a document is in, all rows of both are one.
        """
        first, second = self._tables_to_compare(A, B)
        return self._compare(*self._scores_as_one_list(first, second))

    def _tables_to_compare(self, A: Any, B: Any) -> tuple[Features, Features]:
        check_is_fitted(self)
        first, second = (self._table(X, reset=False) for X in (A, B))
        if len(first) != len(second):
            raise ValueError(f"{len(first)} rows against {len(second)}; rows are compared one by one")
        return first, second

    def _scores_as_one_list(
        self, first: Features, second: Features
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The scores of two tables whose rows are all of one list."""
        one_list = np.zeros(len(first), dtype=np.int64)
        one, other = (self._checked_scores(table, one_list).astype(np.float64) for table in (first, second))
        return one, other

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """The mean NDCG@10 in the paper's convention: labels from 1 on relevant, queries without left out.

        With weights, per row or per query, a query counts by the mean weight of its rows.
        """
        qid = query_ids_of(X, qid)
        scores = self.predict(X, qid=qid)
        if isinstance(X, RankingDataset):
            y, qid = X.relevance, _query_numbers(X)
        elif qid is None:
            self._warn_of_one_list()
        if y is None:
            raise TypeError("score needs labels: give y, or a RankingDataset")
        metric = Metric.parse("ndcg@10", convention="paper")
        blindness = explain_constant_metric(metric, y, qid=qid)
        if blindness is not None:
            warn_caller(f"the score says nothing: {blindness}", UserWarning)
        values = metric.per_query(y, scores, qid=qid)
        return mean_over_queries(
            values, None if sample_weight is None else _query_means(sample_weight, qid, len(scores))
        )

    def _warn_of_one_list(self) -> None:
        """Warn once where it was fitted with queries: scikit-learn calls `score` without them."""
        if getattr(self, "n_queries_", 1) == 1 or getattr(self, "_warned_of_one_list", False):
            return
        self._warned_of_one_list = True
        warn_caller(
            f"{type(self).__name__} was fitted with queries but is scored without them, so all rows count as "
            "one list; pass qid=…. Where scikit-learn calls score, make the query ids the index of the table "
            "X.set_index('qid'), or switch on metadata routing and pass params={'qid': qid}. For rows of one "
            "query, pass qid=[0] * len(X)",
            QueryWarning,
        )

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted ranker to a folder that `load_ranker` reads."""
        from directranker.persistence import save_ranker  # noqa: PLC0415 - a layer above this one

        check_is_fitted(self)
        save_ranker(self, folder, overwrite=overwrite)

    def _fit_checked(self, data: TrainingData, validation: TrainingData | None) -> None:
        """Learn, unless a parameter is nonsense."""
        check_parameters(self, self._rules)
        self._fit(data, validation)

    @abstractmethod
    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _scores(self, table: Features, query: IntArray) -> NDArray[np.floating[Any]]:
        """Score rows, in float32 or float64; `query` is the number of each row's query."""

    def _checked_scores(self, table: Features, query: IntArray) -> NDArray[np.float32]:
        scores = saturated(self._scores(table, query))
        check_scores(scores, table, getattr(self, "feature_names_in_", None))
        return scores

    def _compare(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
        return first - second

    def _training_data(
        self, X: Any, y: ArrayLike | None, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> TrainingData:
        data = self._grouped(X, y, qid, sample_weight, reset=True)
        if not data.has_unequal_labels:
            raise DataError(
                "no query has documents of two different labels, so there is nothing to learn an order from; "
                f"look at the labels and at qid (n_samples={len(data.relevance)}, n_queries={data.n_queries})"
            )
        if not data.has_varying_features:
            raise DataError(NOTHING_VARIES)
        return data

    def _evaluation_data(self, eval_set: EvalSet) -> TrainingData:
        if isinstance(eval_set, RankingDataset):
            eval_set = (eval_set, None)
        if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
            raise TypeError("eval_set must be a RankingDataset, (X, y) or (X, y, qid)")
        X, y, *qid = eval_set
        try:
            return self._grouped(X, y, qid[0] if qid else None, None, reset=False)
        except DataError as error:
            raise DataError(f"eval_set: {error}") from None

    def _grouped(
        self,
        X: Any,
        y: ArrayLike | None,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
    ) -> TrainingData:
        table = self._table(X, reset=reset)
        if isinstance(X, RankingDataset):
            if y is not None or qid is not None:
                raise TypeError("a RankingDataset brings its own labels and queries; leave out y and qid")
            weights = _weights(sample_weight, None, len(table), X.n_queries)
            return TrainingData(table, None, X.relevance, X.offsets, *weights)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        relevance = as_relevance(y, len(table))
        grouping = group_by_query(query_ids_of(X, qid), n_rows=len(table))
        weights = _weights(sample_weight, grouping.order, len(table), len(grouping.query_ids))
        if grouping.order is not None:
            relevance = relevance[grouping.order]
        return TrainingData(table, grouping.order, relevance, grouping.offsets, *weights)

    def _table(self, X: Any, *, reset: bool) -> Features:
        if isinstance(X, RankingDataset):
            self._check_names(X, reset=reset)
            check_finite(X.features, X.features, names=X.feature_names, rows=X.original_rows)
            return X.features
        X = self._flattened(X, reset=reset)
        with naming_columns(X), np.errstate(over="ignore", invalid="ignore"):
            table: Features = validate_data(
                self, X, reset=reset, dtype=np.float32, ensure_all_finite=False, order="C"
            )
        check_finite(table, X, names=getattr(self, "feature_names_in_", None))
        return table

    def _flattened(self, X: Any, *, reset: bool) -> Any:
        """Documents of several dimensions, such as images, as rows; `input_shape_` keeps their shape."""
        shape = np.shape(X)[1:] if getattr(X, "ndim", 2) > 2 else None
        if reset:
            self.__dict__.pop("input_shape_", None)
            if shape is not None:
                self.input_shape_ = tuple(shape)
        elif shape is not None and shape != getattr(self, "input_shape_", None):
            raise ValueError(f"documents have shape {shape}, unlike those that were learnt from")
        return X if shape is None else np.asarray(X).reshape(len(X), -1)

    def _check_names(self, data: RankingDataset, *, reset: bool) -> None:
        # Names that a data set only got for want of any are none.
        has_names = data.feature_names != as_feature_names((), data.n_features)
        if reset:
            self.n_features_in_ = data.n_features
            self.__dict__.pop("feature_names_in_", None)
            if has_names:
                self.feature_names_in_ = np.array(data.feature_names, dtype=object)
            return
        name = type(self).__name__
        known = getattr(self, "feature_names_in_", None)
        if data.n_features != self.n_features_in_:
            other = "" if known is None or not has_names else _difference(tuple(known), data.feature_names)
            raise ValueError(
                f"X has {data.n_features} features, but {name} was fitted with {self.n_features_in_}{other}"
            )
        if known is not None and has_names and tuple(known) != data.feature_names:
            at = next(i for i, own in enumerate(known) if own != data.feature_names[i])
            raise ValueError(
                f"feature {at + 1} of X is {data.feature_names[at]!r}, but {name} was fitted with "
                f"{known[at]!r} there; give the same features in the same order"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags


def as_seed(random_state: Any) -> int:
    """A seed from None, an int, a NumPy generator or a RandomState.

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
    return int(random_state)


def as_metric(metric: str | Metric) -> Metric:
    """A metric, or one by its name in the paper's convention.

    >>> str(as_metric("map")), str(as_metric("map:trec"))
    ('map:paper', 'map:trec')
    """
    return metric if isinstance(metric, Metric) else Metric.parse(metric, convention="paper")


def group_codes(qid: ArrayLike | None, n_rows: int) -> IntArray:
    """The number of each row's query, in the rows' own order.

    >>> group_codes(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    grouping = group_by_query(qid, n_rows=n_rows)
    codes = np.repeat(np.arange(len(grouping.query_ids)), np.diff(grouping.offsets))
    if grouping.order is None:
        return codes
    in_order = np.empty_like(codes)
    in_order[grouping.order] = codes
    return in_order


def _query_numbers(data: RankingDataset) -> IntArray:
    """The number of each row's query, in the data set's own order."""
    return np.repeat(np.arange(data.n_queries), np.diff(data.offsets))


def _difference(known: tuple[str, ...], found: tuple[str, ...]) -> str:
    """The first names that are missing and new, in words.

    >>> _difference(("a", "b"), ("b",))
    "; it lacks 'a'"
    """
    missing = [name for name in known if name not in set(found)]
    new = [name for name in found if name not in set(known)]
    parts = [f"; it lacks {missing[0]!r}"] if missing else []
    return "".join([*parts, f"; {new[0]!r} is new"] if new else parts)


def _query_means(sample_weight: ArrayLike, qid: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    grouping = group_by_query(qid, n_rows=n_rows)
    per_row, per_query = _weights(sample_weight, grouping.order, n_rows, len(grouping.query_ids))
    if per_query is not None:
        return per_query
    assert per_row is not None  # noqa: S101 - one of both is given
    return means_of_queries(per_row, grouping.offsets)


def _weights(
    sample_weight: ArrayLike | None, order: IntArray | None, n_rows: int, n_queries: int
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Per-document and per-query weights; one of them, by the number given."""
    if sample_weight is None:
        return None, None
    try:
        weights = np.asarray(sample_weight).astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight holds what is no number: {error}") from None
    if weights.ndim != 1 or len(weights) not in (n_rows, n_queries):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; give one per row ({n_rows}) or per query ({n_queries})"
        )
    broken = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(broken):
        of = "row" if len(weights) == n_rows else "query"
        raise ValueError(
            f"sample_weight is {weights[broken[0]]} at {of} {broken[0]}; weights must be finite and not "
            "negative"
        )
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere; nothing would be learnt")
    if len(weights) == n_rows:
        return weights if order is None else weights[order], None
    return None, weights
