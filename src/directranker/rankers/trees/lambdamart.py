"""LambdaMART: boosted regression trees on the gradients of pairs, weighted by the change of a metric.

Burges: From RankNet to LambdaRank to LambdaMART: An overview (2010). The trees are LightGBM's. With
`pair_weight=None` pairs are not weighted, and the trees minimise the DirectRanker's default cost.

>>> from directranker.data.synthetic import example_dataset
>>> train, test = example_dataset().split(0.7, random_state=0)
>>> ranker = LambdaMART(n_estimators=30, random_state=0).fit(train)
>>> ranker.score(test) > 0.6
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import joblib
import numpy as np

from directranker.arrays import Features, Float32Array, FloatArray, IntArray
from directranker.data.column_kinds import ColumnKinds
from directranker.description.model import Model, Trees
from directranker.metrics import Metric
from directranker.parameters import (
    BOOLEAN,
    CALLBACKS,
    N_JOBS,
    PROGRESS,
    Constraint,
    above,
    at_least,
    between,
    fraction,
    instance_of,
    integer,
    or_none,
)
from directranker.rankers.base import Ranker, as_metric, as_seed
from directranker.rankers.contract import ModelText
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.rankers.trees.boosting import (
    build_dataset,
    call_lightgbm,
    normalise_weights,
    split_long_queries,
)
from directranker.rankers.trees.description import describe_trees
from directranker.rankers.trees.label_gains import encode_labels
from directranker.rankers.trees.model_text import parse_trees, to_booster
from directranker.rankers.trees.objectives import (
    LightGBMObjective,
    as_lightgbm_metric,
    build_objective,
    resolve_pair_weight,
)
from directranker.rankers.trees.split_categories import SplitCategories
from directranker.rankers.validation import early_stopping_split
from directranker.training.data import TrainingData

if TYPE_CHECKING:
    import lightgbm

__all__ = ["LambdaMART"]

MAX_MEASURED_DOCUMENTS = 50_000  # of the fitness of a round; all documents would take a tenth of the time
OPTIMISED_MEASURES = ("ndcg", "average_precision")
MAX_INT = 2**31 - 1  # of LightGBM
RULES: dict[str, Constraint] = {
    "pair_weight": or_none(instance_of("'metric', 'delta_ndcg@k' or 'delta_map'", str)),
    "n_estimators": integer(1),
    "learning_rate": above(0),
    "num_leaves": integer(2, 131_072),
    "min_child_samples": integer(1, MAX_INT),
    "subsample": fraction(include_zero=False),
    "colsample_bytree": fraction(include_zero=False),
    "reg_lambda": at_least(0),
    "max_bin": integer(2, 65_535),
    "cat_smooth": at_least(0),
    "cat_l2": at_least(0),
    "max_cat_threshold": integer(1, MAX_INT),
    "min_data_per_group": integer(1, MAX_INT),
    "early_stopping": BOOLEAN,
    "patience": integer(1),
    "validation_fraction": between(0, 1),
    "n_jobs": N_JOBS,
    "progress": PROGRESS,
    "callbacks": CALLBACKS,
}


class LambdaMART(Ranker):
    """Boosted trees (LightGBM) that optimise NDCG or MAP.

    A missing value (nan) goes to the side of a split where it fits better. A split on a categorical feature
    sends a set of categories to one side; missing is one more category. Categories that are too rare to be
    split on, and those that the training data does not have, go to the other side together. Gradients are
    multiplied by the weights of documents. Queries of more than 10,000 documents are partitioned at random
    into smaller ones.

    Parameters
    ----------
    metric
        The metric of early stopping, and the one that `pair_weight="metric"` optimises: `"ndcg@10"`,
        `"map"`, … in the paper's convention, in which labels of at least 1 are relevant; `"ndcg@10:graded"`;
        or a `Metric`. With another `pair_weight` it can be any metric.
    pair_weight
        The weight of a pair of documents:

        - `"metric"`: for NDCG@k LightGBM's lambdarank, truncated at k. One document of the pair is among the
          first k, and ranks beyond k keep their discounts, so the weight is not exactly |ΔNDCG@k|. For MAP as
          `"delta_map"`.
        - `"delta_ndcg@10"`, `"delta_ndcg"`, `"delta_map"`: exactly the change of NDCG@10, NDCG or MAP when
          the two documents swap ranks, as in `LambdaDirectRanker`.
        - None: all pairs of a query have the same weight, and a query counts by the square root of its number
          of pairs, as in the DirectRanker's default; often better on small data.

        NDCG always uses the gain 2^y − 1 of a label y, in any convention of the metric; the module
        `label_gains` describes the gains of other labels than small grades.
    n_estimators, learning_rate
        The maximum number of trees, and the factor by which each is shrunk.
    num_leaves
        The maximum number of leaves per tree; try more with hundreds of thousands of documents.
    min_child_samples
        The minimum number of documents per leaf.
    subsample, colsample_bytree
        The fraction of documents and of features that each tree is trained on.
    reg_lambda
        L2 regularisation of the leaf values.
    max_bin
        The maximum number of bins per numeric feature.
    cat_smooth, cat_l2
        Shrinkage of categories, of which some have few documents: a category with fewer documents in a node
        than `cat_smooth` is not split on, and `cat_l2` is the L2 regularisation of leaf values below
        categorical splits.
    max_cat_threshold, min_data_per_group
        The maximum number of categories in the set of a split, and the minimum number of documents of a set.
    early_stopping, patience
        Stop after `patience` trees without a better validation metric, and keep the trees up to the best one.
        With `early_stopping=False` all trees are kept, nothing is held out, and the metric on an `eval_set`
        is only recorded in `history_`.
    validation_fraction
        The fraction of the queries held out for early stopping where there is no `eval_set`.
    random_state
        The seed; the same seed gives the same ranker, with any number of threads.
    n_jobs
        The number of LightGBM's threads; None for the default of OpenMP.
    progress
        Show a progress bar; None shows it where standard error is a terminal.
    callbacks
        Functions that are called with the `RoundRecord` of each tree.

    Attributes
    ----------
    booster_
        The trees, a `lightgbm.Booster`. It numbers only the categories that it splits on; see the module
        `split_categories`.
    feature_importances_
        The fraction of the total gain of all splits that is due to each feature.
    history_
        The `RoundRecord` of each tree: the metric on about the first 50,000 training documents, the metric on
        the validation split, seconds.
    n_rounds_, best_round_, stopped_
        The number of trees that were trained, the number that is kept, and why training ended: `"max_iter"`,
        `"early_stopping"`, `"interrupted"`, or `"converged"` where no split was left.

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
        cat_smooth: float = 30.0,
        cat_l2: float = 10.0,
        max_cat_threshold: int = 8,
        min_data_per_group: int = 50,
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
        self.cat_smooth = cat_smooth
        self.cat_l2 = cat_l2
        self.max_cat_threshold = max_cat_threshold
        self.min_data_per_group = min_data_per_group
        self.early_stopping = early_stopping
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.callbacks = callbacks

    @classmethod
    def ranklib(cls, **changes: Any) -> Self:
        """Return RankLib's settings: 1,000 trees of 10 leaves, learning rate 0.1, 256 bins, patience 100.

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
        resolve_pair_weight(self.pair_weight, metric)  # raises before any work
        seed = as_seed(self.random_state)
        data, validation = early_stopping_split(
            data,
            validation,
            metric,
            fraction=self.validation_fraction,
            seed=seed,
            early_stopping=self.early_stopping,
        )
        data = split_long_queries(data, seed)
        booster, objective = self._build_booster(data, validation, metric, seed)
        self._boost(booster, objective, data, validation, metric)

    def _build_booster(
        self, data: TrainingData, validation: TrainingData | None, metric: Metric, seed: int
    ) -> tuple[lightgbm.Booster, LightGBMObjective | None]:
        import lightgbm  # noqa: PLC0415 - slow to import

        codes, gains = encode_labels(data.relevance)
        weight = normalise_weights(data)
        pair_weight = resolve_pair_weight(self.pair_weight, metric)
        options, objective = build_objective(pair_weight, data, metric, weight=weight, gains=gains)
        parameters = {**self._lightgbm_parameters(seed), **options}
        train_set = build_dataset(data, parameters, seed)
        train_set.set_label(codes).set_group(np.diff(data.offsets))
        if weight is not None:
            train_set.set_weight(weight)
        booster = call_lightgbm(lambda: lightgbm.Booster(parameters, train_set), data)
        if validation is not None:
            booster.add_valid(build_dataset(validation, parameters, seed, train_set), "validation")
        return booster, objective

    def _boost(
        self,
        booster: lightgbm.Booster,
        objective: LightGBMObjective | None,
        data: TrainingData,
        validation: TrainingData | None,
        metric: Metric,
    ) -> None:
        measure_train = as_lightgbm_metric(metric, data.take(_first_queries(data, MAX_MEASURED_DOCUMENTS)))
        measure = None if validation is None else as_lightgbm_metric(metric, validation)
        stops_early = self.early_stopping and measure is not None
        rounds = Rounds(
            type(self).__name__,
            self.n_estimators,
            patience=self.patience if stops_early else None,
            progress=self.progress,
            callbacks=self.callbacks,
        )
        for _ in rounds:
            is_finished = booster.update(fobj=objective)
            fitness = booster.eval_train(measure_train)[0][2]
            rounds.record(fitness, None if measure is None else booster.eval_valid(measure)[0][2])
            if is_finished:  # no split is left
                rounds.finish("converged")
        self.history_ = rounds.history
        self.n_rounds_ = len(rounds.history)
        self.best_round_ = rounds.best if stops_early else self.n_rounds_
        self.stopped_ = rounds.stopped
        # The fitted trees are loaded from text, so that those of a saved ranker are the same.
        trees = parse_trees(booster.model_to_string(num_iteration=self.best_round_))
        self._split_categories = SplitCategories.of(trees, data.kinds.n_categories)
        self.booster_ = to_booster(self._split_categories.renumber_trees(trees))

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
            "cat_smooth": self.cat_smooth,
            "cat_l2": self.cat_l2,
            "max_cat_threshold": self.max_cat_threshold,
            "min_data_per_group": self.min_data_per_group,
            "seed": seed % 2**31,
            "num_threads": _count_threads(self.n_jobs),
            # Column-wise, one thread sums each histogram, in the same order with any number of threads.
            "deterministic": True,
            "force_col_wise": True,
            # The sample of the bins cannot show which features the whole data splits on.
            "feature_pre_filter": False,
            "verbosity": -1,
        }

    def _scores(self, table: Features, query: IntArray) -> Float32Array:  # noqa: ARG002
        table = self._split_categories.renumber(table)
        scores = self.booster_.predict(table, num_threads=_count_threads(self.n_jobs))
        return np.asarray(scores, dtype=np.float32)

    def _fitted_state(self) -> dict[str, object]:
        categories = self._split_categories.to_state()
        return {
            **super()._fitted_state(),
            "booster_": ModelText(self.booster_.model_to_string()),
            **({} if categories is None else {"split_categories_": categories}),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        kept = {name: value for name, value in state.items() if name not in ("booster_", "split_categories_")}
        super()._restore(kept)
        kinds = self._column_kinds() or ColumnKinds.numbers(self.n_features_in_)
        split = SplitCategories.restore(state.get("split_categories_"), kinds.n_categories)
        trees = parse_trees(state["booster_"])
        if trees.n_features != self.n_features_in_:
            raise ValueError(f"the trees have {trees.n_features} features, the ranker {self.n_features_in_}")
        trees.check_categories(kinds.is_categorical, split.n_codes)
        self._split_categories, self.booster_ = split, to_booster(trees)

    def _describe(self) -> Model:
        names, categories = self._feature_names(), getattr(self, "categories_", {})
        return Trees(
            names,
            describe_trees(self.booster_.model_to_string(), self._split_categories),
            {index: tuple(categories[name]) for index, name in enumerate(names) if name in categories},
        )

    def _contributions(self, table: Features, pairs: IntArray, *, n_steps: int) -> tuple[FloatArray, str]:  # noqa: ARG002
        better, worse = pairs.T
        table = self._split_categories.renumber(table)
        contributions = np.asarray(self.booster_.predict(table, pred_contrib=True))[:, :-1]
        return contributions[better] - contributions[worse], "Shapley values along the paths of the trees"

    def _parameters_for_metric(self, metric: Metric) -> dict[str, object]:
        if metric.measure not in OPTIMISED_MEASURES:
            return {}
        parameters = super()._parameters_for_metric(metric)
        if str(self.pair_weight).startswith("delta_") and metric.measure == "ndcg":
            parameters["pair_weight"] = f"delta_ndcg{'' if metric.k is None else f'@{metric.k}'}"
        elif self.pair_weight is not None and metric.measure == "average_precision" and metric.k is not None:
            parameters["pair_weight"] = "delta_map"  # there is no weight for MAP@k
        return parameters

    def _parameters_for_threads(self, n_threads: int) -> dict[str, object]:
        return {"n_jobs": n_threads}

    _warm_up_parameters = {"n_estimators": 2}  # noqa: RUF012 - as in the contract

    @property
    def feature_importances_(self) -> FloatArray:
        """The fraction of the total gain of all splits that is due to each feature; 0 without any split."""
        gains: FloatArray = self.booster_.feature_importance("gain").astype(np.float64)
        return gains / max(float(gains.sum()), np.finfo(float).tiny)


def _count_threads(n_jobs: int | None) -> int:
    N_JOBS.check("n_jobs", n_jobs)
    return 0 if n_jobs is None else int(joblib.effective_n_jobs(n_jobs))


def _first_queries(data: TrainingData, max_documents: int) -> IntArray:
    """Return the first queries, with about `max_documents` documents."""
    return np.arange(max(1, int(np.searchsorted(data.offsets, max_documents, side="right")) - 1))
