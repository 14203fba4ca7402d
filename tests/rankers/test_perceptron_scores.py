"""Scores without torch: the literal sums, the same bits by kernels and NumPy and at any position."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from directranker import DirectRanker, RankSVM, example_dataset, load_ranker
from directranker.encoding import as_transform
from directranker.nn import FEATURE_ACTIVATIONS
from directranker.rankers.linear import base as linear
from directranker.rankers.nets import net_ranker, perceptron_scores
from directranker.rankers.nets.layer_functions import ACTIVATIONS
from directranker.rankers.nets.perceptron_scores import build_scorer, compute_layer_shapes

RNG = np.random.default_rng(0)


def made_up_rows(n: int) -> NDArray[np.float32]:
    rows = RNG.normal(size=(n, 5)).astype(np.float32)
    rows[:, 1] = RNG.integers(3, size=n)  # values that are edges
    rows[:, 2] = 7  # a constant feature has no bins
    rows[::9, 3] = np.nan
    rows[::11, 0] = np.nan
    return rows


def made_up_weights(
    n_columns: int, hidden_layers: tuple[int, ...], *, bias: bool, normalisation: str | None = None
) -> dict[str, Any]:
    shapes = compute_layer_shapes(n_columns, hidden_layers, bias=bias, normalisation=normalisation)
    weights: dict[str, Any] = {}
    for name, shape in shapes.items():
        weights[name] = (RNG.normal(size=shape) / np.sqrt(shape[-1] if shape else 1)).astype(np.float32)
        if name.endswith("running_var"):
            weights[name] = np.abs(weights[name]) + np.float32(0.1)
        elif name.endswith("num_batches_tracked"):
            weights[name] = np.array(3)
    return weights


def literal_scores(weights: dict[str, Any], encoded: NDArray[Any], activation: str) -> NDArray[np.float64]:
    values = encoded.astype(np.float64)
    number = 1
    while f"feature_net.linear_{number}.weight" in weights:
        values = values @ weights[f"feature_net.linear_{number}.weight"].T.astype(np.float64)
        values = values + weights.get(f"feature_net.linear_{number}.bias", 0.0)
        values = normalise(values, weights, f"feature_net.normalisation_{number}.")
        values = FEATURE_ACTIVATIONS[activation]()(torch.from_numpy(values)).numpy()
        number += 1
    scores: NDArray[np.float64] = values @ weights["head.weight"].astype(np.float64)
    return scores


def normalise(values: NDArray[np.float64], weights: dict[str, Any], prefix: str) -> NDArray[np.float64]:
    if prefix + "weight" not in weights:
        return values
    if prefix + "running_var" in weights:
        mean, variance = weights[prefix + "running_mean"], weights[prefix + "running_var"]
    else:
        mean, variance = values.mean(axis=1, keepdims=True), values.var(axis=1, keepdims=True)
    scaled = (values - mean) / np.sqrt(variance + 1e-5)
    shifted: NDArray[np.float64] = scaled * weights[prefix + "weight"] + weights[prefix + "bias"]
    return shifted


@pytest.mark.parametrize("transform", ["piecewise-linear", "standard", "query-z-score"])
@pytest.mark.parametrize(
    ("hidden_layers", "activation", "bias", "normalisation"),
    [
        ((), "relu", True, None),
        ((7,), "relu", False, None),
        ((16, 3), "tanh", True, None),
        ((5, 33, 2), "identity", True, None),
        ((130, 65), "gelu", True, None),  # tiles, the last one padded
        ((65, 50, 7), "softplus", False, None),
        ((200, 270), "relu", True, None),  # too many weights to skip zeros
        ((50, 20), "silu", True, "batch"),
        ((50, 20), "sigmoid", False, "layer"),
        ((9,), "elu", True, "layer"),
        ((9,), "leaky_relu", True, "batch"),
        ((64,), "softsign", True, None),
    ],
)
def test_kernels_and_numpy_give_the_literal_sums_at_any_position(
    transform: str,
    hidden_layers: tuple[int, ...],
    activation: str,
    bias: bool,
    normalisation: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, query = made_up_rows(1500), np.arange(1500) // 10
    fitted = as_transform(transform).fit(rows[:400], qid=query[:400])
    rows[400:420] *= 100  # beyond the last edges
    encoded = fitted.transform(rows, qid=query)
    weights = made_up_weights(encoded.shape[1], hidden_layers, bias=bias, normalisation=normalisation)

    def score(some: Any, *, use_kernels: bool) -> Any:
        monkeypatch.setattr(perceptron_scores, "MAX_NUMPY_ROWS", 0 if use_kernels else 10**9)
        monkeypatch.setattr(perceptron_scores, "MAX_NUMPY_PRODUCTS", 1e18)
        scorer = build_scorer(weights, fitted, activation)
        assert scorer is not None
        return scorer(rows[some], query[some])

    everything = np.arange(len(rows))
    scores = score(everything, use_kernels=True)
    np.testing.assert_allclose(scores, literal_scores(weights, encoded, activation), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(score(everything, use_kernels=False), scores)
    backwards = everything[::-1]
    for use_kernels in (True, False):
        np.testing.assert_array_equal(score(backwards, use_kernels=use_kernels), scores[::-1])
        for part in (everything[30:90], everything[90:100]):  # whole queries
            np.testing.assert_array_equal(score(part, use_kernels=use_kernels), scores[part])


def test_torch_scores_non_finite_weights() -> None:
    transform = as_transform("standard").fit(made_up_rows(50))
    weights = made_up_weights(5, (4,), bias=True)
    weights["head.weight"][0] = np.inf
    assert build_scorer(weights, transform, "relu") is None


def test_activations_equal_those_of_torch() -> None:
    x = np.concatenate([np.linspace(-12, 12, 4000), [-1e30, -200, -30, 0, 30, 200, 1e30]]).astype(np.float32)
    assert set(ACTIVATIONS) == set(FEATURE_ACTIVATIONS)
    for name, activate in ACTIVATIONS.items():
        exact = FEATURE_ACTIVATIONS[name]()(torch.from_numpy(x).to(torch.float64)).numpy()
        np.testing.assert_allclose(activate(x.copy()), exact, rtol=2e-6, atol=2e-6, err_msg=name)


def test_normalisation_scores_as_in_torch_and_is_saved(tmp_path: Path) -> None:
    data = example_dataset().select(range(20))
    for normalisation in ("batch", "layer"):
        options: dict[str, Any] = {
            "transform": "standard",
            "teacher": None,
            "random_state": 0,
            "max_epochs": 1,
        }
        ranker = DirectRanker(normalisation=normalisation, hidden_layers=(20, 5), **options).fit(data)
        with torch.inference_mode():
            encoded = torch.from_numpy(ranker.transform_.transform(data.features))
            expected = ranker.net_(encoded).numpy()
        np.testing.assert_allclose(ranker.predict(data), expected, rtol=1e-4, atol=1e-5)
        ranker.save(tmp_path / normalisation)
        again = load_ranker(tmp_path / normalisation)
        np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


def test_changed_weights_and_edges_change_scores() -> None:
    data = example_dataset().select(range(20))
    ranker = DirectRanker(max_epochs=1, random_state=0).fit(data)
    before = ranker.predict(data)
    ranker.net_.head.weight.data.mul_(2)  # torch does not count changes through .data
    np.testing.assert_array_equal(ranker.predict(data), 2 * before)
    ranker.transform_.edges_ += 1
    assert (ranker.predict(data) != 2 * before).any()
    with torch.inference_mode():
        encoded = torch.from_numpy(ranker.transform_.transform(data.features))
        np.testing.assert_allclose(ranker.predict(data), ranker.net_(encoded).numpy(), rtol=1e-4, atol=1e-5)


def test_infinite_features_raise() -> None:
    data = example_dataset().select(range(20))
    ranker = DirectRanker(max_epochs=1, random_state=0).fit(data)
    rows = np.array(data.features)
    rows[600 % len(rows), 4] = np.inf
    with pytest.raises(ValueError, match=r"infinity|inf in row"):
        ranker.predict(rows)


def test_a_saved_net_ranks_without_torch_and_numba(tmp_path: Path) -> None:
    data = example_dataset().select(range(20))
    ranker = DirectRanker(max_epochs=1, random_state=0).fit(data)
    ranker.save(tmp_path / "model")
    np.save(tmp_path / "X.npy", data.features)
    script = """
