"""The features of training documents as the net gets them, encoded by a fitted transform.

Only the rows of the current step are copied. A small encoded table is cached; a large one is encoded step by
step, so that memory stays at the size of the data.

>>> from directranker.encoding import Standard
>>> table = np.array([[0.0], [2.0]], np.float32)
>>> data = TrainingData(table, None, np.array([0.0, 1.0]), np.array([0, 2]))
>>> EncodedFeatures(data, Standard().fit(table), torch.device("cpu")).select(np.array([1, 0])).tolist()
[[1.0], [-1.0]]
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from sklearn.base import BaseEstimator

from directranker.arrays import Features, IntArray
from directranker.encoding import Unchanged
from directranker.encoding.filled_bins import FilledBins, fill_bins, mark_first_bins
from directranker.nn.training_pass import Inputs
from directranker.nn.workspace import Workspace
from directranker.training.data import TrainingData

__all__ = ["EncodedFeatures"]

MAX_CACHED_BYTES = 128 << 20


class EncodedFeatures:
    """Training data as the net gets it: rows, documents of a shape, or `FilledBins`."""

    def __init__(
        self,
        data: TrainingData,
        transform: BaseEstimator,
        device: torch.device,
        *,
        shape: tuple[int, ...] | None = None,
        cache: bool = True,
        as_bins: bool = False,
    ) -> None:
        """Encode `data` by `transform`.

        The net gets rows, or documents of this shape, or with `as_bins` the `FilledBins` of a
        piecewise-linear encoding. Data that is read only once needs no cache.
        """
        self.data = data
        self._query = data.query_of_row
        self._rows = data.rows
        self._transform = transform
        self._device = device
        self._shape = shape
        self._starts = mark_first_bins(transform) if as_bins else None
        self._row_bytes = 4 * self._encode(np.arange(min(1, data.n_documents))).shape[1]
        self._cache = self._build_cache() if cache else None

    @property
    def are_bins(self) -> bool:
        """Whether the net gets `FilledBins`."""
        return self._starts is not None

    @property
    def bytes_per_row(self) -> int:
        """The size of a document with all its encoded columns."""
        return self._row_bytes if self._starts is None else 4 * len(self._starts)

    def select(self, documents: IntArray, *, workspace: Workspace | None = None) -> Inputs:
        """Return the encoded features of these documents.

        With a workspace they are valid until the next call with it.
        """
        encoded = self._encode(documents) if self._cache is None else self._gather(documents, workspace)
        if self._starts is not None:
            return FilledBins(encoded.numpy(), self._starts)
        return encoded if self._shape is None else encoded.reshape(len(documents), *self._shape)

    def _build_cache(self) -> torch.Tensor | None:
        """Encode the whole table, where that takes little memory or none."""
        if isinstance(self._transform, Unchanged) and self._device.type == "cpu":
            return _share_memory(self.data.table)
        if self.data.n_documents * self._row_bytes > MAX_CACHED_BYTES:
            return None
        encoded = self._encode(np.arange(self.data.n_documents))
        self._rows = None  # the cache is in the order of the documents
        return encoded

    def _encode(self, documents: IntArray) -> torch.Tensor:
        rows = self.data.table[documents if self._rows is None else self._rows[documents]]
        if self._starts is not None:
            return torch.from_numpy(fill_bins(self._transform, rows).packed)
        encoded = self._transform.transform(rows, qid=self._query[documents])
        return torch.from_numpy(np.ascontiguousarray(encoded, dtype=np.float32)).to(self._device)

    def _gather(self, documents: IntArray, workspace: Workspace | None) -> torch.Tensor:
        if self._cache is None:
            raise ValueError("there is no cache to gather from")
        rows = torch.from_numpy(documents if self._rows is None else self._rows[documents])
        out = None
        if workspace is not None:
            out = workspace.rows(len(rows), self._cache.shape[1:], self._device).view(self._cache.dtype)
        return torch.index_select(self._cache, 0, rows.to(self._device), out=out)


def _share_memory(array: Features) -> torch.Tensor:
    """Return a tensor on the same memory, without torch's warning that it is read-only: it is only read."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writ")
        return torch.from_numpy(array)
