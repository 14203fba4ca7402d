"""The matrix products of a perceptron in one fixed order of summation, as numba kernels and in NumPy.

Both add in the same order and round each product and each sum separately. So they give the same bits, for a
row at any position in any batch. NumPy scores the first rows of a process: importing numba would take longer.
Tables and sums must be aligned by `allocate_aligned`: otherwise the kernels take twice as long.

A wide layer is cut into tiles of 64 outputs, which stay in the L1 cache for several rows. That is about as
fast as torch's matrix products, whose last bits depend on the position of a row.

>>> rows, weight = np.ones((1, 2), np.float32), np.ones((2, 3), np.float32)
>>> add_products(rows, weight, np.zeros((1, 3), np.float32), use_kernels=False).tolist()
[[2.0, 2.0, 2.0]]
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Float32Array, FloatArray, IntArray
from directranker.compilation import compiled
from directranker.encoding.category_columns import locate_code

__all__ = [
    "TILE",
    "BinTables",
    "add_bins",
    "add_products",
    "allocate_aligned",
    "compute_weighted_sums",
    "split_into_tiles",
]

AnyFloat = TypeVar("AnyFloat", np.float32, np.float64)
TILE = 64  # outputs
MAX_PRODUCTS = 250_000  # that NumPy computes in one call
TILED_INPUTS, TILED_ROWS = 128, 4  # multiplied with a tile at a time
LINE_BYTES = 64  # of a cache line
BLOCK_ROWS = 32  # whose bins are searched for together
TABLE_BYTES = 400_000  # of the tables of a block of features, so that they stay in the L2 cache


class BinTables(NamedTuple):
    """A linear layer on a piecewise-linear encoding, as the contribution of each bin to the outputs.

    A value in the bin that begins at an edge adds `filled` + fraction · `weight`. After the edges of all
    features there is one more entry per feature, for its missing values, and then one per column of
    categories, which adds `filled`.
    """

    edges: Float32Array
    edge_offsets: IntArray
    category_entries: IntArray
    """The entry of the code −1 and of each code, feature by feature; −1 where there is none."""
    category_offsets: IntArray
    """Where the codes of each feature begin in `category_entries`."""
    per_width: FloatArray
    """1 / width of the bin that begins at each edge; 0 for the last edge of a feature."""
    filled: Float32Array
    """The summed weights of all bins below the edge, (n_entries, n_outputs), or those of a missing value."""
    weight: Float32Array
    """The weights of the bin that begins at the edge, 0 where there is none; and a last row of zeros, for all
    other entries."""


def allocate_aligned(shape: tuple[int, ...]) -> Float32Array:
    """Allocate zeros at the start of a cache line; so are the rows if they are whole lines.

    >>> allocate_aligned((3, 16)).ctypes.data % 64
    0
    """
    n_bytes = 4 * int(np.prod(shape))
    memory = np.zeros(n_bytes + LINE_BYTES, dtype=np.uint8)
    first = -memory.ctypes.data % LINE_BYTES
    return memory[first : first + n_bytes].view(np.float32).reshape(shape)


def add_bins(rows: Float32Array, tables: BinTables, sums: Float32Array, *, use_kernels: bool) -> Float32Array:
    """Add the contributions of the bins of each row to its sums, in place."""
    (_add_bins if use_kernels else _add_bins_numpy)(rows, *tables, sums)
    return sums


def add_products(
    rows: Float32Array, weight: Float32Array, sums: Float32Array, *, use_kernels: bool
) -> Float32Array:
    """Add rows · weight to the sums, in place; weight is (n_inputs, n_outputs), or `split_into_tiles` of it.

    Columns of rows beyond n_inputs are ignored.
    """
    if not use_kernels:
        _add_products_numpy(rows, weight, sums)
    elif weight.ndim == 2:
        _add_products(rows, weight, sums)
    else:
        _add_tiles(rows, weight, sums)
    return sums


def split_into_tiles(weight: Float32Array) -> Float32Array:
    """Reshape (n_inputs, n_outputs) to (n_tiles, n_inputs, TILE); n_outputs must be a multiple of TILE.

    >>> split_into_tiles(np.ones((3, 128), np.float32)).shape
    (2, 3, 64)
    """
    n_inputs, n_outputs = weight.shape
    tiles = allocate_aligned((n_outputs // TILE, n_inputs, TILE))
    tiles[:] = weight.reshape(n_inputs, -1, TILE).transpose(1, 0, 2)
    return tiles


def compute_weighted_sums(
    rows: Float32Array, weight: NDArray[AnyFloat], *, use_kernels: bool
) -> NDArray[AnyFloat]:
    """Return the sum of weight · row for each row, by adding the second half to the first until one is left.

    Products and sums have the precision of the weight.
    """
    if use_kernels:
        return _weighted_sums_kernel(rows, weight)
    products, width = rows * weight, len(weight)
    while width > 1:
        half = (width + 1) // 2
        products[:, : width - half] += products[:, half:width]
        width = half
    return products[:, 0]


def _add_bins_numpy(
    rows: Float32Array,
    edges: Float32Array,
    edge_offsets: IntArray,
    category_entries: IntArray,
    category_offsets: IntArray,
    per_width: FloatArray,
    filled: Float32Array,
    weight: Float32Array,
    sums: Float32Array,
) -> None:
    for feature, values in enumerate(rows.T):
        first, stop = edge_offsets[feature], edge_offsets[feature + 1]
        missing = np.isnan(values)
        codes = category_entries[category_offsets[feature] : category_offsets[feature + 1]]
        if len(codes):
            is_known = (values >= 0) & (values < len(codes) - 1)
            entry = codes[np.where(is_known, values + 1, 0).astype(np.int64)]
            entry[missing] = len(edges) + feature
            counted = np.flatnonzero(entry >= 0)
            sums[counted] += filled[entry[counted]] + np.float32(0)
            continue
        below = np.where(missing, 0, np.searchsorted(edges[first:stop], values, side="left"))
        counted = np.flatnonzero((below > 0) | missing)
        entry = (first + below - 1)[counted]
        fraction = (values[counted].astype(np.float64) - edges[entry]) * per_width[entry]
        entry[missing[counted]], fraction[missing[counted]] = len(edges) + feature, 0.0
        slope = weight[np.minimum(entry, len(edges))]
        sums[counted] += filled[entry] + fraction.astype(np.float32)[:, None] * slope


@compiled
def _add_bins(
    rows: Float32Array,
    edges: Float32Array,
    edge_offsets: IntArray,
    category_entries: IntArray,
    category_offsets: IntArray,
    per_width: FloatArray,
    filled: Float32Array,
    weight: Float32Array,
    sums: Float32Array,
) -> None:
    """Process a block of features for all rows, then the next; the tables of a block fit the cache."""
    n_features = rows.shape[1]
    feature_bytes = 8 * filled.shape[1] * max(1, len(edges) // max(1, n_features))
    n_features_per_block = max(4, TABLE_BYTES // feature_bytes)
    entries = np.empty((BLOCK_ROWS, n_features_per_block + 1), np.int64)
    fractions = np.empty((BLOCK_ROWS, n_features_per_block + 1), np.float32)
    counts = np.empty(BLOCK_ROWS, np.int64)
    for first in range(0, n_features, n_features_per_block):
        features = range(first, min(first + n_features_per_block, n_features))
        for start in range(0, len(rows), BLOCK_ROWS):
            block = rows[start : start + BLOCK_ROWS]
            counts[:] = 0
            for feature in features:
                codes, stop = category_offsets[feature], category_offsets[feature + 1]
                if stop > codes:
                    _find_categories(
                        block, feature, category_entries, codes, stop, len(edges), entries, fractions, counts
                    )
                else:
                    _find_bins(block, feature, edges, edge_offsets, per_width, entries, fractions, counts)
            for at in range(len(block)):
                _add_entries(entries[at], fractions[at], counts[at], filled, weight, sums[start + at])


@compiled
def _find_bins(
    rows: Float32Array,
    feature: int,
    edges: Float32Array,
    edge_offsets: IntArray,
    per_width: FloatArray,
    entries: IntArray,
    fractions: Float32Array,
    counts: IntArray,
) -> None:
    """Append the table entry of each row's value, and the filled fraction of its bin."""
    values, below = np.empty(BLOCK_ROWS, np.float32), np.empty(BLOCK_ROWS, np.int32)
    n = len(rows)
    first, stop = edge_offsets[feature], edge_offsets[feature + 1]
    for at in range(n):
        values[at] = rows[at, feature]
        below[at] = 0
    for entry in range(first, stop):
        edge = edges[entry]
        for at in range(n):
            below[at] += values[at] > edge
    for at in range(n):
        # An entry that does not count is overwritten by the next feature: cheaper than a branch.
        entry, count, missing = first + max(below[at] - 1, 0), counts[at], np.isnan(values[at])
        fraction = (np.float64(values[at]) - np.float64(edges[entry])) * per_width[entry]
        entries[at, count] = len(edges) + feature if missing else entry
        fractions[at, count] = 0.0 if missing else fraction
        counts[at] = count + ((below[at] > 0) | missing)


