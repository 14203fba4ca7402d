"""Rankers: scikit-learn estimators that learn an order from graded documents.

Each is imported on first use: a saved net ranks without what only training or trees need.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
