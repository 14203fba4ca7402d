"""RankNet: a DirectRanker with τ(x) = tanh(x/2), cross-entropy and gradient descent.

Burges et al., Learning to Rank using Gradient Descent, 2005. With P = (1 + r)/2 = 1/(1 + e^−o) the cost
−log P is RankNet's cost of a pair of different labels.

>>> RankNet().head_activation, RankNet().cost, RankNet().optimizer
('half_tanh', 'cross_entropy', 'sgd')
"""

from __future__ import annotations

from directranker.rankers.defaults import with_defaults
from directranker.rankers.nets.direct_ranker import DirectRanker

__all__ = ["RankNet"]


class RankNet(DirectRanker):
    """RankNet: one hidden layer, cross-entropy over all pairs, gradient descent with momentum.

    The parameters are those of `DirectRanker`, with other defaults: `cost="cross_entropy"`, `optimizer="sgd"`
    with `learning_rate=0.05` and `momentum=0.9`, `weight_decay=1e-4`, `reduction="queries"`, one hidden layer
    of 32 tanh units, no dropout, `patience=10`, standardised features and no teacher.
    """

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
