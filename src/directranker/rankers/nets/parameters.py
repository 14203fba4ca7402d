"""The valid values of the parameters of a net and of its training."""

from __future__ import annotations

from directranker.parameters import (
    CALLBACKS,
    FOLDER_OR_NONE,
    PROGRESS,
    YES_OR_NO,
    Rule,
    above,
    at_least,
    between,
    kind,
    or_auto,
    or_none,
    share,
    whole,
    whole_or_growing,
)

__all__ = ["NET_RULES"]

NET_RULES: dict[str, Rule] = {
    "dropout": at_least(0),
    "bias": YES_OR_NO,
    "normalisation": or_none(kind("'batch' or 'layer'", str)),
    "cost": kind("the name of a cost, or a function", str, call=True),
    "pairs": kind("'all' or 'adjacent'", str),
    "pair_weight": or_none(kind("the name of a weight, or a function", str, call=True)),
    "max_pairs": or_none(whole_or_growing(1)),
    "reduction": kind("'auto', 'queries', 'root', 'pairs' or 'sum'", str),
    "teacher_weight": share(),
    "learning_rate": above(0),
    "lr_schedule": kind("'constant', 'step' or 'cosine'", str),
    "weight_decay": at_least(0),
    "momentum": at_least(0),
    "max_grad_norm": or_none(above(0)),
    "batch_queries": or_auto(whole_or_growing(1)),
    "list_size": whole(1),
    "max_epochs": whole(1),
    "max_steps": or_none(whole(1)),
    "early_stopping": YES_OR_NO,
    "patience": whole(1),
    "validation_fraction": between(0, 1),
    "checkpoint": FOLDER_OR_NONE,
    "progress": PROGRESS,
    "callbacks": CALLBACKS,
}
