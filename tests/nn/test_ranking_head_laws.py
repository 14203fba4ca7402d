"""Theorem 1 in floating point: the laws of r hold to the last bit, for any net, τ and data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from torch import Tensor

from directranker.nn import FEATURE_ACTIVATIONS, ODD_ACTIVATIONS, DirectRankerNet, RankingHead, compare_scores
from directranker.order import check_order, sort_by_comparator


def noisy_cube(x: Tensor) -> Tensor:
    """Odd only up to rounding: both sides are computed differently."""
    return torch.where(x > 0, x * x * x, x * (1 / 3) * (x * 3) * x)


def logistic(x: Tensor) -> Tensor:
    return 2 * torch.sigmoid(x) - 1


def wave(x: Tensor) -> Tensor:
    return x + torch.sin(x)


def wrong_off_grid(x: Tensor) -> Tensor:
    """Odd and sign-conserving on the grid of the check, but not between its numbers."""
    return torch.where((x.abs() > 3.1405) & (x.abs() < 3.1425), -7 - x, torch.tanh(x))


def index_dependent(x: Tensor) -> Tensor:
    """Another function at odd indices, for some numbers."""
    is_odd_index = torch.arange(len(x)) % 2 == 1
    return torch.where(is_odd_index & (x.abs() > 3.1405) & (x.abs() < 3.1425), x / 7, torch.tanh(x))


TAUS: list[str | Callable[[Tensor], Tensor]] = [*ODD_ACTIVATIONS, noisy_cube, logistic, wave, torch.sinh]
taus = st.sampled_from(TAUS)
SMALLEST, LARGEST = 1e-45, 3.4028234663852886e38
floats32 = st.one_of(
    st.floats(width=32, allow_nan=False),
    st.sampled_from([0.0, -0.0, 1.0, SMALLEST, -SMALLEST, 2 * SMALLEST, LARGEST, -LARGEST, np.inf, -np.inf]),
)
scores32 = arrays(np.float32, st.integers(1, 12), elements=floats32)
features32 = arrays(
    np.float32,
    st.tuples(st.integers(1, 7), st.just(3)),
    elements=st.one_of(st.sampled_from([0.0, -0.0, 1.0, -2.5]), st.floats(-1e6, 1e6, width=32)),
)


def compare_all(g: NDArray[np.float32], tau: str | Callable[[Tensor], Tensor]) -> NDArray[np.float32]:
    r: NDArray[np.float32] = compare_scores(g[:, None], g[None, :], activation=tau).astype(np.float32)
    return r


def get_bits(values: NDArray[np.floating]) -> list[int]:
    return np.ascontiguousarray(values, dtype=np.float32).view(np.int32).ravel().tolist()


@given(scores32, taus)
def test_laws_of_r_are_exact(g: NDArray[np.float32], tau: str | Callable[[Tensor], Tensor]) -> None:
    r = compare_all(g, tau)
    assert get_bits(r.diagonal()) == [0] * len(g)  # 0.0, and not −0.0
    assert get_bits(r) == get_bits(0.0 - r.T)
    assert np.array_equal(np.sign(r), (g[:, None] > g).astype(int) - (g[:, None] < g))
    assert check_order(lambda i, j: r[i, j], range(len(g))).is_order


@given(scores32, taus)
def test_sorting_by_g_matches_sorting_with_the_comparator(
    g: NDArray[np.float32], tau: str | Callable[[Tensor], Tensor]
) -> None:
    r = compare_all(g, tau)
    by_comparator = sort_by_comparator(range(len(g)), lambda i, j: r[i, j])
    assert by_comparator == np.argsort(-g, kind="stable").tolist()


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sign_is_kept_where_tau_rounds_to_zero(
    tau: str | Callable[[Tensor], Tensor], dtype: type[np.floating]
) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    zero, above = np.zeros(1, dtype), np.array([tiny])
    r = compare_scores(above, zero, activation=tau)
    assert r.dtype == dtype
    assert r[0] > 0
    assert compare_scores(zero, above, activation=tau)[0] == -r[0]


def test_half_tanh_of_the_smallest_number_would_be_zero() -> None:
    assert torch.tanh(torch.tensor(SMALLEST) / 2) == 0  # which the head fixes


def test_infinite_scores_are_ordered_and_nan_stays_nan() -> None:
    r = compare_scores([np.inf, np.inf, -np.inf, LARGEST, np.nan], [np.inf, 1, np.inf, np.inf, 1], "softsign")
    assert r[:4].tolist() == [0.0, 1.0, -1.0, pytest.approx(-1e-300, abs=1)]
    assert r[3] < 0
    assert np.isnan(r[4])


@settings(max_examples=60)
@given(
    X=features32,
    layers=st.lists(st.integers(1, 9), max_size=3),
    activation=st.sampled_from([*FEATURE_ACTIVATIONS]),
    normalisation=st.sampled_from([None, "batch", "layer"]),
    dropout=st.sampled_from([0.0, 0.5]),
    tau=taus,
    seed=st.integers(0, 2**32),
    training=st.booleans(),
)
def test_laws_hold_for_random_nets(
    X: NDArray[np.float32],
    layers: list[int],
    activation: str,
    normalisation: str | None,
    dropout: float,
    tau: str | Callable[[Tensor], Tensor],
    seed: int,
    training: bool,
) -> None:
    net = DirectRankerNet.build(
        (3,),
        hidden_layers=layers,
        activation=activation,
        normalisation=normalisation,
        dropout=dropout,
        head_activation=tau,
        random_state=seed,
    )
    # Batch normalisation in training needs two documents; within a call the laws hold in both modes.
    net.train(training and normalisation != "batch")
    documents = torch.from_numpy(np.concatenate([X, X[:2]]))  # duplicates
    n = len(documents)
    with torch.no_grad():
        r = net.compare(documents.repeat_interleave(n, 0), documents.repeat(n, 1)).numpy().reshape(n, n)
    assert check_order(lambda i, j: r[i, j], range(n)).is_order
    assert get_bits(r) == get_bits(0.0 - r.T)
    assert (r[len(X), 0], r[0, len(X)]) == (0.0, 0.0)


def test_comparing_both_ways_is_exact_across_calls() -> None:
    net = DirectRankerNet.build((136,), hidden_layers=(64, 32), random_state=0).eval()
    X, Y = torch.randn(2, 301, 136)
    with torch.no_grad():
        assert torch.equal(net.compare(X, Y), -net.compare(Y, X))
        assert net.compare(X, X.clone()).abs().max() == 0


def test_head_on_features() -> None:
    head = RankingHead(3, activation="half_tanh")
    x, y = torch.randn(2, 50, 3)
    r = head(x, y)
    assert torch.equal(r, -head(y, x))
    assert torch.allclose(r, torch.tanh((x @ head.weight - y @ head.weight) / 2), atol=1e-6)
    with pytest.raises(ValueError, match=r"features have shape \(5, 4\); the head takes rows of 3"):
        head.score(torch.zeros(5, 4))


@pytest.mark.parametrize("tau", TAUS)
def test_gradient_matches_tau_even_for_ties(tau: str | Callable[[Tensor], Tensor]) -> None:
    head = RankingHead(1, activation=tau)
    gx = torch.tensor([0.5, -1.5, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
    gy = torch.tensor([1.5, -2.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
    torch.autograd.backward(head.compare(gx, gy).sum())
    difference = (gx - gy).detach().requires_grad_()
    torch.autograd.backward(head.activation(difference).sum())
    assert gx.grad is not None
    assert gy.grad is not None
    assert difference.grad is not None
    assert torch.allclose(gx.grad, difference.grad)
    assert torch.equal(gy.grad, -gx.grad)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_comparisons_do_not_depend_on_the_index(
    tau: str | Callable[[Tensor], Tensor], dtype: type[np.floating]
) -> None:
    g = np.random.default_rng(0).normal(size=40_003).astype(dtype)
    together = compare_scores(g, g[::-1], activation=tau)
    assert np.array_equal(together, -together[::-1])
    single = [compare_scores(x, y, activation=tau) for x, y in zip(g[:20], g[:-21:-1], strict=True)]
    assert np.array_equal(single, together[:20])


@pytest.mark.parametrize("tau", [wrong_off_grid, index_dependent])
def test_r_is_an_order_even_if_the_check_of_tau_misses_a_violation(tau: Callable[[Tensor], Tensor]) -> None:
    head = RankingHead(1, activation=tau)  # passes the check
    g = np.array([0, 3.141, 6.282, 9.4235, 3.142, 0.001, 3.1421, 1], dtype=np.float32)
    r = compare_all(g, tau)
    assert get_bits(r) == get_bits(-r.T + np.float32(0))
    assert np.array_equal(np.sign(r), np.sign(g[:, None] - g[None, :]))
    x, y = torch.from_numpy(g), torch.from_numpy(g[::-1].copy())
    assert torch.equal(head.compare(x, y), -head.compare(y, x))


def test_a_tau_with_nan_raises() -> None:
    def hole(x: Tensor) -> Tensor:
        return torch.where((x.abs() > 3.1405) & (x.abs() < 3.1425), torch.nan, x)

    with pytest.raises(ValueError, match=r"hole is not a number at x = 3.141"):
        compare_scores([3.141], [0.0], activation=hole)


def test_the_head_has_no_bias() -> None:
    with pytest.raises(TypeError, match="bias"):
        RankingHead(3, bias=True)  # type: ignore[call-arg]
    head = RankingHead(3)
    assert [name for name, _ in head.named_parameters()] == ["weight"]
    with pytest.raises(RuntimeError, match="bias"):
        head.load_state_dict({"weight": torch.ones(3), "bias": torch.ones(1)})


@pytest.mark.parametrize("n_inputs", [0, -1, 2.5, True])
def test_invalid_n_inputs_raise(n_inputs: int) -> None:
    with pytest.raises(ValueError, match="n_inputs"):
        RankingHead(n_inputs)


def test_a_trainable_tau_is_part_of_the_head() -> None:
    class Steepness(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.steepness = torch.nn.Parameter(torch.tensor(2.0))

        def forward(self, x: Tensor) -> Tensor:
            return torch.tanh(x * self.steepness)

    head = RankingHead(2, activation=Steepness())
    assert {name for name, _ in head.named_parameters()} == {"weight", "activation.steepness"}
