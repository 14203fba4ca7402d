"""Parameter grids of each ranker: the paper's, a quick one, or one from a file.

`paper` is the paper's grid for the DirectRanker, and the usual ranges of the original publications and of
RankLib for the others. `quick` keeps most rankers at their defaults, which needs no inner fits, and has a few
values for those that train fast. A TOML or YAML file lists rankers and the values of their parameters; other
rankers keep their defaults:

    [DirectRanker]
    hidden_layers = [[64], [128]]
    dropout = [0.3, 0.5]

>>> get_named_grid("quick")["RankSVM"]
{'alpha': [0.01, 0.03, 0.1]}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sklearn.base import BaseEstimator

from directranker.experiments.grid_files import parse_grid
from directranker.rankers.registry import Choices, find_ranker, load_registry
from directranker.suggestions import describe_unknown_name

__all__ = ["GRID_NAMES", "Grid", "get_named_grid", "resolve_grid"]

Grid = Mapping[str, Choices | list[Choices]]
"""By ranker, the values of each parameter, or several such grids."""

# The comparison sets seeds, metrics and threads; the others do not change the scores.
_EXCLUDED_PARAMETERS = ("random_state", "metric", "n_jobs", "device", "checkpoint", "progress", "callbacks")

GRID_NAMES = ("quick", "paper")


def _load_registered_grid(name: str) -> Grid:
    return MappingProxyType({ranker: entry.grids.get(name, {}) for ranker, entry in load_registry().items()})


def _add_missing_rankers(grid: Grid, estimators: Iterable[str]) -> Grid:
    return MappingProxyType({name: grid.get(name, {}) for name in [*load_registry(), *estimators]})


def get_named_grid(name: str) -> Grid:
    """Return a grid by its name.

    >>> get_named_grid("qick")
    Traceback (most recent call last):
    ValueError: grid 'qick' is unknown; did you mean 'quick'? Choose from 'quick', 'paper', or a .toml or
    .yaml file
    """
    if name not in GRID_NAMES:
        raise ValueError(f"{describe_unknown_name('grid', name, GRID_NAMES)}, or a .toml or .yaml file")
    return _load_registered_grid(name)


def resolve_grid(
    grid: str | Path | Mapping[str, Any], estimators: Mapping[str, BaseEstimator] | None = None
) -> Grid:
    """Return a grid by its name, from a .toml, .yaml or .yml file, or from a mapping; raise if it is invalid.

    `estimators` are compared beside the registered rankers; named grids keep their parameters.

    >>> resolve_grid({"RankSVM": {"costs": ["hinge"]}})
    Traceback (most recent call last):
    ValueError: the grid, RankSVM: parameter 'costs' is unknown; did you mean 'cost'? Choose from 'alpha',
    'cost', 'max_iter', 'pairs', 'reduction', 'tol', 'transform'
    """
    own = estimators or {}
    if isinstance(grid, Mapping):
        return _add_missing_rankers(_validate_grid(grid, "the grid", own), own)
    path = Path(grid)
    if path.suffix.lower() not in (".toml", ".yaml", ".yml"):
        return _add_missing_rankers(get_named_grid(str(grid)), own)
    return _add_missing_rankers(_validate_grid(parse_grid(path), str(path), own), own)


def _validate_grid(
    grid: Mapping[str, Any], source: str, estimators: Mapping[str, BaseEstimator]
) -> dict[str, Choices | list[Choices]]:
    validated: dict[str, Choices | list[Choices]] = {}
    known = [*load_registry(), *estimators]
    for ranker, choices in grid.items():
        if ranker not in known:
            raise ValueError(f"{source}: {describe_unknown_name('ranker', ranker, known)}")
        where = f"{source}, {ranker}"
        estimator = estimators[ranker] if ranker in estimators else find_ranker(ranker).make()
        several = isinstance(choices, list)
        sets = [_validate_choices(estimator, one, where) for one in (choices if several else [choices])]
        validated[ranker] = sets if several else sets[0]
    return validated


def _validate_choices(estimator: BaseEstimator, choices: Any, where: str) -> Choices:
    if not isinstance(choices, Mapping):
        raise ValueError(f"{where}: is {choices!r}; pass parameters, each with a list of values")
    parameters = estimator.get_params()
    known = sorted(name for name in parameters if name.rpartition("__")[2] not in _EXCLUDED_PARAMETERS)
    for parameter, values in choices.items():
        if parameter not in known:
            raise ValueError(f"{where}: {describe_unknown_name('parameter', parameter, known)}")
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"{where}: {parameter} is {values!r}; pass a list of values")
    return {parameter: [_to_tuple(value) for value in values] for parameter, values in choices.items()}


def _to_tuple(value: Any) -> Any:
    """Convert lists, such as layers from a file, to tuples as in Python code: keys must not differ."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_to_tuple(one) for one in value)
    return value
