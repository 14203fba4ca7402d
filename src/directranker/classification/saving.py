"""Save a fitted classifier as a folder: its ranker, and its classes and thresholds as JSON.

It is never a pickle, so an untrusted folder cannot run code. Labels are numbers, booleans or strings.

>>> import tempfile
>>> from directranker.rankers import DirectRanker
>>> X = np.linspace(0, 1, 80)[:, None]
>>> ranker = DirectRanker(max_epochs=5, random_state=0)
>>> classifier = OrderClassifier(ranker, random_state=0).fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
>>> with tempfile.TemporaryDirectory() as folder:
...     classifier.save(Path(folder) / "model")
...     again = load_classifier(Path(folder) / "model")
>>> bool((again.predict_proba(X) == classifier.predict_proba(X)).all())
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from directranker.classification.adjacent_category import AdjacentCategoryModel
from directranker.classification.order_classifier import OrderClassifier
from directranker.data.files import write_folder_atomically
from directranker.data.folder_swap import read_consistently
from directranker.errors import StorageError
from directranker.persistence import MAX_BYTES, load_ranker, read_regular_file, save_ranker

__all__ = ["load_classifier", "save_classifier"]

FORMAT, VERSION = "directranker classifier", 1
HEADER, RANKER = "classifier.json", "ranker"
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
NUMBERS = ("bool", *INTEGERS, "float32", "float64")
STRINGS = ("str", "object")


def save_classifier(classifier: OrderClassifier, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a fitted classifier to a folder, all or nothing."""
    seed, weight = classifier.random_state, classifier.class_weight
    header = {
        "format": FORMAT,
        "version": VERSION,
        "classes": _labels_to_json(classifier.classes_),
        "order": np.searchsorted(classifier.classes_, classifier.ordered_classes_).tolist(),
        "slope": classifier._model.slope,
        "thresholds": classifier.thresholds_.tolist(),
        "n_features": classifier.n_features_in_,
        "feature_names": getattr(classifier, "feature_names_in_", np.empty(0)).tolist(),
        "parameters": {
            "thresholds": classifier.thresholds,
            "calibration_fraction": classifier.calibration_fraction,
            "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
            "class_weight": "balanced" if isinstance(weight, str) else None,
        },
        "own_ranker": classifier.ranker is not None,
        "own_order": classifier.class_order is not None,
    }
    text = json.dumps(header, indent=1, allow_nan=False)
    with write_folder_atomically(folder, overwrite=overwrite) as temporary:
        save_ranker(classifier.ranker_, temporary / RANKER)
        (temporary / HEADER).write_text(text, encoding="utf-8")


def load_classifier(folder: str | Path, *, trust: Sequence[type] = ()) -> OrderClassifier:
    """Read a classifier that `OrderClassifier.save` wrote; `trust` is as in `load_ranker`.

    It predicts the same as the saved one. Its parameters are kept for another `fit`, except class weights
    given as a dictionary.
    """
    return read_consistently(Path(folder), lambda snapshot: _load(snapshot, trust))


def _load(folder: Path, trust: Sequence[type]) -> OrderClassifier:
    if not (folder / HEADER).is_file():
        raise StorageError(f"{folder} has no {HEADER}; give a folder that OrderClassifier.save wrote")
    text = read_regular_file(
        folder / HEADER, MAX_BYTES["header.json"], "the header of a classifier is never so long"
    )
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{folder / HEADER} cannot be read: {error}") from None
    if not isinstance(header, dict) or (header.get("format"), header.get("version")) != (FORMAT, VERSION):
        raise StorageError(f"{folder / HEADER} is not a {FORMAT} of version {VERSION}")
    ranker = load_ranker(folder / RANKER, trust=trust)
    try:
        return _from_json(header, ranker)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise StorageError(f"{folder / HEADER}: the contents are inconsistent ({error})") from None


def _from_json(header: Mapping[str, Any], ranker: BaseEstimator) -> OrderClassifier:
    classes, order = _labels_from_json(header["classes"]), np.array(header["order"], dtype=np.int64)
    slope, thresholds = float(header["slope"]), np.array(header["thresholds"], dtype=np.float64)
    if sorted(order.tolist()) != list(range(len(classes))) or len(np.unique(classes)) != len(classes):
        raise ValueError("the order does not contain each class once")
    if thresholds.shape != (len(classes) - 1,) or not np.isfinite([slope, *thresholds]).all():
        raise ValueError(f"{len(classes)} classes have {len(classes) - 1} finite thresholds between them")
    if slope <= 0 or (np.diff(thresholds) < 0).any():
        raise ValueError("thresholds must not decrease, and the slope must be above 0")
    if ranker.n_features_in_ != header["n_features"]:
        raise ValueError(f"the ranker takes {ranker.n_features_in_} features, not {header['n_features']}")
    names = ("thresholds", "calibration_fraction", "random_state", "class_weight")
    parameters = {name: header["parameters"][name] for name in names}
    classifier = OrderClassifier(clone(ranker) if header["own_ranker"] else None, **parameters)
    classifier.ranker_, classifier.classes_, classifier.ordered_classes_ = ranker, classes, classes[order]
    classifier.class_order = classes[order].tolist() if header["own_order"] else None
    classifier._model = AdjacentCategoryModel(slope, thresholds)
    classifier.thresholds_, classifier.n_features_in_ = thresholds, int(header["n_features"])
    if header["feature_names"]:
        classifier.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    return classifier


def _labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    values = labels.tolist()
    kind = "str" if labels.dtype.kind == "U" else labels.dtype.name
    if kind not in (*NUMBERS, *STRINGS) or (
        kind in STRINGS and not all(isinstance(value, str) for value in values)
    ):
        raise TypeError(f"classes of type {labels.dtype} cannot be saved; give numbers, booleans or strings")
    return {"type": kind, "values": values}


def _labels_from_json(labels: Mapping[str, Any]) -> NDArray[Any]:
    kind, values = labels["type"], labels["values"]
    if kind not in (*NUMBERS, *STRINGS) or len(values) < 2:
        raise ValueError(f"{len(values)} classes of type {kind!r}")
    if any(isinstance(value, str) != (kind in STRINGS) for value in values):
        raise ValueError(f"classes {values} are not of type {kind!r}")
    return np.array(values, dtype=kind)
