"""The ranker of docs/extending.md, registered by an entry point as an installed package would be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from directranker import example_dataset, write_letor

ROOT = Path(__file__).resolve().parents[1]
NAME = "NearestCentroid"
MAX_LINES = 80


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH: the module of the page, and the metadata that pip would write."""
    folder = tmp_path_factory.mktemp("site-packages")
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    assert len(code.splitlines()) < MAX_LINES
    (folder / "my_package").mkdir()
    (folder / "my_package" / "__init__.py").write_text("")
    (folder / "my_package" / "centroids.py").write_text(code)
    metadata = folder / "my_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    points = re.findall(r"```toml\n\[project\.entry-points\.\"(.*?)\"\]\n(.*?)```", page, re.DOTALL)
    group, lines = points[0]
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{lines.replace(chr(34), '')}")
    return folder


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, in which commands run."""
    folder = tmp_path_factory.mktemp("work")
    write_letor(example_dataset().select(range(30)), folder / "train.txt")
    return folder


def run(installed: Path, work: Path, *arguments: str) -> str:
    """Run Python with these arguments where the package is installed."""
    paths = [str(installed), str(ROOT / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "100"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def model(installed: Path, work: Path) -> str:
    """The folder of a trained ranker."""
    command = ["train", "train.txt", "--ranker", NAME, "--set", "shrinkage=0.1", "--out", "model"]
    assert NAME in run(installed, work, "-m", "directranker", *command)
    return "model"


COMMANDS = """
import json, sys
from directranker.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["directranker", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments
    print("====")
"""


@pytest.mark.usefixtures("model")
def test_every_command_works(installed: Path, work: Path) -> None:
    together = ["--rankers", f"{NAME},RankSVM", "--seeds", "1", "--folds", "3", "--inner-folds", "validation"]
    commands = [
        ["train", "--help"],
        ["info", "model", "--json"],
        ["rank", "model", "train.txt", "--out", "scores.txt"],
        ["explain", "model", "train.txt", "--query", "1", "--better", "1", "--worse", "2"],
        [
            "tune",
            "train.txt",
            "--ranker",
            NAME,
            "--grid",
            "shrinkage=0.01/1",
            "--out",
            "tuned",
            "--folds",
            "2",
        ],
        ["compare", "train.txt", *together, "--out", "results"],
    ]
    # In one process, since each takes seconds to start.
    output = run(installed, work, "-c", COMMANDS, json.dumps(commands)).split("====\n")
    overview, model, _, explained, tuned, compared, _ = output
    assert NAME in overview
    assert json.loads(model)["parameters"] == {"shrinkage": 0.1}
    assert np.unique(np.loadtxt(work / "scores.txt")).size > 1
    assert "differences of squared distances" in explained
    assert "shrinkage" in tuned
    assert NAME in compared
    assert NAME in (work / "results" / "report.html").read_text(encoding="utf-8")


def test_export_raises_its_own_reason(installed: Path, work: Path) -> None:
    script = f"""
import pytest
from directranker import ExportError, example_dataset, export_ranker, load_ranker
from my_package.centroids import {NAME}
data = example_dataset().select(range(30))
ranker = {NAME}().fit(data)
ranker.save("saved")
assert (load_ranker("saved").predict(data) == ranker.predict(data)).all()
for target in ("onnx", "c", "solr", "elasticsearch"):
    with pytest.raises(ExportError, match="a sum of squares, which no export can hold"):
        export_ranker(ranker, "exported", to=target, rows=data)
"""
    run(installed, work, "-c", script)


def test_contract_suite_passes(installed: Path, work: Path) -> None:
    suites = [str(path) for path in sorted((ROOT / "tests" / "rankers").glob("test_ranker_*.py"))]
    options = [
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "--rootdir",
        str(ROOT),
        "-c",
        str(ROOT / "pyproject.toml"),
    ]
    output = run(installed, work, "-m", "pytest", *suites, "-k", NAME, *options)
    assert int(re.findall(r"(\d+) passed", output)[0]) >= 10


def test_without_the_entry_point_the_model_cannot_be_loaded(model: str, work: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "directranker", "info", model]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"no ranker '{NAME}' is registered; install the package that provides it" in done.stderr
