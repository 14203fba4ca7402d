"""Which parameters are tried for each ranker: the paper's grid, a quick one, or one from a file.

`paper` searches what the paper searched for the DirectRanker, and the usual ranges of the others' own
publications and of RankLib. `quick` leaves rankers at their defaults, where nothing has to be chosen and no
inner fit is needed, and tries a few values for those that train in a blink. A file names rankers and the
values of their parameters, in TOML or YAML; rankers that it does not name stay at their defaults:

    [DirectRanker]
    hidden_layers = [[64], [128]]
    dropout = [0.3, 0.5]

>>> get_named_grid("quick")["RankSVM"]
{'alpha': [0.01, 0.03, 0.1]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from directranker.experiments.grid_files import parse_grid
from directranker.rankers.registry import Choices, find_ranker, registered
from directranker.suggestions import unknown_name

__all__ = ["NAMES", "Grid", "resolve_grid", "get_named_grid"]

Grid = Mapping[str, Choices | list[Choices]]
"""By ranker: all combinations of the choices, or of each of several sets of choices."""

# The comparison sets seeds, metrics and threads itself; the others change no result.
_NOT_CHOSEN = ("random_state", "metric", "n_jobs", "device", "checkpoint", "progress", "callbacks")

NAMES = ("quick", "paper")


def _of_registry(name: str) -> Grid:
    return MappingProxyType({ranker: entry.grids.get(name, {}) for ranker, entry in registered().items()})


def _for_all(grid: Mapping[str, Choices | list[Choices]]) -> Grid:
    return MappingProxyType({name: grid.get(name, {}) for name in registered()})


def get_named_grid(name: str) -> Grid:
    """A grid by its name.

    >>> get_named_grid("qick")
    Traceback (most recent call last):
    ValueError: grid 'qick' is unknown; did you mean 'quick'? Choose from 'quick', 'paper', or a .toml or
    .yaml file
    """
    if name not in NAMES:
        raise ValueError(f"{unknown_name('grid', name, NAMES)}, or a .toml or .yaml file")
    return _of_registry(name)


def resolve_grid(grid: str | Path | Mapping[str, Any]) -> Grid:
    """A grid by its name, from a file that ends in .toml, .yaml or .yml, or from a mapping; checked.

    >>> resolve_grid({"RankSVM": {"costs": ["hinge"]}})
    Traceback (most recent call last):
    ValueError: the grid, RankSVM: parameter 'costs' is unknown; did you mean 'cost'? Choose from 'alpha',
    'cost', 'max_iter', 'pairs', 'reduction', 'tol', 'transform'
    """
    if isinstance(grid, Mapping):
        return _for_all(_checked(grid, "the grid"))
    path = Path(grid)
    if path.suffix.lower() not in (".toml", ".yaml", ".yml"):
        return get_named_grid(str(grid))
    return _for_all(_checked(parse_grid(path), str(path)))


def _checked(grid: Mapping[str, Any], source: str) -> dict[str, Choices | list[Choices]]:
    checked: dict[str, Choices | list[Choices]] = {}
    for ranker, choices in grid.items():
        if ranker not in registered():
            raise ValueError(f"{source}: {unknown_name('ranker', ranker, registered())}")
        where = f"{source}, {ranker}"
        several = isinstance(choices, list)
        sets = [_checked_choices(ranker, one, where) for one in (choices if several else [choices])]
        checked[ranker] = sets if several else sets[0]
    return checked


def _checked_choices(ranker: str, choices: Any, where: str) -> Choices:
    if not isinstance(choices, Mapping):
        raise ValueError(f"{where}: has {choices!r}; give parameters, each with a list of values to try")
    parameters = find_ranker(ranker).make().get_params()
    known = sorted(name for name in parameters if name.rpartition("__")[2] not in _NOT_CHOSEN)
    for parameter, values in choices.items():
        if parameter not in known:
            raise ValueError(f"{where}: {unknown_name('parameter', parameter, known)}")
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"{where}: {parameter} is {values!r}; give a list of values to try")
    return {parameter: [_as_value(value) for value in values] for parameter, values in choices.items()}


def _as_value(value: Any) -> Any:
    """Layers are tuples in Python and lists in files; a result must not depend on where they came from."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_as_value(one) for one in value)
    return value
