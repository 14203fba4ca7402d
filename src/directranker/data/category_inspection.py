"""Findings about categorical columns: how many values, how often, and in how many queries.

>>> import pyarrow as pa
>>> values = {"qid": [1, 1, 2, 2], "relevance": [0, 1, 0, 1], "brand": ["a", "b", "b", None]}
>>> (summary,) = summarise_categories(RankingDataset.from_frame(pa.table(values)))
>>> summary.n_values, summary.most_frequent, summary.n_missing, summary.n_in_one_query
(2, (('b', 2), ('a', 1)), 1, 1)
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from directranker.arrays import BoolArray, Float32Array, IntArray, query_of_rows
from directranker.data.categories import UNSEEN, recode
from directranker.data.dataset import RankingDataset
from directranker.data.findings import Finding, format_percent, make_findings
from directranker.data.texts import Texts

__all__ = [
    "MAX_FREQUENT",
    "CategorySummary",
    "find_category_problems",
    "find_ids",
    "find_unseen_categories",
    "group_comparable_columns",
    "name_features",
    "summarise_categories",
]

MAX_FREQUENT = 3  # most frequent values
MIN_ROWS = 50  # with fewer, all values may differ by chance
IDENTIFYING = 0.95  # different values per row of a column that identifies rows
MAX_SAMPLED = 100_000  # rows that numbers are compared on
RARE = 0.1  # rows whose value no other query has


@dataclass(frozen=True)
class CategorySummary:
    """The values of a categorical column."""

    name: str
    n_values: int
    """Different values that occur; the vocabulary of a selection may have more."""
    most_frequent: tuple[tuple[str, int], ...]
    """The most frequent values and their numbers of documents; ties in alphabetical order."""
    n_missing: int
    n_in_one_query: int
    """Documents with a value that no other query has; missing is not a value here."""

    def to_dict(self) -> dict[str, object]:
        """Return values that JSON can represent."""
        return asdict(self) | {"most_frequent": [list(pair) for pair in self.most_frequent]}


def summarise_categories(data: RankingDataset) -> tuple[CategorySummary, ...]:
    """Summarise each categorical column."""
    return tuple(_summarise(data, index) for index in np.flatnonzero(_is_categorical(data)).tolist())


def _is_categorical(data: RankingDataset) -> list[bool]:
    return [name in data.categories for name in data.feature_names]


def _summarise(data: RankingDataset, index: int) -> CategorySummary:
    name = data.feature_names[index]
    column = data.features[:, index]
    is_known = ~np.isnan(column)
    codes, vocabulary = column[is_known].astype(np.int64), data.categories[name]
    counts = np.bincount(codes, minlength=len(vocabulary))
    pairs = np.unique(codes * max(1, data.n_queries) + query_of_rows(data.offsets)[is_known])
    n_queries = np.bincount(pairs // max(1, data.n_queries), minlength=len(vocabulary))
    frequent = np.argsort(-counts, kind="stable")[:MAX_FREQUENT]
    return CategorySummary(
        name=name,
        n_values=int(np.count_nonzero(counts)),
        most_frequent=tuple(
            (vocabulary[code].as_py(), int(counts[code])) for code in frequent if counts[code]
        ),
        n_missing=int(np.count_nonzero(~is_known)),
        n_in_one_query=int(counts[n_queries == 1].sum()),
    )


def find_category_problems(data: RankingDataset, summaries: tuple[CategorySummary, ...]) -> list[Finding]:
    """Find columns that identify the document, and columns with many values that only one query has."""
    n_rows = data.n_documents
    identifying, rare = [], []
    for one in summaries:
        n_known = n_rows - one.n_missing
        if n_known >= MIN_ROWS and one.n_values >= IDENTIFYING * n_known:
            identifying.append(f"{one.name!r} ({one.n_values:,} values in {n_known:,} documents)")
        elif data.n_queries > 1 and one.n_in_one_query >= RARE * n_rows:
            rare.append(f"{one.name!r} ({format_percent(one.n_in_one_query / n_rows)} of the documents)")
    of = len(summaries)
    return [
        *make_findings("identifying-columns", identifying, n=len(identifying), of=of),
        *make_findings("rare-categories", rare, n=len(rare), of=of),
    ]


def group_comparable_columns(data: RankingDataset) -> IntArray:
    """Return a number per column; codes are comparable only with codes of the same categories."""
    groups = np.zeros(data.n_features, dtype=np.int64)
    vocabularies: list[Texts] = []
    for column, name in enumerate(data.feature_names):
        if name in data.categories:
            vocabulary = data.categories[name]
            if not any(vocabulary.equals(one) for one in vocabularies):
                vocabularies.append(vocabulary)
            groups[column] = 1 + next(n for n, one in enumerate(vocabularies) if vocabulary.equals(one))
    return groups


def find_ids(data: RankingDataset) -> BoolArray:
    """Return which numeric features have a different whole number in almost every document.

    >>> X = np.column_stack([np.arange(100), np.arange(100) / 3, np.arange(100) % 9])
    >>> find_ids(RankingDataset.from_arrays(X, np.zeros(100), qid=np.arange(100) // 5)).tolist()
    [True, False, False]
    """
    are_ids = np.zeros(data.n_features, dtype=bool)
    if data.n_documents < MIN_ROWS:
        return are_ids
    sample = data.features[:: max(1, data.n_documents // MAX_SAMPLED)]
    for column in np.flatnonzero(~np.array(_is_categorical(data)) & (data.kinds.vector < 0)):
        values = sample[:, column]
        if np.isfinite(values).all() and (values == np.rint(values)).all():
            are_ids[column] = len(np.unique(values)) >= IDENTIFYING * len(values)
    return are_ids


def find_unseen_categories(
    split: str, data: RankingDataset, other: str, other_data: RankingDataset
) -> list[Finding]:
    """Find categorical columns with values that the other data set does not have."""
    shared = [name for name in data.categories if name in other_data.categories]
    examples = []
    for name in shared:
        unseen = _find_unseen(data, other_data, name)
        if unseen.any():
            codes = data.features[:, data.feature_names.index(name)]
            value = data.categories[name][int(codes[unseen.argmax()])].as_py()
            examples.append(f"{name!r}: {value!r}, in {format_percent(unseen.mean())} of the documents")
    return make_findings(
        "unseen-categories", examples, n=len(examples), of=len(shared), split=split, other=other
    )


def _find_unseen(data: RankingDataset, other: RankingDataset, name: str) -> BoolArray:
    """Return which documents have a value that no document of the other data set has."""
    vocabulary = other.categories[name]
    codes = recode(_get_column(data, name), data.categories[name], into=vocabulary)
    known = _get_column(other, name)
    occurs = np.zeros(len(vocabulary) + 1, dtype=bool)  # the last is for values without a code
    occurs[known[~np.isnan(known)].astype(np.int64)] = True
    index = np.where(np.isnan(codes) | (codes == UNSEEN), len(vocabulary), codes).astype(np.int64)
    return ~occurs[index] & ~np.isnan(codes)


def _get_column(data: RankingDataset, name: str) -> Float32Array:
    return data.features[:, data.feature_names.index(name)]


def name_features(data: RankingDataset, columns: BoolArray) -> list[str]:
    """Name some features, given by a mask; the dimensions of a vector have one name.

    >>> names = ["price", "text[0]", "text[1]", "text[2]"]
    >>> data = RankingDataset.from_arrays(np.zeros((1, 4)), [1], feature_names=names)
    >>> name_features(data, np.array([True, False, True, True]))
    ["'price'", "'text' (2 of 3 dimensions)"]
    """
    named: dict[int, str] = {}
    for column in np.flatnonzero(columns).tolist():
        vector = int(data.kinds.vector[column])
        key = column if vector < 0 else -1 - vector
        if key not in named:
            named[key] = repr(data.feature_names[column])
            if vector >= 0:
                is_part = data.kinds.vector == vector
                name = data.feature_names[column].rpartition("[")[0]
                named[key] = f"{name!r} ({int(columns[is_part].sum())} of {int(is_part.sum())} dimensions)"
    return list(named.values())
