"""`directranker info`: describe a saved ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from directranker.cli.console import AsJson, get_console, print_json
from directranker.cli.loading import ModelPath, Trust, load_model
from directranker.data.folder_swap import read_consistently

if TYPE_CHECKING:
    from pathlib import Path

    from directranker.rankers.base import Ranker

__all__ = ["info"]

MAX_SHOWN = 8


def info(model: ModelPath, as_json: AsJson = False, trust: Trust = None) -> None:
    """Show a saved ranker's parameters, training and package versions.

    Example: `directranker info model`
    """
    from rich.table import Table

    facts = read_consistently(model, lambda found: _collect_facts(found, trust))
    if as_json:
        print_json(facts)
        return
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), _format_value(value))
    get_console().print(table, markup=False)


def _collect_facts(model: Path, trust: Sequence[str] | None) -> dict[str, object]:
    from directranker.persistence import read_versions

    ranker = load_model(model, trust)
    transform = getattr(ranker, "transform_", None)
    facts: dict[str, object] = {
        "ranker": type(ranker).__name__,
        "features": ranker.n_features_in_,
        "feature_names": list(ranker._feature_names()),
        "transform": None if transform is None else type(transform).__name__,
        "parameters": _select_changed_parameters(ranker),
    }
    for name in ("n_epochs_", "best_epoch_", "n_rounds_", "best_round_", "stopped_"):
        if hasattr(ranker, name):
            facts[name.strip("_")] = getattr(ranker, name)
    if hasattr(ranker, "rankers_"):
        facts["rankers"] = [_describe_member(one) for one in ranker.rankers_]
    metrics = [record.metric for record in getattr(ranker, "history_", []) if record.metric is not None]
    if metrics:
        facts["best_validation_metric"] = max(metrics)
    facts["bytes"] = sum(path.stat().st_size for path in model.iterdir())
    facts["versions"] = read_versions(model)
    return facts


def _describe_member(ranker: Ranker) -> str:
    """Name a ranker of an ensemble and its feature transform."""
    transform = getattr(ranker, "transform_", None)
    return type(ranker).__name__ + ("" if transform is None else f" with {type(transform).__name__}")


def _select_changed_parameters(ranker: Ranker) -> dict[str, object]:
    defaults = type(ranker)().get_params(deep=False)
    parameters = ranker.get_params(deep=False)
    return {
        name: value
        for name, value in parameters.items()
        if value != defaults[name] and isinstance(value, str | int | float | tuple | None)
    }


def _format_value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={one}" for name, one in value.items()) or "defaults"
    if isinstance(value, list):
        shown = ", ".join(map(str, value[:MAX_SHOWN]))
        return shown if len(value) <= MAX_SHOWN else f"{shown}, … ({len(value)} in total)"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
