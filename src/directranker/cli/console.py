"""The console, the progress bar, and the arguments and options that commands share."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.streams import require_stdin
from directranker.errors import DataError
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
    "STANDARD_INPUT",
    "AsJson",
    "DataPath",
    "Overwrite",
    "RankerName",
    "Seed",
    "Threshold",
    "check_unchanged",
    "escape_name",
    "exit_on_interrupt",
    "format_command",
    "get_console",
    "is_example",
    "load_example",
    "name_file_in_errors",
    "print_json",
    "progress_bar",
    "read_data",
    "save_example",
]

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

STANDARD = Path("-")
"""Standard input as a source, standard output as a target."""

STANDARD_INPUT = "standard input"

EXAMPLE = Path("example")
"""The embedded data set, unless a file or folder of that name exists."""

DataPath = Annotated[
    Path,
    typer.Argument(
        readable=False,
        help="Data set: LETOR text, CSV, TSV, JSON lines, Parquet, a folder of such tables, or a saved "
        "folder. Use - for standard input, or 'example' for the embedded data set.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RankerName = Annotated[str, typer.Option(metavar="NAME", help=f"Ranker: {', '.join(load_registry())}.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Random seed.", min=0)]
Overwrite = Annotated[bool, typer.Option(help="Replace the output folder if it exists.")]
Threshold = Annotated[float, typer.Option(metavar="LABEL", help="Lowest label that counts as relevant.")]


def format_command() -> str:
    """Format the command that the user typed, so that it can be run again."""
    return escape_name(shlex.join(["directranker", *sys.argv[1:]]))


def escape_name(name: str | Path) -> str:
    r"""Escape the bytes of a file name that are not UTF-8, so that any output can print it.

    >>> escape_name("caf\udce9.txt")
    'caf\\xe9.txt'
    """
    return os.fsencode(name).decode(errors="backslashreplace")


def get_console() -> Console:
    """Return the console that results are printed to."""
    from rich.console import Console

    return Console(highlight=False)


def print_json(value: object) -> None:
    """Print a value as JSON, without colours or wrapped lines."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


@contextmanager
def progress_bar(task: str) -> Iterator[Progress]:
    """Show a bar with rate and time left on standard error, if that is a terminal."""
    if not sys.stderr.isatty():  # first, because importing rich slows a cold start
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


@contextmanager
def exit_on_interrupt(kept: str) -> Iterator[None]:
    """On Ctrl-C, print what is kept and exit with code 130."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"directranker: interrupted; {kept}; run the same command to resume", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Add the file's name to an I/O error that has none, as a failing read has not."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def check_unchanged(path: Path) -> Iterator[None]:
    """Raise if a file changes within the block, as one that is still being written does."""
    before = _stat_file(path)
    try:
        yield
    except ValueError:
        if _stat_file(path) == before:
            raise
    if _stat_file(path) != before:
        raise DataError(f"{path} changed while it was read; run the command again when it is complete")


def _stat_file(path: Path) -> tuple[int, int] | None:
    """Return the size and the modification time of a file, or None if it is not a regular one."""
    if not path.is_file():
        return None
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def is_example(path: Path) -> bool:
    """Whether a path stands for the embedded data set."""
    return path == EXAMPLE and not path.exists()


def load_example() -> RankingDataset:
    """Load the embedded data set."""
    from directranker.data.synthetic import example_dataset

    return example_dataset()


def save_example(folder: Path) -> Path:
    """Save the embedded data set in a results folder, unless it is there, and return its path."""
    from directranker.data.storage import is_saved_dataset

    path = folder / "embedded-data-set"
    if not is_saved_dataset(path):
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process has saved it meanwhile
            load_example().save(path)
    return path


def read_data(
    path: Path, *, options: ReadOptions | None = None, data_format: str | None = None
) -> RankingDataset:
    """Read a data set in any format, also from standard input, with a progress bar."""
    from directranker.data.formats import read_dataset, read_stream

    if is_example(path):
        return load_example()
    if path == STANDARD:
        return read_stream(require_stdin(), name=STANDARD_INPUT, file_format=data_format, options=options)
    with check_unchanged(path), name_file_in_errors(path), progress_bar(f"reading {path.name}") as progress:
        return read_dataset(path, options=options, file_format=data_format, progress=progress)
