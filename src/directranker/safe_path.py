"""Keep the working directory off `sys.path` of worker processes.

Worker processes start by `python -m` or `python -c`, which put the working directory first on `sys.path`: a
`json.py` in a data folder would shadow the standard library's. Right after the start, workers get the
`sys.path` of their parent, so they still find a module beside a user's script.

>>> with safe_path():
...     VARIABLE in os.environ
True
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["VARIABLE", "restore_path", "safe_path"]

VARIABLE = "PYTHONSAFEPATH"
MARKER_PREFIX = "directranker-"  # Python only checks that the variable is not empty

_lock = threading.Lock()
_n_active = 0


@contextmanager
def safe_path() -> Iterator[None]:
    """Start processes in this context without the working directory on their path.

    Several threads may enter at the same time; the last one to leave restores the environment.
    """
    global _n_active  # noqa: PLW0603 - the environment is global to the process, too
    with _lock:
        _n_active += 1
        if not os.environ.get(VARIABLE):
            os.environ[VARIABLE] = _make_marker()
    try:
        yield
    finally:
        with _lock:
            _n_active -= 1
            if not _n_active and os.environ.get(VARIABLE) == _make_marker():
                del os.environ[VARIABLE]


def restore_path() -> None:
    """Unset the variable in a worker, so that scripts started by the user's code find modules beside them."""
    if os.environ.get(VARIABLE, "").startswith(MARKER_PREFIX) and os.environ[VARIABLE] != _make_marker():
        del os.environ[VARIABLE]


def _make_marker() -> str:
    return f"{MARKER_PREFIX}{os.getpid()}"
