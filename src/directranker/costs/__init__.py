"""Training objectives: pairwise and listwise costs, each with its exact gradient.

An `Objective` is a cost with its pairs, weights and reduction. A call with one score per document returns the
cost and its exact gradient with respect to the scores, computed by compiled kernels over ragged queries.
`torch_objective` returns the same as a differentiable tensor, for other devices and for custom functions.

>>> import numpy as np
>>> objective = Objective("cross_entropy", pairs="all")
>>> result = objective(np.array([0.0, 0.0, 1.0]), [1, 0, 0])
>>> round(result.cost, 4), result.n_pairs  # (log 2 + log(1 + e)) / 2
(1.0032, 2)
>>> result.gradient.round(4)
array([-0.6155,  0.25  ,  0.3655])
"""

from directranker.costs.activations import ACTIVATIONS
from directranker.costs.list_costs import LIST_COSTS
from directranker.costs.objective import Objective, ObjectiveResult
from directranker.costs.pair_costs import PAIR_COSTS
from directranker.costs.tensors import PairTensors, torch_objective

__all__ = [
    "ACTIVATIONS",
    "LIST_COSTS",
    "PAIR_COSTS",
    "Objective",
    "ObjectiveResult",
    "PairTensors",
    "torch_objective",
]
