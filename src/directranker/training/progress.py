"""A progress bar on standard error, shown only at a terminal unless asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["show_progress"]

Report = Callable[[int, str], None]
"""Takes the number of finished rounds and a message about the last one."""


@contextmanager
def show_progress(title: str, n_rounds: int, *, enabled: bool | None) -> Iterator[Report]:
    """Show a bar with a message and the time left; `enabled=None` shows it where stderr is a terminal."""
    if enabled is False:
        yield lambda _done, _message: None
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - slow to import

    console = Console(stderr=True)
    if enabled is None and not console.is_terminal:
        yield lambda _done, _message: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[message]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=n_rounds, message="starting …")
        yield lambda done, message: bar.update(task, completed=done, message=message)
