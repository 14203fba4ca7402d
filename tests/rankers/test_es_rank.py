"""ESRank and its variants: a literal evolution, initial weights, and the effect of parameters."""

from __future__ import annotations

import math
import signal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from directranker import DataError, Metric, RankingDataset, TrainingWarning, evaluate, example_dataset
from directranker.rankers import ESRank, IESRRank, IESVMRank, RankSVM
from directranker.rankers.linear import base as linear
from directranker.rankers.linear import evolution
from directranker.rankers.linear.evolution import STEP_DISTRIBUTIONS
from directranker.rankers.rounds import RoundRecord

QUICK: dict[str, Any] = {"n_generations": 60, "random_state": 0, "validation_fraction": None}


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(40))


def compute_literal_ndcg(labels: list[float], scores: list[float], k: int = 10) -> float:
    order = sorted(range(len(labels)), key=lambda row: -scores[row])
    gains = [float(labels[row] >= 1) for row in order]
    reached, best = (
        sum(gain / math.log2(rank + 2) for rank, gain in enumerate(one[:k]))
        for one in (gains, sorted(gains, reverse=True))
    )
    return reached / best if best else math.nan


def compute_literal_fitness(data: RankingDataset, weights: list[float]) -> float:
    values = []
    for start, stop in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        rows = range(start, stop)
        scores = [sum(w * float(x) for w, x in zip(weights, data.features[row], strict=True)) for row in rows]
        values.append(compute_literal_ndcg([float(data.relevance[row]) for row in rows], scores))
    return float(np.nanmean(values))


def run_literal_evolution(data: RankingDataset, steps: str, generations: int, seed: int) -> list[float]:
    rng = np.random.default_rng((seed, 13))
    parent = [1.0] * data.n_features
    fitness, again = compute_literal_fitness(data, parent), False
    for _ in range(generations):
        if not again:
            count = int(rng.integers(1, len(parent) + 1))
            columns = sorted(rng.choice(len(parent), count, replace=False))
            if steps == "gaussian":
                sizes = rng.standard_normal(count).tolist()
            else:
                exponents = [min(max(e, -5), 5) for e in rng.standard_cauchy(count)]
                sizes = [n * math.exp(e) for n, e in zip(rng.standard_normal(count), exponents, strict=True)]
        child = list(parent)
        for weight, size in zip(columns, sizes, strict=True):
            child[weight] += size
        child_fitness = compute_literal_fitness(data, child)
        again = child_fitness > fitness
        if again:
            parent, fitness = child, child_fitness
    return parent


@pytest.mark.parametrize("steps", ["gaussian", "cauchy"])
def test_weights_equal_the_literal_evolution(steps: str, data: RankingDataset) -> None:
    few = data.select(range(10))
    options: dict[str, Any] = {"metric": "ndcg@10", "transform": "none", "validation_fraction": None}
    ranker = ESRank(step_distribution=steps, n_generations=40, random_state=5, **options).fit(few)
    expected = run_literal_evolution(few, steps, 40, seed=5)
    np.testing.assert_allclose(ranker.coef_, expected, rtol=1e-9)
    assert ranker.history_[-1].fitness == pytest.approx(compute_literal_fitness(few, expected))
    assert ranker.best_round_ > 0


