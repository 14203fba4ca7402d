"""What is odd about a data set, in plain words: what to know before training on it.

Every finding has a stable `kind` for machines, and a count, an example and an advice for people. All
checks read the features in place, row by row and on all cores, so that a memory-mapped data set is never
copied: equal rows and columns are found by a hash and then compared, and a feature stops being a suspect
of leakage with the first few queries that it orders unlike the label.

>>> data = RankingDataset.from_arrays([[1, 5], [2, 5], [3, 5]], [0, 1, 0], qid=[7, 7, 8])
>>> for finding in inspect_dataset(data).findings:
...     print(finding.kind, "-", finding.message)
queries-without-relevant - 1 of 2 queries (50 %) has no relevant document (label 1 or more), e.g. query 8
single-document-queries - 1 of 2 queries (50 %) has only one document, e.g. query 8
constant-features - 1 of 2 features (50 %) has the same value in every document, e.g. 'feature_2'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations, zip_longest
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features, IntArray
from directranker.compilation import even_cuts, in_parallel, n_threads
from directranker.data.dataset import RankingDataset
from directranker.data.findings import MAX_EXAMPLES, Finding, describe, plain_number
from directranker.data.inspection_kernels import (
    Agreement,
    Scan,
    bit_patterns,
    column_agreement,
    equal_rows,
    first_equal,
    scan_features,
)

__all__ = ["Finding", "FoldInspection", "Inspection", "ListLengths", "inspect_dataset", "inspect_fold"]

Mask: TypeAlias = NDArray[np.bool_]

MAX_LABELS = 20  # more distinct labels than these are counted in ten ranges


@dataclass(frozen=True)
class ListLengths:
    """How many documents the queries have.

    >>> ListLengths.of(np.array([0, 2, 3, 9]))
    ListLengths(minimum=1, median=2.0, mean=3.0, maximum=6)
    """

    minimum: int
    median: float
    mean: float
    maximum: int

    @classmethod
    def of(cls, offsets: IntArray) -> ListLengths | None:
        """Summarise the queries between these offsets; None where there are none."""
        lengths = np.diff(offsets)
        if not len(lengths):
            return None
        median, mean = float(np.median(lengths)), float(np.mean(lengths))
        return cls(int(lengths.min()), median, mean, int(lengths.max()))


@dataclass(frozen=True)
class Inspection:
    """The size of a data set, its labels, its list lengths and what is odd about it.

    >>> inspection = inspect_dataset(RankingDataset.from_arrays([[0.5], [1.5]], [0, 1]))
    >>> inspection.label_counts, inspection.list_lengths.maximum, inspection.findings
    ({'0': 1, '1': 1}, 2, ())
    """

    n_documents: int
    n_queries: int
    n_features: int
    label_counts: dict[str, int]
    """Documents by label, from the lowest; of more than 20 labels by ranges such as `"0 to 9"`."""
    list_lengths: ListLengths | None
    """None where there are no queries."""
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"findings": [finding.to_dict() for finding in self.findings]}


@dataclass(frozen=True)
class FoldInspection:
    """Each part of a fold by itself, and what is odd between them.

    >>> part = RankingDataset.from_arrays([[0.5], [1.5]], [0, 1], qid=[3, 3])
    >>> inspect_fold({"train": part, "test": part}).findings[0].message
    '1 of 1 query (100 %) of train stands in test too, e.g. query 3'
    """

    parts: dict[str, Inspection]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
            "findings": [finding.to_dict() for finding in self.findings],
        }


def inspect_dataset(data: RankingDataset, *, threshold: float = 1.0) -> Inspection:
    """Describe a data set and list what is odd; documents of a label ≥ `threshold` are relevant.

    A feature leaks if, of all pairs of documents of one query with different labels, it orders 99 % like
    the label, or 99 % the other way round (ties count half); once among the documents that have a value,
    and once with NaN as the lowest value, as a value may exist only for documents that were clicked. It
    takes 100 pairs, and that luck is no explanation: a random order is right with the probability
    Π n_label! / n! in each query, and one of the features must be right with less than 10⁻⁶.

    >>> data = RankingDataset.from_arrays([[0, 1], [0, 1]], [0, 1], qid=[5, 5])
    >>> [(finding.kind, finding.count) for finding in inspect_dataset(data).findings]
    [('constant-features', 2), ('contradicting-documents', 2)]
    """
    labels, codes, counts = np.unique(data.relevance, return_inverse=True, return_counts=True)
    findings = _query_findings(data, threshold)
    if data.features.size:
        findings += _feature_findings(data, codes)
    return Inspection(
        n_documents=data.n_documents,
        n_queries=data.n_queries,
        n_features=data.n_features,
        label_counts=_count_labels(labels, counts),
        list_lengths=ListLengths.of(data.offsets),
        findings=tuple(findings),
    )


def inspect_fold(parts: Mapping[str, RankingDataset], *, threshold: float = 1.0) -> FoldInspection:
    """Inspect each part, and look for what may not differ or not be the same between them.

    Labels are compared with those of the part `"train"`, or of the first part if none has that name.

    >>> train = RankingDataset.from_arrays([[0.5], [1.5]], [0, 1], qid=[1, 1])
    >>> test = RankingDataset.from_arrays([[0.5], [1.5]], [0, 2], qid=[2, 2])
    >>> inspect_fold({"train": train, "test": test}).findings[0].message
    '1 of 2 labels (50 %) of test does not occur in train, e.g. label 2'
    """
    if not parts:
        raise ValueError("no parts to inspect; give a mapping such as {'train': …, 'test': …}")
    findings: list[Finding] = []
    for (name, part), (other_name, other) in combinations(parts.items(), 2):
        findings += _shared_queries(name, part, other_name, other)
        findings += _differing_features(name, part, other_name, other)
    trained = "train" if "train" in parts else next(iter(parts))
    for name, part in parts.items():
        findings += _unseen_labels(name, part, trained, parts[trained])
    inspections = {name: inspect_dataset(part, threshold=threshold) for name, part in parts.items()}
    return FoldInspection(inspections, tuple(findings))


def _count_labels(labels: NDArray[np.float64], counts: IntArray) -> dict[str, int]:
    if len(labels) <= MAX_LABELS:
        return {plain_number(label): int(count) for label, count in zip(labels, counts, strict=True)}
    halves = labels / 2  # the difference of two labels may be more than a float64 holds
    position = (halves - halves[0]) / (halves[-1] - halves[0])
    starts = np.unique(np.minimum(position * 10, 9).astype(int), return_index=True)[1]
    stops = [*starts[1:], len(labels)]
    return {
        f"{plain_number(labels[start])} to {plain_number(labels[stop - 1])}": int(counts[start:stop].sum())
        for start, stop in zip(starts, stops, strict=True)
    }


def _query_findings(data: RankingDataset, threshold: float) -> list[Finding]:
    lengths = np.diff(data.offsets)
    changes = np.append(False, data.relevance[1:] != data.relevance[:-1])[: data.n_documents]
    changes[data.offsets[:-1][lengths > 0]] = False  # a query's first label is no change within it
    one_class = (lengths > 1) & (_count_by_query(changes, data.offsets) == 0)
    n_relevant = _count_by_query(data.relevance >= threshold, data.offsets)

    def found(kind: str, mask: Mask, **details: str) -> list[Finding]:
        examples = [str(name) for name in data.query_ids[mask][:MAX_EXAMPLES]]
        return describe(kind, examples, n=int(mask.sum()), of=data.n_queries, **details)

    all_relevant = (n_relevant == lengths) & (lengths > 1) & ~one_class
    lowest = plain_number(float(threshold))
    return [
        *found("queries-without-relevant", n_relevant == 0, threshold=lowest),
        *found("only-relevant-queries", all_relevant, threshold=lowest),
        *found("one-class-queries", one_class),
        *found("single-document-queries", lengths == 1),
        *found("empty-queries", lengths == 0),
    ]


def _count_by_query(mask: Mask, offsets: IntArray) -> IntArray:
    before = np.concatenate([[0], np.cumsum(mask)])
    return np.diff(before[offsets])


def _feature_findings(data: RankingDataset, codes: IntArray) -> list[Finding]:
    names, of = data.feature_names, data.n_features
    scan = scan_features(data.features)
    missing = scan.n_missing == data.n_documents
    constant = ~scan.varies & ~missing & (data.n_documents > 1)

    def found(kind: str, columns: Mask) -> list[Finding]:
        examples = [repr(names[column]) for column in np.flatnonzero(columns)]
        return describe(kind, examples, n=len(examples), of=of)

    return [
        *found("constant-features", constant),
        *_duplicate_features(data, scan),
        *found("missing-features", missing),
        *_odd_values("nan-values", data, scan.n_missing, np.isnan),
        *_odd_values("infinite-values", data, scan.n_infinite, np.isinf),
        *_contradicting_documents(data, scan),
        *_leaking_features(data, codes, scan.n_missing > 0),
    ]


def _odd_values(
    kind: str, data: RankingDataset, counts: IntArray, is_odd: Callable[[NDArray[Any]], Mask]
) -> list[Finding]:
    columns = np.flatnonzero(counts)
    examples = []
    for column in columns[:MAX_EXAMPLES]:
        row = int(np.argmax(is_odd(data.features[:, column])))
        query = data.query_ids[_query_of(data, row)]
        examples.append(f"{data.feature_names[column]!r} of {_document(data, row)} in query {query}")
    return describe(kind, examples, n=int(counts.sum()), of=data.features.size, columns=len(columns))


def _query_of(data: RankingDataset, row: int) -> int:
    return int(np.searchsorted(data.offsets, row, side="right")) - 1


def _document(data: RankingDataset, row: int) -> str:
    name = "" if data.document_texts is None else data.document_texts[row].as_py()
    given_row = row if data.original_rows is None else data.original_rows[row]
    return f"document {name}" if name else f"row {given_row}"


def _duplicate_features(data: RankingDataset, scan: Scan) -> list[Finding]:
    # Constant and missing features are alike too, and are reported as what they are.
    columns = np.flatnonzero(scan.varies)
    by_column = bit_patterns(data.features).T
    first = columns[
        first_equal(
            np.zeros(len(columns), dtype=np.int64),
            scan.column_hashes[columns],
            lambda one, other: equal_rows(by_column, columns[one], columns[other]),
        )
    ]
    names = data.feature_names
    pairs = zip(columns[columns != first], first[columns != first], strict=True)
    examples = [f"{names[column]!r} equals {names[earlier]!r}" for column, earlier in pairs]
    return describe("duplicate-features", examples, n=len(examples), of=data.n_features)


def _contradicting_documents(data: RankingDataset, scan: Scan) -> list[Finding]:
    query = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
    bits = bit_patterns(data.features)
    first = first_equal(query, scan.row_hashes, lambda one, other: equal_rows(bits, one, other))
    lowest, highest = data.relevance.copy(), data.relevance.copy()
    np.minimum.at(lowest, first, data.relevance)
    np.maximum.at(highest, first, data.relevance)
    rows = np.flatnonzero(lowest[first] < highest[first])
    leaders = np.unique(first[rows])[:MAX_EXAMPLES]
    examples = [_contradiction(data, rows[first[rows] == leader]) for leader in leaders]
    return describe("contradicting-documents", examples, n=len(rows), of=data.n_documents)


def _contradiction(data: RankingDataset, alike: IntArray) -> str:
    labels = data.relevance[alike]
    unlike = alike[labels != labels[0]][0]
    one, other = (
        f"{_document(data, row)} (label {plain_number(data.relevance[row])})" for row in (alike[0], unlike)
    )
    return f"{one} and {other} of query {data.query_ids[_query_of(data, int(unlike))]}"


def _leaking_features(data: RankingDataset, codes: IntArray, has_missing: Mask) -> list[Finding]:
    def agreement(values: Features, missing_is_lowest: bool, ceiling: float) -> Agreement:
        return Agreement(*column_agreement(values, codes, data.offsets, missing_is_lowest, ceiling))

    ideal = agreement(codes.astype(np.float32), False, np.inf)
    suspects = [(column, False) for column in range(data.n_features)]
    suspects += [(int(column), True) for column in np.flatnonzero(has_missing)]

    def leaks(start: int, stop: int) -> dict[int, Agreement]:
        found: dict[int, Agreement] = {}
        for column, missing_is_lowest in suspects[start:stop]:
            known = agreement(data.features[:, column], missing_is_lowest, ideal.n_pairs)
            if known.is_leak(data.n_features):
                found.setdefault(column, known)
        return found

    leaking: dict[int, Agreement] = {}
    if ideal.is_leak(data.n_features):  # else not even the label itself would be one
        for found in in_parallel(leaks, even_cuts(len(suspects), n_threads())):
            leaking = found | leaking
    worst = sorted(leaking, key=lambda column: (leaking[column].exceptions, column))
    examples = [f"{data.feature_names[column]!r} ({leaking[column]})" for column in worst]
    return describe("leaking-features", examples, n=len(examples), of=data.n_features)


def _shared_queries(part: str, data: RankingDataset, other: str, others: RankingDataset) -> list[Finding]:
    there = set(others.query_ids.tolist())
    shared = [str(name) for name in data.query_ids.tolist() if name in there]
    return describe("shared-queries", shared, n=len(shared), of=data.n_queries, part=part, other=other)


def _differing_features(part: str, data: RankingDataset, other: str, others: RankingDataset) -> list[Finding]:
    def named(name: str | None) -> str:
        return "absent" if name is None else repr(name)

    pairs = list(zip_longest(data.feature_names, others.feature_names))
    examples = [
        f"column {column} is {named(one)} in {part} and {named(another)} in {other}"
        for column, (one, another) in enumerate(pairs)
        if one != another
    ]
    return describe("differing-features", examples, n=len(examples), of=len(pairs), part=part, other=other)


def _unseen_labels(part: str, data: RankingDataset, other: str, others: RankingDataset) -> list[Finding]:
    known, labels = np.unique(others.relevance), np.unique(data.relevance)
    if len(known) > MAX_LABELS:  # measured rather than graded, so that new values are no surprise
        return []
    unseen = [plain_number(label) for label in np.setdiff1d(labels, known)]
    return describe("unseen-labels", unseen, n=len(unseen), of=len(labels), part=part, other=other)
