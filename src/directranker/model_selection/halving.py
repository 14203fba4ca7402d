"""Successive halving by queries: many candidates on few queries, the best third on three times as many.

Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, 2016. A budget
is a number of training queries, none of which is cut; scikit-learn's own takes rows. The last round has all.

>>> budgets(n_candidates=27, n_queries=900)
[(27, 33), (9, 100), (3, 300), (1, 900)]
>>> budgets(n_candidates=6, n_queries=40)
[(6, 13), (2, 40)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from directranker.model_selection.cross_validation import CrossValidation, Table, measure
from directranker.model_selection.progress import Report, Tally
from directranker.model_selection.running import Runner
from directranker.model_selection.search_result import best_candidate

__all__ = ["budgets", "halve"]

FACTOR = 3
MIN_QUERIES = 10  # to learn anything from


def budgets(n_candidates: int, n_queries: int) -> list[tuple[int, int]]:
    """The number of candidates and of training queries in each round; the last one has all queries."""
    sizes = [n_candidates]
    while sizes[-1] >= FACTOR and n_queries // FACTOR ** len(sizes) >= MIN_QUERIES:
        sizes.append(-(-sizes[-1] // FACTOR))
    return [(size, n_queries // FACTOR ** (len(sizes) - 1 - number)) for number, size in enumerate(sizes)]


def halve(
    validation: CrossValidation,
    candidates: Sequence[Mapping[str, Any]],
    runner: Runner,
    report: Report | None,
) -> tuple[dict[str, Table], dict[str, int], dict[str, Any]]:
    """Each metric's table and best candidate, and from how many queries each candidate's row was learnt."""
    n_queries = max(len(train.queries or ()) for train, _ in validation.splits)
    rounds = budgets(len(candidates), n_queries)
    n_cells = len(validation.metrics) * len(validation.splits)
    tally = Tally(n_cells * sum(n for n, _ in rounds), report)
    left = {metric: list(range(len(candidates))) for metric in validation.metrics}
    tables = {metric: Table.empty(len(candidates), len(validation.splits)) for metric in validation.metrics}
    learnt_from = {f"n_queries_{metric}": np.zeros(len(candidates), np.int64) for metric in left}
    for number, (_, budget) in enumerate(rounds):
        measured = measure(validation.with_queries(budget), candidates, left, runner, tally)
        for metric, table in measured.items():
            tables[metric].take_rows(left[metric], table)
            learnt_from[f"n_queries_{metric}"][left[metric]] = budget
            if number + 1 < len(rounds):
                left[metric] = _best(table, left[metric], rounds[number + 1][0])
    best = {}
    for metric, finalists in left.items():
        best[metric] = finalists[best_candidate(tables[metric].means[finalists], metric)]
    return tables, best, learnt_from


def _best(table: Table, numbers: Sequence[int], n: int) -> list[int]:
    """The best so many, in the grid's order; of equals the first."""
    means = np.nan_to_num(table.means[list(numbers)], nan=-np.inf)
    return sorted(numbers[place] for place in np.argsort(-means, kind="stable")[:n].tolist())
