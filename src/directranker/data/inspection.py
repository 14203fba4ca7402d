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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, zip_longest
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from directranker.compilation import IntArray, compiled, even_cuts, in_parallel, n_threads
from directranker.data.checking import Features
from directranker.data.dataset import RankingDataset

__all__ = ["Finding", "FoldInspection", "Inspection", "ListLengths", "inspect_dataset", "inspect_fold"]

Mask: TypeAlias = NDArray[np.bool_]
Bits: TypeAlias = NDArray[np.uint32]
Hashes: TypeAlias = NDArray[np.uint64]
Severity: TypeAlias = Literal["note", "warning"]

MOST_LABELS = 20  # more distinct labels than these are counted in ten ranges
MOST_EXAMPLES = 10
FEWEST_LEAKED_PAIRS = 100
ONE_PAIR_IN = 100  # a leaking feature orders at most one pair in so many unlike the others
CHANCE_OF_NO_LEAK = 1e-6  # how probable it may be that any of the features orders all pairs by luck


@dataclass(frozen=True)
class Finding:
    """One kind of oddity: how often, where for example, and what to do about it.

    >>> finding = Finding("nan-values", "note", 1, "1 of 4 values is NaN", "Fill it.", ("'f' of row 0",))
    >>> finding.to_dict()["examples"]
    ["'f' of row 0"]
    """

    kind: str
    """A stable name in kebab case, such as `"constant-features"`."""
    severity: Severity
    """A warning can make results wrong; a note is good to know."""
    count: int
    message: str
    advice: str
    examples: tuple[str, ...] = ()
    """Up to ten; the first stands in the message."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"examples": list(self.examples)}


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


# What stands behind "3 of 8 queries (38 %)", and what to do; {n:one|many} picks a word by the count.
_WORDS: dict[str, tuple[Severity, str, str, str]] = {
    "queries-without-relevant": (
        "note",
        "query|queries",
        "{n:has|have} no relevant document (label {threshold} or more), e.g. query {example}",
        "Metrics count them by their convention; `only_queries_with_relevant` leaves them out.",
    ),
    "one-class-queries": (
        "note",
        "query|queries",
        "{n:has|have} the same label for all documents, e.g. query {example}",
        "They have no pairs to learn from, and every order of them is equally good.",
    ),
    "single-document-queries": (
        "note",
        "query|queries",
        "{n:has|have} only one document, e.g. query {example}",
        "There is nothing to rank in them; all rankers are equally good there.",
    ),
    "empty-queries": (
        "note",
        "query|queries",
        "{n:has|have} no documents, e.g. query {example}",
        "Leave them out; they add nothing but a query to the mean.",
    ),
    "constant-features": (
        "note",
        "feature|features",
        "{n:has|have} the same value in every document, e.g. {example}",
        "They cannot order documents; leave them out to save time.",
    ),
    "duplicate-features": (
        "note",
        "feature|features",
        "{n:repeats|repeat} another one value by value, e.g. {example}",
        "Keep one of each; the others add time and no information.",
    ),
    "missing-features": (
        "warning",
        "feature|features",
        "{n:has|have} no value at all (only NaN), e.g. {example}",
        "Leave them out, or look for the fault in how the data was made.",
    ),
    "nan-values": (
        "note",
        "value|values",
        "{n:is|are} NaN, in {columns} {columns:feature|features}, e.g. {example}",
        "Use a ranker that takes missing values, or fill them, for example with the feature's median.",
    ),
    "infinite-values": (
        "warning",
        "value|values",
        "{n:is|are} infinite, in {columns} {columns:feature|features}, e.g. {example}",
        "Look for a division by zero or a log of zero where the feature is made; no network can take them.",
    ),
    "contradicting-documents": (
        "warning",
        "document|documents",
        "have the features of another document of their query but not its label, e.g. {example}",
        "No ranker can tell them apart; look for lost features or for double documents.",
    ),
    "leaking-features": (
        "warning",
        "feature|features",
        "{n:orders|order} documents almost exactly as the label does, e.g. {example}",
        "Ask if they are made from the label or known only after it; if so leave them out.",
    ),
    "shared-queries": (
        "warning",
        "query|queries",
        "of {part} {n:stands|stand} in {other} too, e.g. query {example}",
        "Keep each query in one part only, else the evaluation sees what was trained on.",
    ),
    "differing-features": (
        "warning",
        "column|columns",
        "{n:differs|differ} between {part} and {other}, e.g. {example}",
        "Give all parts the same features in the same order.",
    ),
    "unseen-labels": (
        "note",
        "label|labels",
        "of {part} {n:does|do} not occur in {other}, e.g. label {example}",
        "Check that all parts use the same grades.",
    ),
}


class _Number(int):
    """An int that picks words in a format: `{n:query|queries}`."""

    def __format__(self, forms: str) -> str:
        return forms.split("|")[self != 1] if forms else str(int(self))


def _found(kind: str, examples: Sequence[str], *, n: int, of: int, **details: object) -> list[Finding]:
    if not n:
        return []
    severity, noun, predicate, advice = _WORDS[kind]
    words = {name: _Number(value) if isinstance(value, int) else value for name, value in details.items()}
    predicate = predicate.format(n=_Number(n), example=examples[0], **words)
    message = f"{n} of {of} {_Number(of):{noun}} ({_percent(n / of)}) {predicate}"
    return [Finding(kind, severity, n, message, advice, tuple(examples[:MOST_EXAMPLES]))]


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))


def _count_labels(labels: NDArray[np.float64], counts: IntArray) -> dict[str, int]:
    if len(labels) <= MOST_LABELS:
        return {_number(label): int(count) for label, count in zip(labels, counts, strict=True)}
    halves = labels / 2  # the difference of two labels may be more than a float64 holds
    position = (halves - halves[0]) / (halves[-1] - halves[0])
    starts = np.unique(np.minimum(position * 10, 9).astype(int), return_index=True)[1]
    stops = [*starts[1:], len(labels)]
    return {
        f"{_number(labels[start])} to {_number(labels[stop - 1])}": int(counts[start:stop].sum())
        for start, stop in zip(starts, stops, strict=True)
    }


def _query_findings(data: RankingDataset, threshold: float) -> list[Finding]:
    lengths = np.diff(data.offsets)
    changes = np.append(False, data.relevance[1:] != data.relevance[:-1])[: data.n_documents]
    changes[data.offsets[:-1][lengths > 0]] = False  # a query's first label is no change within it
    one_class = (lengths > 1) & (_count_by_query(changes, data.offsets) == 0)
    irrelevant = _count_by_query(data.relevance >= threshold, data.offsets) == 0

    def found(kind: str, mask: Mask, **details: str) -> list[Finding]:
        examples = [str(name) for name in data.query_ids[mask][:MOST_EXAMPLES]]
        return _found(kind, examples, n=int(mask.sum()), of=data.n_queries, **details)

    return [
        *found("queries-without-relevant", irrelevant, threshold=_number(float(threshold))),
        *found("one-class-queries", one_class),
        *found("single-document-queries", lengths == 1),
        *found("empty-queries", lengths == 0),
    ]


def _count_by_query(mask: Mask, offsets: IntArray) -> IntArray:
    before = np.concatenate([[0], np.cumsum(mask)])
    return np.diff(before[offsets])


def _feature_findings(data: RankingDataset, codes: IntArray) -> list[Finding]:
    names, of = data.feature_names, data.n_features
    scan = _scan(data.features)
    missing = scan.n_missing == data.n_documents
    constant = ~scan.varies & ~missing & (data.n_documents > 1)

    def found(kind: str, columns: Mask) -> list[Finding]:
        examples = [repr(names[column]) for column in np.flatnonzero(columns)]
        return _found(kind, examples, n=len(examples), of=of)

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
    for column in columns[:MOST_EXAMPLES]:
        row = int(np.argmax(is_odd(data.features[:, column])))
        query = data.query_ids[_query_of(data, row)]
        examples.append(f"{data.feature_names[column]!r} of {_document(data, row)} in query {query}")
    return _found(kind, examples, n=int(counts.sum()), of=data.features.size, columns=len(columns))


def _query_of(data: RankingDataset, row: int) -> int:
    return int(np.searchsorted(data.offsets, row, side="right")) - 1


def _document(data: RankingDataset, row: int) -> str:
    name = "" if data.document_texts is None else data.document_texts[row].as_py()
    given_row = row if data.original_rows is None else data.original_rows[row]
    return f"document {name}" if name else f"row {given_row}"


def _duplicate_features(data: RankingDataset, scan: _Scan) -> list[Finding]:
    # Constant and missing features are alike too, and are reported as what they are.
    columns = np.flatnonzero(scan.varies)
    by_column = _bits(data.features).T
    first = columns[
        _first_equal(
            np.zeros(len(columns), dtype=np.int64),
            scan.column_hashes[columns],
            lambda one, other: _equal_rows(by_column, columns[one], columns[other]),
        )
    ]
    names = data.feature_names
    pairs = zip(columns[columns != first], first[columns != first], strict=True)
    examples = [f"{names[column]!r} equals {names[earlier]!r}" for column, earlier in pairs]
    return _found("duplicate-features", examples, n=len(examples), of=data.n_features)


def _contradicting_documents(data: RankingDataset, scan: _Scan) -> list[Finding]:
    query = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
    bits = _bits(data.features)
    first = _first_equal(query, scan.row_hashes, lambda one, other: _equal_rows(bits, one, other))
    lowest, highest = data.relevance.copy(), data.relevance.copy()
    np.minimum.at(lowest, first, data.relevance)
    np.maximum.at(highest, first, data.relevance)
    rows = np.flatnonzero(lowest[first] < highest[first])
    leaders = np.unique(first[rows])[:MOST_EXAMPLES]
    examples = [_contradiction(data, rows[first[rows] == leader]) for leader in leaders]
    return _found("contradicting-documents", examples, n=len(rows), of=data.n_documents)


def _contradiction(data: RankingDataset, alike: IntArray) -> str:
    labels = data.relevance[alike]
    unlike = alike[labels != labels[0]][0]
    one, other = (
        f"{_document(data, row)} (label {_number(data.relevance[row])})" for row in (alike[0], unlike)
    )
    return f"{one} and {other} of query {data.query_ids[_query_of(data, int(unlike))]}"


def _leaking_features(data: RankingDataset, codes: IntArray, has_missing: Mask) -> list[Finding]:
    def agreement(values: Features, missing_is_lowest: bool, ceiling: float) -> _Agreement:
        return _Agreement(*_column_agreement(values, codes, data.offsets, missing_is_lowest, ceiling))

    ideal = agreement(codes.astype(np.float32), False, np.inf)
    suspects = [(column, False) for column in range(data.n_features)]
    suspects += [(int(column), True) for column in np.flatnonzero(has_missing)]

    def leaks(start: int, stop: int) -> dict[int, _Agreement]:
        found: dict[int, _Agreement] = {}
        for column, missing_is_lowest in suspects[start:stop]:
            known = agreement(data.features[:, column], missing_is_lowest, ideal.n_pairs)
            if known.is_leak(data.n_features):
                found.setdefault(column, known)
        return found

    leaking: dict[int, _Agreement] = {}
    if ideal.is_leak(data.n_features):  # else not even the label itself would be one
        for found in in_parallel(leaks, even_cuts(len(suspects), n_threads())):
            leaking = found | leaking
    worst = sorted(leaking, key=lambda column: (leaking[column].exceptions, column))
    examples = [f"{data.feature_names[column]!r} ({leaking[column]})" for column in worst]
    return _found("leaking-features", examples, n=len(examples), of=data.n_features)


def _shared_queries(part: str, data: RankingDataset, other: str, others: RankingDataset) -> list[Finding]:
    there = set(others.query_ids.tolist())
    shared = [str(name) for name in data.query_ids.tolist() if name in there]
    return _found("shared-queries", shared, n=len(shared), of=data.n_queries, part=part, other=other)


def _differing_features(part: str, data: RankingDataset, other: str, others: RankingDataset) -> list[Finding]:
    def named(name: str | None) -> str:
        return "absent" if name is None else repr(name)

    pairs = list(zip_longest(data.feature_names, others.feature_names))
    examples = [
        f"column {column} is {named(one)} in {part} and {named(another)} in {other}"
        for column, (one, another) in enumerate(pairs)
        if one != another
    ]
    return _found("differing-features", examples, n=len(examples), of=len(pairs), part=part, other=other)


def _unseen_labels(part: str, data: RankingDataset, other: str, others: RankingDataset) -> list[Finding]:
    known, labels = np.unique(others.relevance), np.unique(data.relevance)
    if len(known) > MOST_LABELS:  # measured rather than graded, so that new values are no surprise
        return []
    unseen = [_number(label) for label in np.setdiff1d(labels, known)]
    return _found("unseen-labels", unseen, n=len(unseen), of=len(labels), part=part, other=other)


class _Scan(NamedTuple):
    """What one pass over the features tells of each column and each row."""

    n_missing: IntArray
    n_infinite: IntArray
    varies: Mask
    column_hashes: Hashes
    row_hashes: Hashes


def _bits(features: Features) -> Bits:
    return features.view(np.uint32)


def _scan(features: Features) -> _Scan:
    n_rows, n_columns = features.shape
    # Σ bits · salt mod 2⁶⁴: sums of blocks add up, and a collision costs no more than a comparison.
    salts = np.random.default_rng(0).integers(2**64, size=max(n_rows, n_columns), dtype=np.uint64)
    row_hashes = np.empty(n_rows, dtype=np.uint64)
    blocks = in_parallel(
        lambda start, stop: _scan_rows(_bits(features), salts, start, stop, row_hashes),
        even_cuts(n_rows, n_threads()),
    )
    missing, infinite, varies, hashes = (np.stack(block).sum(axis=0) for block in zip(*blocks, strict=True))
    return _Scan(missing, infinite, varies > 0, hashes, row_hashes)


def _first_equal(groups: IntArray, hashes: Hashes, equal: Callable[[IntArray, IntArray], Mask]) -> IntArray:
    """For each item the first item of its group that is equal to it, which may be itself."""
    first = np.arange(len(groups))
    todo = np.lexsort((hashes, groups))
    while len(todo):  # once, unless unequal items have equal hashes
        key, salt = groups[todo], hashes[todo]
        is_start = np.append(True, (key[1:] != key[:-1]) | (salt[1:] != salt[:-1]))
        start = todo[is_start][np.cumsum(is_start) - 1]
        later, start = todo[~is_start], start[~is_start]
        same = equal(later, start)
        first[later[same]] = start[same]
        todo = later[~same]
    return first


def _equal_rows(bits: Bits, ones: IntArray, others: IntArray) -> Mask:
    blocks = in_parallel(
        lambda start, stop: _compare_rows(bits, ones[start:stop], others[start:stop]),
        even_cuts(len(ones), n_threads()),
    )
    return np.concatenate(blocks)


_MAGNITUDE = np.uint32(0x7FFFFFFF)
_INFINITY = np.uint32(0x7F800000)
_NAN = np.uint32(0x7FC00000)


@compiled
def _canonical(bits: Any) -> Any:
    """One pattern for all NaNs, and one for 0 and -0, so that equal values have equal bits."""
    magnitude = bits & _MAGNITUDE
    if magnitude > _INFINITY:
        return _NAN
    return bits if magnitude else magnitude


@compiled
def _scan_rows(bits: Bits, salts: Hashes, start: int, stop: int, row_hashes: Hashes) -> Any:
    n_columns = bits.shape[1]
    n_missing = np.zeros(n_columns, dtype=np.int64)
    n_infinite = np.zeros(n_columns, dtype=np.int64)
    n_unlike_first = np.zeros(n_columns, dtype=np.int64)
    hashes = np.zeros(n_columns, dtype=np.uint64)
    for row in range(start, stop):
        row_hash = np.uint64(0)
        for column in range(n_columns):
            value = _canonical(bits[row, column])
            n_missing[column] += value == _NAN
            n_infinite[column] += (value & _MAGNITUDE) == _INFINITY
            n_unlike_first[column] += value != _canonical(bits[0, column])
            hashes[column] += np.uint64(value) * salts[row]
            row_hash += np.uint64(value) * salts[column]
        row_hashes[row] = row_hash
    return n_missing, n_infinite, n_unlike_first, hashes


@compiled
def _compare_rows(bits: Bits, ones: IntArray, others: IntArray) -> Mask:
    equal = np.ones(len(ones), dtype=np.bool_)
    for pair in range(len(ones)):
        for column in range(bits.shape[1]):
            if _canonical(bits[ones[pair], column]) != _canonical(bits[others[pair], column]):
                equal[pair] = False
                break
    return equal


class _Agreement(NamedTuple):
    """Pairs of different labels that a feature orders like the label and unlike it, ties half each."""

    like: float
    unlike: float
    surprise: float
    """-log of the probability that a random order of all documents is right."""

    @property
    def n_pairs(self) -> float:
        return self.like + self.unlike

    @property
    def exceptions(self) -> float:
        return min(self.like, self.unlike) / self.n_pairs

    def is_leak(self, n_features: int) -> bool:
        return (
            self.n_pairs >= FEWEST_LEAKED_PAIRS
            and min(self.like, self.unlike) * ONE_PAIR_IN <= self.n_pairs
            and self.surprise >= np.log(n_features / CHANCE_OF_NO_LEAK)
        )

    def __str__(self) -> str:
        reversed_ = ", reversed" if self.unlike > self.like else ""
        return f"{100 * (1 - self.exceptions):.1f} % of {self.n_pairs:.0f} pairs{reversed_}"


@compiled
def _column_agreement(
    column: Features, codes: IntArray, offsets: IntArray, missing_is_lowest: bool, ceiling: float
) -> Any:
    """Sum the agreement over the queries, until neither 99 % nor 1 % of `ceiling` pairs can be reached."""
    tree = np.zeros(codes.max() + 2, dtype=np.int64)
    like, unlike, surprise = 0.0, 0.0, 0.0
    for query in range(len(offsets) - 1):
        rows = slice(offsets[query], offsets[query + 1])
        values, labels = column[rows].copy(), codes[rows]
        known = ~np.isnan(values)
        if missing_is_lowest:
            values[~known] = -np.inf
        else:
            values, labels = values[known], labels[known]
        one, two, three = _query_agreement(values, labels, tree)
        like, unlike, surprise = like + one, unlike + two, surprise + three
        if min(like, unlike) * ONE_PAIR_IN > ceiling:
            break
    return like, unlike, surprise


@compiled
def _query_agreement(values: Features, codes: IntArray, tree: IntArray) -> Any:
    """Count pairs by going up the values, with a Fenwick tree of how often each label was below."""
    order = np.argsort(values, kind="mergesort")
    n_pairs, n_like, n_unlike, surprise = 0, 0, 0, 0.0
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and values[order[stop]] == values[order[start]]:
            code = codes[order[stop]]
            n_like += _count_below(tree, code)
            n_unlike += start - _count_below(tree, code + 1)
            stop += 1
        for place in range(start, stop):
            code = codes[order[place]]
            n_same = _count_below(tree, code + 1) - _count_below(tree, code)
            n_pairs += place - n_same
            surprise += np.log((place + 1) / (n_same + 1))
            _add(tree, code, 1)
        start = stop
    for code in codes:
        _add(tree, code, -1)
    n_tied = n_pairs - n_like - n_unlike
    return n_like + n_tied / 2, n_unlike + n_tied / 2, surprise


@compiled
def _count_below(tree: IntArray, code: int) -> int:
    total = 0
    while code > 0:
        total += tree[code]
        code -= code & -code
    return total


@compiled
def _add(tree: IntArray, code: int, amount: int) -> None:
    node = code + 1
    while node < len(tree):
        tree[node] += amount
        node += node & -node
