"""Rank data of any size by a fitted ranker, piece by piece.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> ranker = RankSVM().fit(data)
>>> best = next(rank_pieces(ranker, [data], top=2))
>>> best.column_names, best.column("rank").to_pylist()[:4]
(['qid', 'docid', 'rank', 'score'], [1, 2, 1, 2])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline

from directranker.arrays import Float32Array, FloatArray, IntArray, query_of_rows
from directranker.data.dataset import RankingDataset
from directranker.errors import DataError
from directranker.rankers import Ranker
from directranker.rankers.pipelines import predict_by_query

__all__ = ["rank_pieces", "score_pieces"]


def rank_pieces(
    ranker: Ranker | Pipeline, pieces: Iterable[RankingDataset], *, top: int | None = None
) -> Iterator[pa.Table]:
    """Yield a table of qid, docid, rank and score for each piece, best first within each query.

    With `top`, only the first `top` documents of each query. The id of a document without one is its row in
    the source, from 1 on.
    """
    if top is not None and top < 1:
        raise ValueError(f"top is {top}; give a number from 1 on")
    first_row = 1
    for piece in pieces:
        scores = predict_by_query(ranker, piece)
        query = query_of_rows(piece.offsets)
        order = np.lexsort((-scores, query))
        rank = np.arange(len(order)) - piece.offsets[query] + 1
        if top is not None:
            is_top = rank <= top
            order, rank, query = order[is_top], rank[is_top], query[is_top]
        yield _build_table(piece, query, order, rank, scores, first_row)
        first_row += piece.n_documents


def score_pieces(ranker: Ranker | Pipeline, pieces: Iterable[RankingDataset]) -> Iterator[pa.Table]:
    """Yield a table with the column score for each piece, in the order of the source."""
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
        yield pa.table({"score": predict_by_query(ranker, piece)})


def _build_table(
    piece: RankingDataset,
    query: IntArray,
    order: IntArray,
    rank: IntArray,
    scores: FloatArray | Float32Array,
    first_row: int,
) -> pa.Table:
    ids = piece.query_ids
    id_type = pa.int64() if ids.dtype == np.int64 else pa.large_string()
    if piece.document_texts is None:
        rows = np.arange(first_row, first_row + piece.n_documents)
        documents = pa.array(rows if piece.original_rows is None else piece.original_rows + 1)
    else:
        documents = piece.document_texts
    return pa.table(
        {
            "qid": pa.array(ids, id_type).take(pa.array(query)),
            "docid": documents.take(pa.array(order)).cast(pa.large_string()),
            "rank": pa.array(rank),
            "score": pa.array(scores[order]),
        }
    )
