"""A layer on filled bins against matrix products with the encoding: sums, gradients, whole rankers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from directranker import DirectRanker, example_dataset
from directranker.arrays import Float32Array
from directranker.encoding import PiecewiseLinear
from directranker.encoding.filled_bins import FilledBins, fill_bins
from directranker.nn import DirectRankerNet
from directranker.nn.bin_layer import add_bin_products, compute_bin_gradient
from directranker.nn.training_pass import has_fast_pass, make_training_scorer


def make_table(n_rows: int, n_features: int, seed: int = 0) -> Float32Array:
    """Return features with ties, zeros, a constant, missing values, and a constant with missing values."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_rows, n_features)).round(1).astype(np.float32)
    table[rng.random(table.shape) < 0.3] = 0
    table[:, 0] = 7
    table[rng.random(n_rows) < 0.2, 1] = np.nan
    table[:, 2] = np.where(rng.random(n_rows) < 0.5, np.float32(3), np.float32(np.nan))
    return table


def encode_literally(bins: FilledBins) -> Float32Array:
    """Return the encoding, one column per bin, by its definition."""
    encoding = np.zeros((len(bins), len(bins.is_first)), dtype=np.float32)
    for row in range(len(bins)):
        for column, fraction in zip(bins.columns[row], bins.fractions[row], strict=True):
            encoding[row, column] = fraction
            below = column
            while not bins.is_first[below]:
                below -= 1
                encoding[row, below] = 1
    return encoding


@pytest.mark.parametrize(("n_features", "n_bins"), [(3, 1), (6, 4), (11, 16)])
def test_filled_bins_match_the_encoding(n_features: int, n_bins: int) -> None:
    table = make_table(200, n_features)
    transform = PiecewiseLinear(n_bins=n_bins).fit(table)
    table_and_outliers = np.concatenate([table, table * 10 - 3, np.full((1, n_features), np.nan, np.float32)])
    np.testing.assert_array_equal(
        encode_literally(fill_bins(transform, table_and_outliers)), transform.transform(table_and_outliers)
    )


@pytest.mark.parametrize("min_per_thread", [1, 10**9])
@pytest.mark.parametrize("n_outputs", [1, 70, 300])
@pytest.mark.parametrize("n_features", [3, 9, 12])
def test_sums_and_gradient_match_the_encoding(
    n_features: int, n_outputs: int, min_per_thread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("directranker.nn.bin_layer.MIN_SUMMANDS_PER_THREAD", min_per_thread)
    table = make_table(1100, n_features, seed=n_outputs)
    transform = PiecewiseLinear(n_bins=5).fit(table)
    encoding, bins = torch.from_numpy(transform.transform(table)), fill_bins(transform, table)
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(n_outputs, encoding.shape[1], generator=generator)
    bias, sums_gradient = (torch.randn(n, n_outputs, generator=generator) for n in (1, len(table)))
    sums = add_bin_products(bins, weight, bias.repeat(len(table), 1))
    gradient = compute_bin_gradient(bins, sums_gradient, encoding.shape[1])
    torch.testing.assert_close(sums, encoding @ weight.T + bias, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(gradient, sums_gradient.T @ encoding, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("bias", [True, False])
def test_scores_of_bins_match_those_of_their_encoding(bias: bool) -> None:
    table = make_table(300, 5)
    transform = PiecewiseLinear().fit(table)
    encoding, bins = torch.from_numpy(transform.transform(table)), fill_bins(transform, table)
    options = {"hidden_layers": (20, 10), "dropout": 0.5, "bias": bias, "random_state": 0}
    net = DirectRankerNet.build((encoding.shape[1],), **options)  # type: ignore[arg-type]
    score, scores_gradient = make_training_scorer(net), torch.randn(len(table))
    both = []
    for X in (encoding, bins):
        torch.manual_seed(3)  # for the same dropout
        net.train().zero_grad()
        scores = score(X)
        scores.backward(scores_gradient)  # type: ignore[no-untyped-call]
        gradients = [parameter.grad for parameter in net.parameters()]
        both.append((scores.detach(), score_in_evaluation_mode(net, X), gradients))
    torch.testing.assert_close(both[0], both[1], rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(net.eval()(encoding), both[1][1], rtol=1e-4, atol=1e-4)


def score_in_evaluation_mode(net: DirectRankerNet, X: object) -> torch.Tensor:
    """Return scores without dropout."""
    net.eval()
    with torch.no_grad():
        return make_training_scorer(net)(X)


def test_a_ranker_trained_on_bins_matches_one_trained_on_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    data = example_dataset().select(range(60))
    ranker = DirectRanker(max_epochs=3, random_state=0, hidden_layers=(16,), transform="piecewise-linear")
    by_bins = ranker.fit(data).predict(data)
    answers = []

    def never(net: torch.nn.Module) -> bool:
        answers.append(has_fast_pass(net))
        return False

    monkeypatch.setattr("directranker.rankers.nets.fit_stages.has_fast_pass", never)
    by_columns = ranker.fit(data).predict(data)
    assert answers == [True]
    np.testing.assert_allclose(by_bins, by_columns, rtol=1e-3, atol=1e-3)
