"""What a comparison was asked for, kept beside its results, and whether they are there already.

A request has a digest of all that its answer depends on: its words, the content of the data and of a grid's
file, our code, and the packages below. The finished answer to the same request is shown without anything
being loaded or computed anew; see `finished_comparison`.

>>> request = Request("MQ2008", rankers="RankNet,LambdaMART")
>>> request.grid, request.inner_folds
('quick', '5')
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from directranker.data.files import write_atomically
from directranker.errors import StorageError
from directranker.experiments.results import RESULTS, Comparison, read_results

__all__ = ["Request", "finished_comparison", "write_request"]

REQUEST = "request.json"
# The packages that model_selection.fingerprints names too; loading that loads torch, seconds of it.
VERSIONS_OF = ("numpy", "torch", "lightgbm", "numba", "scikit-learn", "scipy")
BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Request:
    """The words of a command: see `directranker compare --help`."""

    data: str
    rankers: str = "all"
    metrics: tuple[str, ...] = ("ndcg@10", "map")
    grid: str = "quick"
    inner_folds: str = "5"
    seeds: int = 3
    threshold: str = "known"
    convention: str = "paper"
    folds: int = 5

    def digest(self) -> str:
        """A checksum of all that the answer depends on."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode())
        digest.update("\n".join(f"{name} {version(name)}" for name in VERSIONS_OF).encode())
        for path in (Path(self.data).resolve(), Path(self.grid), Path(__file__).parents[1]):
            for file in _files(path):
                digest.update(f"\n{file.relative_to(path)} {file.stat().st_size}\n".encode())
                _add_content(digest, file)
        return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    """The file itself, or those in the folder that count."""
    if path.is_file():
        yield path
    elif path.is_dir():
        # Beside folds there may be anything, even the results; of our own sources Python keeps caches.
        inside = path.glob("Fold*/*") if any(path.glob("Fold*")) else path.rglob("*")
        yield from sorted(file for file in inside if file.is_file() and file.parent.name != "__pycache__")


def _add_content(digest: Any, file: Path) -> None:
    with file.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)


def finished_comparison(folder: str | Path, digest: str) -> Comparison | None:
    """The comparison in the folder if it answers the request of this digest."""
    if not (Path(folder) / RESULTS).is_file():
        return None
    try:
        found = read_results(folder, per_query=False)
    except StorageError:  # damaged or of another version; it will be written anew
        return None
    return found if found.digest == digest else None


def write_request(request: Request, folder: str | Path, *, command: str) -> None:
    """Keep the request beside its results, for people: what was asked for in this folder last."""
    with write_atomically(Path(folder) / REQUEST) as temporary:
        temporary.write_text(json.dumps({"command": command, **asdict(request)}, indent=2) + "\n")
