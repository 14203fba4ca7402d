"""A linear layer on a piecewise-linear encoding, forward and backward, without computing the encoding.

The weights of all bins below each bin are summed once per step; a document then adds two rows of weights per
feature instead of one per bin. In the backward pass, the gradient of a bin is added to all bins below it,
again once per step. This is faster than matrix products with the encoding.

>>> from directranker.encoding.filled_bins import fill_bins
>>> from directranker.encoding.piecewise_linear import PiecewiseLinear
>>> X = np.random.default_rng(0).random((50, 3)).astype(np.float32)
>>> transform = PiecewiseLinear(n_bins=4).fit(X)
>>> encoded, bins = torch.from_numpy(transform.transform(X)), fill_bins(transform, X)
>>> weight = torch.rand(5, encoded.shape[1])
>>> torch.allclose(add_bin_products(bins, weight, torch.zeros(50, 5)), encoded @ weight.T, atol=1e-5)
True
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from directranker.arrays import BoolArray, Float32Array
from directranker.compilation import compiled, compiled_fastmath, get_n_threads, run_in_parallel, split_evenly
from directranker.encoding.filled_bins import FilledBins

__all__ = ["add_bin_products", "compute_bin_gradient", "store_by_column"]

BLOCK_OUTPUTS = 256  # per block, so that the weights of a feature's bins stay in the L1 cache
BLOCK_ROWS = 32  # per block, so that their sums stay in the L1 cache
MIN_SUMMANDS_PER_THREAD = 20_000_000

BinIndices = NDArray[np.int32]


def add_bin_products(bins: FilledBins, weight: Tensor, sums: Tensor) -> Tensor:
    """Add encoding @ weight.T, with a weight (n_outputs, n_columns), to sums (n_rows, n_outputs) in place."""
    by_column = weight.detach().T.contiguous().numpy()
    below = np.empty_like(by_column)
    _sum_below(by_column, bins.is_first, below)
    bin_indices, fractions, out = bins.columns, bins.fractions, sums.numpy()

    def add(start: int, stop: int) -> None:
        _add_bins(bin_indices, fractions, below, by_column, out, start, stop)

    run_in_parallel(add, split_evenly(len(bins), _choose_n_parts(bin_indices, sums)))
    return sums


def compute_bin_gradient(bins: FilledBins, gradient: Tensor, n_columns: int) -> Tensor:
    """Return the gradient of the weight, (n_outputs, n_columns), given the gradient of the sums.

    Its memory is by column, as `store_by_column` stores the weight.
    """
    # Memory that NumPy never touches costs nothing: categories have no bin below them.
    reached, filled = (np.zeros((n_columns, gradient.shape[1]), dtype=np.float32) for _ in range(2))
    bin_indices, fractions, row_gradients = bins.columns, bins.fractions, gradient.numpy()
    is_alone = bins.is_first & np.append(bins.is_first[1:], True)

    def accumulate(start: int, stop: int) -> None:
        _accumulate_bin_gradients(
            bin_indices, fractions, bins.is_first, is_alone, row_gradients, reached, filled, start, stop
        )

    run_in_parallel(accumulate, split_evenly(bin_indices.shape[1], _choose_n_parts(bin_indices, gradient)))
    _accumulate_lower_bins(reached, bins.is_first, filled)
    return torch.from_numpy(filled).T


def store_by_column(weight: torch.nn.Parameter) -> None:
    """Store the memory of a weight (n_outputs, n_columns) column by column, so that no step transposes it.

    >>> weight = torch.nn.Parameter(torch.ones(2, 3))
    >>> store_by_column(weight)
    >>> weight.shape, weight.stride()
    (torch.Size([2, 3]), (1, 2))
    """
    weight.data = weight.data.T.contiguous().T


def _choose_n_parts(bin_indices: BinIndices, sums: Tensor) -> int:
    return min(get_n_threads(), 1 + bin_indices.size * sums.shape[1] // MIN_SUMMANDS_PER_THREAD)


@compiled
def _sum_below(weight: Float32Array, starts: BoolArray, below: Float32Array) -> None:
    """Write the sum of the weights of the lower bins of the same feature to each column of `below`."""
    for column in range(len(weight)):
        if starts[column]:
            below[column] = 0
        else:
            for output in range(weight.shape[1]):
                below[column, output] = below[column - 1, output] + weight[column - 1, output]


@compiled_fastmath
def _add_bins(
    bin_indices: BinIndices,
    fractions: Float32Array,
    below: Float32Array,
    weight: Float32Array,
    sums: Float32Array,
    start: int,
    stop: int,
) -> None:
    """Add the products of the rows `start:stop`, four features per pass to access the sums less often."""
    n_features, n_outputs = bin_indices.shape[1], sums.shape[1]
    in_fours = n_features // 4 * 4
    for first in range(start, stop, BLOCK_ROWS):
        rows = range(first, min(first + BLOCK_ROWS, stop))
        for left in range(0, n_outputs, BLOCK_OUTPUTS):
            right = min(left + BLOCK_OUTPUTS, n_outputs)
            for feature in range(0, in_fours, 4):
                for row in rows:
                    out = sums[row, left:right]
                    a, b = bin_indices[row, feature], bin_indices[row, feature + 1]
                    c, d = bin_indices[row, feature + 2], bin_indices[row, feature + 3]
                    p, q = fractions[row, feature], fractions[row, feature + 1]
                    r, s = fractions[row, feature + 2], fractions[row, feature + 3]
                    below_p, slope_p = below[a, left:right], weight[a, left:right]
                    below_q, slope_q = below[b, left:right], weight[b, left:right]
                    below_r, slope_r = below[c, left:right], weight[c, left:right]
                    below_s, slope_s = below[d, left:right], weight[d, left:right]
                    for output in range(right - left):
                        one = (below_p[output] + p * slope_p[output]) + (
                            below_q[output] + q * slope_q[output]
                        )
                        two = (below_r[output] + r * slope_r[output]) + (
                            below_s[output] + s * slope_s[output]
                        )
                        out[output] += one + two
            for feature in range(in_fours, n_features):
                for row in rows:
                    out, fraction = sums[row, left:right], fractions[row, feature]
                    column = bin_indices[row, feature]
                    base, slope = below[column, left:right], weight[column, left:right]
                    for output in range(right - left):
                        out[output] += base[output] + fraction * slope[output]


@compiled_fastmath
def _accumulate_bin_gradients(
    bin_indices: BinIndices,
    fractions: Float32Array,
    starts: BoolArray,
    is_alone: BoolArray,
    gradient: Float32Array,
    reached: Float32Array,
    filled: Float32Array,
    first_feature: int,
    last_feature: int,
) -> None:
    """Add each row's gradient to `reached`, and times the filled fraction to `filled`, at its bins.

    A column that is alone, such as that of a category, has no other bins that it fills.
    """
    n_rows, n_outputs = gradient.shape
    for left in range(0, n_outputs, BLOCK_OUTPUTS):
        right = min(left + BLOCK_OUTPUTS, n_outputs)
        for feature in range(first_feature, last_feature):
            for row in range(n_rows):
                column, fraction = bin_indices[row, feature], fractions[row, feature]
                if fraction == 0 and starts[column]:  # no bin is filled
                    continue
                slope, filled_out = gradient[row, left:right], filled[column, left:right]
                if is_alone[column]:
                    for output in range(right - left):
                        filled_out[output] += fraction * slope[output]
                    continue
                reached_out = reached[column, left:right]
                for output in range(right - left):
                    reached_out[output] += slope[output]
                    filled_out[output] += fraction * slope[output]


@compiled
def _accumulate_lower_bins(reached: Float32Array, starts: BoolArray, filled: Float32Array) -> None:
    """Add to each bin the gradients of the higher bins of its feature, which fill it completely."""
    for column in range(len(starts) - 2, -1, -1):
        if not starts[column + 1]:
            for output in range(filled.shape[1]):
                filled[column, output] += reached[column + 1, output]
                reached[column, output] += reached[column + 1, output]
