"""The DirectRanker as one torch module: a feature net f and a ranking head.

>>> net = DirectRankerNet.build((3,), hidden_layers=(8,), head_activation="tanh", random_state=0)
>>> X, Y = torch.rand(4, 3), torch.rand(4, 3)
>>> net(X).shape
torch.Size([4])
>>> torch.equal(net.compare(X, Y), -net.compare(Y, X)), net.compare(X, X).tolist()
(True, [0.0, 0.0, 0.0, 0.0])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import torch
from torch import Tensor, nn

from directranker.nn.feature_nets import FeatureNet, build_feature_net, seeded
from directranker.nn.odd_activations import Activation
from directranker.nn.perceptron import MlpOptions
from directranker.nn.ranking_head import RankingHead

__all__ = ["DirectRankerNet"]

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class DirectRankerNet(nn.Module):
    """A feature net and a head: `net(X)` returns scores g, `net.compare(X, Y)` returns r row by row.

    In evaluation mode a document's score depends on the document alone, so r is an order. In training mode
    batch normalisation couples the documents of a batch and dropout makes f random: r is then an order
    within each single call of `compare`, but not from call to call.

    >>> DirectRankerNet(nn.Linear(3, 2), RankingHead(2))(torch.zeros(5, 3)).shape
    torch.Size([5])
    """

    def __init__(self, feature_net: nn.Module, head: RankingHead) -> None:
        super().__init__()
        self.feature_net = feature_net
        self.head = head

    @classmethod
    def build(
        cls,
        input_shape: Sequence[int],
        *,
        feature_net: FeatureNet = None,
        head_activation: str | Activation = "tanh",
        random_state: int | None = None,
        **mlp_options: Unpack[MlpOptions],
    ) -> DirectRankerNet:
        """Build a net for documents of `input_shape`; see `build_feature_net` for the other arguments.

        A `random_state` makes the weights reproducible and leaves the global random state unchanged.

        >>> image_net = lambda shape: nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.ReLU(), nn.Flatten())
        >>> DirectRankerNet.build((1, 8, 8), feature_net=image_net).head
        RankingHead(n_inputs=144, activation=tanh)
        """
        if random_state is not None:
            with seeded(random_state):
                return cls.build(
                    input_shape, feature_net=feature_net, head_activation=head_activation, **mlp_options
                )
        built = build_feature_net(feature_net, input_shape, **mlp_options)
        return cls(built.module, RankingHead(built.width, head_activation))

    def forward(self, X: Tensor) -> Tensor:
        """Return scores g, one per document, (n,).

        Scores of equal documents may differ in the last bit, by the rounding of matrix products; those of
        `score_distinct` do not.
        """
        return self.head.score(self.feature_net(X))

    def score_distinct(self, X: Tensor) -> Tensor:
        """Return scores g, where each distinct document is scored once, so that equal ones agree to the bit.

        >>> net = DirectRankerNet.build((3,), random_state=0)
        >>> len(net.score_distinct(torch.rand(1, 3).repeat(1000, 1)).unique())
        1
        """
        distinct, index = _distinct_rows(X)
        scores: Tensor = self(distinct)
        return scores[index]

    def compare(self, X: Tensor, Y: Tensor) -> Tensor:
        """Return r(x, y) row by row; all laws of an order hold exactly among the pairs of one call.

        To compare across calls, score the documents once and compare the scores with `head.compare`.
        """
        if X.shape != Y.shape:
            raise ValueError(
                f"X has shape {tuple(X.shape)} and Y {tuple(Y.shape)}; pass as many documents in both"
            )
        scores = self.score_distinct(torch.cat([X, Y]))
        return self.head.compare(scores[: len(X)], scores[len(X) :])


def _distinct_rows(X: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct rows, in an order that does not depend on X's, and the index of each row of X."""
    if not X.numel():
        return X, torch.arange(len(X), device=X.device)
    # Compare bits, so that rows with NaN equal themselves; + 0 turns −0.0 into 0.0.
    bits = (X.detach() + 0).reshape(len(X), -1).view(_BITS[X.element_size()])
    index: Tensor = torch.unique(bits, dim=0, return_inverse=True)[1]
    first = torch.empty(int(index.max()) + 1, dtype=torch.long, device=X.device)
    first[index.flip(0)] = torch.arange(len(X) - 1, -1, -1, device=X.device)
    return X[first], index
