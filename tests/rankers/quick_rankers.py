"""All rankers with parameters that train in a moment, for the tests of the contract."""

from __future__ import annotations

from typing import Any

from directranker import RankingDataset
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
from directranker.rankers.registry import load_registry

__all__ = ["QUICK", "RANKERS", "as_arrays"]

QUICK: dict[str, Any] = {"max_epochs": 3, "random_state": 0, "hidden_layers": (8,)}
# The first has a teacher and cross-validates its encoding; members of ensembles need not.
MEMBER: dict[str, Any] = {**QUICK, "transform": "piecewise-linear", "teacher": None}
RANKERS: dict[str, Ranker] = {
    "DirectRanker": DirectRanker(**QUICK),
    "DirectRanker.paper": DirectRanker.paper(random_state=0, max_steps=30, hidden_layers=(8,)),
    "RankNet": RankNet(**QUICK),
    "LambdaDirectRanker": LambdaDirectRanker(**QUICK),
    "ListNet": ListNet(**QUICK),
    "AdaRank": AdaRank(max_iter=20, random_state=0),
    "CoordinateAscent": CoordinateAscent(n_restarts=2, max_iter=2, n_steps=5, random_state=0),
    "ESRank": ESRank(n_generations=60, random_state=0),
    "IESRRank": IESRRank(n_generations=20, random_state=0),
    "IESVMRank": IESVMRank(n_generations=20, random_state=0),
    "RankSVM": RankSVM(),
    "LambdaMART": LambdaMART(n_estimators=20, random_state=0),
    "LambdaMART.map": LambdaMART.ranklib(n_estimators=20, metric="map", random_state=0),
    "Ensemble": Ensemble(DirectRanker(**MEMBER), 2, random_state=0),
    "Ensemble, in context": Ensemble(
        DirectRanker(**MEMBER), 2, vary={"transform": ["in-context", "piecewise-linear"]}, random_state=0
    ),
}

# Rankers of other packages, and rankers that are missing above, are tested with their defaults.
LISTED = {type(ranker) for ranker in RANKERS.values()}
RANKERS |= {name: entry.make() for name, entry in load_registry().items() if entry.ranker_class not in LISTED}


def as_arrays(data: RankingDataset) -> tuple[Any, Any, Any]:
    """Return features, labels and query ids."""
    return data.features, data.relevance, data.qid
