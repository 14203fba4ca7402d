"""Which parameters are best: searches by query that lose nothing, on one machine or on many.

`grid_search` tries parameters on one data set, `nested_grid_search` on the training part of each given fold,
and `nested_searches` does so for several rankers at once. All of them make lists of `Fit`, which `run_fits`
trains, and whose values are the cells of a `JobStore`. Each name is imported on first use: how far a search
is can be told from its store alone.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