@compiled
def _find_categories(
    rows: Float32Array,
    feature: int,
    category_entries: IntArray,
    first: int,
    stop: int,
    n_edges: int,
    entries: IntArray,
    fractions: Float32Array,
    counts: IntArray,
) -> None:
    """Append the table entry of each row's category; `first:stop` are the feature's in `category_entries`."""
    for at in range(len(rows)):
        value, count = rows[at, feature], counts[at]
        entry = n_edges + feature if np.isnan(value) else category_entries[locate_code(value, first, stop)]
        entries[at, count] = entry
        fractions[at, count] = 0.0
        counts[at] = count + (entry >= 0)


@compiled
def _add_entries(
    entries: IntArray,
    fractions: Float32Array,
    count: int,
    filled: Float32Array,
    weight: Float32Array,
    sums: Float32Array,
) -> None:
    """Add four entries per pass, so that the sums are read and written less often."""
    whole, n_edges = count - count % 4, len(weight) - 1
    for at in range(0, whole, 4):
        fraction_0, fraction_1, fraction_2, fraction_3 = (
            fractions[at],
            fractions[at + 1],
            fractions[at + 2],
            fractions[at + 3],
        )
        base_0, slope_0 = filled[entries[at]], weight[min(entries[at], n_edges)]
        base_1, slope_1 = filled[entries[at + 1]], weight[min(entries[at + 1], n_edges)]
        base_2, slope_2 = filled[entries[at + 2]], weight[min(entries[at + 2], n_edges)]
        base_3, slope_3 = filled[entries[at + 3]], weight[min(entries[at + 3], n_edges)]
        for output in range(len(sums)):
            so_far = sums[output] + (base_0[output] + fraction_0 * slope_0[output])
            so_far += base_1[output] + fraction_1 * slope_1[output]
            so_far += base_2[output] + fraction_2 * slope_2[output]
            sums[output] = so_far + (base_3[output] + fraction_3 * slope_3[output])
    for at in range(whole, count):
        base, slope, fraction = filled[entries[at]], weight[min(entries[at], n_edges)], fractions[at]
        for output in range(len(sums)):
            sums[output] += base[output] + fraction * slope[output]


