"""AutoTransform: its criteria, and its choices on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from directranker.encoding import AutoTransform, QueryMinMax, SignedLog, Standard


def load_letor(path: Path) -> tuple[Any, Any]:
    X, _, qid = load_svmlight_file(str(path), query_id=True)
    return X.toarray().astype(np.float32), qid


def compute_literal_gain(column: Any) -> float:
    """Mean gain in log-likelihood of a normal distribution of the logarithms over one of the values."""
    present = column[~np.isnan(column)].astype(np.float64)
    logarithms = np.sign(present) * np.log1p(np.abs(present))
    slope = 1 / (1 + np.abs(present))  # of the signed logarithm

    def log_likelihood(values: Any) -> Any:
        variance = values.var()
        return -0.5 * np.log(2 * np.pi * variance) - (values - values.mean()) ** 2 / (2 * variance)

    return float(np.mean(log_likelihood(logarithms) + np.log(slope) - log_likelihood(present)))


@pytest.fixture
def qid() -> Any:
    return np.arange(2000) // 20


def make_table() -> Any:
    generator = np.random.default_rng(0)
    normal = generator.normal(size=(2000, 6))
    normal[:, 1] = np.exp(2 * normal[:, 1])
    normal[:, 2] = np.floor(np.exp(1.5 * normal[:, 2]))
    normal[:, 3] = generator.random(2000) < 0.02
    normal[:, 4] = 1e-6 * np.exp(normal[:, 4])
    normal[:, 5] = -np.exp(3 * normal[:, 5])
    return normal


def test_heavy_tails_get_the_logarithm_and_other_features_are_standardised() -> None:
    transform = AutoTransform().fit(make_table())
    assert transform.choices_ == [
        "standard",
        "signed-log",
        "signed-log",
        "standard",  # binary
        "standard",  # far below 1, where log1p is linear
        "signed-log",
    ]
    assert transform.describe() == "3 features standard, 3 features signed-log"


def test_the_criterion_is_the_gain_in_log_likelihood() -> None:
    generator = np.random.default_rng(1)
    X = np.sign(generator.normal(size=(1500, 40))) * np.exp(
        generator.normal(size=(1500, 40)) * np.linspace(0.1, 2, 40)
    )
    X[generator.random(X.shape) < 0.1] = np.nan
    expected = [
        "signed-log" if compute_literal_gain(column) > -np.log(np.log(2)) else "standard" for column in X.T
    ]
    assert AutoTransform().fit(X).choices_ == expected
    assert set(expected) == {"signed-log", "standard"}


@pytest.mark.parametrize("fraction", np.linspace(0.001, 0.999, 9))
def test_no_binary_feature_has_a_heavy_tail(fraction: float) -> None:
    X = (np.arange(10_000) < fraction * 10_000).astype(float)[:, None]
    assert AutoTransform().fit(X).choices_ == ["standard"]


def test_query_normalised_features_are_kept_as_is(qid: Any) -> None:
    X = QueryMinMax().fit_transform(make_table(), qid=qid)
    order = np.random.default_rng(2).permutation(2000)
    transform = AutoTransform().fit(X[order], qid=qid[order])
    assert transform.describe() == "6 features as is"
    np.testing.assert_array_equal(transform.transform(X), X)
    assert "as is" not in AutoTransform().fit(X).choices_


def test_the_majority_of_queries_decides(qid: Any) -> None:
    X = QueryMinMax().fit_transform(np.random.default_rng(3).normal(size=(2000, 4)), qid=qid)
    X[qid < 45, 0] *= 0.5  # 45 of 100 queries do not reach 1
    X[qid < 55, 1] *= 0.5
    X[qid < 90, 2] = 0  # does not vary there
    X[7, 3] = 1.1
    assert AutoTransform().fit(X, qid=qid).choices_ == ["as is", "standard", "as is", "standard"]


def test_an_all_zero_feature_is_as_is_and_another_constant_becomes_zero(qid: Any) -> None:
    transform = AutoTransform().fit(np.tile([0.0, 0.5], (2000, 1)), qid=qid)
    assert transform.choices_ == ["as is", "standard"]
    assert transform.transform([[0.0, 0.5]]).tolist() == [[0.0, 0.0]]


def test_each_feature_is_transformed_as_chosen(qid: Any) -> None:
    X = make_table()
    X[:, 0] = QueryMinMax().fit_transform(X[:, :1], qid=qid)[:, 0]
    X[5, :] = np.nan
    output = AutoTransform().fit(X, qid=qid).transform(X)
    np.testing.assert_array_equal(output[:, 0], np.nan_to_num(X[:, 0]).astype(np.float32))
    log_columns, standard_columns = [1, 2, 5], [4]
    np.testing.assert_allclose(
        output[:, log_columns], SignedLog().fit_transform(X[:, log_columns]), rtol=1e-6
    )
    np.testing.assert_allclose(
        output[:, standard_columns], Standard().fit_transform(X[:, standard_columns]), rtol=1e-6
    )


@pytest.mark.parametrize("fold", range(1, 6))
def test_mq2008_is_query_normalised(real_data: Path, fold: int) -> None:
    X, qid = load_letor(real_data / "MQ2008" / f"Fold{fold}" / "train.txt")
    assert AutoTransform().fit(X, qid=qid).describe() == "46 features as is"


@pytest.mark.parametrize("file", ["train.txt", "vali.txt"])
def test_mslr_counts_and_lengths_have_heavy_tails(real_data: Path, file: str) -> None:
    X, qid = load_letor(real_data / "MSLR-WEB10K-sample" / file)
    choices = dict(enumerate(AutoTransform().fit(X, qid=qid).choices_, start=1))
    stream_lengths, term_frequencies = [11, 12, 13, 15], [21, 26, 31, 36, 41]
    links_page_rank_quality_and_clicks = [128, 129, 130, 132, 133, 134, 135, 136]
    for feature in stream_lengths + term_frequencies + links_page_rank_quality_and_clicks:
        assert choices[feature] == "signed-log"
    inverse_document_frequencies, bm25, site_rank = [16, 17, 18, 19, 20], [106, 110], [131]
    for feature in inverse_document_frequencies + bm25 + site_rank:
        assert choices[feature] == "standard"
    boolean_model = [96, 97, 98, 99, 100]
    assert {choices[feature] for feature in boolean_model} == {"as is"}
