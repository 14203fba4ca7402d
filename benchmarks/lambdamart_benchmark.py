"""Overhead of LambdaMART over plain LightGBM in time and memory, at the size of MSLR-WEB10K.

Both bin the same data from a sample of the same size and grow the same number of trees with the same
parameters, in turns; ours also evaluates NDCG@10 after each tree.

- all queries in order, nothing held out
- an eval_set, compared with `lightgbm.train` with NDCG@10 on the same valid set
- a validation split made by the fit itself, compared with a split followed by `lightgbm.train`
- the increase of the peak memory by a fit, with rows in and out of order; plain LightGBM needs them in order

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

from measuring import compare, describe_machine
from mslr_like import make_mslr_like

ROUNDS = 5
MAX_RATIO = 1.10


def train_lightgbm(ranker: LambdaMART, train: RankingDataset, vali: RankingDataset | None = None) -> None:
    """Call `lightgbm.train` with the parameters of `ranker`."""
    parameters = ranker._lightgbm_parameters(0) | {
        "objective": "lambdarank",
        "label_gain": encode_labels(train.relevance)[1],
        "lambdarank_truncation_level": 10,
        "lambdarank_norm": False,
        "bin_construct_sample_cnt": SAMPLED_ROWS,  # LightGBM's default would be more work than ours
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
    """Print the ratio of a fit to plain LightGBM; return whether it is small enough."""
    ranker = LambdaMART(n_estimators=trees, early_stopping=False, random_state=0, progress=False)
    train, vali = data.split(0.8, random_state=0)
    with_validation = clone(ranker).set_params(early_stopping=True, patience=trees)

    def split_and_train_lightgbm() -> None:
        train_lightgbm(ranker, *data.split(1 - with_validation.validation_fraction, random_state=0))

    tasks = {
        "directranker": lambda: ranker.fit(data),
        "plain lightgbm.train": lambda: train_lightgbm(ranker, data),
        "directranker, eval_set": lambda: ranker.fit(train, eval_set=vali),
        "plain lightgbm.train, valid set": lambda: train_lightgbm(ranker, train, vali),
        "directranker, validation split": lambda: with_validation.fit(data),
        "plain lightgbm.train, split first": split_and_train_lightgbm,
    }
    ranker.fit(data.select(range(20)))  # compile
    seconds = compare(tasks, ROUNDS)
    names, reached = list(tasks), True
    print(f"\na fit of {trees} trees:\n{'':36}{'seconds':>10}")
    for name in names:
        print(f"{name:36}{median(seconds[name]):>10.2f}")
    for ours, plain in zip(names[::2], names[1::2], strict=True):
        ratio = median(first / second for first, second in zip(seconds[ours], seconds[plain], strict=True))
        print(f"{ours} ÷ {plain}: {ratio:.2f} (at most {MAX_RATIO:.2f})")
        reached &= ratio <= MAX_RATIO
    return reached


PEAK_MEMORY = """
import sys
import numpy as np
folder, benchmarks, library = sys.argv[1:]
sys.path.insert(0, benchmarks)
from directranker import RankingDataset
from directranker.rankers import LambdaMART
from lambdamart_benchmark import train_lightgbm
from mslr_like import make_mslr_like
def peak():  # getrusage would include the peak of the parent process
    lines = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
ranker = LambdaMART(n_estimators=3, random_state=0)
ranker.fit(make_mslr_like(500, n_features=3))  # load and compile
X, y, qid = (np.load(f"{folder}/{name}.npy") for name in ("X", "y", "qid"))
before = peak()
if library == "directranker":
    ranker.fit(X, y, qid=qid)
else:
    offsets = np.append(np.flatnonzero(np.diff(qid, prepend=-1)), len(qid))
    train_lightgbm(ranker, RankingDataset(X, y, offsets, np.arange(len(offsets) - 1)))
print(peak() - before)
"""


def measure_memory(data: RankingDataset, library: str, *, shuffled: bool) -> int:
    """Measure by how many bytes a fit raises the peak memory of a process that holds the data."""
    order = np.arange(data.n_documents)
    if shuffled:
        order = np.random.default_rng(0).permutation(data.n_documents)
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("X", data.features), ("y", data.relevance), ("qid", data.qid)):
            np.save(Path(folder) / f"{name}.npy", array[order])
        command = [sys.executable, "-c", PEAK_MEMORY, folder, str(Path(__file__).parent), library]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


def check_memory(data: RankingDataset) -> bool:
    """Check that a fit needs less memory than a copy of the data, and no more than plain LightGBM."""
    size = data.features.nbytes
    print(f"\nmemory of a fit in addition to the data of {size / 1e6:.0f} MB:")
    used = {}
    for library, shuffled in (
        ("plain lightgbm.train", False),
        ("directranker", False),
        ("directranker", True),
    ):
        name = f"{library}, rows {'out of' if shuffled else 'in'} order"
        used[name] = measure_memory(data, library, shuffled=shuffled)
        print(f"{name:40}{used[name] / 1e6:>8.0f} MB{used[name] / size:>8.2f} × data", flush=True)
    plain, *ours = used.values()
    return all(each <= min(size, 1.1 * plain) for each in ours)


def main() -> None:
    """Run all checks, and exit with 1 if a requirement is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--trees", type=int, default=30)
    options = parser.parse_args()
    print(describe_machine("lightgbm", "numpy"))
    data = make_mslr_like(options.queries)
    print(data)
    reached = check_time(data, options.trees)
    reached &= check_memory(data)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
