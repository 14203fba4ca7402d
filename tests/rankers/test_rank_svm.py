"""RankSVM: compared with other solvers on explicit pairs and with closed forms; the gap is a bound."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from directranker import DataError, RankingDataset, Standard, TrainingWarning, example_dataset
from directranker.pairs import pair_table
from directranker.rankers import RankSVM
from directranker.rankers.rounds import RoundRecord


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    raw = example_dataset().select(range(12))
    return RankingDataset.from_arrays(Standard().fit_transform(raw.features), raw.relevance, qid=raw.qid)


def compute_pair_differences(data: RankingDataset, pairs: str = "all") -> tuple[Any, Any]:
    """Compute x_i − x_j of each pair of the unencoded data, and the query of the pair."""
    table = pair_table(data.relevance, data.offsets, pairs=pairs)
    X = data.features.astype(np.float64)
    return X[table.higher] - X[table.lower], table.query


def compute_literal_objective(
    coef: Any, data: RankingDataset, *, cost: str, alpha: float, weights: Any, pairs: str = "all"
) -> float:
    hinge = np.maximum(0, 1 - compute_pair_differences(data, pairs)[0] @ coef)
    return float(alpha / 2 * coef @ coef + weights @ (hinge**2 if cost == "squared_hinge" else hinge))


def compute_pair_weights(query: Any, reduction: str, query_weight: Any) -> Any:
    """Compute the weight of each pair in the objective."""
    counts = np.bincount(query)
    if reduction == "sum":
        return query_weight[query]
    if reduction == "pairs":
        return query_weight[query] / query_weight[query].sum()
    return query_weight[query] / counts[query] / query_weight[np.unique(query)].sum()


def fit_svm_on_pairs(differences: Any, weights: Any, alpha: float) -> Any:
    """Fit scikit-learn's SVM with the squared hinge to every pair in both directions."""
    both_ways, sides = np.concatenate([differences, -differences]), np.repeat([1, -1], len(differences))
    svm = LinearSVC(
        loss="squared_hinge", C=1 / alpha, fit_intercept=False, tol=1e-8, max_iter=10**5, dual=False
    )
    return svm.fit(both_ways, sides, sample_weight=np.tile(weights / 2, 2)).coef_[0]


