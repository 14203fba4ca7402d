"""The cost of batch-independent scores: our kernels and fixed blocks, compared with torch and NumPy.

Perceptrons and linear rankers are summed by our own kernels, each row in a fixed order. A custom feature net
is computed by torch in blocks of 64 rows, or row by row if blocks are not reproducible. They are compared
with one call of torch or BLAS over the whole table, whose last bits depend on the batch.

    python benchmarks/scoring_benchmark.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from directranker import DirectRanker, RankSVM
from directranker.nn import DirectRankerNet
from directranker.rankers.linear.base import _compute_weighted_sums
from directranker.rankers.nets import torch_scores

from measuring import compare, describe_machine

ROUNDS = 7
N_FEATURES = 136
HIDDEN_LAYERS = ((64,), (200, 100, 50, 25, 5), (512, 256), (1024, 512))


def main() -> None:
    """Print the ratio of each method to one call over all rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    n_documents = parser.parse_args().documents
    print(describe_machine("torch", "numpy"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_documents, N_FEATURES)).astype(np.float32)
    y, qid = rng.integers(0, 3, size=n_documents), np.arange(n_documents) // 100
    print(f"{n_documents:,} documents, {N_FEATURES} features; ratio to one call over all rows\n")
    training = (X[:2000], y[:2000])
    query = np.zeros(n_documents, dtype=np.int64)
    for hidden_layers in HIDDEN_LAYERS:
        ranker = DirectRanker(hidden_layers=hidden_layers, transform="none", max_epochs=1, random_state=0)
        ranker.fit(*training, qid=qid[:2000])
        _print_ratio(
            f"perceptron {hidden_layers}",
            partial(ranker._scores, X, query),
            partial(_score_by_torch, ranker.net_, X),
        )
    svm = RankSVM(transform="none").fit(*training, qid=qid[:2000])
    sums = partial(_compute_weighted_sums, X, svm.coef_, use_kernels=True)
    _print_ratio("linear, sums only", sums, lambda: X @ svm.coef_.astype(np.float32))
    for hidden_layers in HIDDEN_LAYERS[:3]:
        built = DirectRankerNet.build(
            (N_FEATURES,), feature_net=_make_feature_net(hidden_layers), random_state=0
        )
        net = built.eval()
        whole, rows = partial(_score_by_torch, net, X), torch.from_numpy(X)
        batching = torch_scores.select_batching(net.feature_net, (N_FEATURES,))
        name = f"feature_net {hidden_layers}"
        _print_ratio(
            f"{name}, 64 rows, copies: {batching.copies}",
            partial(torch_scores.score_with_torch, net, rows),
            whole,
        )
        torch_scores._BATCHINGS[net.feature_net] = {(N_FEATURES,): torch_scores.SINGLE_ROWS}
        some = rows[: n_documents // 20]
        _print_ratio(
            f"{name}, row by row",
            partial(torch_scores.score_with_torch, net, some),
            partial(_score_by_torch, net, X[: len(some)]),
        )


def _print_ratio(name: str, ours: Callable[[], object], whole: Callable[[], object]) -> None:
    ours()
    seconds = compare({"ours": ours, "whole": whole}, ROUNDS, warm=True)
    ratio = median(a / b for a, b in zip(seconds["ours"], seconds["whole"], strict=True))
    print(f"{name:58}{ratio:>8.2f}")


def _make_feature_net(hidden_layers: tuple[int, ...]) -> nn.Module:
    sizes = (N_FEATURES, *hidden_layers)
    layers = [
        module
        for n_in, n_out in zip(sizes, hidden_layers, strict=False)
        for module in (nn.Linear(n_in, n_out), nn.Tanh())
    ]
    return nn.Sequential(*layers)


def _score_by_torch(net: DirectRankerNet, X: NDArray[np.float32]) -> Tensor:
    with torch.no_grad():
        scores: Tensor = net(torch.from_numpy(X))
    return scores


if __name__ == "__main__":
    main()
