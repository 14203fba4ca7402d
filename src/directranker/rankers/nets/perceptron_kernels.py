"""The sums of a perceptron, row by row in one fixed order, compiled and in plain NumPy.

Both take each sum in the same order and round each product and each sum by itself, so they give the same
bits, for a row at any place among any others. The plain way is for the first rows of a process, since numba
takes longer to import than they take to score. Tables and sums must lie as `aligned` makes them: the compiled
way takes twice as long where they do not.

A wide layer is cut into tiles of 64 outputs, which stay in the processor's nearest cache while several rows
meet them. That is about as fast as torch's matrix products, whose last bits depend on where a row stands.

>>> rows, weight = np.ones((1, 2), np.float32), np.ones((2, 3), np.float32)
>>> add_products(rows, weight, np.zeros((1, 3), np.float32), compiled_way=False).tolist()
[[2.0, 2.0, 2.0]]
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import compiled

__all__ = ["TILE", "BinTables", "add_bins", "add_products", "aligned", "in_tiles", "weighted_sums"]

Floats = NDArray[np.float32]
AnyFloat = TypeVar("AnyFloat", np.float32, np.float64)
TILE = 64  # outputs
FEW_PRODUCTS = 250_000  # that NumPy takes all at once, without a call for each input
TILED_INPUTS, TILED_ROWS = 128, 4  # that meet a tile at a time
LINE_BYTES = 64  # of the processor's memory, which it reads and writes as a whole
ROWS_AT_A_TIME = 32  # whose bins are searched for together
TABLE_BYTES = 400_000  # of tables that all rows meet before the next ones, so that they stay in the cache


class BinTables(NamedTuple):
    """A linear layer on top of a piecewise-linear encoding, as what each bin of a feature adds to its sums.

    A value in the bin that begins at an edge adds `filled` + part · `weight`. After the edges of all features
    there is one more entry per feature, for its missing values.
    """

    edges: Floats
    edge_offsets: IntArray
    per_width: NDArray[np.float64]
    """1 / width of the bin that begins at each edge; 0 for the last edge of a feature."""
    filled: Floats
    """The weights of all bins below the edge, (n_entries, n_outputs); of a missing value, its own."""
    weight: Floats
    """The weights of the bin that begins at the edge; 0 where none does."""


def aligned(shape: tuple[int, ...]) -> Floats:
    """An array of zeros that begins with a line of memory; so do its rows if they hold whole lines.

    >>> aligned((3, 16)).ctypes.data % 64
    0
    """
    n_bytes = 4 * int(np.prod(shape))
    memory = np.zeros(n_bytes + LINE_BYTES, dtype=np.uint8)
    first = -memory.ctypes.data % LINE_BYTES
    return memory[first : first + n_bytes].view(np.float32).reshape(shape)


def add_bins(rows: Floats, tables: BinTables, sums: Floats, *, compiled_way: bool) -> Floats:
    """Add to the sums of each row what its features' bins add, in place."""
    (_add_bins if compiled_way else _add_bins_plainly)(rows, *tables, sums)
    return sums


def add_products(rows: Floats, weight: Floats, sums: Floats, *, compiled_way: bool) -> Floats:
    """Add rows · weight to the sums, in place; weight is (n_inputs, n_outputs), or that `in_tiles`.

    Rows may be longer than n_inputs; what comes after is not read.
    """
    if not compiled_way:
        _add_products_plainly(rows, weight, sums)
    elif weight.ndim == 2:
        _add_products(rows, weight, sums)
    else:
        _add_tiles(rows, weight, sums)
    return sums


