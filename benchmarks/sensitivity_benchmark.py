"""One point of a sensitivity study, compared with the same procedure with padded pairs in plain torch.

Both use the same data, train the same net with the same optimiser on queries of the same size for the same
number of steps, and compute NDCG@20 in the same way. The peer is what one would write in torch without a
ranking library: it scores each document of a query once, computes all pairs as a square matrix, masks those
that do not count, and uses autograd. The net as drawn in the paper, where both documents of each pair go
through subnets with shared weights, is so slow that only a few steps of it are timed.

The paper does not say how many documents a step compares, and the ratio depends on it: pairs grow with its
square. So the second table has other sizes, each with the same number of documents in total, and the time of
both at their fastest size.

All run on one thread, which is fastest for both here: cores are better used for several data sets in
parallel.

    python benchmarks/sensitivity_benchmark.py [point] [sizes] [subnets] [--sets 5]
"""

from __future__ import annotations

import argparse
import sys
import time
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
    make_study_ranker,
    measure_random_subsets,
)

from measuring import compare, describe_machine, measure_seconds, print_ratios

REQUIRED_RATIO = 15.0
SIZES = (500, 1000, 2000, 4000)
TIMED_DOCUMENTS = 40_000  # per size
OURS, MATRIX = "directranker", "pair matrix, torch"

PairCost = Callable[[torch.nn.Module, torch.Tensor, torch.Tensor], torch.Tensor]


def compute_matrix_cost(net: torch.nn.Module, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Compute the mean of y_i (1 - r)² over all pairs of a query whose labels differ by one."""
    scores = net(features).squeeze(1)
    r = torch.tanh((scores[:, None] - scores[None, :]) / 2)
    pairs = (labels[:, None] - labels[None, :]) == 1
    costs = torch.where(pairs, labels[:, None] * (1 - r) ** 2, torch.zeros(()))
    return costs.sum() / pairs.sum().clamp(min=1)


def compute_subnet_cost(net: torch.nn.Module, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Compute the same, with both documents of each pair through the net."""
    higher, lower = torch.nonzero((labels[:, None] - labels[None, :]) == 1, as_tuple=True)
    r = torch.tanh((net(features[higher]) - net(features[lower])).squeeze(1) / 2)
    return (labels[higher] * (1 - r) ** 2).mean()


def train_peer(
    pair_cost: PairCost,
    data: SyntheticData,
    setting: Setting,
    steps: int,
    seed: int,
    list_size: int = LIST_SIZE,
) -> NDArray[np.float64]:
    """Train the peer and score the test documents."""
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
        if len(order) < list_size:
            order = torch.randperm(len(labels))
        rows, order = order[:list_size], order[list_size:]
        cost = pair_cost(net, features[rows], labels[rows])
        optimizer.zero_grad()
        cost.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    with torch.inference_mode():
        test = torch.from_numpy((data.test.features - mean) / deviation)
        scores: NDArray[np.float64] = net(test).squeeze(1).double().numpy()
    return scores


def train_ours(data: SyntheticData, setting: Setting, steps: int, seed: int, list_size: int) -> NDArray[Any]:
    """Train the ranker of the studies and score the test documents."""
    ranker = make_study_ranker(PROCEDURE, setting)
    ranker.set_params(random_state=seed, max_steps=steps, list_size=list_size)
    scores: NDArray[Any] = ranker.fit(data.train).predict(data.test.features)
    return scores


def compare_point(n_sets: int) -> bool:
    """Time a point on each data set; return whether ratio and quality are reached."""
    setting = Setting()
    values: dict[str, list[float]] = {OURS: [], MATRIX: []}

    def run(name: str) -> None:
        seed = len(values[name])
        data = make_synthetic(random_state=seed)
        if name == OURS:
            scores = train_ours(data, setting, N_STEPS, seed, LIST_SIZE)
        else:
            scores = train_peer(compute_matrix_cost, data, setting, N_STEPS, seed)
        values[name].append(float(measure_random_subsets(data.test.relevance, scores, seed).mean()))

    print(f"\n{n_sets} data sets, {N_STEPS} steps of {LIST_SIZE} documents; seconds per data set")
    seconds = compare({name: partial(run, name) for name in values}, n_sets)
    reached = print_ratios(seconds, OURS, {MATRIX: REQUIRED_RATIO})
    for name, each in values.items():
        print(f"{name:24}NDCG@20 {format_mean(each)}")
    gain = np.subtract(values[OURS], values[MATRIX])
    is_good = bool(gain.mean() >= -compute_standard_error(gain))
    print(
        f"directranker − torch, on the same data sets {gain.mean():+.4f} ± {compute_standard_error(gain):.4f}"
    )
    print(
        "Both are the same procedure with different random starts. Required: not worse by more "
        f"than the standard error; {'reached' if is_good else 'MISSED'}"
        f"{', and the mean is not worse' if gain.mean() >= 0 else ''}"
    )
    return reached and is_good


def compute_standard_error(values: Any) -> float:
    """Compute the standard error of the mean; 0 for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def format_mean(values: list[float]) -> str:
    """Format mean ± standard error."""
    return f"{np.mean(values):.4f} ± {compute_standard_error(values):.4f}"


def compare_sizes(n_sets: int) -> None:
    """Print quality and time by the size of a query; the peer's time is extrapolated from a few steps."""
    setting, documents = Setting(), N_STEPS * LIST_SIZE
    data_sets = [make_synthetic(random_state=seed) for seed in range(n_sets)]
    print(f"\nBy documents per step, {documents} documents in total; seconds per training")
    print(f"{'documents':>10}{'steps':>7}{'NDCG@20':>18}{'directranker':>14}{'matrix':>9}{'ratio':>7}")
    times = []
    for size in SIZES:
        steps = documents // size
        values, seconds = [], []
        for seed, data in enumerate(data_sets):
            start = time.perf_counter()
            scores = train_ours(data, setting, steps, seed, size)
            seconds.append(time.perf_counter() - start)
            values.append(float(measure_random_subsets(data.test.relevance, scores, seed).mean()))
        ours, peer = median(seconds), measure_step(compute_matrix_cost, TIMED_DOCUMENTS // size, size) * steps
        print(f"{size:>10}{steps:>7}{format_mean(values):>18}{ours:>14.2f}{peer:>9.1f}{peer / ours:>7.1f}")
        times.append((ours, peer))
    ours, peer = (min(each) for each in zip(*times, strict=True))
    print(f"each at its fastest size: {ours:.2f} and {peer:.1f} s, ratio {peer / ours:.1f}")


def measure_step(pair_cost: PairCost, steps: int, list_size: int = LIST_SIZE) -> float:
    """Measure the seconds of a step of the peer, without the constant cost of a training."""
    data, setting = make_synthetic(random_state=0), Setting()
    tasks = [partial(train_peer, pair_cost, data, setting, n, 0, list_size) for n in (2, 2 + steps)]
    short, long = map(measure_seconds, tasks)
    return (long - short) / steps


def main() -> int:
    """Print the selected parts; return 1 if the ratio or the quality is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["point", "sizes", "subnets"])
    parser.add_argument("--sets", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(describe_machine("torch"))
    train_ours(make_synthetic(n_train=5000), Setting(), 2, 0, LIST_SIZE)  # compile
    reached = "point" not in options.parts or compare_point(options.sets)
    if "sizes" in options.parts:
        compare_sizes(options.sets)
    if "subnets" in options.parts:
        each = measure_step(compute_subnet_cost, 1)
        print(f"\nall pairs through both subnets: {each:.2f} s per step, {each * N_STEPS:.0f} s per training")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
