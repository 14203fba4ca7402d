"""The paper's sensitivity plots: NDCG@20 as one property of synthetic data changes, with standard errors.

>>> point = {"study": "noise", "value": 0.25, "ranker": "R", "mean": 0.9, "error": 0.01}
>>> figure = draw_studies([point, {**point, "value": 0.75, "mean": 0.85}])
>>> figure.axes[0].get_xlabel()
'label noise σ, in classes'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from directranker.figures.palette import assign_colours
from directranker.figures.style import FAINT, halo, apply_style, create_figure, add_legend

__all__ = ["draw_studies"]

TITLES = {
    "classes": ("Relevance classes", "number of relevance classes"),
    "features": ("Features", "number of features"),
    "noise": ("Label noise", "label noise σ, in classes"),
    "size": ("Size of the training set", "documents in the training set"),
}
# What the paper says in numbers, all of it about noise.
LEAST, AT = 0.80, 0.75
MARGINAL_UP_TO = 0.25
CLAIM = "#6A6F74"  # faint, and dark enough to be read in small type


@apply_style
def draw_studies(points: Sequence[Mapping[str, Any]]) -> Any:
    """A panel for each study; `points` as `sensitivity.json` has them."""
    studies = list(dict.fromkeys(point["study"] for point in points))
    if not studies:
        raise ValueError("there are no points to draw; run a study first")
    colours = assign_colours(dict.fromkeys(point["ranker"] for point in points))
    n_columns = min(2, len(studies))
    figure, axes = create_figure(-(-len(studies) // n_columns), n_columns)
    for panel, study in zip(axes, studies, strict=False):
        _draw_study(panel, study, [point for point in points if point["study"] == study], colours)
    for spare in axes[len(studies) :]:
        spare.set_axis_off()
    if len(colours) > 1:
        add_legend(axes[0])
    return figure


def _draw_study(
    axes: Any, study: str, points: Sequence[Mapping[str, Any]], colours: Mapping[str, str]
) -> None:
    title, label = TITLES.get(study, (study, study))
    axes.set(title=title, xlabel=label, ylabel="NDCG@20")
    if study == "size":
        axes.set_xscale("log")
    elif study != "noise":
        axes.xaxis.get_major_locator().set_params(integer=True)  # there are no 2.5 classes
    for ranker, colour in colours.items():
        own = sorted((p for p in points if p["ranker"] == ranker), key=lambda point: float(point["value"]))
        if own:
            axes.errorbar(
                [point["value"] for point in own],
                [point["mean"] for point in own],
                yerr=[point["error"] or 0.0 for point in own],
                color=colour,
                label=ranker,
                marker="o",
                markersize=4,
                capsize=3,
                linewidth=1.5,
            )
    if study == "noise":
        _draw_claims(axes)


def _draw_claims(axes: Any) -> None:
    faint = {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (2, 3)), "zorder": 1}
    axes.axhline(LEAST, **faint)
    axes.axvline(AT, **faint)
    axes.axvline(MARGINAL_UP_TO, **faint)
    # In front of the curves, which may run through the words.
    note = {"color": CLAIM, "fontsize": 7.5, "textcoords": "offset points", "ha": "right", "zorder": 5}
    note["path_effects"] = halo()
    at = ("data", "axes fraction")
    axes.annotate(
        "paper: barely falls", (MARGINAL_UP_TO, 0.45), (-4, 0), at, rotation=90, va="center", **note
    )
    axes.annotate("paper: above 0.80 at σ = 0.75", (AT, LEAST), (-4, 3), **note)
