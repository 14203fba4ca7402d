"""The boosted-tree rankers of other libraries, each tuned on the validation part as their users would.

Every setting is fitted on train with early stopping on vali. For each metric the setting with the best value
on vali is taken, so a peer may have two models: one for NDCG@10 and one for MAP.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker import Fold, RankingDataset

__all__ = ["PEERS", "Measure", "Scores", "best_on_vali"]

Scores = NDArray[np.floating[Any]]
Fit = Callable[..., tuple[Scores, Scores]]
"""Fold, seed and a setting to scores of vali and of test."""
Measure = Callable[[RankingDataset, Scores], float]
MAX_TREES = 500
PATIENCE = 50


def lightgbm_scores(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """LightGBM's lambdarank."""
    import lightgbm as lgb  # noqa: PLC0415 - peers are imported when they run

    train, vali = (
        lgb.Dataset(p.features, p.relevance, group=np.diff(p.offsets)) for p in (fold.train, fold.validation)
    )
    parameters = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1, "seed": seed}
    stop = lgb.early_stopping(PATIENCE, verbose=False)
    booster = lgb.train({**parameters, **setting}, train, MAX_TREES, valid_sets=[vali], callbacks=[stop])
    return np.asarray(booster.predict(fold.validation.features)), np.asarray(
        booster.predict(fold.test.features)
    )


def xgboost_scores(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """XGBoost's rank:ndcg."""
    import xgboost as xgb  # noqa: PLC0415

    ranker = xgb.XGBRanker(
        objective="rank:ndcg", n_estimators=MAX_TREES, eval_metric="ndcg@10", random_state=seed,
        early_stopping_rounds=PATIENCE, tree_method="hist", **setting,
    )  # fmt: skip
    ranker.fit(
        fold.train.features, fold.train.relevance, qid=_query_numbers(fold.train),
        eval_set=[(fold.validation.features, fold.validation.relevance)],
        eval_qid=[_query_numbers(fold.validation)],
        verbose=False,
    )  # fmt: skip
    return ranker.predict(fold.validation.features), ranker.predict(fold.test.features)


def _query_numbers(data: RankingDataset) -> NDArray[np.int64]:
    """The number of each row's query; XGBoost wants ids that never fall."""
    return np.repeat(np.arange(data.n_queries), np.diff(data.offsets))


def catboost_scores(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """CatBoost's YetiRank."""
    import catboost as cb  # noqa: PLC0415

    train, vali = (cb.Pool(p.features, p.relevance, group_id=p.qid) for p in (fold.train, fold.validation))
    ranker = cb.CatBoost(
        {"loss_function": "YetiRank", "eval_metric": "NDCG:top=10", "iterations": MAX_TREES,
         "random_seed": seed, "od_type": "Iter", "od_wait": PATIENCE, "verbose": False,
         "allow_writing_files": False, "thread_count": n_threads(), **setting}
    )  # fmt: skip
    ranker.fit(train, eval_set=vali)
    return ranker.predict(fold.validation.features), ranker.predict(fold.test.features)


def n_threads() -> int:
    """What OpenMP is told; CatBoost does not ask it."""
    return int(os.environ.get("OMP_NUM_THREADS", "-1"))


def settings(**choices: list[Any]) -> list[dict[str, Any]]:
    """All combinations."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


PEERS: dict[str, tuple[Fit, list[dict[str, Any]]]] = {
    "LightGBM": (
        lightgbm_scores,
        settings(num_leaves=[7, 15, 31], learning_rate=[0.05, 0.1], min_data_in_leaf=[50]),
    ),
    "XGBoost": (xgboost_scores, settings(max_depth=[3, 4, 6], learning_rate=[0.05, 0.1])),
    "CatBoost": (catboost_scores, settings(depth=[4, 6, 8], learning_rate=[0.05, 0.1])),
}


def best_on_vali(name: str, fold: Fold, seed: int, measures: dict[str, Measure]) -> dict[str, Scores]:
    """The scores of test by metric, each from the setting that is best on vali by this metric."""
    fit, choices = PEERS[name]
    fitted = [fit(fold, seed, **setting) for setting in choices]
    return {
        metric: max(fitted, key=lambda scores: measure(fold.validation, scores[0]))[1]
        for metric, measure in measures.items()
    }
