"""What LambdaMART adds to bare LightGBM in time and memory, at the size of MSLR-WEB10K.

Both bin the same data, from a sample of the same size, and grow the same number of trees with the same
parameters, in turn; ours also measures NDCG@10 after each tree.

- all queries in order, nothing held out
- an eval_set, against `lightgbm.train` with NDCG@10 on the same valid set
- a part held out by the fit itself, against a split and then `lightgbm.train`
- how far a fit lifts the peak memory, with rows in and out of order; bare LightGBM needs them in order

    python benchmarks/lambdamart_benchmark.py [--queries 6000] [--trees 30]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import lightgbm as lgb
import numpy as np
from sklearn.base import clone

from directranker import RankingDataset
from directranker.rankers import LambdaMART
from directranker.rankers.trees.boosting import SAMPLED_ROWS
from directranker.rankers.trees.label_gains import encode_labels

from measuring import compare, machine
from mslr_like import mslr_like

ROUNDS = 5
ALLOWED = 1.10


def bare_lightgbm(ranker: LambdaMART, train: RankingDataset, vali: RankingDataset | None = None) -> None:
    """`lightgbm.train` with the parameters that `ranker` gives it."""
    parameters = ranker._lightgbm_parameters(0) | {
        "objective": "lambdarank",
        "label_gain": encode_labels(train.relevance)[1],
        "lambdarank_truncation_level": 10,
        "lambdarank_norm": False,
        "bin_construct_sample_cnt": SAMPLED_ROWS,  # LightGBM's default would be more work than ours does
        "metric": "None" if vali is None else "ndcg",
        "eval_at": [10],
    }
    train_set = lgb.Dataset(train.features, train.relevance, group=np.diff(train.offsets))
    valid_sets = (
        None
        if vali is None
        else [lgb.Dataset(vali.features, vali.relevance, group=np.diff(vali.offsets), reference=train_set)]
    )
    lgb.train(parameters, train_set, ranker.n_estimators, valid_sets=valid_sets)


def check_time(data: RankingDataset, trees: int) -> bool:
    """How many times as long as bare LightGBM a fit takes."""
    ranker = LambdaMART(n_estimators=trees, early_stopping=False, random_state=0, progress=False)
    train, vali = data.split(0.8, random_state=0)
    holding_out = clone(ranker).set_params(early_stopping=True, patience=trees)

    def bare_holding_out() -> None:
        bare_lightgbm(ranker, *data.split(1 - holding_out.validation_fraction, random_state=0))

    works = {
        "directranker": lambda: ranker.fit(data),
        "bare lightgbm.train": lambda: bare_lightgbm(ranker, data),
        "directranker, eval_set": lambda: ranker.fit(train, eval_set=vali),
        "bare lightgbm.train, valid set": lambda: bare_lightgbm(ranker, train, vali),
        "directranker, a part held out": lambda: holding_out.fit(data),
        "bare lightgbm.train, split first": bare_holding_out,
    }
    ranker.fit(data.select(range(20)))  # compile
    seconds = compare(works, ROUNDS)
    names, reached = list(works), True
    print(f"\na fit of {trees} trees:\n{'':36}{'seconds':>10}")
    for name in names:
        print(f"{name:36}{median(seconds[name]):>10.2f}")
    for ours, bare in zip(names[::2], names[1::2], strict=True):
        ratio = median(one / other for one, other in zip(seconds[ours], seconds[bare], strict=True))
        print(f"{ours}, to {bare}: {ratio:.2f} (at most {ALLOWED:.2f})")
        reached &= ratio <= ALLOWED
    return reached


PEAK_MEMORY = """
import sys
import numpy as np
folder, benchmarks, who = sys.argv[1:]
sys.path.insert(0, benchmarks)
from directranker import RankingDataset
from directranker.rankers import LambdaMART
from lambdamart_benchmark import bare_lightgbm
from mslr_like import mslr_like
def peak():  # getrusage would begin with the peak of the process that started this one
    lines = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
ranker = LambdaMART(n_estimators=3, random_state=0)
ranker.fit(mslr_like(500, n_features=3))  # what is loaded and compiled once
X, y, qid = (np.load(f"{folder}/{name}.npy") for name in ("X", "y", "qid"))
before = peak()
if who == "directranker":
    ranker.fit(X, y, qid=qid)
else:
    offsets = np.append(np.flatnonzero(np.diff(qid, prepend=-1)), len(qid))
    bare_lightgbm(ranker, RankingDataset(X, y, offsets, np.arange(len(offsets) - 1)))
print(peak() - before)
"""


def memory_of_fit(data: RankingDataset, who: str, *, shuffled: bool) -> int:
    """By how many bytes a fit lifts the peak of a process that has the data in memory."""
    order = np.arange(data.n_documents)
    if shuffled:
        order = np.random.default_rng(0).permutation(data.n_documents)
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("X", data.features), ("y", data.relevance), ("qid", data.qid)):
            np.save(Path(folder) / f"{name}.npy", array[order])
        command = [sys.executable, "-c", PEAK_MEMORY, folder, str(Path(__file__).parent), who]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


def check_memory(data: RankingDataset) -> bool:
    """No second copy: what a fit takes is less than the data, and no more than bare LightGBM takes."""
    size = data.features.nbytes
    print(f"\nwhat a fit takes beside the data of {size / 1e6:.0f} MB:")
    taken = {}
    for who, shuffled in (("bare lightgbm.train", False), ("directranker", False), ("directranker", True)):
        name = f"{who}, rows {'out of' if shuffled else 'in'} order"
        taken[name] = memory_of_fit(data, who, shuffled=shuffled)
        print(f"{name:40}{taken[name] / 1e6:>8.0f} MB{taken[name] / size:>8.2f} of the data", flush=True)
    bare, *ours = taken.values()
    return all(each <= min(size, 1.1 * bare) for each in ours)


def main() -> None:
    """Run all, and leave with 1 if a requirement is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--trees", type=int, default=30)
    options = parser.parse_args()
    print(machine("lightgbm", "numpy"))
    data = mslr_like(options.queries)
    print(data)
    reached = check_time(data, options.trees)
    reached &= check_memory(data)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
