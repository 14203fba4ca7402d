"""Quality and training time of RankLib's rankers and ours on the same folds.

RankLib is Java: this needs `java` and a RankLib jar, whose path is in the environment variable RANKLIB_JAR.
Labels are binarised and queries without a relevant document left out, as in `quality.py`; every ranker is
trained on train with early stopping by NDCG@10 on the validation split. The scores of both are evaluated with
the convention `paper`. Times are of training; RankLib's include the start of Java and reading the text.

    RANKLIB_JAR=RankLib.jar python benchmarks/ranklib.py [--data MQ2008] [--folds 5] [--only AdaRank]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import directranker
from directranker import Fold, RankingDataset, write_letor
from directranker.arrays import FloatArray
from directranker.data.folds import SPLITS

from measuring import describe_machine
from quality import METRICS, evaluate_scores, read_data

__all__ = ["RankLib", "find_missing", "parse_scores"]

PROTOCOL = "paper"
RANKLIB_NUMBERS = {"RankNet": 1, "AdaRank": 3, "Coordinate Ascent": 4, "LambdaMART": 6, "ListNet": 7}
OUR_NAMES = {"Coordinate Ascent": "CoordinateAscent"}


def find_missing(environment: dict[str, str]) -> str | None:
    """Describe what RankLib needs to run here; None if nothing is missing."""
    if shutil.which("java", path=environment.get("PATH")) is None:
        return "java is not on the PATH; install a Java runtime, version 8 or later"
    jar = environment.get("RANKLIB_JAR")
    if not jar:
        return "RANKLIB_JAR is not set; set it to the path of a RankLib jar (https://sourceforge.net/p/lemur)"
    if not Path(jar).is_file():
        return f"RANKLIB_JAR is {jar}, which does not exist"
    return None


@dataclass(frozen=True)
class RankLib:
    """A ranker of RankLib, by its number on RankLib's command line."""

    number: int
    jar: str

    def train(self, folder: Path) -> None:
        """Train on train.txt, validate on vali.txt, and write model.txt, all in the folder."""
        splits = ["-train", folder / "train.txt", "-validate", folder / "vali.txt"]
        self._run("-ranker", self.number, *splits, "-metric2t", "NDCG@10", "-save", folder / "model.txt")

    def score(self, folder: Path, data: RankingDataset) -> FloatArray:
        """Score test.txt, which contains `data`."""
        scores = folder / "scores.txt"
        self._run("-load", folder / "model.txt", "-rank", folder / "test.txt", "-score", scores)
        return parse_scores(scores.read_text(), data)

    def _run(self, *arguments: object) -> None:
        command = ["java", "-jar", self.jar, *map(str, arguments)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode:
            raise RuntimeError(
                f"{' '.join(command)} ended with {process.returncode}:\n{process.stderr[-2000:]}"
            )


def parse_scores(text: str, data: RankingDataset) -> FloatArray:
    """Parse RankLib's `-score` file: query id, index of the document in its query, score; tab-separated.

    Lines may come in any order; each document of `data` must have one.
    """
    starts = {str(query): start for query, start in zip(data.query_ids, data.offsets[:-1], strict=True)}
    lengths = dict(zip(starts, np.diff(data.offsets).tolist(), strict=True))
    scores = np.full(data.n_documents, np.nan)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            query, index, score = line.split("\t")
            position, value = int(index), float(score)
        except ValueError:
            raise ValueError(
                f"line {number} of RankLib's scores is {line!r}; expected query, index and score"
            ) from None
        if query not in starts or not 0 <= position < lengths[query]:
            raise ValueError(f"line {number} of RankLib's scores is for an unknown document: {line!r}")
        scores[starts[query] + position] = value
    if np.isnan(scores).any():
        raise ValueError(
            f"RankLib's scores are missing for {np.isnan(scores).sum()} of {len(scores)} documents"
        )
    return scores


def make_ranklib_task(number: int, jar: str) -> Callable[[Fold], tuple[FloatArray, float]]:
    """Return a function that trains and scores with RankLib: test scores, seconds of training."""

    def run(fold: Fold) -> tuple[FloatArray, float]:
        with tempfile.TemporaryDirectory() as name:
            folder, ranker = Path(name), RankLib(number, jar)
            for split, stem in SPLITS.items():
                write_letor(getattr(fold, split), folder / f"{stem}.txt")
            start = time.perf_counter()
            ranker.train(folder)
            seconds = time.perf_counter() - start
            return ranker.score(folder, fold.test), seconds

    return run


def make_our_task(name: str) -> Callable[[Fold], tuple[FloatArray, float]] | None:
    """Return the same for our ranker; None if there is none."""
    kind: Any = getattr(directranker, OUR_NAMES.get(name, name), None)
    if kind is None:
        return None

    def run(fold: Fold) -> tuple[FloatArray, float]:
        start = time.perf_counter()
        ranker = kind(random_state=0).fit(fold.train, eval_set=fold.validation)
        seconds = time.perf_counter() - start
        return ranker.predict(fold.test).astype(np.float64), seconds

    return run


def print_row(name: str, run: Callable[[Fold], tuple[FloatArray, float]], folds: list[Fold]) -> None:
    """Print means over the folds with standard errors, and seconds per fold."""
    values, seconds = np.empty((len(folds), len(METRICS))), []
    for row, fold in enumerate(folds):
        scores, elapsed = run(fold)
        values[row] = np.nanmean(evaluate_scores(fold.test, scores, PROTOCOL), axis=1)
        seconds.append(elapsed)
    errors = (
        values.std(axis=0, ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else np.full(len(METRICS), np.nan)
    )
    cells = "".join(
        f"  {mean:.3f} ± {error:.3f}" for mean, error in zip(values.mean(axis=0), errors, strict=True)
    )
    print(f"{name:32}{cells}{np.mean(seconds):>10.2f}", flush=True)


def main() -> None:
    """Print the table, or what is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="MQ2008")
    parser.add_argument("--folds", type=int, default=5, help="number of folds, from the first")
    parser.add_argument("--only", default=",".join(RANKLIB_NUMBERS), help="names, separated by commas")
    options = parser.parse_args()
    problem = find_missing(dict(os.environ))
    if problem is not None:
        print(f"RankLib cannot run here: {problem}")
        return
    unknown = [name for name in options.only.split(",") if name not in RANKLIB_NUMBERS]
    if unknown:
        sys.exit(f"unknown ranker {unknown[0]!r}; choose from {', '.join(RANKLIB_NUMBERS)}")
    folds = list(islice(read_data(options.data, PROTOCOL), options.folds))
    print(describe_machine())
    print(f"{options.data}, {len(folds)} folds, mean ± standard error\n")
    print(f"{'':32}{'NDCG@10':>15}{'MAP':>15}{'s/fold':>10}")
    for name in options.only.split(","):
        print_row(
            f"RankLib {name}", make_ranklib_task(RANKLIB_NUMBERS[name], os.environ["RANKLIB_JAR"]), folds
        )
        ours = make_our_task(name)
        if ours is None:
            print(f"directranker {name}: not in this version")
        else:
            print_row(f"directranker {name}", ours, folds)


if __name__ == "__main__":
    main()
