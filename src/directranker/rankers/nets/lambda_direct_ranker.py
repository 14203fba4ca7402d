"""The DirectRanker with LambdaRank's weights, as the paper's outlook suggests.

Each pair counts by how much the metric would change if the two documents swapped places.

>>> LambdaDirectRanker().pair_weight
'delta_ndcg@10'
"""

from __future__ import annotations

from directranker.rankers.defaults import with_defaults
from directranker.rankers.nets.direct_ranker import DirectRanker

__all__ = ["LambdaDirectRanker"]


class LambdaDirectRanker(DirectRanker):
    """A DirectRanker whose pairs weigh |ΔNDCG@10|, or |ΔMAP| with `pair_weight="delta_map"`."""

    __init__ = with_defaults(DirectRanker.__init__, pair_weight="delta_ndcg@10", teacher=None)
