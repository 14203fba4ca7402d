"""CSV, TSV and JSON lines: types that hold for all rows, errors with row and column, parts and streams."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from directranker import DataError, RankingDataset, concatenate, read_dataset, write_dataset
from directranker.data import csv_files, json_lines
from directranker.data.column_roles import ColumnRoles
from directranker.data.formats import ReadOptions, read_stream, recognise_format, stream_dataset

from format_cases import example

FRAME = pd.DataFrame(
    {
        "qid": ["a", "a", "b", "b"],
        "relevance": [0, 1, 0, 2],
        "price": [1.5, None, 1e-7, -2.5],
        "brand": ["Acme, Ltd", 'the "best"', None, "two\nlines"],
        "seller": ["007", "7", None, "12"],
        "is_new": [True, False, None, True],
    }
)
ROLES = ColumnRoles(categorical=("seller",))


def read(path: Path, columns: ColumnRoles = ROLES, **options: Any) -> RankingDataset:
    return read_dataset(path, options=ReadOptions(columns=columns, **options))


def stream(path: Path, columns: ColumnRoles = ROLES, **options: Any) -> RankingDataset:
    return concatenate(list(stream_dataset(path, options=ReadOptions(columns=columns, **options))))


@pytest.fixture(params=[read, stream])
def reader(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small file have several blocks, of which the first decides about the types."""
    for module in (csv_files, json_lines):
        monkeypatch.setattr(module, "SAMPLE_BYTES", 600)
        monkeypatch.setattr(module, "BLOCK_BYTES", 300)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.bz2", "t.jsonl", "t.jsonl.gz"])
def test_text_gives_the_data_set_of_the_frame(tmp_path: Path, name: str, reader: Any) -> None:
    path, (_, kind, *_) = tmp_path / name, name.split(".")
    if kind == "jsonl":
        FRAME.to_json(path, orient="records", lines=True)
    else:
        FRAME.to_csv(path, sep="\t" if kind == "tsv" else ",")  # with pandas' index, a column without a name
    expected = RankingDataset.from_frame(FRAME, categorical=["seller"])
    assert reader(path).equals(expected)
    assert expected.categories["seller"].to_pylist() == ["007", "12", "7"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.jsonl", "t.jsonl.zst"])
@pytest.mark.parametrize("strings", [False, True])
def test_written_text_reads_back_bit_for_bit(tmp_path: Path, name: str, strings: bool) -> None:
    data = example(strings=strings)
    write_dataset(data, tmp_path / name)
    assert read_dataset(tmp_path / name).equals(data)
    words = RankingDataset.from_frame(FRAME, categorical=["seller"])
    write_dataset(words, tmp_path / f"words-{name}")
    assert read(tmp_path / f"words-{name}").equals(words)


def test_extensions_select_the_compression(tmp_path: Path) -> None:
    for ending, decompress in ((".gz", gzip.decompress), (".bz2", bz2.decompress)):
        write_dataset(example(), path := tmp_path / f"t.csv{ending}")
        assert decompress(path.read_bytes()).startswith(b'"qid","docid","relevance"')


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl"])
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "a",
            "x",
            r"row 200, column 'a' holds .*, but the first rows .* are numbers; .*--categorical a",
        ),
        ("qid", "x", "row 200, column 'qid' holds"),
        ("new", "maybe", "row 200, column 'new' holds .*, but the first rows of the column are"),
        ("a", 1e39, r"1e\+39 in row 200, column 'a' does not fit float32"),
    ],
)
def test_a_value_that_does_not_fit_raises_with_row_and_column(
    tmp_path: Path, kind: str, column: str, value: Any, message: str, reader: Any
) -> None:
    rows: list[dict[str, Any]] = [{"qid": 1, "relevance": 0, "a": row, "new": True} for row in range(250)]
    rows[200][column] = value
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    text = lines if kind == "jsonl" else pd.DataFrame(rows).to_csv(index=False)
    path = tmp_path / f"t.{kind}"
    path.write_bytes(gzip.compress(text.encode()) if kind.endswith("gz") else text.encode())
    with pytest.raises(DataError, match=rf"t\.{kind}: .*{message}"):
        reader(path, ColumnRoles())


