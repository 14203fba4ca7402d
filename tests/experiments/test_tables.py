"""Results on disk and as tables: files read back unchanged, and tables have the right content."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from example_comparison import NOTE, make_comparison

from directranker import StorageError
from directranker.experiments.published import published_seconds
from directranker.experiments.results import read_results, write_results
from directranker.experiments.table_values import describe_protocol, legend, published_notes, score_cell
from directranker.experiments.tables import as_csv, as_latex, as_markdown, write_tables


def test_results_read_back_unchanged(tmp_path: Path) -> None:
    comparison = make_comparison()
    path = write_results(comparison, tmp_path)
    assert path == tmp_path / "results.json"
    assert read_results(tmp_path) == comparison
    assert read_results(tmp_path, per_query=False) == replace(comparison, per_query=())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not of format 1"),
        ('{"format": 2}', "is not of format 1"),
        ('{"format": 1, "request": {}}', "is incomplete"),
    ],
)
def test_damaged_results_raise(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(StorageError, match=re.escape(f"{tmp_path / 'results.json'}: {message}")):
        read_results(tmp_path, per_query=False)


def test_best_and_tied_rankers_are_marked() -> None:
    comparison = make_comparison()
    cells = [score_cell(comparison, result, "ndcg@10") for result in comparison.rankers]
    assert [cell.is_best for cell in cells] == [True, False, False]
    assert [cell.is_tied for cell in cells] == [False, True, False]
    assert [cell.text for cell in cells] == ["0.750 ± 0.010", "0.740 ± 0.010", "0.500 ± 0.010"]
    assert [(cell.published, cell.letter) for cell in cells] == [
        ("", ""),
        ("0.720 ± 0.012", ""),
        ("0.507", "a"),
    ]
    by_map = [score_cell(comparison, result, "map") for result in comparison.rankers]
    assert [(cell.text, cell.is_best) for cell in by_map] == [("–", False), ("–", False), ("0.250", True)]
    assert comparison.best("map") is comparison.rankers[2]


def test_notes_have_letters_and_are_in_the_legend() -> None:
    comparison = make_comparison()
    assert published_notes(comparison) == {NOTE: "a"}
    assert legend(comparison)[-1] == f"(a) {NOTE}."


def test_the_protocol_is_described() -> None:
    comparison = make_comparison()
    text = describe_protocol(comparison)
    for phrase in (
        "2 folds (given)",
        "labels ≥ 2 are relevant",
        "convention paper",
        "grid quick",
        "5-fold",
        "1 seed;",
    ):
        assert phrase in text
    request = {**comparison.request, "threshold": None, "inner_folds": "validation", "seeds": 3}
    text = describe_protocol(replace(comparison, request=request))
    for phrase in ("labels unchanged", "selected on the validation split", "3 seeds;"):
        assert phrase in text


def test_csv_has_full_precision() -> None:
    comparison = make_comparison()
    rows = list(csv.DictReader(io.StringIO(as_csv(comparison))))
    assert [(row["ranker"], row["metric"]) for row in rows] == [
        (name, metric) for metric in ("ndcg@10", "map") for name in ("A_1", "B", "C")
    ]
    for row, result in zip(rows, comparison.rankers, strict=False):
        assert float(row["mean"]) == result.by("ndcg@10").mean
        assert [float(row[fold]) for fold in ("Fold1", "Fold2")] == [
            fold.score for fold in result.by("ndcg@10").folds
        ]
    assert rows[0]["p_against_best"] == rows[0]["published"] == ""
    assert [float(rows[2][name]) for name in ("p_against_best", "p_corrected", "sigma_against_best")] == [
        0.001,
        0.003,
        20.0,
    ]
    assert (rows[2]["published"], rows[2]["published_error"], rows[2]["published_note"]) == (
        "0.507",
        "",
        NOTE,
    )
    assert rows[2]["candidates"] == "3"
    assert rows[3]["mean"] == ""


def test_markdown_is_a_table() -> None:
    text = as_markdown(make_comparison())
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[0] == "|  | NDCG@10 | published | MAP |"
    assert lines[2:5] == [
        "| A_1 | **0.750 ± 0.010** |  | – |",
        "| B | 0.740 ± 0.010 ≈ | 0.720 ± 0.012 | – |",
        "| C | 0.500 ± 0.010 | 0.507 (a) | **0.250** |",
    ]
    assert {line.count("|") for line in lines[:5]} == {5}
    assert f"(a) {NOTE}." in text


def test_latex_is_well_formed() -> None:
    text = as_latex(make_comparison())
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
    for table in re.findall(r"\\begin\{tabular\}\{(lr*)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        columns, body = table
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert len(rows) == 4
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(columns) - 1}
        assert [body.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    plain = re.sub(r"\\[{}$%&#_]", "", text)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert r"A\_1 & \textbf{0.750 $\pm$ 0.010} &  & --" in text
    assert r"B & 0.740 $\pm$ 0.010$^{\approx}$ & 0.720 $\pm$ 0.012" in text
    assert r"0.507$^{a}$" in text
    code = [line for line in text.splitlines() if not line.startswith("%")]
    assert "±" not in "".join(code)
    assert not re.search(r"(?<!\\)[%#]", "".join(code))


def test_published_times_have_a_column_if_there_are_any() -> None:
    comparison = make_comparison()
    assert "published, s" not in as_markdown(comparison)
    first, *others = comparison.rankers
    assert first.timing is not None
    seconds = published_seconds("RankNet", "MSLR-WEB10K")
    timed = replace(first, timing=replace(first.timing, published=seconds))
    text = as_markdown(replace(comparison, rankers=(timed, *others)))
    assert "| A_1 | 2.00 ± 0.50 | 10.0 | 0.500 | 10.00 | 2215 ± 351 (a) |" in text
    assert "| B | 2.00 ± 0.50 | 10.0 | 0.500 | 10.00 |  |" in text


def test_tables_are_written_beside_the_results(tmp_path: Path) -> None:
    write_tables(make_comparison(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.csv", "results.md", "results.tex"]
    assert (tmp_path / "results.csv").read_text().startswith("ranker,metric,mean")
