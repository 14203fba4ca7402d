"""Options of reading and writing data sets.

>>> ReadOptions(missing="nan").letor["missing"]
'nan'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from directranker.data.column_roles import ColumnRoles
from directranker.data.letor import Missing
from directranker.data.tabular import Layout

__all__ = ["ReadOptions", "WriteOptions"]


class LetorOptions(TypedDict):
    """The options of `read_letor`."""

    missing: Missing
    allow_non_finite: bool
    zero_based: bool
    n_features: int | None


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading; each format uses those that apply to it."""

    missing: Missing = "zero"
    allow_non_finite: bool = False
    zero_based: bool = False
    columns: ColumnRoles = field(default_factory=ColumnRoles)
    n_features: int | None = None
    """The number of features of sparse text, whose lines may not mention the last ones."""
    texts: tuple[str, ...] = ()
    """Columns that are text even if their values look like numbers, in formats without types."""
    need_labels: bool = True
    """Whether a table without labels raises; else they are 0."""

    @property
    def letor(self) -> LetorOptions:
        """The options of LETOR text."""
        return {
            "missing": self.missing,
            "allow_non_finite": self.allow_non_finite,
            "zero_based": self.zero_based,
            "n_features": self.n_features,
        }


@dataclass(frozen=True)
class WriteOptions:
    """Options of writing; each format uses those that apply to it."""

    layout: Layout = "columns"
    zero_based: bool = False
