"""scikit-learn's estimator checks, with the expected failures of rankers explained."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from directranker.rankers import (
    AdaRank,
    CoordinateAscent,
    DirectRanker,
    Ensemble,
    ESRank,
    IESRRank,
    IESVMRank,
    LambdaDirectRanker,
    LambdaMART,
    ListNet,
    Ranker,
    RankNet,
    RankSVM,
)

QUICK: dict[str, Any] = {"max_epochs": 2, "random_state": 0, "hidden_layers": (4,)}
RANKERS = [
    DirectRanker(**QUICK),
    DirectRanker.paper(random_state=0, max_steps=3, hidden_layers=(4,)),
    RankNet(**QUICK),
    LambdaDirectRanker(**QUICK),
    ListNet(**QUICK),
    AdaRank(max_iter=5, random_state=0),
    CoordinateAscent(n_restarts=2, max_iter=2, n_steps=3, random_state=0),
    ESRank(n_generations=5, random_state=0),
    IESRRank(n_generations=5, random_state=0),
    IESVMRank(n_generations=5, random_state=0),
    RankSVM(),
    LambdaMART(n_estimators=3, min_child_samples=2, random_state=0),
    Ensemble(DirectRanker(**QUICK), 2, random_state=0),
]


def expected_failures(_: Ranker) -> dict[str, str]:
    """Return the checks that cannot hold for a ranker, and why."""
    reason = (
        "a repeated document has the same weight as one document of weight 2, but batches and the "
        "validation split differ"
    )
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("ignore:AdaRank kept no feature")  # the checks give it noise
@parametrize_with_checks(RANKERS, expected_failed_checks=expected_failures)  # type: ignore[untyped-decorator]
def test_checks_of_scikit_learn(estimator: Ranker, check: Any) -> None:
    check(estimator)
