"""Scores without torch: the literal sums, the same bits in both ways and at every place, and changes seen."""

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
from directranker.data.transforms import as_transform
from directranker.rankers import linear, perceptron_scores
from directranker.rankers.perceptron_scores import layer_shapes, perceptron_scorer
from directranker.training import loop

RNG = np.random.default_rng(0)


def made_up_rows(n: int) -> NDArray[np.float32]:
    rows = RNG.normal(size=(n, 5)).astype(np.float32)
    rows[:, 1] = RNG.integers(3, size=n)  # values that are edges
    rows[:, 2] = 7  # a constant feature has no bins
    rows[::9, 3] = np.nan
    rows[::11, 0] = np.nan
    return rows


def made_up_weights(n_columns: int, hidden_layers: tuple[int, ...], *, bias: bool) -> dict[str, Any]:
    shapes = layer_shapes(n_columns, hidden_layers, bias=bias)
    return {name: RNG.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def literal_scores(weights: dict[str, Any], encoded: NDArray[Any], activation: str) -> NDArray[np.float64]:
    values = encoded.astype(np.float64)
    number = 1
    while f"feature_net.linear_{number}.weight" in weights:
        values = values @ weights[f"feature_net.linear_{number}.weight"].T.astype(np.float64)
        values = values + weights.get(f"feature_net.linear_{number}.bias", 0.0)
        if activation != "identity":
            values = np.tanh(values) if activation == "tanh" else np.maximum(values, 0)
        number += 1
    scores: NDArray[np.float64] = values @ weights["head.weight"].astype(np.float64)
    return scores


@pytest.mark.parametrize("transform", ["piecewise-linear", "standard", "query-z-score"])
@pytest.mark.parametrize(
    ("hidden_layers", "activation", "bias"),
    [((), "relu", True), ((7,), "relu", False), ((16, 3), "tanh", True), ((5, 33, 2), "identity", True)],
)
def test_the_literal_sums_in_both_ways_and_at_every_place(
    transform: str,
    hidden_layers: tuple[int, ...],
    activation: str,
    bias: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, query = made_up_rows(1500), np.arange(1500) // 10
    fitted = as_transform(transform).fit(rows[:400], qid=query[:400])
    rows[400:420] *= 100  # beyond the last edges
    encoded = fitted.transform(rows, qid=query)
    weights = made_up_weights(encoded.shape[1], hidden_layers, bias=bias)

    def scored(some: Any, *, compiled_way: bool) -> Any:
        monkeypatch.setattr(perceptron_scores, "ROWS_WITHOUT_COMPILING", 0 if compiled_way else 10**9)
        scorer = perceptron_scorer(weights, fitted, activation)
        assert scorer is not None
        return scorer(rows[some], query[some])

    everything = np.arange(len(rows))
    scores = scored(everything, compiled_way=True)
    np.testing.assert_allclose(scores, literal_scores(weights, encoded, activation), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(scored(everything, compiled_way=False), scores)
    backwards = everything[::-1]
    for compiled_way in (True, False):
        np.testing.assert_array_equal(scored(backwards, compiled_way=compiled_way), scores[::-1])
        part = everything[30:90]
        np.testing.assert_array_equal(scored(part, compiled_way=compiled_way), scores[part])


def test_large_layers_and_odd_weights_are_left_to_torch() -> None:
    transform = as_transform("standard").fit(made_up_rows(50))
    assert perceptron_scorer(made_up_weights(5, (400, 400), bias=True), transform, "relu") is None
    weights = made_up_weights(5, (4,), bias=True)
    weights["head.weight"][0] = np.inf
    assert perceptron_scorer(weights, transform, "relu") is None


def test_changed_weights_and_edges_change_scores() -> None:
    data = example_dataset().select(range(20))
    ranker = DirectRanker(max_epochs=1, random_state=0).fit(data)
    before = ranker.predict(data)
    ranker.net_.head.weight.data.mul_(2)  # torch keeps no count of changes made through .data
    np.testing.assert_array_equal(ranker.predict(data), 2 * before)
    ranker.transform_.edges_ += 1
    assert (ranker.predict(data) != 2 * before).any()
    with torch.inference_mode():
        encoded = torch.from_numpy(ranker.transform_.transform(data.features))
        np.testing.assert_allclose(ranker.predict(data), ranker.net_(encoded).numpy(), rtol=1e-4, atol=1e-5)


def test_infinite_features_are_refused() -> None:
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
        DirectRanker(max_epochs=1, random_state=0, transform="query-z-score", activation="gelu"),
        DirectRanker(max_epochs=1, random_state=0, transform="query-z-score"),
        RankSVM(transform="query-z-score"),
    ],
)
def test_queries_are_whole_for_transforms_within_them(ranker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = example_dataset().select(range(20))
    ranker.fit(data)
    expected = ranker.predict(data)
    monkeypatch.setattr(linear, "SCORED_ROWS", 7)
    monkeypatch.setattr(loop, "SCORED_BYTES", 7 * 4 * data.n_features)
    monkeypatch.setattr(perceptron_scores, "ROWS_AT_A_TIME", 7)
    np.testing.assert_allclose(ranker.predict(data), expected, rtol=1e-5, atol=1e-6)
