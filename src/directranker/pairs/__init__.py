"""Document pairs and their weights.

A pair is two documents of one query with different labels, the more relevant one first. The reverse pair adds
nothing, since r(x, y) = −r(y, x), and documents with equal labels have no order. These are advantages (i) and
(iii) of the DirectRanker paper; (ii), that adjacent classes are enough, is the option `pairs="adjacent"`.

>>> table = pair_table([2, 0, 1, 1, 0], offsets=[0, 3, 5])
>>> list(zip(table.higher.tolist(), table.lower.tolist(), strict=True))
[(0, 2), (0, 1), (2, 1), (3, 4)]
>>> table = pair_table([2, 0, 1, 1, 0], offsets=[0, 3, 5], pairs="adjacent")
>>> list(zip(table.higher.tolist(), table.lower.tolist(), strict=True))
[(0, 2), (2, 1), (3, 4)]
"""

from directranker.pairs.classes import QueryClasses, group_by_label
from directranker.pairs.pair_table import PAIRS, PairTable, pair_table
from directranker.pairs.weights import PAIR_WEIGHTS, PairWeight, parse_pair_weight

__all__ = [
    "PAIRS",
    "PAIR_WEIGHTS",
    "PairTable",
    "PairWeight",
    "QueryClasses",
    "group_by_label",
    "pair_table",
    "parse_pair_weight",
]
