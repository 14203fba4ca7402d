"""Cost and gradient of all pairs of a batch, side by side with the padded pair matrix and torch's autograd.

6,000 queries, about 717,000 documents, five grades, some 30 million pairs of different grades. First the
pair cross-entropy against the usual way: batches of queries padded to the longest, differences of all pairs
as a matrix, a mask, autograd. Both start from scores and end at the gradient of the scores; they take turns
for several rounds, a ratio is the median over rounds, and exit code 1 tells that the required one is missed.
Then every cost on its own, in million pairs per second.

    python benchmarks/pair_kernel_benchmark.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from directranker.compilation import get_n_threads
from directranker.costs import Objective, torch_objective

from measuring import compare, machine, print_ratios, seconds_of
from mslr_like import mslr_like

QUERIES = 6_000
PADDED_QUERIES = 100  # per matrix, which then has some four million entries
ROUNDS = 5
OURS = "compiled kernel"
REQUIRED = {"padded pair matrix, autograd": 10.0}
Floats = NDArray[np.float64]

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


def generated() -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Float32 scores that know a little of the labels, which fall within each query, and offsets."""
    data = mslr_like(QUERIES, n_features=1)
    query = np.repeat(np.arange(QUERIES), np.diff(data.offsets))
    relevance = data.relevance[np.lexsort((-data.relevance, query))]
    noise = np.random.default_rng(0).normal(size=len(relevance))
    return (noise + 0.3 * relevance).astype(np.float32), relevance, data.offsets


def cut_by_queries(offsets: NDArray[np.int64]) -> list[tuple[slice, NDArray[np.int64]]]:
    """The rows and the own offsets of batches of queries."""
    firsts = range(0, QUERIES, PADDED_QUERIES)
    bounds = [offsets[first : first + PADDED_QUERIES + 1] for first in firsts]
    return [(slice(own[0], own[-1]), own - own[0]) for own in bounds]


def gradient_by_batches(
    scores: Floats, offsets: NDArray[np.int64], cost_of: Callable[[Tensor, int], Tensor]
) -> Tensor:
    """The gradient of the mean over batches, each of which is a graph of its own."""
    gradients: list[Tensor] = []
    for number, (rows, _) in enumerate(cut_by_queries(offsets)):
        leaf = torch.tensor(scores[rows], requires_grad=True)
        gradients += torch.autograd.grad(cost_of(leaf, number) * (PADDED_QUERIES / QUERIES), leaf)
    return torch.cat(gradients)


def padded_autograd(scores: Floats, relevance: Floats, offsets: NDArray[np.int64]) -> Callable[[], Tensor]:
    """The mean over queries of their mean over pairs; making the masks of pairs is not counted."""
    places, masks = [], []
    for rows, own in cut_by_queries(offsets):
        lengths = torch.from_numpy(np.diff(own))
        place = torch.arange(int(lengths.max())) < lengths[:, None]  # (queries, documents)
        labels = torch.full(place.shape, torch.nan)
        labels[place] = torch.from_numpy(relevance[rows]).float()
        places.append(place)
        masks.append(labels[:, :, None] > labels[:, None, :])  # (queries, documents, documents)

    def cost_of(leaf: Tensor, number: int) -> Tensor:
        padded = torch.zeros(places[number].shape).masked_scatter(places[number], leaf)
        costs = softplus(padded[:, None, :] - padded[:, :, None]) * masks[number]
        return (costs.sum(dim=(1, 2)) / masks[number].sum(dim=(1, 2)).clamp(min=1)).mean()

    return lambda: gradient_by_batches(scores, offsets, cost_of)


def listed_autograd(scores: Floats, relevance: Floats, offsets: NDArray[np.int64]) -> Callable[[], Tensor]:
    """`torch_objective`, with lists of pairs instead of a matrix."""
    batches = cut_by_queries(offsets)

    def cost_of(leaf: Tensor, number: int) -> Tensor:
        rows, own = batches[number]
        return torch_objective(Objective(), leaf, relevance[rows], own)

    return lambda: gradient_by_batches(scores, offsets, cost_of)


def print_rates(scores: Floats, relevance: Floats, offsets: NDArray[np.int64]) -> None:
    """Each objective's speed, by the pairs that it compares, or by documents for costs of lists."""
    print(f"\n{'':36}{'seconds':>10}{'million':>10}{'per second':>12}")
    for name, objective in OBJECTIVES.items():
        n_pairs = objective(scores, relevance, offsets, seed=0).n_pairs  # compiles, too

        def work(objective: Objective = objective) -> Any:
            return objective(scores, relevance, offsets, seed=0)

        seconds = median(seconds_of(work) for _ in range(ROUNDS))
        amount, what = (n_pairs, "pairs") if n_pairs else (len(scores), "documents")
        print(f"{name:36}{seconds:>10.4f}{amount / 1e6:>10.1f}{amount / 1e6 / seconds:>12.0f}  {what}")


def main() -> None:
    """Check that all give the same gradient, measure, print, and leave with 1 if a ratio is missed."""
    data = generated()
    scores, relevance, offsets = data
    works: dict[str, Callable[[], Any]] = {
        OURS: lambda: Objective()(*data),
        "padded pair matrix, autograd": padded_autograd(*data),
        "listed pairs, autograd": listed_autograd(*data),
    }
    first = seconds_of(works[OURS])
    result = Objective()(*data)
    print(f"{len(offsets) - 1:,} queries, {len(scores):,} documents, {result.n_pairs:,} pairs")
    print(f"{machine('numba', 'torch')}, {get_n_threads()} threads")
    print(f"first call, with compilation or loading: {first:.1f} s\n")
    for name in list(works)[1:]:
        np.testing.assert_allclose(works[name]().numpy(), result.gradient, rtol=1e-3, atol=1e-9, err_msg=name)
    reached = print_ratios(compare(works, ROUNDS), OURS, REQUIRED)
    print_rates(scores, relevance, offsets)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
