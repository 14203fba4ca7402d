"""The inputs of an objective: validation and its messages, edge cases, and custom functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from directranker.costs import LIST_COSTS, PAIR_COSTS, Objective, PairTensors, torch_objective

SCORES, LABELS = np.array([0.3, -0.2, 0.9, 0.1]), np.array([1.0, 0.0, 0.0, 2.0])
ALL = [
    Objective(cost, head_activation=activation)
    for cost in (*PAIR_COSTS, *LIST_COSTS)
    for activation in ("tanh", "identity")
    if (cost, activation) != ("cross_entropy", "identity")
]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost": "hing"}, r"cost 'hing' is unknown; did you mean 'hinge'\?"),
        ({"cost": 3}, "cost 3 is unknown"),
        ({"head_activation": "sigmoid"}, "head_activation 'sigmoid' is unknown; choose from 'identity'"),
        ({"pairs": "adjacend"}, r"pairs 'adjacend' is unknown; did you mean 'adjacent'\?"),
        ({"pair_weight": "delta_ncdg"}, r"pair_weight 'delta_ncdg' is unknown; did you mean 'delta_ndcg'\?"),
        ({"pair_weight": "delta_map@3"}, "only 'delta_ndcg' takes a cutoff"),
        ({"pair_weight": "delta_ndcg@0"}, "a whole number of at least 1"),
        ({"reduction": "mean"}, "reduction 'mean' is unknown; choose from 'queries', 'root', 'pairs', 'sum'"),
        ({"max_pairs": 0}, "max_pairs is 0; pass a whole number of at least 1, or None for all pairs"),
        ({"max_pairs": 2.5}, "max_pairs is 2.5"),
        ({"max_pairs": True}, "max_pairs is True"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"head_activation": "arcsinh"}, "with head_activation 'arcsinh' r is unbounded"),
        ({"head_activation": "identity"}, "with head_activation 'identity' r is unbounded; use"),
    ],
)
def test_options_are_validated_on_construction(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Objective(**options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": SCORES[:3]}, "scores have 3 rows, relevance has 4"),
        ({"scores": SCORES[:, None]}, r"scores have shape \(4, 1\)"),
        ({"offsets": [0, 3]}, "offsets go from 0 to 3"),
        ({"offsets": [0, 5, 4]}, "offsets decrease from 5 to 4"),
        ({"relevance": [1, 0, np.nan, 1]}, "label nan in row 2"),
        (
            {"query_weight": [1.0, 1.0]},
            r"query_weight has shape \(2,\); pass one weight per query",
        ),
        ({"query_weight": [-1.0]}, "query_weight is -1.0 for query 0"),
        ({"document_weight": [1, 1, np.inf, 1]}, "document_weight is inf for document 2"),
        ({"document_weight": [1, 1]}, r"pass one weight per document, shape \(4,\)"),
        ({"document_weight": list("abcd")}, "document_weight has values that are not numbers"),
    ],
)
@pytest.mark.parametrize("objective", [Objective(), Objective("listnet")], ids=str)
def test_arrays_are_validated_before_a_kernel_runs(
    objective: Objective, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        objective(**{"scores": SCORES, "relevance": LABELS, **arguments})


def test_integer_scores_raise() -> None:
    with pytest.raises(TypeError, match="scores have dtype int64; pass float32 or float64"):
        Objective()(np.array([1, 2]), [1, 0])
    with pytest.raises(ValueError, match=r"scores are torch.int64 of shape \(2,\)"):
        torch_objective(Objective(), torch.tensor([1, 2]), [1, 0])


def test_negative_labels_as_weights_raise() -> None:
    with pytest.raises(ValueError, match="label -1; the cost 'relevance_weighted' multiplies by labels"):
        Objective("relevance_weighted")(SCORES, [-1, 0, 1, 2])


@pytest.mark.parametrize("objective", ALL, ids=str)
def test_cost_is_zero_without_pairs(objective: Objective) -> None:
    for scores, labels, offsets in (
        ([], [], [0]),
        ([], [], [0, 0, 0]),
        ([0.5], [1], [0, 1]),
        ([0.5, 1.5, 2.5], [1, 1, 0], [0, 2, 2, 3]),
    ):
        result = objective(np.array(scores, dtype=np.float32), labels, offsets)
        assert (result.cost, result.n_pairs, result.n_queries) == (0, 0, 0)
        assert result.gradient.tolist() == [0] * len(scores)
        leaf = torch.tensor(scores, requires_grad=True)
        cost = torch_objective(objective, leaf, labels, offsets)
        (gradient,) = torch.autograd.grad(cost, leaf)
        assert cost.item() == 0
        assert gradient.tolist() == [0] * len(scores)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("objective", [*ALL, Objective(pair_weight="delta_map", max_pairs=2)], ids=str)
def test_non_finite_scores_make_the_cost_nan(objective: Objective, bad: float) -> None:
    scores = np.array([*SCORES, bad, 0.0, 1.0])
    result = objective(scores, [*LABELS, 1, 0, 2], [0, 4, 7], seed=0)
    assert np.isnan(result.cost)
    assert np.isfinite(result.gradient[:4]).all()
    assert np.isnan(result.gradient[4:]).all()
    assert torch_objective(objective, torch.tensor(scores), [*LABELS, 1, 0, 2], [0, 4, 7]).isnan()


@pytest.mark.parametrize("objective", ALL, ids=str)
def test_without_offsets_all_documents_are_one_query(objective: Objective) -> None:
    without, explicit = objective(SCORES, LABELS), objective(SCORES, LABELS, [0, 4])
    assert without.cost == explicit.cost


@pytest.mark.parametrize("objective", ALL, ids=str)
def test_arguments_are_not_modified(objective: Objective) -> None:
    arrays = [SCORES.copy(), LABELS.copy(), np.array([0, 4]), np.ones(1), np.ones(4)]
    for array in arrays:
        array.flags.writeable = False
    objective(*arrays[:3], query_weight=arrays[3], document_weight=arrays[4])
    np.testing.assert_array_equal(arrays[0], SCORES)


def test_means_are_weighted_means() -> None:
    labels, scores, offsets = [1, 0, 1, 0, 0], np.array([0.5, 0.0, 0.0, 1.0, 2.0]), [0, 2, 5]
    hinge: dict[str, Any] = {"cost": "hinge", "head_activation": "identity"}
    first, second, third = 0.5, 2.0, 3.0  # the costs of the three pairs
    expected = {
        "queries": (first + (second + third) / 2) / 2,
        "root": (first + 2**0.5 * (second + third) / 2) / (1 + 2**0.5),
        "pairs": (first + second + third) / 3,
        "sum": first + second + third,
    }
    for reduction, cost in expected.items():
        assert Objective(reduction=reduction, **hinge)(scores, labels, offsets).cost == pytest.approx(cost)
    weighted = Objective(**hinge)(scores, labels, offsets, query_weight=[3, 1])
    assert weighted.cost == pytest.approx((3 * first + (second + third) / 2) / 4)
    without_third = Objective(**hinge)(scores, labels, offsets, document_weight=[1, 1, 1, 1, 0])
    assert without_third.cost == pytest.approx((first + second) / 2)
    assert Objective(**hinge)(scores, labels, offsets, query_weight=[0, 0]).cost == 0


def test_custom_functions_match_named_ones() -> None:
    custom = Objective(
        lambda r, y_i, y_j: torch.relu(1 - r) * y_i / y_i,
        head_activation=lambda o: o / (1 + o.abs()),
        pair_weight=lambda pairs: pairs.y_i - pairs.y_j,
        pairs="adjacent",
    )
    named = Objective("hinge", head_activation="softsign", pair_weight="label_difference", pairs="adjacent")
    actual, expected = custom(SCORES, LABELS), named(SCORES, LABELS)
    assert actual.cost == pytest.approx(expected.cost, rel=1e-12)
    np.testing.assert_allclose(actual.gradient, expected.gradient, rtol=1e-12)
    assert actual.n_pairs == expected.n_pairs
    assert not custom.is_compiled
    assert custom(SCORES.astype(np.float32), LABELS).gradient.dtype == np.float32


def test_custom_activation_works_with_the_cross_entropy() -> None:
    custom = Objective(head_activation=lambda o: torch.tanh(o / 2))
    np.testing.assert_allclose(
        custom(SCORES, LABELS).gradient, Objective()(SCORES, LABELS).gradient, rtol=1e-12
    )


def test_custom_weights_are_constants_and_get_scores_and_ranks() -> None:
    seen: list[PairTensors] = []

    def weigh(pairs: PairTensors) -> torch.Tensor:
        seen.append(pairs)
        return parameter * torch.sigmoid(pairs.s_j - pairs.s_i)

    leaf, parameter = torch.tensor(SCORES, requires_grad=True), torch.ones(1, requires_grad=True)
    objective = Objective("hinge", head_activation="identity", pair_weight=weigh)
    torch_objective(objective, leaf, LABELS, [0, 4]).backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    assert parameter.grad is None
    pairs = seen[0]
    assert pairs.y_i.tolist() == [2, 2, 2, 1, 1]
    assert pairs.rank_i.tolist() == [3, 3, 3, 2, 2]
    assert sorted(pairs.rank_j.tolist()) == [1, 1, 2, 4, 4]
    assert pairs.query.tolist() == [0] * 5
    assert not pairs.s_i.requires_grad


def test_wrong_shapes_from_custom_functions_raise() -> None:
    with pytest.raises(ValueError, match=r"the cost has shape \(\) for 5 pairs; return one value per pair"):
        Objective(lambda r, y_i, y_j: (1 - r).sum())(SCORES, LABELS)
    with pytest.raises(ValueError, match=r"pair_weight has shape \(1,\) for 5 pairs"):
        Objective(pair_weight=lambda pairs: torch.ones(1))(SCORES, LABELS)


def test_labels_and_weights_may_be_tensors() -> None:
    options: dict[str, Any] = {"query_weight": torch.ones(1), "document_weight": torch.full((4,), 2.0)}
    scores = torch.tensor(SCORES)
    cost = torch_objective(Objective(), scores, torch.tensor(LABELS), torch.tensor([0, 4]), **options)
    assert cost.item() == pytest.approx(Objective()(SCORES, LABELS).cost, rel=1e-12)


def test_custom_tau_is_made_odd_in_training() -> None:
    def not_odd(x: torch.Tensor) -> torch.Tensor:
        return torch.where((x > -3.1425) & (x < -3.1405), 7 * torch.ones_like(x), torch.tanh(x))

    scores = np.array([0.0, 3.1415])
    named, custom = (Objective("squared", head_activation=tau)(scores, [1, 0]) for tau in ("tanh", not_odd))
    assert custom.cost == pytest.approx(named.cost)
    np.testing.assert_allclose(custom.gradient, named.gradient)
