"""`directranker compare` as a user runs it: what it prints, writes and refuses."""

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
from comparisons import OPTIONS, RANKERS, finished_comparison, run, table

from directranker import Metric, RankingDataset, RankSVM, example_dataset, write_letor
from directranker.cli import main
from directranker.data.folds import SPLITS
from directranker.experiments.protocol import apply_protocol, make_folds


class Ended(NamedTuple):
    """How a command ended that ran in this process."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_here(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """The command in this process, which spares the seconds of loading everything."""

    def ended(*arguments: str) -> Ended:
        monkeypatch.chdir(place)
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(sys, "argv", ["directranker", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return Ended(int(end.value.code or 0), *capsys.readouterr())

    return ended


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small data set, a grid and a finished comparison in `whole`."""
    return finished_comparison(tmp_path_factory.mktemp("compare"))


def test_the_table_and_the_path_of_the_results_are_printed(place: Path) -> None:
    text = (place / "whole.txt").read_text()
    assert "data: 3 folds (split by query, seed 0); labels ≥ 1 are relevant" in text.replace("\n", "")
    for ranker in RANKERS.split(","):
        assert re.search(
            rf"^ {ranker} +0\.\d{{3}} ± 0\.\d{{3}} [*≈ ] +0\.\d{{3}} ± 0\.\d{{3}}", text, re.MULTILINE
        )
    assert text.endswith("results: whole/results.json\nreport:  whole/report.html\n")
    assert sorted(path.name for path in (place / "whole").iterdir()) == [
        "examples.json", "histories.json", "jobs.sqlite", "per_query.json", "planned.json", "report.html",
        "request.json",
        "results.csv", "results.json", "results.md", "results.tex",
    ]  # fmt: skip


def test_results_hold_what_a_report_needs(place: Path) -> None:
    results = json.loads((place / "whole" / "results.json").read_text())
    assert results["request"]["command"].startswith("directranker compare data --rankers RankSVM")
    assert results["environment"]["cores"] >= 1
    assert "torch" in results["environment"]["versions"]
    assert len(results["tests"]) == 2 * 3
    per_query = json.loads((place / "whole" / "per_query.json").read_text())["per_query"]
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


def test_examples_are_of_the_rankers_that_were_measured(place: Path) -> None:
    examples = json.loads((place / "whole" / "examples.json").read_text())
    assert len(examples["queries"]) == 12
    measured = json.loads((place / "whole" / "per_query.json").read_text())["per_query"][0]
    metric = Metric.parse(measured["metric"], convention="paper")
    where = list(zip(measured["folds"], map(str, measured["queries"]), strict=True))
    for query in examples["queries"]:
        at = where.index((query["fold"], query["query"]))
        assert sorted(query["by"]) == sorted(RANKERS.split(","))
        for ranker, seen in query["by"].items():
            expected = measured["values"][ranker][at]
            assert metric(np.array(query["grades"]), np.array(seen["scores"])) == pytest.approx(expected)
            assert len(seen["r"]) == len(seen["scores"]) - 1
    curves = json.loads((place / "whole" / "histories.json").read_text())["histories"]
    assert {name: list(folds) for name, folds in curves.items()}["LambdaMART"] == ["Fold1", "Fold2", "Fold3"]


def test_a_finished_comparison_is_shown_at_once_without_a_training(place: Path) -> None:
    cells = (place / "whole" / "jobs.sqlite").stat().st_mtime_ns
    begin = time.perf_counter()
    done = run("compare", "data", *OPTIONS, "--out", "whole", cwd=place)
    seconds = time.perf_counter() - begin
    assert done.stdout == (place / "whole.txt").read_text()
    assert (place / "whole" / "jobs.sqlite").stat().st_mtime_ns == cells
    assert seconds < 3


@pytest.mark.parametrize("only_status", [[], ["--status"]])
def test_nothing_heavy_is_loaded_to_show_a_comparison_or_how_far_it_is(
    place: Path, only_status: list[str]
) -> None:
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
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=place
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("form", "begin"),
    [("csv", "ranker,metric,mean"), ("markdown", "data: 3 folds"), ("latex", "% data: 3 folds")],
)
def test_other_formats_are_printed_as_they_are_written(place: Path, form: str, begin: str) -> None:
    done = run("compare", "data", *OPTIONS, "--out", "whole", "--format", form, cwd=place)
    file = {"csv": "results.csv", "markdown": "results.md", "latex": "results.tex"}[form]
    assert done.stdout == (place / "whole" / file).read_text()
    assert done.stdout.startswith(begin)


def test_json_is_the_results_file(place: Path) -> None:
    done = run("compare", "data", *OPTIONS, "--out", "whole", "--json", cwd=place)
    assert json.loads(done.stdout) == json.loads((place / "whole" / "results.json").read_text())


def test_another_request_shares_the_cells_and_has_its_own_table(
    place: Path, run_here: Callable[..., Ended]
) -> None:
    shutil.copytree(place / "whole", place / "shared")
    cells = (place / "shared" / "jobs.sqlite").read_bytes()
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
    assert (place / "shared" / "jobs.sqlite").read_bytes() == cells
    whole = {(row[0], row[1]): row[2] for row in table(place / "whole")}
    assert {(row["ranker"], row["metric"]): row["mean"] for row in rows}.items() <= whole.items()


def test_labels_may_be_kept_as_they_are(place: Path, run_here: Callable[..., Ended]) -> None:
    options = ("--rankers", "RankSVM", "--metric", "ndcg@5", "--threshold", "none", "--convention", "graded")
    done = run_here("compare", "data", *OPTIONS, *options, "--out", "graded", "--workers", "1", "--json")
    results = json.loads(done.out)
    assert results["request"]["threshold"] is None
    assert results["tests"] == []
    (measured,) = results["rankers"][0]["measured"]
    expected = []
    folds = make_folds(RankingDataset.load(place / "data"), n_folds=3)
    for fold, of_fold in zip(folds, measured["folds"], strict=True):
        kept = apply_protocol(fold, None)
        ranker = RankSVM(**of_fold["parameters"], random_state=0).fit(kept.train)
        scores = ranker.predict(kept.test)
        expected.append(Metric.parse("ndcg@5")(kept.test.relevance, scores, offsets=kept.test.offsets))
    assert [fold["score"] for fold in measured["folds"]] == pytest.approx(expected)


def test_status_tells_progress_per_ranker(run_here: Callable[..., Ended]) -> None:
    done = run_here("compare", "data", "--status", "--out", "whole")
    assert re.search(r"^ RankSVM +30 +30 ", done.out, re.MULTILINE)
    assert "66 of 66 cells in whole: finished" in done.out
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
def test_mistakes_are_told_in_one_line_and_leave_nothing(
    place: Path, arguments: list[str], message: str, run_here: Callable[..., Ended]
) -> None:
    done = run_here("compare", *arguments, "--out", "wrong")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"directranker: {message}")
    assert done.err.count("\n") == 1
    assert not (place / "wrong").exists()


@pytest.mark.parametrize(
    "arguments", [[], ["--status"], ["data", "--seeds", "0"], ["data", "--format", "pdf"]]
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], run_here: Callable[..., Ended]) -> None:
    assert run_here("compare", *arguments).code == 2


def test_a_folder_of_folds_with_a_known_name_has_the_published_values(
    place: Path, run_here: Callable[..., Ended]
) -> None:
    for fold in make_folds(example_dataset().select(range(60))):
        (place / "MQ2008" / fold.name).mkdir(parents=True)
        for split, stem in SPLITS.items():
            write_letor(getattr(fold, split), place / "MQ2008" / fold.name / f"{stem}.txt")
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
