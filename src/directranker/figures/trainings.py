"""Learning curves, and how good rankers are for the time that they train."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from directranker.figures.palette import COLOURS, assign_colours
from directranker.figures.style import FAINT, halo, apply_style, create_figure, add_legend

if TYPE_CHECKING:
    from directranker.experiments.results import Comparison, MetricResult

__all__ = ["draw_learning_curves", "draw_score_against_time"]


@apply_style
def draw_learning_curves(trainings: Mapping[str, Sequence[Mapping[str, Any]]], *, title: str = "") -> Any:
    """What is learnt from and the validation part, epoch by epoch; trainings by name, such as their fold.

    >>> figure = draw_learning_curves({"Fold1": [{"epoch": 1, "cost": 0.7, "metric": None}]}, title="RankNet")
    >>> len(figure.axes), figure.axes[0].get_ylabel()
    (1, 'cost on the training part')
    """
    records = [record for training_key in trainings.values() for record in training_key]
    if not records:
        raise ValueError("the trainings have no history; linear solvers keep none")
    # What a ranker climbs need not be a metric: for RankSVM it is minus its objective.
    step, own = ("epoch", "cost") if "epoch" in records[0] else ("round", "fitness")
    panels = [(own, f"{own} on the training part")]
    if any(record.get("metric") is not None for record in records):
        panels.append(("metric", "metric on the validation part"))
    figure, axes = create_figure(1, len(panels))
    colours = assign_colours(trainings)
    for panel, (field, text) in zip(axes, panels, strict=True):
        for name, training_key in trainings.items():
            known = [record for record in training_key if record.get(field) is not None]
            values = [record[field] for record in known]
            panel.plot(
                [record[step] for record in known], values, color=colours[name], label=name, linewidth=1.3
            )
        panel.set(xlabel=step, ylabel=text)
    axes[0].set_title(title, parse_math=False)
    add_legend(axes[-1], fontsize=8)
    return figure


@apply_style
def draw_score_against_time(comparison: Comparison, metric: str) -> Any:
    """A metric against the seconds of a training, with standard errors; the best and its equals in colour."""
    from directranker.experiments.table_values import score_cell  # noqa: PLC0415 - as its types, only here

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
            xerr=_within(timing.fit_error, timing.fit_seconds),
            yerr=measured.error,
            color=colour,
            marker="o",
            markersize=5,
            markerfacecolor="white" if cell.is_tied else colour,
            linewidth=1,
        )
        _draw_published(axes, measured, timing.fit_seconds)
    axes.set(xscale="log", xlabel="training, seconds", ylabel=metric.upper())
    told = "Filled: the best. Hollow: cannot be told from it. Faint diamond: the published value."
    axes.set_title(told, fontsize=9, fontweight="normal")
    axes.margins(x=0.12)
    figure.canvas.draw()  # only now points have their places
    _name_points(axes, [(one.ranker, timing.fit_seconds, one.by(metric).mean) for one, timing in timed])
    return figure


def _draw_published(axes: Any, measured: MetricResult, seconds: float) -> None:
    """How far the published value lies from the one that was measured, where both can be compared."""
    published = measured.published
    if published is None or not published.comparable:
        return
    style = {"color": FAINT, "marker": "D", "markersize": 4, "markerfacecolor": "none", "zorder": 1}
    ends = [measured.mean, published.mean]
    axes.plot([seconds] * 2, ends, linewidth=0.9, linestyle=(0, (2, 3)), markevery=[1], **style)


def _name_points(axes: Any, points: Sequence[tuple[str, float, float | None]]) -> None:
    """Write each name beside its point where neither a point nor another name stands, the best first."""
    scale = 72 / axes.figure.dpi  # from pixels to points
    placed = [
        (name, *(scale * axes.transData.transform((x, y))), x, y) for name, x, y in points if y is not None
    ]
    taken = [(px - 4.0, px + 4.0, py) for _, px, py, *_ in placed]
    for name, px, py, x, y in sorted(placed, key=lambda one: -one[-1]):
        width = 4.9 * len(name)
        sides = [
            (6.0, 0.0),
            (-6.0 - width, 0.0),
            *((side, up) for up in STEPS for side in (5.0, -5.0 - width)),
        ]
        for dx, dy in sides:
            left, right, middle = px + dx, px + dx + width, py + dy
            if not any(left < end and start < right and abs(middle - at) < 8.5 for start, end, at in taken):
                taken.append((left, right, middle))
                offset = {"xytext": (dx, dy), "textcoords": "offset points", "va": "center"}
                axes.annotate(name, (x, y), fontsize=8, path_effects=halo(), parse_math=False, **offset)
                break


STEPS = (9.0, -9.0, 18.0, -18.0, 27.0, -27.0)
"""Up and down from a point, in points of type."""


def _within(error: float | None, seconds: float) -> float | None:
    """An error bar that a logarithmic axis can show."""
    return None if error is None else min(error, 0.9 * seconds)
