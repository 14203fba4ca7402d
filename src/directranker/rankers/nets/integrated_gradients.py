"""Integrated gradients: the contribution of each encoded column to the score difference of two documents.

The gradient is integrated in float64 along the straight line between the two documents (Sundararajan, Taly
and Yan, Axiomatic Attribution for Deep Networks, 2017).
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from directranker.arrays import FloatArray, IntArray

__all__ = ["integrated_gradients"]

MAX_NUMBERS = 4_000_000  # of the points on all lines of a block


def integrated_gradients(
    net: nn.Module, encoded: FloatArray, pairs: IntArray, *, shape: tuple[int, ...], n_steps: int
) -> FloatArray:
    """Return the mean gradient at the midpoints of equal steps on each pair's line, times the difference.

    `encoded` is (n_documents, n_columns), `pairs` (n_pairs, 2); the result is (n_pairs, n_columns).

    >>> net = nn.Sequential(nn.Linear(2, 1, bias=False), nn.Flatten(0))
    >>> _ = net[0].weight.data.copy_(torch.tensor([[3.0, -1.0]]))
    >>> documents = np.array([[1.0, 1.0], [0.0, 2.0]])
    >>> integrated_gradients(net, documents, np.array([[0, 1]]), shape=(2,), n_steps=4).tolist()
    [[3.0, 1.0]]
    """
    net = copy.deepcopy(net).double().eval()
    documents = torch.from_numpy(encoded)
    fractions = ((torch.arange(n_steps, dtype=torch.float64) + 0.5) / n_steps)[:, None]
    blocks = []
    n_lines = max(1, MAX_NUMBERS // (n_steps * encoded.shape[1]))
    for start in range(0, len(pairs), n_lines):
        block = torch.from_numpy(pairs[start : start + n_lines])
        worse = documents[block[:, 1]]
        difference = documents[block[:, 0]] - worse  # (n_pairs, n_columns)
        lines = worse[:, None] + fractions * difference[:, None]  # (n_pairs, n_steps, n_columns)
        lines.requires_grad_()
        (gradient,) = torch.autograd.grad(net(lines.reshape(-1, *shape)).sum(), lines)
        blocks.append((gradient.mean(dim=1) * difference).detach().numpy())
    return np.concatenate(blocks) if blocks else np.zeros((0, encoded.shape[1]))
