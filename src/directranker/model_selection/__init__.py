"""Which parameters are best: searches by query that lose nothing, on one machine or on many.

`grid_search` tries parameters on one data set, `nested_grid_search` on the training part of each given fold,
and `nested_searches` does so for several rankers at once. All of them make lists of `Fit`, which `run_fits`
trains, and whose values are the cells of a `CellStore`. Each name is imported on first use: how far a search
is can be told from its store alone.
"""

from typing import TYPE_CHECKING

from directranker.late_names import late_names

if TYPE_CHECKING:
    from directranker.model_selection.cells import Fit, Part
    from directranker.model_selection.counting import CellCount, count_cells
    from directranker.model_selection.finished_cell import Cell
    from directranker.model_selection.nested import nested_grid_search, nested_searches, planned_cells
    from directranker.model_selection.nested_result import FoldResult, NestedResult
    from directranker.model_selection.own_metrics import trained_for
    from directranker.model_selection.plan import Entry
    from directranker.model_selection.progress import Progress
    from directranker.model_selection.running import run_fits
    from directranker.model_selection.search import grid_search
    from directranker.model_selection.search_result import SearchResult
    from directranker.model_selection.store import CellStore

__all__ = [
    "Cell",
    "CellCount",
    "CellStore",
    "Entry",
    "Fit",
    "FoldResult",
    "NestedResult",
    "Part",
    "Progress",
    "SearchResult",
    "count_cells",
    "grid_search",
    "nested_grid_search",
    "nested_searches",
    "planned_cells",
    "run_fits",
    "trained_for",
]

__getattr__ = late_names(
    __name__,
    {
        "cells": ("Fit", "Part"),
        "counting": ("CellCount", "count_cells"),
        "finished_cell": ("Cell",),
        "nested": ("nested_grid_search", "nested_searches", "planned_cells"),
        "nested_result": ("FoldResult", "NestedResult"),
        "own_metrics": ("trained_for",),
        "plan": ("Entry",),
        "progress": ("Progress",),
        "running": ("run_fits",),
        "search": ("grid_search",),
        "search_result": ("SearchResult",),
        "store": ("CellStore",),
    },
)
