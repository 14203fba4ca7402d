"""AdaRank: the features and weights of the published algorithm, and the effect of its parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from directranker import DataError, RankingDataset, TrainingWarning, example_dataset
from directranker.metrics import Metric
from directranker.rankers import AdaRank


def make_published(**parameters: Any) -> AdaRank:
    return AdaRank.published(**{"metric": "ndcg@10", "transform": "none", **parameters})


def make_queries(seed: int, n_queries: int = 12, n_features: int = 6) -> RankingDataset:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(2, 9, n_queries))
    relevance = rng.integers(0, 3, len(qid))
    slopes = 0.5 * np.cos(np.arange(n_features))  # some features are negatively correlated with relevance
    features = rng.normal(size=(len(qid), n_features)) + slopes * relevance[:, None]
    return RankingDataset.from_arrays(features, relevance, qid=qid)


def run_literal_adarank(
    data: RankingDataset, n_rounds: int, *, cumulative: bool = False, negative: bool = False
) -> tuple[list[int], list[float]]:
    """Run the published algorithm literally; scores must have no ties."""
    queries = [q for q in range(data.n_queries) if (get_gains(data, q) > 0).any()]

    def e(scores: Any, query: int) -> float:
        return compute_ndcg_at_10(
            get_gains(data, query), scores[data.offsets[query] : data.offsets[query + 1]]
        )

    columns = [data.features[:, k].astype(float) for k in range(data.n_features)]
    columns += [-column for column in columns] if negative else []
    weights = {q: 1 / len(queries) for q in queries}
    scores = np.zeros(data.n_documents)
    selected, alphas = [], []
    for _ in range(n_rounds):
        strengths = [sum(weights[q] * e(column, q) for q in queries) for column in columns]
        candidate = max(range(len(columns)), key=strengths.__getitem__)
        above = sum(weights[q] * (1 + e(columns[candidate], q)) for q in queries)
        below = sum(weights[q] * (1 - e(columns[candidate], q)) for q in queries)
        alpha = 0.5 * math.log(above / below)
        scores = scores + alpha * columns[candidate]
        for q in queries:
            weights[q] = (
                weights[q] * math.exp(-alpha * e(scores, q)) if cumulative else math.exp(-e(scores, q))
            )
        total = sum(weights.values())
        weights = {q: weight / total for q, weight in weights.items()}
        selected.append(candidate % data.n_features)
        alphas.append(alpha if candidate < data.n_features else -alpha)
    return selected, alphas


def get_gains(data: RankingDataset, query: int) -> Any:
    return (data.relevance[data.offsets[query] : data.offsets[query + 1]] >= 1).astype(float)


def compute_ndcg_at_10(gains: Any, scores: Any) -> float:
    discounts = 1 / np.log2(np.arange(2, 12))
    ranked, best = gains[np.argsort(-scores)][:10], np.sort(gains)[::-1][:10]
    return float(ranked @ discounts[: len(ranked)] / (best @ discounts[: len(best)]))


@pytest.mark.parametrize("parameters", [{}, {"cumulative": True}, {"cumulative": True, "negative": True}])
@pytest.mark.parametrize("seed", range(5))
def test_features_and_alphas_equal_the_literal_algorithm(seed: int, parameters: dict[str, Any]) -> None:
    data = make_queries(seed)
    selected, alphas = run_literal_adarank(data, 8, **parameters)
    ranker = make_published(max_iter=8, **parameters).fit(data)
    assert ranker.features_.tolist() == selected
    np.testing.assert_allclose(ranker.alphas_, alphas, rtol=1e-9)
    expected = [
        sum(a for s, a in zip(selected, alphas, strict=True) if s == k) for k in range(data.n_features)
    ]
    np.testing.assert_allclose(ranker.coef_, expected, rtol=1e-9, atol=1e-12)
    assert len(ranker.history_) == ranker.n_rounds_ == ranker.best_round_ == 8
    assert ranker.stopped_ == "max_iter"


def test_the_literal_cases_use_several_features() -> None:
    selected = [run_literal_adarank(make_queries(seed), 8, cumulative=True)[0] for seed in range(5)]
    assert max(len(set(each)) for each in selected) > 2
    negative = [run_literal_adarank(make_queries(s), 8, cumulative=True, negative=True)[1] for s in range(5)]
    assert any(alpha < 0 for alphas in negative for alpha in alphas)


def test_the_published_algorithm_may_repeat_a_feature_and_max_consecutive_prevents_it() -> None:
    data = make_queries(0)
    assert len(set(make_published(max_iter=30).fit(data).features_)) == 1
    varied = make_published(max_consecutive=2, max_iter=30).fit(data).features_
    assert len(set(varied)) > 1
    for start in range(len(varied) - 2):
        assert len(set(varied[start : start + 3])) > 1


def test_tol_rejects_features_that_lower_the_metric() -> None:
    data = example_dataset().select(range(60))
    parameters: dict[str, Any] = {"cumulative": True, "max_iter": 60}
    without_tol = [record.fitness for record in make_published(**parameters).fit(data).history_]
    assert min(np.diff(without_tol)) <= -0.01
    with_tol = make_published(**parameters, tol=0.01).fit(data)
    fitness = [record.fitness for record in with_tol.history_]
    assert min(np.diff(fitness)) > -0.01
    assert len(with_tol.features_) < with_tol.n_rounds_ == len(with_tol.history_)
    with pytest.warns(TrainingWarning, match="kept no feature"):
        rejected = make_published(**parameters, tol=-1.0).fit(data)  # rejects every feature
    assert rejected.stopped_ == "converged"
    assert rejected.n_rounds_ == data.n_features
    assert not rejected.coef_.any()


def test_early_stopping_keeps_the_best_round() -> None:
    train, vali = example_dataset().split(0.7, random_state=0)
    seen: list[int] = []
    parameters: dict[str, Any] = {"cumulative": True, "early_stopping": True}
    ranker = make_published(
        **parameters, patience=7, callbacks=[lambda record: seen.append(record.round)]
    ).fit(train, eval_set=vali)
    assert all(record.metric is not None for record in ranker.history_)
    measured = [record.metric or 0.0 for record in ranker.history_]
    assert ranker.best_round_ == int(np.argmax(measured)) + 1 == len(ranker.features_)
    assert ranker.n_rounds_ == ranker.best_round_ + 7 == seen[-1]
    assert ranker.stopped_ == "early_stopping"
    assert Metric.parse("ndcg@10:paper")(
        vali.relevance, ranker.predict(vali), offsets=vali.offsets
    ) == pytest.approx(max(measured), abs=1e-4)
    held_out = make_published(**parameters, random_state=0).fit(train)
    other = make_published(**parameters, random_state=1).fit(train)
    assert held_out.history_[0].metric is not None
    assert held_out.history_[0].fitness != other.history_[0].fitness


def test_the_metric_changes_the_ranker() -> None:
    data = example_dataset().select(range(60))
    by_metric = [
        AdaRank(metric=metric, random_state=0, early_stopping=False, max_iter=20).fit(data).alphas_[0]
        for metric in ("ndcg@10", "map", "ndcg@10:graded", Metric("precision", 3))
    ]
    assert len(set(by_metric)) == 4
    with pytest.raises(ValueError, match="metric is dcg, which has no upper bound"):
        AdaRank(metric="dcg@10").fit(data)


def test_query_weights_are_used() -> None:
    data = make_queries(3, n_queries=20)
    half = (np.arange(20) < 10).astype(float)
    parameters: dict[str, Any] = {"cumulative": True, "max_iter": 10}
    weighted = make_published(**parameters).fit(data, sample_weight=half)
    alone = make_published(**parameters).fit(data.select(range(10)))
    assert weighted.features_.tolist() == alone.features_.tolist()
    np.testing.assert_allclose(weighted.alphas_, alone.alphas_)
    per_row = make_published(**parameters).fit(data, sample_weight=np.repeat(half, np.diff(data.offsets)))
    np.testing.assert_allclose(per_row.coef_, weighted.coef_)
    assert not np.allclose(make_published(**parameters).fit(data).coef_, weighted.coef_)


def test_queries_without_a_relevant_document_are_ignored() -> None:
    data = make_queries(4)
    rng = np.random.default_rng(0)
    qid = np.concatenate([data.qid, np.repeat([100, 101], 6)])
    features = np.concatenate([data.features, rng.normal(size=(12, data.n_features)).astype(np.float32)])
    relevance = np.concatenate([data.relevance, np.zeros(12)])
    parameters: dict[str, Any] = {"cumulative": True, "max_iter": 10}
    with_irrelevant = make_published(**parameters).fit(features, relevance, qid=qid)
    np.testing.assert_allclose(with_irrelevant.coef_, make_published(**parameters).fit(data).coef_)


def test_invalid_training_data_raises() -> None:
    X, qid = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) // 10
    fractions = np.arange(20) % 3 / 4
    X[:, 0] += 8 * fractions
    with pytest.raises(DataError, match=r"^no query counts under ndcg@10:paper"):
        AdaRank(metric="ndcg@10").fit(X, fractions, qid=qid)
    AdaRank().fit(X, fractions, qid=qid)
    with pytest.warns(TrainingWarning, match="early stopping is off: eval_set: no query counts"):
        AdaRank(metric="ndcg@10").fit(X, np.arange(20) % 3, qid=qid, eval_set=(X, fractions, qid))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="X has nan in row 3, column 1 after the transform"):
        AdaRank(transform="none").fit(X, np.arange(20) % 3, qid=qid)
    for parameter in ("max_iter", "max_consecutive", "patience"):
        with pytest.raises(ValueError, match="give a whole number of at least 1"):
            AdaRank().set_params(**{parameter: 0}).fit(np.nan_to_num(X), np.arange(20) % 3, qid=qid)


def test_a_perfect_feature_and_a_constant_one() -> None:
    y = np.arange(20) % 2
    X = np.column_stack([np.full(20, 3.0), y])
    ranker = AdaRank(random_state=0).fit(X, y, qid=np.arange(20) // 4)
    assert set(ranker.features_) == {1}
    assert np.isfinite(ranker.coef_).all()
    assert ranker.score(X, y, qid=np.arange(20) // 4) == 1


def test_without_a_useful_feature_there_is_a_warning() -> None:
    X, y, qid = np.arange(12.0)[:, None], np.tile([2, 1, 0], 4), np.repeat(np.arange(4), 3)
    ranker = AdaRank(early_stopping=False)
    with pytest.warns(TrainingWarning, match="kept no feature, so all 1 weights are 0 .*negative=True"):
        assert ranker.fit(X, y, qid=qid).coef_.tolist() == [0]
    assert ranker.set_params(negative=True).fit(X, y, qid=qid).coef_[0] < 0
