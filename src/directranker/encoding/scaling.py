"""Features to mean 0 and deviation 1, as they are or by their logarithm.

>>> Standard().fit_transform([[1.0], [3.0]]).ravel()
array([-1.,  1.], dtype=float32)
>>> SignedLog().fit_transform([[-99.0], [0.0], [99.0]]).ravel().round(3)
array([-1.225,  0.   ,  1.225], dtype=float32)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.encoding.base import RowTransform
from directranker.encoding.blocks import Block, Table
from directranker.encoding.moments import moments_of_columns, rescale
from directranker.fitted_checks import check_fitted_array

__all__ = ["SignedLog", "Standard", "Unchanged", "signed_log"]


class Unchanged(RowTransform):
    """Features as they are, as float32.

    NaN stays NaN: whoever takes the features must know what to do with it, as trees do.

    >>> Unchanged().fit_transform([[1, 2]])
    array([[1., 2.]], dtype=float32)
    """

    def _encode(self, block: Block) -> NDArray[Any]:
        return block


class Standard(RowTransform):
    """(x − mean) / standard deviation of each feature over all training rows.

    NaN becomes 0, the mean, and does not count in `fit`. A feature that is constant or missing in the
    training part becomes 0.

    Fitted: `mean_` and `deviation_`, one number per feature.

    >>> Standard().fit([[1.0], [3.0]]).transform([[5.0], [float("nan")]]).ravel()
    array([3., 0.], dtype=float32)
    """

    def _fit(self, table: Table) -> None:
        moments = moments_of_columns(table, self._prepared)
        self.mean_ = moments.mean
        self.deviation_ = moments.deviation

    def _encode(self, block: Block) -> NDArray[Any]:
        return rescale(self._prepared(block), self.mean_, self.deviation_)

    def _prepared(self, block: Block) -> Block:
        return block

    def _check_fitted(self, n_features: int) -> None:
        check_fitted_array(self, "mean_", np.float64, (n_features,))
        check_fitted_array(self, "deviation_", np.float64, (n_features,))


class SignedLog(Standard):
    """sign(x)·log(1 + |x|), then standardised: for counts, lengths and other heavy tails.

    NaN becomes 0, the mean of the logarithms, and does not count in `fit`. A feature that is constant or
    missing in the training part becomes 0.

    Fitted: `mean_` and `deviation_` of the logarithms, one number per feature.

    >>> SignedLog().fit([[0.0], [np.e**2 - 1]]).transform([[0.0], [np.e**4 - 1]]).ravel()
    array([-1.,  3.], dtype=float32)
    """

    def _prepared(self, block: Block) -> Block:
        return signed_log(block)


def signed_log(values: Block) -> Block:
    """sign(x)·log(1 + |x|); odd, and NaN for NaN.

    >>> signed_log(np.array([-np.e + 1, 0.0])).tolist()
    [-1.0, 0.0]
    """
    logarithms: Block = np.copysign(np.log1p(np.abs(values)), values)
    return logarithms
