"""The sensitivity studies: the procedure, resuming, claims, and the command."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from directranker import AdaRank, JobStore, RankSVM, make_synthetic, ndcg
from directranker.cli.sensitivity import DEFAULT_VALUES
from directranker.experiments.claims import check_claims
from directranker.experiments.sensitivity import (
    PROCEDURE,
    STUDIES,
    Point,
    Setting,
    make_study_ranker,
    measure_setting,
    run_studies,
)
from directranker.model_selection.threads import count_cores

from commands_here import run_here

SMALL = Setting(n_classes=3, n_features=6, n_train=400, n_test=300)


def test_a_point_follows_the_papers_procedure() -> None:
    values, _ = measure_setting(SMALL, RankSVM(), seed=3)
    made = make_synthetic(3, 6, n_train=400, n_test=300, random_state=3)
    scores = RankSVM(random_state=3).fit(made.train).predict(made.test.features)
    rng = np.random.default_rng((3, 20))
    for value in values:
        rows = rng.choice(300, rng.integers(50, 151), replace=False)
        assert value == pytest.approx(ndcg(made.test.relevance[rows], scores[rows], k=20))


def test_test_labels_are_noisy_by_default() -> None:
    noisy = replace(SMALL, noise=1.0)
    true = replace(noisy, noisy_test=False)
    against_true, against_noisy = (measure_setting(one, RankSVM(), seed=0)[0].mean() for one in (true, noisy))
    assert against_noisy < against_true - 0.05


def test_a_training_shows_no_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    measure_setting(SMALL, AdaRank(max_iter=2, progress=True), seed=0)
    assert capsys.readouterr() == ("", "")  # all trainings share one bar


def test_the_papers_ranker() -> None:
    ranker = make_study_ranker(PROCEDURE, SMALL)
    assert (ranker.hidden_layers, ranker.cost, ranker.pairs) == ((70, 3), "relevance_weighted", "adjacent")
    with pytest.raises(ValueError, match="did you mean 'RankSVM'"):
        make_study_ranker("RankSWM", SMALL)


@pytest.mark.parametrize(
    ("study", "value", "problem"),
    [
        ("classes", 2.5, "n_classes is 2.5; pass an integer of at least 2"),
        ("classes", 1, "n_classes is 1; pass"),
        ("features", 0, "n_features is 0; pass"),
        ("size", np.inf, "n_train is inf; pass"),
        ("noise", -0.5, "σ = -0.5; give"),
    ],
)
def test_invalid_values_raise(study: str, value: float, problem: str, tmp_path: Path) -> None:
    with JobStore(tmp_path / "jobs.sqlite") as store, pytest.raises(ValueError, match=problem):
        run_studies({study: [value]}, store, rankers=["RankSVM"], setting=SMALL, workers=1)


def test_duplicates_count_once(tmp_path: Path) -> None:
    with JobStore(tmp_path / "jobs.sqlite") as store:
        studies = {"features": [3, 3.0]}
        (point,) = run_studies(studies, store, rankers=["RankSVM"] * 2, n_sets=2, setting=SMALL, workers=1)
    assert (point.value, point.n_sets) == (3, 2)


def test_finished_data_sets_are_not_run_again(tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []

    def run(values: list[float]) -> list[Point]:
        with JobStore(tmp_path / "jobs.sqlite") as store:
            return run_studies(
                {"noise": values, "features": [6]},
                store,
                rankers=["RankSVM"],
                n_sets=2,
                setting=SMALL,
                workers=1,
                progress=lambda done, total: reported.append((done, total)),
            )

    first = run([0])  # the same as 0.0
    assert reported == [(0, 2), (1, 2), (2, 2)]  # both studies share their data sets
    reported.clear()
    second = run([0.0, 2.0])
    assert reported == [(2, 4), (3, 4), (4, 4)]
    assert second[0] == first[0]
    noisy = second[1]
    assert noisy.mean < first[0].mean
    each = [measure_setting(SMALL, RankSVM(), seed=seed, query_size=(50, 150))[0].mean() for seed in (0, 1)]
    assert first[0].mean == pytest.approx(np.mean(each))
    assert first[0].error == pytest.approx(abs(each[0] - each[1]) / 2)


def make_point(study: str, value: float, mean: float) -> Point:
    return Point(study, value, "R", mean, 0.01, 5, 1.0)


@pytest.mark.parametrize(
    ("points", "held"),
    [
        ([make_point("classes", 2, 0.99), make_point("classes", 9, 0.9)], [True]),
        ([make_point("classes", 2, 0.91), make_point("classes", 9, 0.9)], [False]),  # within the errors
        ([make_point("size", 100, 0.9), make_point("size", 10, 0.8)], [True]),
        ([make_point("features", 5, 0.9), make_point("features", 9, 0.8)], [False]),
        (
            [make_point("noise", 0, 0.99), make_point("noise", 0.25, 0.985), make_point("noise", 0.75, 0.79)],
            [True] * 2 + [False],
        ),
        ([make_point("noise", 0, 0.99), make_point("noise", 0.25, 0.97)], [False]),
        ([make_point("noise", 0.25, 0.98), make_point("noise", 0.75, 0.975)], [False, True]),
        ([make_point("noise", 0.5, 0.9)], []),
    ],
)
def test_claims(points: list[Point], held: list[bool]) -> None:
    assert [claim.held for claim in check_claims(points)] == held


def test_claims_of_a_single_data_set_have_no_errors() -> None:
    single = [
        replace(make_point("size", n, mean), error=np.nan, n_sets=1) for n, mean in ((10, 0.8), (99, 0.9))
    ]
    (claim,) = check_claims(single)
    assert (claim.held, claim.figures) == (True, "0.8000 at 10, 0.9000 at 99")


def test_the_command(tmp_path: Path) -> None:
    command = ["sensitivity", "--study", "features", "--values", "3,40"]
    options = ["--ranker", "RankSVM", "--train", "500", "--sets", "2", "--workers", "1", "--json"]
    done = run_here(*command, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [point["value"] for point in found["points"]] == [3, 40]
    assert found["claims"][0]["held"] is True
    folder = tmp_path / "results" / "sensitivity"
    kept = json.loads((folder / "sensitivity.json").read_text())
    assert (kept["points"], kept["claims"]) == (found["points"], found["claims"])
    assert kept["request"]["command"].startswith("directranker sensitivity --study features --values 3,40")
    assert "torch" in kept["environment"]["versions"]
    assert (folder / "sensitivity.svg").read_text().startswith("<?xml")
    assert (folder / "sensitivity.png").read_bytes().startswith(b"\x89PNG")
    assert run_here(*command, "--study", "noise", cwd=tmp_path).returncode == 2


def test_the_help_names_the_values() -> None:
    named = {entry.split()[0]: entry.split()[1] for entry in DEFAULT_VALUES.split("; ")}
    assert {name: tuple(map(float, values.split(","))) for name, values in named.items()} == {
        name: study.values for name, study in STUDIES.items()
    }


STUDY = ("sensitivity", "--study", "classes", "--values", "2,3", "--train", "200", "--sets", "2", "--json")


def start(folder: Path, name: str, workers: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "directranker", *STUDY, "--out", name, "--workers", str(workers)]
    return subprocess.Popen(
        command,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # A shell that runs tests in the background may have made its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )


def read_results(folder: Path) -> dict[str, tuple[float, float, str]]:
    """Read score, seconds and end time of each finished data set; a second run would change them."""
    path = folder / "sensitivity.sqlite"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        try:
            rows = connection.execute("SELECT key, score, fit_seconds, finished FROM job_results").fetchall()
        except sqlite3.OperationalError:  # the table is not there yet
            return {}
    return {key: (score, seconds, finished) for key, score, seconds, finished in rows}


def wait_for_a_result(process: subprocess.Popen[str], folder: Path, n_before: int) -> None:
    while process.poll() is None and len(read_results(folder)) <= n_before:
        time.sleep(0.01)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """Return the means of a study that runs without interruption."""
    return run_to_the_end(tmp_path_factory.mktemp("whole"), "whole")


def run_to_the_end(folder: Path, name: str) -> list[float]:
    done = run_here(*STUDY, "--out", name, "--workers", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return [point["mean"] for point in json.loads(done.stdout)["points"]]


def finish(folder: Path, before: dict[str, tuple[float, float, str]]) -> list[float]:
    """Run to the end; finished results are not computed again."""
    means = run_to_the_end(folder, "stopped")
    after = read_results(folder / "stopped")
    assert before.items() <= after.items()
    assert len(after) == 4
    return means


def test_points_are_the_same_after_kills_at_random_moments(
    tmp_path: Path, uninterrupted: list[float]
) -> None:
    moments = np.random.default_rng(0)
    before: dict[str, tuple[float, float, str]] = {}
    for _ in range(2):
        process = start(tmp_path, "stopped")
        wait_for_a_result(process, tmp_path / "stopped", len(before))
        time.sleep(moments.uniform(0, 0.3))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        after = read_results(tmp_path / "stopped")
        assert before.items() <= after.items()
        before = after
    assert finish(tmp_path, before) == uninterrupted


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_finished_trainings_only(
    tmp_path: Path, uninterrupted: list[float], workers: int
) -> None:
    if workers > count_cores():
        pytest.skip("there is one core, and so one worker")
    process = start(tmp_path, "stopped", workers)
    wait_for_a_result(process, tmp_path / "stopped", 0)
    os.killpg(process.pid, signal.SIGINT)  # to all processes, as a terminal does
    out, errors = process.communicate(timeout=60)
    before = read_results(tmp_path / "stopped")
    if process.returncode != 0:  # else it finished before the interrupt
        assert process.returncode == 130, errors
        assert out == ""
        assert errors == (
            "directranker: interrupted; finished jobs are kept in stopped; run the same command to resume\n"
        )
        assert len(before) < 4
    assert finish(tmp_path, before) == uninterrupted
