"""How far a comparison is, from its folder alone: to be asked often, it must not load the rankers."""

from __future__ import annotations

import json
from pathlib import Path

from directranker.errors import StorageError
from directranker.experiments.files import CELLS, PLANNED
from directranker.model_selection.counting import CellCount, count_cells
from directranker.model_selection.store import CellStore

__all__ = ["status_of"]


def status_of(folder: str | Path) -> dict[str, CellCount]:
    """How many cells of each ranker are finished, of the comparison last started with this folder."""
    path = Path(folder) / PLANNED
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; no comparison was started with this folder")
    try:
        planned = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise StorageError(f"{path} is no JSON ({error}); start the comparison again") from None
    if not (Path(folder) / CELLS).is_file():
        return {ranker: CellCount(0, len(cells)) for ranker, cells in planned.items()}
    with CellStore(Path(folder) / CELLS) as store:
        return count_cells(planned, store)
