"""How well rankers rank real data, ours and the peers', in one run and by the paper's protocol.

Five folds; labels ≥ 1 are relevant; queries without a relevant document are left out; whatever is fitted is
fitted on train, early stopping and every choice look at vali, and test is only reported. NDCG@10 and MAP are
means over the folds with standard errors, in the convention `paper`. Peers choose on vali among the settings
below. The data is not part of the project: it is looked for where the environment variable DIRECTRANKER_DATA
points, then in ../shared/data.

    python benchmarks/quality.py [--data MQ2008] [--seeds 3] [--only DirectRanker,LightGBM]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker import Fold, RankingDataset, evaluate, read_folds
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
    RankNet,
    RankSVM,
)

from measuring import machine

Scores = NDArray[np.floating[Any]]
METRICS = ("ndcg@10", "map")


@dataclass(frozen=True)
class Contender:
    """A ranker by name: how to train it on a fold and score the test part, and what it must reach."""

    name: str
    score: Callable[[Fold, int], Scores]
    required: tuple[float, float] | None = None


def ours(make: Callable[[int], Any]) -> Callable[[Fold, int], Scores]:
    """A ranker of directranker; vali is its eval_set."""
    return lambda fold, seed: make(seed).fit(fold.train, eval_set=fold.vali).predict(fold.test)


def best_on_vali(
    settings: list[dict[str, Any]], fit: Callable[..., tuple[Scores, Scores]]
) -> Callable[[Fold, int], Scores]:
    """A peer: each setting fitted on train, the one with the best NDCG@10 on vali taken."""

    def score(fold: Fold, seed: int) -> Scores:
        fitted = [fit(fold, seed, **setting) for setting in settings]
        return max(fitted, key=lambda scores: measure(fold.vali, scores[0])["ndcg@10"])[1]

    return score


def lightgbm_scores(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """LightGBM's lambdarank with early stopping on vali."""
    import lightgbm as lgb  # noqa: PLC0415 - peers are imported when they run

    train, vali = (
        lgb.Dataset(p.features, p.relevance, group=np.diff(p.offsets)) for p in (fold.train, fold.vali)
    )
    parameters = {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "verbose": -1,
        "seed": seed,
        **setting,
    }
    stop = lgb.early_stopping(50, verbose=False)
    booster = lgb.train(parameters, train, 500, valid_sets=[vali], callbacks=[stop])
    return np.asarray(booster.predict(fold.vali.features)), np.asarray(booster.predict(fold.test.features))


def query_numbers(data: RankingDataset) -> NDArray[np.int64]:
    """The number of each row's query; XGBoost wants ids that never fall."""
    return np.repeat(np.arange(data.n_queries), np.diff(data.offsets))


