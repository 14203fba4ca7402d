"""Running many fits: each once, even after a kill, on no more threads than there are cores."""

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
from directranker.model_selection import Progress, QuerySubset, adapt_to_metric, fitting, run_fits
from directranker.model_selection.fitting import run_fit
from directranker.model_selection.threads import count_cores, limit_n_jobs, limit_threads, threads_per_worker
from directranker.rankers import DirectRanker, Ensemble, LambdaMART, RankSVM
from directranker.training.interrupts import DeferredInterrupt

from search_processes import make_counting_fits, make_fit, read_lines, read_scores
from watched_rankers import CountingRanker, Fatal, count_threads, make_data

TWO_CORES = pytest.mark.skipif(count_cores() < 2, reason="needs two cores")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=TWO_CORES)])
def test_each_fit_runs_once_and_its_scores_are_right(workers: int, tmp_path: Path) -> None:
    data, log = {"all": make_data()}, tmp_path / "log"
    fits = make_counting_fits(log, 4)
    seen: list[Progress] = []
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits(fits[:2], data, store, workers=workers)
        run_fits(fits, data, store, workers=workers, progress=seen.append)
        run_fits(fits, data, store, workers=workers)
        scores = read_scores(store, fits, data)
    assert len(read_lines(log)) == 4
    assert (os.getpid() in {int(line.split()[0]) for line in read_lines(log)}) == (workers == 1)
    train, test = fits[0].train.select(data), fits[0].test.select(data)
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


def test_results_have_counts_and_times(tmp_path: Path) -> None:
    data, log = {"all": make_data(), "vali": make_data(6, seed=1)}, tmp_path / "log"
    fit = make_fit(
        CountingRanker(str(log), seconds=0.2),
        "map",
        validation=QuerySubset("vali"),
        keep_per_query=True,
        seed=5,
    )
    (result,) = run_fit(fit, {"map": "key"}, data, threads=1)
    train, test = fit.train.select(data), fit.test.select(data)
    assert 0.2 <= result.fit_seconds < 1
    assert result.score_seconds < 0.1
    assert (result.n_train, result.n_test, result.threads) == (train.n_documents, test.n_documents, 1)
    assert result.per_query is not None
    assert result.score == np.nanmean(result.per_query)
    assert [line.split()[3:] for line in read_lines(log)] == [["5", "True"]]


def test_fits_with_identical_training_run_once(tmp_path: Path) -> None:
    data, log = {"all": make_data()}, tmp_path / "log"
    ranker = CountingRanker(str(log))
    fits = [make_fit(adapt_to_metric(ranker, metric), metric) for metric in ("map", "ndcg@10", "p@5")]
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits(fits, data, store, workers=1)
        assert len(read_scores(store, fits, data)) == 3
        assert len(read_lines(log)) == 1
        run_fits([replace(fits[0], metrics=("map", "mrr"))], data, store, workers=1)
        assert len(read_lines(log)) == 2


def test_an_interrupted_fit_is_not_a_result() -> None:
    def interrupt(record: Any) -> None:
        if record.epoch == 2:  # after the warm-up
            signal.raise_signal(signal.SIGINT)

    fit = make_fit(DirectRanker(max_epochs=50, callbacks=(interrupt,)))
    before = DeferredInterrupt.n_requested
    with pytest.raises(KeyboardInterrupt):
        run_fit(fit, {"map": "key"}, {"all": make_data()}, threads=1)
    assert DeferredInterrupt.n_requested > before


@TWO_CORES
def test_a_killed_worker_raises_and_finished_jobs_are_kept(tmp_path: Path) -> None:
    fits, data = [make_fit(Fatal("killed", n)) for n in range(6)], {"all": make_data()}
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits(fits[:2], data, store, workers=2)
        with pytest.raises(
            FitError, match=r"worker process was killed.*finished jobs are kept.*fewer workers"
        ):
            run_fits(fits, data, store, workers=2)
        assert len(read_scores(store, fits[:2], data)) == 2
        run_fits([fits[4]], data, store, workers=2)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=TWO_CORES)])
def test_the_error_names_a_failed_fit(workers: int, tmp_path: Path) -> None:
    ranker, data = Fatal("wrong"), {"all": make_data()}
    fits = [make_fit(ranker, parameters={"n": n}, fold="Fold7", inner_fold=1, name="mine") for n in range(4)]
    with JobStore(tmp_path / "jobs.sqlite") as store:
        problem = (
            r"training of mine, n=3 \(Fold7, inner fold 2, seed 0\) failed: RuntimeError: failed on purpose"
        )
        with pytest.raises(FitError, match=problem):
            run_fits(fits, data, store, workers=workers)
        if workers == 1:
            assert len(read_scores(store, fits[:3], data)) == 3


