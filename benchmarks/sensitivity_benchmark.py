"""One point of a sensitivity study against the same procedure through padded pairs in plain torch.

Both make the same data, train the same net with the same optimiser on lists of as many documents for as many
steps, and measure NDCG@20 in the same way. The peer is what one writes in torch without a ranking library: it
scores each document of a list once, lays all pairs out as a square matrix padded with those that do not
count, masks these, and lets autograd go through it. The net as the paper draws it, where both documents
of each pair go through subnets that share their weights, is so slow that only a few steps of it are timed.

All run on one thread, which is best for either here: data sets, not matrix products, are what fills cores.

    python benchmarks/sensitivity_benchmark.py [--sets 5] [--subnet-steps 1] [--threads 1]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from directranker.data.synthetic import SyntheticData, make_synthetic
from directranker.experiments.sensitivity import (
    LIST_SIZE,
    N_STEPS,
    PROCEDURE,
    Setting,
    drawn_values,
    study_ranker,
)

from measuring import compare, machine, print_ratios, seconds_of

REQUIRED = 15.0
OURS, MATRIX = "directranker", "matrix of pairs, torch"

PairCost = Callable[[torch.nn.Module, torch.Tensor, torch.Tensor], torch.Tensor]


def cost_by_matrix(net: torch.nn.Module, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean of y_i (1 - r)² over all pairs of a list whose labels differ by one."""
    scores = net(features).squeeze(1)
    r = torch.tanh((scores[:, None] - scores[None, :]) / 2)
    pairs = (labels[:, None] - labels[None, :]) == 1
    costs = torch.where(pairs, labels[:, None] * (1 - r) ** 2, torch.zeros(()))
    return costs.sum() / pairs.sum().clamp(min=1)


def cost_by_subnets(net: torch.nn.Module, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The same, with the features of both documents of each pair through the net."""
    higher, lower = torch.nonzero((labels[:, None] - labels[None, :]) == 1, as_tuple=True)
    r = torch.tanh((net(features[higher]) - net(features[lower])).squeeze(1) / 2)
    return (labels[higher] * (1 - r) ** 2).mean()


def train_peer(
    pair_cost: PairCost, data: SyntheticData, setting: Setting, steps: int, seed: int
) -> NDArray[np.float64]:
    """Scores of the test documents by the peer."""
    mean, deviation = data.train.features.mean(axis=0), data.train.features.std(axis=0)
    features = torch.from_numpy((data.train.features - mean) / deviation)
    labels = torch.from_numpy(data.train.relevance.astype(np.float32))
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(setting.n_features, 70),
        torch.nn.Tanh(),
        torch.nn.Linear(70, setting.n_classes),
        torch.nn.Tanh(),
        torch.nn.Linear(setting.n_classes, 1, bias=False),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 500, 0.944)
    order = torch.empty(0, dtype=torch.int64)
    for _ in range(steps):
        if len(order) < LIST_SIZE:
            order = torch.randperm(len(labels))
        rows, order = order[:LIST_SIZE], order[LIST_SIZE:]
        cost = pair_cost(net, features[rows], labels[rows])
        optimizer.zero_grad()
        cost.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    with torch.inference_mode():
        test = torch.from_numpy((data.test.features - mean) / deviation)
        scores: NDArray[np.float64] = net(test).squeeze(1).double().numpy()
    return scores


def seconds_per_subnet_step(setting: Setting, steps: int) -> float:
    """How long a step takes where all pairs go through both subnets, without what comes before and after."""
    data = make_synthetic(random_state=0)
    works = [partial(train_peer, cost_by_subnets, data, setting, n, 0) for n in (1, 1 + steps)]
    short, long = (seconds_of(work) for work in works)
    return (long - short) / steps


def main() -> int:
    """Print the table; 1 where the ratio is not reached, or the quality is below by more than its error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--subnet-steps", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    setting = Setting()
    values: dict[str, list[float]] = {OURS: [], MATRIX: []}

    def run(name: str) -> None:
        seed = len(values[name])
        data = make_synthetic(random_state=seed)
        scores: NDArray[Any]
        if name == OURS:
            ranker = study_ranker(PROCEDURE, setting).set_params(random_state=seed)
            scores = ranker.fit(data.train).predict(data.test.features)
        else:
            scores = train_peer(cost_by_matrix, data, setting, N_STEPS, seed)
        values[name].append(float(drawn_values(data.test.relevance, scores, seed).mean()))

    print(machine("torch"))
    print(f"{options.sets} data sets, {N_STEPS} steps of {LIST_SIZE} documents; seconds per data set")
    small = make_synthetic(n_train=5000).train
    study_ranker(PROCEDURE, setting).set_params(max_steps=2).fit(small)  # compiles
    seconds = compare({name: partial(run, name) for name in values}, options.sets)
    reached = print_ratios(seconds, OURS, {MATRIX: REQUIRED})
    for name, each in values.items():
        error = np.std(each, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else float("nan")
        print(f"{name:24}NDCG@20 {np.mean(each):.4f} ± {error:.4f}")
    gain = np.subtract(values[OURS], values[MATRIX])
    error = float(np.std(gain, ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
    print(
        f"difference on the same data sets {gain.mean():+.4f} ± {error:.4f}: one procedure, two random starts"
    )
    if options.subnet_steps:
        per_step = seconds_per_subnet_step(setting, options.subnet_steps)
        ratio = per_step * N_STEPS / median(seconds[OURS])
        print(
            f"all pairs through both subnets: {per_step:.2f} s per step, so {ratio:.0f} times as long as ours"
        )
    return 0 if reached and gain.mean() >= -error else 1


if __name__ == "__main__":
    sys.exit(main())
