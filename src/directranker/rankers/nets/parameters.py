"""The valid values of the parameters of a net and of its training."""

from __future__ import annotations

from directranker.parameters import (
    BOOLEAN,
    CALLBACKS,
    FOLDER_OR_NONE,
    PROGRESS,
    Constraint,
    above,
    at_least,
    between,
    fraction,
    instance_of,
    integer,
    integer_or_range,
    or_auto,
    or_none,
)

__all__ = ["NET_RULES"]

NET_RULES: dict[str, Constraint] = {
    "dropout": at_least(0),
    "bias": BOOLEAN,
    "normalisation": or_none(instance_of("'batch' or 'layer'", str)),
    "cost": instance_of("the name of a cost, or a function", str, or_callable=True),
    "pairs": instance_of("'all' or 'adjacent'", str),
    "pair_weight": or_none(instance_of("the name of a weight, or a function", str, or_callable=True)),
    "max_pairs": or_none(integer_or_range(1)),
    "reduction": instance_of("'auto', 'queries', 'root', 'pairs' or 'sum'", str),
    "teacher_weight": fraction(),
    "learning_rate": above(0),
    "lr_schedule": instance_of("'constant', 'step' or 'cosine'", str),
    "weight_decay": at_least(0),
    "momentum": at_least(0),
    "max_grad_norm": or_none(above(0)),
    "batch_queries": or_auto(integer_or_range(1)),
    "list_size": integer(1),
    "max_epochs": integer(1),
    "max_steps": or_none(integer(1)),
    "early_stopping": BOOLEAN,
    "patience": integer(1),
    "validation_fraction": between(0, 1),
    "checkpoint": FOLDER_OR_NONE,
    "progress": PROGRESS,
    "callbacks": CALLBACKS,
}
