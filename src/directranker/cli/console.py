"""What commands share to talk to a person: the console, the progress bar, and common options."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directranker.cli.streams import standard_input
from directranker.rankers.registry import load_registry

if TYPE_CHECKING:
    from rich.console import Console

    from directranker.data.dataset import RankingDataset
    from directranker.data.files import Progress
    from directranker.data.formats import ReadOptions

__all__ = [
    "EXAMPLE",
    "INTERRUPTED",
    "STANDARD",
    "AsJson",
    "DataPath",
    "Overwrite",
    "RankerName",
    "Seed",
    "Threshold",
    "as_text",
    "command_line",
    "console",
    "embedded_data",
    "print_json",
    "progress_bar",
    "read_data",
    "saved_example",
]

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

STANDARD = Path("-")
"""Standard input where something is read, standard output where it is written."""

EXAMPLE = Path("example")
"""The data set that the package carries, unless something of that name is there."""

DataPath = Annotated[
    Path,
    typer.Argument(
        help="LETOR text, Parquet or a saved folder; - for text from standard input; example for a data set "
        "to try it on.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
RankerName = Annotated[str, typer.Option(help=f"One of {', '.join(load_registry())}.")]
Seed = Annotated[int, typer.Option(help="The same number gives the same ranker.", min=0)]
Overwrite = Annotated[bool, typer.Option(help="Replace the folder if it exists.")]
Threshold = Annotated[float, typer.Option(help="The lowest label that counts as relevant.")]


def command_line() -> str:
    """The command that the user gave, for those who want to give it again."""
    return as_text(shlex.join(["directranker", *sys.argv[1:]]))


def as_text(name: str | Path) -> str:
    r"""A name as text that any output takes; bytes that are no UTF-8 are escaped.

    >>> as_text("caf\udce9.txt")
    'caf\\xe9.txt'
    """
    return os.fsencode(name).decode(errors="backslashreplace")


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
    if not sys.stderr.isatty():  # before rich, whose import a cold start would feel
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        number = bar.add_task(task, total=None)
        yield lambda done, total: bar.update(number, completed=done, total=total)


def embedded_data() -> RankingDataset:
    """The data set that the package carries."""
    from directranker.data.synthetic import example_dataset

    return example_dataset()


def saved_example(folder: Path) -> Path:
    """The data set that the package carries, saved within a folder of results."""
    from directranker.data.storage import is_saved_dataset

    path = folder / "embedded-data-set"
    if not is_saved_dataset(path):
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process has saved it meanwhile
            embedded_data().save(path)
    return path


def read_data(path: Path, *, options: ReadOptions | None = None) -> RankingDataset:
    """Read a data set in any format, or text from standard input, with a bar."""
    from directranker.data.formats import ReadOptions, read_dataset
    from directranker.data.letor import parse_letor

    if path == EXAMPLE and not path.exists():
        return embedded_data()
    if path == STANDARD:
        options = options or ReadOptions()
        return parse_letor(
            standard_input().read(),
            name="standard input",
            missing=options.missing,
            allow_non_finite=options.allow_non_finite,
            zero_based=options.zero_based,
            n_features=options.n_features,
        )
    with progress_bar(f"reading {path.name}") as progress:
        return read_dataset(path, options=options, progress=progress)