def test_successful_mutations_are_repeated(data: RankingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    mutations: list[Any] = []
    sample = evolution.sample_mutation

    def record_mutation(*arguments: Any) -> Any:
        mutations.append(sample(*arguments))
        return mutations[-1]

    monkeypatch.setattr(evolution, "sample_mutation", record_mutation)
    parents: list[Any] = []
    try_mutation = evolution.Parent.try_mutation

    def record_parent(self: Any, *change: Any) -> bool:
        before, success = self.coef, try_mutation(self, *change)
        parents.append((before, self.coef, change, success))
        return success

    monkeypatch.setattr(evolution.Parent, "try_mutation", record_parent)
    ESRank(**QUICK).fit(data)
    failures = sum(not success for *_, success in parents[:-1])
    assert 0 < failures < len(parents) - 2
    assert len(mutations) == 1 + failures
    for (_, _, change, success), (before, after, next_change, next_success) in pairwise(parents):
        assert (next_change[1] is change[1]) == success
        moved = before.copy()
        moved[next_change[0]] += next_change[1]
        np.testing.assert_array_equal(after, moved if next_success else before)


@pytest.mark.parametrize("kind", [ESRank, IESRRank, IESVMRank])
@pytest.mark.parametrize("metric", ["ndcg@10", "map", "p@5:graded", "recall@5", Metric("err", 10)])
def test_fitness_never_decreases_and_equals_the_metric(kind: Any, metric: Any, data: RankingDataset) -> None:
    ranker = kind(metric=metric, **QUICK).fit(data)
    fitness = [record.fitness for record in ranker.history_]
    assert np.all(np.diff(fitness) >= 0)
    assert fitness[-1] > fitness[0]
    scores = ranker.transform_.transform(data.features) @ ranker.coef_
    values = evaluate(data.relevance, scores, offsets=data.offsets, metrics=metric, convention="paper")
    assert fitness[-1:] == pytest.approx(list(values.values()))
    start = kind(metric=metric, **(QUICK | {"n_generations": 0})).fit(data)
    assert ranker.best_round_ == 1 + int(np.argmax(fitness))
    assert start.n_rounds_ == start.best_round_ == 0
    assert start.history_ == []


def test_initial_weights(data: RankingDataset) -> None:
    start: dict[str, Any] = {"n_generations": 0, "transform": "standard", "validation_fraction": None}
    equal = ESRank(**start).fit(data)
    np.testing.assert_array_equal(equal.coef_, np.ones(data.n_features))
    X = equal.transform_.transform(data.features).astype(np.float64)
    weights = np.linspace(0, 2, data.n_documents)
    regression = LinearRegression().fit(X, data.relevance, sample_weight=weights).coef_
    ours = IESRRank(**start).fit(data, sample_weight=weights).coef_
    np.testing.assert_allclose(ours, regression / np.abs(regression).mean(), rtol=1e-5)
    svm = RankSVM(transform="standard").fit(data).coef_
    np.testing.assert_allclose(IESVMRank(**start).fit(data).coef_, svm / np.abs(svm).mean(), rtol=1e-9)


def test_collinear_regression_has_the_smallest_norm() -> None:
    rng = np.random.default_rng(0)
    column = rng.normal(size=(30, 1))
    X = np.hstack([column, column, np.full((30, 1), 3.0), rng.normal(size=(30, 1))])
    ranker = IESRRank(n_generations=0, transform="none", validation_fraction=None)
    coef = ranker.fit(X, (column[:, 0] > 0) * 2.0).coef_
    assert coef[0] == pytest.approx(coef[1])
    assert abs(coef[2]) < 1e-6


def test_every_parameter_has_an_effect(data: RankingDataset) -> None:
    expected = ESRank(**QUICK).fit(data)
    changes: list[dict[str, Any]] = [
        {"metric": "map"},
        {"init": "regression"},
        {"init": "svm"},
        {"step_distribution": "gaussian"},
        {"step_distribution": "levy"},
        {"n_generations": 30},
        {"patience": 4},
        {"validation_fraction": 0.4},
        {"transform": "signed-log"},
        {"random_state": 1},
    ]
    for change in changes:
        other = ESRank(**(QUICK | change)).fit(data)
        assert not np.array_equal(other.coef_, expected.coef_), change
    held_out = ESRank(**(QUICK | {"validation_fraction": 0.4})).fit(data)
    assert [type(record.metric) for record in held_out.history_] == [float] * 60
    assert ESRank(**QUICK, patience=4).fit(data).stopped_ == "early_stopping"
    assert expected.stopped_ == "max_iter"


def test_the_parent_with_the_best_validation_metric_is_kept() -> None:
    train, vali = example_dataset().select(range(60)).split(0.5, random_state=0)
    options: dict[str, Any] = {"metric": "ndcg@10", "random_state": 0, "transform": "none"}
    options["validation_fraction"] = None
    ranker = ESRank(n_generations=300, **options).fit(train, eval_set=vali)
    metrics = [record.metric for record in ranker.history_]
    assert ranker.best_round_ == 1 + int(np.argmax(metrics))  # type: ignore[arg-type]
    assert ranker.history_[-1].fitness > ranker.history_[ranker.best_round_ - 1].fitness
    assert ranker.score(vali) == pytest.approx(max(metrics), abs=1e-4)  # type: ignore[type-var]
    shorter = ESRank(n_generations=ranker.best_round_, **options).fit(train)
    np.testing.assert_array_equal(ranker.coef_, shorter.coef_)


def test_the_initial_weights_are_kept_if_no_child_improves_the_validation_metric(
    data: RankingDataset,
) -> None:
    first_column = data.features[:, :1]
    X = np.hstack([first_column, -first_column])
    y = (first_column[:, 0] > np.median(first_column)) * 1.0
    start: dict[str, Any] = {"transform": "none", "random_state": 0}
    ranker = ESRank(**start, n_generations=20).fit(X, y, qid=data.qid, eval_set=(X, 1 - y, data.qid))
    assert ranker.history_[-1].fitness > ranker.history_[0].fitness or ranker.best_round_ == 0
    np.testing.assert_array_equal(ranker.coef_, [1, 1])


def test_query_weights_are_used_in_the_fitness(data: RankingDataset) -> None:
    some = np.arange(data.n_queries) % 2 == 0
    options: dict[str, Any] = QUICK | {"transform": "none"}
    for kind in (ESRank, IESRRank):
        alone = kind(**options).fit(data.select(np.flatnonzero(some)))
        weighted = kind(**options).fit(data, sample_weight=some.astype(float))
        np.testing.assert_allclose(weighted.coef_, alone.coef_, rtol=1e-6)
    rng = np.random.default_rng(0)
    per_row = rng.uniform(size=data.n_documents)
    means = [per_row[a:b].mean() for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)]
    by_rows = ESRank(**options).fit(data, sample_weight=per_row)
    by_means = ESRank(**options).fit(data, sample_weight=means)
    np.testing.assert_allclose(by_rows.coef_, by_means.coef_)


