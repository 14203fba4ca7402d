"""The rules of a convention: gains, discounts, relevance, ties, and which queries count.

>>> Convention("ours", "Pessimistic.", ties="worst").ties
'worst'
>>> Convention("ours", "Pessimistic.", ties="wosrt")
Traceback (most recent call last):
ValueError: ties 'wosrt' is unknown; did you mean 'worst'? Choose from 'average', 'input', 'worst'
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypedDict, get_args

from directranker.suggestions import describe_unknown_name

__all__ = ["Convention", "GainTable", "Rules"]

GainName = Literal["exponential", "linear", "binary"]
Discount = Literal["log2", "letor4"]
NoRelevant = Literal["skip", 0, 1]
Ties = Literal["average", "input", "worst"]
ShortLists = Literal["own_length", "zero"]
PrecisionOver = Literal["k", "list"]
AveragePrecisionOver = Literal["relevant", "reachable"]
GainTable = tuple[tuple[float, float], ...]


class Rules(TypedDict, total=False):
    """Changes to a convention as keyword arguments, documented in `Convention`."""

    gain: GainName | Mapping[float, float] | GainTable
    discount: Discount
    threshold: float
    no_relevant: NoRelevant
    ties: Ties
    short_lists: ShortLists
    precision_over: PrecisionOver
    average_precision_over: AveragePrecisionOver
    max_grade: float | None


@dataclass(frozen=True)
class Convention:
    """A complete set of rules for ranking metrics; y is a label and n the number of a query's documents.

    >>> ours = Convention("ours", "Linear gains, pessimistic.", gain="linear", ties="worst")
    >>> ours.threshold, ours.no_relevant
    (1, 'skip')
    """

    name: str
    description: str
    gain: GainName | Mapping[float, float] | GainTable = "exponential"
    """The gain of a label in DCG and NDCG: 2^y − 1, y, 1 for relevant ones, or a table {label: gain}.

    Labels of 0 and below have no gain. With "binary", ERR uses binary relevance too.
    """
    discount: Discount = "log2"
    """1 / log2(rank + 1), or LETOR 4's: 1 for ranks 1 and 2, then 1 / log2(rank)."""
    threshold: float = 1
    """The lowest label that counts as relevant in "binary" gains and in the measures without gains."""
    no_relevant: NoRelevant = "skip"
    """The value of a query without a relevant document: "skip" to exclude it, 0 or 1 (in DCG always 0).

    For DCG, NDCG and ERR no document of such a query has a gain, for the others none reaches `threshold`.
    """
    ties: Ties = "average"
    """Equal scores: the exact mean over all their orders, input order, or the least relevant first."""
    short_lists: ShortLists = "own_length"
    """NDCG@k of a query with fewer than k documents: that of all its documents, or 0."""
    precision_over: PrecisionOver = "k"
    """Precision@k divides by k, or by min(k, n)."""
    average_precision_over: AveragePrecisionOver = "relevant"
    """Average precision@k divides by the number of relevant documents R, or by min(k, R)."""
    max_grade: float | None = None
    """The highest grade of the scale, for ERR; None means the highest label in the data."""

    def __post_init__(self) -> None:
        for field, choices in _CHOICES.items():
            _check_choice(field, getattr(self, field), choices)
        object.__setattr__(self, "gain", _validate_gain(self.gain))
        _check_number("threshold", self.threshold)
        if self.max_grade is not None:
            _check_number("max_grade", self.max_grade)
            if self.max_grade < 0:
                raise ValueError(f"max_grade is {self.max_grade}; pass a highest grade of at least 0")

    @property
    def gain_table(self) -> GainTable | None:
        """The table of gains, sorted by label, if the gain is a table."""
        return self.gain if isinstance(self.gain, tuple) else None


_CHOICES: dict[str, tuple[object, ...]] = {
    "discount": get_args(Discount),
    "no_relevant": get_args(NoRelevant),
    "ties": get_args(Ties),
    "short_lists": get_args(ShortLists),
    "precision_over": get_args(PrecisionOver),
    "average_precision_over": get_args(AveragePrecisionOver),
}


def _check_choice(field: str, value: object, choices: tuple[object, ...]) -> None:
    try:
        is_known = value in choices and not isinstance(value, bool)
    except ValueError:  # an array has no single truth value
        is_known = False
    if not is_known:
        raise ValueError(describe_unknown_name(field, value, choices))


def _check_number(what: str, value: object) -> None:
    try:
        is_finite = math.isfinite(value)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        is_finite = False
    if not is_finite:
        raise ValueError(f"{what} is {value!r}; pass a finite number")


def _validate_gain(gain: object) -> GainName | GainTable:
    if isinstance(gain, Mapping | tuple):
        return _validate_table(dict(gain))
    _check_choice("gain", gain, get_args(GainName))
    return gain  # type: ignore[return-value]


def _validate_table(gain_of: Mapping[Any, Any]) -> GainTable:
    if not gain_of:
        raise ValueError("the table of gains is empty; pass a gain for every label, as {label: gain}")
    for label, gain in gain_of.items():
        _check_number("a label in the table of gains", label)
        _check_number(f"the gain of label {label}", gain)
    table = tuple(sorted((float(label), float(gain)) for label, gain in gain_of.items()))
    if table[0][1] < 0:
        raise ValueError(f"label {table[0][0]:g} has the gain {table[0][1]:g}; gains must be at least 0")
    for (low, low_gain), (high, high_gain) in pairwise(table):
        if high_gain < low_gain:
            raise ValueError(
                f"label {high:g} has the gain {high_gain:g}, less than the {low_gain:g} of label {low:g}; "
                "a higher label must have at least the same gain"
            )
    return table
