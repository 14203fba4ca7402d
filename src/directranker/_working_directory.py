"""Keep the working directory off `sys.path` of `python -m directranker`.

`python -m` puts the working directory first on `sys.path`, so a `json.py` in a data folder would shadow the
standard library's. This module is imported before all others, and imports only modules that Python has loaded
already. It changes nothing for programs that import directranker, nor if the package is in that directory.
"""

import os
import sys

_MODULE_NAMES = ("directranker", "directranker.__main__")


def _is_started_as_module() -> bool:
    """Whether Python is starting `python -m directranker`."""
    arguments = getattr(sys, "argv", [])
    # Python's own arguments end with the module's name, or with -m and the name in one argument.
    if arguments[:1] != ["-m"] or len(sys.orig_argv) < len(arguments):
        return False
    argument = sys.orig_argv[-len(arguments)]
    if argument.startswith("-"):
        argument = argument.partition("m")[2]
    return argument in _MODULE_NAMES


if _is_started_as_module() and not sys.flags.safe_path and sys.path:
    _package_parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    if sys.path[0] == os.getcwd() != _package_parent:  # noqa: PTH109 - pathlib is not loaded yet
        del sys.path[0]
