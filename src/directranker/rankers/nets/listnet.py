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
    """ListNet: the same net and training as the DirectRanker, with a cost of whole lists."""

    __init__ = with_defaults(
        DirectRanker.__init__,
        cost="listnet",
        hidden_layers=(32,),
        patience=10,
        dropout=0.3,
        teacher=None,
        transform="standard",
    )
