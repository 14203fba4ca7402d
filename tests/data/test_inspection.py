"""Each problem is found with its count and an example, and clean data has no findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from directranker.data import inspection as module
from directranker.data import inspection_kernels as kernels
from directranker.data.dataset import RankingDataset
from directranker.data.findings import format_percent
from directranker.data.inspection import Inspection, ListLengths, inspect_dataset, inspect_fold
from directranker.data.letor import read_letor

from inspection_cases import clean, findings, only, with_column

NAN, INF = np.nan, np.inf
SPECIAL_VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, NAN, INF, -INF])
few_examples = settings(max_examples=60, deadline=None)


def test_clean_data_has_no_findings() -> None:
    inspection = inspect_dataset(clean())
    assert inspection == Inspection(
        n_documents=120,
        n_queries=12,
        n_features=4,
        label_counts={"0": 48, "1": 36, "2": 36},
        list_lengths=ListLengths(10, 10.0, 10.0, 10),
        findings=(),
    )


def from_labels(*labels: list[float], n_features: int = 1) -> RankingDataset:
    """Make queries q0, q1, … with these labels and unique feature values."""
    n_rows = sum(map(len, labels))
    features = np.arange(n_rows * n_features).reshape(n_rows, n_features)
    qid = [f"q{number}" for number, query in enumerate(labels) for _ in query]
    return RankingDataset.from_arrays(features, np.concatenate(labels), qid=qid)


def test_queries_without_relevant() -> None:
    data = from_labels([0, 1], [0, 0.5], [0, 0.9], [2, 0])
    finding = only(data, "queries-without-relevant")
    assert (finding.count, finding.examples, finding.severity) == (2, ("q1", "q2"), "note")
    expected = "2 of 4 queries (50 %) have no relevant document (label 1 or more), e.g. query q1"
    assert finding.message == expected
    assert only(data, "queries-without-relevant", threshold=2.0).count == 3
    assert findings(data, threshold=0.5) == {}


def test_queries_with_one_label() -> None:
    finding = only(from_labels([0, 1], [1, 1, 1], [2, 0]), "one-class-queries")
    assert (finding.count, finding.examples) == (1, ("q1",))
    assert finding.message == "1 of 3 queries (33 %) has the same label for all documents, e.g. query q1"


def test_queries_with_only_relevant_documents() -> None:
    stars = from_labels([1, 5, 3], [0, 1], [2, 4])
    finding = only(stars, "only-relevant-queries")
    assert (finding.count, finding.examples) == (2, ("q0", "q2"))
    assert finding.message.startswith("2 of 3 queries (67 %) have different labels, but all of 1 or more")
    assert "only-relevant-queries" not in findings(stars, threshold=3.0)


def test_labels_that_change_only_between_queries() -> None:
    assert only(from_labels([1, 1], [2, 2], [1, 1]), "one-class-queries").count == 3


def test_single_document_queries() -> None:
    finding = only(from_labels([0, 1], [1], [0, 1], [2]), "single-document-queries")
    assert (finding.count, finding.examples) == (2, ("q1", "q3"))
    assert finding.message == "2 of 4 queries (50 %) have only one document, e.g. query q1"


def test_empty_queries() -> None:
    ids = np.array(["a", "b", "c", "d"], dtype=object)
    offsets = np.array([0, 0, 2, 2, 4])
    features = np.arange(4, dtype=np.float32)[:, None]
    data = RankingDataset(features, np.array([0.0, 1, 1, 0]), offsets, ids)
    found = findings(data)
    assert list(found) == ["queries-without-relevant", "empty-queries"]
    assert found["empty-queries"].message == "2 of 4 queries (50 %) have no documents, e.g. query a"
    assert inspect_dataset(data).list_lengths == ListLengths(0, 1.0, 1.0, 2)


@pytest.mark.parametrize("value", [7.0, INF])
def test_constant_features(value: float) -> None:
    data = with_column(with_column(clean(), 1, value), 3, np.where(np.arange(120) % 2, 0.0, -0.0))
    finding = findings(data)["constant-features"]
    assert (finding.count, finding.examples) == (2, ("'feature_2'", "'feature_4'"))
    expected = "2 of 4 features (50 %) have the same value in every document, e.g. 'feature_2'"
    assert finding.message == expected


def test_at_most_ten_examples() -> None:
    features = np.ones((2, 12))
    features[1, 11] = 2
    finding = findings(RankingDataset.from_arrays(features, [0, 1]))["constant-features"]
    assert (finding.count, len(finding.examples)) == (11, 10)


def test_a_partly_missing_value_is_not_constant() -> None:
    only(with_column(clean(), 1, np.where(np.arange(120) % 7, 7.0, NAN)), "nan-values")


def test_duplicate_features() -> None:
    data = clean(n_features=6)
    column = data.features[:, 1].copy()
    column[[3, 4, 5]] = 0.0, -0.0, 1.0
    data = with_column(with_column(data, 1, column), 4, np.where(column == 0, -column, column))
    data = with_column(data, 5, column)
    finding = only(data, "duplicate-features")
    equal = ("'feature_5' equals 'feature_2'", "'feature_6' equals 'feature_2'")
    assert (finding.count, finding.examples) == (2, equal)
    assert finding.message == f"2 of 6 features (33 %) repeat another one value by value, e.g. {equal[0]}"


def test_missing_features_are_neither_constant_nor_duplicate() -> None:
    found = findings(with_column(with_column(clean(), 0, NAN), 2, NAN))
    assert list(found) == ["missing-features", "nan-values"]
    finding = found["missing-features"]
    assert (finding.count, finding.severity) == (2, "warning")
    assert finding.message == "2 of 4 features (50 %) have no value at all (only NaN), e.g. 'feature_1'"
    assert found["nan-values"].count == 240


def test_all_bit_patterns_of_nan_are_equal() -> None:
    patterns = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF], dtype=np.uint32)
    column = np.append(patterns, np.uint32(0)).view(np.float32)
    data = RankingDataset.from_arrays(np.column_stack([column, column[[1, 2, 3, 0, 4]]]), [0, 1, 0, 1, 2])
    found = findings(data)
    assert {kind: finding.count for kind, finding in found.items()} == {
        "duplicate-features": 1,
        "nan-values": 8,
        "contradicting-documents": 4,
    }


def test_nan_values() -> None:
    column = clean().features[:, 2].copy()
    column[[20, 35]] = NAN
    finding = only(with_column(clean(), 2, column), "nan-values")
    assert (finding.count, finding.severity) == (2, "note")
    value = "'feature_3' of row 20 in query 102"
    assert finding.message == f"2 of 480 values (<1 %) are NaN, in 1 feature, e.g. {value}"


def test_infinite_values() -> None:
    features = clean().features.copy()
    features[119, 0], features[0, 3] = INF, -INF
    data = RankingDataset.from_arrays(features, clean().relevance, qid=clean().qid)
    finding = only(data, "infinite-values")
    assert (finding.count, finding.severity) == (2, "warning")
    value = "'feature_1' of row 119 in query 111"
    assert finding.message == f"2 of 480 values (<1 %) are infinite, in 2 features, e.g. {value}"


def test_contradicting_documents() -> None:
    first, second = [1.0, 1, 2, 1, 2, 2, 1, 5, 5], [0.0, 0, 3, -0.0, 3, 3, 0, NAN, NAN]
    data = RankingDataset.from_arrays(
        np.column_stack([first, second]), [0, 0, 1, 1, 1, 0, 2, 0, 1], qid=list("baaaabbcc")
    )
    finding = findings(data)["contradicting-documents"]
    assert (finding.count, finding.severity) == (6, "warning")
    assert finding.examples == (
        "row 0 (label 0) and row 6 (label 2) of query b",
        "row 1 (label 0) and row 3 (label 1) of query a",
        "row 7 (label 0) and row 8 (label 1) of query c",
    )
    assert finding.message == (
        "6 of 9 documents (67 %) have the features of another document of their query but not its label,"
        " e.g. row 0 (label 0) and row 6 (label 2) of query b"
    )


def test_examples_name_documents_by_id() -> None:
    data = RankingDataset.from_arrays([[1.0]] * 3, [0, 0, 1], document_ids=["GX1", "GX2", ""])
    pair = "document GX1 (label 0) and row 2 (label 1) of query 0"
    assert findings(data)["contradicting-documents"].examples == (pair,)


def test_leaking_features_are_sorted_worst_first() -> None:
    data = clean()
    noisy = data.relevance.copy()
    noisy[0] = 1.5  # above the three documents of label 1 in its query: 3 of 12 · 33 pairs wrong
    data = with_column(with_column(data, 1, noisy), 3, 5 - 3 * data.relevance)
    finding = only(data, "leaking-features")
    assert (finding.count, finding.severity) == (2, "warning")
    assert finding.examples == (
        "'feature_4' (100.0 % of 396 pairs, reversed)",
        "'feature_2' (99.2 % of 396 pairs)",
    )


def test_a_leak_may_have_missing_values() -> None:
    labels = clean().relevance
    values = np.where(np.arange(120) % 5 == 0, NAN, labels)
    assert findings(with_column(clean(), 0, values))["leaking-features"].count == 1


@pytest.mark.parametrize(("only_relevant", "suffix"), [(True, ")"), (False, ", reversed)")])
def test_missingness_may_leak(only_relevant: bool, suffix: str) -> None:
    data = clean().binarise(1)
    has_value = (data.relevance == 1) == only_relevant
    data = with_column(data, 0, np.where(has_value, data.features[:, 0], NAN))
    n_pairs = 12 * 4 * 6
    assert findings(data)["leaking-features"].examples == (
        f"'feature_1' (100.0 % of {n_pairs} pairs{suffix}",
    )


@pytest.mark.parametrize(
    ("n_queries", "labels", "leaks"),
    [
        (33, [0, 1, 2], False),  # 99 pairs
        (34, [0, 1, 2], True),
        (1, [1] + [0] * 101, False),  # 101 pairs, but every hundredth feature puts one document first
        (1, [0] * 10 + [1] * 10, False),  # one in 184,756
        (1, [0] * 12 + [1] * 12, False),  # one in 2,704,156, but any of four features may be it
        (1, [0] * 14 + [1] * 14, True),  # one in 40,116,600
    ],
)
def test_agreement_by_chance_is_not_a_leak(n_queries: int, labels: list[int], leaks: bool) -> None:
    data = clean(n_queries, len(labels))
    relevance = np.tile(labels, n_queries)
    features = np.column_stack([relevance, data.features[:, 1:]])
    found = findings(RankingDataset.from_arrays(features, relevance, qid=data.qid))
    assert ("leaking-features" in found) == leaks


def test_a_query_level_feature_cannot_leak() -> None:
    data = clean()
    assert findings(with_column(data, 0, data.qid)) == {}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([], {}),
        ([0, 0.5, -1, 0], {"-1": 1, "0": 2, "0.5": 1}),
        (range(20), {str(label): 1 for label in range(20)}),
        ([*range(21), 20], {**{f"{2 * n} to {2 * n + 1}": 2 for n in range(9)}, "18 to 20": 4}),
        (
            [-1e308 + k * 1e305 for k in range(20)] + [1e308],
            {"-1e+308 to -9.81e+307": 20, "1e+308 to 1e+308": 1},
        ),
    ],
)
def test_label_counts(labels: Any, expected: dict[str, int]) -> None:
    labels = list(labels)
    data = RankingDataset.from_arrays(np.zeros((len(labels), 1)), labels)
    counts = inspect_dataset(data).label_counts
    assert counts == expected
    assert sum(counts.values()) == len(labels)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 0), (1, 3), (5, 0)])
@pytest.mark.parametrize("value", [0.0, NAN, INF])
def test_tiny_data(shape: tuple[int, int], value: float) -> None:
    data = RankingDataset.from_arrays(np.full(shape, value), np.arange(shape[0]))
    inspection = inspect_dataset(data)
    assert (inspection.n_documents, inspection.n_features) == shape
    assert "constant-features" not in findings(data)
    assert (inspection.list_lengths is None) == (shape[0] == 0)
    json.dumps(inspection.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.004, "<1 %"), (0.996, ">99 %"), (1, "100 %"), (0.125, "12 %")]
)
def test_format_percent_never_rounds_to_0_or_100(fraction: float, text: str) -> None:
    assert format_percent(fraction) == text


def make_problematic_data() -> RankingDataset:
    rng = np.random.default_rng(3)
    features = rng.choice([0, -0.0, 1, NAN, INF], size=(90, 7)).astype(np.float32)
    features[:, 3], features[:, 4], features[:, 5] = features[:, 2], 1, NAN
    features[1::2] = features[::2]
    features[:, 6] = labels = rng.choice(3, 90)
    return RankingDataset.from_arrays(features, labels, qid=np.repeat(range(6), 15))


@pytest.mark.parametrize("layout", ["fortran", "strided", "mapped"])
def test_memory_layout_makes_no_difference(layout: str, tmp_path: Path) -> None:
    data = make_problematic_data()
    features: Any = np.asfortranarray(data.features)
    if layout == "strided":
        features = np.repeat(data.features, 2, axis=1)[:, ::2]
    if layout == "mapped":
        np.save(tmp_path / "features.npy", data.features)
        features = np.load(tmp_path / "features.npy", mmap_mode="r")
    same = RankingDataset(features, data.relevance, data.offsets, data.query_ids)
    assert inspect_dataset(same) == inspect_dataset(data)
    assert len(inspect_dataset(data).findings) == 6


def test_hash_collisions_are_not_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    data, scan = make_problematic_data(), kernels.scan_features
    expected = inspect_dataset(data)

    def scan_with_equal_hashes(features: NDArray[np.float32]) -> kernels.Scan:
        true = scan(features)
        return true._replace(column_hashes=true.column_hashes * 0, row_hashes=true.row_hashes * 0)

    monkeypatch.setattr(module, "scan_features", scan_with_equal_hashes)
    assert inspect_dataset(data) == expected


def test_queries_shared_by_splits() -> None:
    train, vali, test = clean(), clean(seed=1), clean(seed=2)
    splits = {
        "train": train,
        "vali": RankingDataset.from_arrays(vali.features, vali.relevance, qid=vali.qid + 10),
        "test": RankingDataset.from_arrays(test.features, test.relevance, qid=test.qid + 100),
    }
    fold = inspect_fold(splits)
    assert fold.parts == {name: inspect_dataset(split) for name, split in splits.items()}
    (finding,) = fold.findings
    assert (finding.kind, finding.count, finding.examples) == ("shared-queries", 2, ("110", "111"))
    assert finding.message == "2 of 12 queries (17 %) of train are also in vali, e.g. query 110"
    assert finding.severity == "warning"


def with_other_ids(data: RankingDataset, **changes: Any) -> RankingDataset:
    """Copy a data set with other query ids, and these changes."""
    options: dict[str, Any] = {"X": data.features, "y": data.relevance, "qid": data.qid + 1000} | changes
    return RankingDataset.from_arrays(**options)


def test_splits_with_different_features() -> None:
    data = clean()
    (finding,) = inspect_fold({"train": data, "test": with_other_ids(data, X=data.features[:, :3])}).findings
    assert (finding.kind, finding.count, finding.severity) == ("differing-features", 1, "warning")
    absent = "column 3 is 'feature_4' in train and absent in test"
    assert finding.message == f"1 of 4 columns (25 %) differs between train and test, e.g. {absent}"
    (finding,) = inspect_fold({"a": data, "b": with_other_ids(data, feature_names=["x", *"abc"])}).findings
    assert (finding.count, finding.examples[0]) == (4, "column 0 is 'feature_1' in a and 'x' in b")


def test_labels_unseen_in_training() -> None:
    data = clean()
    splits = {"test": with_other_ids(data, y=data.relevance * 2), "train": data}
    (finding,) = inspect_fold(splits).findings
    assert (finding.kind, finding.count, finding.examples) == ("unseen-labels", 1, ("4",))
    assert finding.message == "1 of 3 labels (33 %) of test does not occur in train, e.g. label 4"
    continuous = {"train": with_other_ids(data, y=np.arange(120) + 0.5), "test": data}
    assert inspect_fold(continuous).findings == ()


def test_a_fold_without_splits_raises() -> None:
    with pytest.raises(ValueError, match="no splits to inspect; give a mapping"):
        inspect_fold({})


def test_json_round_trip() -> None:
    one = inspect_dataset(make_problematic_data()).to_dict()
    fold = inspect_fold({"train": make_problematic_data(), "test": make_problematic_data()}).to_dict()
    for result in (one, fold):
        assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert fold["parts"]["test"] == one
    sizes = ["n_documents", "n_queries", "n_features", "label_counts", "list_lengths"]
    assert list(one) == [*sizes, "findings", "categories", "vectors"]
    names = ["kind", "severity", "count", "message", "advice", "examples"]
    assert [list(finding) for finding in one["findings"]] == [names] * 6
    assert one["list_lengths"] == {"minimum": 15, "median": 15.0, "mean": 15.0, "maximum": 15}


def test_findings_of_mq2008(real_data: Path) -> None:
    """The expected counts come from a literal count over pairs of lines of the text."""
    folder = real_data / "MQ2008" / "Fold1"
    fold = inspect_fold({name: read_letor(folder / f"{name}.txt") for name in ("train", "vali", "test")})
    assert fold.findings == ()
    train = fold.parts["train"]
    assert (train.n_documents, train.n_queries, train.n_features) == (9630, 471, 46)
    assert train.label_counts == {"0": 7820, "1": 1223, "2": 587}
    assert train.list_lengths == ListLengths(5, 8.0, 9630 / 471, 121)
    counts = {
        name: {finding.kind: (finding.count, finding.examples[0]) for finding in split.findings}
        for name, split in fold.parts.items()
    }
    contradictions = {
        name: found.pop("contradicting-documents", (0, ""))[0] for name, found in counts.items()
    }
    assert contradictions == {"train": 2, "vali": 2, "test": 0}
    for name, n_one_class, query in (("train", 132, "10002"), ("vali", 37, "15997"), ("test", 51, "18378")):
        assert counts[name] == {
            "queries-without-relevant": (n_one_class, query),
            "one-class-queries": (n_one_class, query),
            "constant-features": (6, "'feature_6'"),
        }
