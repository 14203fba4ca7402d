r"""Rankings as files, written piece by piece: TREC runs, scores alone, JSON lines, Parquet.

| format | a line | ending |
|---|---|---|
| `trec` | `query Q0 document place score tag` | `.run`, `.trec` |
| `scores` | the score, in the order of the input | `.txt`, `.scores` |
| `jsonl` | `{"qid": …, "docid": …, "rank": …, "score": …}` | `.jsonl` |
| `parquet` | columns `qid`, `docid`, `rank`, `score` | `.parquet`, `.pq` |

>>> import io
>>> table = pa.table({"qid": [7], "docid": ["a"], "rank": [1], "score": pa.array([0.5], pa.float32())})
>>> out = io.BytesIO()
>>> with ranking_writer(out, "trec", tag="mine") as write:
...     write(table)
>>> out.getvalue()
b'7 Q0 a 1 0.5 mine\n'
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import pyarrow as pa

from directranker.errors import DataError

__all__ = ["RankingFormat", "ranking_format_of", "ranking_writer"]

RankingFormat = Literal["trec", "scores", "jsonl", "parquet"]
Write = Callable[[Any], None]
ENDINGS: dict[str, RankingFormat] = {
    ".run": "trec",
    ".trec": "trec",
    ".txt": "scores",
    ".scores": "scores",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def ranking_format_of(path: str | Path) -> RankingFormat:
    """The format that the ending of a name asks for.

    >>> ranking_format_of("best.run")
    'trec'
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(
            f"{path}: unknown ending {ending!r}; use one of {', '.join(ENDINGS)}, or name a format: "
            f"{', '.join(get_args(RankingFormat))}"
        )
    return ENDINGS[ending]


@contextmanager
def ranking_writer(
    sink: BinaryIO | Path, kind: RankingFormat, *, tag: str = "directranker"
) -> Iterator[Write]:
    """Give a function that writes a table of qid, docid, rank and score to the sink."""
    if isinstance(sink, Path):
        with sink.open("wb") as file, ranking_writer(file, kind, tag=tag) as write:
            yield write
        return
    if kind == "parquet":
        with _parquet_writer(sink) as write:
            yield write
        return
    line_writers: dict[str, Write] = {
        "trec": lambda table: _write_trec(table, sink, tag),
        "scores": lambda table: _write_lines(table.select(["score"]), sink),
        "jsonl": lambda table: _write_json_lines(table, sink),
    }
    yield line_writers[kind]


def _write_trec(table: Any, sink: BinaryIO, tag: str) -> None:
    import pyarrow.compute as pc  # noqa: PLC0415 - a cold start for another format would feel it

    names = ("qid", "docid")
    texts = [table.column(name).cast(pa.large_string()) for name in names]
    for name, column in zip(names, texts, strict=True):
        broken = pc.match_substring_regex(column, r"\s|^$")
        if pc.any(broken).as_py():
            found, query = (texts[at].filter(broken)[0].as_py() for at in (names.index(name), 0))
            raise DataError(
                f"query {query}: the {name} {found!r} is empty or has a space, which a TREC run cannot hold; "
                "mend it, or write JSON lines or Parquet"
            )
    n = table.num_rows
    constant = {"q0": pa.array(["Q0"] * n), "tag": pa.array([tag] * n)}
    columns = [
        texts[0],
        constant["q0"],
        texts[1],
        table.column("rank"),
        table.column("score"),
        constant["tag"],
    ]
    _write_lines(pa.table(columns, names=list("abcdef")), sink)


def _write_lines(table: Any, sink: BinaryIO) -> None:
    from pyarrow import csv  # noqa: PLC0415 - a cold start for another format would feel it

    options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    csv.write_csv(table, sink, write_options=options)


def _write_json_lines(table: Any, sink: BinaryIO) -> None:
    # A float32 as Python's float would print digits that it does not have.
    shown = table.set_column(3, "score", table.column("score").cast(pa.string()))
    for row in shown.to_pylist():
        score = row.pop("score")
        sink.write(f'{json.dumps(row, ensure_ascii=False)[:-1]}, "score": {score}}}\n'.encode())


@contextmanager
def _parquet_writer(sink: BinaryIO) -> Iterator[Write]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - a cold start for another format would feel it

    writer: Any = None

    def write(table: Any) -> None:
        nonlocal writer
        if writer is None:
            writer = pq.ParquetWriter(sink, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
