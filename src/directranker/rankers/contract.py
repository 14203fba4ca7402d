"""What each ranker says of itself, for saving, exporting, explaining and searching.

Every method has a default that suits a ranker whose fitted attributes are arrays and plain values. A ranker
overrides what is different for it; nothing outside of `rankers` asks which class a ranker is of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from directranker.arrays import Features, FloatArray, IntArray
from directranker.errors import ExportError
from directranker.fitted_checks import ArraySpec, check_fitted_array, check_fitted_inputs
from directranker.metrics import Metric

if TYPE_CHECKING:
    from directranker.description.model import Model

__all__ = ["ModelText", "RankerContract", "json_value"]


class ModelText(str):
    """Text of a model that is saved as a file of its own, such as LightGBM's trees."""

    __slots__ = ()


class RankerContract:
    """The part of a ranker's contract that has defaults; `Ranker` inherits it."""

    n_features_in_: int

    _fitted_arrays: ClassVar[Mapping[str, ArraySpec]] = {}
    """dtype and shape of fitted arrays by name, checked when a saved ranker is loaded; in a shape
    `"n_features"` is the number of features."""

    _unsaved_parameters: ClassVar[frozenset[str]] = frozenset(
        {"callbacks", "checkpoint", "progress", "random_state"}
    )
    """Parameters that a loaded ranker does without, as it is not trained."""

    _warm_up_parameters: ClassVar[Mapping[str, Any]] = {}
    """Parameters of a fit that is just long enough to call every kernel."""

    def _fitted_state(self) -> dict[str, Any]:
        """What is saved, by attribute.

        Arrays, plain values that JSON holds, mappings of names to arrays, encodings, rankers and lists of
        them, lists of training records, and `ModelText` for long text.
        """
        return {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and not name.startswith("_")
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `_fitted_state` gave and a file held; raise a ValueError if it does not fit.

        A file may hold anything, so check whatever a compiled kernel would trust.
        """
        for name, value in state.items():
            setattr(self, name, value)
        check_fitted_inputs(self)
        for name, (dtype, shape) in self._fitted_arrays.items():
            sizes = tuple(self.n_features_in_ if size == "n_features" else int(size) for size in shape)
            check_fitted_array(self, name, dtype, sizes)

    def _saved_parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults, as JSON holds them."""
        defaults = type(self)().get_params(deep=False)  # type: ignore[attr-defined]
        saved = {}
        for name, value in self.get_params(deep=False).items():  # type: ignore[attr-defined]
            if name not in self._unsaved_parameters and not _is_default(value, defaults[name]):
                saved[name] = self._saved_parameter(name, value)
        return saved

    def _saved_parameter(self, name: str, value: Any) -> Any:
        try:
            return json.loads(json.dumps(value, default=json_value))
        except TypeError:
            raise TypeError(
                f"{name} is {value!r}, which cannot be saved as text; pickle models with functions "
                "of your own"
            ) from None

    @classmethod
    def _from_saved_parameters(cls, saved: Mapping[str, Any], trust: Sequence[type]) -> Self:  # noqa: ARG003
        """An unfitted ranker with these parameters; `trust` has the user's classes that may be made."""
        return cls(**{name: tuple(one) if isinstance(one, list) else one for name, one in saved.items()})

    def _describe(self) -> Model:
        """The neutral description that exports read; an `ExportError` says why there is none."""
        raise ExportError(
            f"{type(self).__name__} has no description as columns and layers, or as trees, so no other "
            "program can score as it does; define its method _describe"
        )

    def _contributions(self, table: Features, pairs: IntArray, *, n_steps: int) -> tuple[FloatArray, str]:  # noqa: ARG002
        """What each feature adds to score(better) − score(worse), and the name of the method.

        `table` has the documents of one query, `pairs` (n_pairs, 2) the rows of the better and of the worse
        one; the result is (n_pairs, n_features). A TypeError says why there is no explanation.
        """
        raise TypeError(f"{type(self).__name__} cannot explain its scores; define its method _contributions")

    def _parameters_for_metric(self, metric: Metric) -> dict[str, Any]:
        """The parameters with which the ranker is trained for this metric; none where it cannot be."""
        return {"metric": metric.full_name} if "metric" in self.get_params(deep=False) else {}  # type: ignore[attr-defined]

    def _parameters_for_threads(self, n_threads: int) -> dict[str, Any]:  # noqa: ARG002
        """The parameters that keep an `n_jobs` of None to so many threads."""
        return {}

    def _feature_names(self) -> tuple[str, ...]:
        """The names of the features that it was fitted with, or feature_1 and so on."""
        known = getattr(self, "feature_names_in_", None)
        if known is not None:
            return tuple(map(str, known))
        return tuple(f"feature_{number}" for number in range(1, self.n_features_in_ + 1))


def json_value(value: Any) -> Any:
    """A number or an array of NumPy as JSON takes it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"JSON cannot hold a {type(value).__name__}")


def _is_default(value: Any, default: Any) -> bool:
    # An array is compared value by value, and no default is one.
    return value is default or bool(not isinstance(value, np.ndarray) and value == default)
