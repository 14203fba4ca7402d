"""Running many trainings: each once, whatever kills the process, on no more threads than there are cores."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
import pytest
import torch
from joblib.externals.loky import get_reusable_executor

from directranker import FitError, JobStore, evaluate
from directranker.model_selection import Part, Progress, fitting, run_fits, trained_for
from directranker.model_selection.fitting import run_fit
from directranker.model_selection.threads import cores_given, limited_threads, threads_each, with_threads
from directranker.rankers import DirectRanker, Ensemble, LambdaMART, RankSVM
from directranker.training.interrupts import DeferredInterrupt

from search_processes import counting_fits, fit_of, lines_of, scores_in
from watched_rankers import CountingRanker, Fatal, made_up, threads_here

TWO_CORES = pytest.mark.skipif(cores_given() < 2, reason="needs two cores")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=TWO_CORES)])
def test_each_training_runs_once_and_is_measured_right(workers: int, tmp_path: Path) -> None:
    data, log = {"all": made_up()}, tmp_path / "log"
    fits = counting_fits(log, 4)
    seen: list[Progress] = []
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits(fits[:2], data, store, workers=workers)
        run_fits(fits, data, store, workers=workers, progress=seen.append)
        run_fits(fits, data, store, workers=workers)
        scores = scores_in(store, fits, data)
    assert len(lines_of(log)) == 4
    assert (os.getpid() in {int(line.split()[0]) for line in lines_of(log)}) == (workers == 1)
    train, test = fits[0].train.of(data), fits[0].test.of(data)
    expected = []
    for fit in fits:
        ranker = fit.ranker.__class__(str(log), fit.parameters["power"], random_state=0)
        predicted = ranker.fit(train.features, train.relevance, qid=train.qid).predict(test.features)
        values = evaluate(test.relevance, predicted, offsets=test.offsets, convention="paper")
        expected += [values["map"], values["ndcg@10"]]
    assert scores == expected
    assert [(now.done, now.total) for now in seen] == [(4, 8), (6, 8), (8, 8)]
    assert seen[-1].best["CountingRanker", "map"] == pytest.approx(max(expected[4::2]))
    assert seen[-1].rate > 0
    assert seen[-1].seconds_left == 0
    assert seen[0].seconds_left is None


def test_cells_say_what_was_done_and_how_long_it_took(tmp_path: Path) -> None:
    data, log = {"all": made_up(), "vali": made_up(6, seed=1)}, tmp_path / "log"
    fit = fit_of(
        CountingRanker(str(log), seconds=0.2), "map", validation=Part("vali"), keep_queries=True, seed=5
    )
    (cell,) = run_fit(fit, {"map": "key"}, data, threads=1)
    train, test = fit.train.of(data), fit.test.of(data)
    assert 0.2 <= cell.fit_seconds < 1
    assert cell.score_seconds < 0.1
    assert (cell.n_train, cell.n_test, cell.threads) == (train.n_documents, test.n_documents, 1)
    assert cell.per_query is not None
    assert cell.score == np.nanmean(cell.per_query)
    assert [line.split()[3:] for line in lines_of(log)] == [["5", "True"]]


def test_fits_that_train_the_same_are_trained_once(tmp_path: Path) -> None:
    data, log = {"all": made_up()}, tmp_path / "log"
    ranker = CountingRanker(str(log))
    alike = [fit_of(trained_for(ranker, metric), metric) for metric in ("map", "ndcg@10", "p@5")]
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits(alike, data, store, workers=1)
        assert len(scores_in(store, alike, data)) == 3
        assert len(lines_of(log)) == 1
        run_fits([replace(alike[0], metrics=("map", "mrr"))], data, store, workers=1)
        assert len(lines_of(log)) == 2


def test_a_training_that_keeps_its_best_after_ctrl_c_is_no_result() -> None:
    def press(record: Any) -> None:
        if record.epoch == 2:  # beyond the warm-up
            signal.raise_signal(signal.SIGINT)

    fit = fit_of(DirectRanker(max_epochs=50, callbacks=(press,)))
    before = DeferredInterrupt.n_requested
    with pytest.raises(KeyboardInterrupt):
        run_fit(fit, {"map": "key"}, {"all": made_up()}, threads=1)
    assert DeferredInterrupt.n_requested > before


@TWO_CORES
def test_a_killed_worker_is_told_and_finished_cells_are_kept(tmp_path: Path) -> None:
    fits, data = [fit_of(Fatal("killed", n)) for n in range(6)], {"all": made_up()}
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits(fits[:2], data, store, workers=2)
        with pytest.raises(
            FitError, match=r"worker process was killed.*finished cells are kept.*fewer workers"
        ):
            run_fits(fits, data, store, workers=2)
        assert len(scores_in(store, fits[:2], data)) == 2
        run_fits([fits[4]], data, store, workers=2)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=TWO_CORES)])
def test_a_failing_training_is_named(workers: int, tmp_path: Path) -> None:
    ranker, data = Fatal("wrong"), {"all": made_up()}
    fits = [fit_of(ranker, parameters={"n": n}, fold="Fold7", inner_fold=1, name="mine") for n in range(4)]
    with JobStore(tmp_path / "jobs.sqlite") as store:
        problem = r"training of mine, n=3 \(Fold7, inner fold 2, seed 0\) failed: RuntimeError: no such luck"
        with pytest.raises(FitError, match=problem):
            run_fits(fits, data, store, workers=workers)
        if workers == 1:
            assert len(scores_in(store, fits[:3], data)) == 3


@TWO_CORES
@pytest.mark.parametrize("workers", [1, 2])
def test_workers_and_their_threads_fit_the_cores(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    get_reusable_executor().shutdown(wait=True)  # workers start in this folder
    before = threads_here()
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits([fit_of(Fatal("threads", n)) for n in range(6)], {"all": made_up()}, store, workers=workers)
    assert threads_here() == before
    told = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("threads-*.json"))]
    assert len(told) == 6
    assert len({one["pid"] for one in told}) == workers
    most = cores_given() // workers
    for one in told:
        assert max(one["torch"], one["numba"], one["pools"]) <= most
        if workers == 2:
            assert one["environment"] == [str(most)] * 2
    get_reusable_executor().shutdown(wait=True)


def test_threads_are_limited_by_what_the_user_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("directranker.model_selection.threads.cores_given", lambda: 8)
    assert [threads_each(workers) for workers in (1, 3, 8)] == [8, 2, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [threads_each(workers) for workers in (1, 3, 8)] == [3, 2, 1]
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert threads_each(1) == 1
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with limited_threads(2):
        assert torch.get_num_threads() == 1  # the user's own is not raised
    torch.set_num_threads(before)
    told = threads_here()
    with limited_threads(1):
        assert max(threads_here()[name] for name in ("torch", "numba", "pools")) == 1
    assert threads_here() == told


def test_estimators_are_told_their_threads() -> None:
    assert with_threads(LambdaMART(), 1).n_jobs == 1
    assert with_threads(LambdaMART(n_jobs=1), 4).n_jobs == 1
    inner = with_threads(Ensemble(LambdaMART(n_jobs=9), n_jobs=9), 2)
    assert (inner.n_jobs, inner.ranker.n_jobs) == (2, 2)
    assert with_threads(Ensemble(RankSVM()), 2).n_jobs is None


def test_wrong_numbers_of_workers(tmp_path: Path) -> None:
    with JobStore(tmp_path / "jobs.sqlite") as store, pytest.raises(ValueError, match="workers is 0"):
        run_fits([], {}, store, workers=0)


def test_compilation_is_not_in_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []

    class Seen(RankSVM):
        def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
            fitted.append(len(X))
            super().fit(X, y, **options)
            return self

    monkeypatch.setattr(fitting, "_warm", set())
    data = {"all": made_up()}
    fit = fit_of(Seen(), "map")
    run_fit(fit, {"map": "k"}, data, threads=1)
    run_fit(fit, {"map": "k"}, data, threads=1)
    run_fit(replace(fit, parameters={"cost": "hinge"}), {"map": "k"}, data, threads=1)
    n = fit.train.of(data).n_documents
    assert fitted == [6240, n, n, 6240, n]


COMPILED_LATE = """
import gc, sys
from directranker import example_dataset
from directranker.compilation import _Kernel
from directranker.rankers.registry import load_registry
from directranker.experiments.first_compilation import compiling_works
from directranker.model_selection.jobs import configured
from directranker.model_selection.fitting import (
    _warm_up, fit_by_query, predict_by_query, shortened, without_bar
)

