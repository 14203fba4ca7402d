"""Where a net is trained."""

from __future__ import annotations

import torch

__all__ = ["as_device"]


def as_device(device: str) -> torch.device:
    """The device of this name; `"auto"` is a GPU where torch sees one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device {device!r} is unknown to torch: {error}") from None
