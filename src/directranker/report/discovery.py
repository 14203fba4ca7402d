"""Find the results in a folder: comparisons, studies, neighbours and saved rankers.

Both the folder and its direct subfolders are searched.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     one = {"query": "7", "documents": ["d"], "scores": [1.0], "classes": [0], "r": [], "thresholds": []}
...     content = {"format": 1, "ranker": "RankSVM on test.txt", "lists": [one]}
...     _ = Path(folder, NEIGHBOURS).write_text(json.dumps(content))
...     find_results(folder).neighbours[0][1]["ranker"]
'RankSVM on test.txt'
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from directranker.data.folder_swap import read_consistently
from directranker.errors import StorageError
from directranker.experiments.folder import EXAMPLES, HISTORIES, NEIGHBOURS, SENSITIVITY, TRAINING
from directranker.experiments.results import PER_QUERY, RESULTS, Comparison, read_json, read_results

__all__ = ["FoundComparison", "FoundResults", "find_results"]

MODEL = "header.json"
MODEL_FORMAT = "directranker model"
# The fields that the page and the figures need.
STUDY_FIELDS = {"points": ("study", "value", "ranker", "mean", "error")}
NEIGHBOUR_FIELDS = {"lists": ("query", "documents", "scores", "classes", "r", "thresholds")}


@dataclass(frozen=True)
class FoundComparison:
    """A comparison and the files beside it; an older comparison has no examples or histories."""

    folder: str
    comparison: Comparison
    examples: dict[str, Any] | None
    histories: dict[str, Any] | None


@dataclass
class FoundResults:
    """All results of a folder by kind; except for comparisons, pairs of folder name and file content."""

    comparisons: list[FoundComparison] = field(default_factory=list)
    studies: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    neighbours: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    models: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.comparisons or self.studies or self.neighbours or self.models)


def find_results(folder: str | Path) -> FoundResults:
    """Read all results of a folder and of the folders in it."""
    folder = Path(folder)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder; pass a folder of results")
    found = FoundResults()
    for inner in _list_folders(folder):
        name = str(inner.relative_to(folder)) if inner != folder else folder.resolve().name
        if (inner / RESULTS).is_file():
            found.comparisons.append(_read_comparison(inner, name))
        if (inner / SENSITIVITY).is_file():
            found.studies.append((name, _read_complete(inner / SENSITIVITY, STUDY_FIELDS, "claims")))
        if (inner / NEIGHBOURS).is_file():
            found.neighbours.append((name, _read_complete(inner / NEIGHBOURS, NEIGHBOUR_FIELDS, "ranker")))
        if (inner / MODEL).is_file() and (header := read_consistently(inner, _read_model)) is not None:
            found.models.append((name, header))
    if not found:
        raise StorageError(
            f"{folder} has no results; pass a folder that compare, sensitivity, neighbours --out or train "
            "wrote"
        )
    return found


def _list_folders(folder: Path) -> Iterator[Path]:
    yield folder
    yield from sorted(inner for inner in folder.iterdir() if inner.is_dir() and inner.name[0] != ".")


def _read_comparison(folder: Path, name: str) -> FoundComparison:
    comparison = read_results(folder, per_query=(folder / PER_QUERY).is_file())
    fingerprint = comparison.request.get("data_fingerprint")

    def read_matching(file: str) -> dict[str, object] | None:
        content = read_json(folder / file) if (folder / file).is_file() else None
        # Files of another comparison may be there while this one runs again.
        return content if content and content.get("data_fingerprint") == fingerprint else None

    return FoundComparison(name, comparison, read_matching(EXAMPLES), read_matching(HISTORIES))


def _read_complete(path: Path, needed: Mapping[str, Sequence[str]], *others: str) -> dict[str, object]:
    """Read the file of a command; raise if an entry is missing."""
    content = read_json(path)
    missing = [name for name in others if name not in content]
    for name, fields in needed.items():
        entries = content.get(name)
        if not isinstance(entries, list) or not entries:
            missing.append(name)
        else:
            missing += [
                f"{name}: {field}"
                for entry in entries
                for field in fields
                if not isinstance(entry, dict) or field not in entry
            ]
    if missing:
        raise StorageError(
            f"{path}: is incomplete, {missing[0]!r} is missing; run the command that wrote it again"
        )
    return content


def _read_model(folder: Path) -> dict[str, object] | None:
    """Read the header of a saved ranker; None if it is another header, such as a data set's."""
    path = folder / MODEL
    try:
        header = json.loads(path.read_bytes())
    except ValueError as error:
        raise StorageError(f"{path}: is not JSON ({error}); save the ranker or data set again") from None
    if not isinstance(header, dict) or header.get("format") != MODEL_FORMAT:
        return None
    if not isinstance(header.get("ranker"), dict):
        raise StorageError(f"{path}: is incomplete, 'ranker' is missing; save the ranker again")
    training = path.with_name(TRAINING)  # written by the command; a ranker saved from Python has none
    return {**header, "origin": read_json(training) if training.is_file() else {}}
