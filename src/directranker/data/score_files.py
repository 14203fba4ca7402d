r"""Read scores that other programs wrote, in the order of a data set.

| columns | written by | document of a line |
|---|---|---|
| `score` | LightGBM, XGBoost, `directranker rank` | the one on the same line of the data |
| `query index score` | RankLib's `-score` | the one with this index in its query, from 0 on |
| `query Q0 document rank score tag` | TREC runs | the one with this id |

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

from directranker.arrays import FloatArray
from directranker.data.dataset import RankingDataset
from directranker.data.trec import list_document_ids, parse_run
from directranker.errors import DataError

__all__ = ["parse_scores", "read_scores"]

RUN_COLUMNS, RANKLIB_COLUMNS = 6, 3


def read_scores(path: str | Path, data: RankingDataset) -> FloatArray:
    """Read one score per document, in the order of the data set's rows."""
    return parse_scores(Path(path).read_bytes(), data, name=str(path))


def parse_scores(text: bytes, data: RankingDataset, *, name: str = "<text>") -> FloatArray:
    """Parse scores from memory; see `read_scores`."""
    _, first = next(_split_lines(text), (1, []))
    if len(first) == RUN_COLUMNS:
        return _parse_run_scores(name, text, data)
    if len(first) == RANKLIB_COLUMNS:
        return _parse_ranklib_scores(name, text, data)
    values = np.fromiter((_parse_score(name, n, fields, 1) for n, fields in _split_lines(text)), np.float64)
    _check_count(name, len(values), data)
    scores = np.empty_like(values)
    scores[data.to_source_order(np.arange(len(values)))] = values  # lines are in the order of the source
    return scores


def _split_lines(text: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Yield each line's number and its fields; lazily, because a file may have any number of lines."""
    return ((number, line.split()) for number, line in enumerate(io.BytesIO(text), start=1))


def _parse_score(name: str, line: int, fields: list[bytes], n_columns: int) -> float:
    try:
        if len(fields) == n_columns:
            return float(fields[-1])
    except ValueError:
        pass
    excerpt = b" ".join(fields)[:40].decode(errors="replace")
    hint = "give one number per line" if n_columns == 1 else "give query, index and score"
    raise DataError(f"{name}:{line}: {excerpt!r} is not a score; {hint}")


def _check_count(name: str, n_scores: int, data: RankingDataset) -> None:
    if n_scores != data.n_documents:
        raise DataError(
            f"{name} has {n_scores} scores for {data.n_documents} documents; give one per document"
        )


def _parse_ranklib_scores(name: str, text: bytes, data: RankingDataset) -> FloatArray:
    _check_count(name, sum(1 for _ in io.BytesIO(text)), data)
    query_indices = {str(query): index for index, query in enumerate(data.query_ids)}
    scores = np.full(data.n_documents, np.nan)
    lengths = np.diff(data.offsets)
    for line, fields in _split_lines(text):
        score = _parse_score(name, line, fields, RANKLIB_COLUMNS)
        query, document = fields[0].decode(errors="replace"), fields[1].decode(errors="replace")
        index = query_indices.get(query)
        if index is None or not document.isdecimal() or int(document) >= lengths[index]:
            raise DataError(f"{name}:{line}: the data has no document {document} of query {query!r}")
        scores[data.offsets[index] + int(document)] = score
    return _check_complete(name, scores)


def _parse_run_scores(name: str, text: bytes, data: RankingDataset) -> FloatArray:
    run = parse_run(text, name=name)
    pairs = zip(map(str, data.qid.tolist()), list_document_ids(data), strict=True)
    return _check_complete(name, np.array([run.get(pair, np.nan) for pair in pairs]))


def _check_complete(name: str, scores: FloatArray) -> FloatArray:
    n_missing = int(np.isnan(scores).sum())
    if n_missing:
        raise DataError(
            f"{name} has no score for {n_missing} of {len(scores)} documents; give one per document, or "
            "evaluate a run of the top documents against qrels"
        )
    return scores