@pytest.mark.parametrize("transform", ["none", "standard", "query-z-score"])
def test_row_order_and_blocks_do_not_matter(
    transform: str, data: RankingDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = QUICK | {"transform": transform, "validation_fraction": 0.3}
    whole = ESRank(**options).fit(data)
    position = np.concatenate([np.arange(n) for n in np.diff(data.offsets)])
    interleaved = np.lexsort((data.qid, position))  # the first of each query, the second of each, …
    X, y, qid = data.features[interleaved], data.relevance[interleaved], data.qid[interleaved]
    np.testing.assert_allclose(ESRank(**options).fit(X, y, qid=qid).coef_, whole.coef_, rtol=1e-6)
    monkeypatch.setattr(linear, "ROWS_PER_BLOCK", 50)
    np.testing.assert_array_equal(ESRank(**options).fit(data).coef_, whole.coef_)


def test_ctrl_c_keeps_the_current_parent(data: RankingDataset) -> None:
    def interrupt(record: RoundRecord) -> None:
        if record.round == 9:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(TrainingWarning, match="interrupted in round 9"):
        ranker = ESRank(**QUICK, callbacks=[interrupt]).fit(data)
    assert (ranker.stopped_, ranker.n_rounds_) == ("interrupted", 9)
    np.testing.assert_array_equal(ranker.coef_, ESRank(**(QUICK | {"n_generations": 9})).fit(data).coef_)


@pytest.mark.parametrize("kind", [ESRank, IESRRank, IESVMRank])
def test_degenerate_data(kind: Any) -> None:
    same = np.repeat([[1.0, 1.0], [2.0, 2.0]], 3, axis=0)  # within each query
    constant = kind(**QUICK).fit(same, [0, 1, 2, 0, 1, 2], qid=[0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(constant.coef_, [1, 1])
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(20, 3)), np.zeros(20), np.repeat([0, 1, 2, 3], [1, 9, 9, 1])
    y[:3] = 1  # one query with one document, one with two classes, two without a relevant document
    X[:3, 0] = 9.0
    ranker = kind(**QUICK).fit(X, y, qid=qid)
    assert np.isfinite(ranker.coef_).all()
    assert ranker.history_[-1].fitness == 1


def test_missing_values_are_left_to_the_transform(data: RankingDataset) -> None:
    X = data.features.copy()
    X[::5, 1] = np.nan
    with pytest.raises(DataError, match="X has nan in row 0, column 1 after the transform Unchanged"):
        ESRank(**QUICK, transform="none").fit(X, data.relevance, qid=data.qid)
    ESRank(**QUICK, transform="standard").fit(X, data.relevance, qid=data.qid)


def test_labels_with_a_constant_metric(data: RankingDataset) -> None:
    small = data.relevance / 10
    binary = ESRank(**QUICK, metric="ndcg@10")
    for labels, reason in ((small, "no query counts"), (data.relevance + 1, "every order of the documents")):
        with pytest.raises(DataError, match=f"{reason} .*under ndcg@10:paper"):
            binary.fit(data.features, labels, qid=data.qid)
        with pytest.warns(TrainingWarning, match=f"early stopping is off: eval_set: {reason}"):
            binary.fit(data, eval_set=(data.features, labels, data.qid))
        ESRank(**QUICK).fit(data.features, labels, qid=data.qid)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "zero"}, "init 'zero' is unknown"),
        ({"step_distribution": "caushy"}, "step_distribution 'caushy' is unknown; did you mean 'cauchy'"),
        ({"n_generations": -1}, "generations is -1"),
        ({"patience": 0}, "patience is 0"),
        ({"validation_fraction": 1.5}, "validation_fraction is 1.5"),
        ({"metric": "ndgc"}, "measure 'ndgc' is unknown; did you mean 'ndcg'"),
        ({"random_state": -3}, "random_state is -3"),
        ({"random_state": 10**30}, "random_state is 10+; give None, a whole number from 0 to"),
        ({"random_state": "x"}, "random_state is 'x'; give None, a whole number"),
    ],
)
def test_invalid_parameters_raise(options: dict[str, Any], message: str, data: RankingDataset) -> None:
    with pytest.raises(ValueError, match=message):
        ESRank(**options).fit(data)


@pytest.mark.parametrize("name", STEP_DISTRIBUTIONS)
def test_steps_are_symmetric_and_bounded(name: str) -> None:
    sizes = STEP_DISTRIBUTIONS[name](np.random.default_rng(0), 100_000)
    assert np.isfinite(sizes).all()
    assert np.median(sizes) == pytest.approx(0, abs=0.02)
    far = np.mean(np.abs(sizes) > 10)
    assert (far == 0) == (name == "gaussian")
    assert np.abs(sizes).max() <= 6 * math.exp(5)


def test_levy_steps_have_the_right_tail_index() -> None:
    sizes = np.abs(STEP_DISTRIBUTIONS["levy"](np.random.default_rng(0), 10**6))
    tail_fractions = [np.mean(sizes > bound) for bound in (10, 80)]
    assert tail_fractions[0] / tail_fractions[1] == pytest.approx(8**1.5, rel=0.1)
    beta = 1.5
    sigma = math.gamma(1 + beta) * math.sin(math.pi * beta / 2)
    sigma /= math.gamma((1 + beta) / 2) * beta * 2 ** ((beta - 1) / 2)
    assert sigma ** (1 / beta) == pytest.approx(0.6965745, rel=1e-6)
