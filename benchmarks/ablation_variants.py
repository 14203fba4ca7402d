"""Changes of the default DirectRanker that none of its parameters makes, for `ablation.py`.

Other nets go in by `feature_net`, other costs by a subclass. Where trees stand beside the net, what it learns
from are scores of trees that have not seen the query.
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
    "perceptron",
    "smoothed_cross_entropy",
    "with_net",
]

WIDTH, DROPOUT, N_BINS = 256, 0.5, 16  # those of the default
Scores = NDArray[np.floating[Any]]


def with_net(net: Any, **changes: Any) -> partial[DirectRanker]:
    """The default with this feature net; its teacher is named, as "auto" has none for nets of one's own."""
    return partial(DirectRanker, feature_net=net, teacher="trees", **changes)


def perceptron(n_inputs: int) -> nn.Sequential:
    """The default's feature net."""
    return nn.Sequential(nn.Linear(n_inputs, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT))


class Noisy(nn.Module):
    """The default's net, whose inputs are a little off in training."""

    def __init__(self, n_inputs: int, deviation: float) -> None:
        super().__init__()
        self.net = perceptron(n_inputs)
        self.deviation = deviation

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of documents, (n, width)."""
        if self.training:
            inputs = inputs + self.deviation * torch.randn_like(inputs)
        features: Tensor = self.net(inputs)
        return features


class Residual(nn.Module):
    """The default's net and a second layer that is added to the first."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.first, self.second = perceptron(n_inputs), perceptron(WIDTH)

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of documents, (n, width)."""
        features: Tensor = self.first(inputs)
        added: Tensor = self.second(features)
        return features + added


class LearnedBins(nn.Module):
    """Piecewise-linear bins whose edges are learnt, for features that are normal with deviation 1/3."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        edges = torch.special.ndtri(torch.linspace(0.01, 0.99, N_BINS + 1)) / 3
        self.low = nn.Parameter(edges[:-1].repeat(n_inputs, 1))
        self.log_width = nn.Parameter(edges.diff().log().repeat(n_inputs, 1))
        self.rest = perceptron(n_inputs * N_BINS)

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of documents, (n, width)."""
        filled = ((inputs[:, :, None] - self.low) / self.log_width.exp()).clamp(0, 1)  # (n, inputs, bins)
        features: Tensor = self.rest(filled.flatten(1))
        return features


class Periodic(nn.Module):
    """Sines and cosines of each feature with learnt frequencies, beside the feature itself."""

    def __init__(self, n_inputs: int, deviation: float = 0.1) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(deviation * torch.randn(n_inputs, N_BINS // 2))
        self.rest = perceptron(n_inputs * (N_BINS + 1))

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of documents, (n, width)."""
        angles = 2 * torch.pi * (inputs[:, :, None] * self.frequencies).flatten(1)
        features: Tensor = self.rest(torch.cat([inputs, angles.sin(), angles.cos()], dim=1))
        return features


class RunningMean(nn.Module):
    """The default's net up to its score; what is evaluated has a running mean of its weights."""

    def __init__(self, n_inputs: int, decay: float) -> None:
        super().__init__()
        self.net = nn.Sequential(*perceptron(n_inputs), nn.Linear(WIDTH, 1, bias=False))
        self.mean = copy.deepcopy(self.net).requires_grad_(requires_grad=False)
        self.decay = decay
        self.n_seen = 0

    def forward(self, inputs: Tensor) -> Tensor:
        """The score as the one feature, (n, 1)."""
        if not self.training:
            return torch.as_tensor(self.mean(inputs))
        share = max(1 - self.decay, 1 / (1 + self.n_seen))  # at first the plain mean
        self.n_seen += 1
        with torch.no_grad():
            for mean, now in zip(self.mean.parameters(), self.net.parameters(), strict=True):
                mean.lerp_(now, share)
        return torch.as_tensor(self.net(inputs))


