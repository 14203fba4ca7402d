"""The exceptions and warnings of directranker.

```
ValueError
├── DataError            the data is invalid
│   ├── LetorError       a line of LETOR / SVMlight text is invalid
│   └── StorageError     a saved file or folder is damaged, truncated or of another format
├── ExportError          the target format cannot represent the ranker, or its scores differ
└── FitError             a job of a search failed, or its process died; finished jobs are kept

UserWarning
├── QueryWarning         a ranker was fitted with query ids and predicts without them
└── TrainingWarning      training ended early, with the best weights so far
```

Invalid arguments raise plain `ValueError` or `TypeError`. Every message says what is wrong, where, and how to
fix it.

>>> issubclass(LetorError, ValueError)
True
>>> print(LetorError("feature index 7 after 9; indices must increase", path="train.txt", line=120))
train.txt:120: feature index 7 after 9; indices must increase
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
    """The data is invalid, not the call."""


class LetorError(DataError):
    """An invalid line of LETOR text, at `path` and `line`."""

    def __init__(self, problem: str, *, path: str = "<text>", line: int | None = None) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        super().__init__(problem, path, line)

    def __str__(self) -> str:
        location = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{location}: {self.problem}"

    def __reduce__(self) -> tuple[object, ...]:
        # Default pickling, which worker processes use, loses keyword-only arguments.
        return _make_letor_error, (self.problem, self.path, self.line)


def _make_letor_error(problem: str, path: str, line: int | None) -> LetorError:
    return LetorError(problem, path=path, line=line)


class StorageError(DataError):
    """A saved file or folder is damaged, truncated or of an unknown format."""


class ExportError(ValueError):
    """The target format cannot represent the ranker, or its scores differ; nothing is written."""


class FitError(ValueError):
    """A job of a search failed, or the process that ran it died; finished jobs are kept."""


class QueryWarning(UserWarning):
    """A ranker was fitted with query ids and predicts without them, so all rows count as one query."""


class TrainingWarning(UserWarning):
    """Training ended early: it was interrupted, or the cost became NaN."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that points to the caller's line outside of this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
