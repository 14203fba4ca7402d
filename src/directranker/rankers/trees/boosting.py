"""Documents as LightGBM takes them: in bins, without a copy of the features, in lists not too long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from directranker.arrays import Features, IntArray
from directranker.rankers.training_data import TrainingData
from directranker.training.interrupts import interruptibly

if TYPE_CHECKING:
    import lightgbm

__all__ = ["answering_ctrl_c", "binned", "in_short_lists"]

Result = TypeVar("Result")

SAMPLED_ROWS = 50_000  # documents that bins are made from
BATCH_ROWS = 16_384
LARGE = 1_000_000  # numbers; LightGBM's bins of fewer take less than about a second
LONGEST_LIST = 10_000  # LightGBM takes no longer query


def binned(
    data: TrainingData, parameters: dict[str, Any], seed: int, reference: lightgbm.Dataset | None = None
) -> lightgbm.Dataset:
    """The features in LightGBM's bins, query by query; in those of `reference` where it is given.

    Rows out of order are read some thousand at a time from wherever they lie in the table, into bins that
    were made from a sample.
    """
    import lightgbm  # noqa: PLC0415 - it takes seconds on a cold start

    n_rows = len(data.relevance)
    parameters = {**parameters, "bin_construct_sample_cnt": SAMPLED_ROWS}
    if data.rows is None or n_rows <= SAMPLED_ROWS:
        return answering_ctrl_c(
            lightgbm.Dataset(data.features, reference=reference, params=parameters).construct, data
        )

    order: IntArray = data.rows

    class Rows(lightgbm.Sequence):  # type: ignore[misc]
        batch_size = BATCH_ROWS

        def __len__(self) -> int:
            return n_rows

        def __getitem__(self, part: Any) -> Features:
            rows: Features = data.table[order[part]]
            return rows

    if reference is None:
        sampled = np.random.default_rng((seed, 13)).choice(n_rows, SAMPLED_ROWS, replace=False)
        sample = data.take_rows(np.sort(sampled))
        reference = answering_ctrl_c(lightgbm.Dataset(sample.features, params=parameters).construct, sample)
    return lightgbm.Dataset(Rows(), reference=reference, params=parameters).construct()


def answering_ctrl_c(call: Callable[[], Result], data: TrainingData) -> Result:
    """Make a native call about some data; Ctrl-C does not wait for it where the data is large.

    Bins of 100,000 features take LightGBM minutes.
    """
    is_large = len(data.relevance) * data.table.shape[1] >= LARGE
    return interruptibly(call) if is_large else call()


def in_short_lists(data: TrainingData, seed: int) -> TrainingData:
    """The same with each query of more than 10,000 documents dealt at random to lists of at most so many."""
    sizes = np.diff(data.offsets)
    if sizes.max() <= LONGEST_LIST:
        return data
    rng = np.random.default_rng((seed, 17))
    places = np.arange(len(data.relevance))
    offsets = [np.zeros(1, dtype=np.int64)]
    for start, size in zip(data.offsets[:-1].tolist(), sizes.tolist(), strict=True):
        n_lists = -(-size // LONGEST_LIST) if size else 1
        if n_lists > 1:
            places[start : start + size] = start + rng.permutation(size)
        offsets.append(start + size * np.arange(1, n_lists + 1) // n_lists)
    lists = np.repeat(np.arange(data.n_queries), [len(ends) for ends in offsets[1:]])
    return replace(
        data.take_rows(places),
        offsets=np.concatenate(offsets),
        query_weight=None if data.query_weight is None else data.query_weight[lists],
    )
