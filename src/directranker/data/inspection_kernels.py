"""Compiled kernels of inspection: equal rows and columns, and agreement of a feature's order with the label.

>>> scan = scan_features(np.array([[1, np.nan], [1, 2]], dtype=np.float32))
>>> scan.n_missing.tolist(), scan.varies.tolist()
([0, 1], [False, True])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import BoolArray, Features, IntArray
from directranker.compilation import compiled, get_n_threads, run_in_parallel, split_evenly

__all__ = [
    "Agreement",
    "Scan",
    "compare_rows",
    "count_column_agreement",
    "find_first_equal",
    "scan_features",
    "view_as_bits",
]

Bits: TypeAlias = NDArray[np.uint32]
Hashes: TypeAlias = NDArray[np.uint64]

MIN_LEAKED_PAIRS = 100
PAIRS_PER_EXCEPTION = 100  # a leaking feature has at most one exception in this many pairs
MAX_CHANCE_PROBABILITY = 1e-6  # of the event that any of the features orders all pairs by chance


class Scan(NamedTuple):
    """Statistics of each column, and hashes of columns and rows, from one pass over the features."""

    n_missing: IntArray
    n_infinite: IntArray
    varies: BoolArray
    column_hashes: Hashes
    row_hashes: Hashes


def view_as_bits(features: Features) -> Bits:
    """View features as integers, which kernels compare and hash.

    >>> view_as_bits(np.array([[1.0]], dtype=np.float32)).tolist() == [[0x3F800000]]
    True
    """
    return features.view(np.uint32)


def scan_features(features: Features) -> Scan:
    """Scan all features once, on all cores.

    >>> scan_features(np.array([[np.inf], [0]], dtype=np.float32)).n_infinite.tolist()
    [1]
    """
    n_rows, n_columns = features.shape
    # Hash Σ bits · salt mod 2⁶⁴: sums of blocks add up, and a collision only costs a comparison.
    salts = np.random.default_rng(0).integers(2**64, size=max(n_rows, n_columns), dtype=np.uint64)
    row_hashes = np.empty(n_rows, dtype=np.uint64)
    blocks = run_in_parallel(
        lambda start, stop: _scan_rows(view_as_bits(features), salts, start, stop, row_hashes),
        split_evenly(n_rows, get_n_threads()),
    )
    missing, infinite, varies, hashes = (np.stack(block).sum(axis=0) for block in zip(*blocks, strict=True))
    return Scan(missing, infinite, varies > 0, hashes, row_hashes)


def find_first_equal(
    groups: IntArray, hashes: Hashes, equal: Callable[[IntArray, IntArray], BoolArray]
) -> IntArray:
    """Return for each item the first item of its group that is equal to it, which may be itself.

    >>> hashes = np.array([5, 7, 5], dtype=np.uint64)
    >>> find_first_equal(np.zeros(3, dtype=np.int64), hashes, lambda one, other: one < 9).tolist()
    [0, 1, 0]
    """
    first = np.arange(len(groups))
    pending = np.lexsort((hashes, groups))
    while len(pending):  # one iteration, unless unequal items have equal hashes
        group, item_hash = groups[pending], hashes[pending]
        is_start = np.append(True, (group[1:] != group[:-1]) | (item_hash[1:] != item_hash[:-1]))
        start = pending[is_start][np.cumsum(is_start) - 1]
        later, start = pending[~is_start], start[~is_start]
        is_equal = equal(later, start)
        first[later[is_equal]] = start[is_equal]
        pending = later[~is_equal]
    return first


def compare_rows(bits: Bits, ones: IntArray, others: IntArray) -> BoolArray:
    """Whether row `ones[i]` equals row `others[i]`, with 0 = -0 and NaN = NaN.

    >>> bits = view_as_bits(np.array([[0, np.nan], [-0.0, np.nan], [1, 1]], dtype=np.float32))
    >>> compare_rows(bits, np.array([1, 2]), np.array([0, 0])).tolist()
    [True, False]
    """
    blocks = run_in_parallel(
        lambda start, stop: _compare_rows(bits, ones[start:stop], others[start:stop]),
        split_evenly(len(ones), get_n_threads()),
    )
    return np.concatenate(blocks)


_MAGNITUDE = np.uint32(0x7FFFFFFF)
_INFINITY = np.uint32(0x7F800000)
_NAN = np.uint32(0x7FC00000)


@compiled
def _canonicalise(bits: np.uint32) -> np.uint32:
    """Map all NaNs to one bit pattern, and -0 to 0, so that equal values have equal bits."""
    magnitude = bits & _MAGNITUDE
    if magnitude > _INFINITY:
        return _NAN
    return bits if magnitude else magnitude


@compiled
def _scan_rows(
    bits: Bits, salts: Hashes, start: int, stop: int, row_hashes: Hashes
) -> tuple[IntArray, IntArray, IntArray, Hashes]:
    n_columns = bits.shape[1]
    n_missing = np.zeros(n_columns, dtype=np.int64)
    n_infinite = np.zeros(n_columns, dtype=np.int64)
    n_unlike_first = np.zeros(n_columns, dtype=np.int64)
    hashes = np.zeros(n_columns, dtype=np.uint64)
    for row in range(start, stop):
        row_hash = np.uint64(0)
        for column in range(n_columns):
            value = _canonicalise(bits[row, column])
            n_missing[column] += value == _NAN
            n_infinite[column] += (value & _MAGNITUDE) == _INFINITY
            n_unlike_first[column] += value != _canonicalise(bits[0, column])
            hashes[column] += np.uint64(value) * salts[row]
            row_hash += np.uint64(value) * salts[column]
        row_hashes[row] = row_hash
    return n_missing, n_infinite, n_unlike_first, hashes


@compiled
def _compare_rows(bits: Bits, ones: IntArray, others: IntArray) -> BoolArray:
    equal = np.ones(len(ones), dtype=np.bool_)
    for pair in range(len(ones)):
        for column in range(bits.shape[1]):
            if _canonicalise(bits[ones[pair], column]) != _canonicalise(bits[others[pair], column]):
                equal[pair] = False
                break
    return equal


class Agreement(NamedTuple):
    """Numbers of pairs that a feature orders like the label and unlike it; a tie counts half for each."""

    like: float
    unlike: float
    surprise: float
    """-log of the probability that a random order of all documents agrees with the label."""

    @property
    def n_pairs(self) -> float:
        """The number of pairs with different labels."""
        return self.like + self.unlike

    @property
    def exceptions(self) -> float:
        """The fraction of pairs that are ordered unlike the majority."""
        return min(self.like, self.unlike) / self.n_pairs

    def is_leak(self, n_features: int) -> bool:
        """Whether the order is that of the label, and unlikely by chance among this many features."""
        return (
            self.n_pairs >= MIN_LEAKED_PAIRS
            and min(self.like, self.unlike) * PAIRS_PER_EXCEPTION <= self.n_pairs
            and self.surprise >= np.log(n_features / MAX_CHANCE_PROBABILITY)
        )

    def __str__(self) -> str:
        suffix = ", reversed" if self.unlike > self.like else ""
        return f"{100 * (1 - self.exceptions):.1f} % of {self.n_pairs:.0f} pairs{suffix}"


@compiled
def count_column_agreement(
    column: Features, codes: IntArray, offsets: IntArray, missing_is_lowest: bool, max_pairs: float
) -> tuple[float, float, float]:
    """Sum the agreement over the queries; stop when neither 99 % nor 1 % of `max_pairs` can be reached."""
    tree = np.zeros(codes.max() + 2, dtype=np.int64)
    like, unlike, surprise = 0.0, 0.0, 0.0
    for query in range(len(offsets) - 1):
        rows = slice(offsets[query], offsets[query + 1])
        values, labels = column[rows].copy(), codes[rows]
        known = ~np.isnan(values)
        if missing_is_lowest:
            values[~known] = -np.inf
        else:
            values, labels = values[known], labels[known]
        query_like, query_unlike, query_surprise = _count_query_agreement(values, labels, tree)
        like, unlike, surprise = like + query_like, unlike + query_unlike, surprise + query_surprise
        if min(like, unlike) * PAIRS_PER_EXCEPTION > max_pairs:
            break
    return like, unlike, surprise


@compiled
def _count_query_agreement(values: Features, codes: IntArray, tree: IntArray) -> tuple[float, float, float]:
    """Count pairs in ascending order of the values, with a Fenwick tree of the labels seen so far."""
    order = np.argsort(values, kind="mergesort")
    n_pairs, n_like, n_unlike, surprise = 0, 0, 0, 0.0
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and values[order[stop]] == values[order[start]]:
            code = codes[order[stop]]
            n_like += _count_below(tree, code)
            n_unlike += start - _count_below(tree, code + 1)
            stop += 1
        for rank in range(start, stop):
            code = codes[order[rank]]
            n_same = _count_below(tree, code + 1) - _count_below(tree, code)
            n_pairs += rank - n_same
            surprise += np.log((rank + 1) / (n_same + 1))
            _add(tree, code, 1)
        start = stop
    for code in codes:
        _add(tree, code, -1)
    n_tied = n_pairs - n_like - n_unlike
    return n_like + n_tied / 2, n_unlike + n_tied / 2, surprise


@compiled
def _count_below(tree: IntArray, code: int) -> int:
    total = 0
    while code > 0:
        total += tree[code]
        code -= code & -code
    return total


@compiled
def _add(tree: IntArray, code: int, amount: int) -> None:
    node = code + 1
    while node < len(tree):
        tree[node] += amount
        node += node & -node
