"""Results on disk and as tables: what is written reads back, and says what it should."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from directranker import StorageError
from directranker.experiments.published import published_seconds
from directranker.experiments.results import read_results, write_results
from directranker.experiments.table_values import legend, describe_protocol, published_notes, score_cell
from directranker.experiments.tables import as_csv, as_latex, as_markdown, write_tables

from made_up_comparison import NOTE, made_up_comparison


def test_results_read_back_as_they_were(tmp_path: Path) -> None:
    comparison = made_up_comparison()
    path = write_results(comparison, tmp_path)
    assert path == tmp_path / "results.json"
    assert read_results(tmp_path) == comparison
    assert read_results(tmp_path, per_query=False) == replace(comparison, per_query=())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "is not of format 1"),
        ('{"format": 2}', "is not of format 1"),
        ('{"format": 1, "request": {}}', "is no whole result"),
    ],
)
def test_damaged_results_are_told(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(StorageError, match=re.escape(f"{tmp_path / 'results.json'}: {message}")):
        read_results(tmp_path, per_query=False)


def test_the_best_is_known_and_who_is_level_with_it() -> None:
    comparison = made_up_comparison()
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


def test_notes_have_letters_and_stand_in_the_legend() -> None:
    comparison = made_up_comparison()
    assert published_notes(comparison) == {NOTE: "a"}
    assert legend(comparison)[-1] == f"(a) {NOTE}."


def test_the_protocol_is_told() -> None:
    comparison = made_up_comparison()
    words = describe_protocol(comparison)
    for part in (
        "2 folds (given)",
        "labels ≥ 2 relevant",
        "convention paper",
        "grid quick",
        "5-fold",
        "1 seed;",
    ):
        assert part in words
    request = {**comparison.request, "threshold": None, "inner_folds": "validation", "seeds": 3}
    words = describe_protocol(replace(comparison, request=request))
    for part in ("labels as they are", "chosen on the validation part", "3 seeds;"):
        assert part in words


def test_csv_has_all_numbers_in_full() -> None:
    comparison = made_up_comparison()
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
    text = as_markdown(made_up_comparison())
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
    text = as_latex(made_up_comparison())
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


def test_published_times_have_a_column_where_there_are_any() -> None:
    comparison = made_up_comparison()
    assert "published, s" not in as_markdown(comparison)
    first, *others = comparison.rankers
    assert first.timing is not None
    seconds = published_seconds("RankNet", "MSLR-WEB10K")
    timed = replace(first, timing=replace(first.timing, published=seconds))
    text = as_markdown(replace(comparison, rankers=(timed, *others)))
    assert "| A_1 | 2.00 ± 0.50 | 10.0 | 0.500 | 10.00 | 2215 ± 351 (a) |" in text
    assert "| B | 2.00 ± 0.50 | 10.0 | 0.500 | 10.00 |  |" in text


def test_tables_are_written_beside_the_results(tmp_path: Path) -> None:
    write_tables(made_up_comparison(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.csv", "results.md", "results.tex"]
    assert (tmp_path / "results.csv").read_text().startswith("ranker,metric,mean")
