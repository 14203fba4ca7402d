"""The paper's plot of neighbours in a sorted list: r peaks where classes change.

>>> one = {"query": "7", "classes": [1, 1, 0], "r": [0.1, 0.8], "scores": [2, 1.9, 0.1], "thresholds": [1.0]}
>>> figure = draw_neighbours([one])
>>> figure.axes[0].get_title(loc="left")
'query 7'
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from directranker.figures.palette import class_colours
from directranker.figures.style import apply_style, create_figure

__all__ = ["draw_neighbours"]


@apply_style
def draw_neighbours(lists: Sequence[Mapping[str, Any]], *, titles: Sequence[str] | None = None) -> Any:
    """A panel for each list; lists as `Neighbours.to_dict` gives them."""
    if not lists:
        raise ValueError("there are no lists to draw; give at least one")
    figure, axes = create_figure(len(lists), 1, size=(7.2, 3.0))
    names = titles or [f"query {one['query']}" for one in lists]
    for panel, one, title in zip(axes, lists, names, strict=True):
        _draw_list(panel, one)
        panel.set_title(title, parse_math=False)  # ids are text, whatever they are
    return figure


def _draw_list(axes: Any, one: Mapping[str, Any]) -> None:
    classes, steps = one["classes"], one["r"]
    places = range(1, len(steps) + 1)
    axes.plot(places, steps, color="#D5D8D6", linewidth=1, zorder=1)
    different = sorted(set(classes))
    size = 14 if len(steps) <= 150 else 5
    for of_class, colour in zip(different, class_colours(len(different)), strict=True):
        own = [place for place in places if classes[place - 1] == of_class]
        heights = [steps[place - 1] for place in own]
        # Many lie at 0, on the edge, and are not cut in half there.
        axes.scatter(own, heights, s=size, color=colour, label=f"class {of_class:g}", zorder=3, clip_on=False)
    changes = [place for place in places if classes[place - 1] != classes[place]]
    if changes and len(steps) <= 150:
        heights = [steps[place - 1] for place in changes]
        style = {"facecolor": "none", "edgecolor": "#1D2126", "linewidth": 0.8}
        axes.scatter(changes, heights, s=3 * size, label="class changes", zorder=4, **style)
    found = [bisect_left(one["thresholds"], score) for score in one["scores"]]
    for number, place in enumerate(place for place in places if found[place - 1] != found[place]):
        label = "boundary by scores alone" if not number else None
        axes.axvline(place, color="#0072B2", linewidth=1, linestyle="--", zorder=2, label=label)
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    if not steps:
        axes.set(xlim=(0.5, 1.5), ylim=(0, 1))
        axes.text(1, 0.5, "a single document has no neighbours", ha="center", backgroundcolor="white")
    axes.set(xlabel="place n in the sorted list", ylabel="$r(d_n, d_{n+1})$", ylim=(0, None))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
