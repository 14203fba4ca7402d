"""How well rankers rank real data, ours and the peers', in one run.

Five folds. Whatever is fitted is fitted on train, early stopping and every choice look at vali, and test is
only reported: NDCG@10 and MAP, means over the folds with standard errors.

- `--protocol paper`: labels ≥ 1 (≥ 2 for MSLR-WEB10K) are relevant, queries without a relevant document are
  left out, convention `paper`
- `--protocol graded`: labels and queries as they are, convention `ranklib`

At the end, ours against the best peer of each data set: the difference of the means, and over the queries of
all data sets the randomisation test of paired samples. The data is not part of the project: it is looked for
where the environment variable DIRECTRANKER_DATA points, then in ../shared/data. A set without folds, such as
the sample of MSLR-WEB10K, has its queries dealt to five folds.

Trainings run side by side, each on one thread, as many as there are cores; `s/fold` is what one of them took.

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

from measuring import machine
from peers import PEERS, Measure, Scores, best_on_vali

METRICS = ("ndcg@10", "map")
LOWEST_RELEVANT = {"MSLR-WEB10K-sample": 2}
"""The lowest label that is relevant in the paper's protocol, where it is not 1."""
CONVENTIONS = {"paper": "paper", "graded": "ranklib"}
LEAD = {"DirectRanker": 0.0, "Ensemble of 5": 0.004}
"""How far these must be ahead of the best peer, in both metrics on each data set."""
LARGEST_P = 0.1


@dataclass(frozen=True)
class Contender:
    """A ranker by name: how it is made from a seed and a metric to stop by, and what MQ2008 must give."""

    name: str
    make: Callable[..., Any]
    required: tuple[float, float] | None = None


def ensemble(*, metric: str, random_state: int) -> Ensemble:
    """Five DirectRankers; the seed is the ensemble's, the metric theirs."""
    return Ensemble(DirectRanker(metric=metric), 5, random_state=random_state)


def support_vectors(*, metric: str, random_state: int) -> RankSVM:
    """It ends at its objective's least value, whatever the metric."""
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
    Contender("RankSVM", support_vectors),
    Contender("LambdaMART", LambdaMART, (0.725, 0.648)),
    Contender("LambdaDirectRanker", LambdaDirectRanker),
    Contender("DirectRanker", DirectRanker, (0.735, 0.661)),
    Contender("DirectRanker in bins", partial(DirectRanker, transform="piecewise-linear")),
    Contender("DirectRanker scaled", partial(DirectRanker, transform="auto")),
    Contender("Ensemble of 5", ensemble),
]


@dataclass(frozen=True)
class Row:
    """What a contender reached on a data set."""

    per_fold: NDArray[np.float64]
    """(n_folds, 2), means over seeds."""
    per_query: NDArray[np.float64]
    """(2, n_queries) over all folds, means over seeds; nan where the convention leaves a query out."""
    seconds: float
    """Per fold and seed, with tuning."""

    @property
    def means(self) -> NDArray[np.float64]:
        """NDCG@10 and MAP."""
        return np.asarray(self.per_fold.mean(axis=0))


def values_of(data: RankingDataset, scores: Scores, protocol: str) -> NDArray[np.float64]:
    """NDCG@10 and MAP of each query, (2, n_queries)."""
    convention = CONVENTIONS[protocol]
    values = evaluate_per_query(
        data.relevance, scores, offsets=data.offsets, metrics=METRICS, convention=convention
    )
    return np.stack([values[metric] for metric in METRICS])


def scores_of(name: str, fold: Fold, seed: int, protocol: str) -> dict[str, Scores]:
    """The scores of a contender for test, by metric."""
    if name in PEERS:
        return scores_of_peer(name, fold, seed, protocol)
    contender = next(contender for contender in OURS if contender.name == name)
    ranker = contender.make(random_state=seed, metric=stopping_metric(protocol))
    return dict.fromkeys(METRICS, ranker.fit(fold.train, eval_set=fold.validation).predict(fold.test))


def scores_of_peer(name: str, fold: Fold, seed: int, protocol: str) -> dict[str, Scores]:
    """The same of a peer: for each metric the setting that is best on vali by it."""
    measures: dict[str, Measure] = {
        metric: partial(_mean_of, number=number, protocol=protocol) for number, metric in enumerate(METRICS)
    }
    return best_on_vali(name, fold, seed, measures)


def stopping_metric(protocol: str) -> str:
    """What tells one of ours when to stop."""
    return f"ndcg@10:{CONVENTIONS[protocol]}"


def _mean_of(data: RankingDataset, scores: Scores, *, number: int, protocol: str) -> float:
    return float(np.nanmean(values_of(data, scores, protocol)[number]))


