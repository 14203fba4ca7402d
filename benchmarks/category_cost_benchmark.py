"""The cost of categorical features in a net on bins: its ratio to that of as many numeric features.

Both tables have the same queries and labels. Training is one epoch, with the encoding of the table and its
fit; scoring is that of the fitted net. Runs alternate, and the ratio is the median over rounds.

    python benchmarks/category_cost_benchmark.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from directranker import DirectRanker
from directranker.arrays import Features
from directranker.data.column_kinds import ColumnKinds
from directranker.training.data import TrainingData

from measuring import compare, describe_machine

ROUNDS = 7
N_FEATURES = 30
VOCABULARIES = (5, 20, 50, 100, 200, 500)


def main() -> None:
    """Print the ratios for vocabularies of several sizes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=60_000)
    n_documents = parser.parse_args().documents
    print(describe_machine("torch", "numpy"))
    print(f"{n_documents:,} documents, {N_FEATURES} features; ratio to numeric features\n")
    print(f"{'values per feature':24}{'columns':>10}{'training':>10}{'scoring':>10}")
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n_documents, N_FEATURES)).astype(np.float32)
    by_number = _fit(_make_data(numbers, ColumnKinds.numbers(N_FEATURES)))
    for n_values in VOCABULARIES:
        codes = (n_values * rng.random((n_documents, N_FEATURES)) ** 2).astype(np.float32) // 1
        kinds = ColumnKinds(np.full(N_FEATURES, n_values), np.full(N_FEATURES, -1))
        data = _make_data(codes, kinds)
        by_category = _fit(data)
        training = _compute_ratio(partial(_fit, data), partial(_fit, _make_data(numbers, None)))
        query = data.query_of_row
        scoring = _compute_ratio(
            partial(by_category._scores, codes, query), partial(by_number._scores, numbers, query)
        )
        n_columns = by_category.transform_._n_columns_out() // N_FEATURES
        print(f"{n_values:<24,}{n_columns:>10,}{training:>10.2f}{scoring:>10.2f}")


def _make_data(table: Features, kinds: ColumnKinds | None) -> TrainingData:
    labels = np.random.default_rng(1).integers(0, 3, size=len(table)).astype(np.float64)
    offsets = np.append(np.arange(0, len(table), 30), len(table))
    return TrainingData(table, None, labels, offsets, column_kinds=kinds)


def _fit(data: TrainingData) -> DirectRanker:
    ranker = DirectRanker(
        max_epochs=2,
        teacher=None,
        transform="piecewise-linear",
        early_stopping=False,
        random_state=0,
        progress=False,
    )
    ranker._check_and_fit(data, None)
    return ranker


def _compute_ratio(ours: Callable[[], object], other: Callable[[], object]) -> float:
    ours()
    seconds = compare({"ours": ours, "other": other}, ROUNDS, warm=True)
    return median(a / b for a, b in zip(seconds["ours"], seconds["other"], strict=True))


if __name__ == "__main__":
    main()
