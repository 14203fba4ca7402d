"""Where the metric of early stopping is constant, early stopping is off with a warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from directranker import RankingDataset, TrainingWarning, example_dataset
from directranker.rankers import DirectRanker, ESRank, LambdaMART, Ranker
from directranker.rankers.nets.distillation import resolve_teacher
from directranker.training.data import TrainingData

QUICK: dict[str, Any] = {"teacher": None, "transform": "standard", "hidden_layers": 8, "random_state": 0}
NET = DirectRanker(**QUICK, max_epochs=5, patience=2)
TREES = LambdaMART(n_estimators=5, patience=2, random_state=0)


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(40))


@pytest.mark.parametrize("ranker", [NET, TREES], ids=["net", "trees"])
def test_labels_below_0(ranker: Ranker, data: RankingDataset) -> None:
    labels = data.relevance - 9
    with pytest.warns(TrainingWarning, match=r"early stopping is off: no query counts .* from -9 .*: add a"):
        ranker.fit(data.features, labels, qid=data.qid)
    assert len(ranker.history_) == 5
    assert {record.metric for record in ranker.history_} == {None}
    # Early stopping is off, so nothing was held out.
    scores = ranker.predict(data)
    whole = ranker.set_params(early_stopping=False).fit(data.features, labels, qid=data.qid)
    np.testing.assert_array_equal(whole.predict(data), scores)
    ranker.set_params(early_stopping=True)


@pytest.mark.parametrize("ranker", [NET, TREES], ids=["net", "trees"])
def test_an_eval_set_of_equal_labels(ranker: Ranker, data: RankingDataset) -> None:
    nothing = (data.features, np.zeros(data.n_documents), data.qid)
    with pytest.warns(TrainingWarning, match="eval_set: no query counts under"):
        ranker.fit(data, eval_set=nothing)
    assert len(ranker.history_) == 5
    with pytest.warns(TrainingWarning, match="no metric is recorded: eval_set: no query counts under"):
        clone(ranker).set_params(early_stopping=False).fit(data, eval_set=nothing)


def test_click_rates_between_0_and_1(data: RankingDataset) -> None:
    rates = data.relevance / 10
    with pytest.warns(TrainingWarning, match="counts under ndcg@10:paper.* such as 'ndcg@10:graded'"):
        clone(TREES).set_params(metric="ndcg@10").fit(data.features, rates, qid=data.qid)
    teacher = resolve_teacher("trees", TrainingData(data.features, None, rates, data.offsets))
    assert isinstance(teacher, LambdaMART)
    assert teacher.metric == "ndcg@10:graded"
    teacher.set_params(n_estimators=3).fit(data.features, rates, qid=data.qid)


def test_labels_that_are_all_relevant(data: RankingDataset) -> None:
    stars = data.relevance + 1
    for ranker in (NET, TREES):
        binary = clone(ranker).set_params(metric="ndcg@10")
        with pytest.warns(
            TrainingWarning, match="off: every order .* from 1 to 5: .*at a higher one"
        ) as warned:
            binary.fit(data.features, stars, qid=data.qid)
        assert [warning.filename for warning in warned] == [__file__]
        assert {record.metric for record in binary.history_} == {None}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(TREES).fit(data.features, stars, qid=data.qid)
        with pytest.raises(UserWarning, match="the score is meaningless: every order of the documents"):
            TREES.fit(data).score(data.features, stars, qid=data.qid)


def test_the_metric_is_not_constant_on_the_validation_split(data: RankingDataset) -> None:
    # One query has labels of at least 1; on the others the metric is constant.
    labels = data.relevance / 10
    labels[: data.offsets[1]] = np.arange(data.offsets[1]) % 2
    for seed in range(5):
        ESRank(metric="ndcg@10", n_generations=3, random_state=seed).fit(data.features, labels, qid=data.qid)
