"""Cost and gradient of all pairs of a batch, compared with a padded pair matrix and torch's autograd.

6,000 queries, about 717,000 documents, five grades, about 30 million pairs of different grades. First the
pairwise cross-entropy, compared with the usual implementation: batches of queries padded to the longest, a
matrix of all differences, a mask, autograd. Both start from scores and end at the gradient of the scores.
They run in turns for several rounds, a ratio is the median over rounds, and exit code 1 means that the
required one is missed. Then every cost alone, in million pairs per second.

    python benchmarks/pair_kernel_benchmark.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import get_n_threads
from directranker.costs import Objective, torch_objective

from measuring import compare, describe_machine, measure_seconds, print_ratios
from mslr_like import make_mslr_like

QUERIES = 6_000
PADDED_QUERIES = 100  # per matrix, which then has about four million entries
ROUNDS = 5
OURS = "compiled kernel"
REQUIRED = {"padded pair matrix, autograd": 10.0}

OBJECTIVES = {
    "cross_entropy, half_tanh": Objective(),
    "cross_entropy, tanh, adjacent": Objective(head_activation="tanh", pairs="adjacent"),
    "cross_entropy, delta_ndcg@10": Objective(pair_weight="delta_ndcg@10"),
    "cross_entropy, delta_map": Objective(pair_weight="delta_map"),
    "cross_entropy, at most 1,000 pairs": Objective(max_pairs=1000),
    "squared, identity": Objective("squared", head_activation="identity"),
    "squared, tanh": Objective("squared", head_activation="tanh"),
    "squared_difference, identity": Objective("squared_difference", head_activation="identity"),
    "squared_difference, tanh": Objective("squared_difference", head_activation="tanh"),
    "relevance_weighted, identity": Objective("relevance_weighted", head_activation="identity"),
    "relevance_weighted, tanh": Objective("relevance_weighted", head_activation="tanh"),
    "hinge, identity": Objective("hinge", head_activation="identity"),
    "exponential, softsign": Objective("exponential", head_activation="softsign"),
    "cross_entropy, arctan": Objective(head_activation="arctan"),
    "listnet": Objective("listnet"),
    "softmax": Objective("softmax"),
    "listmle": Objective("listmle"),
}


def make_data() -> tuple[FloatArray, FloatArray, IntArray]:
    """Make float32 scores correlated with labels, descending labels within each query, and offsets."""
    data = make_mslr_like(QUERIES, n_features=1)
    query = np.repeat(np.arange(QUERIES), np.diff(data.offsets))
    relevance = data.relevance[np.lexsort((-data.relevance, query))]
    noise = np.random.default_rng(0).normal(size=len(relevance))
    return (noise + 0.3 * relevance).astype(np.float32), relevance, data.offsets


def split_into_batches(offsets: IntArray) -> list[tuple[slice, IntArray]]:
    """Split queries into batches; return the rows and the offsets of each."""
    firsts = range(0, QUERIES, PADDED_QUERIES)
    bounds = [offsets[first : first + PADDED_QUERIES + 1] for first in firsts]
    return [(slice(own[0], own[-1]), own - own[0]) for own in bounds]


def compute_gradient(
    scores: FloatArray, offsets: IntArray, compute_cost: Callable[[Tensor, int], Tensor]
) -> Tensor:
    """Compute the gradient of the mean over batches, with a separate graph for each."""
    gradients: list[Tensor] = []
    for number, (rows, _) in enumerate(split_into_batches(offsets)):
        leaf = torch.tensor(scores[rows], requires_grad=True)
        gradients += torch.autograd.grad(compute_cost(leaf, number) * (PADDED_QUERIES / QUERIES), leaf)
    return torch.cat(gradients)


def make_padded_task(scores: FloatArray, relevance: FloatArray, offsets: IntArray) -> Callable[[], Tensor]:
    """Compute the mean over queries of the mean over pairs; creating the masks is not timed."""
    is_document, masks = [], []
    for rows, own in split_into_batches(offsets):
        lengths = torch.from_numpy(np.diff(own))
        mask = torch.arange(int(lengths.max())) < lengths[:, None]  # (queries, documents)
        labels = torch.full(mask.shape, torch.nan)
        labels[mask] = torch.from_numpy(relevance[rows]).float()
        is_document.append(mask)
        masks.append(labels[:, :, None] > labels[:, None, :])  # (queries, documents, documents)

    def compute_cost(leaf: Tensor, number: int) -> Tensor:
        padded = torch.zeros(is_document[number].shape).masked_scatter(is_document[number], leaf)
        costs = softplus(padded[:, None, :] - padded[:, :, None]) * masks[number]
        return (costs.sum(dim=(1, 2)) / masks[number].sum(dim=(1, 2)).clamp(min=1)).mean()

    return lambda: compute_gradient(scores, offsets, compute_cost)


def make_pair_list_task(scores: FloatArray, relevance: FloatArray, offsets: IntArray) -> Callable[[], Tensor]:
    """Compute the gradient with `torch_objective`, which lists pairs instead of a matrix."""
    batches = split_into_batches(offsets)

    def compute_cost(leaf: Tensor, number: int) -> Tensor:
        rows, own = batches[number]
        return torch_objective(Objective(), leaf, relevance[rows], own)

    return lambda: compute_gradient(scores, offsets, compute_cost)


def print_rates(scores: FloatArray, relevance: FloatArray, offsets: IntArray) -> None:
    """Print the speed of each objective, in pairs per second, or documents for listwise costs."""
    print(f"\n{'':36}{'seconds':>10}{'million':>10}{'per second':>12}")
    for name, objective in OBJECTIVES.items():
        n_pairs = objective(scores, relevance, offsets, seed=0).n_pairs  # also compiles

        def task(objective: Objective = objective) -> Any:
            return objective(scores, relevance, offsets, seed=0)

        seconds = median(measure_seconds(task) for _ in range(ROUNDS))
        amount, unit = (n_pairs, "pairs") if n_pairs else (len(scores), "documents")
        print(f"{name:36}{seconds:>10.4f}{amount / 1e6:>10.1f}{amount / 1e6 / seconds:>12.0f}  {unit}")


def main() -> None:
    """Check that all gradients are equal, measure, print, and exit with 1 if a ratio is missed."""
    data = make_data()
    scores, relevance, offsets = data
    tasks: dict[str, Callable[[], Any]] = {
        OURS: lambda: Objective()(*data),
        "padded pair matrix, autograd": make_padded_task(*data),
        "listed pairs, autograd": make_pair_list_task(*data),
    }
    first = measure_seconds(tasks[OURS])
    result = Objective()(*data)
    print(f"{len(offsets) - 1:,} queries, {len(scores):,} documents, {result.n_pairs:,} pairs")
    print(f"{describe_machine('numba', 'torch')}, {get_n_threads()} threads")
    print(f"first call, including compilation or loading: {first:.1f} s\n")
    for name in list(tasks)[1:]:
        np.testing.assert_allclose(tasks[name]().numpy(), result.gradient, rtol=1e-3, atol=1e-9, err_msg=name)
    reached = print_ratios(compare(tasks, ROUNDS), OURS, REQUIRED)
    print_rates(scores, relevance, offsets)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
