"""The DirectRanker with LambdaRank's weights, as the paper's outlook suggests.

The weight of a pair is the change of the metric when the two documents swap ranks.

>>> LambdaDirectRanker().pair_weight
'delta_ndcg@10'
"""

from __future__ import annotations

from directranker.rankers.defaults import with_defaults
from directranker.rankers.nets.direct_ranker import DirectRanker

__all__ = ["LambdaDirectRanker"]


class LambdaDirectRanker(DirectRanker):
    """A DirectRanker whose pairs are weighted by |ΔNDCG@10|, or by |ΔMAP| with `pair_weight="delta_map"`.

    It has the parameters of `DirectRanker`, with `pair_weight="delta_ndcg@10"` and no teacher by default.
    """

    __init__ = with_defaults(DirectRanker.__init__, pair_weight="delta_ndcg@10", teacher=None)
