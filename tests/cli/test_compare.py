"""`directranker compare` as a user runs it: its output, its files and its errors."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from comparisons import OPTIONS, RANKERS, finish_comparison, read_table, run

from directranker import Metric, RankingDataset, RankSVM, example_dataset, write_letor
from directranker.cli import main
from directranker.data.folds import SPLITS
from directranker.experiments.protocol import apply_protocol, make_folds


class CompletedCommand(NamedTuple):
    """The exit code and the output of a command that ran in this process."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_here(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., CompletedCommand]:
    """Run a command in this process, which saves the seconds of importing everything."""

    def run_command(*arguments: str) -> CompletedCommand:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(sys, "argv", ["directranker", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return CompletedCommand(int(end.value.code or 0), *capsys.readouterr())

    return run_command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small data set, a grid and a finished comparison in `whole`."""
    return finish_comparison(tmp_path_factory.mktemp("compare"))


def test_compare_prints_the_table_and_the_path_of_the_results(folder: Path) -> None:
    text = (folder / "whole.txt").read_text()
    assert "data: 3 folds (split by query, seed 0); labels ≥ 1 are relevant" in text.replace("\n", "")
    for ranker in RANKERS.split(","):
        assert re.search(
            rf"^ {ranker} +0\.\d{{3}} ± 0\.\d{{3}} [*≈ ] +0\.\d{{3}} ± 0\.\d{{3}}", text, re.MULTILINE
        )
    assert text.endswith("results: whole/results.json\nreport:  whole/report.html\n")
    assert sorted(path.name for path in (folder / "whole").iterdir()) == [
        "examples.json", "histories.json", "jobs.sqlite", "per_query.json", "planned.json", "report.html",
        "request.json", "results.csv", "results.json", "results.md", "results.tex",
    ]  # fmt: skip


def test_results_have_what_a_report_needs(folder: Path) -> None:
    results = json.loads((folder / "whole" / "results.json").read_text())
    assert results["request"]["command"].startswith("directranker compare data --rankers RankSVM")
    assert results["environment"]["cores"] >= 1
    assert "torch" in results["environment"]["versions"]
    assert len(results["tests"]) == 2 * 3
    per_query = json.loads((folder / "whole" / "per_query.json").read_text())["per_query"]
    for measured in per_query:
        assert len(measured["queries"]) == len(set(measured["queries"])) == len(measured["folds"])
        for ranker in results["rankers"]:
            (of_metric,) = [one for one in ranker["measured"] if one["metric"] == measured["metric"]]
            for fold in of_metric["folds"]:
                values = [
                    value
                    for value, name in zip(
                        measured["values"][ranker["ranker"]], measured["folds"], strict=True
                    )
                    if name == fold["fold"]
                ]
                assert sum(values) / len(values) == pytest.approx(fold["score"])


def test_examples_match_the_evaluated_rankers(folder: Path) -> None:
    examples = json.loads((folder / "whole" / "examples.json").read_text())
    assert len(examples["queries"]) == 12
    measured = json.loads((folder / "whole" / "per_query.json").read_text())["per_query"][0]
    metric = Metric.parse(measured["metric"], convention="paper")
    where = list(zip(measured["folds"], map(str, measured["queries"]), strict=True))
    for query in examples["queries"]:
        at = where.index((query["fold"], query["query"]))
        assert sorted(query["by"]) == sorted(RANKERS.split(","))
        for ranker, seen in query["by"].items():
            expected = measured["values"][ranker][at]
            assert metric(np.array(query["grades"]), np.array(seen["scores"])) == pytest.approx(expected)
            assert len(seen["r"]) == len(seen["scores"]) - 1
    curves = json.loads((folder / "whole" / "histories.json").read_text())["histories"]
    assert {name: list(folds) for name, folds in curves.items()}["LambdaMART"] == ["Fold1", "Fold2", "Fold3"]


def test_a_finish_comparison_is_shown_at_once_without_a_training(folder: Path) -> None:
    jobs = (folder / "whole" / "jobs.sqlite").stat().st_mtime_ns
    begin = time.perf_counter()
    done = run("compare", "data", *OPTIONS, "--out", "whole", cwd=folder)
    seconds = time.perf_counter() - begin
    assert done.stdout == (folder / "whole.txt").read_text()
    assert (folder / "whole" / "jobs.sqlite").stat().st_mtime_ns == jobs
    assert seconds < 3


@pytest.mark.parametrize("only_status", [[], ["--status"]])
def test_printing_a_comparison_imports_nothing_heavy(folder: Path, only_status: list[str]) -> None:
    script = f"""
import sys
from directranker.cli import main
sys.argv = ["directranker", "compare", "data", *{OPTIONS!r}, "--out", "whole", *{only_status!r}]
try:
    main()
except SystemExit as end:
    assert not end.code
heavy = {{"torch", "sklearn", "numba", "scipy"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("form", "begin"),
    [("csv", "ranker,metric,mean"), ("markdown", "data: 3 folds"), ("latex", "% data: 3 folds")],
)
def test_printed_formats_equal_the_written_files(folder: Path, form: str, begin: str) -> None:
    done = run("compare", "data", *OPTIONS, "--out", "whole", "--format", form, cwd=folder)
    file = {"csv": "results.csv", "markdown": "results.md", "latex": "results.tex"}[form]
    assert done.stdout == (folder / "whole" / file).read_text()
    assert done.stdout.startswith(begin)


def test_json_equals_the_results_file(folder: Path) -> None:
    done = run("compare", "data", *OPTIONS, "--out", "whole", "--json", cwd=folder)
    assert json.loads(done.stdout) == json.loads((folder / "whole" / "results.json").read_text())


def test_another_request_reuses_the_jobs(folder: Path, run_here: Callable[..., CompletedCommand]) -> None:
    shutil.copytree(folder / "whole", folder / "shared")
    jobs = (folder / "shared" / "jobs.sqlite").read_bytes()
    options = (
        "compare",
        "data",
        *OPTIONS,
        "--rankers",
        "AdaRank,RankSVM",
        "--out",
        "shared",
        "--format",
        "csv",
    )
    done = run_here(*options, "--workers", "1")
    rows = list(csv.DictReader(done.out.splitlines()))
    assert [row["ranker"] for row in rows] == ["AdaRank", "RankSVM"] * 2
    assert (folder / "shared" / "jobs.sqlite").read_bytes() == jobs
    whole = {(row[0], row[1]): row[2] for row in read_table(folder / "whole")}
    assert {(row["ranker"], row["metric"]): row["mean"] for row in rows}.items() <= whole.items()


def test_graded_labels_can_be_kept(folder: Path, run_here: Callable[..., CompletedCommand]) -> None:
    options = ("--rankers", "RankSVM", "--metric", "ndcg@5", "--threshold", "none", "--convention", "graded")
    done = run_here("compare", "data", *OPTIONS, *options, "--out", "graded", "--workers", "1", "--json")
    results = json.loads(done.out)
    assert results["request"]["threshold"] is None
    assert results["tests"] == []
    (measured,) = results["rankers"][0]["measured"]
    expected = []
    folds = make_folds(RankingDataset.load(folder / "data"), n_folds=3)
    for fold, of_fold in zip(folds, measured["folds"], strict=True):
        kept = apply_protocol(fold, None)
        ranker = RankSVM(**of_fold["parameters"], random_state=0).fit(kept.train)
        scores = ranker.predict(kept.test)
        expected.append(Metric.parse("ndcg@5")(kept.test.relevance, scores, offsets=kept.test.offsets))
    assert [fold["score"] for fold in measured["folds"]] == pytest.approx(expected)


def test_status_prints_the_progress_of_each_ranker(run_here: Callable[..., CompletedCommand]) -> None:
    done = run_here("compare", "data", "--status", "--out", "whole")
    assert re.search(r"^ RankSVM +30 +30 ", done.out, re.MULTILINE)
    assert "66 of 66 jobs in whole: finished" in done.out
    counts = json.loads(run_here("compare", "--status", "--out", "whole", "--json").out)
    assert counts["AdaRank"] == {"done": 6, "total": 6}
    nothing = run_here("compare", "data", "--status")
    assert (nothing.code, nothing.out) == (1, "")
    assert "results/data/planned.json does not exist; no comparison was started" in nothing.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "none does not exist"),
        (["data", "--rankers", "RankSWM"], "ranker 'RankSWM' is unknown; did you mean 'RankSVM'?"),
        (["data", "--metric", "ndgc"], "measure 'ndgc' is unknown; did you mean 'ndcg'?"),
        (["data", "--convention", "papre"], "convention 'papre' is unknown; did you mean 'paper'?"),
        (["data", "--grid", "none.toml"], "none.toml does not exist; pass 'quick'"),
        (
            ["data", "--inner-folds", "few"],
            "inner_folds is 'few'; pass an integer of at least 2, or 'validation'",
        ),
        (["data", "--threshold", "high"], "threshold is 'high'; pass a label"),
        (["data", "--threshold", "9"], "Fold1: no query of train has a document with a label of 9 or more"),
        (["data", "--folds", "2"], "n_folds is 2; pass at least 3"),
    ],
)
def test_errors_are_one_line_and_leave_no_files(
    folder: Path, arguments: list[str], message: str, run_here: Callable[..., CompletedCommand]
) -> None:
    done = run_here("compare", *arguments, "--out", "wrong")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"directranker: {message}")
    assert done.err.count("\n") == 1
    assert not (folder / "wrong").exists()


@pytest.mark.parametrize(
    "arguments", [[], ["--status"], ["data", "--seeds", "0"], ["data", "--format", "pdf"]]
)
def test_wrong_usage_exits_with_2(arguments: list[str], run_here: Callable[..., CompletedCommand]) -> None:
    assert run_here("compare", *arguments).code == 2


def test_known_data_set_shows_the_published_values(
    folder: Path, run_here: Callable[..., CompletedCommand]
) -> None:
    for fold in make_folds(example_dataset().select(range(60))):
        (folder / "MQ2008" / fold.name).mkdir(parents=True)
        for split, stem in SPLITS.items():
            write_letor(getattr(fold, split), folder / "MQ2008" / fold.name / f"{stem}.txt")
    options = (
        "--rankers",
        "AdaRank,RankSVM",
        "--grid",
        "grid.toml",
        "--inner-folds",
        "validation",
        "--workers",
        "1",
    )
    done = run_here("compare", "MQ2008", *options)
    assert re.search(r"^ AdaRank .* \.722±\.010 .* \.653±\.009 *$", done.out, re.MULTILINE)
    assert done.out.endswith("results: results/MQ2008/results.json\nreport:  results/MQ2008/report.html\n")
