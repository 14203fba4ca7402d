"""The colours of all figures and of the report: the colour-blind safe palette of Okabe and Ito.

>>> assign_colours(["A", "B"])
{'A': '#0072B2', 'B': '#D55E00'}
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["CLASS_COLOURS", "COLOURS", "assign_colours", "class_colours"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#5B5B5B")
"""For categories without an order; yellow is left out, as it is hard to see on white."""

CLASS_COLOURS = ("#9A9A9A", "#56B4E9", "#009E73", "#E69F00", "#D55E00")
"""For relevance classes, lowest first."""


def class_colours(n: int) -> list[str]:
    """Return a colour for each of `n` relevance classes; more than five are interpolated.

    >>> class_colours(2), class_colours(6)[1]
    (['#9A9A9A', '#56B4E9'], '#64AFD9')
    """
    last = len(CLASS_COLOURS) - 1
    if n <= last + 1:
        return list(CLASS_COLOURS[:n])
    return [_interpolate(index * last / (n - 1)) for index in range(n)]


def _interpolate(position: float) -> str:
    below = min(int(position), len(CLASS_COLOURS) - 2)
    low, high = (bytes.fromhex(colour[1:]) for colour in CLASS_COLOURS[below : below + 2])
    mixed = (round(one + (position - below) * (other - one)) for one, other in zip(low, high, strict=True))
    return f"#{bytes(mixed).hex().upper()}"


def assign_colours(names: Iterable[str]) -> dict[str, str]:
    """Assign a colour to each name; colours repeat after the eighth."""
    return {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
