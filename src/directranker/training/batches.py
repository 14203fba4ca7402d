"""Which documents a training step sees: whole queries, each document once, the most relevant first.

Nothing is copied but the rows of the step at hand. Features are encoded by the transform once where the
encoded table is small, else step by step, so that memory stays at the data's own size.

>>> lists = QueryGroups(relevance=np.array([0.0, 1.0, 2.0]), offsets=np.array([0, 2, 3]))
>>> [batch.rows.tolist() for batch in Batches(lists, batch_queries=1, seed=0).epoch(0)]
[[1, 0], [2]]
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from directranker.compilation import IntArray
from directranker.data.checking import Features, Relevance
from directranker.encoding import Unchanged
from directranker.encoding.filled_bins import FilledBins, fill_bins, mark_first_bins
from directranker.nn.training_pass import Inputs
from directranker.nn.workspace import Workspace
from directranker.pairs import QueryClasses, classes_of

__all__ = ["Batch", "Batches", "EncodedFeatures", "QueryGroups", "growing"]

CACHED_BYTES = 128 << 20  # an encoded table up to this size is kept


@dataclass(frozen=True)
class QueryGroups:
    """The labels of documents, grouped by query, and what each document or query weighs."""

    relevance: Relevance
    offsets: IntArray
    document_weight: NDArray[np.float64] | None = None
    query_weight: NDArray[np.float64] | None = None

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.offsets) - 1

    @cached_property
    def classes(self) -> QueryClasses:
        """Each query's documents by falling label, as the pair kernels like them."""
        return classes_of(self.relevance, self.offsets)

    @cached_property
    def _falling(self) -> NDArray[np.integer[Any]]:
        """A number per document that rises as labels fall; small ones, which sort several times as fast."""
        values, number = np.unique(self.relevance, return_inverse=True)
        falling = len(values) - 1 - number
        return falling.astype(np.uint16) if len(values) <= 2**16 else falling

    def take(self, queries: IntArray) -> Batch:
        """The documents of these queries, one query after another."""
        classes, rows = self.classes.take(queries)
        query_weight = None if self.query_weight is None else self.query_weight[queries]
        return self._batch(rows, classes, query_weight)

    def deal(self, rows: IntArray) -> Batch:
        """These documents as one list, whichever query they come from."""
        best_first = rows[np.argsort(self._falling[rows], kind="stable")]
        return self._batch(best_first, classes_of(self.relevance[best_first]), None)

    def _batch(
        self, rows: IntArray, classes: QueryClasses, query_weight: NDArray[np.float64] | None
    ) -> Batch:
        document_weight = None if self.document_weight is None else self.document_weight[rows]
        return Batch(rows, classes, document_weight, query_weight)


@dataclass(frozen=True)
class Batch:
    """The documents of one step, each query's by falling label."""

    rows: IntArray
    classes: QueryClasses
    document_weight: NDArray[np.float64] | None
    query_weight: NDArray[np.float64] | None

    @property
    def relevance(self) -> Relevance:
        """The labels of the rows."""
        return self.classes.relevance

    @property
    def offsets(self) -> IntArray:
        """Where the queries begin."""
        return self.classes.layout.offsets


def growing(bounds: float | tuple[float, float], progress: float) -> float:
    """A number, or one that grows exponentially from the first to the second bound.

    >>> growing((10, 1000), 0.5)
    100.0
    >>> growing(7, 0.5)
    7
    """
    if not isinstance(bounds, tuple):
        return bounds
    first, last = bounds
    return float(first * (last / first) ** min(progress, 1.0))


@dataclass(frozen=True)
class Batches:
    """Epoch after epoch, all queries in a new order; the same seed gives the same batches."""

    lists: QueryGroups
    batch_queries: int | tuple[int, int]
    seed: int
    list_size: int = 1000
    """Without queries, documents are dealt anew to lists of about this size each epoch."""

    def epoch(self, number: int, progress: float = 0.0) -> Iterator[Batch]:
        """The batches of an epoch; `progress` through the training matters where batches grow."""
        rng = np.random.default_rng((self.seed, number))
        if self.lists.n_queries == 1:
            n_rows = len(self.lists.relevance)
            n_lists = max(1, round(n_rows / self.list_size))
            for rows in np.array_split(rng.permutation(n_rows), n_lists):
                yield self.lists.deal(rows)
            return
        size = max(1, round(growing(self.batch_queries, progress)))
        queries = rng.permutation(self.lists.n_queries)
        for start in range(0, len(queries), size):
            yield self.lists.take(queries[start : start + size])


def _shared_tensor(array: Features) -> torch.Tensor:
    """The same memory as a tensor, which torch warns of where it is read-only; it is only read."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writ")
        return torch.from_numpy(array)


class EncodedFeatures:
    """A table of features as the net sees it: encoded by a fitted transform, in rows on demand."""

    def __init__(
        self,
        table: Features,
        transform: Any,
        query: IntArray,
        device: torch.device,
        *,
        rows: IntArray | None = None,
        shape: tuple[int, ...] | None = None,
        keep: bool = True,
        as_bins: bool = False,
    ) -> None:
        """Document i has the table's row i, or `rows[i]`, and belongs to `query[i]`.

        The net gets rows, or documents of this shape, or with `as_bins` the `FilledBins` of a
        piecewise-linear encoding. What is only read once need not be kept.
        """
        self._table = table
        self._rows = rows
        self._transform = transform
        self._query = query
        self._device = device
        self._shape = shape
        self._starts = mark_first_bins(transform) if as_bins else None
        self._row_bytes = 4 * self._encode(np.arange(min(1, len(query)))).shape[1]
        self._whole = self._kept() if keep else None

    @property
    def are_bins(self) -> bool:
        """Whether the net gets `FilledBins`."""
        return self._starts is not None

    @property
    def bytes_per_row(self) -> int:
        """What a document takes when all its columns are formed."""
        return self._row_bytes if self._starts is None else 4 * len(self._starts)

    def _kept(self) -> torch.Tensor | None:
        """The whole table as the net sees it, by the table's rows, where that costs little or nothing."""
        if isinstance(self._transform, Unchanged) and self._device.type == "cpu":
            return _shared_tensor(self._table)
        if len(self._query) * self._row_bytes > CACHED_BYTES:
            return None
        encoded = self._encode(np.arange(len(self._query)))
        self._rows = None  # what is kept is in the order of the documents
        return encoded

    def _encode(self, documents: IntArray) -> torch.Tensor:
        rows = self._table[documents if self._rows is None else self._rows[documents]]
        if self._starts is not None:
            return torch.from_numpy(fill_bins(self._transform, rows).packed)
        encoded = self._transform.transform(rows, qid=self._query[documents])
        return torch.from_numpy(np.ascontiguousarray(encoded, dtype=np.float32)).to(self._device)

    def of(self, documents: IntArray, *, room: Workspace | None = None) -> Inputs:
        """The encoded features of these documents; with `room` they lie there until the next call."""
        encoded = self._encode(documents) if self._whole is None else self._gathered(documents, room)
        if self._starts is not None:
            return FilledBins(encoded.numpy(), self._starts)
        return encoded if self._shape is None else encoded.reshape(len(documents), *self._shape)

    def _gathered(self, documents: IntArray, room: Workspace | None) -> torch.Tensor:
        if self._whole is None:
            raise ValueError("nothing is kept to gather from")
        rows = torch.from_numpy(documents if self._rows is None else self._rows[documents])
        out = None
        if room is not None:
            out = room.rows(len(rows), self._whole.shape[1:], self._device).view(self._whole.dtype)
        return torch.index_select(self._whole, 0, rows.to(self._device), out=out)
