"""Scores by a user's feature net, which torch computes, with the same bits for a row in any batch.

Torch selects a routine by batch size and number of threads, and some routines round a row differently at
another position of the batch: layers with few outputs do, by the row's memory alignment, which repeats every
four rows. So a net gets blocks of 64 rows on one thread, the last block padded, if a test shows that a row
has the same features at each position and beside any others. Or it gets each row four times in succession, if
the first of the four is always the same. A net that fails both tests, for example because it averages over
its batch, gets its rows one by one. So does a net with so much work per row that blocks would not be faster;
it keeps torch's threads.

>>> from directranker.nn import DirectRankerNet
>>> net = DirectRankerNet.build((4,), feature_net=torch.nn.Linear(4, 64), random_state=0).eval()
>>> select_batching(net.feature_net, (4,))
Batching(block_rows=64, copies=1, one_thread=True)
>>> X = torch.rand(100, 4)
>>> scores = score_with_torch(net, X)
>>> bool((score_with_torch(net, X[40:47]) == scores[40:47]).all())
True
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from directranker.arrays import Float32Array
from directranker.nn import DirectRankerNet
from directranker.rankers.nets.perceptron_kernels import compute_weighted_sums

__all__ = ["Batching", "score_with_torch", "select_batching"]

N_TESTED_ROWS, N_MIXED_BLOCKS = 16, 16
MIN_SINGLE_ROW_WORK = 5e7  # multiplications per row, about, from which blocks are not faster


class Batching(NamedTuple):
    """The number of rows of each batch, the copies of each row, and whether torch uses one thread."""

    block_rows: int
    copies: int
    one_thread: bool


BLOCKS = (Batching(64, 1, one_thread=True), Batching(64, 4, one_thread=True))
"""The faster first. 64 is a multiple of the width of vector routines, so that no remainder is left."""
SINGLE_ROWS = Batching(1, 1, one_thread=True)
SINGLE_ROWS_ON_ALL_THREADS = Batching(1, 1, one_thread=False)


def score_with_torch(net: DirectRankerNet, X: Tensor) -> Float32Array:
    """Score documents by a net in evaluation mode; a score depends on its document only."""
    batching = select_batching(net.feature_net, tuple(X.shape[1:]))
    head = net.head.weight.detach().cpu().numpy()
    scores = np.empty(len(X), dtype=np.float32)
    batch = torch.empty(batching.block_rows, *X.shape[1:], dtype=X.dtype)
    with torch.no_grad(), _limit_threads(batching):
        for start in range(0, len(X), batching.block_rows):
            rows = X[start : start + batching.block_rows]
            batch[: len(rows)] = rows
            batch[len(rows) :] = rows[-1]
            features = _compute_features(net.feature_net, batch, batching)[: len(rows)].numpy()
            scores[start : start + len(rows)] = compute_weighted_sums(features, head, use_kernels=False)
    return scores


def select_batching(feature_net: nn.Module, shape: tuple[int, ...]) -> Batching:
    """Return the batching that gives a document of this shape the same features in any batch; cached."""
    by_shape = _BATCHINGS.setdefault(feature_net, {})
    if shape not in by_shape:
        by_shape[shape] = _find_batching(feature_net, shape)
    return by_shape[shape]


_BATCHINGS: WeakKeyDictionary[nn.Module, dict[tuple[int, ...], Batching]] = WeakKeyDictionary()


def _find_batching(feature_net: nn.Module, shape: tuple[int, ...]) -> Batching:
    n_weights = sum(parameter.numel() for parameter in feature_net.parameters())
    if n_weights * math.prod(shape[1:]) > MIN_SINGLE_ROW_WORK:  # a convolution has each weight at each pixel
        return SINGLE_ROWS_ON_ALL_THREADS
    with torch.no_grad(), _limit_threads(SINGLE_ROWS):
        reproducible = (batching for batching in BLOCKS if _is_reproducible(feature_net, shape, batching))
        return next(reproducible, SINGLE_ROWS)


def _compute_features(feature_net: nn.Module, batch: Tensor, batching: Batching) -> Tensor:
    features: Tensor = feature_net(batch.repeat_interleave(batching.copies, dim=0))
    return features[:: batching.copies]


def _is_reproducible(feature_net: nn.Module, shape: tuple[int, ...], batching: Batching) -> bool:
    """Whether a row has the same features at each position, beside copies of itself and beside others."""
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(-2, 2, size=(N_TESTED_ROWS, *[1] * len(shape)))
    rows = torch.from_numpy((sizes * rng.normal(size=(N_TESTED_ROWS, *shape))).astype(np.float32))
    repeated = np.arange(N_TESTED_ROWS)[:, None].repeat(batching.block_rows, axis=1)
    mixed = rng.integers(N_TESTED_ROWS, size=(N_MIXED_BLOCKS, batching.block_rows))
    expected: list[Tensor] = []
    try:
        for numbers in [*repeated, *mixed]:
            features = _compute_features(feature_net, rows[torch.from_numpy(numbers)], batching)
            if len(expected) < N_TESTED_ROWS:
                expected.append(features[0])
            if not torch.equal(features, torch.stack([expected[number] for number in numbers])):
                return False
    except Exception:  # the net may reject random numbers, for example where it takes token ids
        return False
    return True


@contextmanager
def _limit_threads(batching: Batching) -> Iterator[None]:
    before = torch.get_num_threads()
    if batching.one_thread:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
