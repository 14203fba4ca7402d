"""A linear layer on top of a piecewise-linear encoding, forward and backward, without forming the encoding.

The weights of all bins below a value are summed beforehand, once for all documents of a step; a document
then adds two rows of weights per feature instead of one per bin. Backward, what is pulled into a bin goes on
to all bins below it, again once for all documents. Matrix products with the encoding take longer.

>>> from directranker.encoding.filled_bins import fill_bins
>>> from directranker.encoding.piecewise_linear import PiecewiseLinear
>>> X = np.random.default_rng(0).random((50, 3)).astype(np.float32)
>>> transform = PiecewiseLinear(n_bins=4).fit(X)
>>> encoded, bins = torch.from_numpy(transform.transform(X)), fill_bins(transform, X)
>>> weight = torch.rand(5, encoded.shape[1])
>>> torch.allclose(bin_sums(bins, weight, torch.zeros(50, 5)), encoded @ weight.T, atol=1e-5)
True
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from directranker.compilation import compiled, even_cuts, freely_summed, in_parallel, n_threads
from directranker.encoding.filled_bins import FilledBins

__all__ = ["bin_gradient", "bin_sums"]

OUTPUTS = 256  # at a time, whose weights of a feature's bins stay in the nearest cache
ROWS = 32  # at a time, whose sums stay there, too
SUMMANDS_WORTH_A_THREAD = 20_000_000

Floats = NDArray[np.float32]
Places = NDArray[np.int32]
Flags = NDArray[np.bool_]


def bin_sums(bins: FilledBins, weight: Tensor, sums: Tensor) -> Tensor:
    """Add the products with a weight (n_outputs, n_columns) to sums (n_rows, n_outputs), in place."""
    by_column = weight.detach().T.contiguous().numpy()
    below = np.empty_like(by_column)
    _sum_below(by_column, bins.is_first, below)
    places, parts, onto = bins.columns, bins.fractions, sums.numpy()

    def add(start: int, stop: int) -> None:
        _add_bins(places, parts, below, by_column, onto, start, stop)

    in_parallel(add, even_cuts(len(bins), _n_parts(places, sums)))
    return sums


def bin_gradient(bins: FilledBins, pulls: Tensor, n_columns: int) -> Tensor:
    """The gradient of the weight, (n_outputs, n_columns), for these gradients of the sums."""
    reached, filled = (torch.zeros(n_columns, pulls.shape[1]) for _ in range(2))
    places, parts, from_rows = bins.columns, bins.fractions, pulls.numpy()

    def pull(start: int, stop: int) -> None:
        _pull_bins(places, parts, bins.is_first, from_rows, reached.numpy(), filled.numpy(), start, stop)

    in_parallel(pull, even_cuts(places.shape[1], _n_parts(places, pulls)))
    _pull_below(reached.numpy(), bins.is_first, filled.numpy())
    return filled.T.contiguous()


def _n_parts(places: Places, sums: Tensor) -> int:
    return min(n_threads(), 1 + places.size * sums.shape[1] // SUMMANDS_WORTH_A_THREAD)


@compiled
def _sum_below(weight: Floats, starts: Flags, below: Floats) -> None:
    """Per column the sum of the weights of the bins of its feature below it."""
    for column in range(len(weight)):
        if starts[column]:
            below[column] = 0
        else:
            for output in range(weight.shape[1]):
                below[column, output] = below[column - 1, output] + weight[column - 1, output]


@freely_summed
def _add_bins(
    places: Places, parts: Floats, below: Floats, weight: Floats, sums: Floats, start: int, stop: int
) -> None:
    """Four features in a pass, so that the sums are read and written a quarter as often."""
    n_features, n_outputs = places.shape[1], sums.shape[1]
    in_fours = n_features // 4 * 4
    for first in range(start, stop, ROWS):
        rows = range(first, min(first + ROWS, stop))
        for left in range(0, n_outputs, OUTPUTS):
            right = min(left + OUTPUTS, n_outputs)
            for at in range(0, in_fours, 4):
                for row in rows:
                    onto, place = sums[row, left:right], places[row]
                    p, q, r, s = parts[row, at], parts[row, at + 1], parts[row, at + 2], parts[row, at + 3]
                    below_p, slope_p = below[place[at], left:right], weight[place[at], left:right]
                    below_q, slope_q = below[place[at + 1], left:right], weight[place[at + 1], left:right]
                    below_r, slope_r = below[place[at + 2], left:right], weight[place[at + 2], left:right]
                    below_s, slope_s = below[place[at + 3], left:right], weight[place[at + 3], left:right]
                    for output in range(right - left):
                        one = (below_p[output] + p * slope_p[output]) + (
                            below_q[output] + q * slope_q[output]
                        )
                        two = (below_r[output] + r * slope_r[output]) + (
                            below_s[output] + s * slope_s[output]
                        )
                        onto[output] += one + two
            for at in range(in_fours, n_features):
                for row in rows:
                    onto, part = sums[row, left:right], parts[row, at]
                    base, slope = below[places[row, at], left:right], weight[places[row, at], left:right]
                    for output in range(right - left):
                        onto[output] += base[output] + part * slope[output]


@freely_summed
def _pull_bins(
    places: Places,
    parts: Floats,
    starts: Flags,
    pulls: Floats,
    reached: Floats,
    filled: Floats,
    first_feature: int,
    last_feature: int,
) -> None:
    """Add each row's pulls to the bins that its features reach, and by how far they fill them."""
    n_rows, n_outputs = pulls.shape
    for left in range(0, n_outputs, OUTPUTS):
        right = min(left + OUTPUTS, n_outputs)
        for at in range(first_feature, last_feature):
            for row in range(n_rows):
                place, part = places[row, at], parts[row, at]
                if part == 0 and starts[place]:  # no bin is filled
                    continue
                pull = pulls[row, left:right]
                onto_reached, onto_filled = reached[place, left:right], filled[place, left:right]
                for output in range(right - left):
                    onto_reached[output] += pull[output]
                    onto_filled[output] += part * pull[output]


@compiled
def _pull_below(reached: Floats, starts: Flags, filled: Floats) -> None:
    """Add to each bin what was pulled into the bins of its feature above it, which fill it."""
    for column in range(len(starts) - 2, -1, -1):
        if not starts[column + 1]:
            for output in range(filled.shape[1]):
                filled[column, output] += reached[column + 1, output]
                reached[column, output] += reached[column + 1, output]
