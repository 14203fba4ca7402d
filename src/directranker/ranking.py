"""Ranking data of any size by a fitted ranker, a piece at a time.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> ranker = RankSVM().fit(data)
>>> best = next(ranked_tables(ranker, [data], top=2))
>>> best.column_names, best.column("rank").to_pylist()[:4]
(['qid', 'docid', 'rank', 'score'], [1, 2, 1, 2])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from directranker.data.dataset import RankingDataset
from directranker.errors import DataError
from directranker.rankers import Ranker

__all__ = ["ranked_tables", "scored_tables"]


def ranked_tables(
    ranker: Ranker, pieces: Iterable[RankingDataset], *, top: int | None = None
) -> Iterator[Any]:
    """A table of qid, docid, rank and score for each piece, best first within each query.

    With `top`, only so many of each query. Documents without an id are called by their row in the source,
    from 1 on.
    """
    if top is not None and top < 1:
        raise ValueError(f"top is {top}; give a number from 1 on")
    first_row = 1
    for piece in pieces:
        scores = ranker.predict(piece)
        query = np.repeat(np.arange(piece.n_queries), np.diff(piece.offsets))
        order = np.lexsort((-scores, query))
        place = np.arange(len(order)) - piece.offsets[query] + 1
        if top is not None:
            kept = place <= top
            order, place, query = order[kept], place[kept], query[kept]
        yield _table(piece, query, order, place, scores, first_row)
        first_row += piece.n_documents


def scored_tables(ranker: Ranker, pieces: Iterable[RankingDataset]) -> Iterator[Any]:
    """A table with the column score for each piece, in the order of the source."""
    last_row = -1
    for piece in pieces:
        if piece.original_rows is not None:
            rows = np.concatenate([[last_row], piece.original_rows])
            if (np.diff(rows) < 0).any():
                raise DataError(
                    "the rows were grouped by query when the data was saved, so scores in the order of the "
                    "source cannot be written piece by piece; choose another format"
                )
            last_row = int(rows[-1])
        yield pa.table({"score": ranker.predict(piece)})


def _table(piece: RankingDataset, query: Any, order: Any, place: Any, scores: Any, first_row: int) -> Any:
    ids = piece.query_ids
    kind = pa.int64() if ids.dtype == np.int64 else pa.large_string()
    if piece.document_texts is None:
        rows = np.arange(first_row, first_row + piece.n_documents)
        documents = pa.array(rows if piece.original_rows is None else piece.original_rows + 1)
    else:
        documents = piece.document_texts
    return pa.table(
        {
            "qid": pa.array(ids, kind).take(pa.array(query)),
            "docid": documents.take(pa.array(order)).cast(pa.large_string()),
            "rank": pa.array(place),
            "score": pa.array(scores[order]),
        }
    )
