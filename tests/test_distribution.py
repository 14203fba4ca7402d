"""The distribution: the sdist builds the wheel, and the wheel works outside the checkout.

The wheel is installed without its dependencies, which come from the environment of the tests; that all of
them are declared is tested by the imports of the sources.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from directranker import __version__

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "directranker"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build", reason="python -m build is not installed; install the extra dev")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_the_sdist_and_the_wheel_are_built(dist: Path) -> None:
    names = [f"directranker-{__version__}-py3-none-any.whl", f"directranker-{__version__}.tar.gz"]
    assert sorted(path.name for path in dist.iterdir()) == names


def test_the_quick_start_runs_from_the_wheel(dist: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    (wheel,) = dist.glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "env")}))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    copy_compiled_kernels(packages / "directranker")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    quick_start = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[0]
    program = f"{quick_start}\nimport directranker\nprint(directranker.__file__)\n"
    done = subprocess.run(
        [python, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    score, file = done.stdout.split()
    assert 0.6 < float(score) < 1
    assert Path(file).is_relative_to(packages)
    command = [str(python), "-I", str(tmp_path / "env" / "bin" / "directranker"), "info", "model"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "DirectRanker" in told.stdout


def copy_compiled_kernels(package: Path) -> None:
    """Copy the compiled kernels of the checkout; a cache is valid for a source of the same time and size."""
    for cached in SOURCES.rglob("*.nb[ci]"):
        target = package / cached.relative_to(SOURCES)
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(cached, target)
    for source in SOURCES.rglob("*.py"):
        shutil.copystat(source, package / source.relative_to(SOURCES))


def test_all_imports_are_declared_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {_normalised(re.split(r"[\[<>=]", one)[0]) for group in groups for one in group}
    providers = packages_distributions()
    for path in SOURCES.rglob("*.py"):
        for name in _imported_packages(path):
            if name not in sys.stdlib_module_names and name != "directranker":
                found = {_normalised(one) for one in providers.get(name, [name])}
                assert found & declared, f"{path} imports {name}, which pyproject.toml does not declare"


def _imported_packages(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
