"""Reports of all kinds of folders: results are shown, missing files are left out, and errors are clear."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from directranker import DirectRanker, Ensemble, StorageError, example_dataset
from directranker.experiments.results import read_json, write_json, write_results
from directranker.experiments.sensitivity import Setting
from directranker.report import build_report, write_report
from directranker.report.contents import PAPER_N_TRAIN
from directranker.report.figures import write_figures
from directranker.report.verdicts import build_verdict

from made_up_results import write_made_up_comparison, write_made_up_neighbours, write_made_up_studies

RANKERS = ["Alpha", "Beta", "Gamma"]


def test_an_older_comparison_has_fewer_sections(tmp_path: Path) -> None:
    write_made_up_comparison(tmp_path, rankers=RANKERS, n_folds=2, n_queries=20)
    complete = build_report(tmp_path)
    assert "data-explorer" in complete
    for name in ("examples.json", "histories.json", "per_query.json"):
        (tmp_path / name).unlink()
    partial = build_report(tmp_path)
    assert "All rankers" in partial
    for section in ("data-explorer>", "data-curves>", 'data-chart="folds"'):
        assert section in complete
        assert section not in partial


def test_examples_of_other_data_are_left_out(tmp_path: Path) -> None:
    comparison = write_made_up_comparison(tmp_path, rankers=RANKERS, n_folds=2, n_queries=20)
    write_results(replace(comparison, request={**comparison.request, "data_fingerprint": "other"}), tmp_path)
    assert "data-explorer>" not in build_report(tmp_path)


def test_a_folder_of_folders_shows_all_of_them(tmp_path: Path) -> None:
    for name in ("one", "two", "studies", "lists"):
        (tmp_path / name).mkdir()
    for name in ("one", "two"):
        write_made_up_comparison(tmp_path / name, rankers=RANKERS, n_folds=2, n_queries=20)
    write_made_up_studies(tmp_path / "studies")
    write_made_up_neighbours(tmp_path / "lists")
    page = build_report(tmp_path)
    assert page.count('class="comparison"') == 2
    assert "data-study=" in page
    assert 'data-neighbours="0"' in page


def test_learning_curves_of_saved_rankers(tmp_path: Path) -> None:
    data = example_dataset().select(range(20))
    ranker = Ensemble(DirectRanker(max_epochs=2, hidden_layers=(4,)), 2, random_state=0).fit(data)
    ranker.save(tmp_path / "model")
    page = build_report(tmp_path / "model")
    start = page.index('id="data">') + len('id="data">')
    trainings = json.loads(page[start : page.index("</script>", start)])["trainings"]
    assert [one["name"] for one in trainings] == ["model 1", "model 2"]
    expected = [record.cost for record in ranker.rankers_[1].history_]
    assert [record["cost"] for record in trainings[1]["records"]] == expected


def test_equal_results_give_equal_pages(tmp_path: Path) -> None:
    write_made_up_comparison(tmp_path, rankers=RANKERS, n_folds=2, n_queries=20)
    page = write_report(tmp_path, tmp_path / "page.html").read_text(encoding="utf-8")
    assert build_report(tmp_path) == page


def test_every_kind_of_result_has_figures(tmp_path: Path) -> None:
    write_made_up_comparison(tmp_path, rankers=["Alpha/..", "Beta"], n_folds=2, n_queries=20)
    write_made_up_studies(tmp_path)
    write_made_up_neighbours(tmp_path)
    written = write_figures(tmp_path, tmp_path / "figures")
    name = tmp_path.name
    assert {path.name for path in written} == {
        f"{name}-{of}.{ending}"
        for ending in ("svg", "png")
        for of in (
            *("ndcg-10-against-time", "map-against-time", "Alpha----learning", "Beta-learning"),
            *("sensitivity", "neighbours-first", "neighbours-second"),
        )
    }
    assert {path.parent for path in written} == {tmp_path / "figures"}


def test_verdicts(tmp_path: Path) -> None:
    comparison = write_made_up_comparison(tmp_path, rankers=RANKERS, n_folds=2, n_queries=200)
    best, second, third = sorted(comparison.rankers, key=lambda one: -(one.by("map").mean or 0))

    def verdict_with_p(p_second: float, p_third: float) -> str:
        p_of = {second.ranker: p_second, third.ranker: p_third}
        tests = tuple(
            replace(test, p_corrected=p_of.get(({test.first, test.second} - {best.ranker}).pop(), 1.0))
            for test in comparison.tests
        )
        verdict = build_verdict(replace(comparison, tests=tests), "map")
        return f"{verdict.headline}. {verdict.lead} {verdict.is_clear}"

    assert verdict_with_p(0.0001, 0.01).startswith(f"{best.ranker} ranks best. ")
    assert f"ahead of {second.ranker} (p < 0.001). It is significantly better than every" in verdict_with_p(
        0.0001, 0.01
    )
    tied = verdict_with_p(0.2, 0.01)
    assert "(p = 0.200)" in tied
    assert f"{second.ranker} is not significantly worse." in tied
    assert f"significantly better than {third.ranker}. False" in tied
    many = replace(
        comparison,
        tests=(),
        rankers=(*comparison.rankers, *(replace(third, ranker=f"R{n}") for n in range(4))),
    )
    assert "and 3 others are not significantly worse." in build_verdict(many, "map").lead
    alone = replace(comparison, rankers=(best,), tests=())
    assert build_verdict(alone, "map").is_clear is None


def test_the_command(tmp_path: Path) -> None:
    write_made_up_studies(tmp_path)
    command = [sys.executable, "-m", "directranker", "report"]
    done = subprocess.run([*command, "."], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "report:  report.html\n"
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    (tmp_path / "empty").mkdir()
    wrong = subprocess.run([*command, "empty"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("directranker: empty has no results; pass a folder that compare")


def test_broken_folders_raise(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        build_report(tmp_path / "missing")
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(StorageError, match="is not JSON"):
        build_report(tmp_path)
    (tmp_path / "results.json").unlink()
    (tmp_path / "sensitivity.json").write_text('{"format": 9}')
    with pytest.raises(StorageError, match="is not of format 1"):
        build_report(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "missing"),
    [
        ("sensitivity.json", {"claims": []}, "points"),
        ("sensitivity.json", {"claims": [], "points": [{"study": "noise"}]}, "points: value"),
        ("neighbours.json", {"ranker": "R", "lists": []}, "lists"),
        ("neighbours.json", {"ranker": "R", "lists": [3]}, "lists: query"),
        ("header.json", {"format": "directranker model"}, "ranker"),
    ],
)
def test_missing_entries_are_named(file: str, content: dict[str, Any], missing: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(json.dumps({"format": 1, **content}))
    with pytest.raises(StorageError, match=rf"{file}: is incomplete, '{missing}' is missing; .* again"):
        build_report(tmp_path)


def test_a_truncated_ranker_raises(tmp_path: Path) -> None:
    write_made_up_studies(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "header.json").write_text('{"format": "directranker mo')
    with pytest.raises(StorageError, match=r"model.header\.json: is not JSON"):
        build_report(tmp_path)


def test_studies_show_their_folder_and_whether_they_are_smaller_than_the_papers(tmp_path: Path) -> None:
    assert Setting().n_train == PAPER_N_TRAIN
    note = "The paper claims this for 100,000 training documents; this study has 10,000."
    write_made_up_studies(tmp_path)
    assert note not in build_report(tmp_path)
    assert "Sensitivity on synthetic data</h2>" in build_report(tmp_path)
    (tmp_path / "quick").mkdir()
    write_made_up_studies(tmp_path / "quick")
    of_quick = read_json(tmp_path / "quick" / "sensitivity.json")
    of_quick["request"]["n_train"] = 10_000
    write_json(of_quick, tmp_path / "quick" / "sensitivity.json")
    page = build_report(tmp_path)
    assert page.count(note) == 1
    assert page.index("Sensitivity on synthetic data: quick</h2>") < page.index(note)


def test_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    write_made_up_comparison(tmp_path, rankers=RANKERS, n_folds=2, n_queries=20)
    script = (
        "import sys; from directranker.report import write_report; write_report('.'); "
        "heavy = {'torch', 'sklearn', 'numba', 'scipy', 'matplotlib'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
