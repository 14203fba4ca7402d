from .jobs import Fit as Fit
from .jobs import QuerySubset as QuerySubset
from .metric_targets import adapt_to_metric as adapt_to_metric
from .nested import nested_grid_search as nested_grid_search
from .nested import nested_searches as nested_searches
from .nested import run_plan as run_plan
from .nested_result import FoldResult as FoldResult
from .nested_result import NestedResult as NestedResult
from .plan import Plan as Plan
from .plan import RankerGrid as RankerGrid
from .progress import Progress as Progress
from .running import run_fits as run_fits
from .search import grid_search as grid_search
from .search_result import SearchResult as SearchResult
from .store import JobCount as JobCount
from .store import JobResult as JobResult
from .store import JobStore as JobStore
from .store import count_jobs as count_jobs

__all__: list[str]
