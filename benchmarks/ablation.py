"""Ablation of the default DirectRanker: change one thing at a time, and evaluate without test data.

The train split of each fold is divided 3 : 1 by query. A variant is trained on the larger part with early
stopping on the smaller one, and evaluated on the validation split: NDCG@10 and MAP, means over the queries of
all folds, and the difference from the default with the standard error of paired queries. With `--queries 60`
each train split has only 60 queries; several numbers give a learning curve. Rankers of other libraries can be
added: they are tuned on the smaller part, too.

Trainings run in parallel, one per core, each on one thread.

    python benchmarks/ablation.py [--data MQ2008,MQ2007-partial] [--queries 60,120,250,0] [--seeds 2]
        [--only default,"8 bins",LightGBM] [--jobs 2]
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

from directranker import DirectRanker, Ensemble, Fold
from directranker.arrays import FloatArray
from directranker.encoding import PiecewiseLinear
from directranker.rankers import LambdaMART, RankNet

import ablation_variants as variants
from measuring import describe_machine
from peers import PEERS
from quality import METRICS, evaluate_scores, get_stopping_metric, read_data, score_by_peer

STOPPING_DIVISOR = 4  # one in this many queries is used for early stopping


def vary_default(**parameters: Any) -> Callable[..., Any]:
    """Return a factory of the default with other parameters."""
    return lambda **options: DirectRanker(**{**parameters, **options})


def vary_ensemble(n: int, **parameters: Any) -> Callable[..., Any]:
    """Return a factory of ensembles of n DirectRankers."""
    return lambda random_state, metric: Ensemble(
        DirectRanker(metric=metric), n, random_state=random_state, **parameters
    )


def make_distilled_from_nets(random_state: int, metric: str) -> DirectRanker:
    """Make a net whose teacher is an ensemble of nets with and without in-context features."""
    both = {"transform": ["in-context", "piecewise-linear"]}
    teachers = Ensemble(DirectRanker(metric=metric, teacher=None, transform="piecewise-linear"), 4, vary=both)
    return DirectRanker(
        teacher=teachers, transform="piecewise-linear", metric=metric, random_state=random_state
    )


VARIANTS: dict[str, Callable[..., Any]] = {
    "default": vary_default(),
    "no teacher": vary_default(teacher=None),
    "teacher's share 0.25": vary_default(teacher_weight=0.25),
    "teacher's share 0.75": vary_default(teacher_weight=0.75),
    "taught by nets": make_distilled_from_nets,
    "piecewise-linear": vary_default(transform="piecewise-linear"),
    "standardised features": vary_default(transform="standard"),
    "quantiles of the normal": vary_default(transform="quantile-normal"),
    "signed logarithm": vary_default(transform="signed-log"),
    "automatic transform": vary_default(transform="auto"),
    "z-scores per query": vary_default(transform="query-z-score"),
    "ranks per query": vary_default(transform="query-rank"),
    "in context": vary_default(transform="in-context"),
    "4 bins": vary_default(transform=PiecewiseLinear(n_bins=4)),
    "8 bins": vary_default(transform=PiecewiseLinear(n_bins=8)),
    "32 bins": vary_default(transform=PiecewiseLinear(n_bins=32)),
    "queries weigh the same": vary_default(reduction="queries"),
    "pairs weigh the same": vary_default(reduction="pairs"),
    "neighbouring classes": vary_default(pairs="adjacent"),
    "ΔNDCG weights": vary_default(pair_weight="delta_ndcg@10", reduction="queries"),
    "ΔMAP weights": vary_default(pair_weight="delta_map", reduction="queries"),
    "softmax": vary_default(cost="softmax"),
    "ListNet's cost": vary_default(cost="listnet"),
    "squared cost": vary_default(cost="squared"),
    "32 wide": vary_default(hidden_layers=(32,)),
    "64 wide": vary_default(hidden_layers=(64,)),
    "512 wide": vary_default(hidden_layers=(512,)),
    "two layers": vary_default(hidden_layers=(256, 64)),
    "no hidden layer": vary_default(hidden_layers=()),
    "tanh": vary_default(activation="tanh"),
    "GELU": vary_default(activation="gelu"),
    "no dropout": vary_default(dropout=0.0),
    "dropout 0.25": vary_default(dropout=0.25),
    "dropout 0.7": vary_default(dropout=0.7),
    "layer normalisation": vary_default(normalisation="layer"),
    "batch normalisation": vary_default(normalisation="batch"),
    "no weight decay": vary_default(weight_decay=0.0),
    "weight decay 0.1": vary_default(weight_decay=0.1),
    "8 queries a batch": vary_default(batch_queries=8),
    "128 queries a batch": vary_default(batch_queries=128),
    "rate 3e-4": vary_default(learning_rate=3e-4),
    "rate 3e-3": vary_default(learning_rate=3e-3),
    "cosine schedule": vary_default(lr_schedule="cosine", max_epochs=30, patience=30),
    "patience 20": vary_default(patience=20),
    "Ensemble of 2": vary_ensemble(2),
    "Ensemble of 5": vary_ensemble(5),
    "Ensemble of 5 seeds": vary_ensemble(5, vary=None),
    "Ensemble of 5 in context": vary_ensemble(5, vary={"transform": ["in-context"]}),
    "Ensemble of 5 mixed": vary_ensemble(5, vary={"transform": ["in-context", "piecewise-linear"]}),
    "the same net by torch": variants.with_net(variants.make_perceptron),
    "learned bins": variants.with_net(variants.LearnedBins, transform="quantile-normal"),
    "periodic features": variants.with_net(variants.Periodic, transform="standard"),
    "input noise 0.1": variants.with_net(partial(variants.Noisy, deviation=0.1)),
    "residual block": variants.with_net(variants.Residual),
    "running mean of weights": variants.with_net(partial(variants.RunningMean, decay=0.98)),
    "snapshots": variants.with_net(partial(variants.Snapshots, n_steps=15)),
    "labels smoothed": partial(DirectRanker, cost=variants.smoothed_cross_entropy, teacher="trees"),
    "half softmax": variants.MixedCosts,
    "half neighbouring classes": variants.AllAndNeighbours,
    "0.3 of trees blended in": partial(variants.Blended, weight=0.3),
    "0.5 of trees blended in": partial(variants.Blended, weight=0.5),
    "stacked on trees": variants.Stacked,
    "RankNet": RankNet,
    "LambdaMART": LambdaMART,
    "LambdaMART with even pairs": partial(LambdaMART, pair_weight=None),
}


def make_inner_fold(fold: Fold, number: int, n_queries: int) -> Fold:
    """Split train in two by query, and use the validation split as the test split."""
    queries = np.random.default_rng((number, 1)).permutation(fold.train.n_queries)
    if n_queries:
        queries = queries[:n_queries]
    cut = max(1, len(queries) // STOPPING_DIVISOR)
    return Fold(
        fold.name, fold.train.select(queries[cut:]), fold.train.select(queries[:cut]), fold.validation
    )


def evaluate_variant(name: str, fold: Fold, seed: int, protocol: str) -> FloatArray:
    """Compute NDCG@10 and MAP of each query of the fold's test split, (2, n_queries)."""
    warnings.simplefilter("ignore")
    if name in PEERS:
        scores = score_by_peer(name, fold, seed, protocol)
        both = [evaluate_scores(fold.test, scores[metric], protocol)[at] for at, metric in enumerate(METRICS)]
        return np.stack(both)
    ranker = VARIANTS[name](random_state=seed, metric=get_stopping_metric(protocol))
    return evaluate_scores(
        fold.test, ranker.fit(fold.train, eval_set=fold.validation).predict(fold.test), protocol
    )


