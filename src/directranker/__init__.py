"""Learning to rank around the DirectRanker.

Names are imported on first use, so that `import directranker` and the command line start at once.

>>> import directranker
>>> data = directranker.example_dataset()
>>> data
RankingDataset(7500 documents, 291 queries, 20 features)
"""

from directranker import _working_directory  # noqa: F401 - before all else, even lazy_loader

# isort: split
import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
