"""What commands share to talk to a person: the console, the progress bar, and common options."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from directranker.data.files import Progress

__all__ = [
    "INTERRUPTED",
    "AsJson",
    "DataPath",
    "ModelPath",
    "Threshold",
    "command_line",
    "console",
    "print_json",
    "progress_bar",
]

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

DataPath = Annotated[Path, typer.Argument(help="LETOR text, Parquet or a saved folder.", show_default=False)]
ModelPath = Annotated[Path, typer.Argument(help="The folder of a saved ranker.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Threshold = Annotated[float, typer.Option(help="The lowest label that counts as relevant.")]


def command_line() -> str:
    """The command that the user gave, for those who want to give it again."""
    return shlex.join(["directranker", *sys.argv[1:]])


def console() -> Console:
    """The console to print results to."""
    from rich.console import Console

    return Console(highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON, without colours or line breaks within texts."""
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


@contextmanager
def progress_bar(task: str) -> Iterator[Progress]:
    """Show a bar with rate and time left on standard error; quiet where that is no terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    stderr = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        number = bar.add_task(task, total=None)
        yield lambda done, total: bar.update(number, completed=done, total=total)
