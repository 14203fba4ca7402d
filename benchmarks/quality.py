"""Ranking quality on real data, ours and that of other libraries, in one run.

Five folds. Models are fitted on train, early stopping and tuning use the validation split, and test is only
reported: NDCG@10 and MAP, means over the folds with standard errors.

- `--protocol paper`: labels ≥ 1 (≥ 2 for MSLR-WEB10K) are relevant, queries without a relevant document are
  left out, convention `paper`
- `--protocol graded`: labels and queries unchanged, convention `ranklib`

At the end, ours is compared with the best peer on each data set: the difference of the means, and a paired
randomisation test over the queries of all data sets. The data is not part of the project: it is searched in
the folder DIRECTRANKER_DATA (an environment variable), then in ../shared/data. The queries of a data set
without folds, such as the sample of MSLR-WEB10K, are partitioned into five folds at random.

Trainings run in parallel, one per core, each on one thread; `s/fold` is the time of one of them.

    python benchmarks/quality.py [--data MQ2008,MQ2007-partial] [--protocol paper] [--seeds 3]
        [--only DirectRanker,LightGBM] [--jobs 2]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray

from directranker import Fold, RankingDataset, concatenate, evaluate_per_query, read_folds, read_letor
from directranker.experiments.significance import randomisation_test
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

from measuring import describe_machine
from peers import PEERS, Measure, Scores, score_by_best

METRICS = ("ndcg@10", "map")
MIN_RELEVANT_LABEL = {"MSLR-WEB10K-sample": 2}
"""The lowest relevant label in the paper's protocol, if it is not 1."""
CONVENTIONS = {"paper": "paper", "graded": "ranklib"}
REQUIRED_LEAD = {"DirectRanker": 0.0, "Ensemble of 5": 0.004}
"""The required lead over the best peer, in both metrics on each data set."""
MAX_P_VALUE = 0.1


@dataclass(frozen=True)
class Contender:
    """A ranker by name: its factory from a seed and a stopping metric, and its required means on MQ2008."""

    name: str
    make: Callable[..., Any]
    required: tuple[float, float] | None = None


def make_ensemble(*, metric: str, random_state: int) -> Ensemble:
    """Make an ensemble of five DirectRankers; the seed is for the ensemble, the metric for its members."""
    return Ensemble(DirectRanker(metric=metric), 5, random_state=random_state)


def make_rank_svm(*, metric: str, random_state: int) -> RankSVM:
    """Make a RankSVM, which minimises its objective and ignores the metric."""
    del metric
    return RankSVM(random_state=random_state)


OURS = [
    Contender("DirectRanker.paper", DirectRanker.paper, (0.708, 0.625)),
    Contender("RankNet", RankNet, (0.705, 0.632)),
    Contender("ListNet", ListNet, (0.709, 0.641)),
    Contender("AdaRank", AdaRank, (0.712, 0.644)),
    Contender("CoordinateAscent", CoordinateAscent),
    Contender("ESRank", ESRank, (0.705, 0.630)),
    Contender("IESRRank", IESRRank, (0.705, 0.630)),
    Contender("IESVMRank", IESVMRank, (0.705, 0.630)),
    Contender("RankSVM", make_rank_svm),
    Contender("LambdaMART", LambdaMART, (0.725, 0.648)),
    Contender("LambdaDirectRanker", LambdaDirectRanker),
    Contender("DirectRanker", DirectRanker, (0.735, 0.661)),
    Contender("DirectRanker in bins", partial(DirectRanker, transform="piecewise-linear")),
    Contender("DirectRanker scaled", partial(DirectRanker, transform="auto")),
    Contender("Ensemble of 5", make_ensemble),
]


@dataclass(frozen=True)
class Row:
    """The result of a contender on a data set."""

    per_fold: NDArray[np.float64]
    """(n_folds, 2), means over seeds."""
    per_query: NDArray[np.float64]
    """(2, n_queries) over all folds, means over seeds; NaN for queries that the convention leaves out."""
    seconds: float
    """Per fold and seed, including tuning."""

    @property
    def means(self) -> NDArray[np.float64]:
        """NDCG@10 and MAP."""
        return np.asarray(self.per_fold.mean(axis=0))


def evaluate_scores(data: RankingDataset, scores: Scores, protocol: str) -> NDArray[np.float64]:
    """Compute NDCG@10 and MAP of each query, (2, n_queries)."""
    convention = CONVENTIONS[protocol]
    values = evaluate_per_query(
        data.relevance, scores, offsets=data.offsets, metrics=METRICS, convention=convention
    )
    return np.stack([values[metric] for metric in METRICS])


def score_by(name: str, fold: Fold, seed: int, protocol: str) -> dict[str, Scores]:
    """Train a contender and score the test split, by metric."""
    if name in PEERS:
        return score_by_peer(name, fold, seed, protocol)
    contender = next(contender for contender in OURS if contender.name == name)
    ranker = contender.make(random_state=seed, metric=get_stopping_metric(protocol))
    return dict.fromkeys(METRICS, ranker.fit(fold.train, eval_set=fold.validation).predict(fold.test))


def score_by_peer(name: str, fold: Fold, seed: int, protocol: str) -> dict[str, Scores]:
    """Tune a peer and score the test split; per metric with the setting that is best on validation."""
    measures: dict[str, Measure] = {
        metric: partial(_compute_mean, number=number, protocol=protocol)
        for number, metric in enumerate(METRICS)
    }
    return score_by_best(name, fold, seed, measures)


def get_stopping_metric(protocol: str) -> str:
    """Return the metric for early stopping of our rankers."""
    return f"ndcg@10:{CONVENTIONS[protocol]}"


