"""Data sets → LETOR text that reads back as the same data, bit for bit.

Every value is written in the fewest digits that read as the same float32. Comments are kept; where there
are none, a document id becomes `#docid = …`. Names of features have no place in the format.

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
from numpy.typing import NDArray

from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress, no_progress, write_atomically
from directranker.data.texts import Texts
from directranker.errors import DataError

__all__ = ["write_letor", "write_letor_text"]

BLOCK_VALUES = 1 << 20


class Writable(Protocol):
    """What bytes can be written to: a file, plain or compressing."""

    def write(self, text: Any, /) -> object:
        """Write bytes."""


def write_letor(
    data: RankingDataset,
    path: str | Path,
    *,
    zero_based: bool = False,
    progress: Progress = no_progress,
) -> None:
    """Write LETOR text, compressed where the name ends in `.gz`; the file is whole or not there."""
    with write_atomically(path) as temporary, temporary.open("wb") as file:
        if str(path).endswith(".gz"):
            # Without a name and time inside, the same data gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed:
                write_letor_text(data, compressed, zero_based=zero_based, progress=progress)
        else:
            write_letor_text(data, file, zero_based=zero_based, progress=progress)


def write_letor_text(
    data: RankingDataset,
    file: Writable,
    *,
    zero_based: bool = False,
    progress: Progress = no_progress,
) -> None:
    """Write LETOR text to an open file, a block of rows at a time."""
    query_tokens = pa.array([_query_token(query) for query in data.query_ids], pa.string())
    block = max(1, BLOCK_VALUES // data.n_features)
    for start in range(0, data.n_documents, block):
        rows = slice(start, min(start + block, data.n_documents))
        queries = np.searchsorted(data.offsets, np.arange(rows.start, rows.stop), side="right") - 1
        parts = [_numbers(data.relevance[rows]), query_tokens.take(pa.array(queries))]
        for index, column in enumerate(data.features[rows].T, start=0 if zero_based else 1):
            parts.append(_joined(f"{index}:", _numbers(np.ascontiguousarray(column))))
        comments = _comments(data, rows)
        lines = pc.binary_join_element_wise(*parts, *([] if comments is None else [comments]), " ")
        # Behind each other in Arrow's buffer, lines that end with a line end are the text.
        file.write(_joined(lines, "\n").buffers()[2])
        progress(rows.stop, data.n_documents)


def _numbers(column: NDArray[Any]) -> Any:
    """Shortest texts that read as the same numbers."""
    return pa.array(column).cast(pa.string())


def _joined(first: Any, second: Any) -> Any:
    return pc.binary_join_element_wise(first, second, "")


def _query_token(query: object) -> str:
    token = str(query)
    if not token or any(c in " \t\r\n#" for c in token):
        raise DataError(f"query id {token!r} cannot stand in LETOR text: it is empty or has a blank or #")
    return f"qid:{token}"


def _comments(data: RankingDataset, rows: slice) -> Any | None:
    if data.comment_texts is not None:
        return _joined("#", _checked(data.comment_texts[rows], r"\n|\r$", "comment"))
    if data.document_texts is not None:
        return _joined("#docid = ", _checked(data.document_texts[rows], r"\s", "document id"))
    return None


def _checked(texts: Texts, forbidden: str, what: str) -> Any:
    bad = pc.match_substring_regex(texts, forbidden)
    if pc.any(bad).as_py():
        example = texts.filter(bad)[0].as_py()
        raise DataError(f"{what} {example!r} cannot stand in LETOR text: it has a blank or a line end")
    return texts.cast(pa.string())