@TWO_CORES
@pytest.mark.parametrize("workers", [1, 2])
def test_workers_and_their_threads_fit_the_cores(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    get_reusable_executor().shutdown(wait=True)  # new workers start in this folder
    before = count_threads()
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits(
            [make_fit(Fatal("threads", n)) for n in range(6)], {"all": make_data()}, store, workers=workers
        )
    assert count_threads() == before
    reported = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("threads-*.json"))]
    assert len(reported) == 6
    assert len({one["pid"] for one in reported}) == workers
    max_threads = count_cores() // workers
    for one in reported:
        assert max(one["torch"], one["numba"], one["pools"]) <= max_threads
        if workers == 2:
            assert one["environment"] == [str(max_threads)] * 2
    get_reusable_executor().shutdown(wait=True)


def test_threads_are_limited_by_the_users_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("directranker.model_selection.threads.count_cores", lambda: 8)
    assert [threads_per_worker(workers) for workers in (1, 3, 8)] == [8, 2, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [threads_per_worker(workers) for workers in (1, 3, 8)] == [3, 2, 1]
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert threads_per_worker(1) == 1
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with limit_threads(2):
        assert torch.get_num_threads() == 1  # a lower limit of the user is kept
    torch.set_num_threads(before)
    reported = count_threads()
    with limit_threads(1):
        assert max(count_threads()[name] for name in ("torch", "numba", "pools")) == 1
    assert count_threads() == reported


def test_n_jobs_of_estimators_is_limited() -> None:
    assert limit_n_jobs(LambdaMART(), 1).n_jobs == 1
    assert limit_n_jobs(LambdaMART(n_jobs=1), 4).n_jobs == 1
    inner = limit_n_jobs(Ensemble(LambdaMART(n_jobs=9), n_jobs=9), 2)
    assert (inner.n_jobs, inner.ranker.n_jobs) == (2, 2)
    assert limit_n_jobs(Ensemble(RankSVM()), 2).n_jobs is None


def test_zero_workers_raise(tmp_path: Path) -> None:
    with JobStore(tmp_path / "jobs.sqlite") as store, pytest.raises(ValueError, match="workers is 0"):
        run_fits([], {}, store, workers=0)


def test_compilation_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []

    class LoggingRanker(RankSVM):
        def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
            fitted.append(len(X))
            super().fit(X, y, **options)
            return self

    monkeypatch.setattr(fitting, "_warmed_up", set())
    data = {"all": make_data()}
    fit = make_fit(LoggingRanker(), "map")
    run_fit(fit, {"map": "k"}, data, threads=1)
    run_fit(fit, {"map": "k"}, data, threads=1)
    run_fit(replace(fit, parameters={"cost": "hinge"}), {"map": "k"}, data, threads=1)
    n = fit.train.select(data).n_documents
    assert fitted == [6240, n, n, 6240, n]


LATE_COMPILATION = """
import gc, sys
from directranker import example_dataset
from directranker.compilation import _Kernel
from directranker.rankers.registry import load_registry
from directranker.experiments.first_compilation import iter_compilation_tasks
from directranker.model_selection.jobs import configure_ranker
from directranker.model_selection.fitting import _warm_up, shorten_training, disable_progress_bars
from directranker.rankers.pipelines import fit_by_query, predict_by_query

def compiled():
    kernels = [kernel for kernel in gc.get_objects() if isinstance(kernel, _Kernel) and kernel._machine_code]
    return {(kernel.__name__, str(one)) for kernel in kernels for one in kernel._machine_code.signatures}

train, test = example_dataset().binarise(1).split(0.9, random_state=0)
ranker = disable_progress_bars(configure_ranker(load_registry()[sys.argv[1]].make(), {}, 1))
if sys.argv[2] == "warm-up":
    _warm_up(ranker, train, with_validation=True)
else:
    [compile_kernels() for name, compile_kernels in iter_compilation_tasks() if name == sys.argv[1]]
before = compiled()
predict_by_query(fit_by_query(shorten_training(ranker), train, test), train)
print(sorted(name for name, _ in compiled() - before))
"""


@pytest.mark.parametrize(
    ("ranker", "way"), [("DirectRanker", "warm-up"), ("ESRank", "warm-up"), ("Ensemble", "compile")]
)
def test_no_kernel_is_left_to_compile_in_a_measured_fit(ranker: str, way: str) -> None:
    # In a new process: other tests have compiled kernels in this one.
    command = [sys.executable, "-c", LATE_COMPILATION, ranker, way]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_joblib_counts_the_available_cores() -> None:
    assert count_cores() <= len(os.sched_getaffinity(0))
    assert count_cores() == joblib.cpu_count()
