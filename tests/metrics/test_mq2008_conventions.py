"""One ranking of real data, the test queries of MQ2008 Fold1, under every convention.

Documents are ranked by feature 38, the best single feature. The test needs the data, see `mq2008`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from directranker.metrics import CONVENTIONS, evaluate, evaluate_per_query

from literal_measures import measure_in_order

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
class ScoredFile:
    """Labels and scores in the order of the file."""

    labels: list[int]
    scores: list[float]
    qid: list[str]

    def list_ranked_labels(self) -> list[list[int]]:
        """Return the labels of each query, best score first; the scores of a query are all different."""
        rows_of: dict[str, list[int]] = {}
        for row, query in enumerate(self.qid):
            rows_of.setdefault(query, []).append(row)
        ranked = [sorted(rows, key=lambda row: -self.scores[row]) for rows in rows_of.values()]
        return [[self.labels[row] for row in rows] for rows in ranked]


@pytest.fixture(scope="module")
def mq2008(real_data: Path) -> ScoredFile:
    path = real_data / "MQ2008" / "Fold1" / "test.txt"
    lines = [line.split() for line in path.read_text().splitlines()]
    features = [fields[FEATURE + 1].split(":") for fields in lines]
    assert {index for index, _ in features} == {str(FEATURE)}
    return ScoredFile(
        [int(fields[0]) for fields in lines],
        # The file has six decimals; a smaller offset per row breaks ties.
        [float(value) - row * 1e-9 for row, (_, value) in enumerate(features)],
        [fields[1] for fields in lines],
    )


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize(
    ("measure", "text", "k"),
    [
        ("ndcg", "ndcg@10", 10),
        ("average_precision", "map", None),
        ("recall", "recall@5", 5),
        ("hit_rate", "hit@1", 1),
    ],
)
def test_each_convention_matches_its_definition(
    mq2008: ScoredFile, name: str, measure: str, text: str, k: int | None
) -> None:
    rules = CONVENTIONS[name]
    values = [measure_in_order(labels, measure, rules, k) for labels in mq2008.list_ranked_labels()]
    if rules.no_relevant == "skip":
        counted = [value for value in values if not np.isnan(value)]
    else:
        counted = [float(rules.no_relevant) if np.isnan(value) else value for value in values]
    (ours,) = evaluate(mq2008.labels, mq2008.scores, qid=mq2008.qid, metrics=text, convention=name).values()
    assert ours == pytest.approx(fmean(counted), rel=1e-12)


def test_conventions_give_different_values_for_the_same_scores(mq2008: ScoredFile) -> None:
    metrics = [f"ndcg@10:{name}" for name in NDCG_AT_10] + [f"map:{name}" for name in MEAN_AVERAGE_PRECISION]
    ours = evaluate(mq2008.labels, mq2008.scores, qid=mq2008.qid, metrics=metrics)
    expected = [*NDCG_AT_10.values(), *MEAN_AVERAGE_PRECISION.values()]
    assert list(ours.values()) == pytest.approx(expected, abs=0.0005)


def test_a_third_of_the_queries_is_skipped(mq2008: ScoredFile) -> None:
    values = evaluate_per_query(mq2008.labels, mq2008.scores, qid=mq2008.qid)
    n_skipped = {name: int(np.isnan(column).sum()) for name, column in values.items()}
    assert n_skipped == {"ndcg@10": 51, "map": 51}
    assert len(values["map"]) == 156
