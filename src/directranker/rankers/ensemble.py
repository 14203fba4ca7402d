"""An ensemble of rankers: the mean of their scores, each normalised to the same scale.

The scale of a ranker is the within-query standard deviation of its scores on training documents. So it is
fixed: without per-query features, a document has the same score in any query, and comparisons are an order.

Rankers that differ only in their seed make similar errors. Rankers with and without per-query features
make different errors, so their mean is better than either.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers.nets.direct_ranker import DirectRanker
>>> data = example_dataset()
>>> ensemble = Ensemble(DirectRanker(max_epochs=1, teacher=None), 3, random_state=0).fit(data)
>>> [member.get_params()["transform"] for member in ensemble.rankers_]
['in-context', 'piecewise-linear', 'in-context']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from directranker.arrays import Features, Float32Array, FloatArray, IntArray
from directranker.description.model import Model
from directranker.description.summing import sum_models
from directranker.errors import ExportError
from directranker.fitted_checks import check_fitted_array
from directranker.parameters import N_JOBS, integer
from directranker.rankers.base import Ranker, as_seed
from directranker.rankers.finite_scores import saturate
from directranker.rankers.nets.direct_ranker import DirectRanker
from directranker.rankers.nets.encoding_selection import (
    CROSS_VALIDATED,
    PIECEWISE_LINEAR,
    SCALED,
    select_encoding,
)
from directranker.rankers.nets.net_ranker import AUTO
from directranker.safe_path import restore_path, safe_path
from directranker.training.data import TrainingData
from directranker.training.interrupts import raise_interrupts

__all__ = ["Ensemble"]

IN_CONTEXT = "in-context"
ALTERNATING = {PIECEWISE_LINEAR: [IN_CONTEXT, PIECEWISE_LINEAR], SCALED: [SCALED, IN_CONTEXT]}
"""The transforms that members take in turn, by the selected encoding."""
MAX_SCALED_DOCUMENTS = 20_000  # of the sample that scales are computed on
MIN_QUERIES, MIN_DOCUMENTS = 30, 3000  # of data that is large enough for per-query features


class Ensemble(Ranker):
    """The mean of rankers that differ in their seed and in some of their parameters.

    Parameters
    ----------
    ranker
        Any ranker with a `random_state`; it is cloned and never fitted itself.
    n_estimators
        The number of rankers.
    vary
        The parameters in which they differ besides the seed, each with values that they take in turn, such as
        `{"hidden_layers": [64, 256]}`. None: the seed only. `"auto"`: if `transform` is `"cross-validated"`
        or `"piecewise-linear"`, every second ranker has per-query features (`"in-context"`), from 30 queries
        and 3,000 documents.
    random_state
        The seed, from which the seeds of the rankers are drawn.
    n_jobs
        The number of rankers trained at the same time, in separate processes; None for one after another.

    Attributes
    ----------
    rankers_
        The fitted rankers.
    factors_
        The factor of each ranker's scores in the sum that is the score of the ensemble.

    """

    _rules = {"n_estimators": integer(1), "n_jobs": N_JOBS}  # noqa: RUF012 - as in Ranker

    def __init__(
        self,
        ranker: BaseEstimator = None,
        n_estimators: int = 5,
        *,
        vary: Mapping[str, Sequence[object]] | str | None = AUTO,
        random_state: object = None,
        n_jobs: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.n_estimators = n_estimators
        self.vary = vary
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def of_nets(cls) -> Self:
        """Return an ensemble of five DirectRankers with their defaults."""
        return cls(DirectRanker(), 5)

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        if not isinstance(self.ranker, Ranker):
            raise TypeError(f"ranker is {self.ranker!r}; give a ranker such as DirectRanker()")
        seed = as_seed(self.random_state)
        seeds = np.random.default_rng(seed).integers(2**31, size=self.n_estimators)
        variations = self._resolve_variations(data, validation, seed)
        members = []
        for number, member_seed in enumerate(seeds):
            changes = {name: values[number % len(values)] for name, values in variations.items()}
            member = clone(self.ranker).set_params(random_state=int(member_seed), **changes)
            members.append(self._set_inputs(member))
        sample = data.sample(MAX_SCALED_DOCUMENTS, seed)
        with safe_path():
            fitted = Parallel(n_jobs=self.n_jobs)(
                delayed(_fit_member)(member, data, validation, sample) for member in members
            )
        self.rankers_ = [member for member, _ in fitted]
        self.factors_ = np.array([factor for _, factor in fitted]) / len(fitted)

    def _resolve_variations(
        self, data: TrainingData, validation: TrainingData | None, seed: int
    ) -> Mapping[str, Sequence[object]]:
        """Return the values that members take in turn, by parameter."""
        vary: Mapping[str, Sequence[Any]] = {}
        is_auto = isinstance(self.vary, str) and self.vary == AUTO
        if self.vary is not None and not is_auto:
            vary = _validate_vary(self.vary)
        transform = self.ranker.get_params(deep=False).get("transform")
        is_selectable = isinstance(transform, str) and transform in (CROSS_VALIDATED, PIECEWISE_LINEAR)
        if "transform" in vary or not is_selectable:
            return vary
        # All members would select the same encoding, so it is selected once.
        ranker = self._set_inputs(clone(self.ranker))
        parameters = ranker.get_params(deep=False)
        encoding = select_encoding(ranker, data, validation, seed=seed, progress=parameters.get("progress"))
        is_large = data.n_queries >= MIN_QUERIES and data.n_documents >= MIN_DOCUMENTS
        # A user's feature net may need a fixed number of columns.
        alternates = is_auto and is_large and parameters.get("feature_net") is None
        return {**vary, "transform": ALTERNATING[encoding] if alternates else [encoding]}

    def _set_inputs(self, member: Ranker) -> Ranker:
        """Copy the description of the input features to a member."""
        for name in ("n_features_in_", "feature_names_in_", "input_shape_", "categories_"):
            if hasattr(self, name):
                setattr(member, name, getattr(self, name))
        return member

    def compare(self, A: object, B: object) -> FloatArray:
        """Return the ranking function r(a, b) row by row; for per-query features all rows are one query."""
        first, second = self._validate_comparison(A, B)
        totals = np.zeros((2, len(first)))
        for ranker, factor in zip(self.rankers_, self.factors_, strict=True):
            totals += factor * np.stack(ranker._score_as_one_query(first, second)).astype(np.float64)
        scores = saturate(totals).astype(np.float64)  # rounded as by `predict`, so that both agree
        return np.asarray(scores[0] - scores[1])

    _unsaved_parameters = Ranker._unsaved_parameters | {"ranker"}  # the fitted rankers are saved

    def _restore(self, state: Mapping[str, object]) -> None:
        super()._restore(state)
        members = getattr(self, "rankers_", None)
        if not isinstance(members, list) or not members:
            raise ValueError("rankers_ of Ensemble is empty")
        for member in members:
            if not isinstance(member, Ranker) or member.n_features_in_ != self.n_features_in_:
                raise ValueError(
                    f"rankers_ of Ensemble are not all rankers for {self.n_features_in_} features"
                )
        check_fitted_array(self, "factors_", np.float64, (len(members),))

    def _describe(self) -> Model:
        try:
            return sum_models([member._describe() for member in self.rankers_], self.factors_)
        except ExportError as error:
            raise ExportError(f"{error}; {self._suggest_export()}") from None

    def _suggest_export(self) -> str:
        """Return what can be exported in place of this ensemble."""
        for number, member in enumerate(self.rankers_):
            try:
                member._describe()
            except ExportError:
                continue
            return (
                f"of this Ensemble, ranker {number} can be exported: save it by "
                f"load_ranker(…).rankers_[{number}].save('single'); an Ensemble(…, vary=None), whose rankers "
                "differ in their seeds only, can be exported, too"
            )
        return "use an Ensemble whose rankers have no per-query features"

    def _contributions(self, table: Features, pairs: IntArray, *, n_steps: int) -> tuple[FloatArray, str]:
        total, method = np.zeros((len(pairs), table.shape[1])), ""
        for member, factor in zip(self.rankers_, self.factors_, strict=True):
            contributions, method = member._contributions(table, pairs, n_steps=n_steps)
            total += factor * contributions
        return total, f"the mean over rankers of {method}"

    _warm_up_parameters = {"n_estimators": 2}  # noqa: RUF012 - members may have different transforms

    def _scores(self, table: Features, query: IntArray) -> Float32Array:
        total = np.zeros(len(table))
        for ranker, factor in zip(self.rankers_, self.factors_, strict=True):
            total += factor * ranker._scores(table, query).astype(np.float64)
        return saturate(total)


def _validate_vary(vary: object) -> Mapping[str, Sequence[object]]:
    if not isinstance(vary, Mapping):
        raise TypeError(f"vary is {vary!r}; give 'auto', None or values by parameter")
    for name, values in vary.items():
        if not isinstance(values, list | tuple) or not values:
            raise TypeError(f"vary has {values!r} for {name}; give a list of values")
    return vary


def _fit_member(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    sample: tuple[Features, IntArray],
) -> tuple[Ranker, float]:
    """Return the fitted ranker, and the factor that makes the deviation of its scores on the sample 1."""
    restore_path()
    with raise_interrupts():  # otherwise Ctrl-C would end one member only
        ranker._check_and_fit(data, validation)
    deviation = within_query_deviation(ranker._scores(*sample), sample[1])
    return ranker, 1 / deviation if deviation > 0 else 0.0


def within_query_deviation(scores: NDArray[np.generic], query: IntArray) -> float:
    """Return the root mean square deviation of scores from their query's mean.

    >>> within_query_deviation(np.array([1.0, 3.0, 50.0, 52.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    values = scores.astype(np.float64)
    means = np.bincount(query, values) / np.maximum(np.bincount(query), 1)
    return float(np.sqrt(np.mean((values - means[query]) ** 2)))
