"""Training data as LightGBM data sets: binned without a copy of the features, long queries split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from directranker.arrays import Features, FloatArray, IntArray
from directranker.training.data import TrainingData
from directranker.training.interrupts import run_interruptibly

if TYPE_CHECKING:
    import lightgbm

__all__ = [
    "build_dataset",
    "call_lightgbm",
    "normalise_weights",
    "number_missing_categories",
    "split_long_queries",
]

Result = TypeVar("Result")

SAMPLED_ROWS = 50_000  # documents that bins are made from
BATCH_ROWS = 16_384
MIN_INTERRUPTIBLE = 1_000_000  # numbers; LightGBM bins fewer in less than about a second
MAX_QUERY_DOCUMENTS = 10_000  # LightGBM's limit


def build_dataset(
    data: TrainingData, parameters: dict[str, object], seed: int, reference: lightgbm.Dataset | None = None
) -> lightgbm.Dataset:
    """Bin the features query by query, into the bins of `reference` where it is given.

    Rows that are not in order, and those with missing categories, are read from the table a few thousand at a
    time, into bins made from a sample.
    """
    import lightgbm  # noqa: PLC0415 - slow to import

    n_rows, n_categories = data.n_documents, data.kinds.n_categories
    columns = np.flatnonzero(n_categories).tolist()
    options: dict[str, Any] = {
        "params": {**parameters, "bin_construct_sample_cnt": SAMPLED_ROWS},
        "categorical_feature": columns,
    }
    is_ready = data.rows is None and not np.isnan(data.table[:, columns]).any()
    if is_ready or n_rows <= SAMPLED_ROWS:
        table = number_missing_categories(data.features, n_categories)
        return call_lightgbm(lightgbm.Dataset(table, reference=reference, **options).construct, data)

    order: IntArray = np.arange(n_rows) if data.rows is None else data.rows

    class Rows(lightgbm.Sequence):  # type: ignore[misc]
        batch_size = BATCH_ROWS

        def __len__(self) -> int:
            return n_rows

        def __getitem__(self, index: Any) -> Features:
            is_row = isinstance(index, int | np.integer)
            rows = number_missing_categories(data.table[order[[index] if is_row else index]], n_categories)
            return rows[0] if is_row else rows

    if reference is None:
        sampled = np.random.default_rng((seed, 13)).choice(n_rows, SAMPLED_ROWS, replace=False)
        sample = data.take_rows(np.sort(sampled))
        # Without a name, so that LightGBM frees the sample.
        reference = call_lightgbm(
            lightgbm.Dataset(number_missing_categories(sample.features, n_categories), **options).construct,
            sample,
        )
    return lightgbm.Dataset(Rows(), reference=reference, **options).construct()


def number_missing_categories(table: Features, n_categories: IntArray) -> Features:
    """Return the table with the code after the last category where a category is missing.

    LightGBM sends NaN and −1 to the right of every categorical split, together with the rarest values; a code
    of its own can go either way.

    >>> table = np.array([[np.nan, np.nan], [1, -1]], dtype=np.float32)
    >>> number_missing_categories(table, np.array([0, 3])).tolist()
    [[nan, 3.0], [1.0, -1.0]]
    """
    columns = np.flatnonzero(n_categories)
    missing = np.isnan(table[:, columns])
    if not missing.any():
        return table
    table = np.array(table)
    table[:, columns] = np.where(missing, n_categories[columns].astype(np.float32), table[:, columns])
    return table


def call_lightgbm(call: Callable[[], Result], data: TrainingData) -> Result:
    """Run a LightGBM call on some data; on large data, Ctrl-C does not wait for it.

    Binning 100,000 features takes LightGBM minutes.
    """
    is_large = data.n_documents * data.table.shape[1] >= MIN_INTERRUPTIBLE
    return run_interruptibly(call) if is_large else call()


def split_long_queries(data: TrainingData, seed: int) -> TrainingData:
    """Partition each query of more than 10,000 documents at random into queries of at most 10,000."""
    sizes = np.diff(data.offsets)
    if sizes.max() <= MAX_QUERY_DOCUMENTS:
        return data
    rng = np.random.default_rng((seed, 17))
    documents = np.arange(data.n_documents)
    offsets = [np.zeros(1, dtype=np.int64)]
    for start, size in zip(data.offsets[:-1].tolist(), sizes.tolist(), strict=True):
        n_parts = -(-size // MAX_QUERY_DOCUMENTS) if size else 1
        if n_parts > 1:
            documents[start : start + size] = start + rng.permutation(size)
        offsets.append(start + size * np.arange(1, n_parts + 1) // n_parts)
    queries = np.repeat(np.arange(data.n_queries), [len(ends) for ends in offsets[1:]])
    return replace(
        data.take_rows(documents),
        offsets=np.concatenate(offsets),
        query_weight=None if data.query_weight is None else data.query_weight[queries],
    )


def normalise_weights(data: TrainingData) -> FloatArray | None:
    """Return the weight of each document, scaled to mean 1, since LightGBM bounds their sums; else None."""
    if not data.is_weighted:
        return None
    weight = data.weight_of_rows
    return weight / float(weight.mean())
