"""What search engines cannot hold, said once for Solr and Elasticsearch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from directranker.errors import ExportError
from directranker.export.columns import Copies, MissingMarks, Ramps, Rescaled
from directranker.export.description import Net, Trees

__all__ = ["LinearParts", "check_trees", "linear_parts", "plain", "refuse_missing_marks"]

LinearParts = tuple[NDArray[np.float64], dict[int, tuple[float, float]]]


def linear_parts(model: Net, engine: str) -> LinearParts:
    """A weight per feature, and (centre, width) of those that are rescaled first."""
    weights = np.zeros(len(model.feature_names))
    norms: dict[int, tuple[float, float]] = {}
    for group in model.columns:
        if isinstance(group, Rescaled) and not group.logarithm:
            scales = zip(group.centre.tolist(), group.width.tolist(), strict=True)
            norms.update(zip(group.features.tolist(), scales, strict=True))
        elif not isinstance(group, Copies):
            raise refuse_transform(group, engine)
        weights[group.features] = model.head[group.places]
    return weights, norms


def refuse_transform(group: object, engine: str) -> ExportError:
    """The error for a transform that an engine has no normaliser for."""
    kind = "logarithms" if isinstance(group, Rescaled) else type(group).__name__
    return ExportError(
        f"{engine} rescales features by a mean and a width only, and this transform makes {kind}; train with "
        "transform='standard' or 'none', or export to 'onnx' or 'c', which hold every transform"
    )


def refuse_missing_marks(model: Net, engine: str) -> None:
    """Refuse a model that tells missing values from others, which engines do not hand to a model."""
    if any(isinstance(group, MissingMarks) for group in model.columns):
        raise ExportError(
            f"{engine} gives a model 0 for a missing value, and this one was trained to tell them apart; "
            "fill missing values with 0 before training, or export to 'onnx' or 'c'"
        )


def check_trees(model: Trees, engine: str) -> None:
    """Refuse trees whose missing values go elsewhere than 0 goes."""
    for tree in model.trees:
        if (tree.missing_left != (tree.threshold >= 0)).any():
            raise ExportError(
                f"{engine} gives a model 0 for a missing value, and these trees send missing values another "
                "way; fill missing values with 0 before training, or export to 'onnx' or 'c'"
            )
        if (np.abs(tree.threshold) > np.finfo(np.float32).max).any():
            raise ExportError(f"a tree splits beyond the numbers of float32, which {engine} cannot read")


def plain(value: float | np.floating) -> float:
    """The shortest text of a float32, as a Python number.

    >>> plain(np.float32(0.1))
    0.1
    """
    return float(str(np.float32(value)))


def is_rampable(model: Net) -> bool:
    """Whether all columns are ramps, which two layers of relu can make."""
    return all(isinstance(group, Ramps) for group in model.columns)
