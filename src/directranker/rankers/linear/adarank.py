"""AdaRank: boosting of single features on a metric.

Xu and Li: AdaRank: a boosting algorithm for information retrieval (SIGIR 2007). A weak ranker is one
feature; the one of the best metric E under the query weights P is added with
α = ½ ln(Σ P(1 + E) / Σ P(1 − E)), and the queries that the ensemble ranks badly weigh more from then on:
P ∝ exp(−E of the ensemble).

>>> from directranker.data.synthetic import example_dataset
>>> train, test = example_dataset().split(0.7, random_state=0)
>>> ranker = AdaRank(random_state=0).fit(train)
>>> ranker.score(test) > 0.6
True
>>> bool(ranker.coef_[ranker.features_[0]] >= ranker.alphas_[0] > 0)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from directranker.arrays import FloatArray
from directranker.errors import TrainingWarning, warn_caller
from directranker.metrics import Metric
from directranker.parameters import BOOLEAN, CALLBACKS, FINITE, PROGRESS, between, integer, or_none
from directranker.rankers.base import as_metric, as_seed
from directranker.rankers.linear.metric_optimisation import MetricOptimizingRanker
from directranker.rankers.linear.scored_split import ScoredSplit
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.training.data import TrainingData

__all__ = ["AdaRank"]

ROUNDING = 1e-12  # a metric may differ by this much between two ways to add it up
STRONGEST = 1 - 1e-12  # a feature that ranks everything right would weigh infinitely much


class AdaRank(MetricOptimizingRanker):
    """Rank by a weighted sum of features that are picked one by one, each for the queries still ranked badly.

    Parameters
    ----------
    metric
        What is boosted on, between 0 and 1: `"ndcg@10"`, `"map"`, … in the paper's convention, by which
        labels from 1 on are relevant, `"ndcg@10:graded"`, or a `Metric`.
    max_iter
        How many picks at the most.
    tol
        A pick that lowers the metric on the training part by this much or more is taken back and its
        feature set aside until another pick changes the metric; None keeps every pick.
    max_consecutive
        After so many picks in a row a feature is set aside likewise; None: never.
    cumulative
        Multiply the query weights by exp(−α E of the ensemble) in each round, as RankLib does; False takes
        exp(−E) anew, as published, where no query ever weighs more than e times another.
    negative
        Let features rank by their negative values too.
    transform
        What becomes of the features first: a name (`"auto"`, `"query-min-max"`, …) or a transformer; fitted
        on the training part alone. It should bring features to one scale, as α does not know theirs.
    early_stopping, patience, validation_fraction
        Stop after `patience` rounds without a better metric on the `eval_set`, or on this fraction of the
        queries that is then held out, and keep the best round. With `early_stopping=False` all rounds are
        kept, nothing is held out, and the metric on an `eval_set` is only recorded in `history_`.
    random_state
        Draws the held-out queries; nothing else is random.
    progress
        Show a bar; None where standard error is a terminal.
    callbacks
        Called with the `RoundRecord` of each round.

    Attributes
    ----------
    features_, alphas_
        The picks that were kept: column of the transformed features and α, negative where its values are.
    coef_, transform_
        The sum of each feature's α, and the fitted transform. All 0, with a warning, where no feature helps.
    history_
        A record per round: the metric on both parts, seconds.
    n_rounds_, best_round_, stopped_
        How many rounds there were, which one is kept, and why it ended.

    """

    _rules = {  # noqa: RUF012 - as in the base
        "max_iter": integer(1),
        "tol": or_none(FINITE),
        "max_consecutive": or_none(integer(1)),
        "cumulative": BOOLEAN,
        "negative": BOOLEAN,
        "early_stopping": BOOLEAN,
        "patience": integer(1),
        "validation_fraction": between(0, 1),
        "progress": PROGRESS,
        "callbacks": CALLBACKS,
    }

    def __init__(
        self,
        *,
        metric: str | Metric = "ndcg@10:graded",
        max_iter: int = 500,
        tol: float | None = 0.002,
        max_consecutive: int | None = 2,
        cumulative: bool = True,
        negative: bool = False,
        transform: Any = "auto",
        early_stopping: bool = True,
        patience: int = 50,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        progress: bool | None = None,
        callbacks: Sequence[Callable[[RoundRecord], None]] = (),
    ) -> None:
        self.metric = metric
        self.max_iter = max_iter
        self.tol = tol
        self.max_consecutive = max_consecutive
        self.cumulative = cumulative
        self.negative = negative
        self.transform = transform
        self.early_stopping = early_stopping
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.progress = progress
        self.callbacks = callbacks

    @classmethod
    def published(cls, **changes: Any) -> Self:
        """The algorithm as published, without what RankLib and validation add to it.

        It goes on with one feature for ever once that is picked twice in a row: the order stays as it is,
        and so do the weights of the queries.

        >>> AdaRank.published(metric="map").cumulative
        False
        """
        as_published: dict[str, Any] = {
            "tol": None,
            "max_consecutive": None,
            "cumulative": False,
            "negative": False,
            "early_stopping": False,
        }
        return cls(**{**as_published, **changes})

    _warm_up_parameters = {"max_iter": 2}  # noqa: RUF012 - as in the contract

    def _parameters_for_metric(self, metric: Metric) -> dict[str, Any]:
        return {} if metric.measure == "dcg" else super()._parameters_for_metric(metric)

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        self._check_metric()
        boosting = Boosting(
            *self._scored_parts(data, validation, as_seed(self.random_state)),
            negative=self.negative,
            cumulative=self.cumulative,
        )
        rounds = Rounds(
            type(self).__name__,
            self.max_iter,
            patience=self.patience if self.early_stopping else None,
            progress=self.progress,
            callbacks=self.callbacks,
        )
        set_aside: set[int] = set()
        n_picks = []  # after each round
        for _ in rounds:
            step = boosting.strongest_step(set_aside)
            if self.tol is not None and step.fitness <= boosting.fitness - self.tol:
                set_aside.add(step.pick)
            else:
                if abs(step.fitness - boosting.fitness) > ROUNDING:
                    set_aside.clear()
                boosting.take(step)
                if self._is_worn_out(boosting.picks):
                    set_aside.add(step.pick)
            n_picks.append(len(boosting.picks))
            rounds.record(boosting.fitness, boosting.metric())
            if len(set_aside) == boosting.n_candidates:
                rounds.finish("converged")
        self.best_round_ = rounds.best if self.early_stopping else len(n_picks)
        self._keep(boosting, n_picks[self.best_round_ - 1])
        self.history_ = rounds.history
        self.n_rounds_ = len(rounds.history)
        self.stopped_ = rounds.stopped

    def _check_metric(self) -> None:
        if as_metric(self.metric).measure == "dcg":
            raise ValueError(
                "metric is dcg, which has no upper bound; AdaRank needs one up to 1, as ndcg has"
            )

    def _is_worn_out(self, picks: Sequence[int]) -> bool:
        """Whether the last pick was made as often in a row as it may."""
        most = self.max_consecutive
        return most is not None and len(picks) >= most and len(set(picks[-most:])) == 1

    def _keep(self, boosting: Boosting, n_picks: int) -> None:
        n_columns = boosting.n_columns
        picks = np.array(boosting.picks[:n_picks], dtype=np.int64)
        alphas = np.array(boosting.alphas[:n_picks], dtype=np.float64)
        self.features_ = picks % n_columns
        self.alphas_ = np.where(picks < n_columns, alphas, -alphas)
        self.coef_ = np.bincount(self.features_, self.alphas_, n_columns).astype(np.float64)
        if not self.coef_.any():
            warn_caller(
                f"AdaRank kept no feature, so all {n_columns} weights are 0 and every document has the same "
                f"score: no single feature orders the queries better by {as_metric(self.metric)} than equal "
                "scores do. Check labels and qid; then try negative=True, a larger tol, or another "
                "ranker",
                TrainingWarning,
            )


@dataclass(frozen=True)
class Step:
    """A candidate that may be added, and the metric on the training part if it is."""

    pick: int
    alpha: float
    values: FloatArray
    """Of each query."""
    fitness: float


class Boosting:
    """The ensemble so far, and how much each query weighs.

    Candidates are the columns and, where asked for, behind them their negatives.
    """

    def __init__(
        self, train: ScoredSplit, held_out: ScoredSplit | None, *, negative: bool, cumulative: bool
    ) -> None:
        self._train, self._held_out, self._cumulative = train, held_out, cumulative
        signs = (1.0, -1.0) if negative else (1.0,)
        self._table = np.concatenate([train.per_column(sign) for sign in signs])  # (n_candidates, n_queries)
        self.n_columns, self.n_candidates = train.columns.n_columns, len(self._table)
        self.picks: list[int] = []
        self.alphas: list[float] = []
        self.fitness = train.fitness()
        self._query_weights = train.weights

    def strongest_step(self, set_aside: set[int]) -> Step:
        """What the candidate of the best weighted metric, among those not set aside, would bring."""
        strengths = self._table @ self._query_weights
        strengths[list(set_aside)] = -np.inf
        pick = int(strengths.argmax())
        strength = min(strengths[pick], STRONGEST)
        alpha = 0.5 * math.log((1 + strength) / (1 - strength))
        column, sign = self._column_and_sign(pick)
        self._promising = np.argsort(-strengths) % self.n_columns
        values = self._train.per_query_after(column, sign * alpha, self._promising)
        return Step(pick, alpha, values, float(values @ self._train.weights))

    def take(self, step: Step) -> None:
        """Add a step to the ensemble, and weigh the queries anew."""
        self.picks.append(step.pick)
        self.alphas.append(step.alpha)
        self.fitness = step.fitness
        column, sign = self._column_and_sign(step.pick)
        for part in (self._train, self._held_out):
            if part is not None:
                part.add(column, sign * step.alpha, self._promising)
        if self._cumulative:
            weights = self._query_weights * np.exp(-step.alpha * step.values)
        else:
            weights = self._train.weights * np.exp(-step.values)
        self._query_weights = weights / weights.sum()

    def metric(self) -> float | None:
        """The metric on the validation part."""
        return None if self._held_out is None else self._held_out.fitness()

    def _column_and_sign(self, pick: int) -> tuple[int, float]:
        return pick % self.n_columns, 1.0 if pick < self.n_columns else -1.0