def in_tiles(weight: Floats) -> Floats:
    """(n_inputs, n_outputs) as (n_tiles, n_inputs, TILE); n_outputs must be a multiple of TILE.

    >>> in_tiles(np.ones((3, 128), np.float32)).shape
    (2, 3, 64)
    """
    n_inputs, n_outputs = weight.shape
    tiles = aligned((n_outputs // TILE, n_inputs, TILE))
    tiles[:] = weight.reshape(n_inputs, -1, TILE).transpose(1, 0, 2)
    return tiles


def weighted_sums(rows: Floats, weight: NDArray[AnyFloat], *, compiled_way: bool) -> NDArray[AnyFloat]:
    """The sum of weight · row for each row: the second half is added to the first until one is left.

    Products and sums have the precision of the weight.
    """
    if compiled_way:
        return _weighted_sums(rows, weight)
    products, width = rows * weight, len(weight)
    while width > 1:
        half = (width + 1) // 2
        products[:, : width - half] += products[:, half:width]
        width = half
    return products[:, 0]


def _add_bins_plainly(
    rows: Floats,
    edges: Floats,
    edge_offsets: IntArray,
    per_width: NDArray[np.float64],
    filled: Floats,
    weight: Floats,
    sums: Floats,
) -> None:
    for feature, values in enumerate(rows.T):
        first, stop = edge_offsets[feature], edge_offsets[feature + 1]
        missing = np.isnan(values)
        below = np.where(missing, 0, np.searchsorted(edges[first:stop], values, side="left"))
        counted = np.flatnonzero((below > 0) | missing)
        place = (first + below - 1)[counted]
        part = (values[counted].astype(np.float64) - edges[place]) * per_width[place]
        place[missing[counted]], part[missing[counted]] = len(edges) + feature, 0.0
        sums[counted] += filled[place] + part.astype(np.float32)[:, None] * weight[place]


@compiled
def _add_bins(
    rows: Floats,
    edges: Floats,
    edge_offsets: IntArray,
    per_width: NDArray[np.float64],
    filled: Floats,
    weight: Floats,
    sums: Floats,
) -> None:
    """Some features of all rows, then the next: as many as have their tables in the processor's cache."""
    n_features = rows.shape[1]
    bytes_of_feature = 8 * filled.shape[1] * max(1, len(edges) // max(1, n_features))
    n_together = max(4, TABLE_BYTES // bytes_of_feature)
    places = np.empty((ROWS_AT_A_TIME, n_together + 1), np.int64)
    parts = np.empty((ROWS_AT_A_TIME, n_together + 1), np.float32)
    counts = np.empty(ROWS_AT_A_TIME, np.int64)
    for first in range(0, n_features, n_together):
        features = range(first, min(first + n_together, n_features))
        for start in range(0, len(rows), ROWS_AT_A_TIME):
            some = rows[start : start + ROWS_AT_A_TIME]
            _find_bins(some, features, edges, edge_offsets, per_width, places, parts, counts)
            for at in range(len(some)):
                _add_entries(places[at], parts[at], counts[at], filled, weight, sums[start + at])


@compiled
def _find_bins(
    rows: Floats,
    features: range,
    edges: Floats,
    edge_offsets: IntArray,
    per_width: NDArray[np.float64],
    places: IntArray,
    parts: Floats,
    counts: IntArray,
) -> None:
    """The entries of the tables that each row meets, and the part of their own bins."""
    values, below = np.empty(ROWS_AT_A_TIME, np.float32), np.empty(ROWS_AT_A_TIME, np.int32)
    n = len(rows)
    counts[:] = 0
    for feature in features:
        first, stop = edge_offsets[feature], edge_offsets[feature + 1]
        for at in range(n):
            values[at] = rows[at, feature]
            below[at] = 0
        for place in range(first, stop):
            edge = edges[place]
            for at in range(n):
                below[at] += values[at] > edge
        for at in range(n):
            # What is not counted is written over by the next feature: cheaper than a branch.
            place, count, missing = first + max(below[at] - 1, 0), counts[at], np.isnan(values[at])
            part = (np.float64(values[at]) - np.float64(edges[place])) * per_width[place]
            places[at, count] = len(edges) + feature if missing else place
            parts[at, count] = 0.0 if missing else part
            counts[at] = count + ((below[at] > 0) | missing)


@compiled
def _add_entries(
    places: IntArray, parts: Floats, count: int, filled: Floats, weight: Floats, sums: Floats
) -> None:
    """Four entries in a pass, so that the sums are read and written less often."""
    whole = count - count % 4
    for at in range(0, whole, 4):
        part_0, part_1, part_2, part_3 = parts[at], parts[at + 1], parts[at + 2], parts[at + 3]
        base_0, slope_0 = filled[places[at]], weight[places[at]]
        base_1, slope_1 = filled[places[at + 1]], weight[places[at + 1]]
        base_2, slope_2 = filled[places[at + 2]], weight[places[at + 2]]
        base_3, slope_3 = filled[places[at + 3]], weight[places[at + 3]]
        for output in range(len(sums)):
            so_far = sums[output] + (base_0[output] + part_0 * slope_0[output])
            so_far += base_1[output] + part_1 * slope_1[output]
            so_far += base_2[output] + part_2 * slope_2[output]
            sums[output] = so_far + (base_3[output] + part_3 * slope_3[output])
    for at in range(whole, count):
        base, slope, part = filled[places[at]], weight[places[at]], parts[at]
        for output in range(len(sums)):
            sums[output] += base[output] + part * slope[output]


def _add_products_plainly(rows: Floats, weight: Floats, sums: Floats) -> None:
    if weight.ndim > 2:
        weight = weight.transpose(1, 0, 2).reshape(weight.shape[1], -1)
    columns = rows.T[: len(weight)]
    if rows.shape[0] * weight.size <= FEW_PRODUCTS:
        products = columns[:, :, None] * weight[:, None, :]  # (n_inputs, n_rows, n_outputs)
        np.add.reduce(np.concatenate([sums[None], products]), axis=0, out=sums)  # one input after another
        return
    for column, of_input in zip(columns, weight, strict=True):
        sums += column[:, None] * of_input


@compiled
def _add_products(rows: Floats, weight: Floats, sums: Floats) -> None:
    n_inputs = len(weight)
    places = np.empty(n_inputs + 1, np.int64)
    for row in range(len(rows)):
        count = 0
        for place in range(n_inputs):
            places[count] = place
            count += rows[row, place] != 0  # true for NaN; half of what comes out of a ReLU is 0
        target = sums[row]
        for at in range(0, count - 1, 2):
            value, next_value = rows[row, places[at]], rows[row, places[at + 1]]
            slope, next_slope = weight[places[at]], weight[places[at + 1]]
            for output in range(len(target)):
                target[output] = (target[output] + value * slope[output]) + next_value * next_slope[output]
        if count % 2:
            value, slope = rows[row, places[count - 1]], weight[places[count - 1]]
            for output in range(len(target)):
                target[output] += value * slope[output]


@compiled
def _add_tiles(rows: Floats, tiles: Floats, sums: Floats) -> None:
    n_rows, n_inputs = len(rows), tiles.shape[1]
    held = np.empty(TILED_ROWS * TILE, np.float32)
    for tile in range(len(tiles)):
        outputs = range(tile * TILE, (tile + 1) * TILE)
        for first in range(0, n_inputs, TILED_INPUTS):
            stop = min(first + TILED_INPUTS, n_inputs)
            for start in range(0, n_rows, TILED_ROWS):
                for row in range(TILED_ROWS):  # the last row again where there are no more
                    source = sums[min(start + row, n_rows - 1)]
                    for at in range(TILE):
                        held[row * TILE + at] = source[outputs.start + at]
                _meet_tile(rows, start, tiles[tile], first, stop, held)
                for row in range(min(TILED_ROWS, n_rows - start)):
                    target = sums[start + row]
                    for at in range(TILE):
                        target[outputs.start + at] = held[row * TILE + at]


@compiled
def _meet_tile(rows: Floats, start: int, tile: Floats, first: int, stop: int, held: Floats) -> None:
    """Add four rows' products with the inputs `first:stop` of a tile to the sums that are held.

    Four inputs in a pass, so that a weight is read once for four rows and a sum once for four inputs.
    """
    last = len(rows) - 1
    row_0, row_1 = rows[min(start, last)], rows[min(start + 1, last)]
    row_2, row_3 = rows[min(start + 2, last)], rows[min(start + 3, last)]
    weights = tile.reshape(-1)
    whole = stop - (stop - first) % 4
    for at in range(first, whole, 4):
        a_0, a_1, a_2, a_3 = row_0[at], row_0[at + 1], row_0[at + 2], row_0[at + 3]
        b_0, b_1, b_2, b_3 = row_1[at], row_1[at + 1], row_1[at + 2], row_1[at + 3]
        c_0, c_1, c_2, c_3 = row_2[at], row_2[at + 1], row_2[at + 2], row_2[at + 3]
        d_0, d_1, d_2, d_3 = row_3[at], row_3[at + 1], row_3[at + 2], row_3[at + 3]
        some = weights[at * TILE : (at + 4) * TILE]
        for out in range(TILE):
            w_0, w_1, w_2, w_3 = some[out], some[TILE + out], some[2 * TILE + out], some[3 * TILE + out]
            b, c, d = TILE + out, 2 * TILE + out, 3 * TILE + out
            held[out] = (((held[out] + a_0 * w_0) + a_1 * w_1) + a_2 * w_2) + a_3 * w_3
            held[b] = (((held[b] + b_0 * w_0) + b_1 * w_1) + b_2 * w_2) + b_3 * w_3
            held[c] = (((held[c] + c_0 * w_0) + c_1 * w_1) + c_2 * w_2) + c_3 * w_3
            held[d] = (((held[d] + d_0 * w_0) + d_1 * w_1) + d_2 * w_2) + d_3 * w_3
    for at in range(whole, stop):
        some = weights[at * TILE : (at + 1) * TILE]
        a, b, c, d = row_0[at], row_1[at], row_2[at], row_3[at]
        for out in range(TILE):
            held[out] += a * some[out]
            held[TILE + out] += b * some[out]
            held[2 * TILE + out] += c * some[out]
            held[3 * TILE + out] += d * some[out]


@compiled
def _weighted_sums(rows: Floats, weight: NDArray[AnyFloat]) -> NDArray[AnyFloat]:
    n_rows, n = rows.shape
    sums = np.empty(n_rows, dtype=weight.dtype)
    products = np.empty(n, dtype=weight.dtype)
    for row in range(n_rows):
        for place in range(n):
            products[place] = rows[row, place] * weight[place]
        width = n
        while width > 1:
            half = (width + 1) // 2
            for place in range(width - half):
                products[place] += products[half + place]
            width = half
        sums[row] = products[0]
    return sums
