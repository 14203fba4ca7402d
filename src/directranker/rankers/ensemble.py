"""Several rankers of one kind as one: the mean of their scores, each brought to the same scale.

The scale is how far a ranker's scores of training documents lie from their queries' means. So it is fixed: a
document that members see by itself has the same score in any list, and comparisons are an order.

Rankers that differ only in their seed make much the same mistakes. Those that see a document by itself and
those that see it within its list make others, so their mean is better than either.

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
from sklearn.base import clone

from directranker.arrays import FloatArray, IntArray
from directranker.data.checking import Features
from directranker.description.model import Model
from directranker.description.summing import sum_models
from directranker.errors import ExportError
from directranker.fitted_checks import check_fitted_array
from directranker.parameters import JOBS, whole
from directranker.rankers.base import Ranker, as_seed
from directranker.rankers.finite_scores import saturated
from directranker.rankers.nets.encoding_selection import CROSS_VALIDATED, IN_BINS, SCALED, select_encoding
from directranker.rankers.nets.net_ranker import AUTO
from directranker.rankers.training_data import TrainingData
from directranker.safe_path import restore_path, safe_path
from directranker.training.interrupts import interrupts_raised

__all__ = ["Ensemble"]

IN_ITS_LIST = "in-context"
TURNS = {IN_BINS: [IN_ITS_LIST, IN_BINS], SCALED: [SCALED, IN_ITS_LIST]}  # what members see, by what suits
SCORED_DOCUMENTS = 20_000  # tell the scale of a member's scores
MIN_QUERIES, MIN_DOCUMENTS = 30, 3000  # from which on list context is worth more than it adds to learn


class Ensemble(Ranker):
    """The mean of `n` rankers that differ in their seed and in what they see.

    Parameters
    ----------
    ranker
        Any ranker with a `random_state`; it is cloned, never fitted itself.
    n_estimators
        How many rankers are trained.
    vary
        Parameters in which they differ besides the seed, each with values that they take in turn, such as
        `{"hidden_layers": [64, 256]}`. `"auto"`: rankers whose `transform` is `"cross-validated"` or
        `"piecewise-linear"` see documents within their lists (`"in-context"`) and by themselves in turn,
        from 30 queries and 3,000 documents on. None: the seed only.
    random_state
        The seed that theirs come from.
    n_jobs
        How many are trained at the same time, in processes of their own; None for one after another.

    Fitted: `rankers_`, and in `factors_` what the scores of each count in the sum that is the ensemble's.

    """

    _rules = {"n_estimators": whole(1), "n_jobs": JOBS}  # noqa: RUF012 - as in the base

    def __init__(
        self,
        ranker: Any = None,
        n_estimators: int = 5,
        *,
        vary: Mapping[str, Sequence[Any]] | str | None = AUTO,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.n_estimators = n_estimators
        self.vary = vary
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def of_nets(cls) -> Self:
        """Five DirectRankers with their defaults."""
        from directranker.rankers.nets.direct_ranker import DirectRanker  # noqa: PLC0415 - only if asked for

        return cls(DirectRanker(), 5)

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        if not isinstance(self.ranker, Ranker):
            raise TypeError(f"ranker is {self.ranker!r}; give a ranker such as DirectRanker()")
        seed = as_seed(self.random_state)
        seeds = np.random.default_rng(seed).integers(2**31, size=self.n_estimators)
        differences = self._differences(data, validation, seed)
        members = []
        for number, own_seed in enumerate(seeds):
            own = {name: values[number % len(values)] for name, values in differences.items()}
            member = clone(self.ranker).set_params(random_state=int(own_seed), **own)
            members.append(self._sharing(member))
        some = data.sample(SCORED_DOCUMENTS, seed)
        with safe_path():
            fitted = Parallel(n_jobs=self.n_jobs)(
                delayed(_fitted)(member, data, validation, some) for member in members
            )
        self.rankers_ = [member for member, _ in fitted]
        self.factors_ = np.array([factor for _, factor in fitted]) / len(fitted)

    def _differences(
        self, data: TrainingData, validation: TrainingData | None, seed: int
    ) -> Mapping[str, Sequence[Any]]:
        """The values that members take in turn, by parameter."""
        vary: Mapping[str, Sequence[Any]] = {}
        is_auto = isinstance(self.vary, str) and self.vary == AUTO
        if self.vary is not None and not is_auto:
            vary = _checked(self.vary)
        given = self.ranker.get_params(deep=False).get("transform")
        if "transform" in vary or not isinstance(given, str) or given not in (CROSS_VALIDATED, IN_BINS):
            return vary
        # Members would all choose the same, so it is chosen once.
        ranker = self._sharing(clone(self.ranker))
        parameters = ranker.get_params(deep=False)
        chosen = select_encoding(ranker, data, validation, seed=seed, progress=parameters.get("progress"))
        enough = data.n_queries >= MIN_QUERIES and len(data.relevance) >= MIN_DOCUMENTS
        # A net of one's own may want a certain number of columns.
        in_turn = is_auto and enough and parameters.get("feature_net") is None
        return {**vary, "transform": TURNS[chosen] if in_turn else [chosen]}

    def _sharing(self, member: Ranker) -> Ranker:
        """The member, told what the input is."""
        for name in ("n_features_in_", "feature_names_in_", "input_shape_"):
            if hasattr(self, name):
                setattr(member, name, getattr(self, name))
        return member

    def compare(self, A: Any, B: Any) -> NDArray[np.float64]:
        """The ranking function r(a, b), row by row; members that see lists see all rows as one."""
        first, second = self._tables_to_compare(A, B)
        totals = np.zeros((2, len(first)))
        for ranker, factor in zip(self.rankers_, self.factors_, strict=True):
            totals += factor * np.stack(ranker._scores_as_one_list(first, second)).astype(np.float64)
        scores = saturated(totals).astype(np.float64)  # as `predict` rounds them, so that both agree
        return np.asarray(scores[0] - scores[1])

    _unsaved_parameters = Ranker._unsaved_parameters | {"ranker"}  # the fitted ones are saved

    def _restore(self, state: Mapping[str, Any]) -> None:
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
            raise ExportError(f"{error}; {self._exportable_instead()}") from None

    def _exportable_instead(self) -> str:
        """What can be exported in place of this ensemble."""
        for number, member in enumerate(self.rankers_):
            try:
                member._describe()
            except ExportError:
                continue
            return (
                f"of this Ensemble, ranker {number} can be exported: "
                f"load_ranker(…).rankers_[{number}].save('single') makes a model of it; and so can an "
                "Ensemble(…, vary=None), whose rankers differ in their seeds only"
            )
        return "take an Ensemble whose rankers see documents by themselves"

    def _contributions(self, table: Features, pairs: IntArray, *, n_steps: int) -> tuple[FloatArray, str]:
        total, method = np.zeros((len(pairs), table.shape[1])), ""
        for member, factor in zip(self.rankers_, self.factors_, strict=True):
            parts, method = member._contributions(table, pairs, n_steps=n_steps)
            total += factor * parts
        return total, f"the mean over rankers of {method}"

    _warm_up_parameters = {"n_estimators": 2}  # noqa: RUF012 - members may see different things

    def _scores(self, table: Features, query: IntArray) -> NDArray[np.float32]:
        total = np.zeros(len(table))
        for ranker, factor in zip(self.rankers_, self.factors_, strict=True):
            total += factor * ranker._scores(table, query).astype(np.float64)
        return saturated(total)


def _checked(vary: Any) -> Mapping[str, Sequence[Any]]:
    if not isinstance(vary, Mapping):
        raise TypeError(f"vary is {vary!r}; give 'auto', None or values by parameter")
    for name, values in vary.items():
        if not isinstance(values, list | tuple) or not values:
            raise TypeError(f"vary has {values!r} for {name}; give a list of values")
    return vary


def _fitted(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    some: tuple[Features, IntArray],
) -> tuple[Ranker, float]:
    """The ranker, and what makes the deviation of its scores of these documents 1."""
    restore_path()
    with interrupts_raised():  # else Ctrl-C would end one member, and the next would begin
        ranker._fit_checked(data, validation)
    width = deviation_within(ranker._scores(*some), some[1])
    return ranker, 1 / width if width > 0 else 0.0


def deviation_within(scores: NDArray[Any], query: IntArray) -> float:
    """How far scores are from their query's mean, by the root of the mean square.

    >>> deviation_within(np.array([1.0, 3.0, 50.0, 52.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    values = scores.astype(np.float64)
    means = np.bincount(query, values) / np.maximum(np.bincount(query), 1)
    return float(np.sqrt(np.mean((values - means[query]) ** 2)))
