"""The interface of a ranker for saving, exporting, explaining and searching.

Every method has a default that suits a ranker whose fitted attributes are arrays and plain values. A ranker
overrides what differs; no module outside `rankers` checks the class of a ranker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from directranker.arrays import Features, FloatArray, IntArray
from directranker.errors import ExportError
from directranker.fitted_checks import ArraySpec, check_fitted_array, check_fitted_inputs
from directranker.metrics import Metric

if TYPE_CHECKING:
    from directranker.description.model import Model

__all__ = ["ModelText", "RankerContract", "json_value"]


class ModelText(str):
    """The text of a model that is saved as a separate file, such as LightGBM's trees."""

    __slots__ = ()


class RankerContract:
    """The methods with defaults that `Ranker` inherits."""

    n_features_in_: int

    _fitted_arrays: ClassVar[Mapping[str, ArraySpec]] = {}
    """dtype and shape of fitted arrays by name, checked when a saved ranker is loaded; `"n_features"` in a
    shape is the number of features."""

    _unsaved_parameters: ClassVar[frozenset[str]] = frozenset(
        {"callbacks", "checkpoint", "progress", "random_state"}
    )
    """Training parameters, which are not saved."""

    _warm_up_parameters: ClassVar[Mapping[str, object]] = {}
    """Parameters of a short fit that calls every kernel."""

    def _fitted_state(self) -> dict[str, object]:
        """Return the attributes to save, by name.

        Values are arrays, JSON values, mappings of names to arrays, encodings, rankers and lists of them,
        lists of training records, and `ModelText` for long text.
        """
        return {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and not name.startswith("_")
        }

    def _restore(self, state: Mapping[str, object]) -> None:
        """Set the attributes that `_fitted_state` returned and a file stored; raise ValueError if invalid.

        A file can contain anything, so check every value that a compiled kernel would trust.
        """
        for name, value in state.items():
            setattr(self, name, value)
        check_fitted_inputs(self)
        for name, (dtype, shape) in self._fitted_arrays.items():
            sizes = tuple(self.n_features_in_ if size == "n_features" else int(size) for size in shape)
            check_fitted_array(self, name, dtype, sizes)

    def _saved_parameters(self) -> dict[str, object]:
        """Return the parameters that differ from their defaults, as JSON values."""
        defaults = type(self)().get_params(deep=False)  # type: ignore[attr-defined]
        saved = {}
        for name, value in self.get_params(deep=False).items():  # type: ignore[attr-defined]
            if name not in self._unsaved_parameters and not _is_default(value, defaults[name]):
                saved[name] = self._saved_parameter(name, value)
        return saved

    def _saved_parameter(self, name: str, value: object) -> object:
        """Return a parameter as a JSON value."""
        try:
            return json.loads(json.dumps(value, default=json_value))
        except TypeError:
            raise TypeError(
                f"{name} is {value!r}, which cannot be saved as text; pickle models with functions "
                "of your own"
            ) from None

    @classmethod
    def _from_saved_parameters(cls, saved: Mapping[str, object], trust: Sequence[type]) -> Self:  # noqa: ARG003
        """Return an unfitted ranker with these parameters; `trust` lists the user's classes to allow."""
        return cls(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()}
        )

    def _describe(self) -> Model:
        """Return the model description that exports read; raise `ExportError` where there is none."""
        raise ExportError(
            f"{type(self).__name__} has no description as columns and layers, or as trees, so no other "
            "program can score as it does; define its method _describe"
        )

    def _contributions(self, table: Features, pairs: IntArray, *, n_steps: int) -> tuple[FloatArray, str]:  # noqa: ARG002
        """Return the contribution of each feature to score(better) − score(worse), and the method's name.

        `table` has the documents of one query; `pairs` (n_pairs, 2) has the rows of the better and the worse
        document. The result is (n_pairs, n_features). Raise TypeError where there is no explanation.
        """
        raise TypeError(f"{type(self).__name__} cannot explain its scores; define its method _contributions")

    def _parameters_for_metric(self, metric: Metric) -> dict[str, object]:
        """Return the parameters that train the ranker for this metric; empty where it cannot be."""
        return {"metric": metric.full_name} if "metric" in self.get_params(deep=False) else {}  # type: ignore[attr-defined]

    def _parameters_for_threads(self, n_threads: int) -> dict[str, object]:  # noqa: ARG002
        """Return the parameters that limit an `n_jobs` of None to this number of threads."""
        return {}

    def _feature_names(self) -> tuple[str, ...]:
        """Return the feature names of the fit, or feature_1, feature_2, …"""
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return tuple(map(str, names))
        return tuple(f"feature_{number}" for number in range(1, self.n_features_in_ + 1))


def json_value(value: object) -> object:
    """Convert a NumPy number or array to a JSON value."""
    if isinstance(value, np.generic | np.ndarray):
        converted: object = value.tolist()
        return converted
    raise TypeError(f"JSON cannot hold a {type(value).__name__}")


def _is_default(value: object, default: object) -> bool:
    # == of an array is not a bool, and no default is an array.
    return value is default or bool(not isinstance(value, np.ndarray) and value == default)
