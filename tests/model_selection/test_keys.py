"""Job keys: equal in every process, different for anything that can change the result."""

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
from directranker.model_selection import Fit, QuerySubset, fingerprints, jobs
from directranker.model_selection.digests import compute_digest, describe
from directranker.model_selection.fingerprints import VERSIONED_PACKAGES, code_fingerprint, data_fingerprint
from directranker.rankers import DirectRanker, Ensemble, LambdaMART, RankSVM

from watched_rankers import CountingRanker, make_data

FINGERPRINTS = {"a": "1", "b": "2"}
BASE = Fit(
    ranker=DirectRanker(transform=PiecewiseLinear(), feature_net=torch.nn.Tanh),
    name="DirectRanker",
    parameters={"learning_rate": 0.1, "hidden_layers": (64, 32)},
    seed=3,
    train=QuerySubset("a", (0, 1, 2)),
    validation=QuerySubset("b"),
    test=QuerySubset("a", (3, 4)),
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
    "training queries": {"train": QuerySubset("a", (0, 1))},
    "order of the training queries": {"train": QuerySubset("a", (0, 2, 1))},
    "training data": {"train": QuerySubset("b", (0, 1, 2))},
    "no validation": {"validation": None},
    "validation queries": {"validation": QuerySubset("b", (0,))},
    "test queries": {"test": QuerySubset("a", (3,))},
    "test data": {"test": QuerySubset("b", (3, 4))},
    "convention": {"convention": "trec"},
    "values per query": {"keep_per_query": True},
    "example queries": {"example_queries": (3,)},
}


def compute_keys(fit: Fit, prints: Mapping[str, str] = FINGERPRINTS) -> dict[str, str]:
    return fit.keys(prints)


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_a_changed_ingredient_changes_the_key(changes: dict[str, Any]) -> None:
    assert (0.1 + 2e-17) != 0.1
    base, other = compute_keys(BASE), compute_keys(replace(BASE, **changes))
    assert not set(base.values()) & set(other.values())


def test_metrics_and_data_have_their_own_keys() -> None:
    keys = compute_keys(BASE)
    assert len(set(keys.values())) == 2
    assert set(keys.values()).isdisjoint(compute_keys(BASE, {"a": "3", "b": "2"}).values())
    assert set(keys.values()).isdisjoint(compute_keys(BASE, {"a": "1", "b": "3"}).values())
    assert keys["map"] == compute_keys(replace(BASE, metrics=("map",)))["map"]
    with pytest.raises(ValueError, match="no data set is called 'a'; choose from 'b'"):
        compute_keys(BASE, {"b": "2"})


def test_names_and_ignored_parameters_are_not_in_the_key() -> None:
    same = replace(BASE, name="other", fold="Fold9", inner_fold=2)
    assert compute_keys(same) == compute_keys(BASE)
    quiet = replace(
        BASE, ranker=BASE.ranker.__class__(**{**BASE.ranker.get_params(deep=False), "progress": False})
    )
    assert compute_keys(quiet) == compute_keys(BASE)
    trees = [replace(BASE, ranker=LambdaMART(n_jobs=n), parameters={}) for n in (None, 2)]
    assert compute_keys(trees[0]) == compute_keys(trees[1])
    # The same written as a parameter of the ranker or of the candidate is the same training.
    inside = DirectRanker(**{**BASE.ranker.get_params(deep=False), **BASE.parameters, "random_state": 9})
    assert compute_keys(replace(BASE, ranker=inside, parameters={})) == compute_keys(BASE)


def test_code_and_versions_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    base = compute_keys(BASE)
    monkeypatch.setattr(jobs, "environment_fingerprint", lambda: "other")
    assert set(base.values()).isdisjoint(compute_keys(BASE).values())


