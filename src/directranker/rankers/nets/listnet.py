"""ListNet: cross-entropy between the top-one distributions of labels and of scores.

Cao et al., Learning to Rank: From Pairwise Approach to Listwise Approach, 2007.

>>> ListNet().cost
'listnet'
"""

from __future__ import annotations

from directranker.rankers.defaults import with_defaults
from directranker.rankers.nets.direct_ranker import DirectRanker

__all__ = ["ListNet"]


class ListNet(DirectRanker):
    """ListNet: the net and training of the DirectRanker with a listwise cost.

    The cost of a query is the cross-entropy between the top-one probabilities of its labels and of its
    scores. The parameters are those of `DirectRanker`, with other defaults: `cost="listnet"`, one hidden
    layer of 32 units, `dropout=0.3`, `patience=10`, standardised features and no teacher.
    """

    __init__ = with_defaults(
        DirectRanker.__init__,
        cost="listnet",
        hidden_layers=(32,),
        patience=10,
        dropout=0.3,
        teacher=None,
        transform="standard",
    )
