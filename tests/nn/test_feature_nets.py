"""The feature net: a perceptron by options, any module, or a function that builds one; initial weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from directranker.nn import (
    FEATURE_ACTIVATIONS,
    DirectRankerNet,
    build_feature_net,
    feature_mlp,
    infer_output_width,
    seeded,
)


@pytest.mark.parametrize("activation", FEATURE_ACTIVATIONS)
@pytest.mark.parametrize("normalisation", [None, "batch", "layer"])
def test_perceptron_has_the_layers_of_its_options(activation: str, normalisation: str | None) -> None:
    mlp = feature_mlp(5, hidden_layers=(7, 2), activation=activation, normalisation=normalisation, bias=False)
    kinds = [type(layer) for layer in mlp]
    between: dict[str | None, list[type]] = {None: [], "batch": [nn.BatchNorm1d], "layer": [nn.LayerNorm]}
    block = [nn.Linear, *between[normalisation], type(FEATURE_ACTIVATIONS[activation]())]
    assert kinds == block * 2
    assert next(iter(mlp.state_dict())) == "linear_1.weight"
    assert mlp[0].weight.shape == (7, 5)
    assert mlp[0].bias is None
    assert infer_output_width(mlp, (5,)) == 2


def test_dropout_follows_each_activation() -> None:
    mlp = feature_mlp(5, hidden_layers=(4, 3), dropout=0.25)
    assert [name for name, _ in mlp.named_children()][:3] == ["linear_1", "activation_1", "dropout_1"]
    assert mlp[5].p == 0.25


def test_without_hidden_layers_the_ranker_is_linear() -> None:
    net = DirectRankerNet.build((3,), hidden_layers=(), head_activation="identity")
    X = torch.randn(4, 3)
    assert torch.equal(net(X), X @ net.head.weight)
    assert sum(parameter.numel() for parameter in net.parameters()) == 3


def test_activation_may_be_a_function_that_builds_a_module() -> None:
    mlp = feature_mlp(5, hidden_layers=(4, 4), activation=lambda: nn.LeakyReLU(0.3))
    assert mlp[1].negative_slope == 0.3
    assert mlp[1] is not mlp[3]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"activation": "tahn"}, ValueError, "'tahn' is unknown; did you mean 'tanh'"),
        (
            {"activation": nn.ReLU()},
            TypeError,
            "pass a name, such as 'relu', or a function that builds a module",
        ),
        ({"activation": lambda: 3}, TypeError, r"activation\(\) returns 3"),
        ({"normalisation": "bach"}, ValueError, "did you mean 'batch'"),
        ({"dropout": 1.0}, ValueError, "dropout is 1.0"),
        ({"hidden_layers": 64}, ValueError, r"hidden_layers is 64; pass the layer widths"),
        ({"hidden_layers": (64, 0)}, ValueError, "hidden_layers"),
        ({"hidden_layers": (2.5,)}, ValueError, "hidden_layers"),
        ({"hidden_layers": (True,)}, ValueError, "hidden_layers"),
        ({"n_features": 0}, ValueError, "n_features is"),
    ],
)
def test_wrong_options_raise(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        feature_mlp(**{"n_features": 3, **options})


def test_a_module_is_copied() -> None:
    original = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    before = {name: value.clone() for name, value in original.state_dict().items()}
    built = build_feature_net(original, (3,))
    torch.autograd.backward(built.module.train()(torch.randn(8, 3)).sum())
    with torch.no_grad():
        for parameter in built.module.parameters():
            parameter.zero_()
    assert built.module is not original
    assert all(torch.equal(value, before[name]) for name, value in original.state_dict().items())
    assert next(original.parameters()).grad is None


def test_a_function_is_called_with_the_number_of_features_or_the_shape() -> None:
    seen = []

    def build(size: Any) -> nn.Module:
        seen.append(size)
        return nn.Flatten()

    assert build_feature_net(build, (6,)).width == 6
    assert build_feature_net(build, [2, 3]).width == 6
    assert seen == [6, (2, 3)]


def test_training_modes_of_submodules_are_restored() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout())
    net[1].eval()  # a frozen module
    infer_output_width(net, (3,))
    assert [module.training for module in net.modules()] == [True, True, False, True]
    with pytest.raises(ValueError, match="fails on an input of shape"):
        infer_output_width(net, (5,))
    assert [module.training for module in net.modules()] == [True, True, False, True]


def test_inferring_the_width_does_not_update_statistics() -> None:
    net = nn.Sequential(nn.BatchNorm1d(3))
    infer_output_width(net, (3,))
    assert net[0].num_batches_tracked == 0


def test_float64_and_lazy_nets_work() -> None:
    assert build_feature_net(nn.Linear(3, 2).double(), (3,)).width == 2
    with seeded(0):
        assert build_feature_net(lambda n: nn.LazyLinear(7), (3,)).width == 7


@pytest.mark.parametrize(
    ("net", "shape", "message"),
    [
        (nn.Conv2d(1, 2, 3), (1, 8, 8), r"returns \(2, 2, 6, 6\) .* end it with torch.nn.Flatten"),
        (nn.Flatten(0), (3,), r"returns \(6,\) for an input of shape \(2, 3\); it must return one row"),
        (nn.Linear(3, 2), (4,), "fails on an input of shape .2, 4."),
        (nn.LSTM(3, 2), (3,), "returns tuple"),
        (nn.Identity(), (), "input_shape is empty"),
        (nn.Identity(), (0,), "input_shape is"),
        (nn.Identity(), 3, "input_shape is 3; pass the shape of one document"),
    ],
)
def test_nets_with_wrong_shapes_raise(net: nn.Module, shape: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_feature_net(net, shape)


@pytest.mark.parametrize("net", ["mlp", 3, lambda n: n])
def test_other_objects_raise_a_type_error(net: Any) -> None:
    with pytest.raises(TypeError, match=r"the feature net is .*; pass a torch.nn.Module"):
        build_feature_net(net, (3,))


def build_image_net(shape: tuple[int, ...]) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(shape[0], 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(54, 10)
    )


def test_a_small_convolutional_net_learns_to_rank_images() -> None:
    """Images whose bright square is larger rank higher."""
    net = DirectRankerNet.build((1, 8, 8), feature_net=build_image_net, random_state=0)
    sizes = torch.arange(1, 8).repeat(3)
    images = torch.zeros(len(sizes), 1, 8, 8)
    for image, size in zip(images, sizes.tolist(), strict=True):
        image[0, :size, :size] = 1
    images += 0.1 * torch.rand(images.shape, generator=torch.Generator().manual_seed(1))
    weights = [*net.parameters()]
    for _ in range(25):
        scores = net(images)
        r = net.head.compare(scores[:, None], scores[None, :])
        cost = ((r - torch.sign(sizes[:, None] - sizes[None, :])) ** 2).mean()
        slopes = torch.autograd.grad(cost, weights)
        with torch.no_grad():
            for weight, slope in zip(weights, slopes, strict=True):
                weight.sub_(0.01 * slope.sign())
    scores = net.eval()(images).detach()
    lowest, highest = scores.view(3, 7).min(0).values, scores.view(3, 7).max(0).values
    assert (lowest[1:] > highest[:-1]).all()
    r = net.compare(images, images.flip(0))
    assert torch.equal(r, -net.compare(images.flip(0), images))


def test_the_default_net_flattens_images() -> None:
    net = DirectRankerNet.build((1, 8, 8), hidden_layers=(5,), random_state=0)
    assert net(torch.zeros(3, 1, 8, 8)).shape == (3,)
    assert [name for name, _ in net.feature_net.named_children()] == ["flatten", "linear_1", "activation_1"]


def test_random_state_determines_weights_and_keeps_the_global_state() -> None:
    before = torch.get_rng_state()
    first, second, third = (
        DirectRankerNet.build((4,), hidden_layers=(8, 3), dropout=0.2, random_state=seed)
        for seed in (7, 7, 8)
    )
    assert torch.equal(before, torch.get_rng_state())
    states = [torch.cat([p.detach().ravel() for p in net.parameters()]) for net in (first, second, third)]
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


def test_random_state_determines_the_weights_of_a_custom_net() -> None:
    first, second = (
        DirectRankerNet.build((1, 8, 8), feature_net=build_image_net, random_state=5) for _ in range(2)
    )
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_the_global_state_is_restored_after_an_error() -> None:
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="hidden_layers"):
        DirectRankerNet.build((4,), hidden_layers=(3, -1), random_state=0)
    assert torch.equal(before, torch.get_rng_state())


def test_without_a_random_state_weights_come_from_the_global_state() -> None:
    with seeded(1):
        first = DirectRankerNet.build((4,)).head.weight
    with seeded(1):
        second = DirectRankerNet.build((4,)).head.weight
    assert torch.equal(first, second)


def test_widths_may_be_numpy_integers() -> None:
    widths: Any = np.array([4, 3])
    assert infer_output_width(feature_mlp(5, hidden_layers=widths), (5,)) == 3
