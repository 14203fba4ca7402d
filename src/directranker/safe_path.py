"""Python processes that are started do not import code from the working directory.

Worker processes start by `python -m` or `python -c`, which put that directory first on `sys.path`: a
`json.py` in a folder of data would run in place of Python's own. Workers get the `sys.path` of the process
that starts them right afterwards, so a module beside a user's script is found as before.

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
MARK = "directranker-"  # Python asks only whether the variable is empty

_lock = threading.Lock()
_n_within = 0


@contextmanager
def safe_path() -> Iterator[None]:
    """Processes that are started in here do not have the working directory on their path.

    Threads may be in here at the same time; the last one to leave restores the environment.
    """
    global _n_within  # noqa: PLW0603 - the environment is the process's, too
    with _lock:
        _n_within += 1
        if not os.environ.get(VARIABLE):
            os.environ[VARIABLE] = _own_mark()
    try:
        yield
    finally:
        with _lock:
            _n_within -= 1
            if not _n_within and os.environ.get(VARIABLE) == _own_mark():
                del os.environ[VARIABLE]


def restore_path() -> None:
    """In a worker: let scripts that a user's code starts find the modules beside them again."""
    if os.environ.get(VARIABLE, "").startswith(MARK) and os.environ[VARIABLE] != _own_mark():
        del os.environ[VARIABLE]


def _own_mark() -> str:
    return f"{MARK}{os.getpid()}"
