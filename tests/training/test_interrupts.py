"""Ctrl-C ends every fit soon, even inside native code; these tests send real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lightgbm
import numpy as np
import pytest
import torch

from directranker import RankingDataset, TrainingWarning, example_dataset
from directranker.rankers import (
    CoordinateAscent,
    DirectRanker,
    Ensemble,
    IESVMRank,
    LambdaMART,
)
from directranker.rankers.linear.scored_split import ScoredSplit
from directranker.rankers.nets.objective_cost import ObjectiveCost
from directranker.rankers.trees import boosting
from directranker.training import loop
from directranker.training.data import TrainingData
from directranker.training.encoded_features import EncodedFeatures
from directranker.training.interrupts import run_interruptibly

SOON = 5.0  # seconds on a busy machine; the interrupted work would take longer


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(40))


@contextmanager
def ctrl_c_after(seconds: float) -> Iterator[None]:
    """Press Ctrl-C after a delay, and check that the body ends soon."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    start = time.perf_counter()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        assert time.perf_counter() - start < seconds + SOON


def press_ctrl_c_in(function: Callable[..., Any], at_call: int, n_calls: list[int]) -> Callable[..., Any]:
    """Return the function with Ctrl-C pressed in its call of this number."""

    def wrapper(*arguments: Any, **options: Any) -> Any:
        n_calls[0] += 1
        if n_calls[0] == at_call:
            signal.raise_signal(signal.SIGINT)
        return function(*arguments, **options)

    return wrapper


def small(**parameters: Any) -> DirectRanker:
    quick: dict[str, Any] = {"hidden_layers": (8,), "teacher": None, "transform": "auto", "random_state": 0}
    return DirectRanker(**quick | {"early_stopping": False, "max_epochs": 2} | parameters)


def test_ctrl_c_does_not_wait_for_a_native_call() -> None:
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.1):
        run_interruptibly(lambda: time.sleep(60))


def test_result_and_error_of_a_call_are_returned() -> None:
    assert run_interruptibly(lambda: threading.current_thread().daemon)
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 // 0)
    in_same_thread: list[bool] = []
    thread = threading.Thread(
        target=lambda: in_same_thread.append(run_interruptibly(threading.get_ident) == thread.ident)
    )
    thread.start()
    thread.join()
    assert in_same_thread == [True]  # only the main thread receives signals


