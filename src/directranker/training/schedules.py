"""Optimisers by name, and learning-rate schedules.

| schedule | learning rate after s of S steps |
|---|---|
| `constant` | as given |
| `step` | × 0.944 every 500 steps (the paper's) |
| `cosine` | rises linearly over the first twentieth of the steps, then falls as a cosine to 0 |

>>> round(learning_rate_factor("step", step=1000, n_steps=3000), 4)
0.8911
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from typing import Any

import torch

from directranker.suggestions import describe_unknown_name

__all__ = ["OPTIMIZERS", "SCHEDULES", "learning_rate_factor", "make_optimizer"]


def _bypass_compiler(optimizer: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """Return the same optimiser without torch's compiler and profiler hooks.

    Torch's decorators import its compiler only to disable it, which adds seconds to each new process. The
    profiler hook takes a tenth of a small net's step.
    """
    decorated = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    methods = {name: inspect.unwrap(getattr(optimizer, name)) for name in decorated}
    step = torch.no_grad()(inspect.unwrap(optimizer.step))
    step.hooked = True  # torch wraps a step without this mark
    return type(optimizer.__name__, (optimizer,), {**methods, "step": step})


OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": _bypass_compiler(torch.optim.Adam),
    "adamw": _bypass_compiler(torch.optim.AdamW),
    "sgd": _bypass_compiler(torch.optim.SGD),
}
SCHEDULES = ("constant", "step", "cosine")
STEP_DECAY, STEP_LENGTH = 0.944, 500
WARM_UP = 0.05


def make_optimizer(
    optimizer: object,
    parameters: Iterable[torch.nn.Parameter],
    *,
    learning_rate: float,
    weight_decay: float,
    momentum: float = 0.0,
) -> torch.optim.Optimizer:
    """Make an optimiser from its name or its class."""
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZERS:
            raise ValueError(describe_unknown_name("optimizer", optimizer, OPTIMIZERS))
        optimizer_class = OPTIMIZERS[optimizer]
    elif isinstance(optimizer, type) and issubclass(optimizer, torch.optim.Optimizer):
        optimizer_class = optimizer
    else:
        raise TypeError(f"optimizer is {optimizer!r}; give a name or a torch optimiser class")
    options: dict[str, Any] = {"lr": learning_rate, "weight_decay": weight_decay}
    if momentum:
        options["momentum"] = momentum
    if isinstance(optimizer, str):
        options["fused"] = True  # one call for all parameters
    try:
        return optimizer_class(parameters, **options)
    except TypeError as error:
        raise ValueError(f"{optimizer_class.__name__} does not take these options: {error}") from None


def learning_rate_factor(schedule: str, *, step: int, n_steps: int) -> float:
    """Return the factor of the learning rate at a step."""
    if schedule == "constant":
        return 1.0
    if schedule == "step":
        return float(STEP_DECAY ** (step // STEP_LENGTH))
    if schedule == "cosine":
        warm_up = max(1.0, WARM_UP * n_steps)
        if step < warm_up:
            return (step + 1) / warm_up
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm_up) / max(1.0, n_steps - warm_up))))
    raise ValueError(describe_unknown_name("lr_schedule", schedule, SCHEDULES))
