"""Exports of models with categories score strings as the ranker does, unseen and missing ones too."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest

from directranker import ExportError, RankingDataset, load_ranker
from directranker.description.model import Model, Net, Trees
from directranker.export import export_ranker
from directranker.export.c import compile_and_score, find_c_compiler, write_c
from directranker.export.categories import Documents, check_vocabularies
from directranker.export.onnx import score_onnx, write_onnx
from directranker.rankers import AdaRank, DirectRanker, Ensemble, LambdaMART, Ranker, RankSVM

TREES: dict[str, Any] = {
    "n_estimators": 15, "cat_smooth": 1, "min_data_per_group": 5, "min_child_samples": 5,
    "early_stopping": False, "random_state": 0,
}  # fmt: skip
NET: dict[str, Any] = {"max_epochs": 1, "random_state": 0, "hidden_layers": (6, 40), "teacher": None}
HOSTILE = [
    "Acme", "acme", "Acme ", " Acme", 'quo"te', "it's", "back\\slash", "new\nline", "tab\t", "*/ int x; /*",
    "??/", "%s%n", '"); system("true"); ("', "#define x", "Ünïcode", "第五班", "🏇", "e\u0301", "\u00e9", "0",
    "-1", "nan", "unseen", "\r\n", "\x01\x7f", "a" * 5000, "a" * 5001, "A7/A7", "\ufeff", "//", "\u2028",
]  # fmt: skip
NAMES = ["price", 'brand "*/', "größe\n", "features", "categories", "scores"]


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    """Brands and sizes, some missing, that tell the label; names and values are odd."""
    rng = np.random.default_rng(0)
    n = 1500
    brand, size = rng.integers(0, len(HOSTILE) + 1, size=n), rng.integers(0, 4, size=n)
    columns = [
        rng.normal(size=n),
        [([*HOSTILE, None])[at] for at in brand],
        [["S", "M", "L", None][at] for at in size],
        rng.normal(size=n),
        ["no" if at % 3 else "yes" for at in range(n)],
        np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
    ]
    frame = pd.DataFrame(dict(zip(NAMES, columns, strict=True)))
    effect = rng.normal(size=len(HOSTILE) + 1)[brand] + size + 0.3 * frame["price"]
    frame["relevance"] = np.digitize(effect, [0, 1.5, 3])
    frame["qid"] = np.arange(n) // 10
    return RankingDataset.from_frame(frame)


RANKERS: list[Ranker] = [
    LambdaMART(**TREES),
    DirectRanker(**NET),
    DirectRanker(**NET, transform="standard"),
    RankSVM(),
    RankSVM(transform="piecewise-linear"),
    AdaRank(max_iter=5, transform="quantile-normal"),
    Ensemble(DirectRanker(**NET), 2, random_state=0),
    Ensemble(LambdaMART(**TREES), 2, random_state=0),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_onnx_and_c_take_strings(ranker: Ranker, data: RankingDataset, tmp_path: Path) -> None:
    ranker.fit(data).save(tmp_path / "saved")
    loaded = load_ranker(tmp_path / "saved")
    assert np.array_equal(loaded.predict(data), ranker.predict(data))
    for to in ("onnx", "c"):
        parity = export_ranker(loaded, tmp_path / to, to=to, rows=data)
        assert parity.n_documents == data.n_documents
        assert parity.largest_difference < 2e-6


def test_inputs_of_the_onnx_graph(data: RankingDataset, tmp_path: Path) -> None:
    ranker = LambdaMART(**TREES).fit(data)
    export_ranker(ranker, tmp_path / "out", to="onnx", rows=data)
    session = onnxruntime.InferenceSession(str(tmp_path / "out" / "model.onnx"))
    assert [(one.name, one.type, one.shape) for one in session.get_inputs()] == [
        ("features", "tensor(float)", ["n_documents", 3]),
        ("categories", "tensor(string)", ["n_documents", 3]),
    ]
    properties = session.get_modelmeta().custom_metadata_map
    assert properties["feature_names"] == "price\nfeatures\nscores"
    numbers = np.array([[0.5, 0.1, np.nan]], dtype=np.float32)
    scores = [
        session.run(["scores"], {"features": numbers, "categories": np.array([[brand, "S", "no"]])})[0].item()
        for brand in ("Acme", "", "never seen")
    ]
    frame = pd.DataFrame([[0.5, brand, "S", 0.1, "no", np.nan] for brand in ("Acme", None, "never seen")])
    assert scores == ranker.predict(frame.set_axis(NAMES, axis=1)).tolist()
    assert len(set(scores)) == 3


def test_other_order_of_columns_and_frames(data: RankingDataset, tmp_path: Path) -> None:
    ranker = LambdaMART(**TREES).fit(data)
    frame = data.to_frame()[["scores", "größe\n", "categories", 'brand "*/', "features", "price"]]
    parity = export_ranker(ranker, tmp_path / "out", to="c", rows=frame)
    assert (parity.n_documents, parity.n_queries) == (data.n_documents, 1)


def literal_score(model: Trees, row: Any) -> float:
    """The sum of the trees' leaves, split by split."""
    total = 0.0
    for tree in model.trees:
        node = 0 if len(tree.feature) else -1
        while node >= 0:
            x, codes = row[tree.feature[node]], (tree.category_set or [None] * len(tree.feature))[node]
            is_left = x <= tree.threshold[node] if codes is None else x in codes.tolist()
            if np.isnan(x):
                is_left = tree.missing_left[node]
            node = int((tree.left if is_left else tree.right)[node])
        total += tree.value[-node - 1]
    return total


