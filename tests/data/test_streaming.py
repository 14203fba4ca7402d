"""Streaming a data set: complete queries, the same rows, and errors with the right line."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from directranker import DataError, LetorError, RankingDataset, concatenate, example_dataset, write_letor
from directranker.data import csv_files, json_lines, parquet_files, streaming
from directranker.data.formats import stream_dataset
from directranker.data.streaming import stream_letor


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(25))


@pytest.mark.parametrize(
    "name", ["data.txt", "data.txt.gz", "data.csv", "data.tsv.zst", "data.jsonl.gz", "data.parquet", "data"]
)
def test_pieces_concatenate_to_the_data(
    name: str, data: RankingDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from directranker import read_dataset, write_dataset  # noqa: PLC0415

    monkeypatch.setattr(streaming, "BLOCK_ROWS", 40)
    monkeypatch.setattr(parquet_files, "STREAM_ROWS", 40)
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 2000)
    write_dataset(data, tmp_path / name)
    pieces = list(stream_dataset(tmp_path / name))
    assert concatenate(pieces).equals(read_dataset(tmp_path / name))
    if not name.startswith("data.txt"):
        assert len(pieces) > 5


@pytest.mark.parametrize("block_bytes", [1, 7, 100, 5000])
def test_blocks_of_any_size(block_bytes: int, data: RankingDataset, tmp_path: Path) -> None:
    few = data.select(range(3))
    write_letor(few, tmp_path / "data.txt")
    text = (tmp_path / "data.txt").read_bytes().rstrip(b"\n")
    pieces = list(stream_letor(io.BytesIO(text), block_bytes=block_bytes))
    np.testing.assert_array_equal(concatenate(pieces).features, few.features)
    assert np.concatenate([piece.query_ids for piece in pieces]).tolist() == few.query_ids.tolist()


def test_a_reappearing_query_raises() -> None:
    text = b"0 qid:1 1:5\n0 qid:2 1:5\n0 qid:3 1:5\n0 qid:1 1:7\n"
    for block_bytes in (12, 1000):
        with pytest.raises(DataError, match="are not contiguous"):
            list(stream_letor(io.BytesIO(text), block_bytes=block_bytes))


def test_a_missing_column_raises_with_the_file(data: RankingDataset, tmp_path: Path) -> None:
    table = data.to_frame("pyarrow").drop_columns(["qid", "relevance"])
    pq.write_table(table, tmp_path / "data.parquet")
    with pytest.raises(
        DataError, match=r"data\.parquet: no column 'qid'; the columns are .*; name the"
    ) as raised:
        list(stream_dataset(tmp_path / "data.parquet"))
    assert "relevance" not in str(raised.value)


def test_an_invalid_line_raises_with_its_number() -> None:
    text = b"0 qid:1 1:5\n" * 5 + b"0 qid:1 2:1 1:1\n"
    with pytest.raises(LetorError, match=r"input:6: feature index 1 after 2"):
        list(stream_letor(io.BytesIO(text), name="input", block_bytes=30))
