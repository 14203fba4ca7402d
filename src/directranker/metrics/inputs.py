"""The input of a metric: labels and scores, grouped by query and validated before any compiled code runs.

>>> groups = group_scores([2, 0, 1], [0.3, 0.1, 0.2], qid=["b", "a", "b"])
>>> groups.relevance.tolist(), groups.offsets.tolist()
([2.0, 1.0, 0.0], [0, 2, 3])
>>> group_scores([2, 0, 1], [0.3, float("nan"), 0.2])
Traceback (most recent call last):
ValueError: scores have nan in row 1; a ranking needs a number for every document
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import BoolArray, FloatArray, IntArray
from directranker.data.grouping import check_offsets, group_by_query

__all__ = ["GroupedScores", "group_scores"]


@dataclass(frozen=True)
class GroupedScores:
    """Labels and scores of all documents; query q has rows `offsets[q]:offsets[q + 1]`."""

    relevance: FloatArray
    scores: FloatArray
    offsets: IntArray
    order: IntArray | None = None
    """The input row of each row; None where rows are in input order."""

    def get_input_row(self, row: int) -> int:
        """Return the input row of a row, for messages."""
        return int(row if self.order is None else self.order[row])


def group_scores(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
) -> GroupedScores:
    """Validate labels and scores and group them by query; without qid and offsets all rows are one query.

    >>> group_scores([1, 0], [1, 2], offsets=[0, 0, 2]).offsets.tolist()
    [0, 0, 2]
    """
    labels = _validate_numbers("relevance", relevance)
    numbers = _validate_numbers("scores", scores)
    if len(labels) != len(numbers):
        raise ValueError(
            f"relevance has {len(labels)} rows, scores have {len(numbers)}; pass one of each per document"
        )
    if qid is not None and offsets is not None:
        raise ValueError("both qid and offsets are given; pass only one of them")
    _check_values("relevance has", labels, ~np.isfinite(labels), "labels must be finite numbers")
    _check_values("scores have", numbers, np.isnan(numbers), "a ranking needs a number for every document")
    if offsets is not None:
        groups = GroupedScores(labels, numbers, check_offsets(offsets, n_rows=len(labels)))
    else:
        groups = _group_by_query(labels, numbers, qid)
    if len(groups.offsets) == 1:
        raise ValueError("there are no documents; pass at least one")
    return groups


def _group_by_query(labels: FloatArray, numbers: FloatArray, qid: ArrayLike | None) -> GroupedScores:
    grouping = group_by_query(qid, n_rows=len(labels))
    if grouping.order is None:
        return GroupedScores(labels, numbers, grouping.offsets)
    return GroupedScores(labels[grouping.order], numbers[grouping.order], grouping.offsets, grouping.order)


def _validate_numbers(what: str, values: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        numbers = np.require(array, np.float64, ["C_CONTIGUOUS", "ALIGNED"])
    except (TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"{what}: {problem}; pass one number per row that fits a float64") from None
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}; pass one number per row, shape (n,)")
    return numbers


def _check_values(what: str, values: FloatArray, invalid: BoolArray, rule: str) -> None:
    if invalid.any():
        row = int(np.argmax(invalid))
        raise ValueError(f"{what} {values[row]} in row {row}; {rule}")