def xgboost_scores(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """XGBoost's rank:ndcg with early stopping on vali."""
    import xgboost as xgb  # noqa: PLC0415

    ranker = xgb.XGBRanker(
        objective="rank:ndcg", n_estimators=500, eval_metric="ndcg@10", early_stopping_rounds=50,
        random_state=seed, tree_method="hist", **setting,
    )  # fmt: skip
    ranker.fit(
        fold.train.features, fold.train.relevance, qid=query_numbers(fold.train),
        eval_set=[(fold.vali.features, fold.vali.relevance)], eval_qid=[query_numbers(fold.vali)],
        verbose=False,
    )  # fmt: skip
    return ranker.predict(fold.vali.features), ranker.predict(fold.test.features)


def catboost_scores(fold: Fold, seed: int, **setting: Any) -> tuple[Scores, Scores]:
    """CatBoost's YetiRank with early stopping on vali."""
    import catboost as cb  # noqa: PLC0415

    train, vali = (cb.Pool(p.features, p.relevance, group_id=p.qid) for p in (fold.train, fold.vali))
    ranker = cb.CatBoost(
        {"loss_function": "YetiRank", "eval_metric": "NDCG:top=10", "iterations": 500, "random_seed": seed,
         "od_type": "Iter", "od_wait": 50, "verbose": False, "allow_writing_files": False, **setting}
    )  # fmt: skip
    ranker.fit(train, eval_set=vali)
    return ranker.predict(fold.vali.features), ranker.predict(fold.test.features)


def settings(**choices: list[Any]) -> list[dict[str, Any]]:
    """All combinations."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


CONTENDERS = [
    Contender("DirectRanker.paper", ours(lambda s: DirectRanker.paper(random_state=s)), (0.708, 0.625)),
    Contender("RankNet", ours(lambda s: RankNet(random_state=s)), (0.705, 0.632)),
    Contender("ListNet", ours(lambda s: ListNet(random_state=s)), (0.709, 0.641)),
    Contender("AdaRank", ours(lambda s: AdaRank(random_state=s)), (0.712, 0.644)),
    Contender("CoordinateAscent", ours(lambda s: CoordinateAscent(random_state=s))),
    Contender("ESRank", ours(lambda s: ESRank(random_state=s)), (0.705, 0.630)),
    Contender("IESRRank", ours(lambda s: IESRRank(random_state=s)), (0.705, 0.630)),
    Contender("IESVMRank", ours(lambda s: IESVMRank(random_state=s)), (0.705, 0.630)),
    Contender("RankSVM", ours(lambda s: RankSVM(random_state=s))),
    Contender("LambdaMART", ours(lambda s: LambdaMART(random_state=s)), (0.725, 0.648)),
    Contender("LambdaDirectRanker", ours(lambda s: LambdaDirectRanker(random_state=s))),
    Contender("DirectRanker", ours(lambda s: DirectRanker(random_state=s)), (0.735, 0.661)),
    Contender("Ensemble of 5", ours(lambda s: Ensemble(DirectRanker(), 5, random_state=s))),
    Contender(
        "LightGBM",
        best_on_vali(
            settings(num_leaves=[7, 15, 31], learning_rate=[0.05, 0.1], min_data_in_leaf=[50]),
            lightgbm_scores,
        ),
    ),
    Contender(
        "XGBoost", best_on_vali(settings(max_depth=[3, 4, 6], learning_rate=[0.05, 0.1]), xgboost_scores)
    ),
    Contender(
        "CatBoost", best_on_vali(settings(depth=[4, 6, 8], learning_rate=[0.05, 0.1]), catboost_scores)
    ),
]


def measure(data: RankingDataset, scores: Scores) -> dict[str, float]:
    """NDCG@10 and MAP in the paper's convention."""
    return evaluate(data.relevance, scores, offsets=data.offsets, metrics=METRICS, convention="paper")


def folds_of(name: str) -> Iterator[Fold]:
    """The folds as the paper's protocol has them."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DIRECTRANKER_DATA", beside)) / name
    if not folder.is_dir():
        sys.exit(f"{folder} is not there; set DIRECTRANKER_DATA to a folder that has {name}")
    for fold in read_folds(folder):
        train, vali, test = (
            replace(part.binarise(1).only_queries_with_relevant(), original_rows=None)
            for part in (fold.train, fold.vali, fold.test)
        )
        yield Fold(fold.name, train, vali, test)


def run(contender: Contender, folds: list[Fold], seeds: int) -> bool:
    """Print a row of the table; whether the required figures are reached."""
    start = time.perf_counter()
    values = np.empty((len(folds), seeds, 2))
    for (row, fold), seed in product(enumerate(folds), range(seeds)):
        figures = measure(fold.test, contender.score(fold, seed))
        values[row, seed] = [figures[metric] for metric in METRICS]
    per_fold = values.mean(axis=1)
    means, errors = per_fold.mean(axis=0), per_fold.std(axis=0, ddof=1) / np.sqrt(len(folds))
    seconds = (time.perf_counter() - start) / (len(folds) * seeds)
    cells = "".join(f"  {mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True))
    needed = (
        ""
        if contender.required is None
        else "  ≥ " + " / ".join(f"{value:.3f}" for value in contender.required)
    )
    print(f"{contender.name:20}{cells}{seconds:>10.2f}{needed}", flush=True)
    return contender.required is None or bool(np.all(means >= contender.required))


def main() -> None:
    """Train all contenders and print the table; leave with 1 if a required figure is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="MQ2008")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="names of contenders, with commas between")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    only = options.only.split(",") if options.only else [contender.name for contender in CONTENDERS]
    folds = list(folds_of(options.data))
    print(machine("torch", "lightgbm", "xgboost-cpu", "catboost"))
    print(
        f"{options.data}, {len(folds)} folds, seeds 0 to {options.seeds - 1}, "
        "mean ± standard error over folds\n"
    )
    print(f"{'':20}{'NDCG@10':>15}{'MAP':>15}{'s/fit':>10}  required")
    reached = [run(contender, folds, options.seeds) for contender in CONTENDERS if contender.name in only]
    required_hold = options.data != "MQ2008" or all(reached)
    sys.exit(0 if required_hold else 1)


if __name__ == "__main__":
    main()
