"""Boosted trees of other libraries with their native categories, tuned on the validation split.

Each library gets the table as its users would give it: a pandas frame with `category` columns whose levels
are those of the training split. Every setting is fitted on train with early stopping on the validation split,
and the best on the validation split scores the test split.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from directranker import Fold, RankingDataset

from peers import get_n_threads

__all__ = ["PEERS", "Scores"]

Scores = NDArray[np.floating[Any]]
Fit = Callable[..., tuple[Scores, Scores]]
MAX_TREES, PATIENCE = 600, 50


def make_frames(fold: Fold) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the features of train, validation and test; levels of categories are those of train."""
    train, validation, test = (
        data.to_frame("pandas")[list(data.feature_names)] for data in (fold.train, fold.validation, fold.test)
    )
    for name in fold.train.categories:
        levels = sorted(train[name].dropna().unique())
        for frame in (train, validation, test):
            frame[name] = pd.Categorical(frame[name].astype(object), categories=levels)
    return train, validation, test


def score_by_lightgbm(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """Fit LightGBM's categorical splits."""
    import lightgbm as lgb  # noqa: PLC0415 - slow to import

    frames = make_frames(fold)
    train, validation = (
        lgb.Dataset(frame, data.relevance, group=np.diff(data.offsets))
        for frame, data in zip(frames, (fold.train, fold.validation), strict=False)
    )
    parameters = {
        "metric": "ndcg", "eval_at": [10], "verbosity": -1, "seed": seed, "feature_fraction": 0.8,
        "bagging_fraction": 0.8, "bagging_freq": 1, **setting,
    }  # fmt: skip
    stop = lgb.early_stopping(PATIENCE, verbose=False)
    booster = lgb.train(parameters, train, MAX_TREES, valid_sets=[validation], callbacks=[stop])
    return np.asarray(booster.predict(frames[1])), np.asarray(booster.predict(frames[2]))


def score_by_xgboost(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """Fit XGBoost's categorical splits."""
    import xgboost as xgb  # noqa: PLC0415 - slow to import

    frames = make_frames(fold)
    train, validation = (
        xgb.DMatrix(frame, data.relevance, qid=_number_queries(data), enable_categorical=True)
        for frame, data in zip(frames, (fold.train, fold.validation), strict=False)
    )
    parameters = {
        "eval_metric": "ndcg@10", "seed": seed, "tree_method": "hist", "subsample": 0.8,
        "colsample_bytree": 0.8, **setting,
    }  # fmt: skip
    booster = xgb.train(
        parameters, train, MAX_TREES, evals=[(validation, "validation")],
        early_stopping_rounds=PATIENCE, verbose_eval=False,
    )  # fmt: skip
    best = (0, booster.best_iteration + 1)
    test = xgb.DMatrix(frames[2], enable_categorical=True)
    return booster.predict(validation, iteration_range=best), booster.predict(test, iteration_range=best)


def score_by_catboost(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """Fit CatBoost's ordered statistics."""
    import catboost as cb  # noqa: PLC0415 - slow to import

    names = list(fold.train.categories)
    pools = []
    for data in (fold.train, fold.validation, fold.test):
        frame = data.to_frame("pandas")[list(data.feature_names)]
        frame[names] = frame[names].astype(object).fillna("missing").astype(str)
        pools.append(cb.Pool(frame, data.relevance, group_id=_number_queries(data), cat_features=names))
    ranker = cb.CatBoost(
        {"eval_metric": "NDCG:top=10;type=Exp", "iterations": MAX_TREES, "random_seed": seed,
         "od_type": "Iter", "od_wait": PATIENCE, "verbose": False, "allow_writing_files": False,
         "thread_count": get_n_threads(), **setting}
    )  # fmt: skip
    ranker.fit(pools[0], eval_set=pools[1])
    return ranker.predict(pools[1]), ranker.predict(pools[2])


def _number_queries(data: RankingDataset) -> NDArray[np.int64]:
    return np.repeat(np.arange(data.n_queries), np.diff(data.offsets))


def _name_values(names: tuple[str, ...], *rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


PEERS: dict[str, tuple[Fit, list[dict[str, Any]]]] = {
    "LightGBM": (
        score_by_lightgbm,
        _name_values(
            ("objective", "num_leaves", "learning_rate", "min_data_in_leaf", "cat_smooth", "cat_l2"),
            ("lambdarank", 15, 0.05, 20, 10, 10),
            ("lambdarank", 31, 0.05, 50, 10, 10),
            ("lambdarank", 7, 0.05, 20, 50, 50),
            ("rank_xendcg", 15, 0.05, 20, 10, 10),
            ("rank_xendcg", 31, 0.03, 50, 10, 10),
            ("rank_xendcg", 7, 0.05, 20, 50, 50),
        ),
    ),
    "XGBoost": (
        score_by_xgboost,
        _name_values(
            ("objective", "max_depth", "eta", "min_child_weight", "max_cat_to_onehot"),
            ("rank:ndcg", 4, 0.05, 1, 4),
            ("rank:ndcg", 6, 0.05, 5, 4),
            ("rank:ndcg", 3, 0.1, 5, 32),
            ("rank:pairwise", 4, 0.05, 1, 4),
            ("rank:pairwise", 6, 0.05, 5, 4),
            ("rank:pairwise", 3, 0.1, 5, 32),
        ),
    ),
    "CatBoost": (
        score_by_catboost,
        _name_values(
            ("loss_function", "depth", "learning_rate"),
            ("YetiRank", 4, 0.08),
            ("YetiRank", 6, 0.08),
            ("QuerySoftMax", 4, 0.08),
            ("QuerySoftMax", 6, 0.05),
            ("QueryRMSE", 4, 0.08),
            ("QueryRMSE", 6, 0.05),
        ),
    ),
}
"""Six settings of each library."""
