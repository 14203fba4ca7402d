"""The objective as the training loop calls it: from scores of the net to their gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch

from directranker.costs import Objective, torch_objective
from directranker.costs.soft_targets import SoftTargets
from directranker.training.batches import Batch, grow_exponentially

__all__ = ["ObjectiveCost"]


@dataclass(frozen=True)
class ObjectiveCost:
    """Cost and backward pass of a batch, by the compiled kernel where the scores are on the CPU.

    `max_pairs` can grow during training, as in the paper's schedule. The soft targets of a teacher have the
    weight `teacher_weight` in the cost.
    """

    objective: Objective
    max_pairs: int | tuple[int, int] | None = None
    soft_targets: SoftTargets | None = None
    teacher_weight: float = 0.0

    def __call__(self, scores: torch.Tensor, batch: Batch, *, seed: int, progress: float) -> float:
        """Call `backward` on the scores and return the cost."""
        objective = self.objective
        if self.max_pairs is not None:
            objective = _limit_pairs(objective, max(1, round(grow_exponentially(self.max_pairs, progress))))
        weights = {"query_weight": batch.query_weight, "document_weight": batch.document_weight}
        if scores.device.type != "cpu" or not objective.is_compiled:
            return self._run_torch(objective, scores, batch, weights, seed)
        result = objective(scores.detach().numpy(), batch.classes, seed=seed, **weights)
        cost, gradient = result.cost, result.gradient
        if self.soft_targets is not None:
            weight, targets = self.teacher_weight, self.soft_targets.take(batch.rows)
            soft_cost, soft_gradient = targets(scores.detach().numpy(), batch.offsets, **weights)
            cost = (1 - weight) * cost + weight * soft_cost
            gradient = ((1 - weight) * gradient + weight * soft_gradient).astype(gradient.dtype)
        scores.backward(torch.from_numpy(gradient))  # type: ignore[no-untyped-call]
        return cost

    def _run_torch(
        self, objective: Objective, scores: torch.Tensor, batch: Batch, weights: dict[str, Any], seed: int
    ) -> float:
        cost = torch_objective(objective, scores, batch.classes, seed=seed, **weights)
        if self.soft_targets is not None:
            soft_cost = self.soft_targets.take(batch.rows).compute_tensor_cost(
                scores, batch.offsets, **weights
            )
            cost = (1 - self.teacher_weight) * cost + self.teacher_weight * soft_cost
        if cost.requires_grad:
            cost.backward()  # type: ignore[no-untyped-call]
        return float(cost.detach())


@lru_cache(maxsize=256)
def _limit_pairs(objective: Objective, max_pairs: int) -> Objective:
    return replace(objective, max_pairs=max_pairs)
