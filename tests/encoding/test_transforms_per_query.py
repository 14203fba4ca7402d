"""Min-max, z-score and rank within queries, compared with a loop over the queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from directranker.encoding import (
    InContext,
    PiecewiseLinear,
    QueryMinMax,
    QueryRank,
    QueryZScore,
    Unchanged,
)


def compute_min_max(column: Any) -> Any:
    present = column[~np.isnan(column)]
    if len(present) == 0 or present.min() == present.max():
        return np.zeros(len(column))
    return np.nan_to_num((column - present.min()) / (present.max() - present.min()))


def compute_z_score(column: Any) -> Any:
    present = column[~np.isnan(column)]
    if len(present) == 0 or present.min() == present.max():
        return np.zeros(len(column))
    return np.nan_to_num((column - present.mean()) / present.std())


def compute_rank(column: Any) -> Any:
    is_present = ~np.isnan(column)
    ranks = np.zeros(len(column))
    ranks[is_present] = (2 * rankdata(column[is_present]) - 1) / is_present.sum() - 1
    return ranks


ALL = pytest.mark.parametrize(
    ("transform", "literal"),
    [(QueryMinMax(), compute_min_max), (QueryZScore(), compute_z_score), (QueryRank(), compute_rank)],
)


def transform_each_query(X: Any, qid: Any, literal: Callable[[Any], Any]) -> Any:
    output = np.empty(X.shape)
    for query in set(qid.tolist()):
        for column in range(X.shape[1]):
            output[qid == query, column] = literal(X[qid == query, column].astype(np.float64))
    return output


@ALL
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("kind", [int, str])
def test_equals_a_loop_over_queries(transform: Any, literal: Any, shuffled: bool, kind: type) -> None:
    generator = np.random.default_rng(0)
    sizes = [1, 2, 1500, 3, 700, 40, 1100, 1]  # longer and shorter than a block of rows
    qid: Any = np.repeat(np.arange(len(sizes)), sizes).astype(kind)
    X = generator.normal(size=(len(qid), 3)) * [1, 1e4, 1e-4]
    X[:, 1] = np.round(X[:, 1], -4)
    X[generator.random(X.shape) < 0.1] = np.nan
    order = generator.permutation(len(qid)) if shuffled else np.arange(len(qid))
    output = transform.fit(X).transform(X[order], qid=qid[order])
    np.testing.assert_allclose(
        output, transform_each_query(X[order], qid[order], literal), rtol=1e-5, atol=1e-6
    )


@ALL
def test_a_query_of_very_many_documents(transform: Any, literal: Any) -> None:
    X = np.random.default_rng(1).normal(size=(150_000, 3))  # processed a few columns at a time
    output = transform.fit(X).transform(X)
    expected = np.column_stack([literal(column) for column in X.T])
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


@ALL
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_rescaling_a_query_changes_nothing(transform: Any, literal: Any, data: st.DataObject) -> None:
    X = data.draw(arrays(np.float64, (12, 2), elements=st.integers(-50, 50).map(float)))
    qid = data.draw(arrays(np.int64, 12, elements=st.integers(0, 2)))
    scale = data.draw(st.sampled_from([0.5, 4.0, 256.0]))
    shift = data.draw(st.integers(-1000, 1000))
    changed = np.where((qid == 1)[:, None], scale * X + shift, X)
    np.testing.assert_allclose(
        transform.fit(X).transform(changed, qid=qid), transform.fit(X).transform(X, qid=qid), atol=1e-6
    )


@ALL
def test_queries_are_independent(transform: Any, literal: Any) -> None:
    X = np.random.default_rng(2).normal(size=(50, 2))
    qid = np.arange(50) % 5
    together = transform.fit(X).transform(X, qid=qid)
    alone = transform.fit(X).transform(X[qid == 3], qid=np.full(10, 3))
    np.testing.assert_array_equal(together[qid == 3], alone)


def test_min_max_spans_the_unit_range_exactly() -> None:
    X = np.random.default_rng(3).normal(size=(100, 2)).astype(np.float32) * np.float32(1e38)
    output = QueryMinMax().fit(X).transform(X, qid=np.arange(100) % 4)
    for query in range(4):
        assert output[query::4].min(axis=0).tolist() == [0.0, 0.0]
        assert output[query::4].max(axis=0).tolist() == [1.0, 1.0]


def test_in_context_encodes_values_z_scores_and_ranks_in_bins() -> None:
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(50, 3)).astype(np.float32), rng.integers(0, 4, 50)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    train, others = X[:30], X[30:]
    encoded = InContext(n_bins=4).fit(train, qid=qid[:30]).transform(others, qid=qid[30:])
    expected = []
    for scaler in (Unchanged(), QueryZScore(), QueryRank()):
        seen, unseen = (
            scaler.fit_transform(train, qid=qid[:30]),
            scaler.fit_transform(others, qid=qid[30:]),
        )
        expected.append(PiecewiseLinear(n_bins=4).fit(seen).transform(unseen))
    np.testing.assert_array_equal(encoded, np.hstack(expected))
