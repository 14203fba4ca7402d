"""What a comparison found, as plain data that JSON holds: `results.json`, and every query's values beside it.

>>> timing = Timing(1.5, fit_error=0.1, score_seconds=0.01, score_error=0.0, n_train=900, n_test=300)
>>> round(timing.fit_milliseconds_per_document, 2)
1.67
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from directranker.data.files import write_atomically
from directranker.errors import StorageError
from directranker.experiments.published import PublishedValue

__all__ = [
    "Comparison",
    "FoldScore",
    "MetricResult",
    "PairedTest",
    "QueryValues",
    "RankerResult",
    "Timing",
    "read_json",
    "read_results",
    "write_json",
    "write_results",
]

FORMAT = 1
RESULTS = "results.json"
PER_QUERY = "per_query.json"


@dataclass(frozen=True)
class FoldScore:
    """How well a ranker did on the test part of one fold."""

    fold: str
    score: float | None
    """The mean over the seeds; None where no query counts."""
    seeds: tuple[float | None, ...]
    """The score of each seed."""
    parameters: Mapping[str, Any]
    """What the search chose on this fold's training part."""


@dataclass(frozen=True)
class MetricResult:
    """One ranker by one metric."""

    metric: str
    mean: float | None
    """Over the folds."""
    error: float | None
    """Its standard error; None for a single fold."""
    folds: tuple[FoldScore, ...]
    published: PublishedValue | None = None


@dataclass(frozen=True)
class Timing:
    """Seconds of one training on a whole training part and of scoring its test part, with standard errors."""

    fit_seconds: float
    fit_error: float | None
    score_seconds: float
    score_error: float | None
    n_train: float
    """Documents trained on, the mean over the folds."""
    n_test: float
    """Documents scored, likewise."""
    published: PublishedValue | None = None

    @property
    def fit_milliseconds_per_document(self) -> float:
        """How long training takes by document."""
        return 1e3 * self.fit_seconds / self.n_train

    @property
    def score_microseconds_per_document(self) -> float:
        """How long scoring takes by document."""
        return 1e6 * self.score_seconds / self.n_test


@dataclass(frozen=True)
class RankerResult:
    """All about one ranker."""

    ranker: str
    description: str
    n_candidates: int
    """How many sets of parameters were tried."""
    measured: tuple[MetricResult, ...]
    timing: Timing | None = None
    """None for scores of another program."""

    def by(self, metric: str) -> MetricResult:
        """How well it did by this metric."""
        return next(one for one in self.measured if one.metric == metric)


@dataclass(frozen=True)
class PairedTest:
    """Whether two rankers differ by a metric, from their values of the same queries."""

    metric: str
    first: str
    second: str
    difference: float
    """The mean over queries of first − second."""
    p_value: float
    """Of the two-sided randomisation test."""
    p_corrected: float
    """After Holm's correction over all pairs of rankers by this metric."""
    sigma: float | None
    """The paper's distance of the means over folds; None for a single fold."""


@dataclass(frozen=True)
class QueryValues:
    """A metric's value of every tested query, for every ranker; None for queries that are left out."""

    metric: str
    folds: tuple[str, ...]
    """The fold in whose test part each query stands."""
    queries: tuple[int | str, ...]
    values: Mapping[str, tuple[float | None, ...]]
    """By ranker, the mean over its seeds."""


@dataclass(frozen=True)
class Comparison:
    """A finished comparison: what was asked, what came out, and where."""

    request: Mapping[str, Any]
    """Data, threshold, folds, rankers, grid, metrics, convention, inner folds, seeds, and the command."""
    rankers: tuple[RankerResult, ...]
    tests: tuple[PairedTest, ...]
    environment: Mapping[str, Any]
    """Machine, cores, workers and versions."""
    digest: str = ""
    """Of all that determines the result: the same digest, the same table."""
    per_query: tuple[QueryValues, ...] = field(default=(), repr=False)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in the order asked for."""
        return tuple(self.request["metrics"])

    def best(self, metric: str) -> RankerResult | None:
        """The ranker with the highest mean, the first of equals; None where no query counts."""
        counted = [result for result in self.rankers if result.by(metric).mean is not None]
        return max(counted, key=lambda result: result.by(metric).mean or 0.0, default=None)

    def test(self, metric: str, one: str, other: str) -> PairedTest | None:
        """The test between two rankers, in whichever order; None of a ranker against itself."""
        pair = {one, other}
        return next((t for t in self.tests if t.metric == metric and {t.first, t.second} == pair), None)


def write_results(comparison: Comparison, folder: str | Path) -> Path:
    """Write `results.json` and `per_query.json`; the path of the first."""
    folder = Path(folder)
    content = asdict(comparison)
    per_query = content.pop("per_query")
    # Last the file by which a comparison counts as finished.
    write_json({"digest": comparison.digest, "per_query": per_query}, folder / PER_QUERY)
    write_json(content, folder / RESULTS, indent=2)
    return folder / RESULTS


def read_results(folder: str | Path, *, per_query: bool = True) -> Comparison:
    """Read what `write_results` wrote; without `per_query` every query's values stay on disk."""
    content = read_json(Path(folder) / RESULTS)
    try:
        queries = read_json(Path(folder) / PER_QUERY)["per_query"] if per_query else []
        return Comparison(
            request=content["request"],
            rankers=tuple(_ranker_result(one) for one in content["rankers"]),
            tests=tuple(PairedTest(**one) for one in content["tests"]),
            environment=content["environment"],
            digest=content["digest"],
            per_query=tuple(_query_values(one) for one in queries),
        )
    except (KeyError, TypeError) as error:
        raise StorageError(f"{Path(folder) / RESULTS}: is no whole result ({error}); compare again") from None


def write_json(content: Mapping[str, Any], path: Path, *, indent: int | None = None) -> None:
    """Write a file of results, all or nothing, with the number of its format."""
    text = json.dumps({"format": FORMAT, **content}, indent=indent, ensure_ascii=False, allow_nan=False)
    with write_atomically(path) as temporary:
        # A file's name may have bytes that are no text; escaped as JSON does, they read back the same.
        temporary.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def read_json(path: Path) -> dict[str, Any]:
    """Read what `write_json` wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise StorageError(f"{path}: is no JSON ({error}); run again what made it") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StorageError(f"{path}: is not of format {FORMAT}; run again what made it")
    return content


def _ranker_result(content: dict[str, Any]) -> RankerResult:
    measured = tuple(_measured(one) for one in content.pop("measured"))
    timing = content.pop("timing")
    known = None if timing is None else Timing(**_with_published(timing))
    return RankerResult(**content, measured=measured, timing=known)


def _measured(content: dict[str, Any]) -> MetricResult:
    folds = tuple(FoldScore(**{**one, "seeds": tuple(one["seeds"])}) for one in content.pop("folds"))
    return MetricResult(**_with_published(content), folds=folds)


def _with_published(content: dict[str, Any]) -> dict[str, Any]:
    published = content.pop("published")
    return {**content, "published": None if published is None else PublishedValue(**published)}


def _query_values(content: dict[str, Any]) -> QueryValues:
    values = {ranker: tuple(column) for ranker, column in content["values"].items()}
    return QueryValues(content["metric"], tuple(content["folds"]), tuple(content["queries"]), values)
