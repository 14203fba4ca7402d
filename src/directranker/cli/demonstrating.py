"""`directranker demo`: a first look, on the data set that the package carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from directranker.cli.console import console
from directranker.cli.inspecting import print_inspection

if TYPE_CHECKING:
    from directranker.demonstration import Demonstration

__all__ = ["demo"]


def demo() -> None:
    """Make the embedded data set, inspect it, and rank it by its best single feature.

    Example: `directranker demo`
    """
    from directranker.demonstration import demonstrate

    result = demonstrate()
    print_inspection("embedded data set", result.inspection)
    _print_ranking(result)


def _print_ranking(result: Demonstration) -> None:
    from rich.table import Table

    table = Table("ranked by", "NDCG@10", "MAP", box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, values in result.rows.items():
        table.add_row(name, *(f"{mean:.3f} ± {error:.3f}" for mean, error in values.values()))
    out = console()
    out.print(
        f"\nChosen on {result.n_train} queries, measured on {result.n_test} others "
        "(mean ± standard error over queries, convention paper, seed 0):"
    )
    out.print(table)