@pytest.mark.parametrize("slow", ["Dataset.construct", "Booster.__init__"])
@pytest.mark.parametrize("ranker", [LambdaMART(random_state=0), DirectRanker(random_state=0, progress=False)])
def test_ctrl_c_does_not_wait_for_lightgbm_s_bins(
    ranker: Any, slow: str, data: RankingDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = slow.split(".")
    monkeypatch.setattr(boosting, "MIN_INTERRUPTIBLE", 1)
    monkeypatch.setattr(getattr(lightgbm, owner), name, lambda *_, **__: time.sleep(60))
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(1.0):
        ranker.fit(data)


def test_small_data_is_binned_without_a_thread(data: RankingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosting, "run_interruptibly", None)
    LambdaMART(n_estimators=2, random_state=0).fit(data)


def test_the_current_step_is_discarded(data: RankingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = small(batch_queries=8, max_steps=2).fit(data).predict(data)
    n_calls = [0]
    monkeypatch.setattr(ObjectiveCost, "__call__", press_ctrl_c_in(ObjectiveCost.__call__, 3, n_calls))
    with pytest.warns(TrainingWarning, match="interrupted in epoch 1; the current weights were kept"):
        ranker = small(batch_queries=8).fit(data)
    assert n_calls == [3]
    np.testing.assert_array_equal(ranker.predict(data), expected)


def test_the_current_evaluation_is_discarded(data: RankingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SCORED_BYTES", 4 * data.n_features * 10)  # ten documents at a time
    train, held_out = data.split(0.5, random_state=0)
    n_calls = [0]
    score = loop.score_documents

    def score_and_interrupt(scorer: Any, *arguments: Any) -> Any:
        return score(press_ctrl_c_in(scorer, 2, n_calls), *arguments)

    monkeypatch.setattr(loop, "score_documents", score_and_interrupt)
    with pytest.warns(TrainingWarning, match="interrupted in epoch 1"):
        ranker = small(early_stopping=True).fit(train, eval_set=held_out)
    assert n_calls == [2]
    assert ranker.stopped_ == "interrupted"
    assert ranker.n_epochs_ == 0


def test_bins_are_scored_in_large_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = example_dataset()
    ranker = small(transform="piecewise-linear", max_epochs=1).fit(data)
    options: dict[str, Any] = {"cache": False, "as_bins": True}
    documents = TrainingData.from_dataset(data)
    features = EncodedFeatures(documents, ranker.transform_, torch.device("cpu"), **options)
    monkeypatch.setattr(loop, "SCORED_BYTES", 1)
    sizes: list[int] = []

    def scorer(bins: Any) -> torch.Tensor:
        sizes.append(len(bins))
        return torch.zeros(len(bins))

    loop.score_documents(scorer, features, 600)
    assert sizes == [512, 88]


def test_coordinate_ascent_ends_within_a_round(data: RankingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    n_calls = [0]
    wrapper = press_ctrl_c_in(ScoredSplit.compute_fitness_of_steps, 3, n_calls)
    monkeypatch.setattr(ScoredSplit, "compute_fitness_of_steps", wrapper)
    with pytest.warns(TrainingWarning, match="interrupted in round 1"):
        ranker = CoordinateAscent(random_state=0).fit(data)
    assert n_calls == [3] < [data.n_features]
    assert ranker.stopped_ == "interrupted"
    assert np.isfinite(ranker.predict(data)).all()


@pytest.mark.filterwarnings("ignore:training was interrupted")
def test_an_interrupt_in_an_inner_fit_ends_the_outer_fit(
    data: RankingDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_calls = [0]
    monkeypatch.setattr(
        "directranker.rankers.linear.rank_svm.compute_cost",
        press_ctrl_c_in(sys.modules["directranker.rankers.linear.rank_svm"].compute_cost, 4, n_calls),
    )
    with pytest.raises(KeyboardInterrupt):
        IESVMRank(random_state=0).fit(data)
    monkeypatch.setattr(ObjectiveCost, "__call__", press_ctrl_c_in(ObjectiveCost.__call__, 1, n_calls := [0]))
    with pytest.raises(KeyboardInterrupt):
        Ensemble(small(), n_estimators=3, random_state=0).fit(data)
    assert n_calls == [1]


WORST_CASES = """
import os, signal, sys, threading, time, warnings
import numpy as np
from directranker import LambdaMART, RankSVM

def seconds_to_end(ranker, X, y, qid=None):
    pressed = []
    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer(0.5, press).start()
    try:
        ranker.fit(X, y, qid=qid)
    except KeyboardInterrupt:
        pass
    return time.perf_counter() - pressed[0]

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
RankSVM().fit(rng.normal(size=(300, 4)), rng.normal(size=300))  # kernels
X = rng.normal(size=(150_000, 4)).astype(np.float32)
exact = RankSVM(cost="hinge", tol=1e-12, transform="none", progress=False)
print(seconds_to_end(exact, X, X[:, 0] + rng.normal(size=len(X))))
X = rng.normal(size=(300, 20_000)).astype(np.float32)
print(seconds_to_end(LambdaMART(progress=False), X, np.arange(300) % 3, np.arange(300) // 10))
"""


def test_worst_cases_end_soon() -> None:
    run = subprocess.run([sys.executable, "-c", WORST_CASES], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr  # although LightGBM is still running
    assert max(map(float, run.stdout.split())) < SOON / 2, run.stdout
