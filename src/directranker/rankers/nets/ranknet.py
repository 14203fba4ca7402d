"""RankNet as the paper sees it: a DirectRanker with τ(x) = tanh(x/2), cross-entropy and gradient descent.

Burges et al., Learning to Rank using Gradient Descent, 2005. With P = (1 + r)/2 = 1/(1 + e^−o) the cost
−log P of a pair is RankNet's own for a pair whose order is known.

>>> RankNet().head_activation, RankNet().cost, RankNet().optimizer
('half_tanh', 'cross_entropy', 'sgd')
"""

from __future__ import annotations

from directranker.rankers.defaults import with_defaults
from directranker.rankers.nets.direct_ranker import DirectRanker

__all__ = ["RankNet"]


class RankNet(DirectRanker):
    """RankNet: one hidden layer, cross-entropy over all pairs, gradient descent with momentum."""

    __init__ = with_defaults(
        DirectRanker.__init__,
        head_activation="half_tanh",
        cost="cross_entropy",
        optimizer="sgd",
        learning_rate=0.05,
        momentum=0.9,
        hidden_layers=(32,),
        reduction="queries",
        patience=10,
        activation="tanh",
        dropout=0.0,
        teacher=None,
        transform="standard",
        weight_decay=1e-4,
    )
