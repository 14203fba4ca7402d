"""Duplicates, contradictions and leaks against their literal definitions, pair by pair."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from directranker.data import inspection_kernels as kernels
from directranker.data.dataset import RankingDataset

from inspection_cases import clean, findings, with_column

NAN, INF = np.nan, np.inf
SPECIAL_VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, NAN, INF, -INF])
few_examples = settings(max_examples=60, deadline=None)


def make_key(values: NDArray[Any]) -> tuple[Any, ...]:
    """Make equal tuples of equal rows, with 0 = -0 and NaN = NaN."""
    return tuple("nan" if value != value else value + 0.0 for value in values.tolist())  # noqa: PLR0124


@few_examples
@given(arrays(np.float32, st.tuples(st.integers(2, 4), st.integers(1, 12)), elements=SPECIAL_VALUES))
def test_duplicates_match_the_definition(features: NDArray[np.float32]) -> None:
    columns = [make_key(column) for column in features.T]
    expected = tuple(
        f"'feature_{number + 1}' equals 'feature_{columns.index(column) + 1}'"
        for number, column in enumerate(columns)
        if len(set(column)) > 1 and columns.index(column) < number
    )
    found = findings(RankingDataset.from_arrays(features, np.zeros(len(features))))
    finding = found.get("duplicate-features")
    assert (finding.count if finding else 0) == len(expected)
    assert (finding.examples if finding else ()) == expected[:10]


@few_examples
@given(
    arrays(np.float32, st.tuples(st.integers(1, 30), st.integers(1, 2)), elements=SPECIAL_VALUES), st.data()
)
def test_contradictions_match_the_definition(features: NDArray[np.float32], draw: st.DataObject) -> None:
    n_rows = len(features)
    labels = draw.draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    qid = draw.draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    rows = [(qid[row], make_key(features[row])) for row in range(n_rows)]
    involved = {
        row
        for pair in combinations(range(n_rows), 2)
        for row in pair
        if rows[pair[0]] == rows[pair[1]] and labels[pair[0]] != labels[pair[1]]
    }
    finding = findings(RankingDataset.from_arrays(features, labels, qid=qid)).get("contradicting-documents")
    assert (finding.count if finding else 0) == len(involved)


def count_agreement_literally(data: RankingDataset, column: int, lowest: bool) -> tuple[float, float]:
    like = unlike = 0.0
    values = data.features[:, column]
    for start, stop in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        for one, other in combinations(range(start, stop), 2):
            x, y = float(values[one]), float(values[other])
            if data.relevance[one] == data.relevance[other]:
                continue
            if not lowest and (np.isnan(x) or np.isnan(y)):
                continue
            x, y = (-INF if np.isnan(value) else value for value in (x, y))
            if x == y:
                like, unlike = like + 0.5, unlike + 0.5
            elif (x < y) == (data.relevance[one] < data.relevance[other]):
                like += 1
            else:
                unlike += 1
    return like, unlike


@few_examples
@given(
    arrays(np.float32, 30, elements=SPECIAL_VALUES | st.floats(-2, 2, width=32)),
    arrays(np.float64, 30, elements=st.sampled_from([0.0, 1.0, 2.0, 4.5])),
    arrays(np.int64, 30, elements=st.integers(0, 3)),
    st.booleans(),
)
def test_agreement_matches_the_definition(
    values: NDArray[np.float32], labels: NDArray[np.float64], qid: NDArray[np.int64], lowest: bool
) -> None:
    data = RankingDataset.from_arrays(values[:, None], labels, qid=qid)
    codes = np.unique(data.relevance, return_inverse=True)[1]
    like, unlike, _ = kernels.count_column_agreement(data.features[:, 0], codes, data.offsets, lowest, INF)
    assert (like, unlike) == count_agreement_literally(data, 0, lowest)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.floats(0, 0.06))
def test_leaks_match_the_definition_despite_early_stopping(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    data = clean(n_queries=8, n_features=4, seed=seed)
    for column in range(3):
        wrong = rng.random(data.n_documents) < noise
        data = with_column(
            data, column, np.where(wrong, data.features[:, 3], data.relevance) * (-1) ** column
        )
    pairs = [count_agreement_literally(data, column, False) for column in range(4)]
    leaks = {f"'feature_{column + 1}'" for column, pair in enumerate(pairs) if min(pair) * 100 <= sum(pair)}
    finding = findings(data).get("leaking-features")
    assert {text.split()[0] for text in (finding.examples if finding else ())} == leaks


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 1], [0, 1, 2, 2], [3, 3]])
def test_surprise_is_the_log_number_of_distinct_orders(labels: list[int]) -> None:
    codes = np.unique(labels, return_inverse=True)[1]
    offsets = np.array([0, len(labels)])
    surprise = kernels.count_column_agreement(np.array(labels, np.float32), codes, offsets, False, INF)[2]
    orders = {(0, 0, 1, 1, 1): 5 * 4 / 2, (0, 1, 2, 2): 4 * 3, (3, 3): 1}[tuple(labels)]
    assert np.exp(surprise) == pytest.approx(orders)
