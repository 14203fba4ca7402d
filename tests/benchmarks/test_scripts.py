"""Scripts that benchmarks and tests run in other processes are strings, which no type checker reads."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests").rglob("*.py")])


def find_imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of every `from directranker… import …` in the scripts of a module."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        try:
            script = ast.parse(node.value)
        except (SyntaxError, ValueError):  # text that is not a script
            continue
        for statement in ast.walk(script):
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("directranker"):
                yield from ((str(statement.module), alias.name) for alias in statement.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_names_that_scripts_import_exist(path: Path) -> None:
    for module, name in find_imports(path.read_text(encoding="utf-8")):
        found = importlib.import_module(module)
        if name != "*" and not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")
