"""Models in the form that both Solr and Elasticsearch support, and errors for all other models.

The engines' normalisers compute (x − mean) / deviation in float32. Far from 0, rounding a mean to float32 may
shift it by a large part of a deviation. The shift is compensated elsewhere: in a layer's bias, or in the mean
of a feature nearer to 0.
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import FloatArray
from directranker.description.columns import Copies, MissingIndicators, NormalQuantiles, Ramps, Rescaled
from directranker.description.model import Net, Trees
from directranker.errors import ExportError

__all__ = [
    "Norms",
    "check_missing_marks",
    "check_rescaled_once",
    "check_trees",
    "has_only_ramps",
    "round_float32",
    "round_norms",
    "to_linear",
    "transform_error",
]

Norms = dict[int, tuple[float, float]]
"""(centre, width) of each rescaled feature."""


def to_linear(model: Net, engine: str) -> tuple[FloatArray, Norms]:
    """Return a weight per feature, and the centres and widths, rounded to float32."""
    check_rescaled_once(model, engine)
    weights = np.zeros(len(model.feature_names))
    norms: Norms = {}
    shift = 0.0
    for group in model.columns:
        weights[group.features] = model.head[group.indices]
        if isinstance(group, Rescaled) and not group.logarithm:
            of_group, factors, shifts = round_norms(group)
            norms.update(of_group)
            shift += float(weights[group.features] @ shifts)
            weights[group.features] *= factors
        elif not isinstance(group, Copies):
            raise transform_error(group, engine)
    return weights, _compensate_shift(norms, weights, shift)


def round_norms(group: Rescaled) -> tuple[Norms, FloatArray, FloatArray]:
    """Round centres and widths to float32; return them with a factor and a shift that undo the rounding.

    The exact value is the rounded one times the factor, plus the shift.

    >>> one = np.array([0])
    >>> group = Rescaled(one, one, np.array([2.0**24 + 1]), np.array([4.0]), logarithm=False)
    >>> round_norms(group)
    ({0: (16777216.0, 4.0)}, array([1.]), array([-0.25]))
    """
    centre, width = (values.astype(np.float32).astype(np.float64) for values in (group.centre, group.width))
    pairs = zip(centre.tolist(), width.tolist(), strict=True)
    norms = dict(zip(group.features.tolist(), pairs, strict=True))
    return norms, width / group.width, (centre - group.centre) / group.width


def _compensate_shift(norms: Norms, weights: FloatArray, shift: float) -> Norms:
    """Move one mean so that all scores grow by the shift; choose the mean with the smallest rounding error.

    >>> _compensate_shift({0: (2.0**24, 4.0), 1: (0.0, 1.0)}, np.array([1.0, 2.0]), -0.25)
    {0: (16777216.0, 4.0), 1: (0.125, 1.0)}
    """
    moved = {
        at: float(np.float32(centre - shift * width / weights[at]))
        for at, (centre, width) in norms.items()
        if weights[at]
    }

    def error(at: int) -> float:
        centre, width = norms[at]
        return abs(shift + (moved[at] - centre) * float(weights[at]) / width)

    best = min(moved, key=error, default=None)
    return norms if best is None else {**norms, best: (moved[best], norms[best][1])}


def transform_error(group: object, engine: str) -> ExportError:
    """Return the error for a transform that an engine has no normaliser for."""
    kind = _DESCRIPTIONS[type(group)]
    return ExportError(
        f"{engine} rescales features only by a mean and a width, but this transform computes {kind}; train "
        "with transform='standard' or 'none', or export to 'onnx' or 'c', which support every transform"
    )


_DESCRIPTIONS: dict[type, str] = {
    Rescaled: "logarithms",
    Ramps: "piecewise-linear bins",
    MissingIndicators: "indicators of missing values",
    NormalQuantiles: "quantiles of the normal distribution",
}


def check_missing_marks(model: Net, engine: str) -> None:
    """Raise for a model with indicators of missing values, which engines replace by 0."""
    if any(isinstance(group, MissingIndicators) for group in model.columns):
        raise ExportError(
            f"{engine} replaces missing values by 0, but this model was trained with missing values; "
            "fill missing values with 0 before training, or export to 'onnx' or 'c'"
        )


def check_rescaled_once(model: Net, engine: str) -> None:
    """Raise if a feature has several normalisers, as in an ensemble trained on different subsets."""
    rescaled = [group.features for group in model.columns if isinstance(group, Copies | Rescaled)]
    features = np.concatenate([np.empty(0, dtype=np.int64), *rescaled])
    if len(np.unique(features)) < len(features):
        raise ExportError(
            f"{engine} supports one normaliser per feature, but each ranker of this Ensemble has its own; "
            "fit it with an eval_set, so that all train on the same documents, or export to 'onnx' or 'c'"
        )


def check_trees(model: Trees, engine: str) -> None:
    """Raise for trees that send missing values another way than 0."""
    for tree in model.trees:
        if (tree.missing_left != (tree.threshold >= 0)).any():
            raise ExportError(
                f"{engine} replaces missing values by 0, but these trees send missing values another "
                "way than 0; fill missing values with 0 before training, or export to 'onnx' or 'c'"
            )
        if (np.abs(tree.threshold) > np.finfo(np.float32).max).any():
            raise ExportError(
                f"a tree threshold exceeds float32, which {engine} computes in; rescale the feature"
            )


def round_float32(value: float | np.floating) -> float:
    """Round to float32, and return the Python number with the shortest decimal form.

    >>> round_float32(np.float32(0.1))
    0.1
    """
    return float(str(np.float32(value)))


def has_only_ramps(model: Net) -> bool:
    """Whether all columns are ramps, which two ReLU layers can compute."""
    return all(isinstance(group, Ramps) for group in model.columns)
