"""Data sets → LETOR text, from which the same data is read back bit for bit.

Every value is written in the fewest digits that give the same float32. Comments are kept; without comments, a
document id becomes `#docid = …`. The format has no feature names, no kept columns and no categories.

>>> import io
>>> data = RankingDataset.from_arrays([[0.1, 0.0], [3.0, -2.5]], [1, 0], qid=["a", "a"])
>>> text = io.BytesIO()
>>> write_letor_text(data, text)
>>> print(text.getvalue().decode(), end="")
1 qid:a 1:0.1 2:0
0 qid:a 1:3 2:-2.5
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from directranker.arrays import Float32Array, FloatArray
from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress, ignore_progress, write_atomically
from directranker.data.texts import Texts
from directranker.errors import DataError

__all__ = ["write_letor", "write_letor_text"]

BLOCK_VALUES = 1 << 20


class Writable(Protocol):
    """A binary file, plain or compressed."""

    def write(self, text: Any, /) -> object:  # bytes or an Arrow buffer
        """Write bytes."""


def write_letor(
    data: RankingDataset,
    path: str | Path,
    *,
    zero_based: bool = False,
    progress: Progress = ignore_progress,
) -> None:
    """Write LETOR text atomically, compressed if the name ends in `.gz`."""
    with write_atomically(path) as temporary, temporary.open("wb") as file:
        if str(path).endswith(".gz"):
            # Without a name and a time in the header, the same data gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed:
                write_letor_text(data, compressed, zero_based=zero_based, progress=progress)
        else:
            write_letor_text(data, file, zero_based=zero_based, progress=progress)


def write_letor_text(
    data: RankingDataset,
    file: Writable,
    *,
    zero_based: bool = False,
    progress: Progress = ignore_progress,
) -> None:
    """Write LETOR text to an open file, a block of rows at a time; categories raise."""
    if data.categories:
        raise DataError(
            f"feature {next(iter(data.categories))!r} is categorical, and LETOR text has numbers only; write "
            "Parquet or a folder, or read the data without it (`--drop`)"
        )
    query_tokens = pa.array([_format_query_id(query) for query in data.query_ids], pa.string())
    block = max(1, BLOCK_VALUES // data.n_features)
    for start in range(0, data.n_documents, block):
        rows = slice(start, min(start + block, data.n_documents))
        queries = np.searchsorted(data.offsets, np.arange(rows.start, rows.stop), side="right") - 1
        columns = [_format_numbers(data.relevance[rows]), query_tokens.take(pa.array(queries))]
        for index, column in enumerate(data.features[rows].T, start=0 if zero_based else 1):
            columns.append(_join(f"{index}:", _format_numbers(np.ascontiguousarray(column))))
        comments = _format_comments(data, rows)
        lines = pc.binary_join_element_wise(*columns, *([] if comments is None else [comments]), " ")
        # Arrow's buffer holds the lines one after another, which is the text.
        file.write(_join(lines, "\n").buffers()[2])
        progress(rows.stop, data.n_documents)


def _format_numbers(column: FloatArray | Float32Array) -> pa.StringArray:
    """Format numbers in the fewest digits that give the same number."""
    return pa.array(column).cast(pa.string())


def _join(first: str | pa.StringArray, second: str | pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise(first, second, "")


def _format_query_id(query: object) -> str:
    token = str(query)
    if not token or any(c in " \t\r\n#" for c in token):
        raise DataError(
            f"query id {token!r} cannot be written as LETOR text: it is empty or has a blank or #"
        )
    return f"qid:{token}"


def _format_comments(data: RankingDataset, rows: slice) -> pa.StringArray | None:
    if data.comment_texts is not None:
        return _join("#", _check_texts(data.comment_texts[rows], r"\n|\r$", "comment"))
    if data.document_texts is not None:
        return _join("#docid = ", _check_texts(data.document_texts[rows], r"\s", "document id"))
    return None


def _check_texts(texts: Texts, forbidden: str, what: str) -> pa.StringArray:
    is_invalid = pc.match_substring_regex(texts, forbidden)
    if pc.any(is_invalid).as_py():
        example = texts.filter(is_invalid)[0].as_py()
        raise DataError(f"{what} {example!r} cannot be written as LETOR text: it has a blank or a line break")
    return texts.cast(pa.string())
