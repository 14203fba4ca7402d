"""AdaRank: boosting of single features on a metric.

Xu and Li: AdaRank: a boosting algorithm for information retrieval (SIGIR 2007). A weak ranker is a single
feature. Each round adds the feature with the best metric E under the query weights P, with the weight
α = ½ ln(Σ P(1 + E) / Σ P(1 − E)), and then increases the weight of queries that the ensemble ranks badly:
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
from directranker.rankers.linear.base import RandomState
from directranker.rankers.linear.metric_optimisation import MetricOptimizingRanker
from directranker.rankers.linear.scored_split import ScoredSplit
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.training.data import TrainingData

__all__ = ["AdaRank"]

ROUNDING_ERROR = 1e-12  # two ways to sum a metric may differ by this much
MAX_STRENGTH = 1 - 1e-12  # the α of a perfect feature would be infinite


class AdaRank(MetricOptimizingRanker):
    """A linear ranker that boosts single features, each chosen for the queries that are still ranked badly.

    Parameters
    ----------
    metric
        The metric to maximise on the training split, bounded by 1: `"ndcg@10"`, `"map"`, … in the paper's
        convention (labels of at least 1 are relevant), `"ndcg@10:graded"`, or a `Metric`.
    max_iter
        The maximum number of rounds; each adds at most one feature.
    tol
        Reject a feature that lowers the metric on the training split by at least this much, and exclude it
        until another feature changes the metric. None accepts every feature.
    max_consecutive
        Exclude a feature in the same way after it was added this many times in a row. None never does.
    cumulative
        True multiplies the query weights by exp(−α E of the ensemble) in each round, as RankLib does. False
        resets them to exp(−E), as published; then no query ever weighs more than e times another.
    negative
        Also consider the negative of each feature.
    transform
        The feature transform: a name (`"auto"`, `"query-min-max"`, …) or a transformer. Fitted on the
        training split alone. It should bring all features to one scale, because α does not depend on the
        scale.
    early_stopping, patience, validation_fraction
        Stop after `patience` rounds without a better metric on the `eval_set` or, without one, on this
        held-out fraction of the queries, and keep the best round. With `early_stopping=False` nothing is held
        out, all rounds are kept, and the metric on an `eval_set` is only recorded in `history_`.
    random_state
        Seed of the held-out queries; nothing else is random.
    progress
        Show a progress bar; None shows one if standard error is a terminal.
    callbacks
        Functions that are called with the `RoundRecord` of each round.

    Attributes
    ----------
    features_, alphas_
        The column of the encoded features and the α of each round that is kept; α is negative for the
        negative of a feature.
    coef_, transform_
        The sum of each column's α, and the fitted transform. If no feature helps, all weights are 0, with a
        warning.
    history_
        A `RoundRecord` per round: the metric on the training and validation split, seconds.
    n_rounds_, best_round_, stopped_
        The number of rounds, the round that is kept, and the reason for stopping.

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
        transform: object = "auto",
        early_stopping: bool = True,
        patience: int = 50,
        validation_fraction: float = 0.2,
        random_state: RandomState = None,
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
    def published(cls, **parameters: Any) -> Self:
        """Create a ranker with the published algorithm, without RankLib's extensions and early stopping.

        Once it selects a feature twice in a row it selects that feature forever: neither the order nor the
        query weights change any more.

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
        return cls(**{**as_published, **parameters})

    _warm_up_parameters = {"max_iter": 2}  # noqa: RUF012 - as in the contract

    def _parameters_for_metric(self, metric: Metric) -> dict[str, object]:
        return {} if metric.measure == "dcg" else super()._parameters_for_metric(metric)

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        self._check_metric()
        boosting = Boosting(
            *self._make_splits(data, validation, as_seed(self.random_state)),
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
        excluded: set[int] = set()
        n_selected = []  # after each round
        for _ in rounds:
            step = boosting.find_best_step(excluded)
            if self.tol is not None and step.fitness <= boosting.fitness - self.tol:
                excluded.add(step.candidate)
            else:
                if abs(step.fitness - boosting.fitness) > ROUNDING_ERROR:
                    excluded.clear()
                boosting.apply(step)
                if self._is_overused(boosting.selected):
                    excluded.add(step.candidate)
            n_selected.append(len(boosting.selected))
            rounds.record(boosting.fitness, boosting.compute_validation_metric())
            if len(excluded) == boosting.n_candidates:
                rounds.finish("converged")
        self._set_history(rounds)
        self.best_round_ = rounds.best if self.early_stopping else len(n_selected)
        self._set_weights(boosting, n_selected[self.best_round_ - 1])

    def _check_metric(self) -> None:
        if as_metric(self.metric).measure == "dcg":
            raise ValueError(
                "metric is dcg, which has no upper bound; choose a metric that is at most 1, such as ndcg"
            )

    def _is_overused(self, selected: Sequence[int]) -> bool:
        """Return whether the last candidate was selected `max_consecutive` times in a row."""
        limit = self.max_consecutive
        return limit is not None and len(selected) >= limit and len(set(selected[-limit:])) == 1

    def _set_weights(self, boosting: Boosting, n_selected: int) -> None:
        n_columns = boosting.n_columns
        selected = np.array(boosting.selected[:n_selected], dtype=np.int64)
        alphas = np.array(boosting.alphas[:n_selected], dtype=np.float64)
        self.features_ = selected % n_columns
        self.alphas_ = np.where(selected < n_columns, alphas, -alphas)
        self.coef_ = np.bincount(self.features_, self.alphas_, n_columns).astype(np.float64)
        if not self.coef_.any():
            warn_caller(
                f"AdaRank kept no feature, so all {n_columns} weights are 0 and every document has the same "
                f"score: no single feature has a better {as_metric(self.metric)} than equal scores. Check "
                "labels and qid; then try negative=True, a larger tol, or another ranker",
                TrainingWarning,
            )


@dataclass(frozen=True)
class Step:
    """A candidate to add with its α, and the metric on the training split after adding it."""

    candidate: int
    alpha: float
    per_query: FloatArray
    fitness: float


class Boosting:
    """The current ensemble and the query weights.

    Candidates are the columns, followed by their negatives if `negative` is True.
    """

    def __init__(
        self, train: ScoredSplit, validation: ScoredSplit | None, *, negative: bool, cumulative: bool
    ) -> None:
        self._train, self._validation, self._cumulative = train, validation, cumulative
        signs = (1.0, -1.0) if negative else (1.0,)
        # (n_candidates, n_queries)
        self._table = np.concatenate([train.compute_per_column(sign) for sign in signs])
        self.n_columns, self.n_candidates = train.columns.n_columns, len(self._table)
        self.selected: list[int] = []
        self.alphas: list[float] = []
        self.fitness = train.compute_fitness()
        self._query_weights = train.weights

    def find_best_step(self, excluded: set[int]) -> Step:
        """Find the candidate with the best weighted metric among those that are not excluded."""
        strengths = self._table @ self._query_weights
        strengths[list(excluded)] = -np.inf
        candidate = int(strengths.argmax())
        strength = min(strengths[candidate], MAX_STRENGTH)
        alpha = 0.5 * math.log((1 + strength) / (1 - strength))
        column, sign = self._get_column_and_sign(candidate)
        self._prefetch = np.argsort(-strengths) % self.n_columns
        per_query = self._train.compute_per_query_after(column, sign * alpha, self._prefetch)
        return Step(candidate, alpha, per_query, float(per_query @ self._train.weights))

    def apply(self, step: Step) -> None:
        """Add a step to the ensemble and update the query weights."""
        self.selected.append(step.candidate)
        self.alphas.append(step.alpha)
        self.fitness = step.fitness
        column, sign = self._get_column_and_sign(step.candidate)
        for split in (self._train, self._validation):
            if split is not None:
                split.add_column(column, sign * step.alpha, self._prefetch)
        if self._cumulative:
            weights = self._query_weights * np.exp(-step.alpha * step.per_query)
        else:
            weights = self._train.weights * np.exp(-step.per_query)
        self._query_weights = weights / weights.sum()

    def compute_validation_metric(self) -> float | None:
        """Compute the metric on the validation split; None without one."""
        return None if self._validation is None else self._validation.compute_fitness()

    def _get_column_and_sign(self, candidate: int) -> tuple[int, float]:
        return candidate % self.n_columns, 1.0 if candidate < self.n_columns else -1.0