def compiled():
    kernels = [kernel for kernel in gc.get_objects() if isinstance(kernel, _Kernel) and kernel._machine_code]
    return {(kernel.__name__, str(one)) for kernel in kernels for one in kernel._machine_code.signatures}

train, test = example_dataset().binarise(1).split(0.9, random_state=0)
ranker = without_bar(configured(load_registry()[sys.argv[1]].make(), {}, 1))
if sys.argv[2] == "warm-up":
    _warm_up(ranker, train.n_features, validated=True)
else:
    [work() for name, work in compiling_works() if name == sys.argv[1]]
before = compiled()
predict_by_query(fit_by_query(shortened(ranker), train, test), train)
print(sorted(name for name, _ in compiled() - before))
"""


@pytest.mark.parametrize(
    ("ranker", "way"), [("DirectRanker", "warm-up"), ("ESRank", "warm-up"), ("Ensemble", "compile")]
)
def test_no_kernel_is_left_to_compile_in_a_measured_fit(ranker: str, way: str) -> None:
    # In a process of its own: in this one, other tests have compiled them.
    command = [sys.executable, "-c", COMPILED_LATE, ranker, way]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_joblib_counts_the_cores_we_are_given() -> None:
    assert cores_given() <= len(os.sched_getaffinity(0))
    assert cores_given() == joblib.cpu_count()