def test_description_is_what_lightgbm_does(data: RankingDataset) -> None:
    ranker = LambdaMART(**TREES).fit(data)
    model = ranker._describe()
    assert isinstance(model, Trees)
    sets = [codes for tree in model.trees for codes in tree.category_set if codes is not None]
    missing = {
        bool(left)
        for tree in model.trees
        for left, codes in zip(tree.missing_left, tree.category_set, strict=False)
        if codes is not None
    }
    assert len(sets) > 20
    assert missing == {True, False}
    table = data.features[:200].copy()
    table[::5, 1], table[::7, 2] = -1, -1
    expected = [np.float32(literal_score(model, row)) for row in table]
    assert ranker._scores(table, np.zeros(200, dtype=np.int64)).tolist() == expected


def only_categories(data: RankingDataset) -> RankingDataset:
    names = [name for name in data.feature_names if name in data.categories]
    columns = [data.feature_names.index(name) for name in names]
    return RankingDataset(
        data.features[:, columns], data.relevance, data.offsets, data.query_ids, tuple(names),
        categories=data.categories,
    )  # fmt: skip


@pytest.mark.parametrize("ranker", [LambdaMART(**TREES), DirectRanker(**NET), RankSVM()])
def test_without_any_number(ranker: Ranker, data: RankingDataset, tmp_path: Path) -> None:
    words = only_categories(data)
    ranker.fit(words)
    for to in ("onnx", "c"):
        assert export_ranker(ranker, tmp_path / to, to=to, rows=words).largest_difference < 2e-6
    graph = onnx.load(tmp_path / "onnx" / "model.onnx").graph
    assert [one.name for one in graph.input] == ["categories"]


def with_values(data: RankingDataset, values: dict[str, str | None]) -> RankingDataset:
    """Return only categories, with some brands replaced."""
    frame = only_categories(data).to_frame()
    frame[NAMES[1]] = [values.get(value, value) for value in frame[NAMES[1]].astype(object)]
    return RankingDataset.from_frame(frame)


def test_an_empty_string_is_a_missing_value(data: RankingDataset, tmp_path: Path) -> None:
    rows = with_values(data, {"Acme": ""})
    assert "" not in rows.categories[NAMES[1]].to_pylist()
    for ranker in (LambdaMART(**TREES).fit(rows), DirectRanker(**NET, transform="standard").fit(rows)):
        for to in ("onnx", "c"):
            export_ranker(ranker, tmp_path / f"{type(ranker).__name__}-{to}", to=to, rows=rows)


def test_nul_ends_a_string_in_c(data: RankingDataset, tmp_path: Path) -> None:
    rows = with_values(data, {"Acme": "Acme\0 Ltd"})
    ranker = LambdaMART(**TREES).fit(rows)
    with pytest.raises(ExportError, match=r"category 'Acme\\x00 Ltd' of .* has a NUL character"):
        export_ranker(ranker, tmp_path / "out", to="c", rows=rows)
    export_ranker(ranker, tmp_path / "onnx", to="onnx", rows=only_categories(data))
    ranker.fit(only_categories(data))
    with pytest.raises(ExportError, match=r"row \d+ has a category with a NUL character"):
        export_ranker(ranker, tmp_path / "out", to="c", rows=rows)


def test_hostile_values_do_not_become_code(data: RankingDataset, tmp_path: Path) -> None:
    export_ranker(LambdaMART(**TREES).fit(data), tmp_path / "out", to="c", rows=data, name="m")
    header, source = ((tmp_path / "out" / f"m.{end}").read_text("ascii") for end in "hc")
    for text in (*HOSTILE, *NAMES):
        if not text.isalnum() and text not in ("-1", "\r\n"):
            assert text not in header + source
    assert "categories: brand \\u0022\\u002a\\u002f, gr\\u00f6\\u00dfe\\u000a, categories" in header
    assert "system" not in source