import sys
import numpy as np
from directranker import load_ranker
ranker = load_ranker("model")
np.save("scores.npy", ranker.predict(np.load("X.npy")))
heavy = {"torch", "numba", "lightgbm"} & set(sys.modules)
assert not heavy, heavy
assert ranker.net_.head.weight.shape == (256,)
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), ranker.predict(data))
    again = load_ranker(tmp_path / "model")
    assert isinstance(again, DirectRanker)
    assert again.net_ is again.net_
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


@pytest.mark.parametrize(
    "ranker",
    [
        DirectRanker(max_epochs=1, random_state=0, transform="query-z-score", activation=torch.nn.PReLU),
        DirectRanker(max_epochs=1, random_state=0, transform="query-z-score"),
        RankSVM(transform="query-z-score"),
    ],
)
def test_per_query_transforms_get_whole_queries(ranker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = example_dataset().select(range(20))
    ranker.fit(data)
    expected = ranker.predict(data)
    monkeypatch.setattr(linear, "ROWS_PER_BLOCK", 7)
    monkeypatch.setattr(net_ranker, "MAX_ENCODED_BYTES", 7 * 4 * data.n_features)
    monkeypatch.setattr(perceptron_scores, "BLOCK_ROWS", 7)
    np.testing.assert_array_equal(ranker.predict(data), expected)
