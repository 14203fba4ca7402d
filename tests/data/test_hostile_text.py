"""Hostile text: compressed blank lines, endless lines, and pipes."""

from __future__ import annotations

import gzip
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directranker.data import streaming
from directranker.data.dataset import RankingDataset
from directranker.data.formats import read_dataset, stream_dataset
from directranker.data.letor import blocks as letor_blocks
from directranker.data.letor.kernels import count_lines
from directranker.data.letor.numbers import Position
from directranker.data.score_files import parse_scores
from directranker.data.trec import parse_qrels
from directranker.errors import DataError, LetorError

LINE = b"1 qid:1 " + b" ".join(b"%d:0.5" % index for index in range(1, 137)) + b"\n"
Reader = Callable[[Path], int]


def read(path: Path) -> int:
    return read_dataset(path).n_documents


def stream(path: Path) -> int:
    return sum(piece.n_documents for piece in stream_dataset(path))


@pytest.fixture(params=[read, stream])
def reader(request: pytest.FixtureRequest) -> Reader:
    """A function that reads text."""
    function: Reader = request.param
    return function


@pytest.mark.parametrize("blank", [b"\n", b" \t\n", b"\r\n", b"#\n"])
def test_blank_lines_take_no_memory(tmp_path: Path, reader: Reader, blank: bytes) -> None:
    path = tmp_path / "data.txt.gz"
    path.write_bytes(gzip.compress(LINE + blank * (8_000_000 // len(blank)) + LINE, 1))
    one_line = tmp_path / "one.txt"
    one_line.write_bytes(LINE)
    reader(one_line)  # compiles the kernels
    tracemalloc.start()
    try:
        assert reader(path) == 2
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60_000_000  # one row per line would take gigabytes


@given(st.lists(st.sampled_from([b" ", b"\t", b"\r", b"\n", b"#", b"1", b"\x00"])))
def test_count_lines_matches_a_literal_count(letters: list[bytes]) -> None:
    text = b"".join(letters) + b"\n"
    lines = text.split(b"\n")[:-1]
    rows = [line.lstrip(b" \t") for line in lines]
    n_rows = sum(row not in (b"", b"\r") and not row.startswith(b"#") for row in rows)
    counts = count_lines(np.frombuffer(text, np.uint8), Position(len(text)))
    assert counts == (len(lines), n_rows)


def test_an_endless_line_raises(tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (letor_blocks, streaming):
        monkeypatch.setattr(module, "MAX_LINE_BYTES", 1 << 23)
    path = tmp_path / "data.txt.gz"
    path.write_bytes(gzip.compress(LINE + b" " * 30_000_000, 1))
    with pytest.raises(LetorError, match=r"data.txt.gz:2: the line is longer than 256 MB"):
        reader(path)


def test_a_highly_compressible_beginning_does_not_inflate_memory(tmp_path: Path) -> None:
    """Most rows take only a thousandth of the file."""
    rng = np.random.default_rng(0)
    other = b"".join(b"0 qid:1 1:%f 2:%f\n" % tuple(rng.normal(size=2)) for _ in range(20_000))
    path = tmp_path / "data.txt.gz"
    path.write_bytes(gzip.compress(b"1 qid:1 1:1 2:1\n" * 300_000 + other * 5))
    tracemalloc.start()
    try:
        assert read(path) == 400_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 400_000 * 8 * 3 * 9


def read_through_pipe(path: Path, content: bytes, read: Callable[[Path], Any]) -> Any:
    """Write content to a named pipe and read it from there."""
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            pipe.write(content[:1])  # a read from a pipe may return as little as one byte
            pipe.write(content[1:])

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        return read(path)
    finally:
        writer.join(timeout=10)


@pytest.mark.parametrize("name", ["data.txt", "data", "data.txt.gz"])
def test_text_can_be_read_from_a_pipe(tmp_path: Path, reader: Reader, name: str) -> None:
    content = LINE * 3
    compressed = gzip.compress(content) if name.endswith(".gz") else content
    assert read_through_pipe(tmp_path / name, compressed, reader) == 3


def test_parquet_without_its_extension_raises(tmp_path: Path, reader: Reader) -> None:
    with pytest.raises(DataError, match=r"data: contains Parquet; give it a name that ends in .parquet"):
        read_through_pipe(tmp_path / "data", b"PAR1 and more", reader)


def test_score_files_and_qrels_take_no_memory_for_blank_lines() -> None:
    data = RankingDataset.from_arrays([[1.0]], [1], qid=[7])
    blanks = b"\n" * 200_000
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="<text>:2: '' is not a score"):
            parse_scores(b"1\n" + blanks, data)
        assert parse_qrels(blanks + b"7 0 a 1\n") == {("7", "a"): 1.0}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_scores_of_a_saved_selection(tmp_path: Path) -> None:
    data = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 2], qid=[5, 6, 7])
    data.select([2, 1]).save(tmp_path / "saved")
    loaded = RankingDataset.load(tmp_path / "saved")
    assert parse_scores(b"6\n7\n", loaded).tolist() == [7.0, 6.0]
