"""`directranker neighbours`: what a ranker says of neighbours in a sorted list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.console import AsJson, DataPath, command_line, console, print_json, read_data
from directranker.cli.loading import ModelPath, Trust, load_model

if TYPE_CHECKING:
    from directranker.data.dataset import RankingDataset
    from directranker.experiments.neighbours import Neighbours
    from directranker.rankers.base import Ranker

__all__ = ["neighbours"]


def neighbours(
    model: ModelPath,
    data: DataPath,
    query: Annotated[str | None, typer.Option(help="The query's id; the first one unless given.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Binarise: labels from here on are 1, others 0.")
    ] = None,
    classes: Annotated[
        int | None, typer.Option(help="How many classes to find by score; else as many as can be told apart.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw it to this .svg or .png file.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for several queries, from which report makes a page.")
    ] = None,
    queries: Annotated[
        int, typer.Option(help="How many queries go to that folder, unless one is named.", min=1)
    ] = 20,
    as_json: AsJson = False,
    trust: Trust = None,
) -> None:
    """Sort a query's documents with a ranker and give r between each and the next.

    r peaks where the class changes: `*` marks where it truly does, `|` where the scores alone tell so.
    With `--out` the first queries are written to a folder, with a figure of the first.

    Example: `directranker neighbours model example --query 10`
    """
    import numpy as np

    from directranker.data.formats import ReadOptions
    from directranker.experiments.neighbours import compare_neighbours

    ranker = load_model(model, trust)
    dataset = read_data(data, options=ReadOptions(n_features=ranker.n_features_in_))
    if threshold is not None:
        dataset = dataset.binarise(threshold)
    found = compare_neighbours(ranker, dataset, query=query, n_classes=classes)
    if figure is not None:
        from directranker.figures import draw_neighbours, save_figure

        save_figure(draw_neighbours([found.to_dict()]), figure)
    if out is not None:
        ids = dataset.query_ids[np.diff(dataset.offsets) > 0][:queries] if query is None else [query]
        lists = _sorted_lists(ranker, dataset, list(map(str, ids)), classes)
        _write_lists(lists, f"{type(ranker).__name__} on {data.name}", out)
    if as_json:
        print_json(found.to_dict())
        return
    _print_neighbours(found)
    if figure is not None:
        typer.echo(f"figure: {figure}")
    if out is not None:
        typer.echo(f"lists:  {len(lists)} in {out}; directranker report {out} makes a page of them")


def _sorted_lists(
    ranker: Ranker, dataset: RankingDataset, queries: list[str], classes: int | None
) -> list[Neighbours]:
    """All of them, but for those that have fewer different scores than there shall be classes."""
    from directranker.experiments.neighbours import compare_neighbours

    lists = [compare_neighbours(ranker, dataset, query=one) for one in queries]
    if classes is None:
        return lists
    enough = [one.query for one in lists if len(set(one.scores)) >= classes]
    if few := len(queries) - len(enough):
        typer.echo(f"left out: {few} of {len(queries)} queries, with fewer than {classes} scores", err=True)
    return [compare_neighbours(ranker, dataset, query=one, n_classes=classes) for one in enough]


def _write_lists(lists: list[Neighbours], title: str, out: Path) -> None:
    from directranker.experiments.environment import environment
    from directranker.experiments.folder import NEIGHBOURS
    from directranker.experiments.results import write_json
    from directranker.figures import draw_neighbours, save_figure
    from directranker.figures.style import SUFFIXES

    out.mkdir(parents=True, exist_ok=True)
    plain = [one.to_dict() for one in lists]
    content = {"request": {"command": command_line()}, "environment": environment(workers=1)}
    write_json({**content, "ranker": title, "lists": plain}, out / NEIGHBOURS)
    drawing = draw_neighbours(plain[:1])
    for ending in SUFFIXES:
        save_figure(drawing, (out / NEIGHBOURS).with_suffix(ending))


def _print_neighbours(found: Neighbours) -> None:
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    table = Table("place", "document", "class", "score", "r to next", "", box=None, header_style="bold")
    for column in (0, 2, 3, 4):
        table.columns[column].justify = "right"
    for place, document in enumerate(found.documents):
        step = mark = ""
        if place < len(found.steps):
            step = f"{found.steps[place]:.4f}"
            mark = "*" * bool(found.changes[place]) + "|" * bool(found.peaks[place])
        of_class, score = f"{found.classes[place]:g}", f"{found.scores[place]:.4f}"
        table.add_row(str(place + 1), Text(document), of_class, score, step, mark)
    out = console()
    n = len(found.documents)
    heading = f"query {found.query}: {n} document{'s' * (n != 1)}, best first"
    out.print(heading, markup=False)
    out.print(table)
    different, same = ("none" if np.isnan(mean) else f"{mean:.4f}" for mean in found.mean_steps())
    out.print(f"mean r between neighbours of different classes {different}, of the same class {same}")
    for at, sure in zip(found.boundaries.thresholds, found.boundaries.confidences, strict=True):
        out.print(f"| boundary at score {at:.4f}, confidence {sure:.3f}")
