"""Variants of the default DirectRanker that its parameters cannot express, for `ablation.py`.

Other nets are passed as `feature_net`, other costs by a subclass. Where the net is combined with trees, it is
trained on scores of trees that were not trained on the same query.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from directranker import DirectRanker, RankingDataset
from directranker.costs import Objective
from directranker.rankers import LambdaMART
from directranker.rankers.ensemble import within_query_deviation
from directranker.rankers.nets.distillation import compute_soft_targets, resolve_teacher
from directranker.rankers.nets.objective_cost import ObjectiveCost
from directranker.training.batches import Batch
from directranker.training.data import TrainingData

__all__ = [
    "AllAndNeighbours",
    "Blended",
    "LearnedBins",
    "MixedCosts",
    "Noisy",
    "Periodic",
    "Residual",
    "RunningMean",
    "Snapshots",
    "Stacked",
    "make_perceptron",
    "smoothed_cross_entropy",
    "with_net",
]

WIDTH, DROPOUT, N_BINS = 256, 0.5, 16  # as in the default
Scores = NDArray[np.floating[Any]]


def with_net(net: Any, **parameters: Any) -> partial[DirectRanker]:
    """Return the default with this feature net; "auto" has no teacher for custom nets, so it is set."""
    return partial(DirectRanker, feature_net=net, teacher="trees", **parameters)


def make_perceptron(n_inputs: int) -> nn.Sequential:
    """Make the default's feature net."""
    return nn.Sequential(nn.Linear(n_inputs, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT))


class Noisy(nn.Module):
    """The default's net with Gaussian noise on its inputs in training."""

    def __init__(self, n_inputs: int, deviation: float) -> None:
        super().__init__()
        self.net = make_perceptron(n_inputs)
        self.deviation = deviation

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute the features of documents, (n, width)."""
        if self.training:
            inputs = inputs + self.deviation * torch.randn_like(inputs)
        features: Tensor = self.net(inputs)
        return features


class Residual(nn.Module):
    """The default's net with a residual second layer."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.first, self.second = make_perceptron(n_inputs), make_perceptron(WIDTH)

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute the features of documents, (n, width)."""
        features: Tensor = self.first(inputs)
        residual: Tensor = self.second(features)
        return features + residual


class LearnedBins(nn.Module):
    """Piecewise-linear bins with trainable edges, for normal features with standard deviation 1/3."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        edges = torch.special.ndtri(torch.linspace(0.01, 0.99, N_BINS + 1)) / 3
        self.low = nn.Parameter(edges[:-1].repeat(n_inputs, 1))
        self.log_width = nn.Parameter(edges.diff().log().repeat(n_inputs, 1))
        self.rest = make_perceptron(n_inputs * N_BINS)

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute the features of documents, (n, width)."""
        filled = ((inputs[:, :, None] - self.low) / self.log_width.exp()).clamp(0, 1)  # (n, inputs, bins)
        features: Tensor = self.rest(filled.flatten(1))
        return features


class Periodic(nn.Module):
    """Each feature, and its sines and cosines with trainable frequencies."""

    def __init__(self, n_inputs: int, deviation: float = 0.1) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(deviation * torch.randn(n_inputs, N_BINS // 2))
        self.rest = make_perceptron(n_inputs * (N_BINS + 1))

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute the features of documents, (n, width)."""
        angles = 2 * torch.pi * (inputs[:, :, None] * self.frequencies).flatten(1)
        features: Tensor = self.rest(torch.cat([inputs, angles.sin(), angles.cos()], dim=1))
        return features


