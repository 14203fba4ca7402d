"""Scores by a feature net of one's own, which torch must compute: the same bits for a row in any batch.

Torch chooses a routine by the size of a batch and by the number of threads, and some routines round a row
otherwise at another place of the batch: layers of few outputs do, by where the row lies in memory, which
repeats every four rows. So a net gets blocks of 64 rows, the last one filled up, on one thread, once a trial
has shown that it makes the same of a row at each place and beside any others; or it gets each row four times
in turn, where the first of four is the same everywhere. A net for which neither holds, such as one that takes
means over its batch, gets its rows one by one; so does one with so much to compute for a row that blocks
would gain nothing, and it keeps torch's threads.

>>> from directranker.nn import DirectRankerNet
>>> net = DirectRankerNet.build((4,), feature_net=torch.nn.Linear(4, 64), random_state=0).eval()
>>> way_of(net.feature_net, (4,))
Way(block_rows=64, copies=1, one_thread=True)
>>> X = torch.rand(100, 4)
>>> scores = scores_of_rows(net, X)
>>> bool((scores_of_rows(net, X[40:47]) == scores[40:47]).all())
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
from numpy.typing import NDArray
from torch import Tensor, nn

from directranker.nn import DirectRankerNet
from directranker.rankers.nets.perceptron_kernels import weighted_sums

__all__ = ["Way", "scores_of_rows", "way_of"]

TRIED_ROWS, MIXED_BLOCKS = 16, 16
WORK_ALONE = 5e7  # multiplications for a row, about, from which rows gain nothing from each other


class Way(NamedTuple):
    """How many rows the net gets at a time, always as many, how often each, and on how many threads."""

    block_rows: int
    copies: int
    one_thread: bool


BLOCKS = (Way(64, 1, one_thread=True), Way(64, 4, one_thread=True))
"""The quicker first. 64 is a multiple of what vector routines take at once; they leave nothing over."""
ALONE = Way(1, 1, one_thread=True)
ALONE_ON_ALL_THREADS = Way(1, 1, one_thread=False)


def scores_of_rows(net: DirectRankerNet, X: Tensor) -> NDArray[np.float32]:
    """Scores of documents by a net in evaluation mode; a document's depends on nothing but itself."""
    way = way_of(net.feature_net, tuple(X.shape[1:]))
    head = net.head.weight.detach().cpu().numpy()
    scores = np.empty(len(X), dtype=np.float32)
    block = torch.empty(way.block_rows, *X.shape[1:], dtype=X.dtype)
    with torch.no_grad(), _threads(way):
        for start in range(0, len(X), way.block_rows):
            some = X[start : start + way.block_rows]
            block[: len(some)] = some
            block[len(some) :] = some[-1]
            features = _features(net.feature_net, block, way)[: len(some)].numpy()
            scores[start : start + len(some)] = weighted_sums(features, head, compiled_way=False)
    return scores


def way_of(feature_net: nn.Module, shape: tuple[int, ...]) -> Way:
    """How documents of this shape get the same features in any batch; tried out once for each net."""
    ways = _WAYS.setdefault(feature_net, {})
    if shape not in ways:
        ways[shape] = _found_way(feature_net, shape)
    return ways[shape]


_WAYS: WeakKeyDictionary[nn.Module, dict[tuple[int, ...], Way]] = WeakKeyDictionary()


def _found_way(feature_net: nn.Module, shape: tuple[int, ...]) -> Way:
    n_weights = sum(parameter.numel() for parameter in feature_net.parameters())
    if n_weights * math.prod(shape[1:]) > WORK_ALONE:  # each weight meets each place of an image
        return ALONE_ON_ALL_THREADS
    with torch.no_grad(), _threads(ALONE):
        return next((way for way in BLOCKS if _is_same_everywhere(feature_net, shape, way)), ALONE)


def _features(feature_net: nn.Module, block: Tensor, way: Way) -> Tensor:
    made: Tensor = feature_net(block.repeat_interleave(way.copies, dim=0))
    return made[:: way.copies]


def _is_same_everywhere(feature_net: nn.Module, shape: tuple[int, ...], way: Way) -> bool:
    """Whether a row gets the same features at each place of a block, among its like and among others."""
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(-2, 2, size=(TRIED_ROWS, *[1] * len(shape)))
    rows = torch.from_numpy((sizes * rng.normal(size=(TRIED_ROWS, *shape))).astype(np.float32))
    every_row = np.arange(TRIED_ROWS)[:, None].repeat(way.block_rows, axis=1)
    mixed = rng.integers(TRIED_ROWS, size=(MIXED_BLOCKS, way.block_rows))
    expected: list[Tensor] = []
    try:
        for numbers in [*every_row, *mixed]:
            features = _features(feature_net, rows[torch.from_numpy(numbers)], way)
            if len(expected) < TRIED_ROWS:
                expected.append(features[0])
            if not torch.equal(features, torch.stack([expected[number] for number in numbers])):
                return False
    except Exception:  # numbers at random need not be what the net takes, such as codes of words
        return False
    return True


@contextmanager
def _threads(way: Way) -> Iterator[None]:
    before = torch.get_num_threads()
    if way.one_thread:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
