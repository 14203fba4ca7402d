"""The default DirectRanker, trained to its early stop, against LightGBM's 500 trees of 64 leaves.

Made-up data of MSLR-WEB10K's size and shape. Both get all of it, with labels as they are: the DirectRanker
holds a fifth out by itself to tell when to stop, LightGBM takes all its trees. They take turns.

    python benchmarks/large_fit_benchmark.py [--queries 6000] [--rounds 1]
"""

from __future__ import annotations

import argparse
import sys
from statistics import median

import lightgbm as lgb
import numpy as np

from directranker import DirectRanker, RankingDataset

from measuring import compare, machine
from mslr_like import mslr_like

MOST = 2.0
TREES = {"objective": "lambdarank", "num_leaves": 64, "verbose": -1, "seed": 0}


def boosted(data: RankingDataset) -> None:
    """LightGBM's side, binning included as our transform is."""
    groups = np.diff(data.offsets)
    lgb.train(TREES, lgb.Dataset(data.features, data.relevance, group=groups), num_boost_round=500)


def ours(data: RankingDataset) -> None:
    """The default, and how it went."""
    ranker = DirectRanker(random_state=0, progress=False).fit(data)
    per_epoch = median(record.seconds for record in ranker.history_)
    print(
        f"layers {ranker.hidden_layers_}, {ranker.n_epochs_} epochs of {per_epoch:.1f} s, "
        f"the best is {ranker.best_epoch_}, stopped by {ranker.stopped_}",
        flush=True,
    )


def main() -> int:
    """Print both times; 1 where ours is more than twice as long."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    print(machine("torch", "numba", "lightgbm"))
    data = mslr_like(options.queries)
    print(data, flush=True)
    DirectRanker(max_epochs=1, random_state=0).fit(data.select(range(50)))  # compiles what is compiled once
    seconds = compare({"ours": lambda: ours(data), "LightGBM": lambda: boosted(data)}, options.rounds)
    ratio = median(one / other for one, other in zip(seconds["ours"], seconds["LightGBM"], strict=True))
    print(f"directranker {median(seconds['ours']):.0f} s, LightGBM {median(seconds['LightGBM']):.0f} s")
    print(f"directranker ÷ LightGBM: {ratio:.2f} (at most {MOST:g})")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
