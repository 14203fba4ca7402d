"""An objective: a cost, its pairs, its weights and its mean; called with scores, it gives the gradient.

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

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from directranker.costs.activations import ACTIVATIONS, UNBOUNDED
from directranker.costs.batches import REDUCTIONS
from directranker.costs.execution import run_plan
from directranker.costs.list_costs import LIST_COSTS
from directranker.costs.pair_costs import PAIR_COSTS, TorchPairCost
from directranker.costs.plans import check_rows, plan_of
from directranker.costs.tensors import PairTensors, tensor_cost
from directranker.pairs.classes import QueryClasses
from directranker.pairs.pair_table import check_pairs
from directranker.pairs.weights import PairWeight, pair_weight_named
from directranker.suggestions import describe_unknown_name

__all__ = ["Objective", "ObjectiveResult"]


@dataclass(frozen=True)
class ObjectiveResult:
    """A cost and its gradient with respect to the scores, in their order and dtype."""

    cost: float
    gradient: NDArray[np.floating[Any]]
    n_pairs: int
    """How many pairs were compared; 0 for the costs of lists."""
    n_queries: int
    """How many queries count in the cost: those that have pairs, or a list to order."""


@dataclass(frozen=True)
class Objective:
    """What is minimised, checked when it is made.

    A function of your own may stand for the cost, the activation or the weight; it is then computed by
    torch's autograd instead of a compiled kernel.

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
    """τ in r = τ(s_i − s_j): a name of `ACTIVATIONS` or a function, taken as sign(x) · τ(|x|) so that it is
    odd. Costs of lists ignore it."""
    pairs: str = "all"
    """"all" pairs of different labels, or "adjacent" classes only, among the labels of the query."""
    pair_weight: str | Callable[[PairTensors], Tensor] | None = None
    """None, "label_difference", "delta_ndcg", "delta_ndcg@10" or "delta_map", or a function.

    Weights are constants to the gradient, and do not count as weights in a mean.
    """
    max_pairs: int | None = None
    """A query with more pairs is represented by so many, drawn with replacement; cost and gradient are
    right on average. With the identity, the squared costs and the hinges need no cap: they are exact
    in linear and in n log n time."""
    reduction: str = "queries"
    """The mean over "queries" of each one's mean over its pairs, over "pairs" regardless of the query, or
    the "sum"; with "root" the mean of a query counts by the root of its number of pairs, half-way between
    the first two. Queries without pairs do not count. For costs of lists "queries" or "sum"."""
    threshold: float = 1.0
    """The lowest label that is relevant to "delta_map"."""

    def __post_init__(self) -> None:
        _check_word("cost", self.cost, (*PAIR_COSTS, *LIST_COSTS))
        _check_word("head_activation", self.head_activation, ACTIVATIONS)
        _check_word("reduction", self.reduction, REDUCTIONS, or_function=False)
        check_pairs(self.pairs, self.max_pairs)
        if self.pair_weight is not None and not callable(self.pair_weight):
            pair_weight_named(self.pair_weight)
        if not np.isfinite(self.threshold):
            raise ValueError(f"threshold is {self.threshold}; give the lowest label that is relevant")
        if self.cost in LIST_COSTS:
            self._check_list_options()
        if self.cost == "cross_entropy" and self.head_activation in UNBOUNDED:
            raise ValueError(
                "cost 'cross_entropy' takes (1 + r)/2 as a probability, but with head_activation "
                f"{self.head_activation!r} r has no bounds; take 'half_tanh', which is RankNet's, or 'tanh'"
            )

    def _check_list_options(self) -> None:
        for name, default in (("pairs", "all"), ("pair_weight", None), ("max_pairs", None)):
            if getattr(self, name) != default:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} has no meaning for the cost {self.cost!r}, which looks "
                    f"at whole lists; leave it out, or take one of {', '.join(map(repr, PAIR_COSTS))}"
                )
        if self.reduction in ("root", "pairs"):
            raise ValueError(
                f"reduction={self.reduction!r}: {self.cost!r} has no pairs; take 'queries' or 'sum'"
            )

    @property
    def is_compiled(self) -> bool:
        """Whether all parts are named ones, for which there are compiled kernels."""
        return not any(map(callable, (self.cost, self.head_activation, self.pair_weight)))

    @cached_property
    def named_weight(self) -> PairWeight | None:
        """The pair weight, if it is a named one."""
        return pair_weight_named(self.pair_weight) if isinstance(self.pair_weight, str) else None

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
        """The cost of float32 or float64 scores and its gradient, summed in float64 on all threads.

        Query q has the rows `offsets[q]:offsets[q + 1]`; without offsets all rows are one list. Instead of
        both, `classes_of` of them may be given, which spares checking and ordering them again. A pair weighs
        its query's weight times those of both documents. `seed` decides the draws where `max_pairs` is
        exceeded. Scores that are not finite make the cost nan, and the gradient of their query.
        """
        array = _as_scores(scores)
        plan = plan_of(
            self, relevance, offsets, query_weight=query_weight, document_weight=document_weight, seed=seed
        )
        check_rows(len(array), plan)
        if self.is_compiled:
            costs, gradient = run_plan(self, plan, array)
            cost = float(costs.sum())
        else:
            leaf = torch.tensor(array, requires_grad=True)
            total = tensor_cost(self, plan, leaf)
            (slopes,) = torch.autograd.grad(total, leaf)
            cost, gradient = total.item(), slopes.numpy()
        return ObjectiveResult(cost, gradient, int(plan.n_compared.sum()), plan.n_queries)


def _check_word(name: str, word: object, known: Any, *, or_function: bool = True) -> None:
    if or_function and callable(word):
        return
    if not isinstance(word, str) or word not in known:
        raise ValueError(describe_unknown_name(name, word, known))


def _as_scores(scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    array = np.asarray(scores)
    if array.dtype not in (np.float32, np.float64):
        raise TypeError(f"scores have dtype {array.dtype}; give float32 or float64")
    if array.ndim != 1:
        raise ValueError(f"scores have shape {array.shape}; give one score per document, shape (n,)")
    return array
