"""The saved model that a command reads: its argument, the classes to trust, and data that may not fit it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.console import read_data
from directranker.rankers.registry import load_registry

if TYPE_CHECKING:
    from directranker.data.dataset import RankingDataset
    from directranker.rankers.base import Ranker

__all__ = ["ModelPath", "Trust", "load_model", "read_data_for", "warn_of_unused_features"]

ModelPath = Annotated[
    Path,
    typer.Argument(readable=False, help="Folder of a saved model, as written by train.", show_default=False),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLASS",
        help="Trust a class that the model needs: MODULE:CLASS for your own feature net (the working "
        "directory is searched too), or a ranker such as LambdaMART to read files of any size. Repeatable.",
        show_default=False,
    ),
]


def load_model(folder: Path, trust: Sequence[str] | None) -> Ranker:
    """Load the ranker of a folder, and trust the classes of these names."""
    from directranker.persistence import load_ranker

    return load_ranker(folder, trust=[_resolve_class(name) for name in trust or ()])


def _resolve_class(name: str) -> type:
    module, _, path = name.rpartition(":")
    if not module:
        if path not in load_registry():
            raise ValueError(f"--trust {name}: give MODULE:CLASS, or a ranker: {', '.join(load_registry())}")
        return load_registry()[path].ranker_class
    sys.path.append(str(Path.cwd()))  # an installed command does not search it by default
    try:
        found: object = import_module(module)
        for attribute in path.split("."):
            found = getattr(found, attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--trust {name}: {error}") from None
    if not isinstance(found, type):
        raise ValueError(f"--trust {name}: not a class but {found!r}")
    return found


def read_data_for(ranker: Ranker, path: Path) -> RankingDataset:
    """Read the data that a ranker is to score, and warn where its last features are all 0."""
    from directranker.data.formats import ReadOptions

    dataset = read_data(path, options=ReadOptions(n_features=ranker.n_features_in_))
    (dataset,) = warn_of_unused_features([dataset], ranker.n_features_in_)
    return dataset


def warn_of_unused_features(datasets: Iterable[RankingDataset], n_features: int) -> Iterator[RankingDataset]:
    """Pass data through; at its end, warn if the ranker's last features are 0 in all documents.

    LETOR text leaves out zeros, so a file with too few features looks like one whose last features are 0.
    """
    import numpy as np

    n_used = 0
    for data in datasets:
        if data.columns is not None:  # columns of a table are found by name, and none is left out
            n_used = n_features
        used = np.flatnonzero(np.any(data.features[:, n_used:], axis=0))
        n_used += 1 + int(used[-1]) if len(used) else 0
        yield data
    if 0 < n_used < n_features:
        typer.echo(
            f"directranker: features {n_used + 1} to {n_features} of the model are 0 in all documents; "
            "check that the data matches the model",
            err=True,
        )
