"""Parameters of a ranker as words on the command line: `hidden_layers=64,32`.

>>> from directranker.rankers import DirectRanker
>>> settings = parsed_settings(["hidden_layers=64,32", "dropout=0.1", "max_grad_norm=none"], DirectRanker())
>>> settings
{'hidden_layers': (64, 32), 'dropout': 0.1, 'max_grad_norm': None}
>>> parsed_settings(["hidden_layer=64"], DirectRanker())  # doctest: +ELLIPSIS
Traceback (most recent call last):
ValueError: parameter 'hidden_layer' is unknown; did you mean 'hidden_layers'? Choose from 'activation', ...
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directranker.rankers import Ranker

__all__ = ["parsed_settings"]

WORDS = {"none": None, "true": True, "false": False}


def parsed_settings(settings: Iterable[str], ranker: Ranker, *, option: str = "--set") -> dict[str, Any]:
    """Values by name, each name checked against the ranker's own parameters."""
    from directranker.suggestions import describe_unknown_name

    known = ranker.get_params(deep=False)
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(
                f"{option} {setting}: give a name and a value, such as {option} learning_rate=0.01"
            )
        if name not in known:
            raise ValueError(describe_unknown_name("parameter", name, sorted(known)))
        value = _value(text)
        if isinstance(known[name], int | float) and isinstance(value, str):
            is_switch = isinstance(known[name], bool)
            wanted = "give true or false" if is_switch else f"{name} is a number, such as {known[name]}"
            raise ValueError(f"{option} {setting}: {wanted}")
        if isinstance(known[name], tuple) and not isinstance(value, tuple):
            value = (value,) if text else ()
        values[name] = value
    return values


def _value(text: str) -> Any:
    if "," in text:
        return tuple(_value(part) for part in text.split(",") if part)
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
