"""Comparison of rankers of other programs, by their scores of the same test data.

>>> by_query = {"map": {"q1": 1.0, "q2": 0.5}}, {"map": {"q1": 0.5, "q2": 0.5}}
>>> comparison = compare_values(dict(zip("AB", by_query)), name="test.txt", protocol="convention paper")
>>> [(one.ranker, one.by("map").mean) for one in comparison.rankers], comparison.tests[0].p_value
([('A', 0.75), ('B', 0.5)], 1.0)
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from directranker.experiments.environment import environment
from directranker.experiments.paired_tests import paired_tests
from directranker.experiments.results import Comparison, FoldScore, MetricResult, QueryValues, RankerResult

__all__ = ["compare_values"]

ValuesByQuery = Mapping[str, Mapping[Any, float]]
"""By metric, the value of each query; nan if the convention leaves it out."""


def compare_values(
    values: Mapping[str, ValuesByQuery], *, name: str, protocol: str, command: str = ""
) -> Comparison:
    """Compare rankers by their values of the same test queries.

    `values` maps ranker names to values, `name` is the name of the test data, and `protocol` describes how
    they were evaluated. A query without a value for a ranker does not count for it.
    """
    metrics = list(next(iter(values.values())))
    per_query = {metric: _collect_query_values(metric, values, name) for metric in metrics}
    results = tuple(_build_result(ranker, per_query, name) for ranker in values)
    request = {"name": name, "metrics": metrics, "protocol": protocol, "n_folds": 1, "command": command}
    content = json.dumps([request, [list(one.values.items()) for one in per_query.values()]], default=str)
    return Comparison(
        request=request,
        rankers=results,
        tests=tuple(test for metric in metrics for test in paired_tests(results, per_query[metric])),
        environment=environment(workers=1),
        digest=hashlib.sha256(content.encode()).hexdigest(),
        per_query=tuple(per_query.values()),
    )


def _collect_query_values(metric: str, values: Mapping[str, ValuesByQuery], name: str) -> QueryValues:
    queries = list(dict.fromkeys(query for ranker in values.values() for query in ranker[metric]))
    columns = {
        ranker: tuple(_none_if_nan(of_ranker[metric].get(query)) for query in queries)
        for ranker, of_ranker in values.items()
    }
    return QueryValues(metric, (name,) * len(queries), tuple(queries), columns)


def _none_if_nan(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _build_result(ranker: str, per_query: Mapping[str, QueryValues], name: str) -> RankerResult:
    measured = []
    for metric, values in per_query.items():
        counted = [value for value in values.values[ranker] if value is not None]
        mean = float(np.mean(counted)) if counted else None
        measured.append(MetricResult(metric, mean, None, (FoldScore(name, mean, (mean,), {}),)))
    return RankerResult(ranker, f"scores of {ranker}", 1, tuple(measured))
