"""A classifier saved and loaded: the same in every answer; folders that are no classifier are told."""

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


def fitted(y: NDArray[Any], **options: Any) -> OrderClassifier:
    return OrderClassifier(RankSVM(), random_state=0, **options).fit(X, y)


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
def test_it_answers_the_same(names: NDArray[Any], tmp_path: Path) -> None:
    classifier = fitted(names[CODES])
    classifier.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    assert again.classes_.dtype == classifier.classes_.dtype
    assert again.predict(X).tolist() == classifier.predict(X).tolist()
    for answer in ("predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(again, answer)(X), getattr(classifier, answer)(X))
    moved = [one.find_thresholds(X, confidence=0).thresholds_.tolist() for one in (again, classifier)]
    assert moved[0] == moved[1]


@pytest.mark.filterwarnings("ignore:thresholds='peaks' may be arbitrary")
def test_options_and_an_own_order_are_kept(tmp_path: Path) -> None:
    order = ["middle", "high", "low"]
    names = np.array(["low", "middle", "high"])[CODES]
    classifier = fitted(
        names, class_order=order, class_weight="balanced", thresholds="peaks", calibration_fraction=0.3
    )
    classifier.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    kept = classifier.get_params(deep=False)
    found = again.get_params(deep=False)
    assert {name: found[name] for name in kept if name != "ranker"} == {
        name: kept[name] for name in kept if name != "ranker"
    }
    assert type(found["ranker"]) is RankSVM
    assert not hasattr(found["ranker"], "n_features_in_")
    assert again.ordered_classes_.tolist() == order
    assert again.fit(X, names).predict(X).tolist() == classifier.fit(X, names).predict(X).tolist()


def test_a_net_goes_with_it(tmp_path: Path) -> None:
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
        ({"slope": "x"}, "do not fit"),
        ({"thresholds": [2.0, 1.0]}, "must not fall"),
        ({"thresholds": [1.0]}, "2 finite thresholds"),
        ({"thresholds": [1.0, float("inf")]}, "2 finite thresholds"),
        ({"order": [0, 1, 1]}, "each class once"),
        ({"classes": {"type": "object", "values": [0, 1, 2]}}, "not of type"),
        ({"classes": {"type": "V9", "values": [0, 1, 2]}}, "of type 'V9'"),
        ({"n_features": 5}, "not 5"),
        ({"parameters": {}}, "do not fit"),
    ],
)
def test_a_changed_header_is_told(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    fitted(CODES).save(tmp_path / "model")
    header = tmp_path / "model" / "classifier.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), **changes}))
    with pytest.raises(StorageError, match=problem):
        load_classifier(tmp_path / "model")


def test_what_is_no_classifier_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="has no classifier"):
        load_classifier(tmp_path)
    (tmp_path / "classifier.json").write_text("{")
    with pytest.raises(StorageError, match="cannot be read"):
        load_classifier(tmp_path)
    with pytest.raises(ValueError, match="not fitted"):
        OrderClassifier().save(tmp_path / "model")
    odd = fitted(CODES)
    odd.classes_ = np.array([None, 1, 2], dtype=object)
    with pytest.raises(TypeError, match="cannot be saved"):
        odd.save(tmp_path / "odd")


def test_a_header_that_would_take_all_memory_is_not_read(tmp_path: Path) -> None:
    header = tmp_path / "classifier.json"
    header.write_text("[" * 200_000)
    with pytest.raises(StorageError, match="cannot be read"):
        load_classifier(tmp_path)
    os.truncate(header, 20 << 30)
    with pytest.raises(StorageError, match="no classifier has so long a header"):
        load_classifier(tmp_path)
    header.unlink()
    header.symlink_to("/dev/zero")
    with pytest.raises(StorageError, match="has no classifier"):
        load_classifier(tmp_path)
