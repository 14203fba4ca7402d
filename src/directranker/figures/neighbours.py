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
    """Draw a panel for each list; `lists` are as returned by `Neighbours.to_dict`."""
    if not lists:
        raise ValueError("there are no lists to draw; pass at least one")
    figure, axes = create_figure(len(lists), 1, size=(7.2, 3.0))
    names = titles or [f"query {one['query']}" for one in lists]
    for panel, one, title in zip(axes, lists, names, strict=True):
        _draw_list(panel, one)
        panel.set_title(title, parse_math=False)  # ids are plain text
    return figure


def _draw_list(axes: Any, one: Mapping[str, Any]) -> None:
    classes, steps = one["classes"], one["r"]
    ranks = range(1, len(steps) + 1)
    axes.plot(ranks, steps, color="#D5D8D6", linewidth=1, zorder=1)
    labels = sorted(set(classes))
    size = 14 if len(steps) <= 150 else 5
    for label, colour in zip(labels, class_colours(len(labels)), strict=True):
        of_class = [rank for rank in ranks if classes[rank - 1] == label]
        heights = [steps[rank - 1] for rank in of_class]
        # Without clipping, points at 0 are drawn whole.
        name = f"class {label:g}"
        axes.scatter(of_class, heights, s=size, color=colour, label=name, zorder=3, clip_on=False)
    changes = [rank for rank in ranks if classes[rank - 1] != classes[rank]]
    if changes and len(steps) <= 150:
        heights = [steps[rank - 1] for rank in changes]
        style = {"facecolor": "none", "edgecolor": "#1D2126", "linewidth": 0.8}
        axes.scatter(changes, heights, s=3 * size, label="class changes", zorder=4, **style)
    predicted = [bisect_left(one["thresholds"], score) for score in one["scores"]]
    boundaries = [rank for rank in ranks if predicted[rank - 1] != predicted[rank]]
    for number, rank in enumerate(boundaries):
        legend = "boundary from scores alone" if not number else None
        axes.axvline(rank, color="#0072B2", linewidth=1, linestyle="--", zorder=2, label=legend)
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    if not steps:
        axes.set(xlim=(0.5, 1.5), ylim=(0, 1))
        axes.text(1, 0.5, "a single document has no neighbours", ha="center", backgroundcolor="white")
    axes.set(xlabel="rank n in the sorted list", ylabel="$r(d_n, d_{n+1})$", ylim=(0, None))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
