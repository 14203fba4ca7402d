"""The one style of all figures, and how they reach a file: the same figure gives the same bytes.

>>> figure, (left, right) = create_figure(1, 2)
>>> len(figure.axes)
2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from directranker.data.files import write_atomically

__all__ = ["ENDINGS", "FAINT", "halo", "apply_style", "create_figure", "add_legend", "save_figure"]

P = ParamSpec("P")
Drawn = TypeVar("Drawn")

ENDINGS = (".svg", ".png")
FAINT = "#8A8F94"
STYLE: Mapping[str, Any] = MappingProxyType(
    {
        "axes.edgecolor": FAINT,
        "axes.grid": True,
        "axes.labelcolor": "#3A3F44",
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "figure.dpi": 100,
        "font.family": ["DejaVu Sans"],  # comes with matplotlib, so figures are the same everywhere
        "font.size": 9,
        "grid.color": "#E6E8E6",
        "legend.frameon": False,
        "savefig.dpi": 200,
        "svg.hashsalt": "directranker",  # ids within an SVG are random without it
        "xtick.color": "#3A3F44",
        "ytick.color": "#3A3F44",
    }
)


def apply_style(draw: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """Let a function draw in the style, and leave matplotlib's settings as they were."""

    @wraps(draw)
    def drawn(*arguments: P.args, **options: P.kwargs) -> Drawn:
        from matplotlib import rc_context  # noqa: PLC0415 - takes a while, and most commands draw nothing

        with rc_context(dict(STYLE)):
            return draw(*arguments, **options)

    return drawn


def create_figure(
    n_rows: int, n_columns: int, *, size: tuple[float, float] = (4.6, 3.1)
) -> tuple[Any, list[Any]]:
    """A figure and its axes from the upper left on, `size` inches each; nothing of it is global."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for one in axes:
        one.set_axisbelow(True)
    return figure, axes


def add_legend(axes: Any, **options: Any) -> None:
    """A legend whose names are text: a `$` in the name of a folder is no formula."""
    for text in axes.legend(**options).get_texts():
        text.set_parse_math(False)


def halo() -> list[Any]:
    """For `path_effects` of words that stand on lines."""
    from matplotlib.patheffects import withStroke  # noqa: PLC0415

    return [withStroke(linewidth=2, foreground="white")]


@apply_style
def save_figure(figure: Any, path: str | Path) -> Path:
    """Write a figure as SVG or PNG, by the ending of the name."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{path} has another ending than {' or '.join(ENDINGS)}; a figure is one of these")
    kind = path.suffix.lower()[1:]
    with write_atomically(path) as temporary:
        # No date and no version: they would make equal figures differ.
        figure.savefig(
            temporary, format=kind, metadata={"svg": {"Date": None}, "png": {"Software": None}}[kind]
        )
    return path
