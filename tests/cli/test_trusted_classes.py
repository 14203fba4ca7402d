"""Models that need --trust: those with a custom feature net, and those with large files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from directranker import example_dataset, write_letor
from directranker.persistence import MAX_BYTES

from commands_here import run_here as run

SCRIPT = """
from torch import nn
from directranker import DirectRanker, read_letor

class Wide(nn.Sequential):
    def __init__(self, n_features, width=5):
        super().__init__(nn.Linear(n_features, width), nn.GELU())

NOT_A_CLASS = 3

if __name__ == "__main__":
    data = read_letor("rows.txt")
    DirectRanker(feature_net=Wide, max_epochs=1, random_state=0).fit(data).save("custom")
    DirectRanker(hidden_layers=(4,), max_epochs=1, random_state=0).fit(data).save("plain")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models saved by a script, in which the custom class belongs to __main__."""
    folder = tmp_path_factory.mktemp("trust")
    write_letor(example_dataset().select(range(20)), folder / "rows.txt")
    (folder / "trusted_script.py").write_text(SCRIPT, encoding="utf-8")
    subprocess.run([sys.executable, "trusted_script.py"], check=True, cwd=folder)
    return folder


def test_net_of_a_script_needs_its_name(folder: Path) -> None:
    rejected = run("rank", "custom", "rows.txt", cwd=folder)
    assert rejected.returncode == 1
    assert b"the feature net is __main__:Wide" in rejected.stderr
    assert b"--trust YOUR_SCRIPT:Wide" in rejected.stderr
    done = run("rank", "custom", "rows.txt", "--trust", "trusted_script:Wide", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len((folder / "rows.txt").read_text().splitlines())


@pytest.mark.parametrize(
    "command",
    [
        ("info", "custom"),
        ("neighbours", "custom", "rows.txt"),
        ("explain", "custom", "rows.txt", "--query", "1", "--better", "1", "--worse", "2"),
        ("export", "custom", "--to", "c", "--rows", "rows.txt", "--out", "in_c"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_loads_a_model_has_trust(folder: Path, command: tuple[str, ...]) -> None:
    assert b"--trust" in run(*command, cwd=folder).stderr
    done = run(*command, "--trust", "trusted_script:Wide", cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Wide", "give MODULE:CLASS, or a ranker: "),
        ("no_such_module:Wide", "No module named 'no_such_module'"),
        ("trusted_script:Wider", "has no attribute 'Wider'"),
        ("trusted_script:NOT_A_CLASS", "not a class but 3"),
        ("torch.nn:Linear", "the feature net is __main__:Wide"),
    ],
)
def test_wrong_names(folder: Path, name: str, message: str) -> None:
    rejected = run("info", "custom", "--trust", name, cwd=folder)
    assert rejected.returncode == 1
    assert message in " ".join(rejected.stderr.decode().split())


def test_large_model_needs_the_name_of_its_ranker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAX_BYTES, "weights.safetensors", 100)
    assert b"--trust DirectRanker" in run("info", "plain", cwd=folder).stderr
    assert run("info", "plain", "--trust", "DirectRanker", cwd=folder).returncode == 0