def measure(name: str, folds: list[Fold], seeds: int, protocol: str, jobs: int) -> FloatArray:
    """Compute the values of all queries of all folds, means over the seeds."""
    with parallel_config(backend="loky", inner_max_num_threads=1):
        values = Parallel(n_jobs=jobs, batch_size=1)(
            delayed(evaluate_variant)(name, fold, seed, protocol) for fold in folds for seed in range(seeds)
        )
    per_fold = [np.mean(values[at : at + seeds], axis=0) for at in range(0, len(values), seeds)]
    return np.concatenate(per_fold, axis=1)


def print_row(name: str, values: FloatArray, reference: FloatArray) -> None:
    """Print means, and differences from the reference with standard errors."""
    cells = f"{np.nanmean(values[0]):8.4f}{np.nanmean(values[1]):8.4f}"
    for difference in values - reference:
        present = difference[~np.isnan(difference)]
        error = present.std(ddof=1) / np.sqrt(len(present))
        cells += f"   {present.mean():+.4f} ± {error:.4f}"
    print(f"{name:26}{cells}", flush=True)


def main() -> None:
    """Print a table for each data set and number of queries."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="MQ2008,MQ2007-partial", help="names, separated by commas")
    parser.add_argument("--protocol", default="paper")
    parser.add_argument("--queries", default="0", help="numbers of training queries; 0 for all")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default="", help="names of variants, separated by commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of parallel trainings")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.only.split(",") if options.only else list(VARIANTS)
    print(describe_machine("torch", "lightgbm", "xgboost-cpu", "catboost"))
    for data in options.data.split(","):
        all_folds = list(read_data(data, options.protocol))
        for n_queries in map(int, options.queries.split(",")):
            folds = [make_inner_fold(fold, number, n_queries) for number, fold in enumerate(all_folds)]
            first = folds[0].train
            queries = n_queries or "all"
            print(f"\n{data}, protocol {options.protocol}, queries: {queries}, seeds: {options.seeds}")
            print(
                f"training data of the first fold: {first.n_queries} queries, {first.n_documents} documents\n"
            )
            print(f"{'':26}{'NDCG@10':>8}{'MAP':>8}{'NDCG@10 − default':>19}{'MAP − default':>19}")
            reference = measure("default", folds, options.seeds, options.protocol, options.jobs)
            print_row("default", reference, reference)
            for name in names:
                if name != "default":
                    values = measure(name, folds, options.seeds, options.protocol, options.jobs)
                    print_row(name, values, reference)


if __name__ == "__main__":
    main()
