"""The device that a net is trained on."""

from __future__ import annotations

import torch

__all__ = ["as_device"]


def as_device(device: str | torch.device) -> torch.device:
    """Return the torch device of this name; `"auto"` is a GPU where torch finds one."""
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device {device!r} is unknown to torch: {reason}") from None
