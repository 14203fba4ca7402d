"""Standardise features, either as they are or after a signed logarithm.

>>> Standard().fit_transform([[1.0], [3.0]]).ravel()
array([-1.,  1.], dtype=float32)
>>> SignedLog().fit_transform([[-99.0], [0.0], [99.0]]).ravel().round(3)
array([-1.225,  0.   ,  1.225], dtype=float32)
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import Float32Array, FloatArray
from directranker.data.column_kinds import ColumnKinds
from directranker.encoding.base import RowTransform
from directranker.encoding.blocks import Table
from directranker.encoding.moments import compute_moments, rescale, share_moments
from directranker.fitted_checks import check_fitted_array

__all__ = ["SignedLog", "Standard", "Unchanged", "signed_log"]


class Unchanged(RowTransform):
    """Return the features unchanged, as float32.

    NaN stays NaN, so the model must accept missing values, as trees do.

    >>> Unchanged().fit_transform([[1, 2]])
    array([[1., 2.]], dtype=float32)
    """

    def _encode(self, block: FloatArray) -> FloatArray:
        return block


class Standard(RowTransform):
    """Subtract the mean of each feature and divide by its standard deviation over all training rows.

    NaN becomes 0, the mean, and is ignored in `fit`. A feature that is constant or all missing in the
    training split becomes 0. The dimensions of a vector have one mean and one deviation, those of all its
    values, so that their proportions stay.

    Fitted attributes: `mean_` and `deviation_`, one value per feature.

    >>> Standard().fit([[1.0], [3.0]]).transform([[5.0], [float("nan")]]).ravel()
    array([3., 0.], dtype=float32)
    """

    def _fit(self, table: Table, kinds: ColumnKinds) -> None:
        moments = share_moments(compute_moments(table, self._prepare), kinds.vector)
        self.mean_ = moments.mean
        self.deviation_ = moments.deviation

    def _encode(self, block: FloatArray) -> Float32Array:
        return rescale(self._prepare(block), self.mean_, self.deviation_)

    def _prepare(self, block: FloatArray) -> FloatArray:
        return block

    def _check_fitted(self, n_features: int) -> None:
        check_fitted_array(self, "mean_", np.float64, (n_features,))
        check_fitted_array(self, "deviation_", np.float64, (n_features,))


class SignedLog(Standard):
    """Standardise sign(x)·log(1 + |x|): for counts, lengths and other heavy-tailed features.

    NaN becomes 0, the mean of the logarithms, and is ignored in `fit`. A feature that is constant or all
    missing in the training split becomes 0. The dimensions of a vector share one mean and one deviation.

    Fitted attributes: `mean_` and `deviation_` of the logarithms, one value per feature.

    >>> SignedLog().fit([[0.0], [np.e**2 - 1]]).transform([[0.0], [np.e**4 - 1]]).ravel()
    array([-1.,  3.], dtype=float32)
    """

    def _prepare(self, block: FloatArray) -> FloatArray:
        return signed_log(block)


def signed_log(values: FloatArray) -> FloatArray:
    """Compute sign(x)·log(1 + |x|), an odd function; NaN for NaN.

    >>> signed_log(np.array([-np.e + 1, 0.0])).tolist()
    [-1.0, 0.0]
    """
    logarithms: FloatArray = np.copysign(np.log1p(np.abs(values)), values)
    return logarithms