def solve_dual_of_pairs(differences: Any, weights: Any, alpha: float) -> Any:
    """Solve the dual of the hinge: maximise Σ a − ‖Σ a (x_i − x_j)‖² / (2 alpha) with 0 ≤ a ≤ weight."""

    def compute_negative_dual(a: Any) -> tuple[float, Any]:
        weighted_sum = differences.T @ a
        return float(
            weighted_sum @ weighted_sum / (2 * alpha) - a.sum()
        ), differences @ weighted_sum / alpha - 1

    bounds = [(0, weight) for weight in weights]
    options = {"maxiter": 10**5, "maxfun": 10**6, "ftol": 0, "gtol": 1e-9, "maxcor": 50}
    result = minimize(
        compute_negative_dual, weights / 2, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return differences.T @ result.x / alpha


@pytest.mark.parametrize(
    ("cost", "oracle"), [("squared_hinge", fit_svm_on_pairs), ("hinge", solve_dual_of_pairs)]
)
@pytest.mark.parametrize(("reduction", "alpha"), [("sum", 5.0), ("pairs", 0.01), ("queries", 0.05)])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
def test_weights_equal_a_solver_on_explicit_pairs(
    cost: str, oracle: Any, reduction: str, alpha: float, pairs: str, data: RankingDataset
) -> None:
    few = data.select(range(4))
    query_weight = np.linspace(0.5, 2, few.n_queries)
    options: dict[str, Any] = {"cost": cost, "alpha": alpha, "reduction": reduction, "pairs": pairs}
    ranker = RankSVM(transform="none", tol=1e-6, **options).fit(few, sample_weight=query_weight)
    assert ranker.stopped_ == "converged"
    differences, query = compute_pair_differences(few, pairs)
    weights = compute_pair_weights(query, reduction, query_weight)
    expected = oracle(differences, weights, alpha)
    np.testing.assert_allclose(ranker.coef_, expected, atol=0.01 * np.abs(expected).max())
    ours, theirs = (
        compute_literal_objective(coef, few, cost=cost, alpha=alpha, weights=weights, pairs=pairs)
        for coef in (ranker.coef_, expected)
    )
    assert theirs * (1 - 1e-3) <= ours <= theirs * (1 + 1e-6)
    assert ranker.history_[-1].fitness == pytest.approx(-ours)


@pytest.mark.parametrize("cost", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("max_iter", [2, 4, 7])
def test_the_gap_bounds_the_distance_to_the_minimum(cost: str, max_iter: int, data: RankingDataset) -> None:
    options: dict[str, Any] = {"cost": cost, "alpha": 0.01, "transform": "none", "reduction": "pairs"}
    early = RankSVM(max_iter=max_iter, tol=1e-9, **options).fit(data)
    best = RankSVM(tol=1e-7, **options).fit(data)
    n_pairs = len(compute_pair_differences(data)[0])
    value, minimum = (
        compute_literal_objective(coef, data, cost=cost, alpha=0.01, weights=np.full(n_pairs, 1 / n_pairs))
        for coef in (early.coef_, best.coef_)
    )
    assert early.stopped_ == "max_iter"
    assert early.n_rounds_ == max_iter
    assert minimum <= value <= minimum * (1 + early.gap_)
    if np.isfinite(early.gap_):
        assert early.gap_ < 100 * (value / minimum - 1) + 1


@pytest.mark.parametrize("difference", [0.3, 2.0, 8.0])
def test_one_pair_by_hand(difference: float) -> None:
    X, y, alpha = [[difference], [0.0]], [1, 0], 0.5
    squared = RankSVM(transform="none", alpha=alpha, tol=1e-10).fit(X, y)
    assert squared.coef_[0] == pytest.approx(2 * difference / (alpha + 2 * difference**2), rel=1e-4)
    hinge = RankSVM(transform="none", alpha=alpha, tol=1e-6, cost="hinge").fit(X, y)
    assert hinge.coef_[0] == pytest.approx(min(difference / alpha, 1 / difference), rel=1e-2)


def test_row_weights_are_used(data: RankingDataset) -> None:
    weights = np.ones(data.n_documents)
    weights[::3] = 0.0
    kept = weights > 0
    exact: dict[str, Any] = {"transform": "none", "tol": 1e-8}
    weighted = RankSVM(**exact).fit(data, sample_weight=weights)
    left_out = RankSVM(**exact).fit(data.features[kept], data.relevance[kept], qid=data.qid[kept])
    np.testing.assert_allclose(weighted.coef_, left_out.coef_, rtol=1e-3, atol=1e-5)
    assert not np.allclose(weighted.coef_, RankSVM(**exact).fit(data).coef_, rtol=1e-2)


def test_callbacks_see_every_round_and_the_objective_decreases(data: RankingDataset) -> None:
    records: list[RoundRecord] = []
    ranker = RankSVM(callbacks=[records.append]).fit(data)
    assert records == ranker.history_
    assert ranker.n_rounds_ == len(records) > 3
    assert np.all(np.diff([record.fitness for record in records]) >= 0)
    assert ranker.gap_ <= 1e-4 < RankSVM(tol=0.1).fit(data).gap_ <= 0.1


def test_ctrl_c_keeps_the_current_weights(data: RankingDataset) -> None:
    def interrupt(record: RoundRecord) -> None:
        if record.round == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(TrainingWarning, match="interrupted in round 3"):
        ranker = RankSVM(callbacks=[interrupt]).fit(data)
    assert ranker.stopped_ == "interrupted"
    np.testing.assert_array_equal(ranker.coef_, RankSVM(max_iter=3).fit(data).coef_)


def test_identical_documents_get_zero_weights() -> None:
    same = np.repeat([[1.0, 1.0], [2.0, 2.0]], 3, axis=0)  # within each query
    ranker = RankSVM().fit(same, [0, 1, 2, 0, 1, 2], qid=[0, 0, 0, 1, 1, 1])
    assert ranker.coef_.tolist() == [0, 0]
    assert (ranker.gap_, ranker.n_rounds_, ranker.stopped_) == (0, 0, "converged")


def test_a_tolerance_below_floating_point_precision_warns() -> None:
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    with pytest.warns(TrainingWarning, match=r"stopped at gap_=.*, above tol=1e-17: .* use a larger"):
        ranker = RankSVM(cost="hinge", tol=1e-17).fit(X, y, qid=qid)
    assert ranker.stopped_ == "precision"
    assert 0 < ranker.gap_ < 1e-5  # of the best weights, not of the last


def test_missing_values_are_left_to_the_transform(data: RankingDataset) -> None:
    X = data.features.copy()
    X[::5, 1] = np.nan
    with pytest.raises(DataError, match="X has nan in row 0, column 1 after the transform Unchanged"):
        RankSVM(transform="none").fit(X, data.relevance, qid=data.qid)
    assert np.isfinite(RankSVM(transform="standard").fit(X, data.relevance, qid=data.qid).coef_).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost": "hing"}, "cost 'hing' is unknown; did you mean 'hinge'"),
        ({"cost": "cross_entropy"}, "cost 'cross_entropy' is unknown"),
        ({"alpha": 0.0}, "alpha is 0.0; give a number above 0"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"pairs": "some"}, "pairs 'some' is unknown"),
        ({"reduction": "mean"}, "reduction 'mean' is unknown"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"transform": "log"}, "transform 'log' is unknown"),
    ],
)
def test_invalid_parameters_raise(options: dict[str, Any], message: str, data: RankingDataset) -> None:
    with pytest.raises(ValueError, match=message):
        RankSVM(**options).fit(data)
