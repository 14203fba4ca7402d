r"""Read and write TREC files: runs (retrieved documents) and qrels (relevance judgements).

A line of a run is `query Q0 document rank score tag`, a line of qrels `query 0 document label`. As in
trec_eval, the score determines the order, not the rank, and an unjudged document has label 0.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     run, qrels = Path(folder, "a.run"), Path(folder, "a.qrels")
...     _ = run.write_text("7 Q0 b 1 0.9 me\n7 Q0 a 2 0.4 me\n")
...     _ = qrels.write_text("7 0 a 2\n")
...     judged = judge_run(read_run(run), read_qrels(qrels))
>>> judged.qid.tolist(), judged.relevance.tolist(), judged.scores.tolist()
(['7', '7'], [0.0, 2.0], [0.9, 0.4])
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import FloatArray, Relevance
from directranker.data.dataset import RankingDataset
from directranker.data.files import write_atomically
from directranker.data.grouping import QueryIds
from directranker.errors import DataError

__all__ = [
    "JudgedRun",
    "is_qrels_line",
    "judge_run",
    "list_document_ids",
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
    """The documents of a run with the labels of qrels: the input of an evaluation."""

    qid: QueryIds
    relevance: Relevance
    scores: FloatArray
    n_not_retrieved: int = 0
    """The number of relevant documents that the run lacks. Their ranks are below `depth`."""
    depth: int | None = None
    """The cut-off of metrics that have none; None if the run lacks no relevant document."""

    def add_cutoff(self, metric: str) -> str:
        """Return the name of a metric, with a cut-off if it needs one.

        >>> empty = np.empty(0)
        >>> JudgedRun(empty, empty, empty, 3, 20).add_cutoff("map:trec")
        'map@20:trec'
        """
        name, colon, convention = metric.partition(":")
        if self.depth is not None and name.lower() in ("p", "prec", "precision"):
            raise DataError("precision of a run that lacks documents needs a cut-off; use p@5, for example")
        return metric if self.depth is None or "@" in name else f"{name}@{self.depth}{colon}{convention}"


def read_run(path: str | Path) -> dict[Pair, float]:
    """Read the score of each document of a run."""
    return parse_run(Path(path).read_bytes(), name=str(path))


def parse_run(text: bytes, *, name: str = "<text>") -> dict[Pair, float]:
    """Parse a run from memory; see `read_run`."""
    layout = "query Q0 document rank score tag"
    return _parse(text, name, n_columns=6, column=4, kind="run", layout=layout)


def read_qrels(path: str | Path) -> dict[Pair, float]:
    """Read the label of each judged document."""
    return parse_qrels(Path(path).read_bytes(), name=str(path))


def parse_qrels(text: bytes, *, name: str = "<text>") -> dict[Pair, float]:
    """Parse qrels from memory; see `read_qrels`."""
    return _parse(text, name, n_columns=4, column=3, kind="qrels", layout="query 0 document label")


def is_qrels_line(line: bytes) -> bool:
    """Whether a line has the four columns of qrels.

    >>> is_qrels_line(b"7 0 a 2"), is_qrels_line(b"2 qid:7 1:0.5 2:1")
    (True, False)
    """
    fields = line.split()
    return len(fields) == 4 and not any(b":" in field for field in (fields[1], fields[3]))


def judge_run(run: dict[Pair, float], qrels: dict[Pair, float], *, depth: int = 0) -> JudgedRun:
    """Join each document of the run with its label; queries without a judgement are removed.

    As in trec_eval, a relevant document that the run lacks is not retrieved: it counts as relevant, but has
    no rank. Metrics may have a cut-off of up to `depth`.
    """
    queries = dict.fromkeys(query for query, _ in qrels)
    retrieved = {pair: score for pair, score in run.items() if pair[0] in queries}
    if not retrieved:
        raise DataError("the run and the qrels have no query in common; write the query ids alike in both")
    absent = [pair for pair, label in qrels.items() if label > 0 and pair not in run]
    relevance = [qrels.get(pair, 0.0) for pair in retrieved]
    if not absent and len({query for query, _ in retrieved}) == len(queries):
        return JudgedRun(_get_query_ids(retrieved), np.array(relevance), np.array(list(retrieved.values())))
    # Pad each query with irrelevant documents to a depth that no query and no cut-off exceeds.
    n_retrieved = Counter(query for query, _ in retrieved)
    n_relevant = Counter(query for query, label in ((pair[0], qrels[pair]) for pair in qrels) if label > 0)
    depth = max(depth, *n_retrieved.values(), *n_relevant.values(), 1)
    lowest = min(retrieved.values())
    step = 1 + abs(lowest)  # 1 alone may be lost in the rounding of a large score
    padding = [(query, "") for query in queries for _ in range(depth - n_retrieved[query])]
    scores = [*retrieved.values(), *(lowest - step for _ in padding), *(lowest - 2 * step for _ in absent)]
    return JudgedRun(
        np.concatenate([_get_query_ids(pairs) for pairs in (retrieved, padding, absent)]),
        np.array([*relevance, *(0.0 for _ in padding), *(qrels[pair] for pair in absent)]),
        np.array(scores),
        len(absent),
        depth,
    )


def _get_query_ids(pairs: Iterable[Pair]) -> QueryIds:
    return np.array([query for query, _ in pairs], dtype=object)


def write_run(
    data: RankingDataset, scores: ArrayLike, path: str | Path, *, tag: str = "directranker"
) -> None:
    """Write scores, one per row of the data set in its order, as a run, best first in each query."""
    values = np.asarray(scores)
    if values.shape != (data.n_documents,):
        raise ValueError(
            f"scores have shape {values.shape} for {data.n_documents} documents; give one score per document"
        )
    names = list_document_ids(data)
    lines = []
    for index, query in enumerate(data.query_ids):
        start, stop = data.offsets[index], data.offsets[index + 1]
        best_first = start + np.argsort(-values[start:stop], kind="stable")
        lines += [
            f"{query} Q0 {names[row]} {rank} {values[row]!s} {tag}\n"
            for rank, row in enumerate(best_first, start=1)
        ]
    _write(lines, path)


def write_qrels(data: RankingDataset, path: str | Path) -> None:
    """Write the labels as qrels; raise if one is not an integer, as trec_eval requires."""
    if (data.relevance != np.rint(data.relevance)).any():
        raise DataError("qrels hold integer labels only; round them, or binarise the data")
    pairs = zip(data.qid, list_document_ids(data), data.relevance.astype(np.int64), strict=True)
    _write([f"{query} 0 {name} {label}\n" for query, name, label in pairs], path)


def list_document_ids(data: RankingDataset) -> Sequence[str]:
    """Return the id of each document; without ids, its row in the source from 1 on."""
    if data.document_texts is not None:
        names: list[str] = data.document_texts.to_pylist()
        for name in names:
            if len(name.split()) != 1:
                raise DataError(
                    f"the document id {name!r} is empty or has a space, which TREC files cannot hold"
                )
        return names
    rows = np.arange(data.n_documents) if data.original_rows is None else data.original_rows
    return [str(row + 1) for row in rows.tolist()]


def _write(lines: list[str], path: str | Path) -> None:
    with write_atomically(path) as temporary:
        temporary.write_text("".join(lines), encoding="utf-8")


def _parse(
    text: bytes, name: str, *, n_columns: int, column: int, kind: str, layout: str
) -> dict[Pair, float]:
    values: dict[Pair, float] = {}
    for number, line in enumerate(io.BytesIO(text), start=1):  # lazily: most lines may be blank
        fields = line.decode(errors="replace").split()
        if not fields:
            continue
        try:
            value = float(fields[column]) if len(fields) == n_columns else np.nan
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise DataError(f"{name}:{number}: not a line of {kind}; it must be `{layout}`")
        pair = (fields[0], fields[2])
        if pair in values:
            raise DataError(f"{name}:{number}: document {pair[1]!r} of query {pair[0]!r} appears twice")
        values[pair] = value
    if not values:
        raise DataError(f"{name}: contains no lines")
    return values
