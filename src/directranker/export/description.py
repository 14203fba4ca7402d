"""One description of a fitted ranker that all exports read: columns and layers, or trees.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> ranker = RankSVM().fit(example_dataset())
>>> model = describe_ranker(ranker)
>>> type(model).__name__, len(model.layers), len(model.head)
('Net', 0, 20)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from directranker.description.columns import columns_of
from directranker.description.layers import layers_of
from directranker.description.model import Model, Net, Tree, Trees
from directranker.description.summing import summed
from directranker.errors import ExportError
from directranker.rankers import DirectRanker, Ensemble, LambdaMART, Ranker
from directranker.rankers.linear.base import LinearRanker
from directranker.rankers.trees.model_text import parsed_trees

__all__ = ["describe_ranker", "feature_names"]

DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 2, 4, 8  # bits of LightGBM's decision_type


def describe_ranker(ranker: Ranker) -> Model:
    """The description of a fitted ranker, or an `ExportError` that says why there is none."""
    names = feature_names(ranker)
    if isinstance(ranker, LambdaMART):
        return Trees(names, _trees(ranker))
    if isinstance(ranker, DirectRanker):
        columns, n_columns = columns_of(ranker.transform_)
        head = ranker.net_.head.weight.detach().numpy()
        return Net(names, columns, n_columns, layers_of(ranker.net_.feature_net), head)
    if isinstance(ranker, LinearRanker):
        columns, n_columns = columns_of(ranker.transform_)
        return Net(names, columns, n_columns, (), ranker.coef_)
    if isinstance(ranker, Ensemble):
        return _summed(ranker)
    raise ExportError(f"{type(ranker).__name__} is not a ranker of directranker, so it cannot be exported")


def _summed(ensemble: Ensemble) -> Model:
    try:
        return summed([describe_ranker(member) for member in ensemble.rankers_], ensemble.factors_)
    except ExportError as error:
        raise ExportError(f"{error}; {_instead_of(ensemble)}") from None


def _instead_of(ensemble: Ensemble) -> str:
    """What can be exported in place of an ensemble."""
    for number, member in enumerate(ensemble.rankers_):
        try:
            describe_ranker(member)
        except ExportError:
            continue
        return (
            f"of this Ensemble, ranker {number} can be exported: "
            f"load_ranker(…).rankers_[{number}].save('single') makes a model of it; and so can an "
            "Ensemble(…, vary=None), whose rankers differ in their seeds only"
        )
    return "take an Ensemble whose rankers see documents by themselves"


def feature_names(ranker: Ranker) -> tuple[str, ...]:
    """The names of the features that a ranker was fitted with, or feature_1 and so on."""
    known = getattr(ranker, "feature_names_in_", None)
    if known is not None:
        return tuple(map(str, known))
    return tuple(f"feature_{number}" for number in range(1, ranker.n_features_in_ + 1))


def _trees(ranker: LambdaMART) -> tuple[Tree, ...]:
    return tuple(_tree(tree) for tree in parsed_trees(ranker.booster_.model_to_string()).trees)


def _tree(numbers: dict[str, Any]) -> Tree:
    whole = {
        name: np.array(numbers.get(name, []), dtype=np.int64)
        for name in ("split_feature", "left_child", "right_child", "decision_type")
    }
    decision, threshold = whole["decision_type"], np.array(numbers.get("threshold", []), dtype=np.float64)
    if (decision & MISSING_ZERO).any():
        raise ExportError("the trees take 0 for a missing value; train without zero_as_missing")
    # Where no value was missing in training, LightGBM takes a missing one for 0.
    missing_left = np.where(decision & MISSING_NAN, decision & DEFAULT_LEFT != 0, threshold >= 0)
    return Tree(
        feature=whole["split_feature"],
        threshold=threshold,
        left=whole["left_child"],
        right=whole["right_child"],
        missing_left=missing_left,
        value=np.array(numbers["leaf_value"], dtype=np.float64),
    )
