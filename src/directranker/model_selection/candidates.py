"""The candidates of a search: all points of a grid, or a sample from grids and distributions.

>>> from directranker.rankers import RankSVM
>>> expand_grid(RankSVM(), {"alpha": [0.1, 1.0], "cost": ["hinge"]})
[{'alpha': 0.1, 'cost': 'hinge'}, {'alpha': 1.0, 'cost': 'hinge'}]
>>> expand_grid(RankSVM(), {"max_iters": [10]})
Traceback (most recent call last):
ValueError: parameter of RankSVM 'max_iters' is unknown; did you mean 'max_iter'? Choose from 'alpha',
'callbacks', 'cost', 'max_iter', 'pairs', 'progress', 'random_state', 'reduction', 'tol', 'transform'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid, ParameterSampler

from directranker.suggestions import describe_unknown_name

__all__ = ["Grid", "expand_grid", "is_distribution", "sample_candidates", "validate_grids"]

MAX_POINTS = 100_000
Grid = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""The values of each parameter, or a sequence of such grids, which are searched one after another."""


def validate_grids(ranker: BaseEstimator, grid: Grid) -> list[dict[str, object]]:
    """Return a list of grids; raise if the ranker lacks one of their parameters."""
    grids = [dict(grid)] if isinstance(grid, Mapping) else [dict(one) for one in grid]
    if not grids:
        raise ValueError("the grid is an empty list; pass {} to use the ranker's own parameters")
    known = ranker.get_params()
    for one in grids:
        for name in one:
            # A grid that replaces a sub-estimator may also set that estimator's parameters.
            owner, _, nested = name.partition("__")
            if name not in known and not (nested and owner in one):
                raise ValueError(describe_unknown_name(f"parameter of {type(ranker).__name__}", name, known))
            if not is_distribution(one[name]):
                ParameterGrid({name: one[name]})  # raises if this is not a list of values
    return grids


def is_distribution(values: object) -> bool:
    """Return whether values can be drawn from it, as from the distributions of `scipy.stats`."""
    return hasattr(values, "rvs")


def expand_grid(ranker: BaseEstimator, grid: Grid) -> list[dict[str, object]]:
    """Return all points in the order of scikit-learn's `ParameterGrid`."""
    grids = validate_grids(ranker, grid)
    for name, values in ((name, values) for one in grids for name, values in one.items()):
        if is_distribution(values):
            raise ValueError(
                f"{name} is a distribution, which a grid cannot enumerate; pass a list of values, or "
                "method='halving' or method='optuna'"
            )
    points = ParameterGrid(grids)
    if len(points) > MAX_POINTS:
        raise ValueError(
            f"the grid has {len(points):,} points; pass at most {MAX_POINTS:,}, or sample some with "
            "method='halving' or method='optuna'"
        )
    return list(points)


def sample_candidates(ranker: BaseEstimator, grid: Grid, n: int | None, seed: int) -> list[dict[str, object]]:
    """Sample `n` points; return all points if `n` is None or not smaller and there are no distributions."""
    grids = validate_grids(ranker, grid)
    if not any(is_distribution(values) for one in grids for values in one.values()):
        points = ParameterGrid(grids)
        if n is None or len(points) <= n:
            return list(points)
    if n is None:
        raise ValueError("the grid has a distribution; pass n_candidates, the number of points to sample")
    return list(ParameterSampler(grids, n, random_state=seed))
