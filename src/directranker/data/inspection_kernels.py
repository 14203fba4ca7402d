"""What inspection needs to know of large arrays: equal rows and columns, and order like the label.

>>> scan = scan_features(np.array([[1, np.nan], [1, 2]], dtype=np.float32))
>>> scan.n_missing.tolist(), scan.varies.tolist()
([0, 1], [False, True])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features, IntArray
from directranker.compilation import compiled, even_cuts, in_parallel, n_threads

__all__ = [
    "Agreement",
    "Scan",
    "bit_patterns",
    "column_agreement",
    "equal_rows",
    "first_equal",
    "scan_features",
]

Mask: TypeAlias = NDArray[np.bool_]
Bits: TypeAlias = NDArray[np.uint32]
Hashes: TypeAlias = NDArray[np.uint64]

MIN_LEAKED_PAIRS = 100
ONE_PAIR_IN = 100  # a leaking feature orders at most one pair in so many unlike the others
CHANCE_OF_NO_LEAK = 1e-6  # how probable it may be that any of the features orders all pairs by luck


class Scan(NamedTuple):
    """What one pass over the features tells of each column and each row."""

    n_missing: IntArray
    n_infinite: IntArray
    varies: Mask
    column_hashes: Hashes
    row_hashes: Hashes


def bit_patterns(features: Features) -> Bits:
    """The same memory as integers, which kernels compare and hash.

    >>> bit_patterns(np.array([[1.0]], dtype=np.float32)).tolist() == [[0x3F800000]]
    True
    """
    return features.view(np.uint32)


def scan_features(features: Features) -> Scan:
    """Read all features once, on all cores.

    >>> scan_features(np.array([[np.inf], [0]], dtype=np.float32)).n_infinite.tolist()
    [1]
    """
    n_rows, n_columns = features.shape
    # Σ bits · salt mod 2⁶⁴: sums of blocks add up, and a collision costs no more than a comparison.
    salts = np.random.default_rng(0).integers(2**64, size=max(n_rows, n_columns), dtype=np.uint64)
    row_hashes = np.empty(n_rows, dtype=np.uint64)
    blocks = in_parallel(
        lambda start, stop: _scan_rows(bit_patterns(features), salts, start, stop, row_hashes),
        even_cuts(n_rows, n_threads()),
    )
    missing, infinite, varies, hashes = (np.stack(block).sum(axis=0) for block in zip(*blocks, strict=True))
    return Scan(missing, infinite, varies > 0, hashes, row_hashes)


def first_equal(groups: IntArray, hashes: Hashes, equal: Callable[[IntArray, IntArray], Mask]) -> IntArray:
    """For each item the first item of its group that is equal to it, which may be itself.

    >>> hashes = np.array([5, 7, 5], dtype=np.uint64)
    >>> first_equal(np.zeros(3, dtype=np.int64), hashes, lambda one, other: one < 9).tolist()
    [0, 1, 0]
    """
    first = np.arange(len(groups))
    todo = np.lexsort((hashes, groups))
    while len(todo):  # once, unless unequal items have equal hashes
        key, salt = groups[todo], hashes[todo]
        is_start = np.append(True, (key[1:] != key[:-1]) | (salt[1:] != salt[:-1]))
        start = todo[is_start][np.cumsum(is_start) - 1]
        later, start = todo[~is_start], start[~is_start]
        same = equal(later, start)
        first[later[same]] = start[same]
        todo = later[~same]
    return first


def equal_rows(bits: Bits, ones: IntArray, others: IntArray) -> Mask:
    """Whether row `ones[i]` holds the values of row `others[i]`, with 0 = -0 and NaN = NaN.

    >>> bits = bit_patterns(np.array([[0, np.nan], [-0.0, np.nan], [1, 1]], dtype=np.float32))
    >>> equal_rows(bits, np.array([1, 2]), np.array([0, 0])).tolist()
    [True, False]
    """
    blocks = in_parallel(
        lambda start, stop: _compare_rows(bits, ones[start:stop], others[start:stop]),
        even_cuts(len(ones), n_threads()),
    )
    return np.concatenate(blocks)


_MAGNITUDE = np.uint32(0x7FFFFFFF)
_INFINITY = np.uint32(0x7F800000)
_NAN = np.uint32(0x7FC00000)


@compiled
def _canonical(bits: Any) -> Any:
    """One pattern for all NaNs, and one for 0 and -0, so that equal values have equal bits."""
    magnitude = bits & _MAGNITUDE
    if magnitude > _INFINITY:
        return _NAN
    return bits if magnitude else magnitude


@compiled
def _scan_rows(bits: Bits, salts: Hashes, start: int, stop: int, row_hashes: Hashes) -> Any:
    n_columns = bits.shape[1]
    n_missing = np.zeros(n_columns, dtype=np.int64)
    n_infinite = np.zeros(n_columns, dtype=np.int64)
    n_unlike_first = np.zeros(n_columns, dtype=np.int64)
    hashes = np.zeros(n_columns, dtype=np.uint64)
    for row in range(start, stop):
        row_hash = np.uint64(0)
        for column in range(n_columns):
            value = _canonical(bits[row, column])
            n_missing[column] += value == _NAN
            n_infinite[column] += (value & _MAGNITUDE) == _INFINITY
            n_unlike_first[column] += value != _canonical(bits[0, column])
            hashes[column] += np.uint64(value) * salts[row]
            row_hash += np.uint64(value) * salts[column]
        row_hashes[row] = row_hash
    return n_missing, n_infinite, n_unlike_first, hashes


@compiled
def _compare_rows(bits: Bits, ones: IntArray, others: IntArray) -> Mask:
    equal = np.ones(len(ones), dtype=np.bool_)
    for pair in range(len(ones)):
        for column in range(bits.shape[1]):
            if _canonical(bits[ones[pair], column]) != _canonical(bits[others[pair], column]):
                equal[pair] = False
                break
    return equal


class Agreement(NamedTuple):
    """Pairs of different labels that a feature orders like the label and unlike it, ties half each."""

    like: float
    unlike: float
    surprise: float
    """-log of the probability that a random order of all documents is right."""

    @property
    def n_pairs(self) -> float:
        """All pairs that were counted."""
        return self.like + self.unlike

    @property
    def exceptions(self) -> float:
        """The share of pairs that are not ordered as most are."""
        return min(self.like, self.unlike) / self.n_pairs

    def is_leak(self, n_features: int) -> bool:
        """Whether the order is that of the label, and luck among so many features no explanation."""
        return (
            self.n_pairs >= MIN_LEAKED_PAIRS
            and min(self.like, self.unlike) * ONE_PAIR_IN <= self.n_pairs
            and self.surprise >= np.log(n_features / CHANCE_OF_NO_LEAK)
        )

    def __str__(self) -> str:
        reversed_ = ", reversed" if self.unlike > self.like else ""
        return f"{100 * (1 - self.exceptions):.1f} % of {self.n_pairs:.0f} pairs{reversed_}"


@compiled
def column_agreement(
    column: Features, codes: IntArray, offsets: IntArray, missing_is_lowest: bool, ceiling: float
) -> Any:
    """Sum the agreement over the queries, until neither 99 % nor 1 % of `ceiling` pairs can be reached."""
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
        one, two, three = _query_agreement(values, labels, tree)
        like, unlike, surprise = like + one, unlike + two, surprise + three
        if min(like, unlike) * ONE_PAIR_IN > ceiling:
            break
    return like, unlike, surprise


@compiled
def _query_agreement(values: Features, codes: IntArray, tree: IntArray) -> Any:
    """Count pairs by going up the values, with a Fenwick tree of how often each label was below."""
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
        for place in range(start, stop):
            code = codes[order[place]]
            n_same = _count_below(tree, code + 1) - _count_below(tree, code)
            n_pairs += place - n_same
            surprise += np.log((place + 1) / (n_same + 1))
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
