"""Memory that is reused from batch to batch, since allocating it costs as much as filling it several times.

>>> workspace = Workspace()
>>> first = workspace.rows(4, (3,))
>>> workspace.rows(2, (3,)).data_ptr() == first.data_ptr()
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

__all__ = ["Workspace"]

MIN_LARGE_PAGES = 1 << 20  # float32 values, 4 MB: from here on NumPy requests large pages
CACHE_LINE = 64  # bytes


class Workspace:
    """A buffer for the rows of one step, which the next step overwrites."""

    def __init__(self) -> None:
        self._tensor = torch.empty(0, 0)
        self._kind: tuple[tuple[int, ...], torch.device | None] = (), None

    def rows(self, n_rows: int, shape: Sequence[int], device: torch.device | None = None) -> torch.Tensor:
        """Return a buffer of n float32 rows of this shape, on the CPU if no device is given."""
        tensor, kind = self._tensor, (tuple(shape), device)
        if len(tensor) < n_rows or self._kind != kind:
            self._tensor = tensor = _allocate(n_rows + n_rows // 4, shape, device or torch.device("cpu"))
            self._kind = kind
        return tensor[:n_rows]


def _allocate(n_rows: int, shape: Sequence[int], device: torch.device) -> torch.Tensor:
    if device.type != "cpu":
        return torch.empty((n_rows, *shape), device=device)
    size = n_rows * math.prod(shape)
    memory = np.empty(
        max(size, MIN_LARGE_PAGES) + CACHE_LINE, dtype=np.float32
    )  # untouched memory costs nothing
    first = -memory.ctypes.data % CACHE_LINE // memory.itemsize
    return torch.from_numpy(memory[first : first + size]).view(n_rows, *shape)
