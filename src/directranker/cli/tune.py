"""`directranker tune`: the best parameters by cross-validation over queries, and the ranker that has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directranker.cli.console import (
    INTERRUPTED,
    AsJson,
    DataPath,
    Overwrite,
    RankerName,
    Seed,
    console,
    print_json,
    progress_bar,
    read_data,
)
from directranker.cli.settings import parsed_settings
from directranker.cli.train import save_with_origin

if TYPE_CHECKING:
    from directranker.model_selection import SearchResult
    from directranker.rankers import Ranker

__all__ = ["tune"]

SHOWN = 10


def tune(
    data: DataPath,
    grid: Annotated[
        list[str],
        typer.Option(
            help="Values of a parameter, such as alpha=0.1/1/10 or hidden_layers=64/64,32; may be repeated. "
            "Or a TOML or YAML file with values by ranker and parameter.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder of the best ranker.", show_default=False)],
    ranker: RankerName = "DirectRanker",
    settings: Annotated[
        list[str], typer.Option("--set", help="A parameter that stays, such as max_epochs=20.")
    ] = [],  # noqa: B006 - typer copies it
    metric: Annotated[str, typer.Option(help="What decides.")] = "ndcg@10",
    folds: Annotated[int, typer.Option(help="Parts of the queries to cross-validate over.", min=2)] = 5,
    halving: Annotated[
        bool, typer.Option("--halving", help="First on few queries, the better half on more.")
    ] = False,
    trials: Annotated[
        int | None, typer.Option(help="Only so many points of the grid, chosen by Optuna.", min=1)
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Trainings at the same time; else as many as pay.", min=1)
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Try parameters by cross-validation over queries, train the best on all data, and save it.

    What is measured is kept in OUT.jobs.sqlite: the same command, or one of more values, goes on from there.

    Example: `directranker tune example --ranker RankSVM --grid alpha=1/10 --out tuned`
    """
    from directranker.rankers.registry import find_ranker

    entry = find_ranker(ranker)
    from directranker.model_selection import grid_search  # takes seconds, so not before the names are known

    if halving and trials is not None:
        raise ValueError("--halving and --trials are two ways to search; choose one")
    if out.exists() and not overwrite:
        raise FileExistsError(f"{out} exists; choose another name or pass --overwrite")
    estimator = entry.make()
    estimator.set_params(**parsed_settings(settings, estimator))
    values = parsed_grid(grid, ranker, estimator)
    dataset = read_data(data)
    store = out.with_name(f"{out.name}.jobs.sqlite")
    with _word_on_going_on(store), progress_bar(f"tuning {ranker}") as report:
        found = grid_search(
            estimator,
            values,
            dataset,
            metrics=metric,
            folds=folds,
            method="halving" if halving else "grid" if trials is None else "optuna",
            n_candidates=trials,
            workers=workers,
            store=store,
            random_state=seed,
            progress=lambda moment: report(moment.done, moment.total),
        )
    save_with_origin(found.best_ranker(metric), out, seed=seed, overwrite=overwrite)
    _show(found, metric, out, as_json)


@contextmanager
def _word_on_going_on(store: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        kept = f"interrupted; what was measured is kept in {store}, and the same command goes on from there"
        typer.echo(f"directranker: {kept}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def parsed_grid(words: Sequence[str], name: str, ranker: Ranker) -> dict[str, list[Any]]:
    """Values by parameter, from words or from one file.

    >>> from directranker.rankers import DirectRanker
    >>> parsed_grid(["hidden_layers=64/64,32", "dropout=0/0.5"], "DirectRanker", DirectRanker())
    {'hidden_layers': [64, (64, 32)], 'dropout': [0, 0.5]}
    """
    values: dict[str, list[Any]] = {}
    for word in words:
        parameter, equals, texts = word.partition("=")
        if equals:
            each = [f"{parameter}={text}" for text in texts.split("/")]
            settings = [parsed_settings([one], ranker, option="--grid") for one in each]
            values[parameter] = [setting[parameter] for setting in settings]
        else:
            values.update(_grid_of_file(Path(word), name))
    return values


def _grid_of_file(path: Path, ranker: str) -> dict[str, list[Any]]:
    from directranker.experiments.grid_files import parse_grid

    if not path.is_file():
        raise ValueError(f"--grid {path}: give values, such as alpha=0.1/1, or a file that is there")
    content = parse_grid(path)
    if not isinstance(content.get(ranker), Mapping):
        raise ValueError(f"{path}: has no parameters of {ranker}; there are {', '.join(map(str, content))}")
    return {
        str(name): [tuple(value) if isinstance(value, list) else value for value in values]
        if isinstance(values, list)
        else [values]
        for name, values in content[ranker].items()
    }


def _show(found: SearchResult, metric: str, out: Path, as_json: bool) -> None:
    import numpy as np

    means, deviations = (found.cv_results_[f"{kind}_test_{metric}"] for kind in ("mean", "std"))
    # Optuna and halving leave points out; those have no mean.
    order = [int(at) for at in np.argsort(-means, kind="stable") if not np.isnan(means[at])]
    rows: list[dict[str, Any]] = [
        {
            "parameters": dict(found.candidates[at]),
            "mean": float(means[at]),
            "deviation": float(deviations[at]),
        }
        for at in order
    ]
    best = found.best_parameters(metric)
    if as_json:
        print_json({"best": best, "metric": metric, "candidates": rows, "model": str(out)})
        return
    from rich.table import Table

    table = Table("parameters", f"{metric}, mean", "deviation", box=None)
    for row in rows[:SHOWN]:
        table.add_row(_in_words(row["parameters"]), f"{row['mean']:.4f}", f"{row['deviation']:.4f}")
    console().print(table)
    if len(rows) > SHOWN:
        typer.echo(f"and {len(rows) - SHOWN} more")
    typer.echo(f"{out}: the best, {_in_words(best)}, trained on all of the data")


def _in_words(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items()) or "the defaults"
