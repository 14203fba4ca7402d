"""`directranker train`: from data to a saved ranker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.console import DataPath, Overwrite, RankerName, Seed, command_line, read_data
from directranker.cli.settings import parsed_settings

if TYPE_CHECKING:
    from directranker.rankers.base import Ranker

__all__ = ["save_with_origin", "train"]


def train(
    data: DataPath,
    out: Annotated[Path, typer.Option(help="The folder of the trained ranker.", show_default=False)],
    ranker: RankerName = "DirectRanker",
    settings: Annotated[
        list[str], typer.Option("--set", help="A parameter, such as hidden_layers=64,32; may be repeated.")
    ] = [],  # noqa: B006 - typer copies it
    valid: Annotated[
        Path | None, typer.Option(help="Data for early stopping; else a part of the queries is held out.")
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """Train a ranker and save it to a folder, its transform included.

    Example: `directranker train example --set hidden_layers=64,32 --out model`
    """
    from directranker.rankers.registry import find_ranker

    entry = find_ranker(ranker)  # before the imports that take seconds
    from directranker.data.files import check_writable_parent
    from directranker.data.formats import ReadOptions

    if out.exists() and not overwrite:
        raise FileExistsError(f"{out} exists; choose another name or pass --overwrite")
    check_writable_parent(out)  # better known before an hour of training
    estimator = entry.make()
    seeded = {"random_state": seed} if "random_state" in estimator.get_params(deep=False) else {}
    estimator.set_params(**{**seeded, **parsed_settings(settings, estimator)})
    dataset = read_data(data)
    options = ReadOptions(n_features=dataset.n_features)
    estimator.fit(dataset, eval_set=None if valid is None else read_data(valid, options=options))
    save_with_origin(estimator, out, seed=seed, overwrite=overwrite)
    typer.echo(f"{out}: {ranker}, learnt from {dataset.n_documents} documents of {dataset.n_queries} queries")


def save_with_origin(ranker: Ranker, folder: Path, *, seed: int, overwrite: bool) -> None:
    """Save a ranker and, for a report, by which command and where it was trained."""
    from directranker.data.files import write_folder_atomically
    from directranker.experiments.environment import environment
    from directranker.experiments.folder import TRAINING
    from directranker.experiments.results import write_json
    from directranker.persistence import write_ranker

    request = {"command": command_line(), "seed": seed}
    origin = {"request": request, "environment": environment(workers=1)}
    with write_folder_atomically(folder, overwrite=overwrite) as temporary:
        write_ranker(ranker, temporary)
        write_json(origin, temporary / TRAINING, indent=1)
