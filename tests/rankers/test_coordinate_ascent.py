"""CoordinateAscent: the weights of a literal ascent, and the effect of its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from directranker import DataError, RankingDataset, evaluate, example_dataset
from directranker.metrics import Metric
from directranker.rankers import CoordinateAscent

BASIC: dict[str, Any] = {"early_stopping": False, "transform": "none", "random_state": 0}


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(40))


def run_literal_ascent(data: RankingDataset, n_rounds: int, *, n_steps: int, initial_step: float) -> Any:
    """Run one ascent from equal weights; compute all scores from scratch for each candidate."""
    rng = np.random.default_rng((0, 13))
    features = data.features.astype(float)

    def fitness(weights: Any) -> float:
        return evaluate(
            data.relevance, features @ weights, offsets=data.offsets, metrics="map", convention="paper"
        )["map"]

    weights = np.full(data.n_features, 1 / data.n_features)
    best = fitness(weights)
    for _ in range(n_rounds):
        for number in rng.permutation(data.n_features):
            start, size = weights[number], max(abs(weights[number]), np.abs(weights).mean())
            total, candidates = 0.0, [0.0]
            for step in range(n_steps):
                total += initial_step * size * 2**step
                candidates.append(start + total)
            candidates += [2 * start - each for each in candidates[1:]]
            tried = []
            for candidate in candidates:
                weights[number] = candidate
                tried.append(fitness(weights))
            weights[number] = start
            if max(tried) > best + 1e-12:
                best, weights[number] = max(tried), candidates[int(np.argmax(tried))]
        weights /= np.abs(weights).sum()
    return weights, best


def test_weights_equal_the_literal_ascent(data: RankingDataset) -> None:
    weights, fitness = run_literal_ascent(data, 2, n_steps=4, initial_step=0.2)
    ranker = CoordinateAscent(
        **BASIC, metric="map", n_restarts=1, max_iter=2, n_steps=4, initial_step=0.2, tol=0.0
    ).fit(data)
    np.testing.assert_allclose(ranker.coef_, weights, rtol=1e-9)
    assert ranker.history_[-1].fitness == pytest.approx(fitness)
    assert (ranker.n_rounds_, ranker.best_round_, ranker.stopped_) == (2, 2, "max_iter")
    assert (ranker.coef_ != 1 / data.n_features).all()


def test_fitness_increases_and_the_best_ascent_is_kept(data: RankingDataset) -> None:
    ranker = CoordinateAscent(**BASIC, n_restarts=3, max_iter=3, tol=0.0).fit(data)
    fitness = [record.fitness for record in ranker.history_]
    assert ranker.n_rounds_ == 9
    for ascent in (fitness[:3], fitness[3:6], fitness[6:]):
        assert ascent == sorted(ascent)
    assert len({ascent[0] for ascent in (fitness[:3], fitness[3:6], fitness[6:])}) == 3
    assert ranker.best_round_ == int(np.argmax(fitness)) + 1
    assert np.abs(ranker.coef_).sum() == pytest.approx(1)
    scored = Metric.parse("ndcg@10:graded")(data.relevance, ranker.predict(data), offsets=data.offsets)
    assert scored == pytest.approx(max(fitness), abs=1e-3)


def test_every_parameter_has_an_effect(data: RankingDataset) -> None:
    def fit_weights(**parameters: Any) -> list[float]:
        quick = {"n_restarts": 1, "max_iter": 2, "n_steps": 3}
        coef: list[float] = CoordinateAscent(**BASIC | quick | parameters).fit(data).coef_.tolist()
        return coef

    expected = fit_weights()
    for parameters in (
        {"metric": "map"},
        {"max_iter": 1},
        {"n_steps": 6},
        {"initial_step": 0.5},
        {"step_factor": 3.0},
        {"transform": "standard"},
        {"random_state": 1},
        {"early_stopping": True},
    ):
        assert fit_weights(**parameters) != expected, parameters
    assert fit_weights() == expected


def test_an_ascent_stops_after_a_round_with_a_gain_below_tol(data: RankingDataset) -> None:
    ranker = CoordinateAscent(**BASIC, n_restarts=1, max_iter=50, tol=0.01).fit(data)
    fitness = [record.fitness for record in ranker.history_]
    assert 2 <= len(fitness) < 50
    assert ranker.stopped_ == "converged"
    assert min(np.diff(fitness)[:-1], default=1) >= 0.01 > fitness[-1] - fitness[-2]


def test_the_round_with_the_best_validation_metric_is_kept() -> None:
    train, vali = example_dataset().split(0.7, random_state=0)
    seen: list[float | None] = []
    ranker = CoordinateAscent(
        random_state=0, n_restarts=2, max_iter=3, callbacks=[lambda record: seen.append(record.metric)]
    ).fit(train.select(range(60)), eval_set=vali)
    assert None not in seen
    assert seen == [record.metric for record in ranker.history_]
    assert ranker.best_round_ == int(np.argmax(np.array(seen, dtype=float))) + 1
    best = max(record.metric or 0 for record in ranker.history_)
    scored = Metric.parse("ndcg@10:graded")(vali.relevance, ranker.predict(vali), offsets=vali.offsets)
    assert scored == pytest.approx(best, abs=1e-3)


def test_query_weights_are_used(data: RankingDataset) -> None:
    half = (np.arange(40) < 20).astype(float)
    parameters = BASIC | {"n_restarts": 1, "max_iter": 2}
    weighted = CoordinateAscent(**parameters).fit(data, sample_weight=half).coef_
    np.testing.assert_allclose(CoordinateAscent(**parameters).fit(data.select(range(20))).coef_, weighted)
    assert not np.allclose(CoordinateAscent(**parameters).fit(data).coef_, weighted)


def test_invalid_data_and_parameters_raise() -> None:
    X, qid = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) // 10
    with pytest.raises(DataError, match="no query counts under ndcg@10:paper"):
        CoordinateAscent(metric="ndcg@10").fit(X, np.arange(20) % 3 / 4, qid=qid)
    for parameter in ("n_restarts", "max_iter", "n_steps"):
        with pytest.raises(ValueError, match="give a whole number of at least 1"):
            CoordinateAscent().set_params(**{parameter: 0}).fit(X, np.arange(20) % 3, qid=qid)
    with pytest.raises(ValueError, match="initial_step is 0; give a number above 0"):
        CoordinateAscent(initial_step=0).fit(X, np.arange(20) % 3, qid=qid)


def test_a_negatively_correlated_feature_and_a_constant_one() -> None:
    y = np.arange(40) % 2
    X = np.column_stack([np.full(40, 3.0), -y.astype(float)])
    ranker = CoordinateAscent(random_state=0).fit(X, y, qid=np.arange(40) // 4)
    assert ranker.coef_[1] < 0
    assert ranker.score(X, y, qid=np.arange(40) // 4) == 1
