"""Which documents meet, and how much each meeting counts.

A pair is two documents of one query with different labels, the more relevant one first: r(x, y) = −r(y, x),
so the other way round would teach the same, and equal labels have no order to teach. These are advantages
(i) and (iii) of the DirectRanker paper; (ii), that neighbouring classes are enough, is an option.

>>> table = pair_table([2, 0, 1, 1, 0], offsets=[0, 3, 5])
>>> list(zip(table.more.tolist(), table.less.tolist(), strict=True))
[(0, 2), (0, 1), (2, 1), (3, 4)]
>>> table = pair_table([2, 0, 1, 1, 0], offsets=[0, 3, 5], pairs="adjacent")
>>> list(zip(table.more.tolist(), table.less.tolist(), strict=True))
[(0, 2), (2, 1), (3, 4)]
"""

from directranker.pairs.classes import QueryClasses, classes_of
from directranker.pairs.pair_table import PAIRS, PairTable, pair_table
from directranker.pairs.weights import PAIR_WEIGHTS, PairWeight, pair_weight_named

__all__ = [
    "PAIRS",
    "PAIR_WEIGHTS",
    "PairTable",
    "PairWeight",
    "QueryClasses",
    "classes_of",
    "pair_table",
    "pair_weight_named",
]
