"""The paper's sensitivity plots: NDCG@20 against one property of synthetic data, with standard errors.

>>> point = {"study": "noise", "value": 0.25, "ranker": "R", "mean": 0.9, "error": 0.01}
>>> figure = draw_studies([point, {**point, "value": 0.75, "mean": 0.85}])
>>> figure.axes[0].get_xlabel()
'label noise σ, in classes'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from directranker.figures.palette import assign_colours
from directranker.figures.style import FAINT, add_legend, apply_style, create_figure, halo

__all__ = ["draw_studies"]

TITLES = {
    "classes": ("Relevance classes", "number of relevance classes"),
    "features": ("Features", "number of features"),
    "noise": ("Label noise", "label noise σ, in classes"),
    "size": ("Size of the training set", "documents in the training set"),
}
# The paper's claims in numbers, all of them about noise.
CLAIMED_MIN_NDCG, CLAIMED_AT_NOISE = 0.80, 0.75
MARGINAL_UP_TO_NOISE = 0.25
CLAIM_COLOUR = "#6A6F74"  # faint, but legible in small type


@apply_style
def draw_studies(points: Sequence[Mapping[str, Any]]) -> Any:
    """Draw a panel for each study; `points` are as in `sensitivity.json`."""
    studies = list(dict.fromkeys(point["study"] for point in points))
    if not studies:
        raise ValueError("there are no points to draw; run a study first")
    colours = assign_colours(dict.fromkeys(point["ranker"] for point in points))
    n_columns = min(2, len(studies))
    figure, axes = create_figure(-(-len(studies) // n_columns), n_columns)
    for panel, study in zip(axes, studies, strict=False):
        _draw_study(panel, study, [point for point in points if point["study"] == study], colours)
    for unused in axes[len(studies) :]:
        unused.set_axis_off()
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
        axes.xaxis.get_major_locator().set_params(integer=True)  # no fractional classes or features
    for ranker, colour in colours.items():
        of_ranker = sorted(
            (p for p in points if p["ranker"] == ranker), key=lambda point: float(point["value"])
        )
        if of_ranker:
            axes.errorbar(
                [point["value"] for point in of_ranker],
                [point["mean"] for point in of_ranker],
                yerr=[point["error"] or 0.0 for point in of_ranker],
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
    axes.axhline(CLAIMED_MIN_NDCG, **faint)
    axes.axvline(CLAIMED_AT_NOISE, **faint)
    axes.axvline(MARGINAL_UP_TO_NOISE, **faint)
    # In front of the curves, which may cross the text.
    note = {"color": CLAIM_COLOUR, "fontsize": 7.5, "textcoords": "offset points", "ha": "right", "zorder": 5}
    note["path_effects"] = halo()
    at = ("data", "axes fraction")
    axes.annotate(
        "paper: barely falls", (MARGINAL_UP_TO_NOISE, 0.45), (-4, 0), at, rotation=90, va="center", **note
    )
    axes.annotate("paper: above 0.80 at σ = 0.75", (CLAIMED_AT_NOISE, CLAIMED_MIN_NDCG), (-4, 3), **note)
