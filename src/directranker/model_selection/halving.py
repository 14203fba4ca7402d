"""Successive halving by queries: many candidates on few queries, then the best third on three times as many.

Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, 2016. A budget
is a number of whole training queries, where scikit-learn's halving counts rows. The last round trains on all.

>>> compute_budgets(n_candidates=27, n_queries=900)
[(27, 33), (9, 100), (3, 300), (1, 900)]
>>> compute_budgets(n_candidates=6, n_queries=40)
[(6, 13), (2, 40)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from directranker.arrays import IntArray
from directranker.model_selection.cross_validation import CrossValidation, ScoreTable, evaluate_candidates
from directranker.model_selection.progress import ProgressCallback, ProgressTracker
from directranker.model_selection.running import Runner
from directranker.model_selection.search_result import select_best_candidate

__all__ = ["compute_budgets", "search_by_halving"]

FACTOR = 3
MIN_QUERIES = 10  # to train on


def compute_budgets(n_candidates: int, n_queries: int) -> list[tuple[int, int]]:
    """Compute the numbers of candidates and of training queries of each round."""
    sizes = [n_candidates]
    while sizes[-1] >= FACTOR and n_queries // FACTOR ** len(sizes) >= MIN_QUERIES:
        sizes.append(-(-sizes[-1] // FACTOR))
    return [(size, n_queries // FACTOR ** (len(sizes) - 1 - number)) for number, size in enumerate(sizes)]


def search_by_halving(
    validation: CrossValidation,
    candidates: Sequence[Mapping[str, object]],
    runner: Runner,
    progress: ProgressCallback | None,
) -> tuple[dict[str, ScoreTable], dict[str, int], dict[str, IntArray]]:
    """Return each metric's table and best candidate, and columns of each candidate's last query budget."""
    n_queries = max(len(train.queries or ()) for train, _ in validation.splits)
    rounds = compute_budgets(len(candidates), n_queries)
    n_jobs = len(validation.metrics) * len(validation.splits)
    tracker = ProgressTracker(n_jobs * sum(n for n, _ in rounds), progress)
    remaining = {metric: list(range(len(candidates))) for metric in validation.metrics}
    n_splits = len(validation.splits)
    tables = {metric: ScoreTable.empty(len(candidates), n_splits) for metric in validation.metrics}
    n_train_queries = {f"n_queries_{metric}": np.zeros(len(candidates), np.int64) for metric in remaining}
    for number, (_, budget) in enumerate(rounds):
        evaluated = evaluate_candidates(
            validation.limit_queries(budget), candidates, remaining, runner, tracker
        )
        for metric, table in evaluated.items():
            tables[metric].copy_rows(remaining[metric], table)
            n_train_queries[f"n_queries_{metric}"][remaining[metric]] = budget
            if number + 1 < len(rounds):
                remaining[metric] = _select_best(table, remaining[metric], rounds[number + 1][0])
    best = {}
    for metric, finalists in remaining.items():
        best[metric] = finalists[select_best_candidate(tables[metric].means[finalists], metric)]
    return tables, best, n_train_queries


def _select_best(table: ScoreTable, candidates: Sequence[int], n: int) -> list[int]:
    """Select the `n` best candidates, in the grid's order; ties go to the earlier one."""
    means = np.nan_to_num(table.means[list(candidates)], nan=-np.inf)
    return sorted(candidates[index] for index in np.argsort(-means, kind="stable")[:n].tolist())
