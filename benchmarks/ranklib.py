"""RankLib's rankers and ours on the same folds: quality and time side by side.

RankLib is Java: this needs `java` and a RankLib jar, which the environment variable RANKLIB_JAR names. Labels
are binarised and queries without a relevant document left out, as in `quality.py`; every ranker trains on
train and stops early by NDCG@10 on vali; the test part is only scored. Both sides' scores are measured by the
convention `paper`. Times are those of training, RankLib's with the start of Java and the reading of text.

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
from numpy.typing import NDArray

import directranker
from directranker import Fold, RankingDataset, write_letor
from directranker.data.folds import SPLITS

from measuring import machine
from quality import METRICS, folds_of, values_of

__all__ = ["RankLib", "missing", "parse_scores"]

Scores = NDArray[np.float64]
PROTOCOL = "paper"
RANKLIB_NUMBERS = {"RankNet": 1, "AdaRank": 3, "Coordinate Ascent": 4, "LambdaMART": 6, "ListNet": 7}
OUR_NAMES = {"Coordinate Ascent": "CoordinateAscent"}


def missing(environment: dict[str, str]) -> str | None:
    """What RankLib lacks to run here, in words; None where it can."""
    if shutil.which("java", path=environment.get("PATH")) is None:
        return "there is no java on the PATH; install a Java runtime, version 8 or later"
    jar = environment.get("RANKLIB_JAR")
    if not jar:
        return "RANKLIB_JAR is not set; let it name a RankLib jar (https://sourceforge.net/p/lemur)"
    if not Path(jar).is_file():
        return f"RANKLIB_JAR names {jar}, which is not there"
    return None


@dataclass(frozen=True)
class RankLib:
    """A ranker of RankLib, by its number on RankLib's command line."""

    number: int
    jar: str

    def train(self, folder: Path) -> None:
        """Train on train.txt, choose by vali.txt, and write the model; all in the folder."""
        parts = ["-train", folder / "train.txt", "-validate", folder / "vali.txt"]
        self._run("-ranker", self.number, *parts, "-metric2t", "NDCG@10", "-save", folder / "model.txt")

    def score(self, folder: Path, data: RankingDataset) -> Scores:
        """Scores of test.txt, which holds `data`."""
        scores = folder / "scores.txt"
        self._run("-load", folder / "model.txt", "-rank", folder / "test.txt", "-score", scores)
        return parse_scores(scores.read_text(), data)

    def _run(self, *arguments: object) -> None:
        command = ["java", "-jar", self.jar, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")


def parse_scores(text: str, data: RankingDataset) -> Scores:
    """RankLib's `-score` file: query id, index of the document within its query, score; with tabs between.

    Lines may come in any order; each document of `data` must have one.
    """
    start_of = {str(query): start for query, start in zip(data.query_ids, data.offsets[:-1], strict=True)}
    length_of = dict(zip(start_of, np.diff(data.offsets).tolist(), strict=True))
    scores = np.full(data.n_documents, np.nan)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            query, index, score = line.split("\t")
            place, value = int(index), float(score)
        except ValueError:
            raise ValueError(
                f"line {number} of RankLib's scores is {line!r}, not query, index and score"
            ) from None
        if query not in start_of or not 0 <= place < length_of[query]:
            raise ValueError(
                f"line {number} of RankLib's scores is about a document that there is not: {line!r}"
            )
        scores[start_of[query] + place] = value
    if np.isnan(scores).any():
        raise ValueError(f"RankLib's scores lack {np.isnan(scores).sum()} of {len(scores)} documents")
    return scores


def ranklib_on(number: int, jar: str) -> Callable[[Fold], tuple[Scores, float]]:
    """Train and score with RankLib → scores of test, seconds of training."""

    def run(fold: Fold) -> tuple[Scores, float]:
        with tempfile.TemporaryDirectory() as name:
            folder, ranker = Path(name), RankLib(number, jar)
            for split, stem in SPLITS.items():
                write_letor(getattr(fold, split), folder / f"{stem}.txt")
            start = time.perf_counter()
            ranker.train(folder)
            seconds = time.perf_counter() - start
            return ranker.score(folder, fold.test), seconds

    return run


def ours_on(name: str) -> Callable[[Fold], tuple[Scores, float]] | None:
    """The same with ours; None where there is no such ranker."""
    kind: Any = getattr(directranker, OUR_NAMES.get(name, name), None)
    if kind is None:
        return None

    def run(fold: Fold) -> tuple[Scores, float]:
        start = time.perf_counter()
        ranker = kind(random_state=0).fit(fold.train, eval_set=fold.validation)
        seconds = time.perf_counter() - start
        return ranker.predict(fold.test).astype(np.float64), seconds

    return run


def print_row(name: str, run: Callable[[Fold], tuple[Scores, float]], folds: list[Fold]) -> None:
    """Means over the folds with standard errors, and seconds a fold."""
    values, seconds = np.empty((len(folds), len(METRICS))), []
    for row, fold in enumerate(folds):
        scores, taken = run(fold)
        values[row] = np.nanmean(values_of(fold.test, scores, PROTOCOL), axis=1)
        seconds.append(taken)
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
    parser.add_argument("--folds", type=int, default=5, help="only the first so many")
    parser.add_argument("--only", default=",".join(RANKLIB_NUMBERS), help="names, with commas between")
    options = parser.parse_args()
    lacking = missing(dict(os.environ))
    if lacking is not None:
        print(f"RankLib cannot run here: {lacking}")
        return
    unknown = [name for name in options.only.split(",") if name not in RANKLIB_NUMBERS]
    if unknown:
        sys.exit(f"no ranker {unknown[0]!r}; there are {', '.join(RANKLIB_NUMBERS)}")
    folds = list(islice(folds_of(options.data, PROTOCOL), options.folds))
    print(machine())
    print(f"{options.data}, {len(folds)} folds, mean ± standard error\n")
    print(f"{'':32}{'NDCG@10':>15}{'MAP':>15}{'s/fold':>10}")
    for name in options.only.split(","):
        print_row(f"RankLib {name}", ranklib_on(RANKLIB_NUMBERS[name], os.environ["RANKLIB_JAR"]), folds)
        ours = ours_on(name)
        if ours is None:
            print(f"directranker {name}: not in this version")
        else:
            print_row(f"directranker {name}", ours, folds)


if __name__ == "__main__":
    main()
