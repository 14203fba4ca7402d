"""Checks of the order laws, and the DirectRanker paper's existence proofs as code.

`check_order` checks the laws of any comparison on given points. `construct_scores` and `DiscreteOrder`
construct a g for any order on a discrete set, `bump_extension` makes it continuous (Theorem 3), and
`distance_construction` constructs one on a convex set (Theorem 4). In each case x ⪰ y exactly if g(x) ≥ g(y),
which `find_misrepresented_pair` checks.

>>> at_least = lambda x, y: (len(x), x) >= (len(y), y)
>>> fruits = ["pear", "fig", "plum", "apple"]
>>> check_order(at_least, fruits).is_order
True
>>> scores = construct_scores(fruits, at_least)
>>> [str(score) for score in scores]
['0', '-1', '1', '2']
>>> find_misrepresented_pair(scores, fruits, at_least) is None
True
"""

from directranker.order.convex import distance_construction
from directranker.order.discrete import BUMP_NARROWNESS, DiscreteOrder, bump_extension, construct_scores
from directranker.order.laws import (
    OrderReport,
    Violation,
    check_comparisons,
    check_order,
    find_misrepresented_pair,
    sort_by_comparator,
)
from directranker.order.relations import comparison_matrix

__all__ = [
    "BUMP_NARROWNESS",
    "DiscreteOrder",
    "OrderReport",
    "Violation",
    "bump_extension",
    "check_comparisons",
    "check_order",
    "comparison_matrix",
    "construct_scores",
    "distance_construction",
    "find_misrepresented_pair",
    "sort_by_comparator",
]
