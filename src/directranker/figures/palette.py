"""The colours of all figures and of the report: Okabe and Ito's, which colour-blind people can tell apart.

>>> assign_colours(["A", "B"])
{'A': '#0072B2', 'B': '#D55E00'}
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["CLASS_COLOURS", "COLOURS", "class_colours", "assign_colours"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#5B5B5B")
"""For things without an order; yellow is left out, as it is not seen on white."""

CLASS_COLOURS = ("#9A9A9A", "#56B4E9", "#009E73", "#E69F00", "#D55E00")
"""For relevance classes, from the lowest on."""


def class_colours(n: int) -> list[str]:
    """A colour for each of `n` relevance classes; of more than five, they lie between those of five.

    >>> class_colours(2), class_colours(6)[1]
    (['#9A9A9A', '#56B4E9'], '#64AFD9')
    """
    last = len(CLASS_COLOURS) - 1
    if n <= last + 1:
        return list(CLASS_COLOURS[:n])
    return [_between(place * last / (n - 1)) for place in range(n)]


def _between(place: float) -> str:
    below = min(int(place), len(CLASS_COLOURS) - 2)
    low, high = (bytes.fromhex(colour[1:]) for colour in CLASS_COLOURS[below : below + 2])
    mixed = (round(one + (place - below) * (other - one)) for one, other in zip(low, high, strict=True))
    return f"#{bytes(mixed).hex().upper()}"


def assign_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name; the ninth has the first one's again."""
    return {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
