"""A comparison on the terminal: its tables, its progress, and the bar while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from directranker.cli.console import get_console

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from directranker.experiments.results import Comparison
    from directranker.experiments.table_values import ScoreCell
    from directranker.model_selection.progress import Progress

__all__ = ["SearchBar", "print_comparison", "print_status", "search_bar"]

BEST = "*"  # bold is lost where the output is piped


def print_comparison(comparison: Comparison, path: Path) -> None:
    """Print the tables of scores and times, their legend, and the path of the results."""
    from rich.text import Text

    from directranker.experiments.table_values import describe_protocol, legend

    out = get_console()
    out.print(Text(describe_protocol(comparison)))
    out.print(_build_score_table(comparison))
    for line in legend(comparison, best=BEST):
        out.print(Text(line, style="dim"))
    out.print()
    out.print(_build_time_table(comparison))
    out.print(Text(_describe_machine(comparison), style="dim"))
    out.print(Text(f"\nresults: {path}"), soft_wrap=True)


def _build_score_table(comparison: Comparison) -> Table:
    from rich.table import Table
    from rich.text import Text

    from directranker.experiments.table_values import score_table

    header, rows = score_table(comparison, Text, _format_score, _format_published)
    table = Table("ranker", *header[1:], box=None, header_style="bold")
    for column in table.columns:
        column.no_wrap = True
    for row in rows:
        table.add_row(*row)
    return table


def _format_score(cell: ScoreCell) -> Text:
    from rich.text import Text

    from directranker.experiments.table_values import SYMBOL

    return (
        Text(f"{cell.text} {BEST}", "bold") if cell.is_best else Text(cell.text + f" {SYMBOL}" * cell.is_tied)
    )


def _format_published(cell: ScoreCell) -> Text:
    from rich.text import Text

    # Shortened, so that the table fits 80 columns.
    short = cell.published.replace("0.", ".").replace(" ± ", "±")
    return Text(short + f" ({cell.letter})" * bool(cell.letter), "dim")


def _build_time_table(comparison: Comparison) -> Table:
    from rich.table import Table
    from rich.text import Text

    from directranker.experiments.table_values import time_table

    header, rows = time_table(comparison)
    table = Table("ranker", *header[1:], box=None, header_style="bold")
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _describe_machine(comparison: Comparison) -> str:
    environment = comparison.environment
    task = "Times of one training on a whole training split and one scoring of its test split"
    if environment["cluster"]:
        return f"{task}, on {environment['cluster']}."
    workers, threads = environment["workers"], environment["threads"]
    return (
        f"{task}, in {workers} parallel job{'s' if workers != 1 else ''} of {threads} "
        f"thread{'s' if threads != 1 else ''}, on {environment['machine']} with {environment['cores']} cores."
    )


def print_status(status: Mapping[str, tuple[int, int]], folder: Path) -> None:
    """Print how many jobs of each ranker are finished."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table("ranker", "jobs", "of", "", box=None, header_style="bold")
    for column in table.columns[1:3]:
        column.justify = "right"
    for ranker, (done, total) in status.items():
        table.add_row(ranker, f"{done:,}", f"{total:,}", ProgressBar(total, done, width=30))
    done, total = (sum(counts) for counts in zip(*status.values(), strict=True))
    out = get_console()
    out.print(table)
    state = "finished" if done == total else "run the command that started it to resume"
    out.print(f"{done:,} of {total:,} jobs in {folder}: {state}", soft_wrap=True, markup=False)


class SearchBar:
    """A bar over all jobs with rate and time left, and below it the best score so far of each ranker."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        stderr = Console(stderr=True)
        self.done = self.total = 0
        self._bar = Progress(
            TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}")
        )
        self._task = self._bar.add_task("", total=None, pace="")
        self._best: Mapping[tuple[str, str], float] = {}
        self._live = Live(console=stderr, transient=True, get_renderable=self._render, refresh_per_second=4)
        if stderr.is_terminal:
            self._live.start()

    def show(self, progress: Progress) -> None:
        """Update the bar with the progress of the search."""
        self.done, self.total, self._best = progress.done, progress.total, progress.best
        self._bar.update(
            self._task, completed=progress.done, total=progress.total, pace=_format_pace(progress)
        )

    def close(self) -> None:
        """Remove the bar from the screen."""
        self._live.stop()

    def _render(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        scores: dict[str, list[str]] = {}
        for (ranker, metric), score in self._best.items():
            scores.setdefault(ranker, []).append(f"{metric} {score:.3f}")
        lines = [f"  {ranker}: {', '.join(values)}" for ranker, values in scores.items()]
        return Group(self._bar, Text("\n".join(lines), style="dim"))


def _format_pace(progress: Progress) -> str:
    if not progress.rate:
        return ""
    left = round(progress.seconds_left or 0)
    return f"{progress.rate:.1f} jobs/s, {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"


@contextmanager
def search_bar() -> Iterator[SearchBar]:
    """Show a bar on standard error while a search runs, if that is a terminal."""
    bar = SearchBar()
    try:
        yield bar
    finally:
        bar.close()
