"""`python -m directranker` imports nothing from the working directory.

`python -m` puts that directory first on `sys.path`, so a `json.py` in a folder of data would run in place of
Python's own. This is imported before anything else and itself imports only what Python has loaded already.
It changes nothing for programs that import directranker, nor where the package itself is in that directory.
"""

import os
import sys

_STARTED_AS = ("directranker", "directranker.__main__")


def _is_started_as_module() -> bool:
    """Whether `python -m directranker` is just being looked up."""
    arguments = getattr(sys, "argv", [])
    # Python's own arguments end in the module's name, or in -m and the name in one word.
    if arguments[:1] != ["-m"] or len(sys.orig_argv) < len(arguments):
        return False
    word = sys.orig_argv[-len(arguments)]
    return word in _STARTED_AS or (word.startswith("-") and word.partition("m")[2] in _STARTED_AS)


if _is_started_as_module() and not sys.flags.safe_path and sys.path:
    _home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    if sys.path[0] == os.getcwd() != _home:  # noqa: PTH109 - pathlib is not loaded yet
        del sys.path[0]
