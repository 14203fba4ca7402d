"""`directranker info`: what a saved ranker is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from directranker.cli.console import AsJson, console, print_json
from directranker.cli.loading import ModelPath, Trust, load_model

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["info"]


def info(model: ModelPath, as_json: AsJson = False, trust: Trust = None) -> None:
    """Say what a saved ranker is, how it was trained and by which versions.

    Example: `directranker info model`
    """
    from directranker.data.folder_swap import read_consistently

    facts = read_consistently(model, lambda found: _facts(found, trust))
    if as_json:
        print_json(facts)
        return
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), _words(value))
    console().print(table, markup=False)


def _facts(model: Path, trust: Trust) -> dict[str, Any]:
    from directranker.persistence import read_versions

    ranker = load_model(model, trust)
    transform = getattr(ranker, "transform_", None)
    facts: dict[str, Any] = {
        "ranker": type(ranker).__name__,
        "features": ranker.n_features_in_,
        "feature_names": list(ranker._feature_names()),
        "transform": None if transform is None else type(transform).__name__,
        "parameters": _changed_parameters(ranker),
    }
    for name in ("n_epochs_", "best_epoch_", "n_rounds_", "best_round_", "stopped_"):
        if hasattr(ranker, name):
            facts[name.strip("_")] = getattr(ranker, name)
    if hasattr(ranker, "rankers_"):
        facts["rankers"] = [_member(one) for one in ranker.rankers_]
    metrics = [record.metric for record in getattr(ranker, "history_", []) if record.metric is not None]
    if metrics:
        facts["best_validation_metric"] = max(metrics)
    facts["bytes"] = sum(path.stat().st_size for path in model.iterdir())
    facts["versions"] = read_versions(model)
    return facts


def _member(ranker: Any) -> str:
    """One ranker of an ensemble, and what it sees."""
    transform = getattr(ranker, "transform_", None)
    return type(ranker).__name__ + ("" if transform is None else f" of {type(transform).__name__}")


def _changed_parameters(ranker: Any) -> dict[str, Any]:
    defaults = type(ranker)().get_params(deep=False)
    parameters = ranker.get_params(deep=False)
    return {
        name: value
        for name, value in parameters.items()
        if value != defaults[name] and isinstance(value, str | int | float | tuple | None)
    }


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items()) or "as by default"
    if isinstance(value, list):
        shown = ", ".join(map(str, value[:8]))
        return shown if len(value) <= 8 else f"{shown}, … ({len(value)})"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
