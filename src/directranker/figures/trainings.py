"""Learning curves, and the score of rankers against their training time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from directranker.experiments.results import Comparison, MetricResult
from directranker.experiments.table_values import score_cell
from directranker.figures.palette import COLOURS, assign_colours
from directranker.figures.style import FAINT, add_legend, apply_style, create_figure, halo

__all__ = ["draw_learning_curves", "draw_score_against_time"]


@apply_style
def draw_learning_curves(trainings: Mapping[str, Sequence[Mapping[str, Any]]], *, title: str = "") -> Any:
    """Draw cost and validation metric by epoch; `trainings` are by name, such as their fold.

    >>> figure = draw_learning_curves({"Fold1": [{"epoch": 1, "cost": 0.7, "metric": None}]}, title="RankNet")
    >>> len(figure.axes), figure.axes[0].get_ylabel()
    (1, 'cost on the training split')
    """
    records = [record for history in trainings.values() for record in history]
    if not records:
        raise ValueError("the trainings have no history; linear solvers record none")
    # The fitness need not be a metric: for RankSVM it is its negative objective.
    step, objective = ("epoch", "cost") if "epoch" in records[0] else ("round", "fitness")
    panels = [(objective, f"{objective} on the training split")]
    if any(record.get("metric") is not None for record in records):
        panels.append(("metric", "metric on the validation split"))
    figure, axes = create_figure(1, len(panels))
    colours = assign_colours(trainings)
    for panel, (field, text) in zip(axes, panels, strict=True):
        for name, history in trainings.items():
            recorded = [record for record in history if record.get(field) is not None]
            values = [record[field] for record in recorded]
            panel.plot(
                [record[step] for record in recorded], values, color=colours[name], label=name, linewidth=1.3
            )
        panel.set(xlabel=step, ylabel=text)
    axes[0].set_title(title, parse_math=False)
    add_legend(axes[-1], fontsize=8)
    return figure


@apply_style
def draw_score_against_time(comparison: Comparison, metric: str) -> Any:
    """Draw a metric against training time, with standard errors; the best and tied rankers in colour."""
    figure, (axes,) = create_figure(1, 1, size=(7.2, 4.2))
    timed = [(one, one.timing) for one in comparison.rankers if one.timing is not None]
    for result, timing in timed:
        measured = result.by(metric)
        if measured.mean is None:
            continue
        cell = score_cell(comparison, result, metric)
        colour = COLOURS[0] if cell.is_best or cell.is_tied else FAINT
        axes.errorbar(
            timing.fit_seconds,
            measured.mean,
            xerr=_clip_error(timing.fit_error, timing.fit_seconds),
            yerr=measured.error,
            color=colour,
            marker="o",
            markersize=5,
            markerfacecolor="white" if cell.is_tied else colour,
            linewidth=1,
        )
        _draw_published(axes, measured, timing.fit_seconds)
    axes.set(xscale="log", xlabel="training time, seconds", ylabel=metric.upper())
    legend = "Filled: best. Hollow: not significantly worse. Faint diamond: published value."
    axes.set_title(legend, fontsize=9, fontweight="normal")
    axes.margins(x=0.12)
    figure.canvas.draw()  # positions of points are known only now
    _label_points(axes, [(one.ranker, timing.fit_seconds, one.by(metric).mean) for one, timing in timed])
    return figure


def _draw_published(axes: Any, measured: MetricResult, seconds: float) -> None:
    """Draw the published value beside the measured one, if they are comparable."""
    published = measured.published
    if published is None or not published.comparable:
        return
    style = {"color": FAINT, "marker": "D", "markersize": 4, "markerfacecolor": "none", "zorder": 1}
    ends = [measured.mean, published.mean]
    axes.plot([seconds] * 2, ends, linewidth=0.9, linestyle=(0, (2, 3)), markevery=[1], **style)


def _label_points(axes: Any, points: Sequence[tuple[str, float, float | None]]) -> None:
    """Write each name beside its point without overlaps, best first; skip names without space."""
    scale = 72 / axes.figure.dpi  # from pixels to points
    positions = [
        (name, *(scale * axes.transData.transform((x, y))), x, y) for name, x, y in points if y is not None
    ]
    occupied = [(px - 4.0, px + 4.0, py) for _, px, py, *_ in positions]
    for name, px, py, x, y in sorted(positions, key=lambda one: -one[-1]):
        width = 4.9 * len(name)
        offsets = [
            (6.0, 0.0),
            (-6.0 - width, 0.0),
            *((side, up) for up in LABEL_OFFSETS for side in (5.0, -5.0 - width)),
        ]
        for dx, dy in offsets:
            left, right, middle = px + dx, px + dx + width, py + dy
            if not any(
                left < end and start < right and abs(middle - at) < 8.5 for start, end, at in occupied
            ):
                occupied.append((left, right, middle))
                offset = {"xytext": (dx, dy), "textcoords": "offset points", "va": "center"}
                axes.annotate(name, (x, y), fontsize=8, path_effects=halo(), parse_math=False, **offset)
                break


LABEL_OFFSETS = (9.0, -9.0, 18.0, -18.0, 27.0, -27.0)
"""Vertical offsets of a label from its point, in typographic points."""


def _clip_error(error: float | None, seconds: float) -> float | None:
    """Clip an error bar so that a logarithmic axis can show it."""
    return None if error is None else min(error, 0.9 * seconds)
