"""The style of all figures, and writing them to files; the same figure gives the same bytes.

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

__all__ = ["FAINT", "SUFFIXES", "add_legend", "apply_style", "create_figure", "halo", "save_figure"]

P = ParamSpec("P")
Result = TypeVar("Result")

SUFFIXES = (".svg", ".png")
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
        "font.family": ["DejaVu Sans"],  # ships with matplotlib, so figures are the same everywhere
        "font.size": 9,
        "grid.color": "#E6E8E6",
        "legend.frameon": False,
        "savefig.dpi": 200,
        "svg.hashsalt": "directranker",  # else ids within an SVG are random
        "xtick.color": "#3A3F44",
        "ytick.color": "#3A3F44",
    }
)


def apply_style(draw: Callable[P, Result]) -> Callable[P, Result]:
    """Decorate a drawing function to use the style, without changing matplotlib's global settings."""

    @wraps(draw)
    def draw_in_style(*arguments: P.args, **options: P.kwargs) -> Result:
        from matplotlib import rc_context  # noqa: PLC0415 - slow to import

        with rc_context(dict(STYLE)):
            return draw(*arguments, **options)

    return draw_in_style


def create_figure(
    n_rows: int, n_columns: int, *, size: tuple[float, float] = (4.6, 3.1)
) -> tuple[Any, list[Any]]:
    """Create a figure and its axes in row order, `size` inches each, without global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for one in axes:
        one.set_axisbelow(True)
    return figure, axes


def add_legend(axes: Any, **options: Any) -> None:
    """Add a legend with plain text: a `$` in a folder's name is not a formula."""
    for text in axes.legend(**options).get_texts():
        text.set_parse_math(False)


def halo() -> list[Any]:
    """Return `path_effects` that keep text on lines legible."""
    from matplotlib.patheffects import withStroke  # noqa: PLC0415 - slow to import

    return [withStroke(linewidth=2, foreground="white")]


@apply_style
def save_figure(figure: Any, path: str | Path) -> Path:
    """Write a figure as SVG or PNG, by the suffix of the path."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path} has an unsupported suffix; use {' or '.join(SUFFIXES)}")
    kind = path.suffix.lower()[1:]
    with write_atomically(path) as temporary:
        # Without date and version, equal figures have equal bytes.
        figure.savefig(
            temporary, format=kind, metadata={"svg": {"Date": None}, "png": {"Software": None}}[kind]
        )
    return path
