r"""TREC's files: runs (what a ranker found) and qrels (what is relevant), in and out.

A line of a run is `query Q0 document place score tag`, one of qrels `query 0 document label`. As in
trec_eval, the score counts and the place does not, and a document without a judgement has label 0.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     run, qrels = Path(folder, "a.run"), Path(folder, "a.qrels")
...     _ = run.write_text("7 Q0 b 1 0.9 me\n7 Q0 a 2 0.4 me\n")
...     _ = qrels.write_text("7 0 a 2\n")
...     judged = judged_run(read_run(run), read_qrels(qrels))
>>> judged.qid.tolist(), judged.relevance.tolist(), judged.scores.tolist()
(['7', '7'], [0.0, 2.0], [0.9, 0.4])
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from directranker.data.dataset import RankingDataset
from directranker.data.files import write_atomically
from directranker.errors import DataError

__all__ = [
    "JudgedRun",
    "document_names",
    "judged_run",
    "looks_like_qrels",
    "parse_qrels",
    "parse_run",
    "read_qrels",
    "read_run",
    "write_qrels",
    "write_run",
]

Pair = tuple[str, str]
"""A query's and a document's id."""


class JudgedRun(NamedTuple):
    """What a run found, with the labels of qrels: ready to be evaluated."""

    qid: NDArray[Any]
    relevance: NDArray[np.float64]
    scores: NDArray[np.float64]
    n_not_found: int = 0
    """Relevant documents that the run lacks. They stand behind place `depth`, where nothing may count."""
    depth: int | None = None
    """Where a metric without a cut-off must be cut; None where the run lacks nothing."""

    def cut(self, metric: str) -> str:
        """The name of a metric, with a cut-off where it needs one.

        >>> nothing = np.empty(0)
        >>> JudgedRun(nothing, nothing, nothing, 3, 20).cut("map:trec")
        'map@20:trec'
        """
        name, colon, convention = metric.partition(":")
        if self.depth is not None and name.lower() in ("p", "precision"):
            raise DataError("precision of a run that lacks documents needs a cut-off, such as p@5")
        return metric if self.depth is None or "@" in name else f"{name}@{self.depth}{colon}{convention}"


def read_run(path: str | Path) -> dict[Pair, float]:
    """The score of each document that a run found."""
    return parse_run(Path(path).read_bytes(), name=str(path))


def parse_run(text: bytes, *, name: str = "<text>") -> dict[Pair, float]:
    """The same of a text in memory."""
    return _parse(text, name, n_columns=6, column=4, kind="run", wanted="query Q0 document place score tag")


def read_qrels(path: str | Path) -> dict[Pair, float]:
    """The label of each document that was judged."""
    return parse_qrels(Path(path).read_bytes(), name=str(path))


def parse_qrels(text: bytes, *, name: str = "<text>") -> dict[Pair, float]:
    """The same of a text in memory."""
    return _parse(text, name, n_columns=4, column=3, kind="qrels", wanted="query 0 document label")


def looks_like_qrels(first_line: bytes) -> bool:
    """Whether a line has the four columns of qrels.

    >>> looks_like_qrels(b"7 0 a 2"), looks_like_qrels(b"2 qid:7 1:0.5 2:1")
    (True, False)
    """
    words = first_line.split()
    return len(words) == 4 and not any(b":" in word for word in (words[1], words[3]))


def judged_run(run: dict[Pair, float], qrels: dict[Pair, float], *, depth: int = 0) -> JudgedRun:
    """Each document of the run with its label; queries that were not judged are left out.

    A relevant document that the run does not have is not found, as in trec_eval: it counts among those that
    could be, and has no place. Metrics may be cut off at up to `depth`.
    """
    queries = dict.fromkeys(query for query, _ in qrels)
    found = {pair: score for pair, score in run.items() if pair[0] in queries}
    if not found:
        raise DataError("the run and the qrels have no query in common; compare how they write the ids")
    absent = [pair for pair, label in qrels.items() if label > 0 and pair not in run]
    relevance = [qrels.get(pair, 0.0) for pair in found]
    if not absent and len({query for query, _ in found}) == len(queries):
        return JudgedRun(_ids(found), np.array(relevance), np.array(list(found.values())))
    # Every list is filled with what is not relevant, down to a place that no list and no cut-off reaches.
    n_found = Counter(query for query, _ in found)
    n_relevant = Counter(query for query, label in ((pair[0], qrels[pair]) for pair in qrels) if label > 0)
    depth = max(depth, *n_found.values(), *n_relevant.values(), 1)
    lowest = min(found.values())
    step = 1 + abs(lowest)  # 1 alone may be lost in a large score
    filling = [(query, "") for query in queries for _ in range(depth - n_found[query])]
    return JudgedRun(
        np.concatenate([_ids(pairs) for pairs in (found, filling, absent)]),
        np.array([*relevance, *(0.0 for _ in filling), *(qrels[pair] for pair in absent)]),
        np.array([*found.values(), *(lowest - step for _ in filling), *(lowest - 2 * step for _ in absent)]),
        len(absent),
        depth,
    )


def _ids(pairs: Iterable[Pair]) -> NDArray[Any]:
    return np.array([query for query, _ in pairs], dtype=object)


def write_run(data: RankingDataset, scores: Any, path: str | Path, *, tag: str = "directranker") -> None:
    """Write scores, one per row of the data set in its order, as a run, best first in each query."""
    values = np.asarray(scores)
    if values.shape != (data.n_documents,):
        raise ValueError(f"scores have shape {values.shape} for {data.n_documents} documents; give one each")
    names = document_names(data)
    lines = []
    for number, query in enumerate(data.query_ids):
        start, stop = data.offsets[number], data.offsets[number + 1]
        best_first = start + np.argsort(-values[start:stop], kind="stable")
        lines += [
            f"{query} Q0 {names[row]} {place} {values[row]!s} {tag}\n"
            for place, row in enumerate(best_first, start=1)
        ]
    _write(lines, path)


def write_qrels(data: RankingDataset, path: str | Path) -> None:
    """Write the labels as qrels; trec_eval wants whole numbers, so others are an error."""
    if (data.relevance != np.rint(data.relevance)).any():
        raise DataError("qrels hold whole labels only; round them, or binarise the data")
    pairs = zip(data.qid, document_names(data), data.relevance.astype(np.int64), strict=True)
    _write([f"{query} 0 {name} {label}\n" for query, name, label in pairs], path)


def document_names(data: RankingDataset) -> Sequence[str]:
    """The id of each document, or its row in the source from 1 on where it has none."""
    if data.document_texts is not None:
        names: list[str] = data.document_texts.to_pylist()
        for name in names:
            if len(name.split()) != 1:
                raise DataError(f"the document id {name!r} is empty or has a space; TREC has no such ids")
        return names
    rows = np.arange(data.n_documents) if data.original_rows is None else data.original_rows
    return [str(row + 1) for row in rows.tolist()]


def _write(lines: list[str], path: str | Path) -> None:
    with write_atomically(path) as temporary:
        temporary.write_text("".join(lines), encoding="utf-8")


def _parse(
    text: bytes, name: str, *, n_columns: int, column: int, kind: str, wanted: str
) -> dict[Pair, float]:
    values: dict[Pair, float] = {}
    for number, line in enumerate(io.BytesIO(text), start=1):  # not all at once: most may be blank
        words = line.decode(errors="replace").split()
        if not words:
            continue
        try:
            value = float(words[column]) if len(words) == n_columns else np.nan
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise DataError(f"{name}:{number}: not a line of {kind}; it must be `{wanted}`")
        pair = (words[0], words[2])
        if pair in values:
            raise DataError(f"{name}:{number}: document {pair[1]!r} of query {pair[0]!r} stands twice")
        values[pair] = value
    if not values:
        raise DataError(f"{name}: holds no lines")
    return values
