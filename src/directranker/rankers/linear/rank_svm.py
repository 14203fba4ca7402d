"""RankSVM: a linear scorer that keeps the documents of each pair a margin apart, solved exactly.

    minimise  alpha/2 ‖w‖² + Σ over pairs of weight · max(0, 1 − w·(x_i − x_j))²     x_i the more relevant

Herbrich, Graepel, Obermayer, Large Margin Rank Boundaries for Ordinal Regression, 2000; Joachims, Optimizing
Search Engines using Clickthrough Data, 2002; with the square as in Chapelle and Keerthi, Efficient Algorithms
for Ranking with SVMs, 2010. Pairs exist only inside the cost: L-BFGS sees one score per document.

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
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from directranker.arrays import Features, FloatArray
from directranker.costs import Objective
from directranker.costs.execution import compute_cost
from directranker.costs.plans import CostPlan, plan_cost
from directranker.errors import TrainingWarning, warn_caller
from directranker.parameters import CALLBACKS, PROGRESS, above, instance_of, integer
from directranker.rankers.base import as_seed
from directranker.rankers.linear.base import LinearRanker
from directranker.rankers.linear.weighted_sums import score_rows, sum_rows
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.suggestions import describe_unknown_name
from directranker.training.data import TrainingData
from directranker.training.interrupts import raise_interrupts

__all__ = ["RankSVM"]

COSTS = ("squared_hinge", "hinge")
WIDEST, NARROWEST = 0.5, 1e-7  # of the rounded corner of a hinge
SOLVED = 0.1  # with so little of the gap left to descend, only a narrower corner brings more


class RankSVM(LinearRanker):
    """A linear ranker by a margin between the documents of each pair.

    Parameters
    ----------
    cost
        Of a pair whose scores differ by d in the right direction: `"squared_hinge"`, max(0, 1 − d)², or
        `"hinge"`, max(0, 1 − d), which takes longer.
    alpha
        How much the squared length of the weights counts. With `reduction="sum"` it is 1/C of other SVMs.
    pairs, reduction
        `"all"` pairs of different labels, or `"adjacent"` classes only; the mean over `"queries"` of each
        one's mean, over all `"pairs"`, half-way between by the `"root"` of their number, or the `"sum"`.
    transform
        What becomes of the features first, fitted on the training part alone.
    tol
        End when the objective is at most this share above the least possible one.
    max_iter
        When to end at the latest.
    random_state
        Decides which rows the transform is fitted on, where there are very many; nothing else is random.
    progress
        Show a bar; None where standard error is a terminal.
    callbacks
        Called with the `RoundRecord` of each round.

    Attributes
    ----------
    coef_, transform_
        The weights of the columns that the fitted transform makes.
    gap_
        The objective is at most this share above the least possible one; proven, not estimated.
    history_
        A record per round; its fitness is minus the objective.
    n_rounds_, stopped_
        How many rounds there were, and why it ended: `"converged"` where `gap_` is at most `tol`,
        `"max_iter"`, `"interrupted"`, or, with a warning, `"precision"` where floating-point numbers allow
        no better weights.

    An `eval_set` is not looked at: there is nothing to stop early.

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
        transform: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
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
        self._fit_transform(data, as_seed(self.random_state))
        rounds = Rounds(type(self).__name__, self.max_iter, progress=self.progress, callbacks=self.callbacks)
        point = self._solution(self._encoded(data), data, rounds)
        self.coef_, self.gap_ = point.coef, float(point.gap)
        self.history_ = rounds.history
        self.n_rounds_ = len(rounds.history)
        self.stopped_ = rounds.stopped

    def _solution(self, table: Features, data: TrainingData, rounds: Rounds) -> Point:
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
        width = None if self.cost == "squared_hinge" else WIDEST
        problem = MarginProblem(table, plan, objective, self.alpha, width)
        return solve(problem, rounds, tol=self.tol)


def margin_weights(table: Features, data: TrainingData) -> FloatArray:
    """The weights of a RankSVM with its defaults, of features that are encoded already.

    Ctrl-C raises: these weights are only a start, and whoever asked for them would go on.
    """
    ranker = RankSVM()
    with raise_interrupts():
        return ranker._solution(table, data, Rounds("RankSVM", ranker.max_iter)).coef


@dataclass(frozen=True)
class Point:
    """The objective at some weights; `smooth` is what L-BFGS sees of it, with its gradient."""

    coef: FloatArray
    value: float
    smooth: float
    gradient: FloatArray
    bound: float
    """No weights have an objective below this; it is a value of the dual problem."""

    @property
    def gap(self) -> float:
        """By which share the objective is above the bound."""
        if self.bound > 0:
            return (self.value - self.bound) / self.bound
        return np.inf if self.value > 0 else 0.0

    def better_of(self, other: Point) -> Point:
        """The weights of the lower objective, with the higher of both bounds."""
        better = other if other.value <= self.value else self
        return replace(better, bound=max(self.bound, other.bound))


