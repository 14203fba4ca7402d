"""No score comes from where it must not: labels that say nothing give chance, and the test part stays unseen.

Every ranker goes through the comparison itself: folds, search, early stopping, final training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from directranker import Fold, RankingDataset, evaluate_per_query
from directranker.experiments.comparison import compare_rankers
from directranker.experiments.protocol import make_folds
from directranker.experiments.results import Comparison
from directranker.rankers.registry import registered

METRIC = "ndcg@10"
N_QUERIES, N_DOCUMENTS = 90, 12
QUICK: dict[str, dict[str, list[Any]]] = {
    "DirectRanker-paper": {"max_steps": [60], "early_stopping": [True, False]},
    "DirectRanker": {"max_epochs": [8], "hidden_layers": [(128,), (256,)]},
    "RankNet": {"max_epochs": [8], "learning_rate": [0.01, 0.05]},
    "ListNet": {"max_epochs": [8], "learning_rate": [0.01], "hidden_layers": [(8,), (16,)]},
    "LambdaMART": {"n_estimators": [30], "num_leaves": [3, 7]},
    "AdaRank": {"max_iter": [50], "tol": [0.0, 0.002]},
    "ESRank": {"n_generations": [100, 200]},
    "IESRRank": {"n_generations": [50, 100]},
    "IESVMRank": {"n_generations": [50, 100]},
    "LambdaDirectRanker": {"max_epochs": [8], "dropout": [0.0, 0.5]},
    "CoordinateAscent": {"n_restarts": [1, 2], "max_iter": [3]},
    "RankSVM": {"alpha": [0.03, 0.3]},
    "Ensemble": {"n_estimators": [2], "ranker__max_epochs": [4, 8]},
}


def made_up(rng: np.random.Generator) -> RankingDataset:
    """Binary labels that three of six features tell something about."""
    n = N_QUERIES * N_DOCUMENTS
    relevance = np.tile(np.arange(N_DOCUMENTS) < 3, N_QUERIES).astype(float)
    features = rng.normal(size=(n, 6))
    features[:, :3] += 0.6 * relevance[:, None]
    return RankingDataset.from_arrays(features, relevance, qid=np.repeat(np.arange(N_QUERIES), N_DOCUMENTS))


def permuted(data: RankingDataset, rng: np.random.Generator) -> RankingDataset:
    """The same labels in another order within each query."""
    relevance = rng.permuted(data.relevance.reshape(N_QUERIES, N_DOCUMENTS), axis=1).ravel()
    return replace(data, relevance=relevance)


def with_column(
    part: RankingDataset, told: Callable[[RankingDataset], Any], rng: np.random.Generator
) -> RankingDataset:
    """The part with one more feature: a random number per query, plus what is told."""
    per_query = np.repeat(rng.normal(0, 0.5, part.n_queries), np.diff(part.offsets))
    column = (per_query + told(part)).astype(np.float32)
    return replace(part, features=np.column_stack([part.features, column]), feature_names=())


def compared(folds: list[Fold], rankers: str = "all") -> Comparison:
    return compare_rankers(
        folds, rankers=rankers, grid=QUICK, metrics=[METRIC], inner_folds="validation", seeds=1, workers=1
    )


def per_query(comparison: Comparison) -> dict[str, np.ndarray[Any, Any]]:
    return {name: np.array(values, dtype=float) for name, values in comparison.per_query[0].values.items()}


@pytest.fixture(scope="module")
def of_permuted_labels() -> tuple[list[Fold], Comparison]:
    rng = np.random.default_rng(5)
    folds = make_folds(permuted(made_up(rng), rng), n_folds=3)
    return folds, compared(folds)


def label(part: RankingDataset) -> Any:
    return part.relevance


def opposite(part: RankingDataset) -> Any:
    return 1 - part.relevance


def noise(part: RankingDataset) -> Any:
    return np.random.default_rng(part.n_queries).permutation(part.relevance)


def told_by_the_last_feature(of_train: Callable[..., Any], of_test: Callable[..., Any]) -> list[Fold]:
    rng = np.random.default_rng(6)
    return [
        Fold(
            fold.name,
            with_column(fold.train, of_train, rng),
            with_column(fold.validation, of_train, rng),
            with_column(fold.test, of_test, rng),
        )
        for fold in make_folds(made_up(rng), n_folds=3)
    ]


@pytest.fixture(scope="module")
def by_what_the_test_part_tells() -> dict[str, Comparison]:
    """The last feature is noise in what is learnt from, and tells something in the test part alone."""
    return {
        told.__name__: compared(told_by_the_last_feature(noise, told)) for told in (noise, label, opposite)
    }


@pytest.mark.parametrize("ranker", registered())
def test_permuted_labels_give_chance(ranker: str, of_permuted_labels: tuple[list[Fold], Comparison]) -> None:
    folds, comparison = of_permuted_labels
    chance = np.concatenate(
        [
            evaluate_per_query(
                fold.test.relevance,
                np.zeros(fold.test.n_documents),
                offsets=fold.test.offsets,
                metrics=METRIC,
                convention="paper",
            )[METRIC]
            for fold in folds
        ]
    )
    above = per_query(comparison)[ranker] - chance
    assert len(above) == N_QUERIES
    assert abs(above.mean()) < 3 * above.std(ddof=1) / np.sqrt(len(above))


@pytest.mark.parametrize("ranker", registered())
def test_the_labels_of_the_test_part_raise_no_score(
    ranker: str, by_what_the_test_part_tells: dict[str, Comparison]
) -> None:
    scores = {told: per_query(one)[ranker].mean() for told, one in by_what_the_test_part_tells.items()}
    assert scores["noise"] > 0.65  # it has learnt what there is to learn; chance is 0.46
    # A weight that noise happened to get wins by the labels what it loses by their opposite; a ranker that
    # had seen either would gain by both.
    assert (scores["label"] + scores["opposite"]) / 2 < scores["noise"] + 0.03


@pytest.mark.parametrize("ranker", registered())
def test_nothing_is_chosen_by_the_test_part(
    ranker: str, by_what_the_test_part_tells: dict[str, Comparison]
) -> None:
    chosen = [
        [fold.parameters for fold in result.by(METRIC).folds]
        for comparison in by_what_the_test_part_tells.values()
        for result in comparison.rankers
        if result.ranker == ranker
    ]
    assert chosen[0] == chosen[1] == chosen[2]


def test_rankers_that_have_seen_such_a_feature_would_be_told() -> None:
    for told in (label, opposite):
        comparison = compared(told_by_the_last_feature(told, told), "RankSVM,LambdaMART")
        for values in per_query(comparison).values():
            assert values.mean() > 0.9
