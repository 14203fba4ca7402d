"""The command line, `directranker`: each command parses its arguments, calls the library and prints.

Exit codes: 0 success, 1 an error, reported in one line, 2 wrong usage, 130 interrupted, 143 and 129 ended by
SIGTERM and SIGHUP. Only `--debug` shows a traceback. Each command imports what it needs when it runs, so that
`--help` is fast. Paths are declared `readable=False`, so that unreadable ones are errors, not wrong usage.
"""

from __future__ import annotations

from directranker.cli.application import app, main

__all__ = ["app", "main"]