@dataclass(frozen=True)
class MarginProblem:
    """alpha/2 ‖w‖² + the hinge costs of the pairs.

    Without `width` the hinge is squared. With it, its corner is rounded off by that much, for L-BFGS needs a
    slope everywhere: (max(0, 1 − d)² − max(0, 1 − width − d)²) / (2 width), a difference of squared hinges.
    """

    table: Features
    plan: CostPlan
    objective: Objective
    alpha: float
    width: float | None = None

    def at(self, coef: FloatArray) -> Point:
        """The objective, its gradient and its gap."""
        scores = score_rows(self.table, coef)
        missing, squares, slopes = self._beyond(scores, 1.0)
        cost, smooth, pull = squares, squares, 2 * missing - squares
        if self.width is not None:
            inner, inner_squares, inner_slopes = self._beyond(scores, 1.0 - self.width)
            slopes = (slopes - inner_slopes) / (2 * self.width)
            smooth = (squares - inner_squares) / (2 * self.width)
            cost, pull = missing, (missing - inner) / self.width
        outward = sum_rows(self.table, slopes)
        length = self.alpha / 2 * float(coef @ coef)
        # The dual: each pair pulls by the slope of its cost, and Σ pulls − ‖Σ pull (x_i − x_j)‖² / (2 alpha).
        bound = pull - float(outward @ outward) / (2 * self.alpha)
        return Point(coef, cost + length, smooth + length, self.alpha * coef + outward, bound)

    def _beyond(self, scores: FloatArray, margin: float) -> tuple[float, float, FloatArray]:
        """What pairs miss of a margin, summed; its squares, summed; and their slopes in the scores."""
        costs, gradient = compute_cost(self.objective, self.plan, scores / margin)
        squares, slopes = margin**2 * float(costs.sum()), margin * gradient.astype(np.float64)
        # Σ slope · score = −2 Σ max(0, margin − d) d, since each pair's slopes are opposite.
        missing = (squares - float(slopes @ scores) / 2) / margin
        return missing, squares, slopes


def solve(problem: MarginProblem, rounds: Rounds, *, tol: float) -> Point:
    """Minimise by L-BFGS until the gap is small enough or the rounds are over; narrower corners by and by.

    The last corners may be too narrow for the precision of numbers, so the best weights and the highest bound
    of all corners are returned.
    """
    point, goes_on = problem.at(np.zeros(problem.table.shape[1])), True
    best = point
    with closing(iter(rounds)) as turns:
        next(turns)
        while goes_on and point.gap > tol:
            point, goes_on = _descend(problem, point.coef, rounds, turns, tol)
            best = best.better_of(point)
            if problem.width is None or problem.width < NARROWEST:
                break
            problem = replace(problem, width=problem.width / 4)
    if goes_on and best.gap <= tol:
        rounds.finish("converged")
    elif goes_on:
        rounds.finish("precision")
        warn_caller(
            f"RankSVM stopped at gap_={best.gap:.2g}, above tol={tol:g}: floating-point "
            "precision allows no better weights; take a larger tol or alpha, or features of similar scale",
            TrainingWarning,
        )
    return best


def _descend(
    problem: MarginProblem, coef: FloatArray, rounds: Rounds, turns: Iterator[int], tol: float
) -> tuple[Point, bool]:
    """One run of L-BFGS → where it ended, and whether the rounds go on."""
    latest, goes_on = problem.at(coef), True
    accepted = latest

    def value_and_gradient(weights: FloatArray) -> tuple[float, FloatArray]:
        nonlocal latest
        latest = problem.at(weights.copy())
        return latest.smooth, latest.gradient

    def after_round(intermediate_result: OptimizeResult) -> None:
        nonlocal accepted, goes_on
        if not np.array_equal(latest.coef, intermediate_result.x):
            value_and_gradient(intermediate_result.x)
        accepted = latest
        rounds.record(-accepted.value)
        if accepted.gap <= tol:
            rounds.finish("converged")
        goes_on = next(turns, None) is not None
        left = float(accepted.gradient @ accepted.gradient) / (2 * problem.alpha)
        if not goes_on or left < SOLVED * (accepted.value - accepted.bound):
            raise StopIteration

    options = {"maxiter": 10**6, "maxfun": 10**7, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
    minimize(value_and_gradient, coef, jac=True, method="L-BFGS-B", callback=after_round, options=options)
    return accepted, goes_on
