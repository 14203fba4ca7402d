"""Fit the default DirectRanker with early stopping, compared with LightGBM's 500 trees of 64 leaves.

Synthetic data of MSLR-WEB10K's size and shape. Both get all of it with its original labels: the DirectRanker
holds out a fifth for early stopping, LightGBM grows all its trees. They run in turns.

    python benchmarks/large_fit_benchmark.py [--queries 6000] [--rounds 1]
"""

from __future__ import annotations

import argparse
import sys
from statistics import median

import lightgbm as lgb
import numpy as np

from directranker import DirectRanker, RankingDataset

from measuring import compare, describe_machine
from mslr_like import make_mslr_like

MAX_RATIO = 2.0
TREES = {"objective": "lambdarank", "num_leaves": 64, "verbose": -1, "seed": 0}


def fit_lightgbm(data: RankingDataset) -> None:
    """Fit LightGBM, including its binning, as our fit includes the transform."""
    groups = np.diff(data.offsets)
    lgb.train(TREES, lgb.Dataset(data.features, data.relevance, group=groups), num_boost_round=500)


def fit_directranker(data: RankingDataset) -> None:
    """Fit the default and print its training."""
    ranker = DirectRanker(random_state=0, progress=False).fit(data)
    per_epoch = median(record.seconds for record in ranker.history_)
    print(
        f"layers {ranker.hidden_layers_}, {ranker.n_epochs_} epochs of {per_epoch:.1f} s, "
        f"best epoch {ranker.best_epoch_}, stopped by {ranker.stopped_}",
        flush=True,
    )


def main() -> int:
    """Print both times; return 1 if ours takes more than twice as long."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    print(describe_machine("torch", "numba", "lightgbm"))
    data = make_mslr_like(options.queries)
    print(data, flush=True)
    DirectRanker(max_epochs=1, random_state=0).fit(data.select(range(50)))  # compile
    seconds = compare(
        {"ours": lambda: fit_directranker(data), "LightGBM": lambda: fit_lightgbm(data)}, options.rounds
    )
    ratio = median(ours / theirs for ours, theirs in zip(seconds["ours"], seconds["LightGBM"], strict=True))
    print(f"directranker {median(seconds['ours']):.0f} s, LightGBM {median(seconds['LightGBM']):.0f} s")
    print(f"directranker ÷ LightGBM: {ratio:.2f} (at most {MAX_RATIO:g})")
    return 0 if ratio <= MAX_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
