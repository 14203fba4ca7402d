"""One point of a sensitivity study against the same procedure through padded pairs in plain torch.

All train the same net with the same optimiser on lists of 1,000 documents for as many steps. One peer scores
each document once, lays all pairs of a list out as a matrix, masks those that are not of neighbouring
classes, and lets autograd go through it. The other is the net as the paper draws it: both documents of each
pair go through the two subnets, which share their weights.

    python benchmarks/sensitivity_benchmark.py [--sets 5] [--steps 1000]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from directranker.data.synthetic import SyntheticData, make_synthetic
from directranker.experiments.sensitivity import PROCEDURE, Setting, drawn_values, study_ranker

from measuring import compare, machine, print_ratios

REQUIRED = 15.0
LIST_SIZE = 1000
OURS, MATRIX, SUBNETS = "directranker", "matrix of pairs, torch", "pairs through subnets"


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


def main() -> int:
    """Print the table; 1 where a ratio or the quality is not reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    setting = Setting()
    peers: dict[str, PairCost] = {MATRIX: cost_by_matrix, SUBNETS: cost_by_subnets}
    values: dict[str, list[float]] = {name: [] for name in (OURS, *peers)}

    def run(name: str) -> None:
        seed = len(values[name])
        data = make_synthetic(random_state=seed)
        scores: NDArray[Any]
        if name == OURS:
            ranker = study_ranker(PROCEDURE, setting).set_params(max_steps=options.steps, random_state=seed)
            scores = ranker.fit(data.train).predict(data.test.features)
        else:
            scores = train_peer(peers[name], data, setting, options.steps, seed)
        values[name].append(float(drawn_values(data.test.relevance, scores, seed).mean()))

    print(machine("torch"))
    study_ranker(PROCEDURE, setting).set_params(max_steps=2).fit(
        make_synthetic(n_train=5000).train
    )  # compiles
    seconds = compare({name: partial(run, name) for name in values}, options.sets)
    reached = print_ratios(seconds, OURS, dict.fromkeys(peers, REQUIRED))
    for name, each in values.items():
        error = np.std(each, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else float("nan")
        print(f"{name:22} NDCG@20 {np.mean(each):.4f} ± {error:.4f}")
    return 0 if reached and np.mean(values[OURS]) >= max(np.mean(values[name]) for name in peers) else 1


if __name__ == "__main__":
    sys.exit(main())
