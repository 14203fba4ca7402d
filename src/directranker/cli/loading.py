"""The saved ranker that a command is given, and the classes that its user trusts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from directranker.rankers.base import Ranker

__all__ = ["ModelPath", "Trust", "load_model"]

ModelPath = Annotated[
    Path, typer.Argument(help="The folder of a saved ranker, as train makes it.", show_default=False)
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        help="MODULE:CLASS of a feature net of your own, looked for in this folder, too; or a ranker's name, "
        "such as LambdaMART, to read files of any size. Can be given several times.",
        show_default=False,
    ),
]


def load_model(folder: Path, trust: Sequence[str] | None) -> Ranker:
    """The ranker in a folder, with the classes of these names trusted."""
    from directranker.persistence import load_ranker

    return load_ranker(folder, trust=[_class_named(name) for name in trust or ()])


def _class_named(name: str) -> type:
    from importlib import import_module

    from directranker.rankers.registry import load_registry

    module, _, path = name.rpartition(":")
    if not module:
        if path not in load_registry():
            raise ValueError(
                f"--trust {name}: give MODULE:CLASS, or a ranker of {', '.join(load_registry())}"
            )
        return load_registry()[path].ranker_class
    sys.path.append(str(Path.cwd()))  # an installed command does not look there by itself
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--trust {name}: {error}") from None
    if not isinstance(found, type):
        raise ValueError(f"--trust {name}: that is no class but {found!r}")
    return found
