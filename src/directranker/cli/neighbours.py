"""`directranker neighbours`: compare each document of a ranked query with the next one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.columns import ColumnOptions, takes_columns
from directranker.cli.console import AsJson, DataPath, format_command, get_console, print_json
from directranker.cli.loading import ModelPath, Trust, load_model, read_data_for
from directranker.cli.outputs import check_output_file, check_results_folder

if TYPE_CHECKING:
    from directranker.data.dataset import RankingDataset
    from directranker.experiments.neighbours import Neighbours
    from directranker.rankers.base import Ranker

__all__ = ["neighbours"]


@takes_columns(query="--query-column")
def neighbours(
    model: ModelPath,
    data: DataPath,
    *,
    columns: ColumnOptions,
    query: Annotated[
        str | None, typer.Option(metavar="ID", help="Query id; default: the first query.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="LABEL", help="Binarise the labels: 1 from this label on, else 0.")
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of classes to find in the scores; default: estimated."),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(readable=False, metavar="FILE", help="Draw the query to this .svg or .png file."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            metavar="FOLDER",
            help="Results folder for several queries, which `report` turns into a page.",
        ),
    ] = None,
    queries: Annotated[
        int, typer.Option(metavar="N", help="Number of queries in that folder, without --query.", min=1)
    ] = 20,
    as_json: AsJson = False,
    trust: Trust = None,
) -> None:
    """Rank a query's documents and print r(x, y) of each document and the next.

    r peaks where the class changes. `*` marks the true changes of class, `|` those estimated from the scores
    alone. With `--out`, the first queries are written to a folder, with a figure of the first one.

    Example: `directranker neighbours model example --query 10`
    """
    import numpy as np

    from directranker.experiments.neighbours import compare_neighbours

    if figure is not None:
        check_output_file(figure, inputs=[data])
    if out is not None:
        check_results_folder(out)
    ranker = load_model(model, trust)
    dataset = read_data_for(ranker, data, columns)
    if threshold is not None:
        dataset = dataset.binarise(threshold)
    found = compare_neighbours(ranker, dataset, query=query, n_classes=classes)
    if figure is not None:
        from directranker.figures import draw_neighbours, save_figure

        save_figure(draw_neighbours([found.to_dict()]), figure)
    if out is not None:
        ids = dataset.query_ids[np.diff(dataset.offsets) > 0][:queries] if query is None else [query]
        several = _compare_queries(ranker, dataset, list(map(str, ids)), classes)
        _write_queries(several, f"{type(ranker).__name__} on {data.name}", out)
    if as_json:
        print_json(found.to_dict())
        return
    _print_neighbours(found)
    if figure is not None:
        typer.echo(f"figure:  {figure}")
    if out is not None:
        typer.echo(f"queries: {len(several)} in {out}; run `directranker report {out}` for a page")


def _compare_queries(
    ranker: Ranker, dataset: RankingDataset, queries: list[str], n_classes: int | None
) -> list[Neighbours]:
    """Compare neighbours in each query, except those with fewer distinct scores than classes."""
    from directranker.experiments.neighbours import compare_neighbours

    compared = [compare_neighbours(ranker, dataset, query=one) for one in queries]
    if n_classes is None:
        return compared
    kept = [one.query for one in compared if len(set(one.scores)) >= n_classes]
    if n_skipped := len(queries) - len(kept):
        typer.echo(
            f"directranker: skipped {n_skipped} of {len(queries)} queries with fewer than {n_classes} "
            "distinct scores",
            err=True,
        )
    return [compare_neighbours(ranker, dataset, query=one, n_classes=n_classes) for one in kept]


def _write_queries(queries: list[Neighbours], title: str, out: Path) -> None:
    """Write the queries as JSON, and a figure of the first one."""
    from directranker.experiments.environment import environment
    from directranker.experiments.folder import NEIGHBOURS
    from directranker.experiments.results import write_json
    from directranker.figures import draw_neighbours, save_figure
    from directranker.figures.style import SUFFIXES

    out.mkdir(parents=True, exist_ok=True)
    lists = [one.to_dict() for one in queries]
    origin = {"request": {"command": format_command()}, "environment": environment(workers=1)}
    write_json({**origin, "ranker": title, "lists": lists}, out / NEIGHBOURS)
    drawing = draw_neighbours(lists[:1])
    for ending in SUFFIXES:
        save_figure(drawing, (out / NEIGHBOURS).with_suffix(ending))


def _print_neighbours(found: Neighbours) -> None:
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    table = Table("rank", "document", "class", "score", "r to next", "", box=None, header_style="bold")
    for column in (0, 2, 3, 4):
        table.columns[column].justify = "right"
    for index, document in enumerate(found.documents):
        step = mark = ""
        if index < len(found.steps):
            step = f"{found.steps[index]:.4f}"
            mark = "*" * bool(found.changes[index]) + "|" * bool(found.peaks[index])
        label, score = f"{found.classes[index]:g}", f"{found.scores[index]:.4f}"
        table.add_row(str(index + 1), Text(document), label, score, step, mark)
    console = get_console()
    n = len(found.documents)
    console.print(f"query {found.query}: {n} document{'s' * (n != 1)}, best first", markup=False)
    console.print(table)
    different, same = ("none" if np.isnan(mean) else f"{mean:.4f}" for mean in found.mean_steps())
    console.print(f"mean r between neighbours of different classes {different}, of the same class {same}")
    for threshold, confidence in zip(found.boundaries.thresholds, found.boundaries.confidences, strict=True):
        console.print(f"| boundary at score {threshold:.4f}, confidence {confidence:.3f}")
