"""The candidates of a search: all points of a grid, or some drawn from grids and distributions.

>>> from directranker.rankers import RankSVM
>>> grid_candidates(RankSVM(), {"alpha": [0.1, 1.0], "cost": ["hinge"]})
[{'alpha': 0.1, 'cost': 'hinge'}, {'alpha': 1.0, 'cost': 'hinge'}]
>>> grid_candidates(RankSVM(), {"max_iters": [10]})
Traceback (most recent call last):
ValueError: parameter of RankSVM 'max_iters' is unknown; did you mean 'max_iter'? Choose from 'alpha',
'callbacks', 'cost', 'max_iter', 'pairs', 'progress', 'random_state', 'reduction', 'tol', 'transform'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

from directranker.suggestions import describe_unknown_name

__all__ = ["Grid", "as_grids", "drawn_candidates", "grid_candidates", "is_distribution"]

MAX_POINTS = 100_000
Grid = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""The values of each parameter; several grids are searched one after another."""


def as_grids(ranker: Any, grid: Grid) -> list[dict[str, Any]]:
    """A list of grids whose parameters the ranker has."""
    grids = [dict(grid)] if isinstance(grid, Mapping) else [dict(one) for one in grid]
    if not grids:
        raise ValueError("the grid is an empty list; give {} for the ranker as it is")
    known = ranker.get_params()
    for one in grids:
        for name in one:
            # A grid that puts another part in place may also set that part's own parameters.
            part, _, within = name.partition("__")
            if name not in known and not (within and part in one):
                raise ValueError(describe_unknown_name(f"parameter of {type(ranker).__name__}", name, known))
            if not is_distribution(one[name]):
                ParameterGrid({name: one[name]})  # it has words for what is no list of values
    return grids


def is_distribution(values: Any) -> bool:
    """Whether values are drawn from it, as from those of `scipy.stats`."""
    return hasattr(values, "rvs")


def grid_candidates(ranker: Any, grid: Grid) -> list[dict[str, Any]]:
    """All points, in scikit-learn's order: the last parameter by the alphabet changes first."""
    grids = as_grids(ranker, grid)
    for name, values in ((name, values) for one in grids for name, values in one.items()):
        if is_distribution(values):
            raise ValueError(
                f"{name} is a distribution, of which a grid cannot take all; give a list of values, or "
                "method='halving' or method='optuna'"
            )
    points = ParameterGrid(grids)
    if len(points) > MAX_POINTS:
        raise ValueError(
            f"the grid has {len(points):,} points; give at most {MAX_POINTS:,}, or draw some with "
            "method='halving' or method='optuna'"
        )
    return list(points)


def drawn_candidates(ranker: Any, grid: Grid, n: int | None, seed: int) -> list[dict[str, Any]]:
    """So many at random; all points where there are no distributions and no more of them, or no number."""
    grids = as_grids(ranker, grid)
    if not any(is_distribution(values) for one in grids for values in one.values()):
        points = ParameterGrid(grids)
        if n is None or len(points) <= n:
            return list(points)
    if n is None:
        raise ValueError("the grid has a distribution; say with n_candidates how many points to draw")
    return list(ParameterSampler(grids, n, random_state=seed))
