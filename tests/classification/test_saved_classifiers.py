"""Saved classifiers: a loaded one predicts the same, and invalid folders raise."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from directranker import DirectRanker, OrderClassifier, RankSVM, load_classifier
from directranker.errors import StorageError

X = np.random.default_rng(0).normal(size=(120, 2)).astype(np.float32)
CODES = np.digitize(X[:, 0], [-0.5, 0.5])


def fit_classifier(y: NDArray[Any], **parameters: Any) -> OrderClassifier:
    return OrderClassifier(RankSVM(), random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize(
    "names",
    [
        np.array([0, 1, 2]),
        np.array([-1.0, 0.0, 7.0], dtype=np.float32),
        np.array(["a", "b", "<c>"]),
        np.array(["a", "b", "c"], dtype=object),
        np.array([False, True, True]),
    ],
    ids=lambda names: str(names.dtype),
)
def test_a_loaded_classifier_predicts_the_same(names: NDArray[Any], tmp_path: Path) -> None:
    classifier = fit_classifier(names[CODES])
    classifier.save(tmp_path / "model")
    loaded = load_classifier(tmp_path / "model")
    assert loaded.classes_.dtype == classifier.classes_.dtype
    assert loaded.predict(X).tolist() == classifier.predict(X).tolist()
    for method in ("predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(classifier, method)(X))
    moved = [each.find_thresholds(X, confidence=0).thresholds_.tolist() for each in (loaded, classifier)]
    assert moved[0] == moved[1]


@pytest.mark.filterwarnings("ignore:thresholds='peaks' may be arbitrary")
def test_parameters_and_a_class_order_are_kept(tmp_path: Path) -> None:
    order = ["middle", "high", "low"]
    names = np.array(["low", "middle", "high"])[CODES]
    classifier = fit_classifier(
        names, class_order=order, class_weight="balanced", thresholds="peaks", calibration_fraction=0.3
    )
    classifier.save(tmp_path / "model")
    loaded = load_classifier(tmp_path / "model")
    expected = classifier.get_params(deep=False)
    parameters = loaded.get_params(deep=False)
    assert {name: parameters[name] for name in expected if name != "ranker"} == {
        name: expected[name] for name in expected if name != "ranker"
    }
    assert type(parameters["ranker"]) is RankSVM
    assert not hasattr(parameters["ranker"], "n_features_in_")
    assert loaded.ordered_classes_.tolist() == order
    assert loaded.fit(X, names).predict(X).tolist() == classifier.fit(X, names).predict(X).tolist()


def test_a_net_is_saved_with_the_classifier(tmp_path: Path) -> None:
    classifier = OrderClassifier(DirectRanker(max_epochs=2, random_state=0), random_state=0).fit(X, CODES)
    classifier.save(tmp_path / "model")
    with pytest.raises(FileExistsError):
        classifier.save(tmp_path / "model")
    classifier.save(tmp_path / "model", overwrite=True)
    np.testing.assert_array_equal(
        load_classifier(tmp_path / "model").predict_proba(X), classifier.predict_proba(X)
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"format": "x"}, "not a directranker classifier"),
        ({"slope": 0}, "above 0"),
        ({"slope": "x"}, "inconsistent"),
        ({"thresholds": [2.0, 1.0]}, "must not decrease"),
        ({"thresholds": [1.0]}, "2 finite thresholds"),
        ({"thresholds": [1.0, float("inf")]}, "2 finite thresholds"),
        ({"order": [0, 1, 1]}, "each class once"),
        ({"classes": {"type": "object", "values": [0, 1, 2]}}, "not of type"),
        ({"classes": {"type": "V9", "values": [0, 1, 2]}}, "of type 'V9'"),
        ({"n_features": 5}, "not 5"),
        ({"parameters": {}}, "inconsistent"),
    ],
)
def test_a_modified_header_raises(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    fit_classifier(CODES).save(tmp_path / "model")
    header = tmp_path / "model" / "classifier.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), **changes}))
    with pytest.raises(StorageError, match=problem):
        load_classifier(tmp_path / "model")


def test_an_invalid_classifier_raises(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="has no classifier"):
        load_classifier(tmp_path)
    (tmp_path / "classifier.json").write_text("{")
    with pytest.raises(StorageError, match="cannot be read"):
        load_classifier(tmp_path)
    with pytest.raises(ValueError, match="not fitted"):
        OrderClassifier().save(tmp_path / "model")
    invalid = fit_classifier(CODES)
    invalid.classes_ = np.array([None, 1, 2], dtype=object)
    with pytest.raises(TypeError, match="cannot be saved"):
        invalid.save(tmp_path / "invalid")


def test_an_oversized_header_is_not_read(tmp_path: Path) -> None:
    header = tmp_path / "classifier.json"
    header.write_text("[" * 200_000)
    with pytest.raises(StorageError, match="cannot be read"):
        load_classifier(tmp_path)
    os.truncate(header, 20 << 30)
    with pytest.raises(StorageError, match="the header of a classifier is never so long"):
        load_classifier(tmp_path)
    header.unlink()
    header.symlink_to("/dev/zero")
    with pytest.raises(StorageError, match="has no classifier"):
        load_classifier(tmp_path)
