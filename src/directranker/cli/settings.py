"""Ranker parameters on the command line: `hidden_layers=64,32`.

>>> from directranker.rankers import DirectRanker
>>> settings = parse_settings(["hidden_layers=64,32", "dropout=0.1", "max_grad_norm=none"], DirectRanker())
>>> settings
{'hidden_layers': (64, 32), 'dropout': 0.1, 'max_grad_norm': None}
>>> parse_settings(["hidden_layer=64"], DirectRanker())  # doctest: +ELLIPSIS
Traceback (most recent call last):
ValueError: parameter 'hidden_layer' is unknown; did you mean 'hidden_layers'? Choose from 'activation', ...
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from directranker.suggestions import describe_unknown_name

if TYPE_CHECKING:
    from directranker.rankers import Ranker

__all__ = ["parse_settings"]

LITERALS = {"none": None, "true": True, "false": False}


def parse_settings(settings: Iterable[str], ranker: Ranker, *, option: str = "--set") -> dict[str, object]:
    """Parse NAME=VALUE settings, and check each name against the ranker's parameters."""
    defaults = ranker.get_params(deep=False)
    values: dict[str, object] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"{option} {setting}: write NAME=VALUE, such as {option} learning_rate=0.01")
        if name not in defaults:
            raise ValueError(describe_unknown_name("parameter", name, sorted(defaults)))
        value, default = _parse_value(text), defaults[name]
        if isinstance(default, int | float) and isinstance(value, str):
            expected = (
                "give true or false"
                if isinstance(default, bool)
                else f"{name} must be a number, such as {default}"
            )
            raise ValueError(f"{option} {setting}: {expected}")
        if isinstance(default, tuple) and not isinstance(value, tuple):
            value = (value,) if text else ()
        values[name] = value
    return values


def _parse_value(text: str) -> object:
    if "," in text:
        return tuple(_parse_value(part) for part in text.split(",") if part)
    if text.lower() in LITERALS:
        return LITERALS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
