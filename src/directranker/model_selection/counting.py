"""How far a search is, seen from its store alone: neither data nor rankers are loaded.

>>> import tempfile
>>> from pathlib import Path
>>> from directranker.model_selection.finished_cell import Cell
>>> cell = Cell("b", "all", "Fold1", "SVM", {}, None, "map", 0, 0.5, None, 1.5, 0.1, 90, 30, 1, "")
>>> with tempfile.TemporaryDirectory() as folder, CellStore(Path(folder) / "cells.sqlite") as store:
...     store.add([cell])
...     count_cells({"SVM": [["a", "b"], ["c"]]}, store)
{'SVM': CellCount(done=1, total=2)}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from directranker.model_selection.store import CellStore

__all__ = ["CellCount", "count_cells"]


class CellCount(NamedTuple):
    """How many of the planned cells are there."""

    done: int
    total: int


def count_cells(planned: Mapping[str, Sequence[Sequence[str]]], store: CellStore) -> dict[str, CellCount]:
    """How far a search is, per entry of `planned_cells`; another process may be running it."""
    known = store.known(key for cells in planned.values() for keys in cells for key in keys)
    return {
        name: CellCount(sum(not known.isdisjoint(keys) for keys in cells), len(cells))
        for name, cells in planned.items()
    }
