"""The boosted-tree rankers of other libraries, each tuned on the validation split as their users would.

Every setting is fitted on train with early stopping on the validation split. For each metric the setting with
the best value on the validation split is used, so a peer may have two models: one for NDCG@10 and one for
MAP.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker import Fold, RankingDataset

__all__ = ["PEERS", "Measure", "Scores", "score_by_best"]

Scores = NDArray[np.floating[Any]]
Fit = Callable[..., tuple[Scores, Scores]]
"""Maps a fold, a seed and a setting to scores of the validation and the test split."""
Measure = Callable[[RankingDataset, Scores], float]
MAX_TREES = 500
PATIENCE = 50


def score_by_lightgbm(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """Fit LightGBM's lambdarank."""
    import lightgbm as lgb  # noqa: PLC0415 - slow to import

    train, vali = (
        lgb.Dataset(p.features, p.relevance, group=np.diff(p.offsets)) for p in (fold.train, fold.validation)
    )
    parameters = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1, "seed": seed}
    stop = lgb.early_stopping(PATIENCE, verbose=False)
    booster = lgb.train({**parameters, **setting}, train, MAX_TREES, valid_sets=[vali], callbacks=[stop])
    return np.asarray(booster.predict(fold.validation.features)), np.asarray(
        booster.predict(fold.test.features)
    )


def score_by_xgboost(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """Fit XGBoost's rank:ndcg."""
    import xgboost as xgb  # noqa: PLC0415 - slow to import

    ranker = xgb.XGBRanker(
        objective="rank:ndcg", n_estimators=MAX_TREES, eval_metric="ndcg@10", random_state=seed,
        early_stopping_rounds=PATIENCE, tree_method="hist", **setting,
    )  # fmt: skip
    ranker.fit(
        fold.train.features, fold.train.relevance, qid=_get_query_numbers(fold.train),
        eval_set=[(fold.validation.features, fold.validation.relevance)],
        eval_qid=[_get_query_numbers(fold.validation)],
        verbose=False,
    )  # fmt: skip
    return ranker.predict(fold.validation.features), ranker.predict(fold.test.features)


def _get_query_numbers(data: RankingDataset) -> NDArray[np.int64]:
    """Return the query number of each row; XGBoost needs non-decreasing ids."""
    return np.repeat(np.arange(data.n_queries), np.diff(data.offsets))


def score_by_catboost(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """Fit CatBoost's YetiRank."""
    import catboost as cb  # noqa: PLC0415 - slow to import

    train, vali = (cb.Pool(p.features, p.relevance, group_id=p.qid) for p in (fold.train, fold.validation))
    ranker = cb.CatBoost(
        {"loss_function": "YetiRank", "eval_metric": "NDCG:top=10", "iterations": MAX_TREES,
         "random_seed": seed, "od_type": "Iter", "od_wait": PATIENCE, "verbose": False,
         "allow_writing_files": False, "thread_count": get_n_threads(), **setting}
    )  # fmt: skip
    ranker.fit(train, eval_set=vali)
    return ranker.predict(fold.validation.features), ranker.predict(fold.test.features)


def get_n_threads() -> int:
    """Return OpenMP's number of threads, which CatBoost ignores."""
    return int(os.environ.get("OMP_NUM_THREADS", "-1"))


def combine_settings(**choices: list[Any]) -> list[dict[str, Any]]:
    """Return all combinations."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


PEERS: dict[str, tuple[Fit, list[dict[str, Any]]]] = {
    "LightGBM": (
        score_by_lightgbm,
        combine_settings(num_leaves=[7, 15, 31], learning_rate=[0.05, 0.1], min_data_in_leaf=[50]),
    ),
    "XGBoost": (score_by_xgboost, combine_settings(max_depth=[3, 4, 6], learning_rate=[0.05, 0.1])),
    "CatBoost": (score_by_catboost, combine_settings(depth=[4, 6, 8], learning_rate=[0.05, 0.1])),
}


def score_by_best(name: str, fold: Fold, seed: int, measures: dict[str, Measure]) -> dict[str, Scores]:
    """Score the test split, per metric with the setting that is best on the validation split."""
    fit, choices = PEERS[name]
    fitted = [fit(fold, seed, **setting) for setting in choices]
    return {
        metric: max(fitted, key=lambda scores: measure(fold.validation, scores[0]))[1]
        for metric, measure in measures.items()
    }
