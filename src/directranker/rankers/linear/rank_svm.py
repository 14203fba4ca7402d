"""RankSVM: a linear ranker with a margin between the documents of each pair, solved to optimality.

    minimise  alpha/2 ‖w‖² + Σ over pairs of weight · max(0, 1 − w·(x_i − x_j))²     x_i the more relevant

Herbrich, Graepel, Obermayer, Large Margin Rank Boundaries for Ordinal Regression, 2000; Joachims, Optimizing
Search Engines using Clickthrough Data, 2002; with the squared hinge as in Chapelle and Keerthi, Efficient
Algorithms for Ranking with SVMs, 2010. Pairs exist only inside the cost: L-BFGS sees one score per document.

>>> from directranker.data.synthetic import example_dataset
>>> train, test = example_dataset().split(0.7, random_state=0)
>>> ranker = RankSVM().fit(train)
>>> ranker.score(test) > 0.6, ranker.gap_ < 1e-3
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from directranker.arrays import Features, FloatArray
from directranker.costs import Objective
from directranker.costs.execution import compute_cost
from directranker.costs.plans import CostPlan, plan_cost
from directranker.errors import TrainingWarning, warn_caller
from directranker.parameters import CALLBACKS, PROGRESS, above, instance_of, integer
from directranker.rankers.base import as_seed
from directranker.rankers.linear.base import LinearRanker, RandomState
from directranker.rankers.linear.weighted_sums import score_rows, sum_rows
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.suggestions import describe_unknown_name
from directranker.training.data import TrainingData
from directranker.training.interrupts import raise_interrupts

__all__ = ["RankSVM"]

COSTS = ("squared_hinge", "hinge")
INITIAL_WIDTH, MIN_WIDTH = 0.5, 1e-7  # of the smoothed corner of the hinge
MIN_DESCENT_FRACTION = 0.1  # of the gap; with less left to descend, only a smaller width helps


class RankSVM(LinearRanker):
    """A linear ranker that maximises the margin between the documents of each pair.

    Parameters
    ----------
    cost
        The cost of a pair with the score difference d in the correct direction: `"squared_hinge"`,
        max(0, 1 − d)², or `"hinge"`, max(0, 1 − d), which takes longer.
    alpha
        The strength of the L2 regularisation, alpha/2 ‖w‖². With `reduction="sum"` it is 1/C of other SVMs.
    pairs
        `"all"` pairs of different labels, or only pairs of `"adjacent"` labels.
    reduction
        How costs of pairs are reduced: `"queries"` (the mean over queries of the mean over each query's
        pairs), `"pairs"` (the mean over all pairs), `"root"` (in between: queries are weighted by the square
        root of their number of pairs) or `"sum"`.
    transform
        The feature transform: a name (`"auto"`, `"query-min-max"`, …) or a transformer. Fitted on the
        training split alone.
    tol
        Stop when the relative duality gap is at most this: the objective is then within this fraction of its
        minimum.
    max_iter
        The maximum number of L-BFGS iterations.
    random_state
        Seed of the sample of rows on which the transform is fitted if there are very many; nothing else is
        random.
    progress
        Show a progress bar; None shows one if standard error is a terminal.
    callbacks
        Functions that are called with the `RoundRecord` of each iteration.

    Attributes
    ----------
    coef_, transform_
        The weights of the encoded columns, and the fitted transform.
    gap_
        The relative duality gap: the objective is proven to be at most this fraction above its minimum.
    history_
        A `RoundRecord` per iteration; its fitness is the negative objective.
    n_rounds_, stopped_
        The number of iterations, and the reason for stopping: `"converged"` (`gap_` is at most `tol`),
        `"max_iter"`, `"interrupted"`, or `"precision"`, with a warning, if floating-point precision allows no
        better weights.

    An `eval_set` is ignored, because there is no early stopping.

    """

    _rules = {  # noqa: RUF012 - as in the base
        "cost": instance_of("'hinge' or 'squared_hinge'", str),
        "alpha": above(0),
        "pairs": instance_of("'all' or 'adjacent'", str),
        "reduction": instance_of("'queries', 'root', 'pairs' or 'sum'", str),
        "tol": above(0),
        "max_iter": integer(1),
        "progress": PROGRESS,
        "callbacks": CALLBACKS,
    }

    def __init__(
        self,
        *,
        cost: str = "squared_hinge",
        alpha: float = 0.03,
        pairs: str = "all",
        reduction: str = "queries",
        transform: object = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: RandomState = None,
        progress: bool | None = None,
        callbacks: Sequence[Callable[[RoundRecord], None]] = (),
    ) -> None:
        self.cost = cost
        self.alpha = alpha
        self.pairs = pairs
        self.reduction = reduction
        self.transform = transform
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.progress = progress
        self.callbacks = callbacks

    _warm_up_parameters = {"max_iter": 2}  # noqa: RUF012 - as in the contract

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:  # noqa: ARG002
        if self.cost not in COSTS:
            raise ValueError(describe_unknown_name("cost", self.cost, COSTS))
        data = self._fit_transform(data, as_seed(self.random_state))
        rounds = Rounds(type(self).__name__, self.max_iter, progress=self.progress, callbacks=self.callbacks)
        point = self._solve(self._encode_data(data), data, rounds)
        self.coef_, self.gap_ = point.coef, float(point.gap)
        self._set_history(rounds)

    def _solve(self, table: Features, data: TrainingData, rounds: Rounds) -> Point:
        objective = Objective(
            "squared_hinge", head_activation="identity", pairs=self.pairs, reduction=self.reduction
        )
        plan = plan_cost(
            objective,
            data.relevance,
            data.offsets,
            query_weight=data.query_weight,
            document_weight=data.document_weight,
        )
        width = None if self.cost == "squared_hinge" else INITIAL_WIDTH
        problem = MarginProblem(table, plan, objective, self.alpha, width)
        return minimise(problem, rounds, tol=self.tol)


def fit_margin_weights(table: Features, data: TrainingData) -> FloatArray:
    """Fit the weights of a RankSVM with its defaults to encoded features.

    Ctrl-C raises, because these weights are only the start of another training.
    """
    ranker = RankSVM()
    with raise_interrupts():
        return ranker._solve(table, data, Rounds("RankSVM", ranker.max_iter)).coef


@dataclass(frozen=True)
class Point:
    """The objective at some weights; L-BFGS minimises `smooth`, with this gradient."""

    coef: FloatArray
    value: float
    smooth: float
    gradient: FloatArray
    bound: float
    """A value of the dual problem: a lower bound of the objective at any weights."""

    @property
    def gap(self) -> float:
        """The relative duality gap, (value − bound) / bound."""
        if self.bound > 0:
            return (self.value - self.bound) / self.bound
        return np.inf if self.value > 0 else 0.0

    def combine(self, other: Point) -> Point:
        """Return the point with the lower objective, and the higher of both bounds."""
        better = other if other.value <= self.value else self
        return replace(better, bound=max(self.bound, other.bound))


@dataclass(frozen=True)
class MarginProblem:
    """alpha/2 ‖w‖² + the hinge costs of the pairs.

    Without `width` the hinge is squared. With it, the corner of the hinge is smoothed over that width,
    because L-BFGS needs a gradient everywhere: (max(0, 1 − d)² − max(0, 1 − width − d)²) / (2 width), a
    difference of squared hinges.
    """

    table: Features
    plan: CostPlan
    objective: Objective
    alpha: float
    width: float | None = None

    def evaluate(self, coef: FloatArray) -> Point:
        """Compute the objective, its gradient and its lower bound."""
        scores = score_rows(self.table, coef)
        hinge, squares, slopes = self._compute_hinge_sums(scores, 1.0)
        cost, smooth, dual_sum = squares, squares, 2 * hinge - squares
        if self.width is not None:
            inner_hinge, inner_squares, inner_slopes = self._compute_hinge_sums(scores, 1.0 - self.width)
            slopes = (slopes - inner_slopes) / (2 * self.width)
            smooth = (squares - inner_squares) / (2 * self.width)
            cost, dual_sum = hinge, (hinge - inner_hinge) / self.width
        cost_gradient = sum_rows(self.table, slopes)
        penalty = self.alpha / 2 * float(coef @ coef)
        # The dual objective, where a pair's dual variable a is the negative slope of its cost:
        # Σ a − ‖Σ a (x_i − x_j)‖² / (2 alpha), for the squared hinge with Σ (a − a²/4) instead of Σ a.
        bound = dual_sum - float(cost_gradient @ cost_gradient) / (2 * self.alpha)
        return Point(coef, cost + penalty, smooth + penalty, self.alpha * coef + cost_gradient, bound)

    def _compute_hinge_sums(self, scores: FloatArray, margin: float) -> tuple[float, float, FloatArray]:
        """Compute Σ max(0, margin − d), the sum of its squares, and the squares' gradient in the scores."""
        costs, gradient = compute_cost(self.objective, self.plan, scores / margin)
        squares, slopes = margin**2 * float(costs.sum()), margin * gradient.astype(np.float64)
        # Σ slope · score = −2 Σ max(0, margin − d) d, since each pair's slopes are opposite.
        hinge = (squares - float(slopes @ scores) / 2) / margin
        return hinge, squares, slopes