@pytest.mark.usefixtures("small_blocks")
def test_a_column_that_is_empty_at_first_holds_numbers(tmp_path: Path, reader: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text("qid,relevance,a,b\n" + "1,0,1,\n" * 200 + "1,1,1,2.5\n")
    assert reader(path, ColumnRoles()).features[-1].tolist() == [1, 2.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty; give a header"),
        ("qid,relevance,a\n1,0\n", "row 0 has 2 values, but the header has 3; quote values"),
        (
            "q,r,a\n1,0,2\n",
            "no columns 'relevance', 'qid'; the columns are q, r, a; .*--relevance.*--query",
        ),
        ("qid,relevance,a\n1,good,2\n", "label 'good' in row 0, column 'relevance' is not a number"),
        ("qid,relevance,a\n1,,2\n", "label nan in row 0"),
        ("qid,relevance,a\n,1,2\n", "query id in row 0, column 'qid', is missing"),
        (
            "qid,relevance,day,at\n1,0,2024-05-01,12:00:00\n",
            "column 'day' holds date32.*`--dates day`.*column 'at' holds time32.*`--drop at`",
        ),
        ("qid,relevance,a\n1,0,b\xe9\n", "not UTF-8"),
    ],
)
def test_invalid_csv_raises(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=rf"t\.csv: .*{message}"):
        read(tmp_path / "t.csv", ColumnRoles())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"qid": 1, "relevance": 0, "new": 1}', "row 1 has the key 'new'"),
        ('{"qid": 1,', "row 1 is not a JSON object"),
        ("1 qid:1 1:5", "row 1 is not a JSON object"),
    ],
)
def test_invalid_json_lines_raise(
    tmp_path: Path, line: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "SAMPLE_BYTES", 50)
    (tmp_path / "t.jsonl").write_text('{"qid": 1, "relevance": 0, "a": 1}\n' + line + "\n" * 30)
    with pytest.raises(DataError, match=rf"t\.jsonl: {message}"):
        read(tmp_path / "t.jsonl", ColumnRoles())


def test_query_ids_keep_their_zeros(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("qid,relevance,a\n007,0,1\n7,0,1\n")
    assert read(tmp_path / "t.csv", ColumnRoles()).query_ids.tolist() == ["007", "7"]
    (tmp_path / "t.csv").write_text("qid,relevance,a\n-3,0,1\n70,0,1\n")
    assert read(tmp_path / "t.csv", ColumnRoles()).query_ids.tolist() == [-3, 70]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("pattern", ["parts", "parts/*"])
def test_parts_are_one_table(tmp_path: Path, kind: str, pattern: str, reader: Any) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "_SUCCESS").touch()
    data = RankingDataset.from_frame(FRAME, categorical=["seller"])
    write_dataset(data.select([0]), tmp_path / "parts" / f"0.{kind}")
    other = data.select([1]).to_frame("pyarrow")
    if kind == "parquet":  # the same columns, in another order and of other types
        other = other.select(other.column_names[::-1])
        other = other.set_column(0, "is_new", other["is_new"].cast(pa.float64()))
        pq.write_table(other, tmp_path / "parts" / "1.parquet")
    else:
        write_dataset(data.select([1]), tmp_path / "parts" / f"1.{kind}")
    assert reader(tmp_path / pattern).equals(data)


def test_parts_that_do_not_fit_raise(tmp_path: Path) -> None:
    for number, text in enumerate(("qid,relevance,a,b\n1,0,1,2\n", "qid,relevance,b,a\n2,0,1,x\n")):
        (tmp_path / f"{number}.csv").write_text(text)
    with pytest.raises(DataError, match=r"1\.csv: column 'a' holds .*, but double in .*0\.csv"):
        read_dataset(tmp_path)
    (tmp_path / "1.csv").write_text("qid,relevance,c\n2,0,1\n")
    with pytest.raises(DataError, match=r"1\.csv: no column 'a', 'b', which .*0\.csv has"):
        read_dataset(tmp_path)
    (tmp_path / "1.csv").rename(tmp_path / "1.tsv")
    with pytest.raises(DataError, match="parts of several formats: csv, tsv"):
        read_dataset(tmp_path)
    with pytest.raises(FileNotFoundError, match="matches no file"):
        read_dataset(tmp_path / "*.parquet")


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "txt", "parquet"])
def test_standard_input_is_recognised(tmp_path: Path, kind: str) -> None:
    data = example()
    write_dataset(data, path := tmp_path / f"t.{kind}")
    content = path.read_bytes()
    assert recognise_format(content) == {"txt": "letor"}.get(kind, kind)
    read_back = read_stream(io.BytesIO(content), name="standard input")
    np.testing.assert_array_equal(read_back.features, data.features)
    with pytest.raises(ValueError, match="format 'xlsx'"):
        read_stream(io.BytesIO(content), name="standard input", file_format="xlsx")


def test_streaming_holds_little(tmp_path: Path) -> None:
    n = 300_000
    features = {name: np.arange(n) * 1.5 for name in "abcdef"}
    table = pa.table({"qid": np.arange(n) // 10, "relevance": np.zeros(n), **features})
    pyarrow.csv.write_csv(table, path := tmp_path / "t.csv")
    before, most = pa.total_allocated_bytes(), 0
    for piece in stream_dataset(path):
        most = max(most, pa.total_allocated_bytes() - before)
        assert piece.n_documents < n / 5
    assert most < path.stat().st_size


@pytest.mark.usefixtures("small_blocks")
def test_line_breaks_in_values_may_be_at_the_end_of_a_block(tmp_path: Path, reader: Any) -> None:
    brands = [f"two\nlines {row % 7}" for row in range(200)]
    frame = pd.DataFrame({"qid": range(200), "relevance": 0, "brand": brands})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert reader(tmp_path / "t.csv", ColumnRoles()).equals(RankingDataset.from_frame(frame))
