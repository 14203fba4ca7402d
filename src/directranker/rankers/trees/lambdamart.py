"""LambdaMART: boosted regression trees whose gradients are those of pairs, weighted by what a swap changes.

Burges: From RankNet to LambdaRank to LambdaMART: An overview (2010). The trees are LightGBM's. With
`pair_weight=None` pairs are not weighted, and the trees minimise the DirectRanker's own cost.

>>> from directranker.data.synthetic import example_dataset
>>> train, test = example_dataset().split(0.7, random_state=0)
>>> ranker = LambdaMART(n_estimators=30, random_state=0).fit(train)
>>> ranker.score(test) > 0.6
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import joblib
import numpy as np
from numpy.typing import NDArray

from directranker.arrays import FloatArray, IntArray
from directranker.costs.curvatures import EvenLambdas, Lambdas, SwapLambdas
from directranker.data.checking import Features
from directranker.description.model import Model, Trees
from directranker.errors import DataError
from directranker.metrics import Metric
from directranker.metrics.metric import mean_over_queries
from directranker.pairs.weights import BY_SWAP, PairWeight, parse_pair_weight
from directranker.parameters import (
    CALLBACKS,
    JOBS,
    PROGRESS,
    YES_OR_NO,
    Rule,
    above,
    at_least,
    between,
    kind,
    or_none,
    share,
    whole,
)
from directranker.rankers.base import Ranker, as_metric, as_seed
from directranker.rankers.contract import ModelText
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.rankers.training_data import TrainingData
from directranker.rankers.trees.boosting import answering_ctrl_c, binned, in_short_lists
from directranker.rankers.trees.description import described_trees
from directranker.rankers.trees.label_gains import label_gains
from directranker.rankers.trees.model_text import trees_from_text
from directranker.rankers.validation import early_stopping_split

if TYPE_CHECKING:
    import lightgbm

__all__ = ["LambdaMART"]

MEASURED_ROWS = 50_000  # documents that the fitness of a round is measured on; all would cost a tenth of it
OPTIMISED = ("ndcg", "average_precision")  # measures whose swaps weight pairs
MOST = 2**31 - 1  # LightGBM's largest whole number
RULES: dict[str, Rule] = {
    "pair_weight": or_none(kind("'metric', 'delta_ndcg@k' or 'delta_map'", str)),
    "n_estimators": whole(1),
    "learning_rate": above(0),
    "num_leaves": whole(2, 131_072),
    "min_child_samples": whole(1, MOST),
    "subsample": share(of_nothing=False),
    "colsample_bytree": share(of_nothing=False),
    "reg_lambda": at_least(0),
    "max_bin": whole(2, 65_535),
    "early_stopping": YES_OR_NO,
    "patience": whole(1),
    "validation_fraction": between(0, 1),
    "n_jobs": JOBS,
    "progress": PROGRESS,
    "callbacks": CALLBACKS,
}
TreeTargets = Callable[[FloatArray, Any], tuple[FloatArray, FloatArray]]
"""Scores and LightGBM's data set to gradients and curvatures."""


