"""Known data sets, published values, and the folds and labels of the protocol."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from directranker import DataError, Fold, RankingDataset, example_dataset, write_letor
from directranker.data.folds import SPLITS
from directranker.experiments.known_sets import KnownDataset, identify_dataset
from directranker.experiments.protocol import apply_protocol, make_folds, open_folds
from directranker.experiments.published import published_seconds, published_value
from directranker.rankers.registry import load_registry


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("x/MQ2008", KnownDataset("MQ2008", 1, True)),
        ("x/mq2007/Fold2", KnownDataset("MQ2007", 1, True)),
        ("x/MSLR-WEB10K/Fold1/train.txt", KnownDataset("MSLR-WEB10K", 2, True)),
        ("x/WEB30K", KnownDataset("MSLR-WEB30K", 2, True)),
        ("x/MSLR-WEB10K-sample/train.txt", KnownDataset("MSLR-WEB10K", 2, False)),
        ("x/MQ2007-partial", KnownDataset("MQ2007", 1, False)),
        ("x/MQ2008.parquet", KnownDataset("MQ2008", 1, True)),
        ("x/MQ2008/MQ2007-agg", KnownDataset("MQ2007", 1, False)),
        ("x/MQ20081", None),
        ("x/notMQ2008", None),
    ],
)
def test_data_sets_are_identified_by_the_nearest_known_name(path: str, expected: KnownDataset | None) -> None:
    assert identify_dataset(path) == expected


def test_published_values_are_those_of_the_tables() -> None:
    ndcg = published_value("DirectRanker-paper", "MSLR-WEB10K", "ndcg@10")
    assert ndcg is not None
    assert (ndcg.mean, ndcg.error, ndcg.comparable) == (0.440, 0.004, True)
    seconds = published_seconds("IESVMRank", "MSLR-WEB10K")
    assert seconds is not None
    assert (seconds.mean, seconds.error, seconds.comparable) == (34209, None, False)
    assert published_value("RankNet", "MSLR-WEB30K", "map") is None
    assert published_value("RankNet", "MQ2008", "p@5") is None
    assert published_seconds("RankNet", "MQ2008") is None


def test_every_ranker_of_the_paper_is_registered() -> None:
    in_table = [name for name in load_registry() if published_value(name, "MQ2008", "map")]
    assert len(in_table) == 8
    for name in in_table:
        for data in ("MSLR-WEB10K", "MQ2007"):
            assert published_value(name, data, "ndcg@10") is not None
        assert published_seconds(name, "MSLR-WEB10K") is not None


@pytest.mark.parametrize("name", ["ESRank", "IESRRank", "IESVMRank"])
@pytest.mark.parametrize("data", ["MSLR-WEB10K", "MQ2007", "MQ2008"])
def test_values_from_other_papers_are_not_comparable(name: str, data: str) -> None:
    value = published_value(name, data, "map")
    assert value is not None
    assert "not comparable" in value.note


def test_ranklib_without_preprocessing_is_noted_on_web10k_only() -> None:
    for name, later in (("RankNet", ("0.433", "0.353")), ("ListNet", ("0.434", "0.358"))):
        for metric, number in zip(("ndcg@10", "map"), later, strict=True):
            value, comparable = (published_value(name, data, metric) for data in ("MSLR-WEB10K", "MQ2008"))
            assert value is not None
            assert comparable is not None
            assert number in value.note
            assert comparable.comparable


def test_folds_are_rotated_by_query() -> None:
    data = example_dataset()
    folds = make_folds(data, random_state=3)
    ids = [
        {split: set(getattr(fold, split).query_ids) for split in ("train", "validation", "test")}
        for fold in folds
    ]
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold3", "Fold4", "Fold5"]
    for k, fold in enumerate(ids):
        assert fold["train"] | fold["validation"] | fold["test"] == set(data.query_ids)
        assert len(fold["train"]) + len(fold["validation"]) + len(fold["test"]) == data.n_queries
        assert fold["validation"] == ids[(k + 1) % 5]["test"]
    assert set.union(*(fold["test"] for fold in ids)) == set(data.query_ids)
    again, other = (make_folds(data, random_state=seed)[0].test for seed in (3, 4))
    assert again.equals(folds[0].test)
    assert not np.array_equal(other.query_ids, folds[0].test.query_ids)


def test_folds_need_queries() -> None:
    data = example_dataset().select(range(4))
    with pytest.raises(DataError, match="4 queries are too few for 5 folds"):
        make_folds(data)
    with pytest.raises(ValueError, match="n_folds is 2; pass at least 3"):
        make_folds(data, n_folds=2)


def make_small_fold(name: str = "Fold1") -> Fold:
    data = RankingDataset.from_arrays([[1.0]] * 6, [0, 2, 1, 0, 0, 0], qid=["a", "a", "b", "b", "c", "c"])
    return Fold(name, data, data, data)


def test_the_protocol_binarises_and_drops_queries() -> None:
    fold = apply_protocol(make_small_fold(), 1)
    assert fold.test.relevance.tolist() == [0, 1, 1, 0]
    assert fold.train.query_ids.tolist() == ["a", "b"]
    assert apply_protocol(make_small_fold(), 2).validation.query_ids.tolist() == ["a"]
    assert apply_protocol(make_small_fold(), None).test.relevance.tolist() == [0, 2, 1, 0, 0, 0]
    with pytest.raises(DataError, match="Fold1: no query of train has a document with a label of 3"):
        apply_protocol(make_small_fold(), 3)
    empty = replace(make_small_fold(), validation=make_small_fold().validation.select([]))
    with pytest.raises(DataError, match="Fold1: validation has no query; a comparison needs"):
        apply_protocol(empty, None)


def write_fold_folder(folder: Path, n_folds: int = 5) -> None:
    for fold in make_folds(example_dataset().select(range(15)), n_folds=n_folds):
        (folder / fold.name).mkdir(parents=True)
        for split, stem in SPLITS.items():
            write_letor(getattr(fold, split), folder / fold.name / f"{stem}.txt")


def test_published_values_need_the_data_set_its_folds_and_its_labels(tmp_path: Path) -> None:
    write_fold_folder(tmp_path / "MQ2008")
    write_fold_folder(tmp_path / "MQ2007-partial")
    write_fold_folder(tmp_path / "MQ2007", n_folds=3)
    whole = open_folds(tmp_path / "MQ2008")
    assert (whole.name, whole.published_as, whole.threshold, whole.origin) == ("MQ2008", "MQ2008", 1, "given")
    assert len(whole.folds) == 5
    assert open_folds(tmp_path / "MQ2008", threshold=2).published_as is None
    assert open_folds(tmp_path / "MQ2008", threshold=None).published_as is None
    assert open_folds(tmp_path / "MQ2007").published_as is None
    partial = open_folds(tmp_path / "MQ2007-partial")
    assert (partial.published_as, partial.threshold) == (None, 1)
    one_file = open_folds(tmp_path / "MQ2008" / "Fold1" / "train.txt", n_folds=3)
    assert (one_file.published_as, len(one_file.folds)) == (None, 3)
    assert "split by query" in one_file.origin
    one_fold = open_folds(tmp_path / "MQ2008" / "Fold1")
    assert [fold.name for fold in one_fold.folds] == ["Fold1"]
    assert one_fold.published_as is None


def test_a_single_data_set_is_split_into_folds(tmp_path: Path) -> None:
    example_dataset().save(tmp_path / "saved")
    data = open_folds(tmp_path / "saved", threshold="2", n_folds=4, random_state=1)
    assert (len(data.folds), data.threshold, data.published_as) == (4, 2.0, None)
    assert set(np.unique(data.folds[0].train.relevance)) == {0.0, 1.0}
    with pytest.raises(ValueError, match="threshold is 'two'"):
        open_folds(tmp_path / "saved", threshold="two")