def _add_products_numpy(rows: Float32Array, weight: Float32Array, sums: Float32Array) -> None:
    if weight.ndim > 2:
        weight = weight.transpose(1, 0, 2).reshape(weight.shape[1], -1)
    columns = rows.T[: len(weight)]
    if rows.shape[0] * weight.size <= MAX_PRODUCTS:
        products = columns[:, :, None] * weight[:, None, :]  # (n_inputs, n_rows, n_outputs)
        np.add.reduce(np.concatenate([sums[None], products]), axis=0, out=sums)  # one input after another
        return
    for column, input_weight in zip(columns, weight, strict=True):
        sums += column[:, None] * input_weight


@compiled
def _add_products(rows: Float32Array, weight: Float32Array, sums: Float32Array) -> None:
    n_inputs = len(weight)
    inputs = np.empty(n_inputs + 1, np.int64)
    for row in range(len(rows)):
        count = 0
        for column in range(n_inputs):
            inputs[count] = column
            count += rows[row, column] != 0  # true for NaN; half of the outputs of a ReLU are 0
        target = sums[row]
        for at in range(0, count - 1, 2):
            value, next_value = rows[row, inputs[at]], rows[row, inputs[at + 1]]
            slope, next_slope = weight[inputs[at]], weight[inputs[at + 1]]
            for output in range(len(target)):
                target[output] = (target[output] + value * slope[output]) + next_value * next_slope[output]
        if count % 2:
            value, slope = rows[row, inputs[count - 1]], weight[inputs[count - 1]]
            for output in range(len(target)):
                target[output] += value * slope[output]


