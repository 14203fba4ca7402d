"""Scores and comparisons of the whole net."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from directranker.nn import DirectRankerNet, RankingHead


def test_scores_are_the_head_applied_to_f() -> None:
    net = DirectRankerNet.build((3,), hidden_layers=(6,), random_state=0)
    X = torch.randn(9, 3)
    assert torch.equal(net(X), net.feature_net(X) @ net.head.weight)


def test_equal_documents_have_equal_scores_at_any_index() -> None:
    net = DirectRankerNet.build((136,), hidden_layers=(37,), random_state=0).eval()
    X = torch.randn(101, 136)
    twice = torch.cat([X, X.flip(0)])
    scores = net.score_distinct(twice)
    assert torch.equal(scores[:101], scores[101:].flip(0))
    assert torch.allclose(scores, net(twice), atol=1e-6)


def test_documents_with_nan_equal_themselves() -> None:
    class ZeroForNaN(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.nan_to_num(x)

    net = DirectRankerNet(ZeroForNaN(), RankingHead(2))
    X = torch.tensor([[torch.nan, 1.0], [0.0, 2.0], [torch.nan, torch.nan]])
    assert net.compare(X, X.clone()).tolist() == [0.0, 0.0, 0.0]


def test_minus_zero_equals_zero() -> None:
    net = DirectRankerNet.build((136,), hidden_layers=(37,), random_state=0).eval()
    X = torch.randn(101, 136, generator=torch.Generator().manual_seed(0))
    X[:, ::2] = 0.0
    Y = X.clone()
    Y[:, ::2] = -0.0
    assert net.compare(X, Y).abs().max() == 0


def test_dropout_does_not_make_a_document_differ_from_itself() -> None:
    net = DirectRankerNet.build((3,), hidden_layers=(50,), dropout=0.5, random_state=0).train()
    X = torch.randn(20, 3)
    assert net.compare(X, X).abs().max() == 0


def test_comparison_has_gradients_for_all_parameters() -> None:
    net = DirectRankerNet.build((3,), hidden_layers=(5,), activation="tanh", random_state=0)
    X = torch.randn(4, 3, requires_grad=True)
    torch.autograd.backward(net.compare(X, torch.zeros(4, 3)).sum())
    assert X.grad is not None
    assert all(parameter.grad is not None for parameter in net.parameters())
    assert (X.grad.abs().sum(1) > 0).all()


def test_empty_batches_and_batches_of_different_length() -> None:
    net = DirectRankerNet.build((3,))
    assert net.compare(torch.zeros(0, 3), torch.zeros(0, 3)).shape == (0,)
    with pytest.raises(ValueError, match=r"X has shape \(2, 3\) and Y \(1, 3\)"):
        net.compare(torch.zeros(2, 3), torch.zeros(1, 3))


def test_state_dict_has_readable_names() -> None:
    net = DirectRankerNet.build((3,), hidden_layers=(5,))
    assert list(net.state_dict()) == [
        "feature_net.linear_1.weight",
        "feature_net.linear_1.bias",
        "head.weight",
    ]
