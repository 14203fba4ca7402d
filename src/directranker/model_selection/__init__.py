"""Hyperparameter search by query: resumable, on one machine or on a cluster.

`grid_search` searches on one data set, `nested_grid_search` on the training split of each given fold, and
`nested_searches` does so for several rankers at once. All of them build lists of `Fit`, which `run_fits`
trains, and store one `JobResult` per metric in a `JobStore`. Each name is imported on first use, so that the
progress of a search can be read from its store without loading the rankers.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
