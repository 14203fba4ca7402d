"""What a folder of results holds, whatever made it: comparisons, studies, neighbours, trained rankers.

A folder is looked at itself, and so are the folders in it, so that `results` shows all that lies there.

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

from directranker.data.folder_swap import read_unchanged
from directranker.errors import StorageError
from directranker.experiments.folder import EXAMPLES, HISTORIES, NEIGHBOURS, SENSITIVITY, TRAINING
from directranker.experiments.results import PER_QUERY, RESULTS, Comparison, read_json, read_results

__all__ = ["FoundResults", "FoundComparison", "find_results"]

MODEL = "header.json"
MODEL_FORMAT = "directranker model"
# What the page and the figures take of each entry.
STUDIED = {"points": ("study", "value", "ranker", "mean", "error")}
SORTED = {"lists": ("query", "documents", "scores", "classes", "r", "thresholds")}


@dataclass(frozen=True)
class FoundComparison:
    """A comparison with the files beside it; an older one has no examples or histories."""

    place: str
    comparison: Comparison
    examples: dict[str, Any] | None
    histories: dict[str, Any] | None


@dataclass
class FoundResults:
    """All results of a folder, by kind; of all but comparisons the content of the file and its place."""

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
        raise NotADirectoryError(f"{folder} is no folder; give the folder of some results")
    found = FoundResults()
    for place in _places(folder):
        name = str(place.relative_to(folder)) if place != folder else folder.resolve().name
        if (place / RESULTS).is_file():
            found.comparisons.append(_comparison(place, name))
        if (place / SENSITIVITY).is_file():
            found.studies.append((name, _whole(place / SENSITIVITY, STUDIED, "claims")))
        if (place / NEIGHBOURS).is_file():
            found.neighbours.append((name, _whole(place / NEIGHBOURS, SORTED, "ranker")))
        if (place / MODEL).is_file() and (header := read_unchanged(place, _model)) is not None:
            found.models.append((name, header))
    if not found:
        raise StorageError(
            f"{folder} holds no results; give a folder that compare, sensitivity, neighbours --out or train "
            "wrote"
        )
    return found


def _places(folder: Path) -> Iterator[Path]:
    yield folder
    yield from sorted(inner for inner in folder.iterdir() if inner.is_dir() and inner.name[0] != ".")


def _comparison(place: Path, name: str) -> FoundComparison:
    comparison = read_results(place, per_query=(place / PER_QUERY).is_file())
    fingerprint = comparison.request.get("data_fingerprint")

    def beside(file: str) -> dict[str, Any] | None:
        content = read_json(place / file) if (place / file).is_file() else None
        # Files of another comparison may lie there while this one is run anew.
        return content if content and content.get("data_fingerprint") == fingerprint else None

    return FoundComparison(name, comparison, beside(EXAMPLES), beside(HISTORIES))


def _whole(path: Path, needed: Mapping[str, Sequence[str]], *others: str) -> dict[str, Any]:
    """What a command wrote, where nothing of it is missing."""
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
        raise StorageError(f"{path}: is no whole result, {missing[0]!r} is missing; run again what made it")
    return content


def _model(folder: Path) -> dict[str, Any] | None:
    """The header of a saved ranker; None where it is the header of something else, such as a data set."""
    path = folder / MODEL
    try:
        header = json.loads(path.read_bytes())
    except ValueError as error:
        raise StorageError(f"{path}: is no JSON ({error}); save again what it belongs to") from None
    if not isinstance(header, dict) or header.get("format") != MODEL_FORMAT:
        return None
    if not isinstance(header.get("ranker"), dict):
        raise StorageError(f"{path}: is no whole header, 'ranker' is missing; save the ranker again")
    beside = path.with_name(TRAINING)  # that a command trained it; a ranker saved from Python has none
    return {**header, "origin": read_json(beside) if beside.is_file() else {}}
