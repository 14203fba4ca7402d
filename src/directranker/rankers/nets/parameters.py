"""What the parameters of a net and of its training may be."""

from __future__ import annotations

from typing import Any

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
from directranker.rankers.nets.net_ranker import resolve_layers

# ruff: noqa: PLC0415 - torch takes seconds to import, and a saved net ranks without it.

__all__ = ["NET_RULES", "check_training"]

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


def check_training(ranker: Any) -> None:
    """Refuse words that the net, its optimiser or its device would refuse, before any work is done."""
    import torch

    from directranker.nn.perceptron import validate_layers
    from directranker.training.devices import as_device
    from directranker.training.schedules import learning_rate_factor, make_optimizer

    as_device(ranker.device)
    learning_rate_factor(ranker.lr_schedule, step=0, n_steps=1)
    make_optimizer(
        ranker.optimizer,
        [torch.nn.Parameter(torch.zeros(1))],
        learning_rate=ranker.learning_rate,
        weight_decay=ranker.weight_decay,
        momentum=ranker.momentum,
    )
    if ranker.feature_net is None:
        layers = resolve_layers(ranker.hidden_layers, n_documents=1, n_columns=1)
        validate_layers(layers, ranker.activation, ranker.dropout, ranker.normalisation)