@pytest.mark.parametrize("package", VERSIONED_PACKAGES)
def test_a_new_package_version_changes_the_environment(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprints.environment_fingerprint()
    monkeypatch.setattr(fingerprints, "version", lambda name: "9" if name == package else version(name))
    assert fingerprints.environment_fingerprint.__wrapped__() != before


def test_changed_sources_change_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Path(fingerprints.__file__).parents[1]
    for source in fingerprints.SOURCES:
        for file in sorted((package / source).rglob("*.py")) or [package / source]:
            copy = tmp_path / file.relative_to(package)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    monkeypatch.setattr(fingerprints, "__file__", str(tmp_path / "model_selection" / "fingerprints.py"))
    assert code_fingerprint.__wrapped__() == code_fingerprint()
    kernel = tmp_path / "metrics" / "kernels.py"
    kernel.write_text(kernel.read_text() + "\n# changed\n")
    assert code_fingerprint.__wrapped__() != code_fingerprint()


def test_keys_are_the_same_in_every_process() -> None:
    script = "import test_keys; print(*test_keys.compute_keys(test_keys.BASE).values())"
    expected = " ".join(compute_keys(BASE).values())
    path = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # another than here
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == expected


def test_data_fingerprint_covers_every_bit() -> None:
    data = make_data(3)
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


def scale(x: Any, by: float) -> Any:
    return x * by


def test_different_values_have_different_descriptions() -> None:
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
        *(scale, partial(scale, by=1), partial(scale, by=2), dict, torch.nn.ReLU, np.sum, len),
        *(torch.nn.Linear(1, 1), RankSVM(), RankSVM(alpha=1), Ensemble(RankSVM()), CountingRanker()),
        *(Metric("ndcg"), Metric("ndcg", 5), make_pipeline(Standard(), RankSVM()), make_pipeline(RankSVM())),
    ]
    digests = [compute_digest(describe(value)) for value in values]
    assert len(set(digests)) == len(values)
    assert describe(np.int64(5)) == describe(5)
    assert describe(np.float64(0.1)) == describe(0.1)
    assert describe({"b": 1, "a": 2}) == describe({"a": 2, "b": 1})
    for value in (lambda x: x, Local, Local(), object(), np.random.default_rng(0)):
        with pytest.raises(TypeError, match=r"cost is .*(module|estimator)"):
            describe({"cost": value})


USERS_MODULE = """
from sklearn.base import BaseEstimator
LIMIT = {limit}
def size():
    return {helper}
class Mine(BaseEstimator):
    def size(self):
        return {own} * size()
"""


@pytest.mark.parametrize("changed", ["own", "helper", "limit"])
def test_any_change_in_the_module_of_a_users_class_changes_its_digest(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Helpers and constants of the module change the scores as much as the class itself.
    monkeypatch.syspath_prepend(str(tmp_path))
    digests: list[str] = []
    for number in (1, 1, 2):
        values = {"own": 1, "helper": 1, "limit": 1, changed: number}
        name = f"users_module_{changed}_{len(digests)}"
        (tmp_path / f"{name}.py").write_text(USERS_MODULE.format(**values))
        module = __import__(name)
        digests.append(describe(module.Mine())["class"]["source"])
    assert digests[0] == digests[1] != digests[2]


MAIN_SCRIPT = """
from directranker.model_selection.digests import describe
def size():
    return {}
class Mine:
    def size(self):
        return size()
print(describe(Mine)["source"])
"""


def test_a_changed_helper_of_a_script_changes_the_digest_of_its_class(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    digests = []
    for size in (1, 1, 2):
        script.write_text(MAIN_SCRIPT.format(size))
        ran = subprocess.run(
            [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
        )
        digests.append(ran.stdout)
    assert digests[0] == digests[1] != digests[2]


TYPED_SOURCE = """
LIMIT = {limit}
def helper(kind):
    return {helper} if LIMIT else helper(kind)
class Typed:
    def size(self, kind):
        return {own} * helper(kind) if kind in {{'a', 'b'}} else b''
    @staticmethod
    def other():
        return {static}
"""


@pytest.mark.parametrize("changed", ["own", "helper", "limit", "static"])
def test_a_changed_class_without_a_source_file_changes_its_digest(changed: str) -> None:
    digests = []
    for number in (1, 2, 2):
        names: dict[str, Any] = {"__name__": "typed"}
        values = {"own": 1, "helper": 1, "limit": 1, "static": 1, changed: number}
        exec(TYPED_SOURCE.format(**values), names)  # noqa: S102 - as if typed at a prompt
        digests.append(describe(names["Typed"])["source"])
    assert digests[0] != digests[1] == digests[2]
