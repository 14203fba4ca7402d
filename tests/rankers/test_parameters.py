"""An invalid parameter raises at fit, with its name in the message."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from directranker.data.dataset import RankingDataset
from directranker.data.synthetic import example_dataset
from directranker.encoding import InContext, PiecewiseLinear, QuantileNormal
from directranker.persistence import load_ranker
from directranker.rankers import (
    AdaRank,
    CoordinateAscent,
    DirectRanker,
    Ensemble,
    ESRank,
    LambdaMART,
    Ranker,
    RankSVM,
)

RANKERS: list[type[Any]] = [DirectRanker, LambdaMART, RankSVM, AdaRank, CoordinateAscent, ESRank, Ensemble]
TRANSFORMS: list[type[Any]] = [PiecewiseLinear, InContext, QuantileNormal]
FOR_NUMBERS: list[Any] = ["64", float("nan"), float("inf"), -1, [], True]
FOR_SWITCHES: list[Any] = ["no", 0.5, None]


VALID = {
    (DirectRanker, "hidden_layers", np.ndarray),
    (AdaRank, "tol", int),  # −1 is valid
}


def defaults_of(kind: type[Any]) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


def invalid_values(default: Any) -> list[Any]:
    values: list[Any] = [object(), np.array([1, 2])]
    if isinstance(default, bool):
        return values + FOR_SWITCHES
    if isinstance(default, int | float):
        return values + FOR_NUMBERS + ([1.5] if isinstance(default, int) else [])
    return values


CASES = [
    pytest.param(kind, name, value, id=f"{kind.__name__}.{name}-{type(value).__name__}-{number}")
    for kind in [*RANKERS, *TRANSFORMS]
    for name, default in defaults_of(kind).items()
    for number, value in enumerate(invalid_values(default))
    if (kind, name, type(value)) not in VALID
]


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(40))


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
def test_an_invalid_parameter_raises_with_its_name(
    kind: type[Any], name: str, value: Any, data: RankingDataset
) -> None:
    options = {"ranker": RankSVM(), name: value} if kind is Ensemble else {name: value}
    message = f"{name} |unknown {name}|the feature net is"
    with pytest.raises((ValueError, TypeError), match=message):
        kind(**options).fit(data.features, data.relevance, qid=data.qid)


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (
            DirectRanker(max_pairs=(0, 5)),
            r"max_pairs is \(0, 5\); give a whole number of at least 1, or a pair",
        ),
        (DirectRanker(batch_queries=(1, 2, 3)), r"batch_queries is \(1, 2, 3\)"),  # type: ignore[arg-type]
        (DirectRanker(max_steps=0), "max_steps is 0; give a whole number of at least 1, or None"),
        (DirectRanker(max_grad_norm=0), "max_grad_norm is 0; give a number above 0, or None"),
        (DirectRanker(callbacks=print), "callbacks is <built-in function print>; give a list of functions"),  # type: ignore[arg-type]
        (DirectRanker(hidden_layers=b"64"), "hidden_layers is b'64'; pass the layer widths"),
        (DirectRanker(hidden_layers={64, 32}), "hidden_layers is .*; pass the layer widths"),  # type: ignore[arg-type]
        (DirectRanker(checkpoint=3), "checkpoint is 3; give the path of a folder, or None"),  # type: ignore[arg-type]
        (LambdaMART(n_jobs=1.5), "n_jobs is 1.5; give a number of threads or processes, -1 for all"),  # type: ignore[arg-type]
        (LambdaMART(min_child_samples=10**10), "give a whole number from 1 to 2147483647"),
        (Ensemble(LambdaMART(n_estimators=1.5), 2), "n_estimators is 1.5"),  # type: ignore[arg-type]
        (DirectRanker(teacher=LambdaMART(n_estimators=1.5)), "n_estimators is 1.5"),  # type: ignore[arg-type]
    ],
)
def test_messages(ranker: Ranker, message: str, data: RankingDataset) -> None:
    with pytest.raises(ValueError, match=message):
        ranker.fit(data)


def test_numpy_numbers_are_valid(data: RankingDataset, tmp_path: Path) -> None:
    ranker = DirectRanker(max_epochs=2, hidden_layers=8, teacher=None, transform="standard", random_state=0)
    same = clone(ranker).set_params(
        max_epochs=np.int64(2),
        hidden_layers=np.int64(8),
        learning_rate=np.float64(1e-3),
        early_stopping=np.True_,
        checkpoint=tmp_path / "checkpoint",
    )
    scores = ranker.fit(data).predict(data)
    np.testing.assert_array_equal(same.fit(data).predict(data), scores)
    same.set_params(checkpoint=None).save(tmp_path / "model")
    np.testing.assert_array_equal(load_ranker(tmp_path / "model").predict(data), scores)


@pytest.mark.parametrize(
    "ranker",
    [
        DirectRanker(max_epochs=2, hidden_layers=np.array([4, 3]), teacher=None, transform="standard"),  # type: ignore[arg-type]
        LambdaMART(n_estimators=np.int64(5), subsample=np.float32(0.5)),  # type: ignore[arg-type]
        RankSVM(transform=PiecewiseLinear(n_bins=np.int64(3))),  # type: ignore[arg-type]
    ],
)
def test_numpy_numbers_can_be_saved(ranker: Ranker, data: RankingDataset, tmp_path: Path) -> None:
    scores = ranker.fit(data).predict(data)
    ranker.save(tmp_path / "model")
    np.testing.assert_array_equal(load_ranker(tmp_path / "model").predict(data), scores)


@pytest.mark.parametrize(
    "change", [{"activation": "rellu"}, {"optimizer": "adamm"}, {"lr_schedule": "cos"}, {"device": "gpu"},
               {"hidden_layers": (0,)}, {"normalisation": "bach"}],
)  # fmt: skip
def test_names_are_checked_before_the_teacher_is_trained(
    change: dict[str, Any], data: RankingDataset
) -> None:
    class Teacher(RankSVM):
        def _fit(self, *_: Any) -> None:
            raise AssertionError("the teacher was trained first")

    with pytest.raises(ValueError, match=next(iter(change))):
        DirectRanker(teacher=Teacher(), **change).fit(data)