class Snapshots(nn.Module):
    """The default's net up to its score; what is evaluated is its mean with a few earlier states."""

    def __init__(self, n_inputs: int, n_steps: int, n_states: int = 4) -> None:
        super().__init__()
        self.net = nn.Sequential(*perceptron(n_inputs), nn.Linear(WIDTH, 1, bias=False))
        states = [copy.deepcopy(self.net).requires_grad_(requires_grad=False) for _ in range(n_states)]
        self.states = nn.ModuleList(states)
        self.n_steps = n_steps
        self.n_seen: Tensor  # with the weights, as the best epoch's come back at the end
        self.register_buffer("n_seen", torch.zeros((), dtype=torch.int64))

    def forward(self, inputs: Tensor) -> Tensor:
        """The score as the one feature, (n, 1)."""
        if not self.training:
            states = [self.net, *self.states[: max(0, int(self.n_seen) - 1) // self.n_steps]]
            return torch.stack([state(inputs) for state in states]).mean(dim=0)
        n_kept, rest = divmod(int(self.n_seen), self.n_steps)
        if n_kept and not rest:
            self.states[(n_kept - 1) % len(self.states)].load_state_dict(self.net.state_dict())
        self.n_seen += 1
        return torch.as_tensor(self.net(inputs))


def smoothed_cross_entropy(r: Tensor, y_i: Tensor, y_j: Tensor, *, wrong: float = 0.1) -> Tensor:
    """Cross-entropy of pairs of which this share is thought to be labelled the wrong way round."""
    del y_i, y_j
    right = -(1 - wrong) * torch.log((1 + r) / 2 + 1e-9)
    return right - wrong * torch.log((1 - r) / 2 + 1e-9)


@dataclass(frozen=True)
class MixedCost(ObjectiveCost):
    """A cost of which half of what labels say is another objective's; the teacher's share stays."""

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
        half = (1 - self.teacher_weight) / 2  # the share is 0 where there is no teacher
        change = half * (other.gradient - own.gradient)
        scores.backward(torch.as_tensor(leaf.grad) + torch.from_numpy(change))  # type: ignore[no-untyped-call]
        return cost + half * (other.cost - own.cost)


class MixedCosts(DirectRanker):
    """The default with half of what labels say from another objective."""

    other = Objective("softmax", reduction="queries")

    def _build_cost(self) -> MixedCost:
        return MixedCost(self._build_objective(), self.max_pairs, other=self.other)


class AllAndNeighbours(MixedCosts):
    """Half from all pairs, half from those of neighbouring classes."""

    other = Objective(pairs="adjacent", reduction="root")


def even_trees(random_state: int, metric: Any) -> LambdaMART:
    """The trees that teach the default."""
    return LambdaMART(
        pair_weight=None, num_leaves=15, learning_rate=0.1, random_state=random_state, metric=metric
    )


class Blended:
    """The default and trees beside each other: this share of the scores, on one scale, is the trees'."""

    def __init__(self, *, random_state: int, metric: Any, share: float) -> None:
        self.net = DirectRanker(random_state=random_state, metric=metric)
        self.trees = even_trees(random_state, metric)
        self.share = share

    def fit(self, train: RankingDataset, *, eval_set: RankingDataset) -> Blended:
        """Fit both."""
        self.net.fit(train, eval_set=eval_set)
        self.trees.fit(train, eval_set=eval_set)
        return self

    def predict(self, data: RankingDataset) -> Scores:
        """The mixture of both scores."""
        query = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
        scores = (one.predict(data) for one in (self.net, self.trees))
        net, trees = (one / (within_query_deviation(one, query) or 1.0) for one in scores)
        return np.asarray((1 - self.share) * net + self.share * trees)


class Stacked:
    """The default with the trees' score as one more feature; in training, of trees that have not seen it."""

    def __init__(self, *, random_state: int, metric: Any) -> None:
        self.net = DirectRanker(random_state=random_state, metric=metric)
        self.trees = even_trees(random_state, metric)
        self.seed = random_state

    def fit(self, train: RankingDataset, *, eval_set: RankingDataset) -> Stacked:
        """Trees on all of train score what comes later, out-of-fold trees score train itself."""
        self.trees.fit(train, eval_set=eval_set)
        parts = [TrainingData.from_dataset(part) for part in (train, eval_set)]
        teacher = resolve_teacher("trees", parts[0])
        if teacher is None:
            raise ValueError("trees are a teacher")
        unseen = compute_soft_targets(teacher, parts[0], parts[1], seed=self.seed, progress=False).logits
        later = self.trees.predict(eval_set)
        unseen = unseen * (later.std() / max(unseen.std(), 1e-12))  # both are unseen, so on one scale
        self.net.fit(with_feature(train, unseen), eval_set=with_feature(eval_set, later))
        return self

    def predict(self, data: RankingDataset) -> Scores:
        """The net's scores."""
        return np.asarray(self.net.predict(with_feature(data, self.trees.predict(data))))


def with_feature(data: RankingDataset, column: Scores) -> RankingDataset:
    """The data with one more feature."""
    features = np.column_stack([data.features, column]).astype(np.float32)
    return replace(data, features=features, feature_names=())
