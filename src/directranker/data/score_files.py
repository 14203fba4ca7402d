r"""Scores that other programs write, in the order of a data set.

| columns | who writes it | which document a line is of |
|---|---|---|
| `score` | LightGBM, XGBoost, `directranker rank` | the one on the same line of the data |
| `query place score` | RankLib's `-score` | the one with this place in its query, from 0 on |
| `query Q0 document place score tag` | TREC runs | the one with this id |

>>> import tempfile
>>> data = RankingDataset.from_arrays([[1.0], [2.0]], [0, 1], qid=[7, 7])
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder, "ranklib.txt")
...     _ = path.write_text("7\t1\t0.5\n7\t0\t-2\n")
...     read_scores(path, data).tolist()
[-2.0, 0.5]
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from directranker.data.dataset import RankingDataset
from directranker.data.trec import document_names, parse_run
from directranker.errors import DataError

__all__ = ["parse_scores", "read_scores"]

Scores = NDArray[np.float64]


def read_scores(path: str | Path, data: RankingDataset) -> Scores:
    """A score per document in the data set's own order, which may not be the file's."""
    return parse_scores(Path(path).read_bytes(), data, name=str(path))


def parse_scores(text: bytes, data: RankingDataset, *, name: str = "<text>") -> Scores:
    """The same of a text in memory."""
    _, first = next(_lines(text), (1, []))
    if len(first) == 6:
        return _of_run(name, text, data)
    if len(first) == 3:
        return _of_ranklib(name, text, data)
    values = np.fromiter((_number(name, at, words, 1) for at, words in _lines(text)), np.float64)
    _check_count(name, len(values), data)
    in_order = np.empty_like(values)
    in_order[data.to_source_order(np.arange(len(values)))] = values  # lines are in the order of the source
    return in_order


def _lines(text: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Each line's number and its words; one at a time, as a file may have any number of lines."""
    return ((at, line.split()) for at, line in enumerate(io.BytesIO(text), start=1))


def _number(name: str, line: int, words: list[bytes], n_columns: int) -> float:
    try:
        if len(words) == n_columns:
            return float(words[-1])
    except ValueError:
        pass
    shown = b" ".join(words)[:40].decode(errors="replace")
    hint = "give one number per line" if n_columns == 1 else "give query, place and score"
    raise DataError(f"{name}:{line}: {shown!r} is not a score; {hint}")


def _check_count(name: str, n_scores: int, data: RankingDataset) -> None:
    if n_scores != data.n_documents:
        raise DataError(
            f"{name} has {n_scores} scores for {data.n_documents} documents; give one per document"
        )


def _of_ranklib(name: str, text: bytes, data: RankingDataset) -> Scores:
    _check_count(name, sum(1 for _ in io.BytesIO(text)), data)
    number_of = {str(query): number for number, query in enumerate(data.query_ids)}
    values = np.full(data.n_documents, np.nan)
    lengths = np.diff(data.offsets)
    for at, words in _lines(text):
        score = _number(name, at, words, 3)
        query, place = words[0].decode(errors="replace"), words[1].decode(errors="replace")
        number = number_of.get(query)
        if number is None or not place.isdecimal() or int(place) >= lengths[number]:
            raise DataError(f"{name}:{at}: the data has no document {place} of query {query!r}")
        values[data.offsets[number] + int(place)] = score
    return _complete(name, values)


def _of_run(name: str, text: bytes, data: RankingDataset) -> Scores:
    run = parse_run(text, name=name)
    pairs = zip(map(str, data.qid.tolist()), document_names(data), strict=True)
    return _complete(name, np.array([run.get(pair, np.nan) for pair in pairs]))


def _complete(name: str, values: Scores) -> Scores:
    n_missing = int(np.isnan(values).sum())
    if n_missing:
        raise DataError(
            f"{name} has no score for {n_missing} of {len(values)} documents; give one per document, or "
            "compare a run of the best ones with qrels"
        )
    return values