def test_undefined_behaviour_in_c(data: RankingDataset, tmp_path: Path) -> None:
    """Compiled with sanitisers, a program scores known, unseen, empty and missing strings."""
    compiler = find_c_compiler()
    if compiler is None or shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    export_ranker(DirectRanker(**NET).fit(data), tmp_path / "out", to="c", rows=data, name="m")
    (tmp_path / "out" / "main.c").write_text(
        '#include "m.h"\n#include <stdio.h>\nint main(void) {\n'
        "    const float features[6] = {0.5f, 0.1f, 0.0f, 1.0f, 2.0f, 3.0f};\n"
        '    const char *categories[6] = {"Acme", "", NULL, "never seen", "\\xff\\xfe", "no"};\n'
        "    float scores[2];\n    m_score(features, categories, 2, scores);\n"
        '    printf("%d", scores[0] == scores[0] && scores[1] == scores[1]);\n    return 0;\n}\n'
    )
    flags = ["-std=c99", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    done = subprocess.run(
        [compiler, *flags, "m.c", "main.c", "-o", "main", "-lm"], cwd=tmp_path / "out", check=False
    )
    if done.returncode:
        pytest.skip("no sanitisers")
    run = subprocess.run(["./main"], cwd=tmp_path / "out", capture_output=True, text=True, check=True)
    assert run.stdout == "1"


@pytest.mark.parametrize("to", ["solr", "elasticsearch", "elasticsearch-ranklib"])
@pytest.mark.parametrize("ranker", [LambdaMART(**TREES), RankSVM(transform="standard")])
def test_engines_refuse_categories(to: str, ranker: Ranker, data: RankingDataset, tmp_path: Path) -> None:
    ranker.fit(data)
    with pytest.raises(
        ExportError, match=r"is categorical, and .* scores numbers only; export to 'onnx' or 'c'"
    ):
        export_ranker(ranker, tmp_path / "out", to=to, rows=data)


@pytest.mark.parametrize("to", ["onnx", "c"])
def test_parity_sees_unseen_and_missing_values(
    to: str, data: RankingDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export that is wrong only where the rows have no such value is not written."""
    ranker = RankSVM().fit(data)
    model = ranker._describe()
    assert isinstance(model, Net)
    first, *others = model.derived
    wrong = replace(model, derived=(replace(first, unseen=first.unseen + 9), *others))
    monkeypatch.setattr(RankSVM, "_describe", lambda _: wrong)
    with pytest.raises(ExportError, match="with unseen and missing categories"):
        export_ranker(ranker, tmp_path / "out", to=to, rows=data)
    assert not (tmp_path / "out").exists()


def test_look_ups_of_another_size_raise(data: RankingDataset) -> None:
    model = RankSVM().fit(data)._describe()
    assert isinstance(model, Net)
    short = tuple(replace(one, values=one.values[:1]) for one in model.derived)
    with pytest.raises(ExportError, match="is encoded for 1 categories, which it does not have"):
        check_vocabularies(replace(model, derived=short))


def test_a_column_that_is_all_missing(data: RankingDataset, tmp_path: Path) -> None:
    frame = data.to_frame()
    frame[NAMES[2]] = pd.Series([None] * len(frame), dtype="string")
    rows = RankingDataset.from_frame(frame)
    ranker = LambdaMART(**TREES).fit(rows)
    for to in ("onnx", "c"):
        assert export_ranker(ranker, tmp_path / to, to=to, rows=rows).largest_difference < 2e-6


def test_without_a_compiler_the_export_is_not_verified(
    data: RankingDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("directranker.export.exporting.find_c_compiler", lambda: None)
    parity = export_ranker(LambdaMART(**TREES).fit(data), tmp_path / "out", to="c", rows=data)
    assert parity.n_documents == 0
    assert json.loads((tmp_path / "out" / "parity.json").read_text())["largest_difference"] is None


def test_every_bit_of_the_scores_of_trees(data: RankingDataset) -> None:
    ranker = LambdaMART(**TREES).fit(data)
    model: Model = ranker._describe()
    documents = Documents.read(data, data.features, model)
    expected = ranker.predict(data).tolist()
    assert score_onnx(write_onnx(model, name="m"), documents.numbers, documents.values).tolist() == expected
    compiler = find_c_compiler()
    if compiler is not None:
        files = write_c(model, name="m")
        scores = compile_and_score(*files, documents.numbers, documents.values, name="m", compiler=compiler)
        assert scores.tolist() == expected
