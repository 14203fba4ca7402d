r"""Write rankings piece by piece: TREC runs, scores, JSON lines, Parquet.

| format | a line | extension |
|---|---|---|
| `trec` | `query Q0 document rank score tag` | `.run`, `.trec` |
| `scores` | the score, in the order of the input | `.txt`, `.scores` |
| `jsonl` | `{"qid": …, "docid": …, "rank": …, "score": …}` | `.jsonl` |
| `parquet` | columns `qid`, `docid`, `rank`, `score` | `.parquet`, `.pq` |

>>> import io
>>> table = pa.table({"qid": [7], "docid": ["a"], "rank": [1], "score": pa.array([0.5], pa.float32())})
>>> out = io.BytesIO()
>>> with open_ranking_writer(out, "trec", tag="mine") as write:
...     write(table)
>>> out.getvalue()
b'7 Q0 a 1 0.5 mine\n'
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, get_args

import pyarrow as pa

from directranker.errors import DataError

__all__ = ["RankingFormat", "detect_ranking_format", "open_ranking_writer"]

RankingFormat = Literal["trec", "scores", "jsonl", "parquet"]
Write = Callable[[pa.Table], None]
EXTENSIONS: dict[str, RankingFormat] = {
    ".run": "trec",
    ".trec": "trec",
    ".txt": "scores",
    ".scores": "scores",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def detect_ranking_format(path: str | Path) -> RankingFormat:
    """Return the format of a path by its extension.

    >>> detect_ranking_format("best.run")
    'trec'
    """
    extension = Path(path).suffix.lower()
    if extension not in EXTENSIONS:
        raise ValueError(
            f"{path}: unknown extension {extension!r}; use one of {', '.join(EXTENSIONS)}, or give a format: "
            f"{', '.join(get_args(RankingFormat))}"
        )
    return EXTENSIONS[extension]


@contextmanager
def open_ranking_writer(
    sink: BinaryIO | Path, file_format: RankingFormat, *, tag: str = "directranker"
) -> Iterator[Write]:
    """Yield a function that writes a table of qid, docid, rank and score to the sink."""
    if isinstance(sink, Path):
        with sink.open("wb") as file, open_ranking_writer(file, file_format, tag=tag) as write:
            yield write
        return
    if file_format == "parquet":
        with _open_parquet_writer(sink) as write:
            yield write
        return
    line_writers: dict[str, Write] = {
        "trec": lambda table: _write_trec(table, sink, tag),
        "scores": lambda table: _write_lines(table.select(["score"]), sink),
        "jsonl": lambda table: _write_json_lines(table, sink),
    }
    yield line_writers[file_format]


def _write_trec(table: pa.Table, sink: BinaryIO, tag: str) -> None:
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    queries, documents = (table.column(name).cast(pa.large_string()) for name in ("qid", "docid"))
    for name, column in (("qid", queries), ("docid", documents)):
        is_invalid = pc.match_substring_regex(column, r"\s|^$")
        if pc.any(is_invalid).as_py():
            value, query = (ids.filter(is_invalid)[0].as_py() for ids in (column, queries))
            raise DataError(
                f"query {query}: the {name} {value!r} is empty or has a space, which a TREC run cannot hold; "
                "fix it, or write JSON lines or Parquet"
            )
    q0, tags = pa.array(["Q0"] * table.num_rows), pa.array([tag] * table.num_rows)
    columns = [queries, q0, documents, table.column("rank"), table.column("score"), tags]
    _write_lines(pa.table(columns, names=list("abcdef")), sink)


def _write_lines(table: pa.Table, sink: BinaryIO) -> None:
    from pyarrow import csv  # noqa: PLC0415 - slow to import

    options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    csv.write_csv(table, sink, write_options=options)


def _write_json_lines(table: pa.Table, sink: BinaryIO) -> None:
    # Arrow formats a float32 with the digits it has; as a Python float it would get spurious ones.
    formatted = table.set_column(3, "score", table.column("score").cast(pa.string()))
    for row in formatted.to_pylist():
        score = row.pop("score")
        sink.write(f'{json.dumps(row, ensure_ascii=False)[:-1]}, "score": {score}}}\n'.encode())


@contextmanager
def _open_parquet_writer(sink: BinaryIO) -> Iterator[Write]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    writer: pq.ParquetWriter | None = None

    def write(table: pa.Table) -> None:
        nonlocal writer
        if writer is None:
            writer = pq.ParquetWriter(sink, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