def _compute_mean(data: RankingDataset, scores: Scores, *, number: int, protocol: str) -> float:
    return float(np.nanmean(evaluate_scores(data, scores, protocol)[number]))


def run_once(name: str, fold: Fold, seed: int, protocol: str) -> tuple[NDArray[np.float64], float]:
    """Return the values of the test queries, (2, n_queries), and the seconds of training and scoring."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    scores = score_by(name, fold, seed, protocol)
    seconds = time.perf_counter() - start
    per_metric = [evaluate_scores(fold.test, scores[metric], protocol) for metric in METRICS]
    return np.stack([per_metric[number][number] for number in range(len(METRICS))]), seconds


def run(name: str, folds: list[Fold], seeds: int, protocol: str, jobs: int) -> Row:
    """Train a contender on each fold with each seed."""
    with parallel_config(backend="loky", inner_max_num_threads=1):
        results = Parallel(n_jobs=jobs, batch_size=1)(
            delayed(run_once)(name, fold, seed, protocol) for fold in folds for seed in range(seeds)
        )
    values = [values for values, _ in results]
    per_query = [np.mean(values[at : at + seeds], axis=0) for at in range(0, len(values), seeds)]
    per_fold = np.array([np.nanmean(values, axis=1) for values in per_query])
    seconds = float(np.mean([seconds for _, seconds in results]))
    return Row(per_fold, np.concatenate(per_query, axis=1), seconds)


def read_data(name: str, protocol: str) -> Iterator[Fold]:
    """Read the folds of a data set and apply the protocol."""
    default_folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DIRECTRANKER_DATA", default_folder)) / name
    if not folder.is_dir():
        sys.exit(f"{folder} does not exist; set DIRECTRANKER_DATA to the folder that contains {name}")
    for fold in read_folds(folder) if (folder / "Fold1").is_dir() else make_random_folds(folder):
        splits = (fold.train, fold.validation, fold.test)
        if protocol == "paper":
            threshold = MIN_RELEVANT_LABEL.get(name, 1)
            splits = tuple(split.binarise(threshold).only_queries_with_relevant() for split in splits)  # type: ignore[assignment]
        yield Fold(fold.name, *splits)


def make_random_folds(folder: Path) -> Iterator[Fold]:
    """Partition all queries of the folder's files into five folds: a fifth is validation, another test."""
    data = concatenate([read_letor(path) for path in sorted(folder.glob("*.txt"))])
    fifth = np.random.default_rng(7).permutation(data.n_queries) % 5
    for number in range(5):
        is_validation, is_test = fifth == (number + 1) % 5, fifth == number
        splits = (
            data.select(np.flatnonzero(mask)) for mask in (~is_validation & ~is_test, is_validation, is_test)
        )
        yield Fold(f"random {number + 1}", *splits)


def print_row(name: str, row: Row, required: tuple[float, float] | None) -> bool:
    """Print a row of the table; return whether the required means are reached."""
    errors = row.per_fold.std(axis=0, ddof=1) / np.sqrt(len(row.per_fold))
    cells = "".join(f"  {mean:.4f} ± {error:.4f}" for mean, error in zip(row.means, errors, strict=True))
    requirement = "" if required is None else "  ≥ " + " / ".join(f"{value:.3f}" for value in required)
    print(f"{name:22}{cells}{row.seconds:>10.2f}{requirement}", flush=True)
    return required is None or bool(np.all(row.means >= required))


def check_lead(name: str, results: dict[str, dict[str, Row]]) -> bool:
    """Print the lead of a ranker over the best peer; return whether it is large enough."""
    reached = True
    for number, metric in enumerate(METRICS):
        differences, leads = [], []
        for data, rows in results.items():
            best = max(PEERS.keys() & rows.keys(), key=lambda peer: rows[peer].means[number])
            lead = rows[name].means[number] - rows[best].means[number]
            leads.append(f"{data} {lead:+.4f} ({best})")
            reached &= bool(lead >= REQUIRED_LEAD[name])
            differences.append((rows[name].per_query[number], rows[best].per_query[number]))
        ours, theirs = (np.concatenate(values) for values in zip(*differences, strict=True))
        p = randomisation_test(ours, theirs)
        reached &= REQUIRED_LEAD[name] == 0 or p < MAX_P_VALUE
        print(
            f"{name:16}{metric:8}{'; '.join(leads)}; required {REQUIRED_LEAD[name]:+.3f}; "
            f"p {p:.3f} over all queries"
        )
    return reached


def main() -> None:
    """Train all contenders and print the tables; exit with 1 if a required figure is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="MQ2008", help="names of data sets, separated by commas")
    parser.add_argument("--protocol", choices=CONVENTIONS, default="paper")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="names of contenders, separated by commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of parallel trainings")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [contender.name for contender in OURS] + list(PEERS)
    names = [name for name in names if not options.only or name in options.only.split(",")]
    required = {contender.name: contender.required for contender in OURS}
    print(describe_machine("torch", "lightgbm", "xgboost-cpu", "catboost"))
    reached, results = True, dict[str, dict[str, Row]]()
    for data in options.data.split(","):
        folds = list(read_data(data, options.protocol))
        print(f"\n{data}, protocol {options.protocol}, {len(folds)} folds, seeds 0 to {options.seeds - 1}\n")
        print(f"{'':22}{'NDCG@10':>17}{'MAP':>17}{'s/fold':>10}  required")
        results[data] = {}
        for name in names:
            results[data][name] = run(name, folds, options.seeds, options.protocol, options.jobs)
            is_required = (data, options.protocol) == ("MQ2008", "paper")
            reached &= print_row(name, results[data][name], required.get(name) if is_required else None)
    print()
    for name in REQUIRED_LEAD.keys() & set(names) if PEERS.keys() & set(names) else ():
        reached &= check_lead(name, results)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
