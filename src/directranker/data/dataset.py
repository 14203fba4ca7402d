"""Ranking data in memory: documents with features and a relevance, grouped by query.

Queries are ragged and contiguous: the rows of query q are `offsets[q]:offsets[q + 1]`. There is no padding,
so no value of a feature or a label is special.

A data set has one order of rows: queries by first appearance in the source, and a query's documents in the
source's order. Everything with a value per row has this order: `features`, `relevance`, `qid`, `to_frame()`,
and the predictions of rankers for the data set. `to_source_order` sorts such values into the source's order.

>>> data = RankingDataset.from_arrays([[0.1], [0.7], [0.3]], [0, 2, 1], qid=["b", "a", "b"])
>>> data
RankingDataset(3 documents, 2 queries, 1 feature)
>>> data.query_ids.tolist(), data.offsets.tolist(), data.relevance.tolist()
(['b', 'a'], [0, 2, 3], [0.0, 1.0, 2.0])
>>> data.to_source_order(data.relevance).tolist()
[0.0, 2.0, 1.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import Features, IntArray, Relevance
from directranker.data.categories import Categories, as_categories
from directranker.data.checking import (
    are_bits_equal,
    as_feature_names,
    as_features,
    as_original_rows,
    as_query_indices,
    as_relevance,
    check_fractions,
    make_read_only,
)
from directranker.data.column_kinds import ColumnKinds
from directranker.data.column_roles import ColumnRoles, Dates
from directranker.data.grouping import (
    Grouping,
    QueryIds,
    as_query_ids,
    check_offsets,
    group_by_query,
    select_query_rows,
)
from directranker.data.kept_columns import KeptColumns, are_columns_equal, as_kept_columns, take_kept
from directranker.data.texts import Texts, are_texts_equal, as_texts, take_texts
from directranker.parameters import SEED, Constraint

if TYPE_CHECKING:
    from directranker.data.tabular import FrameKind

__all__ = ["RandomState", "RankingDataset"]

RandomState = int | np.random.Generator | None
TEXTS, COLUMNS = ("document_texts", "comment_texts"), ("categories", "kept")
THRESHOLD = Constraint(
    lambda value: isinstance(value, Real) and not math.isnan(value),
    "the lowest label of a relevant document",
)


@dataclass(frozen=True, eq=False, repr=False)
class RankingDataset:
    """Documents grouped by query; immutable, so arrays are shared without a copy.

    Create one with `from_arrays`, `from_frame`, `read_letor`, `read_parquet` or `load`. The constructor
    takes rows that are already grouped. Arrays of the right type are not copied.
    """

    features: Features
    """float32, one row per document, one column per feature."""
    relevance: Relevance
    """One label per document, any finite number; higher is more relevant."""
    offsets: IntArray
    """Rows of query q are `offsets[q]:offsets[q + 1]`."""
    query_ids: QueryIds
    """One id per query: int64, or strings in an object array."""
    feature_names: tuple[str, ...] = ()
    document_texts: Texts | None = None
    """The document ids as an Arrow array; `document_ids` gives them as NumPy strings."""
    comment_texts: Texts | None = None
    """The text after `#` on each line of LETOR text."""
    original_rows: IntArray | None = None
    """The source's row of each row, from 0: `X[data.original_rows]` are the features of this data set.

    The source is the table, arrays or file that the data set was created from; `select` and `split` keep it.
    None if the rows are those of the source in its order.
    """
    categories: Categories = field(default_factory=dict)
    """The sorted values of each categorical feature; `features` has the index of each, NaN where missing."""
    columns: ColumnRoles | None = None
    """The columns of the table that the data set was created from."""
    kept: KeptColumns = field(default_factory=dict)
    """Columns that are neither feature nor label, such as a date to split by, as Arrow arrays."""

    def __post_init__(self) -> None:
        features = as_features(self.features, names=self.feature_names)
        n_rows, n_features = features.shape
        relevance = as_relevance(self.relevance, n_rows)
        offsets = check_offsets(self.offsets, n_rows=n_rows)
        query_ids = as_query_ids(self.query_ids)
        if len(query_ids) != len(offsets) - 1:
            raise ValueError(
                f"{len(query_ids)} query ids for {len(offsets) - 1} queries; give one id per query"
            )
        if len(np.unique(query_ids)) != len(query_ids):
            raise ValueError("a query id is used twice; use from_arrays to group rows by query")
        self._set("features", make_read_only(features))
        self._set("relevance", make_read_only(relevance))
        self._set("offsets", make_read_only(offsets))
        self._set("query_ids", make_read_only(query_ids))
        self._set("feature_names", as_feature_names(self.feature_names, n_features))
        self._set("categories", as_categories(self.categories, features, self.feature_names))
        self._set("document_texts", as_texts(self.document_texts, n_rows, "document ids"))
        self._set("comment_texts", as_texts(self.comment_texts, n_rows, "comments"))
        self._set("kept", as_kept_columns(self.kept, n_rows, self.feature_names))
        if self.original_rows is not None:
            self._set("original_rows", make_read_only(as_original_rows(self.original_rows, n_rows)))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        document_ids: ArrayLike | None = None,
        feature_names: Sequence[str] = (),
    ) -> RankingDataset:
        """Group rows by query id; without `qid` all rows belong to one query.

        >>> RankingDataset.from_arrays([[1.0, 2.0]], [1]).n_queries
        1
        """
        features = as_features(X, names=feature_names)
        n_rows = len(features)
        return cls.from_grouping(
            group_by_query(qid, n_rows=n_rows),
            features=features,
            relevance=as_relevance(y, n_rows),
            feature_names=tuple(feature_names),
            document_texts=as_texts(document_ids, n_rows, "document ids"),
        )

    @classmethod
    def from_grouping(
        cls,
        grouping: Grouping,
        *,
        features: Features,
        relevance: Relevance,
        feature_names: tuple[str, ...] = (),
        document_texts: Texts | None = None,
        comment_texts: Texts | None = None,
        categories: Categories | None = None,
        columns: ColumnRoles | None = None,
        kept: KeptColumns | None = None,
    ) -> RankingDataset:
        """Sort ungrouped rows into the order of their queries."""
        order = slice(None) if grouping.order is None else grouping.order
        return cls(
            features=features[order],
            relevance=relevance[order],
            offsets=grouping.offsets,
            query_ids=grouping.query_ids,
            feature_names=feature_names,
            document_texts=take_texts(document_texts, order),
            comment_texts=take_texts(comment_texts, order),
            original_rows=grouping.order,
            categories=categories or {},
            columns=columns,
            kept=take_kept(kept or {}, order),
        )

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        relevance: str = "relevance",
        query: str | None = "qid",
        document: str | None = "docid",
        features: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        dates: Dates = (),
        compare_vectors: Sequence[tuple[str, str]] = (),
        keep_vectors: bool = False,
    ) -> RankingDataset:
        """Convert a pandas, polars or pyarrow table; all columns not named are features, except `drop`.

        Columns of text and of categories are categorical; so are ints, such as ids, named in `categorical`.
        A column of lists of numbers is a vector, with a feature per dimension; `compare_vectors` replaces
        pairs of vectors by their dot product, cosine and distance. `dates` become age, hour and weekday. A
        null becomes NaN. With `query=None` all rows belong to one query. The column `docid` may be missing.
        Columns in `keep`, such as a date for `split_by`, are not features; `kept` has them.

        >>> import pyarrow as pa
        >>> table = pa.table({"qid": [1, 1], "relevance": [0, 1], "bm25": [0.5, None]})
        >>> RankingDataset.from_frame(table).features.tolist()
        [[0.5], [nan]]
        """
        from directranker.data.tabular import dataset_from_frame  # noqa: PLC0415 - import cycle

        columns = ColumnRoles(
            relevance=relevance,
            query=query,
            document=document,
            features=features,
            categorical=categorical,
            drop=drop,
            keep=keep,
            dates=dates,
            compare_vectors=compare_vectors,
            keep_vectors=keep_vectors,
        )
        return dataset_from_frame(frame, columns)

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """Return a `"pandas"`, `"polars"` or `"pyarrow"` table: qid, docid, relevance, features.

        Its rows are in the order of the data set.

        >>> RankingDataset.from_arrays([[0.5]], [1], qid=[7]).to_frame("pyarrow").to_pydict()
        {'qid': [7], 'relevance': [1.0], 'feature_1': [0.5]}
        """
        from directranker.data.tabular import frame_from_dataset  # noqa: PLC0415 - import cycle

        return frame_from_dataset(self, kind)

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = False) -> RankingDataset:
        """Open a saved data set, memory-mapped; `verify` compares checksums. See `save`."""
        from directranker.data.storage import load_dataset  # noqa: PLC0415 - import cycle

        return load_dataset(folder, verify=verify)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the data set atomically to a folder that `load` opens in milliseconds."""
        from directranker.data.storage import save_dataset  # noqa: PLC0415 - import cycle

        save_dataset(self, folder, overwrite=overwrite)

    @property
    def n_documents(self) -> int:
        """The number of rows."""
        return len(self.features)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.query_ids)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.features.shape[1])

    @cached_property
    def kinds(self) -> ColumnKinds:
        """The kind of each feature: number, category or dimension of a vector."""
        counts = {name: len(values) for name, values in self.categories.items()}
        return ColumnKinds.of(self.feature_names, counts)

    @cached_property
    def qid(self) -> QueryIds:
        """The query id of each row."""
        return make_read_only(np.repeat(self.query_ids, np.diff(self.offsets)))

    @cached_property
    def document_ids(self) -> NDArray[np.generic] | None:
        """The document id of each row as str; None if the data has no ids."""
        if self.document_texts is None:
            return None
        return make_read_only(np.asarray(self.document_texts.to_pylist(), dtype=object))

    def __repr__(self) -> str:
        from directranker.data.dataset_summary import describe_sizes  # noqa: PLC0415 - import cycle

        return f"RankingDataset({describe_sizes(self)})"

    def describe(self) -> str:
        """Return a table of the columns: their kinds, values, and how many documents lack one.

        >>> print(RankingDataset.from_arrays([[0.5], [1.5]], [0, 1], feature_names=["bm25"]).describe())
        column  kind    values      missing
        bm25    number  0.5 to 1.5  0
        """
        from directranker.data.dataset_summary import describe_columns  # noqa: PLC0415 - import cycle

        return describe_columns(self)

    def equals(self, other: RankingDataset) -> bool:
        """Whether both are equal, numbers bit for bit (so -0.0 is not 0.0, and NaN equals NaN).

        >>> data = RankingDataset.from_arrays([[0.0]], [1])
        >>> data.equals(RankingDataset.from_arrays([[-0.0]], [1]))
        False
        """
        return (
            are_bits_equal(self.features, other.features)
            and are_bits_equal(self.relevance, other.relevance)
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.query_ids, other.query_ids)
            and self.feature_names == other.feature_names
            and all(are_texts_equal(getattr(self, name), getattr(other, name)) for name in TEXTS)
            and all(are_columns_equal(getattr(self, name), getattr(other, name)) for name in COLUMNS)
        )

    def to_source_order(self, values: ArrayLike) -> NDArray[np.generic]:
        """Sort values of this data set's rows, such as scores, by the row in the source.

        After `select` or `split`, these are the values of the remaining rows, `np.sort(data.original_rows)`.

        >>> data = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 2], qid=["b", "a", "b"])
        >>> data.relevance.tolist(), data.to_source_order(data.relevance).tolist()
        ([0.0, 2.0, 1.0], [0.0, 1.0, 2.0])
        """
        array = np.asarray(values)
        if len(array) != self.n_documents:
            raise ValueError(f"{len(array)} values for {self.n_documents} documents; give one per row")
        return array if self.original_rows is None else array[np.argsort(self.original_rows)]

    def select(self, queries: ArrayLike) -> RankingDataset:
        """Return the queries with these indices (or this boolean mask), in the given order.

        >>> data = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 0], qid=[5, 6, 7])
        >>> data.select([2, 0]).query_ids.tolist()
        [7, 5]
        """
        indices = as_query_indices(queries, self.n_queries)
        rows: slice | IntArray
        rows, offsets = select_query_rows(self.offsets, indices)
        if len(indices) and np.all(np.diff(indices) == 1):  # consecutive queries are a view of the rows
            rows = slice(int(self.offsets[indices[0]]), int(self.offsets[indices[-1] + 1]))
        source = np.arange(self.n_documents) if self.original_rows is None else self.original_rows
        return replace(
            self,
            features=self.features[rows],
            relevance=self.relevance[rows],
            offsets=offsets,
            query_ids=self.query_ids[indices],
            document_texts=take_texts(self.document_texts, rows),
            comment_texts=take_texts(self.comment_texts, rows),
            original_rows=source[rows],
            kept=take_kept(self.kept, rows),
        )

    def split(self, *fractions: float, random_state: RandomState = None) -> tuple[RankingDataset, ...]:
        """Split the queries at random into data sets of these fractions, and one with the rest.

        A query's documents stay together. Queries keep their order.

        >>> data = RankingDataset.from_arrays([[1.0]] * 10, [0] * 10, qid=range(10))
        >>> [split.n_queries for split in data.split(0.6, 0.2, random_state=0)]
        [6, 2, 2]
        """
        SEED.check("random_state", random_state)
        check_fractions(fractions)
        shuffled = np.random.default_rng(random_state).permutation(self.n_queries)
        boundaries = np.rint(np.cumsum(fractions) * self.n_queries).astype(int)
        return tuple(self.select(np.sort(queries)) for queries in np.split(shuffled, boundaries))

    def split_by(self, column: str, *fractions: float) -> tuple[RankingDataset, ...]:
        """Split the queries by a column, such as a date: the earliest into the first data set, and so on.

        The column is a kept one or a numeric feature, with one value per query. Queries with the same value
        stay in one data set, so sizes may differ from the fractions. Queries keep their order.

        >>> import pyarrow as pa
        >>> values = {"qid": [1, 2, 3, 4], "relevance": [0] * 4, "bm25": [0.5] * 4, "year": [9, 7, 8, 7]}
        >>> data = RankingDataset.from_frame(pa.table(values), keep=["year"])
        >>> [split.query_ids.tolist() for split in data.split_by("year", 0.5, 0.25)]
        [[2, 4], [3], [1]]
        """
        from directranker.data.splitting import split_dataset_by  # noqa: PLC0415 - import cycle

        return split_dataset_by(self, column, fractions)

    def binarise(self, threshold: float) -> RankingDataset:
        """Replace labels of at least `threshold` by 1 and all others by 0.

        >>> RankingDataset.from_arrays([[0.0]] * 3, [0, 1, 2]).binarise(2).relevance.tolist()
        [0.0, 0.0, 1.0]
        """
        THRESHOLD.check("threshold", threshold)
        return replace(self, relevance=(self.relevance >= threshold).astype(np.float64))

    def only_queries_with_relevant(self, threshold: float = 1.0) -> RankingDataset:
        """Remove queries without a document of at least this label.

        >>> data = RankingDataset.from_arrays([[0.0]] * 3, [0, 1, 0], qid=[1, 2, 3])
        >>> data.only_queries_with_relevant().query_ids.tolist()
        [2]
        """
        THRESHOLD.check("threshold", threshold)
        relevant_before = np.concatenate([[0], np.cumsum(self.relevance >= threshold)])
        return self.select(np.diff(relevant_before[self.offsets]) > 0)
