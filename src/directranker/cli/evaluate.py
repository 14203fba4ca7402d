"""`directranker evaluate`: compute ranking metrics of scores, under one convention or all."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from directranker.cli.columns import ColumnOptions, takes_columns
from directranker.cli.console import AsJson, get_console, print_json
from directranker.cli.evaluate_files import Rules, compare_files, read_judged_scores, warn_if_constant
from directranker.cli.outputs import check_results_folder

__all__ = ["evaluate"]


@takes_columns()
def evaluate(
    scores: Annotated[
        Path,
        typer.Argument(
            readable=False,
            help="Scores: one per line in the order of the data, RankLib's score file, or a TREC run. Use - "
            "for standard input.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            readable=False,
            help="Labels: a data set in any format, TREC qrels, or 'example'.",
            show_default=False,
        ),
    ],
    *,
    columns: ColumnOptions,
    metric: Annotated[
        list[str],
        typer.Option(
            metavar="METRIC", help="Metric, such as ndcg@10, map, p@5, recall@10, hit@1 or mrr. Repeatable."
        ),
    ] = [  # noqa: B006 - typer copies it
        "ndcg@10",
        "map",
    ],
    convention: Annotated[
        str, typer.Option(metavar="NAME", help="Convention of the metrics, or 'all' to compare them.")
    ] = "paper",
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="LABEL", help="Lowest label that counts as relevant; default: the convention's."
        ),
    ] = None,
    beside: Annotated[
        list[Path],
        typer.Option(
            readable=False,
            metavar="FILE",
            help="Scores of another ranker to compare with. Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - typer copies it
    out: Annotated[
        Path | None,
        typer.Option(
            readable=False, metavar="FOLDER", help="Results folder, which `report` turns into a page."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute ranking metrics of any program's scores, under one convention or all.

    The same scores give different values under the conventions of different programs, so always report the
    convention with a value. With `--beside`, several rankers are compared, named after their files, with a
    randomisation test for each pair.

    The example evaluates the output of the example of `rank`.

    Example: `directranker evaluate mine.run example --convention all`
    """
    from directranker.metrics import CONVENTIONS
    from directranker.metrics import evaluate as evaluate_scores

    rules = Rules(tuple(metric), convention, threshold)
    if out is not None:
        check_results_folder(out)
    if beside or out is not None:
        if convention == "all":
            raise ValueError("--beside and --out need one convention; pass --convention paper, for example")
        compare_files([scores, *beside], data, rules, columns, out=out, as_json=as_json)
        return
    judged = read_judged_scores(scores, data, metric, columns)
    cut = [judged.add_cutoff(one) for one in metric]
    names = list(CONVENTIONS) if convention == "all" else [convention]
    values: dict[str, dict[str, float]] = {}
    errors: dict[str, str] = {}
    for name in names:
        try:
            found = evaluate_scores(
                judged.relevance,
                judged.scores,
                qid=judged.qid,
                metrics=cut,
                convention=name,
                **rules.changes,
            )
            values[name] = dict(zip(metric, found.values(), strict=True))
        except ValueError as error:
            if len(names) == 1 or CONVENTIONS[name].gain_table is None:
                raise
            errors[name] = str(error)  # its gain table lacks a label; other conventions may have it
    if convention != "all":
        warn_if_constant(judged, rules)
    if as_json:
        content: dict[str, dict[str, object]] = {
            name: {key: _to_json(value) for key, value in row.items()} for name, row in values.items()
        }
        print_json({**content, **{name: {"error": reason} for name, reason in errors.items()}})
    else:
        _print_table(values, errors, metric)


def _to_json(value: float) -> float | None:
    return None if math.isnan(value) else value  # NaN where no query counts, which JSON cannot store


def _print_table(values: dict[str, dict[str, float]], errors: dict[str, str], metrics: list[str]) -> None:
    from rich.table import Table

    from directranker.metrics import CONVENTIONS

    table = Table("convention", *metrics, "rules", box=None, header_style="bold")
    for metric_column in table.columns[1:-1]:
        metric_column.justify = "right"
    for name, row in values.items():
        table.add_row(name, *(f"{row[metric]:.4f}" for metric in metrics), CONVENTIONS[name].description)
    for name, reason in errors.items():
        table.add_row(name, *("–" for _ in metrics), reason)
    get_console().print(table)