class RunningMean(nn.Module):
    """The default's net with its head; evaluation uses a running mean of the weights."""

    def __init__(self, n_inputs: int, decay: float) -> None:
        super().__init__()
        self.net = nn.Sequential(*make_perceptron(n_inputs), nn.Linear(WIDTH, 1, bias=False))
        self.mean = copy.deepcopy(self.net).requires_grad_(requires_grad=False)
        self.decay = decay
        self.n_seen = 0

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute the score as the only feature, (n, 1)."""
        if not self.training:
            return torch.as_tensor(self.mean(inputs))
        fraction = max(1 - self.decay, 1 / (1 + self.n_seen))  # initially the arithmetic mean
        self.n_seen += 1
        with torch.no_grad():
            for mean, current in zip(self.mean.parameters(), self.net.parameters(), strict=True):
                mean.lerp_(current, fraction)
        return torch.as_tensor(self.net(inputs))


class Snapshots(nn.Module):
    """The default's net with its head; evaluation averages it with a few earlier states."""

    def __init__(self, n_inputs: int, n_steps: int, n_states: int = 4) -> None:
        super().__init__()
        self.net = nn.Sequential(*make_perceptron(n_inputs), nn.Linear(WIDTH, 1, bias=False))
        states = [copy.deepcopy(self.net).requires_grad_(requires_grad=False) for _ in range(n_states)]
        self.states = nn.ModuleList(states)
        self.n_steps = n_steps
        self.n_seen: Tensor  # a buffer, so that it is restored with the weights of the best epoch
        self.register_buffer("n_seen", torch.zeros((), dtype=torch.int64))

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute the score as the only feature, (n, 1)."""
        if not self.training:
            states = [self.net, *self.states[: max(0, int(self.n_seen) - 1) // self.n_steps]]
            return torch.stack([state(inputs) for state in states]).mean(dim=0)
        n_kept, remainder = divmod(int(self.n_seen), self.n_steps)
        if n_kept and not remainder:
            self.states[(n_kept - 1) % len(self.states)].load_state_dict(self.net.state_dict())
        self.n_seen += 1
        return torch.as_tensor(self.net(inputs))


def smoothed_cross_entropy(r: Tensor, y_i: Tensor, y_j: Tensor, *, wrong: float = 0.1) -> Tensor:
    """Compute the cross-entropy of pairs with label smoothing: this fraction is taken as mislabelled."""
    del y_i, y_j
    right = -(1 - wrong) * torch.log((1 + r) / 2 + 1e-9)
    return right - wrong * torch.log((1 - r) / 2 + 1e-9)


@dataclass(frozen=True)
class MixedCost(ObjectiveCost):
    """A cost in which another objective replaces half of the labels' weight; the teacher's is unchanged."""

    other: Objective = field(default_factory=Objective)

    def __call__(self, scores: Tensor, batch: Batch, *, seed: int, progress: float) -> float:
        """Call `backward` on the scores and return the cost."""
        leaf = scores.detach().requires_grad_()
        cost = super().__call__(leaf, batch, seed=seed, progress=progress)
        weights = {"query_weight": batch.query_weight, "document_weight": batch.document_weight}
        own, other = (
            objective(scores.detach().numpy(), batch.classes, seed=seed, **weights)
            for objective in (self.objective, self.other)
        )
        half = (1 - self.teacher_weight) / 2  # teacher_weight is 0 without a teacher
        change = half * (other.gradient - own.gradient)
        scores.backward(torch.as_tensor(leaf.grad) + torch.from_numpy(change))  # type: ignore[no-untyped-call]
        return cost + half * (other.cost - own.cost)


class MixedCosts(DirectRanker):
    """The default with half of the labels' weight on another objective."""

    other = Objective("softmax", reduction="queries")

    def _build_cost(self) -> MixedCost:
        return MixedCost(self._build_objective(), self.max_pairs, other=self.other)


class AllAndNeighbours(MixedCosts):
    """Half of the weight on all pairs, half on pairs of adjacent classes."""

    other = Objective(pairs="adjacent", reduction="root")


def make_teacher_trees(random_state: int, metric: Any) -> LambdaMART:
    """Make the trees that the default uses as its teacher."""
    return LambdaMART(
        pair_weight=None, num_leaves=15, learning_rate=0.1, random_state=random_state, metric=metric
    )


class Blended:
    """A weighted mean of the scores of the default and of trees, on one scale."""

    def __init__(self, *, random_state: int, metric: Any, weight: float) -> None:
        self.net = DirectRanker(random_state=random_state, metric=metric)
        self.trees = make_teacher_trees(random_state, metric)
        self.weight = weight

    def fit(self, train: RankingDataset, *, eval_set: RankingDataset) -> Blended:
        """Fit both."""
        self.net.fit(train, eval_set=eval_set)
        self.trees.fit(train, eval_set=eval_set)
        return self

    def predict(self, data: RankingDataset) -> Scores:
        """Compute the weighted mean of both scores."""
        query = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
        scores = (ranker.predict(data) for ranker in (self.net, self.trees))
        net, trees = (each / (within_query_deviation(each, query) or 1.0) for each in scores)
        return np.asarray((1 - self.weight) * net + self.weight * trees)


class Stacked:
    """The default with the score of trees as one more feature; out-of-fold scores in training."""

    def __init__(self, *, random_state: int, metric: Any) -> None:
        self.net = DirectRanker(random_state=random_state, metric=metric)
        self.trees = make_teacher_trees(random_state, metric)
        self.seed = random_state

    def fit(self, train: RankingDataset, *, eval_set: RankingDataset) -> Stacked:
        """Fit trees on all of train for later data; out-of-fold trees score train itself."""
        self.trees.fit(train, eval_set=eval_set)
        splits = [
            TrainingData(split.features, None, split.relevance, split.offsets) for split in (train, eval_set)
        ]
        teacher = resolve_teacher("trees", splits[0])
        if teacher is None:
            raise ValueError('there is no teacher "trees"')
        out_of_fold = compute_soft_targets(
            teacher, splits[0], splits[1], seed=self.seed, progress=False
        ).logits
        later = self.trees.predict(eval_set)
        out_of_fold = out_of_fold * (later.std() / max(out_of_fold.std(), 1e-12))  # to one scale
        self.net.fit(add_feature(train, out_of_fold), eval_set=add_feature(eval_set, later))
        return self

    def predict(self, data: RankingDataset) -> Scores:
        """Compute the scores of the net."""
        return np.asarray(self.net.predict(add_feature(data, self.trees.predict(data))))


def add_feature(data: RankingDataset, column: Scores) -> RankingDataset:
    """Return the data with one more feature."""
    features = np.column_stack([data.features, column]).astype(np.float32)
    return replace(data, features=features, feature_names=())
