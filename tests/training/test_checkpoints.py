"""A killed training that resumes from its checkpoint ends with the same weights, bit for bit."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from directranker import StorageError, example_dataset
from directranker.rankers import DirectRanker, LambdaMART
from directranker.training.records import EpochRecord


def fit_and_report(checkpoint: str | None, target: Path, log: Path) -> None:
    """Write the number of each epoch to `log`, then the scores and the last epochs."""

    def wait(record: EpochRecord) -> None:
        write(str(record.epoch))
        time.sleep(0.05)

    def write(line: str) -> None:
        with log.open("a") as file:
            file.write(f"{line}\n")

    data = example_dataset().select(range(60))
    ranker = DirectRanker(
        hidden_layers=(8,),
        max_epochs=8,
        patience=100,
        random_state=3,
        checkpoint=checkpoint,
        callbacks=[wait],
    )
    ranker.fit(data)
    np.save(target, ranker.predict(data))
    write(f"epochs {ranker.n_epochs_} best {ranker.best_epoch_}")


def start(checkpoint: Path | None, target: Path, log: Path) -> Any:
    """Start a training in its own process, forked from one that has imported all it needs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    folder = None if checkpoint is None else str(checkpoint)
    process = context.Process(target=fit_and_report, args=(folder, target, log))
    with pytest.MonkeyPatch.context() as patch:  # the fork server imports from here only
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        process.start()
    return process


def train(checkpoint: Path | None, target: Path, log: Path) -> list[str]:
    process = start(checkpoint, target, log)
    process.join()
    assert process.exitcode == 0
    return log.read_text().splitlines()


def test_a_killed_fit_resumes_to_the_same_weights(tmp_path: Path) -> None:
    expected = train(None, tmp_path / "whole.npy", tmp_path / "whole")
    assert expected[:-1] == [str(epoch) for epoch in range(1, 9)]
    # Killed after the first reported epoch, at several points of the next one; each training twice.
    for number, delays in enumerate([(0.0, 0.03), (0.06, 0.01)]):
        folder = tmp_path / f"checkpoint{number}"
        for delay in delays:
            log = tmp_path / f"killed{number}{delay}"
            process = start(folder, tmp_path / "again.npy", log)
            while not log.exists():
                assert process.is_alive()
                time.sleep(0.002)
            time.sleep(delay)
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            assert process.exitcode == -signal.SIGKILL
        resumed = train(folder, tmp_path / "again.npy", tmp_path / f"resumed{number}")
        assert resumed[-1] == expected[-1]
        assert "1" not in resumed  # it did not start again
        np.testing.assert_array_equal(np.load(tmp_path / "again.npy"), np.load(tmp_path / "whole.npy"))
        assert [path.name for path in folder.iterdir() if path.suffix == ".safetensors"] == [
            "training.safetensors"
        ]


def small(**options: object) -> DirectRanker:
    return DirectRanker(**({"hidden_layers": (4,), "max_epochs": 2, "random_state": 0} | options))  # type: ignore[arg-type]


@pytest.mark.parametrize(("max_epochs", "stopped"), [(1, "max_epochs"), (99, "early_stopping")])
def test_a_finished_fit_is_not_repeated(tmp_path: Path, max_epochs: int, stopped: str) -> None:
    data = example_dataset().select(range(30))
    options = {"checkpoint": tmp_path, "max_epochs": max_epochs, "patience": 1, "learning_rate": 0.1}
    first = small(**options).fit(data)
    seen: list[object] = []
    again = small(**options, callbacks=[seen.append]).fit(data)
    assert seen == []
    assert again.stopped_ == first.stopped_ == stopped
    np.testing.assert_array_equal(again.predict(data), first.predict(data))


def test_without_a_seed_a_training_resumes_with_its_own(tmp_path: Path) -> None:
    data = example_dataset().select(range(40))  # enough for a teacher and a cross-validated encoding
    states: list[bytes] = []

    def stop(record: EpochRecord) -> None:
        states.append((tmp_path / "training.safetensors").read_bytes())
        if record.epoch == 2:
            raise RuntimeError("stopped")

    options = {"checkpoint": tmp_path, "random_state": None, "max_epochs": 4}
    with pytest.raises(RuntimeError, match="stopped"):
        small(**options, callbacks=[stop]).fit(data)
    resumed = small(**options).fit(data)
    assert resumed.n_epochs_ == 4
    (tmp_path / "training.safetensors").write_bytes(states[0])
    np.testing.assert_array_equal(small(**options).fit(data).predict(data), resumed.predict(data))


def test_the_checkpoint_of_another_training_raises(tmp_path: Path) -> None:
    data = example_dataset().select(range(30))
    small(checkpoint=tmp_path).fit(data)
    for ranker, other in [
        (small(checkpoint=tmp_path, dropout=0.1), data),
        (small(checkpoint=tmp_path), data.select(range(29))),
    ]:
        with pytest.raises(StorageError, match="other data or parameters"):
            ranker.fit(other)


def test_an_invalid_checkpoint_folder_raises_before_the_teacher_is_trained(tmp_path: Path) -> None:
    data = example_dataset().select(range(40))
    ranker = DirectRanker(teacher="trees", transform="standard", max_epochs=1, random_state=0)
    ranker.set_params(checkpoint=tmp_path / "used").fit(data)
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LambdaMART, "_fit", lambda *_: pytest.fail("the teacher was trained"))
        with pytest.raises(StorageError, match="other data or parameters"):
            ranker.set_params(random_state=1).fit(data)
        with pytest.raises(OSError, match="file"):
            ranker.set_params(checkpoint=tmp_path / "file").fit(data)
        with pytest.raises(pytest.fail.Exception, match="was trained"):
            ranker.set_params(checkpoint=tmp_path / "new").fit(data)


@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.99])
def test_a_truncated_checkpoint_raises(tmp_path: Path, fraction: float) -> None:
    data = example_dataset().select(range(30))
    small(checkpoint=tmp_path).fit(data)
    path = tmp_path / "training.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(fraction * len(content))])
    with pytest.raises(StorageError, match="damaged"):
        small(checkpoint=tmp_path).fit(data)


def test_a_checkpoint_that_cannot_be_written_raises(tmp_path: Path) -> None:
    """A file size limit of the process acts like a full disk."""
    script = f"""
import resource, signal
from directranker import StorageError, example_dataset
from directranker.rankers import DirectRanker, LambdaMART

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
ranker = DirectRanker(max_epochs=1, teacher=None, transform="standard", checkpoint={str(tmp_path)!r})
try:
    ranker.fit(example_dataset().select(range(40)))
except StorageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{tmp_path}/training.safetensors cannot be written: ")
    assert list(tmp_path.iterdir()) == []


def test_a_net_on_bins_resumes_as_if_uninterrupted(tmp_path: Path) -> None:
    """Its first weight is stored by column, and so must be the state of the optimiser from the file."""
    data = example_dataset().select(range(40))
    options: dict[str, Any] = {
        "transform": "piecewise-linear",
        "teacher": None,
        "early_stopping": False,
        "random_state": 0,
    }
    whole = DirectRanker(**options, max_epochs=6).fit(data)
    folder = tmp_path / "checkpoint"

    def interrupt(record: EpochRecord) -> None:
        if record.epoch == 3:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        DirectRanker(**options, max_epochs=6, checkpoint=folder, callbacks=[interrupt]).fit(data)
    resumed = DirectRanker(**options, max_epochs=6, checkpoint=folder).fit(data)
    assert resumed.n_epochs_ == 6
    np.testing.assert_array_equal(resumed.predict(data), whole.predict(data))