class LambdaMART(Ranker):
    """Rank by boosted trees that climb NDCG or MAP.

    A missing value (nan) goes to the side of a split where it helps more. A document's weight multiplies its
    gradient. Queries of more than 10,000 documents are dealt at random to lists of at most so many.

    Parameters
    ----------
    metric
        What early stopping measures, exactly as named, and what `pair_weight="metric"` optimises:
        `"ndcg@10"`, `"map"`, … in the paper's convention, by which labels from 1 on are relevant,
        `"ndcg@10:graded"`, or a `Metric`. With any other `pair_weight` it may be any metric.
    pair_weight
        How much a pair of documents counts. `"metric"`: for NDCG@k as LightGBM's lambdarank truncated at k:
        one of the pair is among the first k, and ranks beyond k keep their discounts, so that the weight is
        not |ΔNDCG@k| to the letter; for MAP as `"delta_map"`. `"delta_ndcg@10"`, `"delta_ndcg"`,
        `"delta_map"`: exactly what swapping the two would change of NDCG@10, NDCG or MAP, as in
        `LambdaDirectRanker`. None: the pairs of a query count the same, and a query by the root of their
        number, as in the DirectRanker's default; on small data that is often better. In all forms of NDCG a
        label y gains 2^y − 1, whatever the metric's convention; see `label_gains` for others than small
        grades.
    n_estimators, learning_rate
        How many trees at the most, and how much each counts.
    num_leaves, min_child_samples
        How large a tree is, and of how many documents a leaf at the least; for hundreds of thousands of
        documents, more leaves are worth a try.
    subsample, colsample_bytree
        The share of documents and of features that each tree sees.
    reg_lambda
        Draws the values of leaves towards 0.
    max_bin
        How many different values of a feature are told apart.
    early_stopping, patience, validation_fraction
        Stop after `patience` trees without a better metric on the `eval_set`, or on this fraction of the
        queries that is then held out, and keep the trees up to the best one. With `early_stopping=False` all
        trees are kept, nothing is held out, and the metric on an `eval_set` is only recorded in `history_`.
    random_state
        The same number gives the same ranker, on any number of threads.
    n_jobs
        LightGBM's threads; None for as many as OpenMP gives it.
    progress
        Show a bar; None where standard error is a terminal.
    callbacks
        Called with the `RoundRecord` of each tree.

    Attributes
    ----------
    booster_
        The trees, a `lightgbm.Booster`.
    feature_importances_
        The share of each feature in what all splits gained.
    history_
        A record per tree: the metric on the first 50,000 documents or so that were learnt from, the one on
        the validation part, seconds.
    n_rounds_, best_round_, stopped_
        How many trees there were, how many are kept, and why it ended: `"max_iter"`, `"early_stopping"`,
        `"interrupted"`, or `"converged"` where there was nothing more to split on.

    """

    _rules = RULES

    def __init__(
        self,
        *,
        metric: str | Metric = "ndcg@10:graded",
        pair_weight: str | None = "metric",
        n_estimators: int = 1000,
        learning_rate: float = 0.05,
        num_leaves: int = 7,
        min_child_samples: int = 50,
        subsample: float = 0.7,
        colsample_bytree: float = 0.5,
        reg_lambda: float = 0.0,
        max_bin: int = 255,
        early_stopping: bool = True,
        patience: int = 50,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        callbacks: Sequence[Callable[[RoundRecord], None]] = (),
    ) -> None:
        self.metric = metric
        self.pair_weight = pair_weight
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.early_stopping = early_stopping
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.callbacks = callbacks

    @classmethod
    def ranklib(cls, **changes: Any) -> Self:
        """RankLib's settings: 1,000 trees of 10 leaves at 0.1, 256 thresholds, 100 trees of patience.

        >>> LambdaMART.ranklib(n_estimators=20).num_leaves
        10
        """
        settings: dict[str, Any] = {
            "n_estimators": 1000,
            "learning_rate": 0.1,
            "num_leaves": 10,
            "min_child_samples": 1,
            "subsample": 1.0,
            "colsample_bytree": 1.0,
            "reg_lambda": 0.0,
            "max_bin": 256,
            "patience": 100,
        }
        return cls(**{**settings, **changes})

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        metric = as_metric(self.metric)
        self._pair_weight(metric)
        seed = as_seed(self.random_state)
        data, validation = early_stopping_split(
            data,
            validation,
            metric,
            fraction=self.validation_fraction,
            seed=seed,
            early_stopping=self.early_stopping,
        )
        data = in_short_lists(data, seed)
        booster, lambdas = self._booster(data, validation, metric, seed)
        self._boost(booster, lambdas, data, validation, metric)

    def _booster(
        self, data: TrainingData, validation: TrainingData | None, metric: Metric, seed: int
    ) -> tuple[lightgbm.Booster, TreeTargets | None]:
        import lightgbm  # noqa: PLC0415 - it takes seconds on a cold start

        codes, gains = label_gains(data.relevance)
        parameters = self._lightgbm_parameters(seed)
        weight, lambdas = _weight_of_rows(data), None
        pair_weight = self._pair_weight(metric)
        if pair_weight is None:
            parameters["objective"] = "none"
            lambdas = _weighted(EvenLambdas(data.relevance, data.offsets), weight)
        elif pair_weight == "lambdarank":
            longest = int(np.diff(data.offsets).max())
            cutoff = min(metric.k or longest, longest)
            parameters |= {
                "objective": "lambdarank",
                "label_gain": gains,
                "lambdarank_truncation_level": cutoff,
                "lambdarank_norm": False,
            }
        else:
            parameters["objective"] = "none"
            lambdas = _weighted(_swap_lambdas(pair_weight, data, metric.convention.threshold), weight)
        train_set = binned(data, parameters, seed)
        train_set.set_label(codes).set_group(np.diff(data.offsets))
        if weight is not None:
            train_set.set_weight(weight)
        booster = answering_ctrl_c(lambda: lightgbm.Booster(parameters, train_set), data)
        if validation is not None:
            booster.add_valid(binned(validation, parameters, seed, train_set), "validation")
        return booster, lambdas

    def _boost(
        self,
        booster: lightgbm.Booster,
        lambdas: TreeTargets | None,
        data: TrainingData,
        validation: TrainingData | None,
        metric: Metric,
    ) -> None:
        fitness = _measuring(metric, data.take(_first_queries(data, MEASURED_ROWS)))
        measure = None if validation is None else _measuring(metric, validation)
        stops_early = self.early_stopping and measure is not None
        rounds = Rounds(
            type(self).__name__,
            self.n_estimators,
            patience=self.patience if stops_early else None,
            progress=self.progress,
            callbacks=self.callbacks,
        )
        for _ in rounds:
            finished = booster.update(fobj=lambdas)
            on_train = booster.eval_train(fitness)[0][2]
            rounds.record(on_train, None if measure is None else booster.eval_valid(measure)[0][2])
            if finished:  # nothing more to split on
                rounds.finish("converged")
        self.history_ = rounds.history
        self.n_rounds_ = len(rounds.history)
        self.best_round_ = rounds.best if stops_early else self.n_rounds_
        self.stopped_ = rounds.stopped
        # The fitted trees come from text, so that those of a saved ranker are the same.
        self.booster_ = trees_from_text(booster.model_to_string(num_iteration=self.best_round_))

    def _lightgbm_parameters(self, seed: int) -> dict[str, Any]:
        return {
            "metric": "None",
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_child_samples,
            "bagging_fraction": self.subsample,
            "bagging_freq": 1,
            "feature_fraction": self.colsample_bytree,
            "lambda_l2": self.reg_lambda,
            "max_bin": self.max_bin,
            "seed": seed % 2**31,
            "num_threads": _threads(self.n_jobs),
            # By column, each histogram is one thread's sum, in the same order on any number of them.
            "deterministic": True,
            "force_col_wise": True,
            # The sample that bins are made from cannot tell what the whole will split on.
            "feature_pre_filter": False,
            "verbosity": -1,
        }

    def _pair_weight(self, metric: Metric) -> PairWeight | Literal["lambdarank"] | None:
        """What `pair_weight` means: our own weight of swaps, LightGBM's, or none."""
        if self.pair_weight is None:
            return None
        if self.pair_weight != "metric":
            named = parse_pair_weight(self.pair_weight)
            if named.code != BY_SWAP:
                raise ValueError(
                    f"pair_weight is {self.pair_weight!r}; give 'metric', 'delta_ndcg@k', 'delta_map' or None"
                )
            return named
        if metric.measure == "ndcg":
            return "lambdarank"
        if metric.measure == "average_precision" and metric.k is None:
            return PairWeight("delta_map")
        raise ValueError(
            f"metric is {str(metric)!r}; LambdaMART optimises 'ndcg', 'ndcg@k' or 'map'. To stop early by "
            f"{str(metric)!r}, set pair_weight to what it optimises instead, such as 'delta_map' or "
            "'delta_ndcg@10'"
        )

    def _scores(self, table: Features, query: IntArray) -> NDArray[np.float32]:  # noqa: ARG002
        scores = self.booster_.predict(table, num_threads=_threads(self.n_jobs))
        return np.asarray(scores, dtype=np.float32)

    def _fitted_state(self) -> dict[str, Any]:
        return {**super()._fitted_state(), "booster_": ModelText(self.booster_.model_to_string())}

    def _restore(self, state: Mapping[str, Any]) -> None:
        super()._restore({**state, "booster_": trees_from_text(state["booster_"])})
        if self.booster_.num_feature() != self.n_features_in_:
            raise ValueError("the trees are for another number of features")

    def _describe(self) -> Model:
        return Trees(self._feature_names(), described_trees(self.booster_.model_to_string()))

    def _contributions(self, table: Features, pairs: IntArray, *, n_steps: int) -> tuple[FloatArray, str]:  # noqa: ARG002
        better, worse = pairs.T
        of_documents = np.asarray(self.booster_.predict(table, pred_contrib=True))[:, :-1]
        return of_documents[better] - of_documents[worse], "Shapley values along the paths of the trees"

    def _parameters_for_metric(self, metric: Metric) -> dict[str, Any]:
        if metric.measure not in OPTIMISED:
            return {}
        parameters = super()._parameters_for_metric(metric)
        if str(self.pair_weight).startswith("delta_") and metric.measure == "ndcg":
            parameters["pair_weight"] = f"delta_ndcg{'' if metric.k is None else f'@{metric.k}'}"
        elif self.pair_weight is not None and metric.measure == "average_precision" and metric.k is not None:
            parameters["pair_weight"] = "delta_map"  # swaps of MAP@k have no weight of their own
        return parameters

    def _parameters_for_threads(self, n_threads: int) -> dict[str, Any]:
        return {"n_jobs": n_threads}

    _warm_up_parameters = {"n_estimators": 2}  # noqa: RUF012 - as in the contract

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each feature in what all splits gained; 0 everywhere if there is none."""
        gains: NDArray[np.float64] = self.booster_.feature_importance("gain").astype(np.float64)
        return gains / max(float(gains.sum()), np.finfo(float).tiny)


def _threads(n_jobs: int | None) -> int:
    JOBS.check("n_jobs", n_jobs)
    return 0 if n_jobs is None else int(joblib.effective_n_jobs(n_jobs))


def _weight_of_rows(data: TrainingData) -> FloatArray | None:
    """A weight per document, 1 on average, for LightGBM sets bounds to sums of them; None if all are 1."""
    if not data.is_weighted:
        return None
    weight = data.weight_of_rows
    return weight / float(weight.mean())


def _swap_lambdas(pair_weight: PairWeight, data: TrainingData, threshold: float) -> SwapLambdas:
    if pair_weight.name == "delta_ndcg":  # as in `label_gains`, labels below 0 are shifted to begin there
        grades = data.relevance - min(float(data.relevance.min()), 0.0)
        return SwapLambdas(pair_weight, grades, data.offsets, threshold=threshold)
    relevant = (data.relevance >= threshold).astype(np.float64)
    lambdas = SwapLambdas(pair_weight, relevant, data.offsets, threshold=1.0)
    if not lambdas.n_pairs.any():
        raise DataError(
            f"no query has documents both from label {threshold:g} on and below, so there is no MAP to "
            "climb; take 'ndcg', or a Metric with another threshold in its convention"
        )
    return lambdas


def _weighted(lambdas: Lambdas, weight: FloatArray | None) -> TreeTargets:
    """As LightGBM calls them, times the weights of documents."""

    def weighted(scores: FloatArray, _: Any) -> tuple[FloatArray, FloatArray]:
        gradient, curvature = lambdas(scores)
        return (gradient, curvature) if weight is None else (gradient * weight, curvature * weight)

    return weighted


def _first_queries(data: TrainingData, most: int) -> IntArray:
    """The first queries, which have about `most` documents."""
    return np.arange(max(1, int(np.searchsorted(data.offsets, most, side="right")) - 1))


def _measuring(metric: Metric, data: TrainingData) -> Callable[[FloatArray, Any], tuple[str, float, bool]]:
    """The metric as LightGBM calls it, its queries by their weights."""
    relevance, offsets = data.relevance, data.offsets
    weights = data.weight_of_queries if data.is_weighted else None

    def measured(scores: FloatArray, _: Any) -> tuple[str, float, bool]:
        values = metric.per_query(relevance, scores[: len(relevance)], offsets=offsets)
        return str(metric), mean_over_queries(values, weights), True

    return measured
