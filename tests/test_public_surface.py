"""The public names exist and are documented, and importing the package is fast."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import directranker


def test_all_equals_the_stub() -> None:
    stub = Path(directranker.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert set(directranker.__all__) == set(re.findall(r"(\w+) as \1", stub))
    for name in directranker.__all__:
        assert getattr(directranker, name) is not None
    assert sorted(dir(directranker)) == sorted(directranker.__all__)
    with pytest.raises(AttributeError, match="attribute nothing"):
        directranker.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_every_name_in_all_exists() -> None:
    modules = [name for _, name, _ in pkgutil.walk_packages(directranker.__path__, "directranker.")]
    for name in modules:
        if name == "directranker.__main__":
            continue
        module = importlib.import_module(name)
        for exported in getattr(module, "__all__", ()):
            assert hasattr(module, exported), f"{name}.{exported}"
        assert module.__doc__, name


@pytest.mark.parametrize(
    "name", [name for name in directranker.__all__ if name not in ("__version__", "CONVENTIONS")]
)
def test_every_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(directranker, name))


def test_import_is_fast() -> None:
    without_rankers = "directranker.read_letor, directranker.evaluate, directranker.Standard"
    no_torch = "import sys; assert 'torch' not in sys.modules"
    assert measure_cpu_seconds("import directranker") < 0.5
    assert measure_cpu_seconds(f"import directranker; {without_rankers}; {no_torch}") < 4


def measure_cpu_seconds(script: str) -> float:
    """Return the minimum CPU time of three runs; wall time would include other processes."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", script], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)
