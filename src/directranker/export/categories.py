"""Programs that score numbers only cannot score a model with categorical features.

>>> from directranker.description.model import Trees
>>> refuse_categories(Trees(("price", "brand"), (), {1: ("Acme", "Zeta")}), "Solr", "use C")
Traceback (most recent call last):
directranker.errors.ExportError: feature 'brand' is categorical, and Solr scores numbers only; use C
"""

from __future__ import annotations

from directranker.description.model import Model
from directranker.errors import ExportError

__all__ = ["NUMBERS_INSTEAD", "refuse_categories"]

NUMBERS_INSTEAD = (
    "train on numbers in its place, such as a 0/1 feature per frequent value, or score with directranker"
)


def refuse_categories(model: Model, program: str, advice: str) -> None:
    """Raise an ExportError for a model with categorical features."""
    for feature in model.categories:
        name = model.feature_names[feature]
        raise ExportError(f"feature {name!r} is categorical, and {program} scores numbers only; {advice}")
