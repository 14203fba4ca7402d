"""What a measure is taken of: labels and scores, cut into queries, checked before anything compiled runs.

>>> lists = ranked_lists([2, 0, 1], [0.3, 0.1, 0.2], qid=["b", "a", "b"])
>>> lists.relevance.tolist(), lists.offsets.tolist()
([2.0, 1.0, 0.0], [0, 2, 3])
>>> ranked_lists([2, 0, 1], [0.3, float("nan"), 0.2])
Traceback (most recent call last):
ValueError: scores have nan in row 1; a ranking needs a number for every document
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import IntArray
from directranker.data.grouping import check_offsets, group_by_query
from directranker.metrics.sorting import FloatArray

__all__ = ["RankedLists", "ranked_lists"]


@dataclass(frozen=True)
class RankedLists:
    """Labels and scores of all documents; query q has rows `offsets[q]:offsets[q + 1]`."""

    relevance: FloatArray
    scores: FloatArray
    offsets: IntArray
    order: IntArray | None = None
    """The row that the user gave for each row here; None where they are the same."""

    def row(self, at: int) -> int:
        """The user's row number of a row here."""
        return int(at if self.order is None else self.order[at])


def ranked_lists(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
) -> RankedLists:
    """Check and group what the user gave; without qid and offsets all rows are one list.

    >>> ranked_lists([1, 0], [1, 2], offsets=[0, 0, 2]).offsets.tolist()
    [0, 0, 2]
    """
    labels = _one_number_per_row("relevance", relevance)
    numbers = _one_number_per_row("scores", scores)
    if len(labels) != len(numbers):
        raise ValueError(f"relevance has {len(labels)} rows, scores have {len(numbers)}; give one each")
    if qid is not None and offsets is not None:
        raise ValueError("both qid and offsets are given; give one of them")
    _check_rows("relevance has", labels, ~np.isfinite(labels), "labels must be finite numbers")
    _check_rows("scores have", numbers, np.isnan(numbers), "a ranking needs a number for every document")
    if offsets is not None:
        lists = RankedLists(labels, numbers, check_offsets(offsets, n_rows=len(labels)))
    else:
        lists = _grouped(labels, numbers, qid)
    if len(lists.offsets) == 1:
        raise ValueError("there is no query to measure; give at least one document")
    return lists


def _grouped(labels: FloatArray, numbers: FloatArray, qid: ArrayLike | None) -> RankedLists:
    grouping = group_by_query(qid, n_rows=len(labels))
    if grouping.order is None:
        return RankedLists(labels, numbers, grouping.offsets)
    return RankedLists(labels[grouping.order], numbers[grouping.order], grouping.offsets, grouping.order)


def _one_number_per_row(what: str, values: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        numbers = np.require(array, np.float64, ["C_CONTIGUOUS", "ALIGNED"])
    except (TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"{what}: {problem}; give one number per row that fits a float64") from None
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}; give one number per row, shape (n,)")
    return numbers


def _check_rows(what: str, values: FloatArray, broken: NDArray[np.bool_], rule: str) -> None:
    if broken.any():
        row = int(np.argmax(broken))
        raise ValueError(f"{what} {values[row]} in row {row}; {rule}")
