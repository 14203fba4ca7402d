"""Check a data set for problems before training: empty queries, constant features, label leakage and more.

Every finding has a stable `kind` for programs, and a count, an example and advice for people. All checks read
the features in place, row by row and on all cores, so a memory-mapped data set is never copied. Equal rows
and columns are found by hash and then compared. The leakage check of a feature stops as soon as too many
pairs contradict the label.

>>> data = RankingDataset.from_arrays([[1, 5], [2, 5], [3, 5]], [0, 1, 0], qid=[7, 7, 8])
>>> for finding in inspect_dataset(data).findings:
...     print(finding.kind, "-", finding.message)
queries-without-relevant - 1 of 2 queries (50 %) has no relevant document (label 1 or more), e.g. query 8
single-document-queries - 1 of 2 queries (50 %) has only one document, e.g. query 8
constant-features - 1 of 2 features (50 %) has the same value in every document, e.g. 'feature_2'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import combinations, zip_longest
from typing import Any

import numpy as np

from directranker.arrays import BoolArray, Features, FloatArray, IntArray, query_of_rows
from directranker.compilation import get_n_threads, run_in_parallel, split_evenly
from directranker.data.category_inspection import (
    CategorySummary,
    find_category_problems,
    find_ids,
    find_unseen_categories,
    group_comparable_columns,
    name_features,
    summarise_categories,
)
from directranker.data.dataset import RankingDataset
from directranker.data.findings import MAX_EXAMPLES, Finding, format_number, make_findings
from directranker.data.inspection_kernels import (
    Agreement,
    Scan,
    compare_rows,
    count_column_agreement,
    find_first_equal,
    scan_features,
    view_as_bits,
)

__all__ = ["Finding", "FoldInspection", "Inspection", "ListLengths", "inspect_dataset", "inspect_fold"]


MAX_LABELS = 20  # more distinct labels are counted in ten ranges


@dataclass(frozen=True)
class ListLengths:
    """Summary of the number of documents per query.

    >>> ListLengths.of(np.array([0, 2, 3, 9]))
    ListLengths(minimum=1, median=2.0, mean=3.0, maximum=6)
    """

    minimum: int
    median: float
    mean: float
    maximum: int

    @classmethod
    def of(cls, offsets: IntArray) -> ListLengths | None:
        """Summarise the queries between these offsets; None if there are no queries."""
        lengths = np.diff(offsets)
        if not len(lengths):
            return None
        median, mean = float(np.median(lengths)), float(np.mean(lengths))
        return cls(int(lengths.min()), median, mean, int(lengths.max()))


@dataclass(frozen=True)
class Inspection:
    """The size of a data set, its labels, its query lengths and the findings.

    >>> inspection = inspect_dataset(RankingDataset.from_arrays([[0.5], [1.5]], [0, 1]))
    >>> inspection.label_counts, inspection.list_lengths.maximum, inspection.findings
    ({'0': 1, '1': 1}, 2, ())
    """

    n_documents: int
    n_queries: int
    n_features: int
    label_counts: dict[str, int]
    """Documents by label, lowest first; more than 20 labels are counted in ranges such as `"0 to 9"`."""
    list_lengths: ListLengths | None
    """None if there are no queries."""
    findings: tuple[Finding, ...]
    categories: tuple[CategorySummary, ...] = ()
    """The categorical columns."""
    vectors: dict[str, int] = field(default_factory=dict)
    """The number of dimensions of each vector column."""

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON can represent."""
        return asdict(self) | {
            "findings": [finding.to_dict() for finding in self.findings],
            "categories": [summary.to_dict() for summary in self.categories],
        }


