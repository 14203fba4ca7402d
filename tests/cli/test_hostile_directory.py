"""Commands and worker processes run in a folder whose files are named like Python's modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from directranker import RankSVM, example_dataset, write_letor
from directranker.cli import app

PACKAGES = (
    "click", "dask", "distributed", "jinja2", "joblib", "lightgbm", "llvmlite", "loky", "matplotlib", "numba",
    "numpy", "onnx", "onnxruntime", "optuna", "pandas", "polars", "psutil", "pyarrow", "rich", "safetensors",
    "scipy", "sitecustomize", "sklearn", "threadpoolctl", "torch", "typer", "usercustomize", "yaml",
)  # fmt: skip
PLANTED = """
import os
os.close(os.open(__file__ + ".ran", os.O_CREAT | os.O_WRONLY))
raise ImportError("planted")
"""
# `python -m` imports these before our code can change the path.
BEFORE_US = (
    "importlib", "warnings", "contextlib", "collections", "keyword", "operator", "reprlib", "functools",
    "types",
)  # fmt: skip

# Run the commands in one process, so that it imports everything once.
DRIVER = """
import json, sys
import directranker.cli.demo
from directranker.cli import main

directranker.cli.demo.run_and_print = lambda *_, **__: None  # would run compare again, for a minute
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["directranker", *arguments]
    if arguments == ["compile"]:
        import directranker.experiments.first_compilation
        directranker.experiments.first_compilation.iter_compilation_tasks = lambda: []
    try:
        main()
    except SystemExit as end:
        assert not end.code, (arguments, end.code)
"""
SMALL = ("--rankers", "RankSVM", "--grid", "grid.toml", "--inner-folds", "2", "--folds", "3", "--seeds", "1")
COMMANDS = [
    ["demo", "--out", "demo"],
    ["inspect", "rows.txt"],
    ["convert", "rows.txt", "saved"],
    ["train", "rows.txt", "--ranker", "RankSVM", "--out", "trained"],
    ["tune", "rows.txt", "--ranker", "RankSVM", "--grid", "alpha=1/10", "--folds", "2", "--workers", "2",
     "--out", "best"],
    ["rank", "model", "rows.txt", "--out", "ranked.run"],
    ["evaluate", "ranked.run", "rows.txt"],
    ["compare", "rows.txt", *SMALL, "--workers", "2", "--out", "compared"],
    ["sensitivity", "--study", "classes", "--values", "2", "--sets", "2", "--train", "200",
     "--ranker", "RankSVM", "--workers", "2", "--out", "studied"],
    ["neighbours", "model", "rows.txt", "--figure", "list.svg"],
    ["report", "compared"],
    ["info", "model"],
    ["explain", "model", "rows.txt", "--query", "1", "--better", "1", "--worse", "2"],
    ["export", "model", "--to", "onnx", "--rows", "rows.txt", "--out", "served"],
    ["export", "model", "--to", "c", "--rows", "rows.txt", "--out", "in_c"],
    ["compile"],
]  # fmt: skip

# A user's script with a module beside it, run from another folder.
MODULE = """
import os, subprocess, sys
from directranker import RankSVM

class Own(RankSVM):
    def _fit(self, *arguments, **options):
        tool = os.path.join(os.path.dirname(__file__), "tool.py")
        subprocess.run([sys.executable, "-S", tool], check=True)  # which has a module beside it too
        super()._fit(*arguments, **options)
"""
SCRIPT = """
import os, sys
from directranker import Ensemble, example_dataset, grid_search
from own import Own

if __name__ == "__main__":
    data = example_dataset().select(range(20))
    Ensemble(Own(), n_estimators=2, n_jobs=2, vary=None).fit(data)
    grid_search(Own(), {"alpha": [1, 10]}, data, metrics="map", folds=2, workers=2)
    assert "PYTHONSAFEPATH" not in os.environ
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a model, and a file for each module that could be imported."""
    folder = tmp_path_factory.mktemp("hostile")
    data = example_dataset().select(range(20))
    write_letor(data, folder / "rows.txt")
    RankSVM().fit(data).save(folder / "model")
    (folder / "grid.toml").write_text("[RankSVM]\nalpha = [1, 10]\n")
    for name in {*sys.stdlib_module_names, *PACKAGES}:
        (folder / f"{name}.py").write_text(PLANTED)
    return folder


def run(folder: Path, *command: str | Path) -> None:
    source = str(Path(sys.modules["directranker"].__file__ or "").parents[1])
    environment = os.environ | {"PYTHONPATH": source}
    environment.pop("PYTHONSAFEPATH", None)
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert [path.name for path in folder.glob("*.ran")] == []
    assert done.returncode == 0, done.stderr


def test_commands_import_nothing_from_the_working_directory(hostile: Path, tmp_path: Path) -> None:
    names = {
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    }
    assert names == {arguments[0] for arguments in COMMANDS}
    (tmp_path / "driver.py").write_text(DRIVER)
    (hostile / ".numba_config.yaml").write_text("cache_dir: planted_cache\n")
    run(hostile, tmp_path / "driver.py", json.dumps(COMMANDS))
    assert not (hostile / "planted_cache").exists()
    (hostile / ".numba_config.yaml").unlink()


@pytest.mark.parametrize("start", [("-m", "directranker"), ("-Bmdirectranker",)], ids=["-m", "-Bm"])
def test_python_m_imports_nothing_from_the_working_directory(
    hostile: Path, tmp_path: Path, start: tuple[str, ...]
) -> None:
    for name in ("rows.txt", *(path.name for path in hostile.glob("*.py") if path.stem not in BEFORE_US)):
        (tmp_path / name).write_bytes((hostile / name).read_bytes())
    run(tmp_path, *start, "inspect", "rows.txt")


def test_workers_of_a_script_import_only_modules_beside_it(hostile: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(MODULE)
    (tmp_path / "tool.py").write_text("import beside")
    (tmp_path / "beside.py").touch()
    (tmp_path / "script.py").write_text(SCRIPT)
    run(hostile, tmp_path / "script.py")


def test_package_in_the_working_directory_runs(tmp_path: Path) -> None:
    """As in a checkout of the sources, where it is requested."""
    source = Path(sys.modules["directranker"].__file__ or "").parents[1]
    done = subprocess.run([sys.executable, "-m", "directranker", "--version"], cwd=source, check=False)
    assert done.returncode == 0
