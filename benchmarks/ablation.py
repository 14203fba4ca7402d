"""What each part of the default DirectRanker is worth: one thing changed at a time, judged without test data.

Each fold's train is cut 3 : 1 by query. A variant is trained on the larger part, early stopping looks at the
smaller one, and vali is what it is measured on: NDCG@10 and MAP, the mean over the queries of all folds, and
the difference to the default with the standard error of paired queries. With `--queries 60` only 60 queries
of each train are there, which makes a learning curve of several runs. Peers of other libraries may stand
beside: they choose their setting by the smaller part, too.

Trainings run side by side, each on one thread, as many as there are cores.

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
from numpy.typing import NDArray

from directranker import DirectRanker, Ensemble, Fold
from directranker.encoding import PiecewiseLinear
from directranker.rankers import LambdaMART, RankNet

import ablation_variants as made
from measuring import machine
from peers import PEERS
from quality import METRICS, folds_of, scores_of_peer, stopping_metric, values_of

Values = NDArray[np.float64]
INNER_SHARE = 4  # one query of so many tells when to stop


def changed(**changes: Any) -> Callable[..., Any]:
    """The default with these changes."""
    return lambda **options: DirectRanker(**{**changes, **options})


def ensemble_of(n: int, **changes: Any) -> Callable[..., Any]:
    """So many DirectRankers."""
    return lambda random_state, metric: Ensemble(
        DirectRanker(metric=metric), n, random_state=random_state, **changes
    )


def taught_by_nets(random_state: int, metric: str) -> DirectRanker:
    """One net whose teacher are several that see lists, too."""
    both = {"transform": ["in-context", "piecewise-linear"]}
    teachers = Ensemble(DirectRanker(metric=metric, teacher=None, transform="piecewise-linear"), 4, vary=both)
    return DirectRanker(
        teacher=teachers, transform="piecewise-linear", metric=metric, random_state=random_state
    )


VARIANTS: dict[str, Callable[..., Any]] = {
    "default": changed(),
    "no teacher": changed(teacher=None),
    "teacher's share 0.25": changed(teacher_weight=0.25),
    "teacher's share 0.75": changed(teacher_weight=0.75),
    "taught by nets": taught_by_nets,
    "piecewise-linear": changed(transform="piecewise-linear"),
    "standardised features": changed(transform="standard"),
    "quantiles of the normal": changed(transform="quantile-normal"),
    "signed logarithm": changed(transform="signed-log"),
    "automatic transform": changed(transform="auto"),
    "z-scores per query": changed(transform="query-z-score"),
    "ranks per query": changed(transform="query-rank"),
    "in context": changed(transform="in-context"),
    "4 bins": changed(transform=PiecewiseLinear(n_bins=4)),
    "8 bins": changed(transform=PiecewiseLinear(n_bins=8)),
    "32 bins": changed(transform=PiecewiseLinear(n_bins=32)),
    "queries weigh the same": changed(reduction="queries"),
    "pairs weigh the same": changed(reduction="pairs"),
    "neighbouring classes": changed(pairs="adjacent"),
    "ΔNDCG weights": changed(pair_weight="delta_ndcg@10", reduction="queries"),
    "ΔMAP weights": changed(pair_weight="delta_map", reduction="queries"),
    "softmax": changed(cost="softmax"),
    "ListNet's cost": changed(cost="listnet"),
    "squared cost": changed(cost="squared"),
    "32 wide": changed(hidden_layers=(32,)),
    "64 wide": changed(hidden_layers=(64,)),
    "512 wide": changed(hidden_layers=(512,)),
    "two layers": changed(hidden_layers=(256, 64)),
    "no hidden layer": changed(hidden_layers=()),
    "tanh": changed(activation="tanh"),
    "GELU": changed(activation="gelu"),
    "no dropout": changed(dropout=0.0),
    "dropout 0.25": changed(dropout=0.25),
    "dropout 0.7": changed(dropout=0.7),
    "layer normalisation": changed(normalisation="layer"),
    "batch normalisation": changed(normalisation="batch"),
    "no weight decay": changed(weight_decay=0.0),
    "weight decay 0.1": changed(weight_decay=0.1),
    "8 queries a batch": changed(batch_queries=8),
    "128 queries a batch": changed(batch_queries=128),
    "rate 3e-4": changed(learning_rate=3e-4),
    "rate 3e-3": changed(learning_rate=3e-3),
    "cosine schedule": changed(lr_schedule="cosine", max_epochs=30, patience=30),
    "patience 20": changed(patience=20),
    "Ensemble of 2": ensemble_of(2),
    "Ensemble of 5": ensemble_of(5),
    "Ensemble of 5 seeds": ensemble_of(5, vary=None),
    "Ensemble of 5 in context": ensemble_of(5, vary={"transform": ["in-context"]}),
    "Ensemble of 5 mixed": ensemble_of(5, vary={"transform": ["in-context", "piecewise-linear"]}),
    "the same net by torch": made.with_net(made.perceptron),
    "learned bins": made.with_net(made.LearnedBins, transform="quantile-normal"),
    "periodic features": made.with_net(made.Periodic, transform="standard"),
    "input noise 0.1": made.with_net(partial(made.Noisy, deviation=0.1)),
    "residual block": made.with_net(made.Residual),
    "running mean of weights": made.with_net(partial(made.RunningMean, decay=0.98)),
    "snapshots": made.with_net(partial(made.Snapshots, n_steps=15)),
    "labels smoothed": partial(DirectRanker, cost=made.smoothed_cross_entropy, teacher="trees"),
    "half softmax": made.MixedCosts,
    "half neighbouring classes": made.AllAndNeighbours,
    "0.3 of trees blended in": partial(made.Blended, share=0.3),
    "0.5 of trees blended in": partial(made.Blended, share=0.5),
    "stacked on trees": made.Stacked,
    "RankNet": RankNet,
    "LambdaMART": LambdaMART,
    "LambdaMART with even pairs": partial(LambdaMART, pair_weight=None),
}


def inner_fold(fold: Fold, number: int, n_queries: int) -> Fold:
    """The fold without its test: train cut in two by query, and vali in test's place."""
    queries = np.random.default_rng((number, 1)).permutation(fold.train.n_queries)
    if n_queries:
        queries = queries[:n_queries]
    cut = max(1, len(queries) // INNER_SHARE)
    return Fold(
        fold.name, fold.train.select(queries[cut:]), fold.train.select(queries[:cut]), fold.validation
    )


def values_of_variant(name: str, fold: Fold, seed: int, protocol: str) -> Values:
    """NDCG@10 and MAP of each query of the fold's last part, (2, n_queries)."""
    warnings.simplefilter("ignore")
    if name in PEERS:
        scores = scores_of_peer(name, fold, seed, protocol)
        both = [values_of(fold.test, scores[metric], protocol)[at] for at, metric in enumerate(METRICS)]
        return np.stack(both)
    ranker = VARIANTS[name](random_state=seed, metric=stopping_metric(protocol))
    return values_of(fold.test, ranker.fit(fold.train, eval_set=fold.validation).predict(fold.test), protocol)


def measure(name: str, folds: list[Fold], seeds: int, protocol: str, jobs: int) -> Values:
    """The values of all queries of all folds, means over the seeds."""
    with parallel_config(backend="loky", inner_max_num_threads=1):
        values = Parallel(n_jobs=jobs, batch_size=1)(
            delayed(values_of_variant)(name, fold, seed, protocol) for fold in folds for seed in range(seeds)
        )
    of_folds = [np.mean(values[at : at + seeds], axis=0) for at in range(0, len(values), seeds)]
    return np.concatenate(of_folds, axis=1)


def print_row(name: str, values: Values, reference: Values) -> None:
    """Means, and differences to the reference with standard errors."""
    cells = f"{np.nanmean(values[0]):8.4f}{np.nanmean(values[1]):8.4f}"
    for difference in values - reference:
        known = difference[~np.isnan(difference)]
        error = known.std(ddof=1) / np.sqrt(len(known))
        cells += f"   {known.mean():+.4f} ± {error:.4f}"
    print(f"{name:26}{cells}", flush=True)


def main() -> None:
    """Print a table for each data set and number of queries."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="MQ2008,MQ2007-partial", help="names, with commas between")
    parser.add_argument("--protocol", default="paper")
    parser.add_argument("--queries", default="0", help="numbers of training queries; 0 for all")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default="", help="names of variants, with commas between")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="trainings at the same time")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = options.only.split(",") if options.only else list(VARIANTS)
    print(machine("torch", "lightgbm", "xgboost-cpu", "catboost"))
    for data in options.data.split(","):
        whole = list(folds_of(data, options.protocol))
        for n_queries in map(int, options.queries.split(",")):
            folds = [inner_fold(fold, number, n_queries) for number, fold in enumerate(whole)]
            first = folds[0].train
            queries = n_queries or "all"
            print(f"\n{data}, protocol {options.protocol}, queries: {queries}, seeds: {options.seeds}")
            print(f"to learn from in the first fold: {first.n_queries}, {first.n_documents} documents\n")
            print(f"{'':26}{'NDCG@10':>8}{'MAP':>8}{'NDCG@10 to default':>19}{'MAP to default':>19}")
            reference = measure("default", folds, options.seeds, options.protocol, options.jobs)
            print_row("default", reference, reference)
            for name in wanted:
                if name != "default":
                    values = measure(name, folds, options.seeds, options.protocol, options.jobs)
                    print_row(name, values, reference)


if __name__ == "__main__":
    main()
