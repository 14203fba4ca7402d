"""Figures of results as SVG or PNG, in one style; matplotlib is imported when a figure is drawn.

>>> import tempfile
>>> from pathlib import Path
>>> curve = [{"epoch": 1, "cost": 0.7, "metric": 0.5}, {"epoch": 2, "cost": 0.4, "metric": 0.6}]
>>> with tempfile.TemporaryDirectory() as folder:
...     save_figure(draw_learning_curves({"Fold1": curve}), Path(folder) / "curve.svg").name
'curve.svg'
"""

from directranker.figures.neighbours import draw_neighbours
from directranker.figures.studies import draw_studies
from directranker.figures.style import save_figure
from directranker.figures.trainings import draw_learning_curves, draw_score_against_time

__all__ = [
    "draw_learning_curves",
    "draw_neighbours",
    "draw_score_against_time",
    "draw_studies",
    "save_figure",
]
