"""Which pairs of a query are compared, how many there are, and all of them as a table.

All pairs of different labels, or those of neighbouring classes: neighbours among the labels that the query
has. `max_pairs` caps a query: where it has more pairs, so many are drawn with replacement.

>>> pair_table([4, 2, 0], pairs="adjacent").less.tolist()  # of 4 the neighbour is 2, of 2 it is 0
[1, 2]
>>> pair_table([4, 2, 0], max_pairs=2, seed=0).n_pairs
2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.metrics.sorting import FloatArray
from directranker.pairs.classes import Layout, QueryClasses, classes_of
from directranker.pairs.sampling import lower_stop, sample_pairs
from directranker.suggestions import describe_unknown_name

__all__ = [
    "PAIRS",
    "PairTable",
    "check_pairs",
    "draws_per_query",
    "pair_table",
    "pair_totals",
    "random_seed",
    "table_of_places",
]

PAIRS = ("all", "adjacent")


@dataclass(frozen=True)
class PairTable:
    """Pair p: document `more[p]` is more relevant than document `less[p]`, both of query `query[p]`."""

    more: IntArray
    less: IntArray
    query: IntArray

    @property
    def n_pairs(self) -> int:
        """How many pairs there are; drawn ones count as often as they were drawn."""
        return len(self.more)


def pair_table(
    relevance: ArrayLike,
    offsets: ArrayLike | None = None,
    *,
    pairs: str = "all",
    max_pairs: int | None = None,
    seed: int | None = None,
) -> PairTable:
    """All pairs, or those drawn, as row numbers, query by query; without offsets all rows are one list.

    >>> pair_table([1, 1]).n_pairs  # equal labels never meet
    0
    """
    check_pairs(pairs, max_pairs)
    classes = classes_of(relevance, offsets)
    neighbours = pairs == "adjacent"
    draws = draws_per_query(pair_totals(classes, neighbours=neighbours), max_pairs)
    table = table_of_places(classes, neighbours=neighbours, draws=draws, seed=random_seed(seed))
    if classes.rows is None:
        return table
    return PairTable(classes.rows[table.more], classes.rows[table.less], table.query)


def check_pairs(pairs: str, max_pairs: int | None) -> None:
    """Raise where the words that choose pairs are unknown or out of range."""
    if pairs not in PAIRS:
        raise ValueError(describe_unknown_name("pairs", pairs, PAIRS))
    if max_pairs is not None and (
        isinstance(max_pairs, bool) or int(max_pairs) != max_pairs or max_pairs < 1
    ):
        raise ValueError(f"max_pairs is {max_pairs!r}; give a whole number from 1 on, or None for all pairs")


def pair_totals(classes: QueryClasses, *, neighbours: bool, weight: FloatArray | None = None) -> FloatArray:
    """How many pairs each query has, or the sum of their weights, a pair's being its documents' product.

    >>> pair_totals(classes_of([2, 1, 1, 0]), neighbours=False).tolist()
    [5.0]
    """
    starts = classes.layout.starts
    sizes = np.diff(starts).astype(np.float64)
    if weight is not None and len(sizes):
        sizes = np.add.reduceat(weight, starts[:-1])
    totals = np.empty(classes.n_queries)
    sum_pairs(classes.layout, sizes, neighbours, totals)
    return totals


def draws_per_query(n_pairs: FloatArray, max_pairs: int | None) -> IntArray:
    """How many pairs of each query are drawn; 0 where all are compared.

    >>> draws_per_query(np.array([3.0, 9.0]), 5).tolist(), draws_per_query(np.array([9.0]), 10**30).tolist()
    ([0, 5], [0])
    """
    if max_pairs is None:
        return np.zeros(len(n_pairs), dtype=np.int64)
    return np.where(n_pairs > max_pairs, np.int64(min(max_pairs, 2**62)), np.int64(0))


def random_seed(seed: int | None) -> np.uint64:
    """A seed for drawing; without one, from the operating system.

    >>> random_seed(-1)
    np.uint64(18446744073709551615)
    """
    if seed is None:
        return np.uint64(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return np.uint64(int(seed) % 2**64)


def table_of_places(
    classes: QueryClasses, *, neighbours: bool, draws: IntArray, seed: np.uint64
) -> PairTable:
    """The pairs by places, see `QueryClasses`; with `draws` as `draws_per_query` gives them."""
    every = pair_totals(classes, neighbours=neighbours).astype(np.int64)
    counts = np.where(draws > 0, draws, every)
    ends = np.cumsum(counts)
    n_pairs = int(counts.sum())
    more, less = np.empty(n_pairs, dtype=np.int64), np.empty(n_pairs, dtype=np.int64)
    list_pairs(classes.layout, neighbours, draws, seed, ends, more, less)
    return PairTable(more, less, np.repeat(np.arange(len(counts)), counts))


@compiled
def sum_pairs(layout: Layout, sizes: FloatArray, neighbours: int, totals: FloatArray) -> None:
    """Sum each class's size times the size of what it meets, from the lowest class up."""
    for query in range(len(totals)):
        below, total = 0.0, 0.0
        for c in range(layout.first[query + 1] - 1, layout.first[query] - 1, -1):
            total += sizes[c] * below
            below = sizes[c] if neighbours else below + sizes[c]
        totals[query] = total


@compiled
def list_pairs(
    layout: Layout,
    neighbours: int,
    draws: IntArray,
    seed: np.uint64,
    ends: IntArray,
    more: IntArray,
    less: IntArray,
) -> None:
    """Write the pairs of query q so that they end at `ends[q]`."""
    at = 0
    for query in range(len(draws)):
        if draws[query] > 0:
            sample_pairs(layout, query, neighbours, seed, more[at : ends[query]], less[at : ends[query]])
            at = ends[query]
            continue
        for upper in range(layout.first[query], layout.first[query + 1] - 1):
            begin, stop = layout.starts[upper + 1], lower_stop(layout, query, upper, neighbours)
            for high in range(layout.starts[upper], begin):
                for low in range(begin, stop):
                    more[at], less[at] = high, low
                    at += 1
