"""The quicker pass of tanh nets against torch's own: values, gradients, and where it does not hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from directranker.nn import DirectRankerNet
from directranker.nn.tanh_pass import take_tanh, training_pass


def test_tanh_is_right_to_the_digits_of_a_float32() -> None:
    x = np.concatenate([np.linspace(-12, 12, 100_001), [0.0, -0.0, np.inf, -np.inf]]).astype(np.float32)
    taken = x.copy()
    take_tanh(taken)
    np.testing.assert_allclose(taken, np.tanh(x.astype(np.float64)), rtol=0, atol=2e-7)
    assert abs(taken).max() == 1
    unknown = np.array([np.nan, 1.0], dtype=np.float32)
    take_tanh(unknown)
    assert np.isnan(unknown).tolist() == [True, False]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("layers", [(4,), (70, 5), (9, 8, 7)])
def test_scores_and_gradients_are_torchs(layers: tuple[int, ...], bias: bool) -> None:
    net = DirectRankerNet.build((6,), hidden_layers=layers, activation="tanh", bias=bias, random_state=0)
    X, pull = torch.randn(3000, 6), torch.randn(3000) / 3000
    quick = training_pass(net)
    assert quick is not net
    both = []
    for score in (net, quick):
        net.zero_grad()
        scores = score(X)
        scores.backward(pull)
        both.append((scores.detach(), [parameter.grad for parameter in net.parameters()]))
    (by_torch, expected), (scores, gradients) = both
    torch.testing.assert_close(scores, by_torch, rtol=1e-5, atol=1e-6)
    assert len(gradients) == len(expected) == len(layers) * (1 + bias) + 1
    for gradient, one in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, one, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "relu"},
        {"activation": "tanh", "dropout": 0.5},
        {"activation": "tanh", "normalisation": "batch"},
        {"hidden_layers": ()},
        {"feature_net": nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 2))},
        {"feature_net": nn.Linear(6, 2)},
    ],
)
def test_other_nets_go_their_own_way(options: dict[str, object]) -> None:
    net = DirectRankerNet.build((6,), **options)  # type: ignore[arg-type]
    assert training_pass(net) is net


def test_what_someone_hung_into_the_net_is_called() -> None:
    net = DirectRankerNet.build((6,), activation="tanh")
    net.feature_net.register_forward_hook(lambda *_: None)
    assert training_pass(net) is net
    assert training_pass(DirectRankerNet.build((6,), activation="tanh").double()).__class__ is DirectRankerNet
