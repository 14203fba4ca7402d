"""`directranker tune`: search parameters by cross-validation over queries, and save the best ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.console import (
    AsJson,
    DataPath,
    Overwrite,
    RankerName,
    Seed,
    exit_on_interrupt,
    get_console,
    print_json,
    progress_bar,
    read_data,
)
from directranker.cli.outputs import check_output_folder
from directranker.cli.settings import parse_settings
from directranker.cli.train import save_with_origin
from directranker.rankers.registry import find_ranker

if TYPE_CHECKING:
    from directranker.model_selection import SearchResult
    from directranker.rankers import Ranker

__all__ = ["tune"]

MAX_SHOWN = 10


def tune(
    data: DataPath,
    grid: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUES",
            help="Values to try, such as alpha=0.1/1/10 or hidden_layers=64/64,32; or a TOML or YAML file of "
            "values by ranker and parameter. Repeatable.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            readable=False, metavar="FOLDER", help="Output folder for the best model.", show_default=False
        ),
    ],
    ranker: RankerName = "DirectRanker",
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Fix a parameter, such as max_epochs=20. Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - typer copies it
    metric: Annotated[str, typer.Option(metavar="METRIC", help="Metric to optimise.")] = "ndcg@10",
    folds: Annotated[int, typer.Option(metavar="N", help="Number of cross-validation folds.", min=2)] = 5,
    split_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Cut the folds by this column, such as a date: each is evaluated after training on what is "
            "before it. In a table, the column is then not a feature.",
        ),
    ] = None,
    halving: Annotated[
        bool,
        typer.Option("--halving", help="Successive halving: drop the worse candidates on few queries."),
    ] = False,
    trials: Annotated[
        int | None, typer.Option(metavar="N", help="Let Optuna choose N grid points to try.", min=1)
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of parallel jobs; default: chosen by the work.", min=1),
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Search parameters by cross-validation over queries and save the best ranker, trained on all data.

    Finished jobs are kept in OUT.jobs.sqlite. Run the same command to resume, or add values to extend the
    search.

    Example: `directranker tune example --ranker RankSVM --grid alpha=1/5 --out svm`
    """
    entry = find_ranker(ranker)  # before the import, which takes seconds
    from directranker.data.formats import keep_column
    from directranker.model_selection import grid_search

    if halving and trials is not None:
        raise ValueError("--halving and --trials exclude each other; choose one")
    check_output_folder(out, overwrite=overwrite, inputs=[data])
    estimator = entry.make()
    estimator.set_params(**parse_settings(settings, estimator))
    values = parse_grid_options(grid, ranker, estimator)
    dataset = read_data(data, options=keep_column(split_by))
    store = out.with_name(f"{out.name}.jobs.sqlite")
    with exit_on_interrupt(f"finished jobs are kept in {store}"), progress_bar(f"tuning {ranker}") as report:
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
            split_by=split_by,
            progress=lambda moment: report(moment.done, moment.total),
        )
    save_with_origin(found.best_ranker(metric), out, seed=seed, overwrite=overwrite)
    _print_result(found, metric, out, as_json)


def parse_grid_options(options: Sequence[str], name: str, ranker: Ranker) -> dict[str, list[object]]:
    """Parse NAME=VALUES options and grid files into the values of each parameter.

    >>> from directranker.rankers import DirectRanker
    >>> parse_grid_options(["hidden_layers=64/64,32", "dropout=0/0.5"], "DirectRanker", DirectRanker())
    {'hidden_layers': [64, (64, 32)], 'dropout': [0, 0.5]}
    """
    values: dict[str, list[object]] = {}
    for option in options:
        parameter, equals, texts = option.partition("=")
        if equals:
            settings = [
                parse_settings([f"{parameter}={text}"], ranker, option="--grid") for text in texts.split("/")
            ]
            values[parameter] = [setting[parameter] for setting in settings]
        else:
            values.update(_read_grid_file(Path(option), name))
    return values


def _read_grid_file(path: Path, ranker: str) -> dict[str, list[object]]:
    from directranker.experiments.grid_files import parse_grid

    if not path.is_file():
        raise ValueError(f"--grid {path}: give values, such as alpha=0.1/1, or an existing file")
    content = parse_grid(path)
    grid = content.get(ranker)
    if not isinstance(grid, Mapping):
        raise ValueError(f"{path}: no parameters of {ranker}; the file has {', '.join(map(str, content))}")
    return {
        str(name): [tuple(value) if isinstance(value, list) else value for value in values]
        if isinstance(values, list)
        else [values]
        for name, values in grid.items()
    }


def _print_result(found: SearchResult, metric: str, out: Path, as_json: bool) -> None:
    import numpy as np
    from rich.table import Table

    means, deviations = (found.cv_results_[f"{kind}_test_{metric}"] for kind in ("mean", "std"))
    # Optuna and halving skip candidates, which then have no mean.
    order = [int(index) for index in np.argsort(-means, kind="stable") if not np.isnan(means[index])]
    best = found.best_parameters(metric)
    if as_json:
        candidates = [
            {
                "parameters": dict(found.candidates[index]),
                "mean": float(means[index]),
                "deviation": float(deviations[index]),
            }
            for index in order
        ]
        print_json({"best": best, "metric": metric, "candidates": candidates, "model": str(out)})
        return
    table = Table("parameters", f"mean {metric}", "std", box=None)
    for index in order[:MAX_SHOWN]:
        parameters = _format_parameters(found.candidates[index])
        table.add_row(parameters, f"{means[index]:.4f}", f"{deviations[index]:.4f}")
    get_console().print(table)
    if len(order) > MAX_SHOWN:
        typer.echo(f"and {len(order) - MAX_SHOWN} more")
    typer.echo(f"{out}: best parameters {_format_parameters(best)}, trained on all data")


def _format_parameters(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items()) or "by default"
