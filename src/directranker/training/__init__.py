"""Training a scoring net: batches of whole queries, early stopping, checkpoints, progress.

Names are imported on first use: most of them need torch.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
