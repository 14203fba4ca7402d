from .cells import Fit as Fit
from .cells import Part as Part
from .nested import nested_grid_search as nested_grid_search
from .nested import nested_searches as nested_searches
from .nested import run_plan as run_plan
from .nested_result import FoldResult as FoldResult
from .nested_result import NestedResult as NestedResult
from .own_metrics import trained_for as trained_for
from .plan import Entry as Entry
from .plan import Plan as Plan
from .progress import Progress as Progress
from .running import run_fits as run_fits
from .search import grid_search as grid_search
from .search_result import SearchResult as SearchResult
from .store import Cell as Cell
from .store import CellCount as CellCount
from .store import CellStore as CellStore
from .store import count_cells as count_cells

__all__: list[str]