@compiled
def _add_tiles(rows: Float32Array, tiles: Float32Array, sums: Float32Array) -> None:
    n_rows, n_inputs = len(rows), tiles.shape[1]
    buffer = np.empty(TILED_ROWS * TILE, np.float32)
    for tile in range(len(tiles)):
        outputs = range(tile * TILE, (tile + 1) * TILE)
        for first in range(0, n_inputs, TILED_INPUTS):
            stop = min(first + TILED_INPUTS, n_inputs)
            for start in range(0, n_rows, TILED_ROWS):
                for row in range(TILED_ROWS):  # the last row again where there are no more
                    source = sums[min(start + row, n_rows - 1)]
                    for at in range(TILE):
                        buffer[row * TILE + at] = source[outputs.start + at]
                _add_tile_products(rows, start, tiles[tile], first, stop, buffer)
                for row in range(min(TILED_ROWS, n_rows - start)):
                    target = sums[start + row]
                    for at in range(TILE):
                        target[outputs.start + at] = buffer[row * TILE + at]


@compiled
def _add_tile_products(
    rows: Float32Array, start: int, tile: Float32Array, first: int, stop: int, buffer: Float32Array
) -> None:
    """Add the products of four rows with the inputs `first:stop` of a tile to the sums in the buffer.

    Four inputs per pass, so that a weight is read once for four rows and a sum once for four inputs.
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
            buffer[out] = (((buffer[out] + a_0 * w_0) + a_1 * w_1) + a_2 * w_2) + a_3 * w_3
            buffer[b] = (((buffer[b] + b_0 * w_0) + b_1 * w_1) + b_2 * w_2) + b_3 * w_3
            buffer[c] = (((buffer[c] + c_0 * w_0) + c_1 * w_1) + c_2 * w_2) + c_3 * w_3
            buffer[d] = (((buffer[d] + d_0 * w_0) + d_1 * w_1) + d_2 * w_2) + d_3 * w_3
    for at in range(whole, stop):
        some = weights[at * TILE : (at + 1) * TILE]
        a, b, c, d = row_0[at], row_1[at], row_2[at], row_3[at]
        for out in range(TILE):
            buffer[out] += a * some[out]
            buffer[TILE + out] += b * some[out]
            buffer[2 * TILE + out] += c * some[out]
            buffer[3 * TILE + out] += d * some[out]


@compiled
def _weighted_sums_kernel(rows: Float32Array, weight: NDArray[AnyFloat]) -> NDArray[AnyFloat]:
    n_rows, n = rows.shape
    sums = np.empty(n_rows, dtype=weight.dtype)
    products = np.empty(n, dtype=weight.dtype)
    for row in range(n_rows):
        for column in range(n):
            products[column] = rows[row, column] * weight[column]
        width = n
        while width > 1:
            half = (width + 1) // 2
            for column in range(width - half):
                products[column] += products[half + column]
            width = half
        sums[row] = products[0]
    return sums