def minimise(problem: MarginProblem, rounds: Rounds, *, tol: float) -> Point:
    """Minimise by L-BFGS, with smaller and smaller widths, until the gap is small or the rounds are over.

    The last widths may be too small for floating-point precision, so the best weights and the highest bound
    of all widths are returned.
    """
    point, has_rounds = problem.evaluate(np.zeros(problem.table.shape[1])), True
    best = point
    with closing(iter(rounds)) as round_numbers:
        next(round_numbers)
        while has_rounds and point.gap > tol:
            point, has_rounds = _run_lbfgs(problem, point.coef, rounds, round_numbers, tol)
            best = best.combine(point)
            if problem.width is None or problem.width < MIN_WIDTH:
                break
            problem = replace(problem, width=problem.width / 4)
    if has_rounds and best.gap <= tol:
        rounds.finish("converged")
    elif has_rounds:
        rounds.finish("precision")
        warn_caller(
            f"RankSVM stopped at gap_={best.gap:.2g}, above tol={tol:g}: floating-point "
            "precision allows no better weights; use a larger tol or alpha, or features of similar scale",
            TrainingWarning,
        )
    return best


def _run_lbfgs(
    problem: MarginProblem, coef: FloatArray, rounds: Rounds, round_numbers: Iterator[int], tol: float
) -> tuple[Point, bool]:
    """Run L-BFGS once; return the final point and whether rounds are left."""
    latest, has_rounds = problem.evaluate(coef), True
    accepted = latest

    def compute_value_and_gradient(weights: FloatArray) -> tuple[float, FloatArray]:
        nonlocal latest
        latest = problem.evaluate(weights.copy())
        return latest.smooth, latest.gradient

    def finish_round(intermediate_result: OptimizeResult) -> None:
        nonlocal accepted, has_rounds
        if not np.array_equal(latest.coef, intermediate_result.x):
            compute_value_and_gradient(intermediate_result.x)
        accepted = latest
        rounds.record(-accepted.value)
        if accepted.gap <= tol:
            rounds.finish("converged")
        has_rounds = next(round_numbers, None) is not None
        max_descent = float(accepted.gradient @ accepted.gradient) / (2 * problem.alpha)
        if not has_rounds or max_descent < MIN_DESCENT_FRACTION * (accepted.value - accepted.bound):
            raise StopIteration

    options = {"maxiter": 10**6, "maxfun": 10**7, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
    minimize(
        compute_value_and_gradient, coef, jac=True, method="L-BFGS-B", callback=finish_round, options=options
    )
    return accepted, has_rounds
