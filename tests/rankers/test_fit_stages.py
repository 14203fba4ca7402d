"""The stages of fitting a DirectRanker, each on its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from directranker import DirectRanker, RankSVM, example_dataset
from directranker.encoding import Standard
from directranker.rankers import LambdaMART
from directranker.rankers.nets import fit_stages as stages
from directranker.training.data import TrainingData
from directranker.training.loop import TrainingOptions

DATA = TrainingData.from_dataset(example_dataset().select(range(40)))


def small(**parameters: Any) -> DirectRanker:
    quick: dict[str, Any] = {"transform": "standard", "teacher": None, "hidden_layers": 8, "random_state": 3}
    return DirectRanker(**quick | parameters)


def test_resolve_fills_in_auto_values() -> None:
    resolved = stages.resolve(DirectRanker(random_state=3), DATA, None)
    assert resolved.seed == 3
    assert isinstance(resolved.teacher, LambdaMART)
    assert resolved.cost.objective.reduction == "root"
    assert resolved.checkpoint is None
    assert stages.resolve(small(cost="listnet"), DATA, None).cost.objective.reduction == "queries"
    assert stages.resolve(small(teacher="trees", teacher_weight=0.0), DATA, None).teacher is None


@pytest.mark.parametrize("parameters", [{"optimizer": "adamm"}, {"teacher": "tree"}, {"device": "gpu"}])
def test_resolve_raises_for_invalid_names(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        stages.resolve(small(**parameters), DATA, None)


def test_split_holds_out_a_fraction_of_the_queries() -> None:
    ranker = small(validation_fraction=0.25)
    splits = stages.split(ranker, stages.resolve(ranker, DATA, None), DATA, None)
    assert splits.validation is not None
    assert (splits.train.n_queries, splits.validation.n_queries) == (30, 10)
    assert splits.stopping is splits.validation


def test_without_early_stopping_the_validation_data_stops_nothing() -> None:
    ranker = small(early_stopping=False)
    resolved = stages.resolve(ranker, DATA, DATA)
    assert stages.split(ranker, resolved, DATA, None).validation is None
    splits = stages.split(ranker, resolved, DATA, DATA)
    assert splits.validation is DATA
    assert splits.stopping is None


def test_teach_adds_soft_targets_to_the_cost() -> None:
    ranker = small(teacher=RankSVM(), teacher_weight=0.3)
    resolved = stages.resolve(ranker, DATA, None)
    cost = stages.teach(ranker, resolved, stages.Splits(DATA, None, early_stopping=False))
    assert cost.teacher_weight == 0.3
    assert cost.soft_targets is not None
    assert len(cost.soft_targets.logits) == DATA.n_documents
    assert resolved.cost.soft_targets is None


def test_encode_and_build_set_the_fitted_attributes() -> None:
    ranker, splits = small(), stages.Splits(DATA, None, early_stopping=False)
    resolved = stages.resolve(ranker, DATA, None)
    stages.encode(ranker, resolved, splits)
    assert isinstance(ranker.transform_, Standard)
    net = stages.build(ranker, resolved, splits)
    assert ranker.hidden_layers_ == (8,)
    assert net.head.weight.shape == (8,)
    again = stages.build(ranker, resolved, splits)
    assert torch.equal(net.head.weight, again.head.weight)  # the seed determines the weights


def test_train_runs_the_given_number_of_epochs() -> None:
    ranker, splits = small(max_epochs=2), stages.Splits(DATA, DATA, early_stopping=True)
    resolved = stages.resolve(ranker, DATA, None)
    stages.encode(ranker, resolved, splits)
    net = stages.build(ranker, resolved, splits)
    before = net.head.weight.detach().clone()
    result = stages.train(ranker, resolved, splits, resolved.cost, net)
    assert len(result.history) == 2
    assert result.stopped == "max_epochs"
    assert all(np.isfinite(record.metric or np.nan) for record in result.history)
    assert not torch.equal(net.head.weight, before)


def test_training_options_have_the_parameters_of_the_same_names() -> None:
    ranker = small(learning_rate=0.5, patience=4, early_stopping=False, max_grad_norm=2.0)
    options = TrainingOptions.from_parameters(ranker.get_params(deep=False), batch_queries=7, seed=5)
    assert (options.learning_rate, options.patience, options.max_grad_norm) == (0.5, 4, 2.0)
    assert (options.batch_queries, options.seed, options.early_stopping) == (7, 5, False)
    assert options.weight_decay == ranker.weight_decay
