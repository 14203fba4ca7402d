"""The errors that directranker raises on its own account.

```
ValueError
├── DataError            something is wrong with the data itself
│   ├── LetorError       a line of LETOR / SVMlight text cannot be read
│   └── StorageError     something saved is damaged, cut off or of another format
├── ExportError          a ranker that another program could not score exactly
└── FitError             a training of a search failed, or its process died; finished ones are kept

UserWarning
├── QueryWarning         a ranker was fitted with queries and is scored without them
└── TrainingWarning      training ended otherwise than planned, with the best weights so far
```

Wrong arguments raise plain `ValueError` or `TypeError`. Every message says what is wrong, where, and
what to do about it.

>>> issubclass(LetorError, ValueError)
True
>>> print(LetorError("feature index 7 after 9; indices must grow", path="train.txt", line=120))
train.txt:120: feature index 7 after 9; indices must grow
"""

from __future__ import annotations

import sys
import warnings

__all__ = [
    "DataError",
    "ExportError",
    "FitError",
    "LetorError",
    "QueryWarning",
    "StorageError",
    "TrainingWarning",
    "warn_caller",
]


class DataError(ValueError):
    """Something is wrong with the data, not with the call."""


class LetorError(DataError):
    """A line of LETOR text that cannot be read; `path` and `line` say where."""

    def __init__(self, problem: str, *, path: str = "<text>", line: int | None = None) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        super().__init__(problem, path, line)

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.problem}"

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling that worker processes use.
        return _letor_error, (self.problem, self.path, self.line)


def _letor_error(problem: str, path: str, line: int | None) -> LetorError:
    return LetorError(problem, path=path, line=line)


class StorageError(DataError):
    """Something saved that cannot be trusted: cut off, changed, or of an unknown format."""


class ExportError(ValueError):
    """A ranker that the other side cannot hold, or does not score as we do; nothing is written."""


class FitError(ValueError):
    """A training within a search failed, or the process that ran it died; finished cells are kept."""


class QueryWarning(UserWarning):
    """A ranker was fitted with queries and is scored without them, so all rows count as one list."""


class TrainingWarning(UserWarning):
    """Training ended otherwise than planned: interrupted, or with a cost that is no number."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of this package that led here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
