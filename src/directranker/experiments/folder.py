"""The folder of a comparison: its request, its progress and its results.

| file | content |
|---|---|
| `request.json` | the request |
| `planned.json` | the keys of all jobs, from which other processes read the progress |
| `jobs.sqlite` | the results of all finished jobs |
| `results.json`, `per_query.json` | the comparison, once it is finished |
| `results.csv`, `results.md`, `results.tex` | its tables |
| `examples.json`, `histories.json` | some queries and all learning curves, for the report |

A request has a digest of everything that its results depend on: its parameters, the content of the data and
of a grid file, our code, and the package versions. The finished results of the same request are shown without
loading or computing anything. Another request with the same folder reuses the jobs that both need; the folder
holds the results of the last request. Nothing here loads a ranker, so that the status can be polled.

>>> request = Request("MQ2008", rankers="RankNet,LambdaMART")
>>> request.grid, request.inner_folds
('quick', '5')
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from directranker.data.files import write_atomically
from directranker.errors import StorageError
from directranker.experiments.results import RESULTS, Comparison, read_results
from directranker.model_selection.store import JobCount, JobStore, count_jobs

__all__ = [
    "EXAMPLES",
    "HISTORIES",
    "JOBS",
    "NEIGHBOURS",
    "SENSITIVITY",
    "TRAINING",
    "VERSIONED_PACKAGES",
    "Request",
    "load_finished_comparison",
    "read_status",
    "write_job_keys",
    "write_request",
]

JOBS = "jobs.sqlite"
EXAMPLES = "examples.json"
HISTORIES = "histories.json"
NEIGHBOURS = "neighbours.json"
PLANNED = "planned.json"
REQUEST = "request.json"
SENSITIVITY = "sensitivity.json"
TRAINING = "training.json"
# As in model_selection.fingerprints, which would import torch.
VERSIONED_PACKAGES = ("numpy", "torch", "lightgbm", "numba", "scikit-learn", "scipy")
BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Request:
    """The options of a comparison; see `directranker compare --help`."""

    data: str
    rankers: str = "all"
    metrics: tuple[str, ...] = ("ndcg@10", "map")
    grid: str = "quick"
    inner_folds: str = "5"
    seeds: int = 3
    threshold: str = "known"
    convention: str = "paper"
    folds: int = 5
    split_by: str | None = None

    def digest(self) -> str:
        """Compute the checksum of everything that the results depend on."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode())
        digest.update("\n".join(f"{name} {version(name)}" for name in VERSIONED_PACKAGES).encode())
        for path in (Path(self.data).resolve(), Path(self.grid), Path(__file__).parents[1]):
            for file in _list_files(path):
                digest.update(f"\n{file.relative_to(path)} {file.stat().st_size}\n".encode())
                _update_digest(digest, file)
        return digest.hexdigest()


def _list_files(path: Path) -> Iterator[Path]:
    """Yield the file itself, or the files of the folder that are part of the digest."""
    if path.is_file():
        yield path
    elif path.is_dir():
        # Results may be stored beside folds, and Python caches bytecode beside sources.
        inside = path.glob("Fold*/*") if any(path.glob("Fold*")) else path.rglob("*")
        yield from sorted(file for file in inside if file.is_file() and file.parent.name != "__pycache__")


def _update_digest(digest: hashlib._Hash, file: Path) -> None:
    with file.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)


def load_finished_comparison(folder: str | Path, digest: str) -> Comparison | None:
    """Load the comparison of the folder if it has this digest; else return None."""
    if not (Path(folder) / RESULTS).is_file():
        return None
    try:
        comparison = read_results(folder, per_query=False)
    except StorageError:  # damaged or of another version; it will be overwritten
        return None
    return comparison if comparison.digest == digest else None


def write_request(request: Request, folder: str | Path, *, command: str) -> None:
    """Write the last request of this folder, for display."""
    with write_atomically(Path(folder) / REQUEST) as temporary:
        temporary.write_text(json.dumps({"command": command, **asdict(request)}, indent=2) + "\n")


def write_job_keys(planned: Mapping[str, Sequence[Sequence[str]]], folder: str | Path) -> None:
    """Write the keys of all jobs as returned by `Plan.job_keys`."""
    with write_atomically(Path(folder) / PLANNED) as temporary:
        temporary.write_text(json.dumps(planned))


def read_status(folder: str | Path) -> dict[str, JobCount]:
    """Count the finished jobs of each ranker, for the comparison last started with this folder."""
    path = Path(folder) / PLANNED
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; no comparison was started with this folder")
    try:
        planned = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise StorageError(f"{path} is not JSON ({error}); run the comparison again") from None
    if not (Path(folder) / JOBS).is_file():
        return {ranker: JobCount(0, len(jobs)) for ranker, jobs in planned.items()}
    with JobStore(Path(folder) / JOBS) as store:
        return count_jobs(planned, store)
