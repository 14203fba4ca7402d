"""Pipelines and rankers with scikit-learn's transformers, saved without pickle."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from directranker import (
    DirectRanker,
    LambdaMART,
    QueryZScore,
    RankSVM,
    example_dataset,
    load_ranker,
    save_ranker,
)
from directranker.errors import StorageError
from directranker.persistence import seal_header

RNG = np.random.default_rng(0)
N = 400
QID = np.repeat(np.arange(N // 8), 8)
TABLE = pd.DataFrame(
    {
        "price": np.where(RNG.random(N) < 0.1, np.nan, RNG.lognormal(size=N)),
        "sales": RNG.integers(0, 50, N).astype(float),
        "brand": RNG.choice(np.array(["acme", "zeta", "ünïc", "rare", None], dtype=object), N),
        "seller": RNG.integers(0, 4, N),
    }
)
LABELS = (TABLE["sales"] + 20 * RNG.random(N) > 30).astype(int) + (TABLE["brand"] == "acme")

NUMERIC = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    MinMaxScaler((-1, 1), clip=True),
    MaxAbsScaler(),
    RobustScaler(unit_variance=True),
    QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    PowerTransformer(),
    PowerTransformer(standardize=False),
    FunctionTransformer(),
    QueryZScore(),
    SimpleImputer(strategy="median", add_indicator=True),
]
CATEGORICAL = [
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(min_frequency=60, handle_unknown="infrequent_if_exist", sparse_output=False),
    OneHotEncoder(drop="first", dtype=np.float32),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    OrdinalEncoder(max_categories=3, handle_unknown="use_encoded_value", unknown_value=9),
    TargetEncoder(target_type="continuous"),
    make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(sparse_output=False)),
]


def fit(pipeline: Pipeline, X: Any = TABLE, y: Any = LABELS, qid: Any = QID) -> Pipeline:
    return pipeline.fit(X, y, **{f"{pipeline.steps[-1][0]}__qid": qid})


def make_columns(categorical: Any) -> ColumnTransformer:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return ColumnTransformer(
        [("n", numbers, ["price", "sales"]), ("c", categorical, ["brand"]), ("x", "drop", ["seller"])],
    )


@pytest.mark.parametrize("transformer", NUMERIC, ids=str)
def test_numeric_steps_keep_every_bit_of_the_scores(transformer: Any, tmp_path: Path) -> None:
    data = example_dataset().select(range(40))
    pipeline = make_pipeline(transformer, RankSVM(transform="standard"))
    fit(pipeline, data.features, data.relevance, data.qid)
    ranker = RankSVM(transform=transformer).fit(data)
    for number, model in enumerate((pipeline, ranker)):
        save_ranker(model, tmp_path / str(number))
        again = load_ranker(tmp_path / str(number))
        assert type(again) is type(model)
        np.testing.assert_array_equal(again.predict(data.features), model.predict(data.features))
        save_ranker(again, tmp_path / f"{number} again")
        np.testing.assert_array_equal(
            load_ranker(tmp_path / f"{number} again").predict(data.features), model.predict(data.features)
        )


@pytest.mark.parametrize("encoder", CATEGORICAL, ids=lambda one: type(one).__name__)
def test_pipelines_of_tables_keep_every_bit_of_the_scores(encoder: Any, tmp_path: Path) -> None:
    pipeline = fit(make_pipeline(make_columns(encoder), LambdaMART(n_estimators=5, random_state=0)))
    save_ranker(pipeline, tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    unseen = TABLE.iloc[::-1].assign(brand=["new", *TABLE["brand"][1:]])
    if "unknown" not in str(encoder) and not isinstance(encoder, TargetEncoder):
        unseen = TABLE.iloc[::-1]
    for table in (TABLE, unseen, unseen[list(reversed(TABLE.columns))]):
        np.testing.assert_array_equal(again.predict(table), pipeline.predict(table))


def test_columns_by_position_mask_slice_and_remainder_are_saved(tmp_path: Path) -> None:
    data = example_dataset().select(range(40))
    mask = np.arange(data.n_features) == 5
    columns = [
        ("a", StandardScaler(), [0, 2]),
        ("b", MinMaxScaler(), slice(3, 5)),
        ("c", "passthrough", mask),
    ]
    steps = ColumnTransformer(columns, remainder=MaxAbsScaler())
    pipeline = fit(make_pipeline(steps, RankSVM()), data.features, data.relevance, data.qid)
    save_ranker(pipeline, tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(data.features), pipeline.predict(data.features))


def test_a_ranker_with_a_column_transformer_encodes_the_values_of_categories(tmp_path: Path) -> None:
    encoder = OneHotEncoder(handle_unknown="ignore")
    table = TABLE.assign(qid=QID).set_index("qid")
    ranker = DirectRanker(transform=make_columns(encoder), max_epochs=2, random_state=0).fit(table, LABELS)
    ranker.save(tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    unseen = table.assign(brand="new")
    for one in (table, unseen):
        np.testing.assert_array_equal(again.predict(one), ranker.predict(one))
    assert (ranker.predict(unseen) != ranker.predict(table)).any()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (PCA(2), "step 'bad' is a PCA, which cannot be saved without pickle; use one of ColumnTransformer"),
        (PolynomialFeatures(), "step 'bad' is a PolynomialFeatures"),
        (FunctionTransformer(np.tanh), "step 'bad', a FunctionTransformer: a ufunc cannot be saved"),
        (
            ColumnTransformer([("deep", Pipeline([("k", KBinsDiscretizer(3))]), [0])]),
            "step 'bad__deep__k' is a KBinsDiscretizer",
        ),
    ],
)
def test_other_steps_are_named(step: Any, message: str, tmp_path: Path) -> None:
    data = example_dataset().select(range(40))
    pipeline = fit(Pipeline([("bad", step), ("rank", RankSVM())]), data.features, data.relevance, data.qid)
    with pytest.raises(TypeError, match=message):
        save_ranker(pipeline, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_pipeline_must_end_with_a_ranker(tmp_path: Path) -> None:
    with pytest.raises(
        TypeError, match="step 'maxabsscaler' is a MaxAbsScaler; the last step must be a ranker"
    ):
        save_ranker(make_pipeline(StandardScaler(), MaxAbsScaler()).fit(TABLE[["price"]]), tmp_path / "m")


def rewrite(folder: Path, change: Any, change_arrays: Any = None) -> None:
    """Change a saved model as a forger would: with valid checksums."""
    header = json.loads((folder / "header.json").read_text())
    del header["header_sha256"]
    change(header["ranker"])
    if change_arrays is not None:
        arrays = load_file(folder / "weights.safetensors")
        change_arrays(arrays)
        save_file(arrays, folder / "weights.safetensors")
        content = (folder / "weights.safetensors").read_bytes()
        header["weights_sha256"] = hashlib.sha256(content).hexdigest()
    (folder / "header.json").write_bytes(seal_header(header))


def find(entry: Any, key: str) -> Any:
    """Find the first value of a key in nested JSON."""
    if isinstance(entry, dict):
        if key in entry:
            return entry[key]
        entry = list(entry.values())
    if isinstance(entry, list):
        return next((found for one in entry if (found := find(one, key)) is not None), None)
    return None


def keep(_: Any) -> None:
    """Change nothing."""


def name_class(entry: Any) -> None:
    find(entry["before"], "steps")[0][1]["columns"][1][1]["class"] = "os.system"


def drop_categories(entry: Any) -> None:
    find(entry["before"], "categories_")["list"].clear()


def point_outside(entry: Any) -> None:
    find(entry["before"], "_transformer_to_input_indices")["dict"][0][1]["list"][0] = {"value": 10**6}


def add_attribute(entry: Any) -> None:
    find(entry["before"], "columns")[1][1]["fitted"]["__class__"] = {"value": 1}


def set_parameter(entry: Any) -> None:
    find(entry["before"], "columns")[1][1]["parameters"]["handle_unknown"] = {"value": "evil"}


def shorten_mean(arrays: Any) -> None:
    name = next(one for one in arrays if one.endswith("standardscaler/mean_"))
    arrays[name] = arrays[name][:1]


def change_outputs(entry: Any) -> None:
    find(entry["before"], "_n_features_outs")["list"][0] = {"value": 10**9}


@pytest.mark.parametrize(
    ("change", "arrays", "message"),
    [
        (name_class, None, "'os.system' is not a transformer that can be loaded"),
        (drop_categories, None, "categories_ of OneHotEncoder is not a list of 1 arrays"),
        (point_outside, None, "a column of 'n' is not an index below 4"),
        (add_attribute, None, "'__class__' is not an attribute of OneHotEncoder"),
        (set_parameter, None, "The 'handle_unknown' parameter of OneHotEncoder must be"),
        (keep, shorten_mean, r"mean_ of StandardScaler has shape \(1,\); expected numbers of shape \(2,\)"),
        (change_outputs, None, "_n_features_outs of OneHotEncoder does not match its categories"),
    ],
)
def test_forged_state_raises(change: Any, arrays: Any, message: str, tmp_path: Path) -> None:
    encoder = OneHotEncoder(handle_unknown="ignore")
    save_ranker(fit(make_pipeline(make_columns(encoder), RankSVM())), tmp_path / "model")
    rewrite(tmp_path / "model", change, arrays)
    with pytest.raises(StorageError, match=message):
        load_ranker(tmp_path / "model")
