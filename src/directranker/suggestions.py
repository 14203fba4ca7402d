"""The error message for a misspelt name, with a suggestion.

>>> describe_unknown_name("measure", "ndgc", ["ndcg", "map"])
"measure 'ndgc' is unknown; did you mean 'ndcg'? Choose from 'ndcg', 'map'"
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["describe_unknown_name"]


def describe_unknown_name(kind: str, name: object, known: Iterable[object]) -> str:
    """Return the message for an unknown name: the closest known name, then all of them.

    The search for the closest ignores case, and treats spaces, `_` and `-` as equal.

    >>> describe_unknown_name("transform", "Quantile Normal", ["standard", "quantile-normal"])
    "transform 'Quantile Normal' is unknown; did you mean 'quantile-normal'? Choose from 'standard',
    'quantile-normal'"
    """
    choices = list(known)
    by_key = {_normalise(choice): choice for choice in choices}
    close = get_close_matches(_normalise(name), by_key, n=1)
    hint = f"did you mean {by_key[close[0]]!r}? Choose" if close else "choose"
    return f"{kind} {name!r} is unknown; {hint} from {', '.join(map(repr, choices))}"


def _normalise(name: object) -> str:
    return str(name).lower().replace("_", "-").replace(" ", "-")
