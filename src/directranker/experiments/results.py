"""The results of a comparison as plain data, and their files `results.json` and `per_query.json`.

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
    """The score of a ranker on the test split of one fold."""

    fold: str
    score: float | None
    """The mean over the seeds; None if no query counts."""
    seeds: tuple[float | None, ...]
    """The score of each seed."""
    parameters: Mapping[str, object]
    """The parameters that the search selected on this fold's training split."""


@dataclass(frozen=True)
class MetricResult:
    """The scores of one ranker by one metric."""

    metric: str
    mean: float | None
    """The mean over the folds."""
    error: float | None
    """The standard error of the mean; None for a single fold."""
    folds: tuple[FoldScore, ...]
    published: PublishedValue | None = None


@dataclass(frozen=True)
class Timing:
    """Seconds to train on a whole training split and to score its test split, with standard errors."""

    fit_seconds: float
    fit_error: float | None
    score_seconds: float
    score_error: float | None
    n_train: float
    """Number of training documents, averaged over the folds."""
    n_test: float
    """Number of scored documents, averaged over the folds."""
    published: PublishedValue | None = None

    @property
    def fit_milliseconds_per_document(self) -> float:
        """Training time per document."""
        return 1e3 * self.fit_seconds / self.n_train

    @property
    def score_microseconds_per_document(self) -> float:
        """Scoring time per document."""
        return 1e6 * self.score_seconds / self.n_test


@dataclass(frozen=True)
class RankerResult:
    """The results of one ranker."""

    ranker: str
    description: str
    n_candidates: int
    """The number of candidates of its search."""
    measured: tuple[MetricResult, ...]
    timing: Timing | None = None
    """None for scores that another program computed."""

    def by(self, metric: str) -> MetricResult:
        """Return the result by this metric."""
        return next(one for one in self.measured if one.metric == metric)


@dataclass(frozen=True)
class PairedTest:
    """A significance test between two rankers, on their values of the same queries."""

    metric: str
    first: str
    second: str
    difference: float
    """The mean over queries of first − second."""
    p_value: float
    """The p-value of the two-sided randomisation test."""
    p_corrected: float
    """The p-value after Holm's correction over all pairs of rankers by this metric."""
    sigma: float | None
    """The distance of the means over folds in σ, as the paper reports it; None for a single fold."""


@dataclass(frozen=True)
class QueryValues:
    """The value of every test query by one metric, for every ranker; None for queries that do not count."""

    metric: str
    folds: tuple[str, ...]
    """The fold whose test split has the query."""
    queries: tuple[int | str, ...]
    values: Mapping[str, tuple[float | None, ...]]
    """By ranker, averaged over its seeds."""


@dataclass(frozen=True)
class Comparison:
    """A finished comparison: its request, its results and its environment."""

    request: Mapping[str, Any]
    """Data, threshold, folds, rankers, grid, metrics, convention, inner folds, seeds, and the command."""
    rankers: tuple[RankerResult, ...]
    tests: tuple[PairedTest, ...]
    environment: Mapping[str, Any]
    """Machine, cores, workers and versions."""
    digest: str = ""
    """A checksum of everything that determines the results."""
    per_query: tuple[QueryValues, ...] = field(default=(), repr=False)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in the order of the request."""
        return tuple(self.request["metrics"])

    def best(self, metric: str) -> RankerResult | None:
        """Return the ranker with the highest mean; ties go to the first. None if no query counts."""
        counted = [result for result in self.rankers if result.by(metric).mean is not None]
        return max(counted, key=lambda result: result.by(metric).mean or 0.0, default=None)

    def test(self, metric: str, one: str, other: str) -> PairedTest | None:
        """Return the test between two rankers, in either order; None for a ranker and itself."""
        pair = {one, other}
        return next((t for t in self.tests if t.metric == metric and {t.first, t.second} == pair), None)


def write_results(comparison: Comparison, folder: str | Path) -> Path:
    """Write `results.json` and `per_query.json`; return the path of the first."""
    folder = Path(folder)
    content = asdict(comparison)
    per_query = content.pop("per_query")
    # The file that marks a comparison as finished is written last.
    write_json({"digest": comparison.digest, "per_query": per_query}, folder / PER_QUERY)
    write_json(content, folder / RESULTS, indent=2)
    return folder / RESULTS


def read_results(folder: str | Path, *, per_query: bool = True) -> Comparison:
    """Read the files of `write_results`; without `per_query`, skip the values of each query."""
    content = read_json(Path(folder) / RESULTS)
    try:
        queries = read_json(Path(folder) / PER_QUERY)["per_query"] if per_query else []
        return Comparison(
            request=content["request"],
            rankers=tuple(_parse_ranker_result(one) for one in content["rankers"]),
            tests=tuple(PairedTest(**one) for one in content["tests"]),
            environment=content["environment"],
            digest=content["digest"],
            per_query=tuple(_parse_query_values(one) for one in queries),
        )
    except (KeyError, TypeError) as error:
        raise StorageError(
            f"{Path(folder) / RESULTS}: is incomplete ({error}); run the comparison again"
        ) from None


def write_json(content: Mapping[str, object], path: Path, *, indent: int | None = None) -> None:
    """Write a JSON file atomically, with the version of its format."""
    text = json.dumps({"format": FORMAT, **content}, indent=indent, ensure_ascii=False, allow_nan=False)
    with write_atomically(path) as temporary:
        # A file name may have bytes that are not valid text; escaped as in JSON, they read back the same.
        temporary.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of `write_json`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise StorageError(f"{path}: is not JSON ({error}); run the command that wrote it again") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StorageError(f"{path}: is not of format {FORMAT}; run the command that wrote it again")
    return content


def _parse_ranker_result(content: dict[str, Any]) -> RankerResult:
    measured = tuple(_parse_metric_result(one) for one in content.pop("measured"))
    timing = content.pop("timing")
    parsed = None if timing is None else Timing(**_parse_published(timing))
    return RankerResult(**content, measured=measured, timing=parsed)


def _parse_metric_result(content: dict[str, Any]) -> MetricResult:
    folds = tuple(FoldScore(**{**one, "seeds": tuple(one["seeds"])}) for one in content.pop("folds"))
    return MetricResult(**_parse_published(content), folds=folds)


def _parse_published(content: dict[str, Any]) -> dict[str, Any]:
    published = content.pop("published")
    return {**content, "published": None if published is None else PublishedValue(**published)}


def _parse_query_values(content: dict[str, Any]) -> QueryValues:
    values = {ranker: tuple(column) for ranker, column in content["values"].items()}
    return QueryValues(content["metric"], tuple(content["folds"]), tuple(content["queries"]), values)
