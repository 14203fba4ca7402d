"""From scores in the net to the gradient in the net: the objective as the training loop calls it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from directranker.costs import Objective, torch_objective
from directranker.training.batches import Batch, growing

__all__ = ["ObjectiveCost"]


@dataclass(frozen=True)
class ObjectiveCost:
    """Cost and backward pass of a batch, by the compiled kernel where the scores are on the processor.

    `max_pairs` may grow over the training, as in the paper's schedule.
    """

    objective: Objective
    max_pairs: int | tuple[int, int] | None = None

    def __call__(self, scores: torch.Tensor, batch: Batch, *, seed: int, progress: float) -> float:
        """Call `backward` on the scores and return the cost."""
        objective = self.objective
        if self.max_pairs is not None:
            objective = _capped(objective, max(1, round(growing(self.max_pairs, progress))))
        if scores.device.type != "cpu" or not objective.is_compiled:
            cost = torch_objective(
                objective,
                scores,
                batch.classes,
                query_weight=batch.query_weight,
                document_weight=batch.document_weight,
                seed=seed,
            )
            if cost.requires_grad:
                cost.backward()  # type: ignore[no-untyped-call]
            return float(cost.detach())
        result = objective(
            scores.detach().numpy(),
            batch.classes,
            query_weight=batch.query_weight,
            document_weight=batch.document_weight,
            seed=seed,
        )
        scores.backward(torch.from_numpy(result.gradient))  # type: ignore[no-untyped-call]
        return result.cost


@lru_cache(maxsize=256)
def _capped(objective: Objective, max_pairs: int) -> Objective:
    return replace(objective, max_pairs=max_pairs)
