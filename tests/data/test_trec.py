"""TREC files and scores of other programs: round trips, and metrics against trec_eval."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import numpy as np
import pytest

from directranker import DataError, RankingDataset, evaluate, example_dataset
from directranker.data.score_files import read_scores
from directranker.data.trec import (
    is_qrels_line,
    judge_run,
    list_document_ids,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(12))


@pytest.fixture(scope="module")
def scores(data: RankingDataset) -> np.ndarray:
    return np.random.default_rng(0).normal(size=data.n_documents).astype(np.float32)


def test_metrics_of_a_run_match_trec_eval(data: RankingDataset, scores: np.ndarray, tmp_path: Path) -> None:
    write_run(data, scores, tmp_path / "a.run")
    write_qrels(data, tmp_path / "a.qrels")
    judged = judge_run(read_run(tmp_path / "a.run"), read_qrels(tmp_path / "a.qrels"))
    ours = evaluate(
        judged.relevance, judged.scores, qid=judged.qid, metrics=["ndcg@10", "map"], convention="trec"
    )
    theirs = ir_measures.calc_aggregate(
        [ir_measures.nDCG @ 10, ir_measures.AP],
        list(ir_measures.read_trec_qrels(str(tmp_path / "a.qrels"))),
        list(ir_measures.read_trec_run(str(tmp_path / "a.run"))),
    )
    assert ours["ndcg@10"] == pytest.approx(theirs[ir_measures.nDCG @ 10])
    assert ours["map"] == pytest.approx(theirs[ir_measures.AP])
    assert is_qrels_line((tmp_path / "a.qrels").read_bytes().splitlines()[0])
    assert not is_qrels_line((tmp_path / "a.run").read_bytes().splitlines()[0])


@pytest.mark.parametrize("top", [1, 3, 12])
def test_metrics_of_an_incomplete_run_match_trec_eval(
    data: RankingDataset, scores: np.ndarray, tmp_path: Path, top: int
) -> None:
    """One query is not in the run at all."""
    write_run(data, scores, tmp_path / "a.run")
    write_qrels(data, tmp_path / "a.qrels")
    lines = (tmp_path / "a.run").read_text().splitlines()
    kept = [
        line for line in lines if int(line.split()[3]) <= top and line.split()[0] != str(data.query_ids[1])
    ]
    (tmp_path / "a.run").write_text("\n".join(kept) + "\n")
    judged = judge_run(read_run(tmp_path / "a.run"), read_qrels(tmp_path / "a.qrels"), depth=10)
    assert judged.n_not_retrieved > 0
    theirs = ir_measures.calc_aggregate(
        [
            ir_measures.parse_measure(name)
            for name in ("nDCG@10", "nDCG", "AP", "P@5", "R@5", "Success@1", "RR")
        ],
        list(ir_measures.read_trec_qrels(str(tmp_path / "a.qrels"))),
        list(ir_measures.read_trec_run(str(tmp_path / "a.run"))),
    )
    names = {"nDCG@10": "ndcg@10", "nDCG": "ndcg", "AP": "map", "P@5": "p@5", "RR": "mrr"}
    names |= {"R@5": "recall@5", "Success@1": "hit@1"}
    for measure, value in theirs.items():
        name = judged.add_cutoff(names[str(measure)])
        ours = evaluate(judged.relevance, judged.scores, qid=judged.qid, metrics=name, convention="trec")
        assert ours[name] == pytest.approx(value), name
    for name in ("p", "prec", "Precision:trec"):
        with pytest.raises(DataError, match="needs a cut-off"):
            judged.add_cutoff(name)
    assert judged.add_cutoff("recall:trec") == f"recall@{judged.depth}:trec"


def test_scores_in_all_formats(data: RankingDataset, scores: np.ndarray, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("".join(f"{score!s}\n" for score in scores))
    write_run(data, scores, tmp_path / "a.run")
    indices = np.concatenate([np.arange(length) for length in np.diff(data.offsets)])
    lines = [
        f"{query}\t{index}\t{score!s}\n"
        for query, index, score in zip(data.qid, indices, scores, strict=True)
    ]
    (tmp_path / "ranklib.txt").write_text("".join(reversed(lines)))
    for name in ("plain.txt", "a.run", "ranklib.txt"):
        np.testing.assert_array_equal(read_scores(tmp_path / name, data).astype(np.float32), scores)


def test_scores_of_rows_in_any_order(tmp_path: Path) -> None:
    data = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 2], qid=["b", "a", "b"])
    write_run(data, [0.1, 0.3, 0.2], tmp_path / "a.run")  # in the order of the data set, as its labels
    assert read_run(tmp_path / "a.run") == {("b", "3"): 0.3, ("b", "1"): 0.1, ("a", "2"): 0.2}
    assert read_scores(tmp_path / "a.run", data).tolist() == [0.1, 0.3, 0.2]
    (tmp_path / "a.txt").write_text("0.1\n0.2\n0.3\n")  # in the order of the source
    assert read_scores(tmp_path / "a.txt", data).tolist() == [0.1, 0.3, 0.2]
    selected = data.select([1, 0])  # rows 1, 0, 2 of the source
    assert read_scores(tmp_path / "a.txt", selected).tolist() == [0.2, 0.1, 0.3]
    (tmp_path / "b.txt").write_text("0.1\n0.3\n")
    assert read_scores(tmp_path / "b.txt", data.select([0])).tolist() == [0.1, 0.3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 Q0 a 1 x t\n", "a.run:1: not a line of run"),
        ("1 Q0 a 1 1 t\n1 Q0 a\n", "a.run:2: not a line of run"),
        ("1 Q0 a 1 nan t\n", "a.run:1: not a line of run"),
        ("1 Q0 a 1 1 t\n1 Q0 a 2 1 t\n", "a.run:2: document 'a' of query '1' appears twice"),
        ("", "contains no lines"),
    ],
)
def test_invalid_runs_raise(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(text)
    with pytest.raises(DataError, match=message):
        read_run(tmp_path / "a.run")


def test_mismatched_files_raise(data: RankingDataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no query in common"):
        judge_run({("1", "a"): 1.0}, {("2", "a"): 0.0})
    query, document = data.query_ids[0], list_document_ids(data)[0]
    (tmp_path / "best.run").write_text(f"{query} Q0 {document} 1 0.5 mine\n")
    with pytest.raises(
        DataError, match=r"has no score for \d+ of .* evaluate a run of the top documents against qrels"
    ):
        read_scores(tmp_path / "best.run", data)
    (tmp_path / "ranklib.txt").write_text("x 0 1\n" * data.n_documents)
    with pytest.raises(DataError, match="the data has no document 0 of query 'x'"):
        read_scores(tmp_path / "ranklib.txt", data)
    with pytest.raises(DataError, match="integer labels"):
        write_qrels(RankingDataset.from_arrays([[1.0]], [0.5]), tmp_path / "a.qrels")
