"""`directranker evaluate`: how good a ranking is, by whose rules."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from directranker.cli.console import AsJson, console, print_json
from directranker.cli.evaluate_files import Rules, compare_files, judged_scores, warn_if_constant

__all__ = ["evaluate"]


def evaluate(
    scores: Annotated[
        Path,
        typer.Argument(
            help="One score per line in the data's order, RankLib's scores, or a TREC run; - for standard "
            "input.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            help="LETOR text, Parquet, a saved folder, TREC qrels, or example.", show_default=False
        ),
    ],
    metric: Annotated[
        list[str], typer.Option(help="Such as ndcg@10, map, p@5, mrr, err; may be repeated.")
    ] = [  # noqa: B006 - typer copies it
        "ndcg@10",
        "map",
    ],
    convention: Annotated[
        str, typer.Option(help="A named set of rules, or all of them side by side.")
    ] = "paper",
    threshold: Annotated[
        float | None, typer.Option(help="The lowest label that counts as relevant; else the convention's.")
    ] = None,
    beside: Annotated[
        list[Path], typer.Option(help="Scores of another ranker for the same data; may be repeated.")
    ] = [],  # noqa: B006 - typer copies it
    out: Annotated[
        Path | None, typer.Option(help="A folder for the results, from which report makes a page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a ranking that any program made, by one convention or by all of them.

    The same scores give very different figures by the rules of different programs, so a figure without
    its convention says little. With `--beside` several rankers are compared, each named after its file,
    with a randomisation test between each two.

    The example measures what that of `rank` writes.

    Example: `directranker evaluate mine.run example --convention all`
    """
    from directranker.metrics import CONVENTIONS
    from directranker.metrics import evaluate as measure

    rules = Rules(tuple(metric), convention, threshold)
    if beside or out is not None:
        if convention == "all":
            raise ValueError("rankers are compared by one convention; give --convention paper, for example")
        compare_files([scores, *beside], data, rules, out=out, as_json=as_json)
        return
    judged = judged_scores(scores, data, metric)
    cut = [judged.add_cutoff(one) for one in metric]
    names = list(CONVENTIONS) if convention == "all" else [convention]
    figures: dict[str, dict[str, float]] = {}
    refused: dict[str, str] = {}
    for name in names:
        try:
            values = measure(
                judged.relevance,
                judged.scores,
                qid=judged.qid,
                metrics=cut,
                convention=name,
                **rules.changes,
            )
            figures[name] = dict(zip(metric, values.values(), strict=True))
        except ValueError as error:
            if len(names) == 1 or CONVENTIONS[name].gain_table is None:
                raise
            refused[name] = str(error)  # its table of gains does not know a label, the others may
    if convention != "all":
        warn_if_constant(judged, rules)
    if as_json:
        plain: dict[str, dict[str, object]] = {
            name: {key: _plain(value) for key, value in values.items()} for name, values in figures.items()
        }
        print_json({**plain, **{name: {"error": reason} for name, reason in refused.items()}})
    else:
        _print_table(figures, refused, metric)


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value  # JSON has no nan; no query counted


def _print_table(figures: dict[str, dict[str, float]], refused: dict[str, str], metrics: list[str]) -> None:
    from rich.table import Table

    from directranker.metrics import CONVENTIONS

    table = Table("convention", *metrics, "rules", box=None, header_style="bold")
    for metric_column in table.columns[1:-1]:
        metric_column.justify = "right"
    for name, values in figures.items():
        table.add_row(name, *(f"{values[metric]:.4f}" for metric in metrics), CONVENTIONS[name].description)
    for name, reason in refused.items():
        table.add_row(name, *("–" for _ in metrics), reason)
    console().print(table)
