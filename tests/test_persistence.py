"""Saved rankers: identical scores, also in another process, and clear errors for damaged folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from directranker import RankingDataset, StorageError, example_dataset
from directranker.encoding import TRANSFORMS
from directranker.persistence import MAX_BYTES, load_ranker, seal_header
from directranker.rankers import (
    AdaRank,
    CoordinateAscent,
    DirectRanker,
    Ensemble,
    ESRank,
    IESRRank,
    IESVMRank,
    LambdaDirectRanker,
    LambdaMART,
    ListNet,
    Ranker,
    RankNet,
    RankSVM,
)

QUICK: dict[str, Any] = {"max_epochs": 1, "random_state": 0, "hidden_layers": (6, 4)}


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(40))


@pytest.mark.parametrize(
    "ranker",
    [
        DirectRanker(
            **QUICK, normalisation="batch", activation="gelu", head_activation="softsign", cost="squared"
        ),
        DirectRanker.paper(random_state=0, max_steps=5),
        RankNet(**QUICK),
        LambdaDirectRanker(**QUICK),
        ListNet(**QUICK, callbacks=[print]),
        AdaRank(max_iter=5, metric="map", random_state=0),
        CoordinateAscent(n_restarts=1, max_iter=2, random_state=0),
        ESRank(n_generations=9, random_state=0, metric="map", step_distribution="levy"),
        IESRRank(n_generations=9, random_state=0),
        IESVMRank(n_generations=9, random_state=0),
        RankSVM(alpha=0.1),
        LambdaMART(n_estimators=20, random_state=0, num_leaves=31, min_child_samples=5),
        LambdaMART(n_estimators=20, random_state=0, metric="map"),
        Ensemble(DirectRanker(**QUICK), 2, random_state=0),
        Ensemble(LambdaMART(n_estimators=5), 3, random_state=0),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_scores_are_bit_identical(ranker: Ranker, data: RankingDataset, tmp_path: Path) -> None:
    ranker.fit(data)
    ranker.save(tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    assert type(again) is type(ranker)
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))
    A, B = data.features[:9], data.features[9:18]
    np.testing.assert_array_equal(again.compare(A, B), ranker.compare(A, B))
    if isinstance(ranker, LambdaMART) and isinstance(again, LambdaMART):
        assert again.history_ == ranker.history_
        np.testing.assert_array_equal(again.feature_importances_, ranker.feature_importances_)
    if isinstance(ranker, DirectRanker) and isinstance(again, DirectRanker):
        assert again.history_ == ranker.history_
        assert again.hidden_layers == ranker.hidden_layers


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_is_saved_with_it(transform: str, data: RankingDataset, tmp_path: Path) -> None:
    ranker = DirectRanker(**QUICK, transform=transform).fit(data)
    ranker.save(tmp_path / "model")
    np.testing.assert_array_equal(load_ranker(tmp_path / "model").predict(data), ranker.predict(data))


@pytest.mark.parametrize("ranker", [DirectRanker(**QUICK), LambdaMART(n_estimators=20, random_state=0)])
def test_in_another_process(ranker: Ranker, data: RankingDataset, tmp_path: Path) -> None:
    ranker.fit(data)
    ranker.save(tmp_path / "model")
    data.save(tmp_path / "data")
    script = """
import sys
import numpy as np
from directranker import RankingDataset
from directranker.persistence import load_ranker
data = RankingDataset.load(sys.argv[1] + "/data")
np.save(sys.argv[1] + "/scores.npy", load_ranker(sys.argv[1] + "/model").predict(data))
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), ranker.predict(data))


def test_rankers_that_cannot_be_saved_raise(data: RankingDataset, tmp_path: Path) -> None:
    ranker = DirectRanker(**QUICK, cost=lambda r, y_i, y_j: (y_i - y_j) * (1 - r) ** 2).fit(data)
    with pytest.raises(TypeError, match=r"cost is .* cannot be saved as text"):
        ranker.save(tmp_path / "model")

    class Mine(DirectRanker):
        pass

    with pytest.raises(TypeError, match="Mine is not registered with directranker"):
        Mine(**QUICK).fit(data).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


class CustomNet(torch.nn.Sequential):
    """A custom feature net."""

    def __init__(self, n_features: int, width: int = 4) -> None:
        super().__init__(torch.nn.Linear(n_features, width), torch.nn.Tanh())


@pytest.mark.parametrize("feature_net", [CustomNet, partial(CustomNet, width=7)])
def test_custom_feature_net_needs_trust(feature_net: Any, data: RankingDataset, tmp_path: Path) -> None:
    ranker = DirectRanker(max_epochs=1, random_state=0, feature_net=feature_net).fit(data)
    ranker.save(tmp_path / "model")
    with pytest.raises(
        StorageError, match=r"model: the feature net is .* load_ranker\(…, trust=\[CustomNet\]\)"
    ):
        load_ranker(tmp_path / "model")
    with pytest.raises(StorageError, match="if you trust it"):
        load_ranker(tmp_path / "model", trust=[torch.nn.Linear])
    again = load_ranker(tmp_path / "model", trust=[CustomNet])
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


