"""An objective: a cost with its pairs, weights and reduction; a call with scores returns cost and gradient.

>>> objective = Objective("squared_difference", head_activation="tanh", pairs="adjacent")
>>> scores = np.array([0.2, -0.1, 0.4], dtype=np.float32)
>>> result = objective(scores, relevance=[2, 0, 1], offsets=[0, 3])
>>> result.n_pairs, result.gradient.dtype.name  # the pairs (2, 1) and (1, 0)
(2, 'float32')
>>> Objective("cross_entrpy")
Traceback (most recent call last):
ValueError: cost 'cross_entrpy' is unknown; did you mean 'cross_entropy'? Choose from 'squared',
'squared_difference', 'relevance_weighted', 'cross_entropy', 'hinge', 'squared_hinge', 'exponential',
'listnet', 'softmax', 'listmle'
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from directranker.costs.activations import ACTIVATIONS, UNBOUNDED
from directranker.costs.execution import compute_cost
from directranker.costs.list_costs import LIST_COSTS
from directranker.costs.pair_costs import PAIR_COSTS, TorchPairCost
from directranker.costs.plans import check_n_scores, plan_cost
from directranker.costs.reductions import REDUCTIONS
from directranker.costs.tensors import PairTensors, compute_tensor_cost
from directranker.pairs.classes import QueryClasses
from directranker.pairs.pair_table import check_pairs
from directranker.pairs.weights import PairWeight, parse_pair_weight
from directranker.suggestions import describe_unknown_name

__all__ = ["Objective", "ObjectiveResult"]


@dataclass(frozen=True)
class ObjectiveResult:
    """A cost and its gradient with respect to the scores, in their order and dtype."""

    cost: float
    gradient: NDArray[np.floating[Any]]
    n_pairs: int
    """The number of compared pairs; 0 for list costs."""
    n_queries: int
    """The number of queries that count in the cost: those that have something to order."""


@dataclass(frozen=True)
class Objective:
    """The function that training minimises; its options are validated on construction.

    The cost, the activation and the weight may be custom functions; torch's autograd then replaces the
    compiled kernel.

    >>> mine = Objective(lambda r, y_i, y_j: (y_i - y_j) * (1 - r) ** 2, head_activation="tanh")
    >>> named = Objective("squared", head_activation="tanh", pair_weight="label_difference")
    >>> scores, labels = np.array([0.3, 0.1, 0.2]), [0, 1, 3]
    >>> abs(mine(scores, labels).cost - named(scores, labels).cost) < 1e-12
    True
    """

    cost: str | TorchPairCost = "cross_entropy"
    """A name of `PAIR_COSTS` or `LIST_COSTS`, or a function of r, y_i and y_j, tensors over pairs."""
    _: KW_ONLY
    head_activation: str | Callable[[Tensor], Tensor] = "half_tanh"
    """τ in r = τ(s_i − s_j): a name of `ACTIVATIONS`, or a function, which is made odd as sign(x) · τ(|x|).
    List costs ignore it."""
    pairs: str = "all"
    """"all" pairs of different labels, or only those of "adjacent" labels among the labels of the query."""
    pair_weight: str | Callable[[PairTensors], Tensor] | None = None
    """None, "label_difference", "delta_ndcg", "delta_ndcg@10" or "delta_map", or a function.

    The gradient treats weights as constants; a mean is not divided by them.
    """
    max_pairs: int | None = None
    """The maximum number of pairs per query. A query with more is represented by this many, sampled with
    replacement, so that cost and gradient are unbiased. With the identity, the squared costs and the hinge
    costs need no limit: they are exact in linear and in n log n time."""
    reduction: str = "queries"
    """"queries": the mean over queries of each query's mean over its pairs; "pairs": the mean over all pairs;
    "root": a compromise, where a query's mean counts by the root of its number of pairs; or the "sum".
    Queries without pairs do not count. List costs take "queries" or "sum"."""
    threshold: float = 1.0
    """The lowest label that "delta_map" counts as relevant."""

    def __post_init__(self) -> None:
        _check_name("cost", self.cost, (*PAIR_COSTS, *LIST_COSTS))
        _check_name("head_activation", self.head_activation, ACTIVATIONS)
        _check_name("reduction", self.reduction, REDUCTIONS, or_function=False)
        check_pairs(self.pairs, self.max_pairs)
        if self.pair_weight is not None and not callable(self.pair_weight):
            parse_pair_weight(self.pair_weight)
        if not np.isfinite(self.threshold):
            raise ValueError(f"threshold is {self.threshold}; pass the lowest label that is relevant")
        if self.cost in LIST_COSTS:
            self._check_list_options()
        if self.cost == "cross_entropy" and self.head_activation in UNBOUNDED:
            raise ValueError(
                "cost 'cross_entropy' takes (1 + r)/2 as a probability, but with head_activation "
                f"{self.head_activation!r} r is unbounded; use 'half_tanh', as RankNet does, or 'tanh'"
            )

    def _check_list_options(self) -> None:
        for name, default in (("pairs", "all"), ("pair_weight", None), ("max_pairs", None)):
            if getattr(self, name) != default:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} does not apply to the list cost {self.cost!r}; "
                    f"leave it out, or use one of {', '.join(map(repr, PAIR_COSTS))}"
                )
        if self.reduction in ("root", "pairs"):
            raise ValueError(
                f"reduction={self.reduction!r}: {self.cost!r} has no pairs; use 'queries' or 'sum'"
            )

    @property
    def is_compiled(self) -> bool:
        """Whether cost, activation and weight are all given by name, so that a compiled kernel exists."""
        return not any(map(callable, (self.cost, self.head_activation, self.pair_weight)))

    @cached_property
    def named_weight(self) -> PairWeight | None:
        """The pair weight, if it is given by name."""
        return parse_pair_weight(self.pair_weight) if isinstance(self.pair_weight, str) else None

    def __call__(
        self,
        scores: NDArray[np.floating[Any]],
        relevance: ArrayLike | QueryClasses,
        offsets: ArrayLike | None = None,
        *,
        query_weight: ArrayLike | None = None,
        document_weight: ArrayLike | None = None,
        seed: int | None = None,
    ) -> ObjectiveResult:
        """Return the cost of float32 or float64 scores and its gradient, summed in float64 on all threads.

        Query q has the rows `offsets[q]:offsets[q + 1]`; without offsets all rows are one query. The result
        of `group_by_label` may replace both, which avoids validating and sorting them again. The weight of a
        pair is its query's weight times those of both documents. `seed` determines the sample where
        `max_pairs` is exceeded. A score that is not finite makes the cost and the gradient of its query nan.
        """
        array = _validate_scores(scores)
        plan = plan_cost(
            self, relevance, offsets, query_weight=query_weight, document_weight=document_weight, seed=seed
        )
        check_n_scores(len(array), plan)
        if self.is_compiled:
            costs, gradient = compute_cost(self, plan, array)
            cost = float(costs.sum())
        else:
            leaf = torch.tensor(array, requires_grad=True)
            total = compute_tensor_cost(self, plan, leaf)
            (slopes,) = torch.autograd.grad(total, leaf)
            cost, gradient = total.item(), slopes.numpy()
        return ObjectiveResult(cost, gradient, int(plan.n_compared.sum()), plan.n_queries)


def _check_name(name: str, value: object, known: Collection[str], *, or_function: bool = True) -> None:
    if or_function and callable(value):
        return
    if not isinstance(value, str) or value not in known:
        raise ValueError(describe_unknown_name(name, value, known))


def _validate_scores(scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    array = np.asarray(scores)
    if array.dtype not in (np.float32, np.float64):
        raise TypeError(f"scores have dtype {array.dtype}; pass float32 or float64")
    if array.ndim != 1:
        raise ValueError(f"scores have shape {array.shape}; pass one score per document, shape (n,)")
    return array