@dataclass(frozen=True)
class FoldInspection:
    """The inspection of each split of a fold, and the findings between splits.

    >>> split = RankingDataset.from_arrays([[0.5], [1.5]], [0, 1], qid=[3, 3])
    >>> inspect_fold({"train": split, "test": split}).findings[0].message
    '1 of 1 query (100 %) of train is also in test, e.g. query 3'
    """

    parts: dict[str, Inspection]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON can represent."""
        return {
            "parts": {name: split.to_dict() for name, split in self.parts.items()},
            "findings": [finding.to_dict() for finding in self.findings],
        }


def inspect_dataset(data: RankingDataset, *, threshold: float = 1.0) -> Inspection:
    """Summarise a data set and list its problems; documents with a label ≥ `threshold` are relevant.

    A feature leaks if it orders 99 % of all pairs of documents of one query with different labels like the
    label, or 99 % in reverse (ties count half). This is checked twice: among the documents that have a value,
    and with NaN as the lowest value, because a value may exist only for documents that were clicked. At least
    100 pairs are needed, and chance must be unlikely: a random order is right with probability
    Π n_label! / n! in each query, and the probability that any of the features is right must be below 10⁻⁶.
    Categories have no order, so of them only the second check is made.

    >>> data = RankingDataset.from_arrays([[0, 1], [0, 1]], [0, 1], qid=[5, 5])
    >>> [(finding.kind, finding.count) for finding in inspect_dataset(data).findings]
    [('constant-features', 2), ('contradicting-documents', 2)]
    """
    labels, codes, counts = np.unique(data.relevance, return_inverse=True, return_counts=True)
    findings = _find_query_problems(data, threshold)
    categories = summarise_categories(data)
    if data.features.size:
        findings += _find_feature_problems(data, codes)
        findings += find_category_problems(data, categories)
    return Inspection(
        n_documents=data.n_documents,
        n_queries=data.n_queries,
        n_features=data.n_features,
        label_counts=_count_labels(labels, counts),
        list_lengths=ListLengths.of(data.offsets),
        findings=tuple(findings),
        categories=categories,
        vectors=data.kinds.count_dimensions(data.feature_names),
    )


def inspect_fold(parts: Mapping[str, RankingDataset], *, threshold: float = 1.0) -> FoldInspection:
    """Inspect each split, and check between splits for shared queries, other features and unseen values.

    Labels and categories are compared with those of the split `"train"`, or of the first split if none has
    that name.

    >>> train = RankingDataset.from_arrays([[0.5], [1.5]], [0, 1], qid=[1, 1])
    >>> test = RankingDataset.from_arrays([[0.5], [1.5]], [0, 2], qid=[2, 2])
    >>> inspect_fold({"train": train, "test": test}).findings[0].message
    '1 of 2 labels (50 %) of test does not occur in train, e.g. label 2'
    """
    if not parts:
        raise ValueError("there are no splits to inspect; give a mapping such as {'train': …, 'test': …}")
    findings: list[Finding] = []
    for (name, data), (other_name, other) in combinations(parts.items(), 2):
        findings += _find_shared_queries(name, data, other_name, other)
        findings += _find_differing_features(name, data, other_name, other)
    reference = "train" if "train" in parts else next(iter(parts))
    for name, data in parts.items():
        findings += _find_unseen_labels(name, data, reference, parts[reference])
        findings += find_unseen_categories(name, data, reference, parts[reference])
    inspections = {name: inspect_dataset(data, threshold=threshold) for name, data in parts.items()}
    return FoldInspection(inspections, tuple(findings))


def _count_labels(labels: FloatArray, counts: IntArray) -> dict[str, int]:
    if len(labels) <= MAX_LABELS:
        return {format_number(label): int(count) for label, count in zip(labels, counts, strict=True)}
    halves = labels / 2  # the difference of two labels may overflow float64
    position = (halves - halves[0]) / (halves[-1] - halves[0])
    starts = np.unique(np.minimum(position * 10, 9).astype(int), return_index=True)[1]
    stops = [*starts[1:], len(labels)]
    return {
        f"{format_number(labels[start])} to {format_number(labels[stop - 1])}": int(counts[start:stop].sum())
        for start, stop in zip(starts, stops, strict=True)
    }


def _find_query_problems(data: RankingDataset, threshold: float) -> list[Finding]:
    lengths = np.diff(data.offsets)
    changes = np.append(False, data.relevance[1:] != data.relevance[:-1])[: data.n_documents]
    changes[data.offsets[:-1][lengths > 0]] = False  # a query's first label is not a change within it
    one_class = (lengths > 1) & (_count_by_query(changes, data.offsets) == 0)
    n_relevant = _count_by_query(data.relevance >= threshold, data.offsets)

    def report(kind: str, mask: BoolArray, **details: str) -> list[Finding]:
        examples = [str(name) for name in data.query_ids[mask][:MAX_EXAMPLES]]
        return make_findings(kind, examples, n=int(mask.sum()), of=data.n_queries, **details)

    all_relevant = (n_relevant == lengths) & (lengths > 1) & ~one_class
    lowest = format_number(float(threshold))
    return [
        *report("queries-without-relevant", n_relevant == 0, threshold=lowest),
        *report("only-relevant-queries", all_relevant, threshold=lowest),
        *report("one-class-queries", one_class),
        *report("single-document-queries", lengths == 1),
        *report("empty-queries", lengths == 0),
    ]


def _count_by_query(mask: BoolArray, offsets: IntArray) -> IntArray:
    before = np.concatenate([[0], np.cumsum(mask)])
    return np.diff(before[offsets])


def _find_feature_problems(data: RankingDataset, codes: IntArray) -> list[Finding]:
    names, of = data.feature_names, data.n_features
    scan = scan_features(data.features)
    is_category = np.array([name in data.categories for name in names])
    missing = scan.n_missing == data.n_documents
    n_missing = np.where(is_category, 0, scan.n_missing)  # missing is a category of its own
    constant = ~scan.varies & ~missing & (data.n_documents > 1)

    def report(kind: str, columns: BoolArray) -> list[Finding]:
        return make_findings(kind, name_features(data, columns), n=int(columns.sum()), of=of)

    return [
        *report("constant-features", constant),
        *report("ids-as-numbers", find_ids(data)),
        *_find_duplicate_features(data, scan),
        *report("missing-features", missing),
        *_find_non_finite_values("nan-values", data, n_missing, np.isnan),
        *_find_non_finite_values("infinite-values", data, scan.n_infinite, np.isinf),
        *_find_contradicting_documents(data, scan),
        *_find_leaking_features(data, codes, scan.n_missing > 0, is_category),
    ]


def _find_non_finite_values(
    kind: str, data: RankingDataset, counts: IntArray, is_affected: Callable[[Features], BoolArray]
) -> list[Finding]:
    columns = np.flatnonzero(counts)
    examples = []
    for column in columns[:MAX_EXAMPLES]:
        row = int(np.argmax(is_affected(data.features[:, column])))
        query = data.query_ids[_find_query(data, row)]
        examples.append(f"{data.feature_names[column]!r} of {_describe_document(data, row)} in query {query}")
    n_numbers = data.n_documents * (data.n_features - len(data.categories))
    return make_findings(kind, examples, n=int(counts.sum()), of=n_numbers, columns=len(columns))


def _find_query(data: RankingDataset, row: int) -> int:
    return int(np.searchsorted(data.offsets, row, side="right")) - 1


def _describe_document(data: RankingDataset, row: int) -> str:
    name = "" if data.document_texts is None else data.document_texts[row].as_py()
    source_row = row if data.original_rows is None else data.original_rows[row]
    return f"document {name}" if name else f"row {source_row}"


def _find_duplicate_features(data: RankingDataset, scan: Scan) -> list[Finding]:
    # Constant and missing features are reported as such, not as duplicates.
    columns = np.flatnonzero(scan.varies)
    by_column = view_as_bits(data.features).T
    first = columns[
        find_first_equal(
            group_comparable_columns(data)[columns],
            scan.column_hashes[columns],
            lambda one, other: compare_rows(by_column, columns[one], columns[other]),
        )
    ]
    names = data.feature_names
    pairs = zip(columns[columns != first], first[columns != first], strict=True)
    examples = [f"{names[column]!r} equals {names[earlier]!r}" for column, earlier in pairs]
    return make_findings("duplicate-features", examples, n=len(examples), of=data.n_features)


def _find_contradicting_documents(data: RankingDataset, scan: Scan) -> list[Finding]:
    bits = view_as_bits(data.features)
    first = find_first_equal(
        query_of_rows(data.offsets), scan.row_hashes, lambda one, other: compare_rows(bits, one, other)
    )
    lowest, highest = data.relevance.copy(), data.relevance.copy()
    np.minimum.at(lowest, first, data.relevance)
    np.maximum.at(highest, first, data.relevance)
    rows = np.flatnonzero(lowest[first] < highest[first])
    groups = np.unique(first[rows])[:MAX_EXAMPLES]
    examples = [_describe_contradiction(data, rows[first[rows] == group]) for group in groups]
    return make_findings("contradicting-documents", examples, n=len(rows), of=data.n_documents)


def _describe_contradiction(data: RankingDataset, equal_rows: IntArray) -> str:
    labels = data.relevance[equal_rows]
    contradicting = equal_rows[labels != labels[0]][0]
    one, other = (
        f"{_describe_document(data, row)} (label {format_number(data.relevance[row])})"
        for row in (equal_rows[0], contradicting)
    )
    return f"{one} and {other} of query {data.query_ids[_find_query(data, int(contradicting))]}"


def _find_leaking_features(
    data: RankingDataset, codes: IntArray, has_missing: BoolArray, is_category: BoolArray
) -> list[Finding]:
    def count_agreement(values: Features, missing_is_lowest: bool, max_pairs: float) -> Agreement:
        return Agreement(*count_column_agreement(values, codes, data.offsets, missing_is_lowest, max_pairs))

    ideal = count_agreement(codes.astype(np.float32), False, np.inf)
    candidates = [(int(column), False) for column in np.flatnonzero(~is_category)]
    candidates += [(int(column), True) for column in np.flatnonzero(has_missing)]

    def find_leaks(start: int, stop: int) -> dict[int, Agreement]:
        leaks: dict[int, Agreement] = {}
        for column, missing_is_lowest in candidates[start:stop]:
            values = data.features[:, column]
            if is_category[column]:  # only whether it is missing has an order
                values = np.where(np.isnan(values), values, np.float32(0))
            agreement = count_agreement(values, missing_is_lowest, ideal.n_pairs)
            if agreement.is_leak(data.n_features):
                leaks.setdefault(column, agreement)
        return leaks

    leaking: dict[int, Agreement] = {}
    if ideal.is_leak(data.n_features):  # else not even a copy of the label would be reported
        for leaks in run_in_parallel(find_leaks, split_evenly(len(candidates), get_n_threads())):
            leaking = leaks | leaking
    worst = sorted(leaking, key=lambda column: (leaking[column].exceptions, column))
    examples = [f"{data.feature_names[column]!r} ({leaking[column]})" for column in worst]
    return make_findings("leaking-features", examples, n=len(examples), of=data.n_features)


def _find_shared_queries(
    split: str, data: RankingDataset, other: str, other_data: RankingDataset
) -> list[Finding]:
    other_ids = set(other_data.query_ids.tolist())
    shared = [str(name) for name in data.query_ids.tolist() if name in other_ids]
    return make_findings("shared-queries", shared, n=len(shared), of=data.n_queries, split=split, other=other)


def _find_differing_features(
    split: str, data: RankingDataset, other: str, other_data: RankingDataset
) -> list[Finding]:
    def format_name(name: str | None) -> str:
        return "absent" if name is None else repr(name)

    pairs = list(zip_longest(data.feature_names, other_data.feature_names))
    examples = [
        f"column {column} is {format_name(one)} in {split} and {format_name(another)} in {other}"
        for column, (one, another) in enumerate(pairs)
        if one != another
    ]
    examples += [
        f"{name!r} is a {'category' if name in data.categories else 'number'} in {split} but not in {other}"
        for name, another in pairs
        if name == another and (name in data.categories) != (name in other_data.categories)
    ]
    return make_findings(
        "differing-features", examples, n=len(examples), of=len(pairs), split=split, other=other
    )


def _find_unseen_labels(
    split: str, data: RankingDataset, other: str, other_data: RankingDataset
) -> list[Finding]:
    known, labels = np.unique(other_data.relevance), np.unique(data.relevance)
    if len(known) > MAX_LABELS:  # continuous labels, of which new values are expected
        return []
    unseen = [format_number(label) for label in np.setdiff1d(labels, known)]
    return make_findings("unseen-labels", unseen, n=len(unseen), of=len(labels), split=split, other=other)
