"""What search engines can hold and what not, once for Solr and Elasticsearch.

Their normalisers compute (x − mean) / deviation with numbers of float32. Far from 0 a mean rounded to
float32 may be off by much of a deviation, so what rounding takes is given back elsewhere: to a layer's bias,
or to the mean of a feature that lies nearer to 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from directranker.description.columns import Copies, MissingIndicators, NormalQuantiles, Ramps, Rescaled
from directranker.description.model import Net, Trees
from directranker.errors import ExportError

__all__ = [
    "LinearParts",
    "Norms",
    "check_trees",
    "linear_parts",
    "plain",
    "refuse_missing_marks",
    "refuse_rescaled_twice",
    "rescaled_by",
]

Vector = NDArray[np.float64]
Norms = dict[int, tuple[float, float]]
"""(centre, width) of the features that are rescaled."""
LinearParts = tuple[Vector, Norms]


def linear_parts(model: Net, engine: str) -> LinearParts:
    """A weight per feature, and the centres and widths, which are exact in float32."""
    refuse_rescaled_twice(model, engine)
    weights = np.zeros(len(model.feature_names))
    norms: Norms = {}
    lost = 0.0
    for group in model.columns:
        weights[group.features] = model.head[group.indices]
        if isinstance(group, Rescaled) and not group.logarithm:
            of_group, shares, shifts = rescaled_by(group)
            norms.update(of_group)
            lost += float(weights[group.features] @ shifts)
            weights[group.features] *= shares
        elif not isinstance(group, Copies):
            raise refuse_transform(group, engine)
    return weights, _with_what_was_lost(norms, weights, lost)


def rescaled_by(group: Rescaled) -> tuple[Norms, Vector, Vector]:
    """Centres and widths rounded to float32; what they make, times a share, plus a shift, is what is meant.

    >>> one = np.array([0])
    >>> group = Rescaled(one, one, np.array([2.0**24 + 1]), np.array([4.0]), logarithm=False)
    >>> rescaled_by(group)
    ({0: (16777216.0, 4.0)}, array([1.]), array([-0.25]))
    """
    centre, width = (values.astype(np.float32).astype(np.float64) for values in (group.centre, group.width))
    pairs = zip(centre.tolist(), width.tolist(), strict=True)
    norms = dict(zip(group.features.tolist(), pairs, strict=True))
    return norms, width / group.width, (centre - group.centre) / group.width


def _with_what_was_lost(norms: Norms, weights: Vector, lost: float) -> Norms:
    """The same norms, one mean moved so that all scores grow by what was lost; it is the one that can best.

    >>> _with_what_was_lost({0: (2.0**24, 4.0), 1: (0.0, 1.0)}, np.array([1.0, 2.0]), -0.25)
    {0: (16777216.0, 4.0), 1: (0.125, 1.0)}
    """
    moved = {
        at: float(np.float32(centre - lost * width / weights[at]))
        for at, (centre, width) in norms.items()
        if weights[at]
    }

    def error(at: int) -> float:
        centre, width = norms[at]
        return abs(lost + (moved[at] - centre) * float(weights[at]) / width)

    best = min(moved, key=error, default=None)
    return norms if best is None else {**norms, best: (moved[best], norms[best][1])}


def refuse_transform(group: object, engine: str) -> ExportError:
    """The error for a transform that an engine has no normaliser for."""
    kind = _IN_WORDS[type(group)]
    return ExportError(
        f"{engine} rescales features by a mean and a width only, and this transform makes {kind}; train with "
        "transform='standard' or 'none', or export to 'onnx' or 'c', which hold every transform"
    )


_IN_WORDS: dict[type, str] = {
    Rescaled: "logarithms",
    Ramps: "the filling of bins",
    MissingIndicators: "marks of missing values",
    NormalQuantiles: "quantiles of the normal distribution",
}


def refuse_missing_marks(model: Net, engine: str) -> None:
    """Refuse a model that tells missing values from others, which engines do not hand to a model."""
    if any(isinstance(group, MissingIndicators) for group in model.columns):
        raise ExportError(
            f"{engine} gives a model 0 for a missing value, and this one was trained to tell them apart; "
            "fill missing values with 0 before training, or export to 'onnx' or 'c'"
        )


def refuse_rescaled_twice(model: Net, engine: str) -> None:
    """Refuse a feature with several normalisers, as an ensemble has where members learnt from other parts."""
    rescaled = [group.features for group in model.columns if isinstance(group, Copies | Rescaled)]
    features = np.concatenate([np.empty(0, dtype=np.int64), *rescaled])
    if len(np.unique(features)) < len(features):
        raise ExportError(
            f"{engine} rescales a feature in one way only, and each ranker of this Ensemble has its own; fit "
            "it with an eval_set, so that all learn from the same documents, or export to 'onnx' or 'c'"
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
