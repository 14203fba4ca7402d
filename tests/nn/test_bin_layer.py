"""A layer on filled bins against matrix products with the encoding: sums, gradients, whole rankers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from directranker import DirectRanker, example_dataset
from directranker.encoding import PiecewiseLinear
from directranker.encoding.filled_bins import FilledBins, fill_bins
from directranker.nn import DirectRankerNet
from directranker.nn.bin_layer import bin_gradient, bin_sums
from directranker.nn.training_pass import has_own_pass, training_pass

Table = NDArray[np.float32]


def odd_table(n_rows: int, n_features: int, seed: int = 0) -> Table:
    """Ties, zeros, a constant feature, one with missing values, and a constant one with missing values."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_rows, n_features)).round(1).astype(np.float32)
    table[rng.random(table.shape) < 0.3] = 0
    table[:, 0] = 7
    table[rng.random(n_rows) < 0.2, 1] = np.nan
    table[:, 2] = np.where(rng.random(n_rows) < 0.5, np.float32(3), np.float32(np.nan))
    return table


def spelled_out(bins: FilledBins) -> Table:
    """The encoding, one column a bin, by its definition."""
    encoding = np.zeros((len(bins), len(bins.is_first)), dtype=np.float32)
    for row in range(len(bins)):
        for place, part in zip(bins.columns[row], bins.fractions[row], strict=True):
            encoding[row, place] = part
            below = place
            while not bins.is_first[below]:
                below -= 1
                encoding[row, below] = 1
    return encoding


@pytest.mark.parametrize(("n_features", "n_bins"), [(3, 1), (6, 4), (11, 16)])
def test_filled_bins_are_the_whole_encoding(n_features: int, n_bins: int) -> None:
    table = odd_table(200, n_features)
    transform = PiecewiseLinear(n_bins=n_bins).fit(table)
    beyond = np.concatenate([table, table * 10 - 3, np.full((1, n_features), np.nan, np.float32)])
    np.testing.assert_array_equal(spelled_out(fill_bins(transform, beyond)), transform.transform(beyond))


@pytest.mark.parametrize("worth_a_thread", [1, 10**9])
@pytest.mark.parametrize("n_outputs", [1, 70, 300])
@pytest.mark.parametrize("n_features", [3, 9, 12])
def test_sums_and_gradient_are_those_of_the_encoding(
    n_features: int, n_outputs: int, worth_a_thread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("directranker.nn.bin_layer.SUMMANDS_WORTH_A_THREAD", worth_a_thread)
    table = odd_table(1100, n_features, seed=n_outputs)
    transform = PiecewiseLinear(n_bins=5).fit(table)
    encoding, bins = torch.from_numpy(transform.transform(table)), fill_bins(transform, table)
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(n_outputs, encoding.shape[1], generator=generator)
    bias, pulls = (torch.randn(n, n_outputs, generator=generator) for n in (1, len(table)))
    sums = bin_sums(bins, weight, bias.repeat(len(table), 1))
    gradient = bin_gradient(bins, pulls, encoding.shape[1])
    torch.testing.assert_close(sums, encoding @ weight.T + bias, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(gradient, pulls.T @ encoding, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("bias", [True, False])
def test_a_net_scores_bins_as_their_encoding(bias: bool) -> None:
    table = odd_table(300, 5)
    transform = PiecewiseLinear().fit(table)
    encoding, bins = torch.from_numpy(transform.transform(table)), fill_bins(transform, table)
    options = {"hidden_layers": (20, 10), "dropout": 0.5, "bias": bias, "random_state": 0}
    net = DirectRankerNet.build((encoding.shape[1],), **options)  # type: ignore[arg-type]
    quick, pull = training_pass(net), torch.randn(len(table))
    both = []
    for X in (encoding, bins):
        torch.manual_seed(3)  # so dropout is the same
        net.train().zero_grad()
        scores = quick(X)
        scores.backward(pull)  # type: ignore[no-untyped-call]
        gradients = [parameter.grad for parameter in net.parameters()]
        both.append((scores.detach(), quick_in_evaluation(net, X), gradients))
    torch.testing.assert_close(both[0], both[1], rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(net.eval()(encoding), both[1][1], rtol=1e-4, atol=1e-4)


def quick_in_evaluation(net: DirectRankerNet, X: object) -> torch.Tensor:
    """Scores without dropout."""
    net.eval()
    with torch.no_grad():
        return training_pass(net)(X)


def test_a_ranker_learns_the_same_from_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    data = example_dataset().select(range(60))
    ranker = DirectRanker(max_epochs=3, random_state=0, hidden_layers=(16,), transform="piecewise-linear")
    by_bins = ranker.fit(data).predict(data)
    asked = []

    def never(net: torch.nn.Module) -> bool:
        asked.append(has_own_pass(net))
        return False

    monkeypatch.setattr("directranker.nn.training_pass.has_own_pass", never)
    by_columns = ranker.fit(data).predict(data)
    assert asked == [True]
    np.testing.assert_allclose(by_bins, by_columns, rtol=1e-3, atol=1e-3)
