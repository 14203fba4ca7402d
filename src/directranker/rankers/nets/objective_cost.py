"""From scores in the net to the gradient in the net: the objective as the training loop calls it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch

from directranker.costs import Objective, torch_objective
from directranker.costs.soft_targets import SoftTargets
from directranker.training.batches import Batch, growing

__all__ = ["ObjectiveCost"]


@dataclass(frozen=True)
class ObjectiveCost:
    """Cost and backward pass of a batch, by the compiled kernel where the scores are on the processor.

    `max_pairs` may grow over the training, as in the paper's schedule. Where there is a teacher, its beliefs
    about all documents make up `teacher_weight` of the cost.
    """

    objective: Objective
    max_pairs: int | tuple[int, int] | None = None
    beliefs: SoftTargets | None = None
    teacher_weight: float = 0.0

    def __call__(self, scores: torch.Tensor, batch: Batch, *, seed: int, progress: float) -> float:
        """Call `backward` on the scores and return the cost."""
        objective = self.objective
        if self.max_pairs is not None:
            objective = _capped(objective, max(1, round(growing(self.max_pairs, progress))))
        weights = {"query_weight": batch.query_weight, "document_weight": batch.document_weight}
        if scores.device.type != "cpu" or not objective.is_compiled:
            return self._by_torch(objective, scores, batch, weights, seed)
        result = objective(scores.detach().numpy(), batch.classes, seed=seed, **weights)
        cost, gradient = result.cost, result.gradient
        if self.beliefs is not None:
            share = self.teacher_weight
            taught, slopes = self.beliefs.take(batch.rows)(scores.detach().numpy(), batch.offsets, **weights)
            cost = (1 - share) * cost + share * taught
            gradient = ((1 - share) * gradient + share * slopes).astype(gradient.dtype)
        scores.backward(torch.from_numpy(gradient))  # type: ignore[no-untyped-call]
        return cost

    def _by_torch(
        self, objective: Objective, scores: torch.Tensor, batch: Batch, weights: dict[str, Any], seed: int
    ) -> float:
        cost = torch_objective(objective, scores, batch.classes, seed=seed, **weights)
        if self.beliefs is not None:
            taught = self.beliefs.take(batch.rows).compute_tensor_cost(scores, batch.offsets, **weights)
            cost = (1 - self.teacher_weight) * cost + self.teacher_weight * taught
        if cost.requires_grad:
            cost.backward()  # type: ignore[no-untyped-call]
        return float(cost.detach())


@lru_cache(maxsize=256)
def _capped(objective: Objective, max_pairs: int) -> Objective:
    return replace(objective, max_pairs=max_pairs)
