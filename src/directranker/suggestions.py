"""Messages for misspelt names, the same wherever a name is looked up.

>>> unknown_name("measure", "ndgc", ["ndcg", "map"])
"measure 'ndgc' is unknown; did you mean 'ndcg'? Choose from 'ndcg', 'map'"
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["unknown_name"]


def unknown_name(kind: str, name: object, known: Iterable[object]) -> str:
    """The message for a name that is not among the known ones: the closest one, then all of them.

    Case, spaces, `_` and `-` do not count in the search for the closest.

    >>> unknown_name("transform", "Quantile Normal", ["standard", "quantile-normal"])
    "transform 'Quantile Normal' is unknown; did you mean 'quantile-normal'? Choose from 'standard',
    'quantile-normal'"
    """
    choices = list(known)
    by_key = {_key(choice): choice for choice in choices}
    close = get_close_matches(_key(name), by_key, n=1)
    hint = f"did you mean {by_key[close[0]]!r}? Choose" if close else "choose"
    return f"{kind} {name!r} is unknown; {hint} from {', '.join(map(repr, choices))}"


def _key(name: object) -> str:
    return str(name).lower().replace("_", "-").replace(" ", "-")
