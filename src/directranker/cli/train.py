"""`directranker train`: train a ranker and save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.columns import ColumnOptions, takes_columns
from directranker.cli.console import DataPath, Overwrite, RankerName, Seed, format_command, read_data
from directranker.cli.outputs import check_output_folder
from directranker.cli.settings import parse_settings
from directranker.rankers.registry import find_ranker

if TYPE_CHECKING:
    from directranker.rankers.base import Ranker

__all__ = ["save_with_origin", "train"]


@takes_columns()
def train(
    data: DataPath,
    out: Annotated[
        Path,
        typer.Option(
            readable=False, metavar="FOLDER", help="Output folder for the model.", show_default=False
        ),
    ],
    *,
    columns: ColumnOptions,
    ranker: RankerName = "DirectRanker",
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter, such as hidden_layers=64,32. Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - typer copies it
    valid: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            metavar="PATH",
            help="Validation data for early stopping; default: hold out some training queries.",
        ),
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """Train a ranker and save it with its feature transform.

    Example: `directranker train example --set hidden_layers=64,32 --out model`
    """
    entry = find_ranker(ranker)  # before the imports, which take seconds
    inputs = [data] if valid is None else [data, valid]
    check_output_folder(out, overwrite=overwrite, inputs=inputs)
    estimator = entry.make()
    seeded = {"random_state": seed} if "random_state" in estimator.get_params(deep=False) else {}
    estimator.set_params(**{**seeded, **parse_settings(settings, estimator)})
    dataset = read_data(data, options=columns.make_options(), data_format=columns.data_format)
    options = columns.make_options(n_features=dataset.n_features, texts=tuple(dataset.categories))
    estimator.fit(dataset, eval_set=None if valid is None else read_data(valid, options=options))
    save_with_origin(estimator, out, seed=seed, overwrite=overwrite)
    typer.echo(f"{out}: {ranker}, trained on {dataset.n_documents} documents of {dataset.n_queries} queries")


def save_with_origin(ranker: Ranker, folder: Path, *, seed: int, overwrite: bool) -> None:
    """Save a ranker with the command and the environment that trained it, which `report` shows."""
    from directranker.data.files import write_folder_atomically
    from directranker.experiments.environment import environment
    from directranker.experiments.folder import TRAINING
    from directranker.experiments.results import write_json
    from directranker.persistence import write_ranker

    request = {"command": format_command(), "seed": seed}
    origin = {"request": request, "environment": environment(workers=1)}
    with write_folder_atomically(folder, overwrite=overwrite) as temporary:
        write_ranker(ranker, temporary)
        write_json(origin, temporary / TRAINING, indent=1)
