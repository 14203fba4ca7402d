"""The published values of the paper: Table 1 (scores) and Table 2 (training times).

Köppel, Segner, Wagener, Pensel, Karwath, Kramer: Pairwise Learning to Rank by Neural Networks Revisited.
Labels are binarised, queries without a relevant document are left out, and values are means over five folds
with standard errors. Some are not comparable with a new run; their `note` says why.

>>> published_value("LambdaMART", "MQ2008", "ndcg@10")
PublishedValue(mean=0.723, error=0.007, note='')
>>> published_value("ESRank", "MQ2008", "map").comparable
False
>>> published_seconds("DirectRanker-paper", "MSLR-WEB10K").mean
151.94
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["PUBLISHED_METRICS", "PublishedValue", "published_seconds", "published_value"]

PUBLISHED_METRICS = ("ndcg@10", "map")


@dataclass(frozen=True)
class PublishedValue:
    """A mean with its standard error, and a note if it is not comparable.

    >>> PublishedValue(0.72, 0.012).comparable
    True
    """

    mean: float
    error: float | None = None
    note: str = ""

    @property
    def comparable(self) -> bool:
        """Whether a run by the same protocol should give about the same value."""
        return not self.note


OTHER_EVALUATION = (
    "taken by the paper from Ibrahim and Landa-Silva 2018, who evaluate differently; not comparable"
)
_NO_PREPROCESSING = (
    "RankLib without the DirectRanker's preprocessing; the authors' later run with it gives {:.3f}; "
    "not comparable"
)
OTHER_MACHINE = "on the authors' machine; not comparable with times on another"

_Row = tuple[tuple[float, float | None], tuple[float, float | None]]

# By data set and ranker: NDCG@10 and MAP, each a mean and its standard error.
_TABLE_1: Mapping[str, Mapping[str, _Row]] = {
    "MSLR-WEB10K": {
        "DirectRanker-paper": ((0.440, 0.004), (0.365, 0.003)),
        "RankNet": ((0.157, 0.003), (0.195, 0.002)),
        "ListNet": ((0.157, 0.003), (0.192, 0.002)),
        "LambdaMART": ((0.476, 0.003), (0.366, 0.003)),
        "AdaRank": ((0.400, 0.016), (0.322, 0.010)),
        "ESRank": ((0.382, None), (0.570, None)),
        "IESRRank": ((0.415, None), (0.603, None)),
        "IESVMRank": ((0.224, None), (0.457, None)),
    },
    "MQ2008": {
        "DirectRanker-paper": ((0.720, 0.012), (0.636, 0.011)),
        "RankNet": ((0.716, 0.011), (0.642, 0.010)),
        "ListNet": ((0.719, 0.010), (0.647, 0.006)),
        "LambdaMART": ((0.723, 0.007), (0.624, 0.006)),
        "AdaRank": ((0.722, 0.010), (0.653, 0.009)),
        "ESRank": ((0.507, None), (0.483, None)),
        "IESRRank": ((0.517, None), (0.494, None)),
        "IESVMRank": ((0.498, None), (0.473, None)),
    },
    "MQ2007": {
        "DirectRanker-paper": ((0.540, 0.010), (0.534, 0.009)),
        "RankNet": ((0.525, 0.011), (0.525, 0.007)),
        "ListNet": ((0.526, 0.010), (0.525, 0.009)),
        "LambdaMART": ((0.531, 0.012), (0.510, 0.011)),
        "AdaRank": ((0.526, 0.010), (0.527, 0.010)),
        "ESRank": ((0.451, None), (0.470, None)),
        "IESRRank": ((0.455, None), (0.473, None)),
        "IESVMRank": ((0.436, None), (0.456, None)),
    },
}

_FROM_OTHER_PAPER = ("ESRank", "IESRRank", "IESVMRank")

# The authors' later run on MSLR-WEB10K with the DirectRanker's preprocessing: NDCG@10 and MAP.
_LATER_RUN: Mapping[str, tuple[float, float]] = {"RankNet": (0.433, 0.353), "ListNet": (0.434, 0.358)}

# Seconds per fold of MSLR-WEB10K.
_TABLE_2: Mapping[str, tuple[float, float | None]] = MappingProxyType(
    {
        "DirectRanker-paper": (151.94, 0.41),
        "RankNet": (2215.0, 351.0),
        "AdaRank": (1261.0, 50.0),
        "LambdaMART": (2664.0, 234.0),
        "ListNet": (3947.0, 481.0),
        "ESRank": (1800.0, None),
        "IESRRank": (1957.0, None),
        "IESVMRank": (34209.0, None),
    }
)


def published_value(ranker: str, data: str, metric: str) -> PublishedValue | None:
    """Return the value of Table 1 for a ranker on a data set; None if it has none.

    >>> published_value("RankNet", "MSLR-WEB10K", "map").note
    "RankLib without the DirectRanker's preprocessing; the authors' later run with it gives 0.353; not
    comparable"
    >>> published_value("RankSVM", "MQ2008", "map") is None
    True
    """
    row = _TABLE_1.get(data, {}).get(ranker)
    if row is None or metric not in PUBLISHED_METRICS:
        return None
    column = PUBLISHED_METRICS.index(metric)
    return PublishedValue(*row[column], note=_find_note(ranker, data, column))


def published_seconds(ranker: str, data: str) -> PublishedValue | None:
    """Return the training time of Table 2 for a ranker on a data set; None if it has none."""
    if data != "MSLR-WEB10K" or ranker not in _TABLE_2:
        return None
    return PublishedValue(*_TABLE_2[ranker], note=OTHER_MACHINE)


def _find_note(ranker: str, data: str, column: int) -> str:
    if ranker in _FROM_OTHER_PAPER:
        return OTHER_EVALUATION
    if data == "MSLR-WEB10K" and ranker in _LATER_RUN:
        return _NO_PREPROCESSING.format(_LATER_RUN[ranker][column])
    return ""
