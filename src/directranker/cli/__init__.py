"""The command `directranker`: parse, one call, print, exit code.

Exit codes: 0 done, 1 an error told in one line, 2 wrong usage, 130 interrupted, 143 and 129 ended by
SIGTERM and SIGHUP. A traceback is shown only with `--debug`. Each command imports what it needs when it runs,
so that `--help` answers at once.
"""

from __future__ import annotations

from directranker.cli.application import app, main

__all__ = ["app", "main"]
