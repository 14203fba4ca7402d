"""The pairs of each query: their number, their total weight, and a table of all of them.

All pairs of different labels, or only those of adjacent classes: adjacent among the labels of the query. A
query with more than `max_pairs` pairs is represented by this many, sampled with replacement.

>>> pair_table([4, 2, 0], pairs="adjacent").lower.tolist()  # 4 is adjacent to 2, and 2 to 0
[1, 2]
>>> pair_table([4, 2, 0], max_pairs=2, seed=0).n_pairs
2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import compiled
from directranker.pairs.classes import ClassLayout, QueryClasses, group_by_label
from directranker.pairs.sampling import lower_stop, sample_pairs
from directranker.suggestions import describe_unknown_name

__all__ = [
    "PAIRS",
    "PairTable",
    "build_pair_table",
    "check_pairs",
    "count_draws",
    "pair_table",
    "resolve_seed",
    "sum_pair_weights",
]

PAIRS = ("all", "adjacent")


@dataclass(frozen=True)
class PairTable:
    """Pair p: document `higher[p]` is more relevant than document `lower[p]`, both of query `query[p]`."""

    higher: IntArray
    lower: IntArray
    query: IntArray

    @property
    def n_pairs(self) -> int:
        """The number of pairs; a pair that is sampled twice counts twice."""
        return len(self.higher)


def pair_table(
    relevance: ArrayLike,
    offsets: ArrayLike | None = None,
    *,
    pairs: str = "all",
    max_pairs: int | None = None,
    seed: int | None = None,
) -> PairTable:
    """Return all pairs, or a sample, as row indices, query by query; without offsets all rows are one query.

    >>> pair_table([1, 1]).n_pairs  # equal labels make no pair
    0
    """
    check_pairs(pairs, max_pairs)
    classes = group_by_label(relevance, offsets)
    adjacent = pairs == "adjacent"
    n_draws = count_draws(sum_pair_weights(classes, adjacent=adjacent), max_pairs)
    table = build_pair_table(classes, adjacent=adjacent, n_draws=n_draws, seed=resolve_seed(seed))
    if classes.rows is None:
        return table
    return PairTable(classes.rows[table.higher], classes.rows[table.lower], table.query)


def check_pairs(pairs: str, max_pairs: int | None) -> None:
    """Raise where `pairs` is unknown or `max_pairs` is out of range."""
    if pairs not in PAIRS:
        raise ValueError(describe_unknown_name("pairs", pairs, PAIRS))
    if max_pairs is not None and (
        isinstance(max_pairs, bool) or int(max_pairs) != max_pairs or max_pairs < 1
    ):
        raise ValueError(
            f"max_pairs is {max_pairs!r}; pass a whole number of at least 1, or None for all pairs"
        )


def sum_pair_weights(
    classes: QueryClasses, *, adjacent: bool, weight: FloatArray | None = None
) -> FloatArray:
    """Return the number of pairs of each query, or with weights Σ w_i w_j over its pairs.

    >>> sum_pair_weights(group_by_label([2, 1, 1, 0]), adjacent=False).tolist()
    [5.0]
    """
    starts = classes.layout.starts
    sizes = np.diff(starts).astype(np.float64)
    if weight is not None and len(sizes):
        sizes = np.add.reduceat(weight, starts[:-1])
    totals = np.empty(classes.n_queries)
    sum_class_products(classes.layout, sizes, adjacent, totals)
    return totals


def count_draws(n_pairs: FloatArray, max_pairs: int | None) -> IntArray:
    """Return how many pairs of each query are sampled; 0 where all are compared.

    >>> count_draws(np.array([3.0, 9.0]), 5).tolist(), count_draws(np.array([9.0]), 10**30).tolist()
    ([0, 5], [0])
    """
    if max_pairs is None:
        return np.zeros(len(n_pairs), dtype=np.int64)
    return np.where(n_pairs > max_pairs, np.int64(min(max_pairs, 2**62)), np.int64(0))


def resolve_seed(seed: int | None) -> np.uint64:
    """Return a seed as uint64; without one, a random seed from the operating system.

    >>> resolve_seed(-1)
    np.uint64(18446744073709551615)
    """
    if seed is None:
        return np.uint64(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return np.uint64(int(seed) % 2**64)


def build_pair_table(
    classes: QueryClasses, *, adjacent: bool, n_draws: IntArray, seed: np.uint64
) -> PairTable:
    """Return the pairs as positions in label order, given the result of `count_draws`."""
    n_all = sum_pair_weights(classes, adjacent=adjacent).astype(np.int64)
    counts = np.where(n_draws > 0, n_draws, n_all)
    ends = np.cumsum(counts)
    n_pairs = int(counts.sum())
    higher, lower = np.empty(n_pairs, dtype=np.int64), np.empty(n_pairs, dtype=np.int64)
    write_pairs(classes.layout, adjacent, n_draws, seed, ends, higher, lower)
    return PairTable(higher, lower, np.repeat(np.arange(len(counts)), counts))


@compiled
def sum_class_products(layout: ClassLayout, sizes: FloatArray, adjacent: int, totals: FloatArray) -> None:
    """Sum each class's size times the size of the classes that it is compared with, from the lowest up."""
    for query in range(len(totals)):
        below, total = 0.0, 0.0
        for c in range(layout.first[query + 1] - 1, layout.first[query] - 1, -1):
            total += sizes[c] * below
            below = sizes[c] if adjacent else below + sizes[c]
        totals[query] = total


@compiled
def write_pairs(
    layout: ClassLayout,
    adjacent: int,
    n_draws: IntArray,
    seed: np.uint64,
    ends: IntArray,
    higher: IntArray,
    lower: IntArray,
) -> None:
    """Write the pairs of query q so that they end at `ends[q]`."""
    pair = 0
    for query in range(len(n_draws)):
        if n_draws[query] > 0:
            sample_pairs(layout, query, adjacent, seed, higher[pair : ends[query]], lower[pair : ends[query]])
            pair = ends[query]
            continue
        for upper in range(layout.first[query], layout.first[query + 1] - 1):
            begin, stop = layout.starts[upper + 1], lower_stop(layout, query, upper, adjacent)
            for i in range(layout.starts[upper], begin):
                for j in range(begin, stop):
                    higher[pair], lower[pair] = i, j
                    pair += 1