def test_feature_net_that_is_not_a_class_cannot_be_saved(data: RankingDataset, tmp_path: Path) -> None:
    ranker = DirectRanker(max_epochs=1, feature_net=lambda n: CustomNet(n)).fit(data)  # noqa: PLW0108
    with pytest.raises(TypeError, match="give a class that takes the number of features"):
        ranker.save(tmp_path / "model")


@pytest.mark.parametrize("name", ["header.json", "weights.safetensors", "trees.txt"])
def test_damaged_files_raise(name: str, data: RankingDataset, tmp_path: Path) -> None:
    ranker = LambdaMART(n_estimators=5, random_state=0) if name == "trees.txt" else DirectRanker(**QUICK)
    ranker.fit(data).save(tmp_path / "model")
    path = tmp_path / "model" / name
    content = path.read_bytes()
    for broken in (b"", content[:50], content[: len(content) // 2], content[:-1] + bytes([content[-1] ^ 1])):
        path.write_bytes(broken)
        with pytest.raises(StorageError):
            load_ranker(tmp_path / "model")
    path.unlink()
    with pytest.raises(StorageError, match=r"missing|not a saved model"):
        load_ranker(tmp_path / "model")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "cake"}, "not the header of a model but of 'cake'"),
        ({"version": 99}, "format version 99; this directranker reads version 2; update directranker,"),
        ({"version": 1}, "format version 1; this directranker reads version 2"),
        ({"version": True}, "format version True"),
        ({"ranker": {"class": "os.system", "parameters": {}, "fitted": {}}}, "contents do not match"),
        (
            {"ranker": {"class": "Standard", "parameters": {}, "fitted": {}}},
            "holds a Standard, which is not a ranker",
        ),
        ({"ranker": 3}, "contents do not match"),
        ({"trees_sha256": {"../trees.txt": ""}}, "trees_sha256 has invalid file names"),
        ({"trees_sha256": {"trees.txt": ""}}, r"trees\.txt is missing"),
    ],
)
def test_inconsistent_headers_raise(
    change: dict[str, Any], message: str, data: RankingDataset, tmp_path: Path
) -> None:
    DirectRanker(**QUICK).fit(data).save(tmp_path / "model")
    change_header(tmp_path / "model", lambda header: header.update(change))
    with pytest.raises(StorageError, match=message):
        load_ranker(tmp_path / "model")