def run_once(name: str, fold: Fold, seed: int, protocol: str) -> tuple[NDArray[np.float64], float]:
    """Values of the test queries, (2, n_queries), and the seconds that training, tuning and scoring took."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    scores = scores_of(name, fold, seed, protocol)
    seconds = time.perf_counter() - start
    of_metric = [values_of(fold.test, scores[metric], protocol) for metric in METRICS]
    return np.stack([of_metric[number][number] for number in range(len(METRICS))]), seconds


def run(name: str, folds: list[Fold], seeds: int, protocol: str, jobs: int) -> Row:
    """Train a contender on each fold with each seed."""
    with parallel_config(backend="loky", inner_max_num_threads=1):
        done = Parallel(n_jobs=jobs, batch_size=1)(
            delayed(run_once)(name, fold, seed, protocol) for fold in folds for seed in range(seeds)
        )
    values = [values for values, _ in done]
    per_query = [np.mean(values[at : at + seeds], axis=0) for at in range(0, len(values), seeds)]
    per_fold = np.array([np.nanmean(values, axis=1) for values in per_query])
    seconds = float(np.mean([seconds for _, seconds in done]))
    return Row(per_fold, np.concatenate(per_query, axis=1), seconds)


def folds_of(name: str, protocol: str) -> Iterator[Fold]:
    """The folds as the protocol has them."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DIRECTRANKER_DATA", beside)) / name
    if not folder.is_dir():
        sys.exit(f"{folder} is not there; set DIRECTRANKER_DATA to a folder that has {name}")
    for fold in read_folds(folder) if (folder / "Fold1").is_dir() else dealt_folds(folder):
        parts = (fold.train, fold.validation, fold.test)
        if protocol == "paper":
            lowest = LOWEST_RELEVANT.get(name, 1)
            parts = tuple(part.binarise(lowest).only_queries_with_relevant() for part in parts)  # type: ignore[assignment]
        yield Fold(fold.name, *parts)


def dealt_folds(folder: Path) -> Iterator[Fold]:
    """Five folds of all queries of the folder's texts: a fifth is vali, another is test."""
    data = concatenate([read_letor(path) for path in sorted(folder.glob("*.txt"))])
    fifth = np.random.default_rng(7).permutation(data.n_queries) % 5
    for number in range(5):
        is_vali, is_test = fifth == (number + 1) % 5, fifth == number
        parts = (data.select(np.flatnonzero(one)) for one in (~is_vali & ~is_test, is_vali, is_test))
        yield Fold(f"dealt {number + 1}", *parts)


def print_row(name: str, row: Row, required: tuple[float, float] | None) -> bool:
    """A line of the table; whether the required figures are reached."""
    errors = row.per_fold.std(axis=0, ddof=1) / np.sqrt(len(row.per_fold))
    cells = "".join(f"  {mean:.4f} ± {error:.4f}" for mean, error in zip(row.means, errors, strict=True))
    needed = "" if required is None else "  ≥ " + " / ".join(f"{value:.3f}" for value in required)
    print(f"{name:22}{cells}{row.seconds:>10.2f}{needed}", flush=True)
    return required is None or bool(np.all(row.means >= required))


def check_lead(name: str, sets: dict[str, dict[str, Row]]) -> bool:
    """Print how far one of ours is ahead of the best peer; whether that is far enough."""
    reached = True
    for number, metric in enumerate(METRICS):
        differences, leads = [], []
        for data, rows in sets.items():
            best = max(PEERS.keys() & rows.keys(), key=lambda peer: rows[peer].means[number])
            lead = rows[name].means[number] - rows[best].means[number]
            leads.append(f"{data} {lead:+.4f} ({best})")
            reached &= bool(lead >= LEAD[name])
            differences.append((rows[name].per_query[number], rows[best].per_query[number]))
        ours, theirs = (np.concatenate(values) for values in zip(*differences, strict=True))
        p = randomisation_test(ours, theirs)
        reached &= LEAD[name] == 0 or p < LARGEST_P
        print(
            f"{name:16}{metric:8}{'; '.join(leads)}; at least {LEAD[name]:+.3f}; p {p:.3f} over all queries"
        )
    return reached


def main() -> None:
    """Train all contenders and print the tables; leave with 1 if a required figure is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="MQ2008", help="names of data sets, with commas between")
    parser.add_argument("--protocol", choices=CONVENTIONS, default="paper")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="names of contenders, with commas between")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="trainings at the same time")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [contender.name for contender in OURS] + list(PEERS)
    names = [name for name in names if not options.only or name in options.only.split(",")]
    required = {contender.name: contender.required for contender in OURS}
    print(machine("torch", "lightgbm", "xgboost-cpu", "catboost"))
    reached, sets = True, dict[str, dict[str, Row]]()
    for data in options.data.split(","):
        folds = list(folds_of(data, options.protocol))
        print(f"\n{data}, protocol {options.protocol}, {len(folds)} folds, seeds 0 to {options.seeds - 1}\n")
        print(f"{'':22}{'NDCG@10':>17}{'MAP':>17}{'s/fold':>10}  required")
        sets[data] = {}
        for name in names:
            sets[data][name] = run(name, folds, options.seeds, options.protocol, options.jobs)
            counts = (data, options.protocol) == ("MQ2008", "paper")
            reached &= print_row(name, sets[data][name], required.get(name) if counts else None)
    print()
    for name in LEAD.keys() & set(names) if PEERS.keys() & set(names) else ():
        reached &= check_lead(name, sets)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
