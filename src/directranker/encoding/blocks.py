"""Process a large table block by block, on all cores, without a second copy of the table.

A block is a float64 copy of a few rows (or of a few queries). It fits the processor's cache, and sums of
float32 values in it neither overflow nor lose digits. The block boundaries depend on the table alone, never
on the number of threads, so results are the same on every machine.

>>> table = np.arange(6, dtype=np.float32).reshape(3, 2)
>>> encode_rows(table, lambda block: block[:, :1] * 10, n_columns=1).tolist()
[[0.0], [20.0], [40.0]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Float32Array, FloatArray, IntArray
from directranker.compilation import get_n_threads, run_in_parallel, split_evenly
from directranker.data.grouping import Grouping

__all__ = ["Table", "copy_block", "encode_rows", "map_query_tiles", "map_row_blocks"]

Table = NDArray[np.float32 | np.float64]
"""(n_rows, n_features), in any memory layout."""
Result = TypeVar("Result")

ROWS_PER_BLOCK = 512
VALUES_PER_TILE = 1 << 17


def copy_block(table: Table, rows: slice | IntArray, columns: slice = slice(None)) -> FloatArray:
    """Copy some rows and columns of a table, as float64 in C order.

    >>> copy_block(np.eye(2, dtype=np.float32), slice(1, 2)).tolist()
    [[0.0, 1.0]]
    """
    return np.array(table[rows, columns], dtype=np.float64, order="C")


def map_row_blocks(function: Callable[[slice], Result], n_rows: int) -> list[Result]:
    """Call `function(rows)` for each block of rows; return the results in row order.

    >>> map_row_blocks(lambda rows: (rows.start, rows.stop), 700)
    [(0, 512), (512, 700)]
    """
    cuts = [*range(0, n_rows, ROWS_PER_BLOCK), n_rows]
    return _map_in_parallel(lambda block: function(slice(cuts[block], cuts[block + 1])), len(cuts) - 1)


def encode_rows(
    table: Table, encode: Callable[[FloatArray], FloatArray | Float32Array], *, n_columns: int
) -> Float32Array:
    """Encode a table block by block; `encode` maps a block to as many rows of `n_columns` columns."""
    encoded = np.empty((len(table), n_columns), dtype=np.float32)

    def encode_block(rows: slice) -> None:
        encoded[rows] = encode(copy_block(table, rows))

    map_row_blocks(encode_block, len(table))
    return encoded


def map_query_tiles(
    function: Callable[[slice | IntArray, slice, IntArray], Result], grouping: Grouping, *, n_columns: int
) -> list[tuple[slice, Result]]:
    """Call `function(rows, columns, offsets)` for tiles of whole queries; return (columns, result) pairs.

    `rows` are the rows of some queries in grouped order; `offsets` split them into these queries. A query
    too long for one tile is processed a few columns at a time.

    >>> from directranker.data.grouping import group_by_query
    >>> grouping = group_by_query([7, 7, 8], n_rows=3)
    >>> map_query_tiles(lambda rows, columns, offsets: offsets.tolist(), grouping, n_columns=2)
    [(slice(0, 2, None), [0, 2, 3])]
    """
    tiles = _split_into_tiles(grouping.offsets, n_columns)

    def process_tile(number: int) -> tuple[slice, Result]:
        first, last, columns = tiles[number]
        offsets = grouping.offsets[first : last + 1]
        grouped = slice(int(offsets[0]), int(offsets[-1]))
        rows = grouped if grouping.order is None else grouping.order[grouped]
        return columns, function(rows, columns, offsets - offsets[0])

    return _map_in_parallel(process_tile, len(tiles))


def _split_into_tiles(offsets: IntArray, n_columns: int) -> list[tuple[int, int, slice]]:
    """Split the table into tiles: first query, last query (exclusive), columns."""
    tiles = []
    first, n_queries = 0, len(offsets) - 1
    while first < n_queries:
        fitting = int(np.searchsorted(offsets, offsets[first] + ROWS_PER_BLOCK, side="right")) - 1
        last = max(first + 1, fitting)
        width = max(1, VALUES_PER_TILE // max(1, int(offsets[last] - offsets[first])))
        tiles += [
            (first, last, slice(start, min(start + width, n_columns))) for start in range(0, n_columns, width)
        ]
        first = last
    return tiles


def _map_in_parallel(function: Callable[[int], Result], n_items: int) -> list[Result]:
    def process_range(start: int, stop: int) -> list[Result]:
        return [function(item) for item in range(start, stop)]

    if n_items <= 1:  # asking for the number of threads would import numba
        return process_range(0, n_items)
    chunks = run_in_parallel(process_range, split_evenly(n_items, get_n_threads()))
    return [result for chunk in chunks for result in chunk]
