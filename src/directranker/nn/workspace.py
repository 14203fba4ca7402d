"""Memory that stays from batch to batch, as new memory costs as much as filling it several times.

>>> room = Workspace()
>>> first = room.rows(4, (3,))
>>> room.rows(2, (3,)).data_ptr() == first.data_ptr()
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

__all__ = ["Workspace"]

LARGE_PAGES = 1 << 20  # float32 numbers from which NumPy asks the system for large pages: 4 MB
LINE = 64  # bytes of memory that a processor reads and writes at once


class Workspace:
    """Workspace for the rows of one step after another; what was there is overwritten."""

    def __init__(self) -> None:
        self._tensor = torch.empty(0, 0)
        self._kind: tuple[tuple[int, ...], torch.device | None] = (), None

    def rows(self, n_rows: int, shape: Sequence[int], device: torch.device | None = None) -> torch.Tensor:
        """Workspace for so many float32 rows of this shape, on the processor if no device is given."""
        kept, kind = self._tensor, (tuple(shape), device)
        if len(kept) < n_rows or self._kind != kind:
            self._tensor = kept = _new(n_rows + n_rows // 4, shape, device or torch.device("cpu"))
            self._kind = kind
        return kept[:n_rows]


def _new(n_rows: int, shape: Sequence[int], device: torch.device) -> torch.Tensor:
    if device.type != "cpu":
        return torch.empty((n_rows, *shape), device=device)
    size = n_rows * math.prod(shape)
    memory = np.empty(max(size, LARGE_PAGES) + LINE, dtype=np.float32)  # what is not touched costs nothing
    first = -memory.ctypes.data % LINE // memory.itemsize
    return torch.from_numpy(memory[first : first + size]).view(n_rows, *shape)
