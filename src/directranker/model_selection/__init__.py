"""Which parameters are best: searches by query that lose nothing, on one machine or on many.

`grid_search` tries parameters on one data set, `nested_grid_search` on the training part of each given fold,
and `nested_searches` does so for several rankers at once. All of them make lists of `Fit`, which `run_fits`
trains, and whose values are the cells of a `CellStore`.
"""

from directranker.model_selection.cells import Cell, Fit, Part
from directranker.model_selection.nested import (
    CellCount,
    count_cells,
    nested_grid_search,
    nested_searches,
    planned_cells,
)
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
