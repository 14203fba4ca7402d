"""The fast pass of plain perceptrons against torch's: values, gradients, dropout, and other nets."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from directranker.nn import DirectRankerNet
from directranker.nn.activation_kernels import forward_relu_dropout, forward_tanh
from directranker.nn.training_pass import make_training_scorer


def test_tanh_has_float32_precision() -> None:
    x = np.concatenate([np.linspace(-12, 12, 100_001), [0.0, -0.0, np.inf, -np.inf]]).astype(np.float32)
    values = x.copy()
    forward_tanh(values)
    np.testing.assert_allclose(values, np.tanh(x.astype(np.float64)), rtol=0, atol=2e-7)
    assert abs(values).max() == 1
    with_nan = np.array([np.nan, 1.0], dtype=np.float32)
    forward_tanh(with_nan)
    assert np.isnan(with_nan).tolist() == [True, False]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("layers", [(4,), (70, 5), (9, 8, 7)])
def test_scores_and_gradients_match_torch(layers: tuple[int, ...], activation: str, bias: bool) -> None:
    net = DirectRankerNet.build((6,), hidden_layers=layers, activation=activation, bias=bias, random_state=0)
    X, scores_gradient = torch.randn(3000, 6), torch.randn(3000) / 3000
    fast_score = make_training_scorer(net)
    assert fast_score is not net
    both = []
    for score in (net, fast_score):
        net.zero_grad()
        scores = score(X)
        scores.backward(scores_gradient)
        both.append((scores.detach(), [parameter.grad for parameter in net.parameters()]))
    (by_torch, expected), (scores, gradients) = both
    torch.testing.assert_close(scores, by_torch, rtol=1e-5, atol=1e-6)
    assert len(gradients) == len(expected) == len(layers) * (1 + bias) + 1
    for gradient, expected_gradient in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-4, atol=1e-6)


def score_with_torch(net: DirectRankerNet, X: torch.Tensor) -> torch.Tensor:
    """Return differentiable torch scores, with the dropout masks of the kernel for torch's random keys."""
    documents = X
    for module in net.feature_net.children():
        if isinstance(module, nn.Dropout):
            keys = torch.randint(2**32, (2,)).numpy().astype(np.uint32)
            mask = np.ones(documents.numel(), dtype=np.float32)
            forward_relu_dropout(
                mask, np.uint32(round(module.p * 2**32)), np.float32(1 / (1 - module.p)), *keys
            )
            documents = documents * torch.from_numpy(mask).reshape(documents.shape)
        else:
            documents = module(documents)
    scores: torch.Tensor = net.head.score(documents)
    return scores


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_the_gradient_of_dropout_matches_its_mask(rate: float) -> None:
    net = DirectRankerNet.build((6,), hidden_layers=(30, 20), dropout=rate, random_state=0)
    X, scores_gradient = torch.randn(500, 6), torch.randn(500) / 500
    both = []
    for score in (partial(score_with_torch, net), make_training_scorer(net)):
        net.zero_grad()
        torch.manual_seed(7)
        scores = score(X)
        scores.backward(scores_gradient)  # type: ignore[no-untyped-call]
        both.append((scores.detach(), [parameter.grad for parameter in net.parameters()]))
    torch.testing.assert_close(both[0], both[1], rtol=1e-4, atol=1e-6)


def test_the_gradient_of_dropout_matches_finite_differences() -> None:
    net = DirectRankerNet.build((4,), hidden_layers=(5,), dropout=0.4, random_state=1)
    X, fast_score, step = torch.randn(20, 4), make_training_scorer(net), 1e-2

    def total() -> torch.Tensor:
        torch.manual_seed(3)
        return fast_score(X).sum()

    total().backward()  # type: ignore[no-untyped-call]
    weight = net.head.weight
    with torch.no_grad():
        for index in range(len(weight)):
            weight[index] += step
            above = total()
            weight[index] -= 2 * step
            slope = (above - total()) / (2 * step)
            weight[index] += step
            assert weight.grad is not None
            assert slope.item() == pytest.approx(weight.grad[index].item(), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_dropout_is_independent_with_the_given_rate(rate: float) -> None:
    def make_mask(key: int, other_key: int) -> np.ndarray:
        values = np.ones(1_000_000, dtype=np.float32)
        dropped, factor = np.uint32(round(rate * 2**32)), np.float32(1 / (1 - rate))
        forward_relu_dropout(values, dropped, factor, np.uint32(key), np.uint32(other_key))
        assert set(np.unique(values)) <= {0.0, factor}
        return values > 0

    mask = make_mask(1, 2)
    tol = 5 * 0.5 / 1000  # five standard errors at most
    assert mask.mean() == pytest.approx(1 - rate, abs=tol)
    for other in (make_mask(2, 2), make_mask(1, 3), make_mask(123_456_789, 987_654_321)):
        assert (mask & other).mean() == pytest.approx((1 - rate) ** 2, abs=tol)
    for shift in (1, 2, 3, 64, 70, 128, 256, 1024):  # neighbours, and the same neuron of other documents
        assert (mask[shift:] & mask[:-shift]).mean() == pytest.approx((1 - rate) ** 2, abs=tol)


def test_dropout_keeps_nan() -> None:
    dropped = np.full(100, np.nan, dtype=np.float32)
    forward_relu_dropout(dropped, np.uint32(2**31), np.float32(2), np.uint32(0), np.uint32(0))
    assert np.isnan(dropped).all()


def test_batches_of_different_sizes_reuse_the_workspace() -> None:
    net = DirectRankerNet.build((6,), hidden_layers=(8, 4), dropout=0.0, random_state=0)
    fast_score = make_training_scorer(net)
    for n_rows in (10, 3, 200, 0, 1):
        X = torch.randn(n_rows, 6)
        torch.testing.assert_close(fast_score(X), net(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "gelu"},
        {"activation": "tanh", "dropout": 0.5},
        {"activation": "tanh", "normalisation": "batch"},
        {"hidden_layers": ()},
        {"feature_net": nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 2))},
        {"feature_net": nn.Linear(6, 2)},
    ],
)
def test_other_nets_are_used_unchanged(options: dict[str, object]) -> None:
    net = DirectRankerNet.build((6,), **options)  # type: ignore[arg-type]
    assert make_training_scorer(net) is net


def test_a_net_with_hooks_is_used_unchanged() -> None:
    net = DirectRankerNet.build((6,), activation="tanh")
    net.feature_net.register_forward_hook(lambda *_: None)
    assert make_training_scorer(net) is net
    assert (
        make_training_scorer(DirectRankerNet.build((6,), activation="tanh").double()).__class__
        is DirectRankerNet
    )
