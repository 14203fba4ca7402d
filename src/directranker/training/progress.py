"""The bar that shows training to a person at a terminal, and nothing to anybody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["shown_progress"]

Report = Callable[[int, str], None]
"""Takes how many rounds are done, and what to say of the last one."""


@contextmanager
def shown_progress(title: str, n_rounds: int, *, wanted: bool | None) -> Iterator[Report]:
    """Show rounds or epochs, words and time left; `wanted=None` where standard error is a terminal."""
    if wanted is False:
        yield lambda _done, _words: None
        return
    from rich.console import Console  # noqa: PLC0415 - only for a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(stderr=True)
    if wanted is None and not console.is_terminal:
        yield lambda _done, _words: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        number = bar.add_task(title, total=n_rounds, words="starting …")
        yield lambda done, words: bar.update(number, completed=done, words=words)
