"""Working through a large table piece by piece, on all cores, without a second copy of it.

Pieces are float64 copies of a few rows (or of a few queries), small enough for the processor's cache, so
that sums of float32 numbers neither overflow nor lose digits. Where the cuts fall depends on the table
alone, never on the number of threads: results are the same on every machine.

>>> table = np.arange(6, dtype=np.float32).reshape(3, 2)
>>> encode_rows(table, lambda block: block[:, :1] * 10, n_columns=1).tolist()
[[0.0], [20.0], [40.0]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import get_n_threads, run_in_parallel, split_evenly
from directranker.data.grouping import Grouping

__all__ = ["Block", "Encoded", "Table", "encode_rows", "over_queries", "over_rows", "working_copy"]

Table = NDArray[Any]  # float32 or float64, any memory layout, (n_rows, n_features)
Block = NDArray[np.float64]  # a piece of a table to compute with, C-contiguous
Encoded = NDArray[np.float32]
Result = TypeVar("Result")

ROWS_PER_BLOCK = 512
NUMBERS_PER_TILE = 1 << 17


def working_copy(table: Table, rows: slice | IntArray, columns: slice = slice(None)) -> Block:
    """Some rows and columns of a table, as float64 in C order.

    >>> working_copy(np.eye(2, dtype=np.float32), slice(1, 2)).tolist()
    [[0.0, 1.0]]
    """
    return np.array(table[rows, columns], dtype=np.float64, order="C")


def over_rows(work: Callable[[slice], Result], n_rows: int) -> list[Result]:
    """Call `work(rows)` for each block of rows; the results come in the order of the rows.

    >>> over_rows(lambda rows: (rows.start, rows.stop), 700)
    [(0, 512), (512, 700)]
    """
    cuts = [*range(0, n_rows, ROWS_PER_BLOCK), n_rows]
    return _over_pieces(lambda piece: work(slice(cuts[piece], cuts[piece + 1])), len(cuts) - 1)


def encode_rows(table: Table, encode: Callable[[Block], NDArray[Any]], *, n_columns: int) -> Encoded:
    """Each row of the table encoded on its own: `encode` maps a block to as many rows."""
    encoded = np.empty((len(table), n_columns), dtype=np.float32)

    def encode_block(rows: slice) -> None:
        encoded[rows] = encode(working_copy(table, rows))

    over_rows(encode_block, len(table))
    return encoded


def over_queries(
    work: Callable[[slice | IntArray, slice, IntArray], Result], grouping: Grouping, *, n_columns: int
) -> list[tuple[slice, Result]]:
    """Call `work(rows, columns, offsets)` for tiles of whole queries; gives (columns, result) pairs.

    `rows` are the rows of some queries in grouped order and `offsets` cut them into these queries. A
    query too long for one tile is worked through a few columns at a time.

    >>> from directranker.data.grouping import group_by_query
    >>> grouping = group_by_query([7, 7, 8], n_rows=3)
    >>> over_queries(lambda rows, columns, offsets: offsets.tolist(), grouping, n_columns=2)
    [(slice(0, 2, None), [0, 2, 3])]
    """
    tiles = _query_tiles(grouping.offsets, n_columns)

    def work_on(piece: int) -> tuple[slice, Result]:
        first, last, columns = tiles[piece]
        offsets = grouping.offsets[first : last + 1]
        grouped = slice(int(offsets[0]), int(offsets[-1]))
        rows = grouped if grouping.order is None else grouping.order[grouped]
        return columns, work(rows, columns, offsets - offsets[0])

    return _over_pieces(work_on, len(tiles))


def _query_tiles(offsets: IntArray, n_columns: int) -> list[tuple[int, int, slice]]:
    tiles = []
    first, n_queries = 0, len(offsets) - 1
    while first < n_queries:
        fitting = int(np.searchsorted(offsets, offsets[first] + ROWS_PER_BLOCK, side="right")) - 1
        last = max(first + 1, fitting)
        width = max(1, NUMBERS_PER_TILE // max(1, int(offsets[last] - offsets[first])))
        tiles += [
            (first, last, slice(start, min(start + width, n_columns))) for start in range(0, n_columns, width)
        ]
        first = last
    return tiles


def _over_pieces(work: Callable[[int], Result], n_pieces: int) -> list[Result]:
    def work_through(start: int, stop: int) -> list[Result]:
        return [work(piece) for piece in range(start, stop)]

    if n_pieces <= 1:  # asking for the number of threads would import numba
        return work_through(0, n_pieces)
    parts = run_in_parallel(work_through, split_evenly(n_pieces, get_n_threads()))
    return [result for part in parts for result in part]
