"""The bar that shows training to a person at a terminal, and nothing to anybody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from directranker.training.loop import EpochRecord

__all__ = ["shown_progress"]

Report = Callable[["EpochRecord"], None]


@contextmanager
def shown_progress(title: str, n_epochs: int, *, wanted: bool | None) -> Iterator[Report]:
    """Show epoch, cost, metric, rate and time left; `wanted=None` where standard error is a terminal."""
    if wanted is False:
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - only for a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(stderr=True)
    if wanted is None and not console.is_terminal:
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        number = bar.add_task(title, total=n_epochs, words="compiling kernels on the first use …")
        yield lambda record: bar.update(number, completed=record.epoch, words=record.in_words())