def change_header(model: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a header and its checksum, as the author of a folder could."""
    path = model / "header.json"
    header = json.loads(path.read_text())
    del header["header_sha256"]
    change(header)
    path.write_bytes(seal_header(header))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"n_epochs_"', b'"n_epoch2_"'),  # a name that loading ignores
        (b'"numpy": "', b'"numpy": "1'),
        (b"header_sha256", b"header_sha257"),
        (b"\n}", b"\n} "),
        (b'{\n "format"', b'{\n  "format"'),
    ],
)
def test_edited_header_raises(old: bytes, new: bytes, data: RankingDataset, tmp_path: Path) -> None:
    DirectRanker(**QUICK).fit(data).save(tmp_path / "model")
    path = tmp_path / "model" / "header.json"
    text = path.read_bytes()
    assert old in text
    path.write_bytes(text.replace(old, new))
    with pytest.raises(StorageError, match=r"damaged or was edited"):
        load_ranker(tmp_path / "model")


def test_trees_missing_from_the_header_raise(data: RankingDataset, tmp_path: Path) -> None:
    LambdaMART(n_estimators=2, random_state=0).fit(data).save(tmp_path / "model")
    change_header(tmp_path / "model", lambda header: header["ranker"]["fitted"].pop("booster_"))
    with pytest.raises(StorageError, match="contents do not match"):
        load_ranker(tmp_path / "model")


def test_huge_shapes_in_a_header_allocate_no_memory(data: RankingDataset, tmp_path: Path) -> None:
    DirectRanker(**QUICK).fit(data).save(tmp_path / "model")
    change_header(
        tmp_path / "model",
        lambda header: header["ranker"]["parameters"].update(hidden_layers=[10**9, 10**9]),
    )
    with pytest.raises(StorageError, match="contents do not match"):
        load_ranker(tmp_path / "model")


@pytest.mark.parametrize("name", ["header.json", "weights.safetensors", "trees.txt"])
def test_endless_files_are_not_read(name: str, data: RankingDataset, tmp_path: Path) -> None:
    LambdaMART(n_estimators=2, random_state=0).fit(data).save(tmp_path / "model")
    path = tmp_path / "model" / name
    os.truncate(path, 20 << 30)
    with pytest.raises(StorageError, match=r"has 21,474,836,480 bytes, more than the limit"):
        load_ranker(tmp_path / "model")
    for target in ("/dev/zero", name, None):
        path.unlink()
        if target is None:
            os.mkfifo(path)
        else:
            path.symlink_to(target)
        with pytest.raises(StorageError, match=r"missing or not a regular file|it has no header"):
            load_ranker(tmp_path / "model")


def test_large_ranker_needs_trust(
    data: RankingDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranker = DirectRanker(**QUICK).fit(data)
    ranker.save(tmp_path / "model")
    monkeypatch.setitem(MAX_BYTES, "weights.safetensors", 1000)
    with pytest.raises(StorageError, match=r"more than the limit of 1,000; .* trust=\[DirectRanker\]"):
        load_ranker(tmp_path / "model")
    again = load_ranker(tmp_path / "model", trust=[DirectRanker])
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


def test_missing_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="model does not exist; give the folder of a saved model"):
        load_ranker(tmp_path / "model")


@pytest.mark.parametrize(
    ("transform", "name", "change"),
    [
        ("piecewise-linear", "edge_offsets_", lambda offsets: offsets + 10**6),
        ("piecewise-linear", "edge_offsets_", lambda offsets: offsets[::-1].copy()),
        ("piecewise-linear", "edge_offsets_", lambda offsets: offsets[:-1]),
        ("piecewise-linear", "edges_", lambda edges: edges[:3]),
        ("piecewise-linear", "marks_missing_", lambda marks: marks[:1]),
        ("quantile-normal", "quantiles_", lambda quantiles: quantiles[:, :2].copy()),
        ("quantile-normal", "references_", lambda references: references[:2]),
        ("standard", "mean_", lambda mean: mean[:2]),
        ("auto", "width_", lambda width: width.astype(np.float32)),
    ],
)
def test_arrays_that_would_break_a_kernel_raise(
    transform: str, name: str, change: Any, data: RankingDataset, tmp_path: Path
) -> None:
    ranker = DirectRanker(**QUICK, transform=transform).fit(data)
    setattr(ranker.transform_, name, change(getattr(ranker.transform_, name)))
    ranker.save(tmp_path / "model")
    with pytest.raises(StorageError, match=r"contents do not match \(.*_"):
        load_ranker(tmp_path / "model")


@pytest.mark.filterwarnings("ignore:early stopping is off")
def test_history_with_nan_is_saved(data: RankingDataset, tmp_path: Path) -> None:
    ranker = LambdaMART(metric="ndcg@10", n_estimators=2, random_state=0)
    ranker.fit(data.features, data.relevance * 0.1, qid=data.qid)  # no label of 1 or more
    ranker.save(tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    assert isinstance(again, LambdaMART)
    assert np.isnan(again.history_[0].fitness)
    assert again.history_[0].metric is None


FUZZING = """
import hashlib, json, sys
from pathlib import Path
import numpy as np
from directranker import StorageError
from directranker.persistence import MAX_BYTES, load_ranker, seal_header
folder, rng = Path(sys.argv[1]), np.random.default_rng(0)
header, trees = json.loads((folder / "header.json").read_text()), (folder / "trees.txt").read_bytes()
del header["header_sha256"]
n_features, rejected = header["ranker"]["fitted"]["n_features_in_"]["value"], 0
codes = np.array([0, 1, 39, 40, -1, np.nan, 1e9, -1e30], dtype=np.float32)
X = rng.choice(codes, size=(30, n_features))
for at in range(600):
    hostile = bytearray(trees)
    for position in rng.integers(len(trees), size=rng.integers(1, 4)):
        hostile[position] = rng.choice(bytearray(b"0123456789-+.e =\\n\\0\\xffx"))
    if at % 5 == 0:
        hostile = hostile[: rng.integers(len(hostile))]
    (folder / "trees.txt").write_bytes(hostile)
    header["trees_sha256"]["trees.txt"] = hashlib.sha256(hostile).hexdigest()
    (folder / "header.json").write_bytes(seal_header(header))
    try:
        load_ranker(folder)._scores(X, None)
    except StorageError:
        rejected += 1
print(rejected)
"""


@pytest.mark.parametrize("has_categories", [False, True])
def test_hostile_trees_with_a_correct_checksum_are_safe(
    has_categories: bool, data: RankingDataset, tmp_path: Path
) -> None:
    if has_categories:
        codes = np.random.default_rng(0).integers(0, 40, size=data.n_documents)
        features = np.column_stack([codes, data.features[:, 0], codes % 7])
        names = [f"value {code:02}" for code in range(40)]
        data = RankingDataset(
            features, (codes % 3).astype(np.float64), data.offsets, data.query_ids,
            ("brand", "price", "colour"),
            categories={"brand": names, "colour": names[:7]},
        )  # fmt: skip
    ranker = LambdaMART(n_estimators=3, random_state=0, cat_smooth=1, min_data_per_group=1).fit(data)
    assert ("num_cat=0" in ranker.booster_.model_to_string()) != has_categories
    ranker.save(tmp_path / "model")
    command = [sys.executable, "-c", FUZZING, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 100 < int(done.stdout) < 600
