"""One ranking of real data, MQ2008 Fold1's test queries, in every convention.

The ranking is by feature 38, the best single one. Needs the data, see `mq2008`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from directranker.metrics import CONVENTIONS, evaluate, evaluate_per_query

from literal_measures import in_order

FEATURE = 38
NDCG_AT_10 = {
    "letor4": 0.197,
    "ranklib": 0.459,
    "sklearn": 0.468,
    "graded": 0.682,
    "paper": 0.723,
    "lightgbm": 0.786,
}
MEAN_AVERAGE_PRECISION = {"trec": 0.438, "graded": 0.651, "lightgbm": 0.765}


@dataclass
class Ranking:
    """Labels and scores as the file has them, row by row."""

    labels: list[int]
    scores: list[float]
    qid: list[str]

    def lists_in_order(self) -> list[list[int]]:
        """The labels of each query, best score first; the scores of a query are all different."""
        rows_of: dict[str, list[int]] = {}
        for row, query in enumerate(self.qid):
            rows_of.setdefault(query, []).append(row)
        ranked = [sorted(rows, key=lambda row: -self.scores[row]) for rows in rows_of.values()]
        return [[self.labels[row] for row in rows] for rows in ranked]


@pytest.fixture(scope="module")
def mq2008(real_data: Path) -> Ranking:
    path = real_data / "MQ2008" / "Fold1" / "test.txt"
    lines = [line.split() for line in path.read_text().splitlines()]
    features = [fields[FEATURE + 1].split(":") for fields in lines]
    assert {index for index, _ in features} == {str(FEATURE)}
    return Ranking(
        [int(fields[0]) for fields in lines],
        # The file has six decimals; equal values are told apart by their row.
        [float(value) - row * 1e-9 for row, (_, value) in enumerate(features)],
        [fields[1] for fields in lines],
    )


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize(
    ("measure", "text", "k"), [("ndcg", "ndcg@10", 10), ("average_precision", "map", None)]
)
def test_each_convention_gives_its_own_figure(
    mq2008: Ranking, name: str, measure: str, text: str, k: int | None
) -> None:
    rules = CONVENTIONS[name]
    values = [in_order(labels, measure, rules, k) for labels in mq2008.lists_in_order()]
    if rules.no_relevant == "skip":
        counted = [value for value in values if not np.isnan(value)]
    else:
        counted = [float(rules.no_relevant) if np.isnan(value) else value for value in values]
    (ours,) = evaluate(mq2008.labels, mq2008.scores, qid=mq2008.qid, metrics=text, convention=name).values()
    assert ours == pytest.approx(fmean(counted), rel=1e-12)


def test_the_same_scores_give_different_figures(mq2008: Ranking) -> None:
    metrics = [f"ndcg@10:{name}" for name in NDCG_AT_10] + [f"map:{name}" for name in MEAN_AVERAGE_PRECISION]
    ours = evaluate(mq2008.labels, mq2008.scores, qid=mq2008.qid, metrics=metrics)
    expected = [*NDCG_AT_10.values(), *MEAN_AVERAGE_PRECISION.values()]
    assert list(ours.values()) == pytest.approx(expected, abs=0.0005)


def test_a_third_of_the_queries_has_no_relevant_document(mq2008: Ranking) -> None:
    values = evaluate_per_query(mq2008.labels, mq2008.scores, qid=mq2008.qid)
    left_out = {name: int(np.isnan(column).sum()) for name, column in values.items()}
    assert left_out == {"ndcg@10": 51, "map": 51}
    assert len(values["map"]) == 156
