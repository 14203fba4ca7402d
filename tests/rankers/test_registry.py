"""Every ranker is registered, and no module outside `rankers` checks the class of a ranker."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import directranker
from directranker import rankers
from directranker.rankers import Ranker
from directranker.rankers.base import Ranker as Base
from directranker.rankers.linear.base import LinearRanker
from directranker.rankers.nets.net_ranker import NetRanker
from directranker.rankers.registry import find_ranker, find_ranker_class, find_registered_name, load_registry
from directranker.rankers.transforming import TransformingRanker

PACKAGE = Path(directranker.__file__).parent
CLASSES = {name for name in rankers.__all__ if name != "Ranker"}
BASES = {kind.__name__ for kind in (LinearRanker, NetRanker, TransformingRanker)}


def checked_classes(source: str) -> Iterator[str]:
    """Yield the class names in `isinstance`, `issubclass` and `type(…) is`."""
    for node in ast.walk(ast.parse(source)):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if is_call and node.func.id in ("isinstance", "issubclass"):  # type: ignore[attr-defined]
            kinds: ast.expr = node.args[1]  # type: ignore[attr-defined]
            yield from (part.id for part in ast.walk(kinds) if isinstance(part, ast.Name))
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq):
            yield from (part.id for part in node.comparators if isinstance(part, ast.Name))


def test_no_module_outside_rankers_checks_the_class_of_a_ranker() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] != "rankers":
            classes = set(checked_classes(path.read_text(encoding="utf-8")))
            assert not classes & (CLASSES | BASES), path


def test_class_checks_are_found() -> None:
    source = "a = isinstance(x, DirectRanker | str)\nb = type(x) is RankSVM"
    assert set(checked_classes(source)) >= {"DirectRanker", "RankSVM"}


def test_every_public_ranker_is_registered_by_its_name() -> None:
    for name in CLASSES:
        kind = getattr(rankers, name)
        assert find_registered_name(kind) == name
        assert find_ranker_class(name) is kind
    assert find_registered_name(Ranker) is None
    assert Base is Ranker


@pytest.mark.parametrize("name", load_registry())
def test_entries_make_their_class(name: str) -> None:
    entry = find_ranker(name)
    assert type(entry.make()) is entry.ranker_class
    assert entry.description
    assert set(entry.grids) <= {"quick", "paper"}
    assert entry.ranker_class._warm_up_parameters.keys() <= entry.make().get_params().keys()
