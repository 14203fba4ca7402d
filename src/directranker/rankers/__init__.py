"""Rankers: scikit-learn estimators that rank documents within queries.

Names are imported on first use: a saved net ranks without torch and LightGBM.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
