"""No leakage: permuted labels give chance, and the test split does not influence training.

Every ranker runs through the comparison itself: folds, search, early stopping, final fit.
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
from directranker.rankers.registry import load_registry

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
    # Selecting the encoding and training the teacher is the same as without an ensemble, and takes long.
    "Ensemble": {
        "n_estimators": [2],
        "ranker__max_epochs": [4, 8],
        "ranker__transform": ["standard"],
        "ranker__teacher": [None],
    },
}


def make_data(rng: np.random.Generator) -> RankingDataset:
    """Make binary labels and six features, three of which are informative."""
    n = N_QUERIES * N_DOCUMENTS
    relevance = np.tile(np.arange(N_DOCUMENTS) < 3, N_QUERIES).astype(float)
    features = rng.normal(size=(n, 6))
    features[:, :3] += 0.6 * relevance[:, None]
    return RankingDataset.from_arrays(features, relevance, qid=np.repeat(np.arange(N_QUERIES), N_DOCUMENTS))


def permute_labels(data: RankingDataset, rng: np.random.Generator) -> RankingDataset:
    """Permute the labels within each query."""
    relevance = rng.permuted(data.relevance.reshape(N_QUERIES, N_DOCUMENTS), axis=1).ravel()
    return replace(data, relevance=relevance)


def append_feature(
    split: RankingDataset, leak: Callable[[RankingDataset], Any], rng: np.random.Generator
) -> RankingDataset:
    """Append a feature: a random number per query, plus the leak."""
    per_query = np.repeat(rng.normal(0, 0.5, split.n_queries), np.diff(split.offsets))
    column = (per_query + leak(split)).astype(np.float32)
    return replace(split, features=np.column_stack([split.features, column]), feature_names=())


def compare(folds: list[Fold], rankers: str = "all") -> Comparison:
    return compare_rankers(
        folds, rankers=rankers, grid=QUICK, metrics=[METRIC], inner_folds="validation", seeds=1, workers=1
    )


def values_per_query(comparison: Comparison) -> dict[str, np.ndarray[Any, Any]]:
    return {name: np.array(values, dtype=float) for name, values in comparison.per_query[0].values.items()}


@pytest.fixture(scope="module")
def permuted_comparison() -> tuple[list[Fold], Comparison]:
    rng = np.random.default_rng(5)
    folds = make_folds(permute_labels(make_data(rng), rng), n_folds=3)
    return folds, compare(folds)


def label(split: RankingDataset) -> Any:
    return split.relevance


def opposite(split: RankingDataset) -> Any:
    return 1 - split.relevance


def noise(split: RankingDataset) -> Any:
    return np.random.default_rng(split.n_queries).permutation(split.relevance)


def make_leaky_fold(of_train: Callable[..., Any], of_test: Callable[..., Any]) -> list[Fold]:
    rng = np.random.default_rng(6)
    fold = make_folds(make_data(rng), n_folds=3)[0]
    return [
        Fold(
            fold.name,
            append_feature(fold.train, of_train, rng),
            append_feature(fold.validation, of_train, rng),
            append_feature(fold.test, of_test, rng),
        )
    ]


@pytest.fixture(scope="module")
def comparisons_by_leak() -> dict[str, Comparison]:
    """Compare on folds whose last feature is noise in training, and leaks labels on the test split only."""
    return {leak.__name__: compare(make_leaky_fold(noise, leak)) for leak in (noise, label, opposite)}


@pytest.mark.parametrize("ranker", load_registry())
def test_permuted_labels_give_chance(ranker: str, permuted_comparison: tuple[list[Fold], Comparison]) -> None:
    folds, comparison = permuted_comparison
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
    above = values_per_query(comparison)[ranker] - chance
    assert len(above) == N_QUERIES
    assert abs(above.mean()) < 3 * above.std(ddof=1) / np.sqrt(len(above))


@pytest.mark.parametrize("ranker", load_registry())
def test_labels_of_the_test_split_do_not_raise_the_score(
    ranker: str, comparisons_by_leak: dict[str, Comparison]
) -> None:
    scores = {leak: values_per_query(one)[ranker].mean() for leak, one in comparisons_by_leak.items()}
    assert scores["noise"] > 0.65  # it is trained well; chance is 0.46
    # A random weight of the feature gains with the labels what it loses with their opposite; a ranker that
    # had trained on the test split would gain with both.
    assert (scores["label"] + scores["opposite"]) / 2 < scores["noise"] + 0.03


@pytest.mark.parametrize("ranker", load_registry())
def test_parameters_do_not_depend_on_the_test_split(
    ranker: str, comparisons_by_leak: dict[str, Comparison]
) -> None:
    selected = [
        [fold.parameters for fold in result.by(METRIC).folds]
        for comparison in comparisons_by_leak.values()
        for result in comparison.rankers
        if result.ranker == ranker
    ]
    assert selected[0] == selected[1] == selected[2]


def test_a_leak_in_training_would_raise_the_score() -> None:
    for leak in (label, opposite):
        comparison = compare(make_leaky_fold(leak, leak), "RankSVM,LambdaMART")
        for values in values_per_query(comparison).values():
            assert values.mean() > 0.9
