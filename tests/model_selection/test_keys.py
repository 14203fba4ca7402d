"""Keys of cells: the same in every process, another one for whatever could change the result."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline

from directranker import Metric, RankingDataset
from directranker.encoding import PiecewiseLinear, Standard
from directranker.model_selection import Fit, Part, cells, fingerprints
from directranker.model_selection.digests import describe, digest_of
from directranker.model_selection.fingerprints import VERSIONS_OF, code_fingerprint, data_fingerprint
from directranker.rankers import DirectRanker, Ensemble, LambdaMART, RankSVM

from watched_rankers import CountingRanker, made_up

FINGERPRINTS = {"a": "1", "b": "2"}
BASE = Fit(
    ranker=DirectRanker(transform=PiecewiseLinear(), feature_net=torch.nn.Tanh),
    name="DirectRanker",
    parameters={"learning_rate": 0.1, "hidden_layers": (64, 32)},
    seed=3,
    train=Part("a", (0, 1, 2)),
    validation=Part("b"),
    test=Part("a", (3, 4)),
    metrics=("ndcg@10", "map"),
)
OTHERS: dict[str, dict[str, Any]] = {
    "class": {"ranker": RankSVM(), "parameters": {}},
    "parameter": {"parameters": {"learning_rate": 0.1, "hidden_layers": (64,)}},
    "type of a parameter": {"parameters": {"learning_rate": 0.1, "hidden_layers": [64, 32]}},
    "last bit of a parameter": {"parameters": {"learning_rate": 0.1 + 2e-17, "hidden_layers": (64, 32)}},
    "default": {"ranker": DirectRanker(transform=PiecewiseLinear(), feature_net=torch.nn.Tanh, dropout=0.4)},
    "transform": {"ranker": DirectRanker(transform=Standard(), feature_net=torch.nn.Tanh)},
    "parameter of a transform": {
        "ranker": DirectRanker(transform=PiecewiseLinear(n_bins=5), feature_net=torch.nn.Tanh)
    },
    "net": {"ranker": DirectRanker(transform=PiecewiseLinear(), feature_net=torch.nn.ReLU)},
    "seed": {"seed": 4},
    "training queries": {"train": Part("a", (0, 1))},
    "order of the training queries": {"train": Part("a", (0, 2, 1))},
    "training data": {"train": Part("b", (0, 1, 2))},
    "no validation": {"validation": None},
    "validation queries": {"validation": Part("b", (0,))},
    "test queries": {"test": Part("a", (3,))},
    "test data": {"test": Part("b", (3, 4))},
    "convention": {"convention": "trec"},
    "kept queries": {"keep_queries": True},
    "queries that are looked at": {"shown": (3,)},
}


def keys_of(fit: Fit, prints: Mapping[str, str] = FINGERPRINTS) -> dict[str, str]:
    return fit.keys(prints)


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_another_ingredient_is_another_key(changes: dict[str, Any]) -> None:
    assert (0.1 + 2e-17) != 0.1
    base, other = keys_of(BASE), keys_of(replace(BASE, **changes))
    assert not set(base.values()) & set(other.values())


def test_metrics_and_data_have_their_own_keys() -> None:
    keys = keys_of(BASE)
    assert len(set(keys.values())) == 2
    assert set(keys.values()).isdisjoint(keys_of(BASE, {"a": "3", "b": "2"}).values())
    assert set(keys.values()).isdisjoint(keys_of(BASE, {"a": "1", "b": "3"}).values())
    assert keys["map"] == keys_of(replace(BASE, metrics=("map",)))["map"]
    with pytest.raises(ValueError, match="no data set is called 'a'; choose from 'b'"):
        keys_of(BASE, {"b": "2"})


def test_names_for_people_and_what_has_no_influence_do_not_matter() -> None:
    same = replace(BASE, name="other", fold="Fold9", inner_fold=2)
    assert keys_of(same) == keys_of(BASE)
    quiet = replace(
        BASE, ranker=BASE.ranker.__class__(**{**BASE.ranker.get_params(deep=False), "progress": False})
    )
    assert keys_of(quiet) == keys_of(BASE)
    trees = [replace(BASE, ranker=LambdaMART(n_jobs=n), parameters={}) for n in (None, 2)]
    assert keys_of(trees[0]) == keys_of(trees[1])
    # The same written as a parameter of the ranker or of the candidate is the same training.
    inside = DirectRanker(**{**BASE.ranker.get_params(deep=False), **BASE.parameters, "random_state": 9})
    assert keys_of(replace(BASE, ranker=inside, parameters={})) == keys_of(BASE)


def test_code_and_versions_are_ingredients(monkeypatch: pytest.MonkeyPatch) -> None:
    base = keys_of(BASE)
    monkeypatch.setattr(cells, "environment_fingerprint", lambda: "other")
    assert set(base.values()).isdisjoint(keys_of(BASE).values())


@pytest.mark.parametrize("package", VERSIONS_OF)
def test_a_new_version_of_a_package_is_another_environment(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprints.environment_fingerprint()
    monkeypatch.setattr(fingerprints, "version", lambda name: "9" if name == package else version(name))
    assert fingerprints.environment_fingerprint.__wrapped__() != before


def test_changed_sources_are_another_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Path(fingerprints.__file__).parents[1]
    for room in fingerprints.SOURCES:
        for file in sorted((package / room).rglob("*.py")) or [package / room]:
            copy = tmp_path / file.relative_to(package)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    monkeypatch.setattr(fingerprints, "__file__", str(tmp_path / "model_selection" / "fingerprints.py"))
    assert code_fingerprint.__wrapped__() == code_fingerprint()
    kernel = tmp_path / "metrics" / "kernels.py"
    kernel.write_text(kernel.read_text() + "\n# changed\n")
    assert code_fingerprint.__wrapped__() != code_fingerprint()


def test_keys_are_the_same_in_every_process() -> None:
    script = "import test_keys; print(*test_keys.keys_of(test_keys.BASE).values())"
    expected = " ".join(keys_of(BASE).values())
    for seed in ("1", "2"):
        path = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        ran = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == expected


def test_fingerprint_of_data_sees_every_bit() -> None:
    data = made_up(3)
    base = data_fingerprint(data)
    features, relevance, offsets = data.features.copy(), data.relevance.copy(), data.offsets.copy()
    features[-1, -1] = np.nextafter(features[-1, -1], 9)
    relevance[-1] += 1
    offsets[1] += 1
    for changes in ({"features": features}, {"relevance": relevance}, {"offsets": offsets}):
        assert data_fingerprint(replace(data, **changes)) != base
    assert data_fingerprint(replace(data, query_ids=np.array(["x", "y", "z"], dtype=object))) == base
    wide = RankingDataset(
        data.features.reshape(-1, 1)[: data.n_documents], relevance, data.offsets, np.arange(3)
    )
    assert data_fingerprint(wide) != base


def scaled(x: Any, by: float) -> Any:
    return x * by


def test_descriptions_tell_values_apart() -> None:
    class Local:
        pass

    values = [
        *(None, True, 1, 1.0, "1", np.float32(1), (1,), [1], {1}, {"1": 1}, {1: 1}, range(1), Path("1")),
        *(
            np.ones(1),
            np.ones(1, np.float32),
            np.ones((1, 1)),
            np.array([1], object),
            float("inf"),
            -0.0,
            0.0,
        ),
        *(scaled, partial(scaled, by=1), partial(scaled, by=2), dict, torch.nn.ReLU, np.sum, len),
        *(torch.nn.Linear(1, 1), RankSVM(), RankSVM(alpha=1), Ensemble(RankSVM()), CountingRanker()),
        *(Metric("ndcg"), Metric("ndcg", 5), make_pipeline(Standard(), RankSVM()), make_pipeline(RankSVM())),
    ]
    words = [digest_of(describe(value)) for value in values]
    assert len(set(words)) == len(values)
    assert describe(np.int64(5)) == describe(5)
    assert describe(np.float64(0.1)) == describe(0.1)
    assert describe({"b": 1, "a": 2}) == describe({"a": 2, "b": 1})
    for value in (lambda x: x, Local, Local(), object(), np.random.default_rng(0)):
        with pytest.raises(TypeError, match=r"cost is .*(module|estimator)"):
            describe({"cost": value})


def test_a_changed_source_of_a_users_class_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "from sklearn.base import BaseEstimator\nclass Mine(BaseEstimator):\n    size = {}\n"
    monkeypatch.syspath_prepend(str(tmp_path))
    words = []
    for size in (1, 2):
        (tmp_path / f"users_module_{size}.py").write_text(source.format(size))
        module = __import__(f"users_module_{size}")
        words.append(describe(module.Mine())["class"]["source"])
    assert words[0] != words[1]


def test_a_changed_class_without_a_source_is_told_too() -> None:
    source = "class Typed:\n    def size(self, kind):\n        return {} if kind in {{'a', 'b'}} else b''\n"
    words = []
    for size in (1, 2, 2):
        names: dict[str, Any] = {"__name__": "typed"}
        exec(source.format(size), names)  # noqa: S102 - as one that is typed in
        words.append(describe(names["Typed"])["source"])
    assert words[0] != words[1] == words[2]
