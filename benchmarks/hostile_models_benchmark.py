"""Hostile model folders: damaged, swapped, lying and huge ones, each of which must be refused or do no harm.

A folder is copied, changed in one of many ways (bytes, files, headers, shapes, depth, paths), and loaded in
this process, whose memory may grow by one gigabyte. Half of the changes are damage: each folder differs in
some byte, and loading it must end in a `StorageError`. The other half are made by an attacker, who then makes
all checksums right: loading must end in a `StorageError` or in a ranker that scores or refuses to. Nothing
may be written beside the folder, and an audit hook sees that nothing is run or opened for writing.

    python benchmarks/hostile_models_benchmark.py --folders 10000
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker import (
    DirectRanker,
    Ensemble,
    LambdaMART,
    RankSVM,
    StorageError,
    example_dataset,
    load_ranker,
)
from directranker.persistence import seal_header
from directranker.rankers import Ranker

Change = Callable[[Path, np.random.Generator], None]
HARMFUL_EVENTS = (
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "socket.connect",
    "pickle.find_class",
)
SAFE = ("refused", "refused by predict", "scores")
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def make_models(folder: Path) -> list[Path]:
    """A saved ranker of each kind."""
    data = example_dataset().select(range(30))
    quick: dict[str, Any] = {"max_epochs": 1, "random_state": 0, "hidden_layers": (6, 4)}
    rankers = {
        "net": DirectRanker(**quick, normalisation="batch"),
        "quantiles": DirectRanker(**quick, transform="quantile-normal"),
        "linear": RankSVM(),
        "trees": LambdaMART(n_estimators=3, random_state=0),
        "ensemble": Ensemble(
            DirectRanker(**quick), 2, vary={"transform": ["in-context", "piecewise-linear"]}, random_state=0
        ),
    }
    for name, ranker in rankers.items():
        ranker.fit(data).save(folder / name)
    return [folder / name for name in rankers]


def _any_file(folder: Path, rng: np.random.Generator) -> Path:
    files = sorted(folder.iterdir())
    return files[rng.integers(len(files))]


def flip_bytes(folder: Path, rng: np.random.Generator) -> None:
    """Change some bytes of a file."""
    path = _any_file(folder, rng)
    content = bytearray(path.read_bytes())
    for place in rng.integers(len(content), size=rng.integers(1, 9)):
        content[place] = rng.integers(256)
    path.write_bytes(content)


def cut(folder: Path, rng: np.random.Generator) -> None:
    """Cut a file off."""
    path = _any_file(folder, rng)
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(len(content))])


def swap(folder: Path, rng: np.random.Generator) -> None:
    """Put one file's content into another, or remove it, or make it a folder."""
    first, second = _any_file(folder, rng), _any_file(folder, rng)
    how = rng.integers(3)
    content = second.read_bytes()
    first.unlink()
    if how == 0:
        first.write_bytes(content)
    elif how == 1:
        first.mkdir()


def sealed(folder: Path) -> None:
    """Make the checksums right, as an attacker would."""
    path = folder / "header.json"
    try:
        header = json.loads(_content(path))
        header["weights_sha256"] = hashlib.sha256(_content(folder / "weights.safetensors")).hexdigest()
        for name in header["trees_sha256"]:
            header["trees_sha256"][name] = hashlib.sha256(_content(folder / name)).hexdigest()
        header.pop("header_sha256", None)
        path.write_bytes(seal_header(header))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError):
        return


def _content(path: Path) -> bytes:
    """What is in a file, but for one that has no end."""
    is_whole = path.is_file() and path.stat().st_size < 1 << 30
    return path.read_bytes() if is_whole else b""


def flip_content(folder: Path, rng: np.random.Generator) -> None:
    """Change bytes of the weights or trees."""
    names = [path for path in sorted(folder.iterdir()) if path.name != "header.json"]
    path = names[rng.integers(len(names))]
    content = bytearray(path.read_bytes())
    # The first bytes of safetensors tell shapes and places, which is where lies do harm.
    reach = len(content) if rng.integers(2) else min(len(content), 400)
    for place in rng.integers(reach, size=rng.integers(1, 5)):
        content[place] = rng.integers(256)
    path.write_bytes(content)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        found += _places(inner, (*path, key))
    return found


def change_header(folder: Path, rng: np.random.Generator) -> None:
    """Put something else into one place of the header."""
    path = folder / "header.json"
    header = json.loads(path.read_bytes())
    places = [place for place in _places(header) if "sha256" not in str(place[0])]
    place = places[rng.integers(len(places))]
    holder: Any = header
    for key in place[:-1]:
        holder = holder[key]
    wild: list[Any] = [
        None, -1, 10**9, 10**30, 1e308, "", "../../../etc/passwd", "os.system", [], {}, [[]], True,
        [10**9, 10**9], {"array": "net_/head.weight"}, {"trees": "/etc/passwd"}, {"net": "x"}, "\x00",
        "LambdaMART",
        {"class": "os:system", "options": {}}, {"class": "Ensemble", "parameters": {}, "fitted": {}},
    ]  # fmt: skip
    if rng.integers(4) == 0:
        del holder[place[-1]]
    else:
        holder[place[-1]] = wild[rng.integers(len(wild))]
    path.write_text(json.dumps(header))


def deep_header(folder: Path, rng: np.random.Generator) -> None:
    """Nest the header deeply, or make it very long."""
    depth = int(rng.integers(10, 200_000))
    kinds = ["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "9" * depth]
    inner = kinds[rng.integers(len(kinds))]
    (folder / "header.json").write_text(
        f'{{"format": "directranker model", "version": 2, "ranker": {inner}, "trees_sha256": {{}}}}'
    )


def huge_shapes(folder: Path, rng: np.random.Generator) -> None:
    """Claim tensors of enormous shapes."""
    path = folder / "weights.safetensors"
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    names = [name for name in header if name != "__metadata__"]
    if not names:  # a ranker of trees alone
        header["made up"] = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
        names = ["made up"]
    chosen = header[names[rng.integers(len(names))]]
    lies: list[Any] = [[2**40], [2**62, 2], [0, 2**63], [-1], [1] * 1000, chosen["shape"] * 2]
    if rng.integers(2):
        chosen["shape"] = lies[rng.integers(len(lies))]
    else:
        chosen["data_offsets"] = [[0, 2**50], [2**50, 0], [-8, 8], [0, 0]][rng.integers(4)]
    text = json.dumps(header).encode()
    claimed = len(text) if rng.integers(3) else 2**60
    path.write_bytes(claimed.to_bytes(8, "little") + text + content[8 + length :])


def trick_paths(folder: Path, rng: np.random.Generator) -> None:
    """Names of files that lead elsewhere, and links."""
    path = folder / "header.json"
    header = json.loads(path.read_bytes())
    names = ["../outside.txt", "/etc/passwd", "trees-1.txt/../../x", "trees.txt\x00", "C:\\x", "trees--1.txt"]
    header["trees_sha256"] = {names[rng.integers(len(names))]: ""}
    path.write_text(json.dumps(header))
    if rng.integers(2):
        weights = folder / "weights.safetensors"
        weights.unlink()
        targets = ["/dev/zero", "/etc/passwd", str(folder), "/nowhere", weights.name]
        weights.symlink_to(targets[rng.integers(len(targets))])


def endless_files(folder: Path, rng: np.random.Generator) -> None:
    """A device without an end, a pipe that nobody writes to, or gigabytes of nothing in place of a file."""
    path = _any_file(folder, rng)
    how = rng.integers(3)
    if how == 0:
        os.truncate(path, 20 << 30)
        return
    path.unlink()
    if how == 1:
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)


CHANGES: tuple[Change, ...] = (
    flip_bytes, cut, swap, flip_content, change_header, deep_header, huge_shapes, trick_paths,
    endless_files,
)  # fmt: skip


class Watch:
    """Notes when something is run, or opened for writing, while a folder is loaded."""

    def __init__(self) -> None:
        self.active = False
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event in HARMFUL_EVENTS:
            self.seen.append(f"{event} {arguments}")
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITE_FLAGS:
            self.seen.append(f"opened for writing: {arguments[0]}")


def load_hostile(folder: Path, X: NDArray[np.float32], watch: Watch) -> str:
    """`refused`, `scores`, or what went wrong."""
    watch.active = True
    try:
        ranker = load_ranker(folder)
    except StorageError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__} in loading: {error}"
    else:
        return _scored(ranker, X)
    finally:
        watch.active = False


def _scored(ranker: Ranker, X: NDArray[np.float32]) -> str:
    try:
        ranker.predict(X)
    except (ValueError, TypeError):
        return "refused by predict"  # such as a ranker for another number of features, or a strange n_jobs
    except Exception as error:
        return f"{type(error).__name__} in predict: {error}"
    return "scores"


def changed_copy(models: list[Path], folder: Path, change: Change, rng: np.random.Generator) -> None:
    """A copy of one of the models that the change has made differ; what differs in no byte is drawn anew."""
    while True:
        model = models[rng.integers(len(models))]
        shutil.copytree(model, folder)
        change(folder, rng)
        if _contents(folder) != _contents(model):
            return
        shutil.rmtree(folder)


def _contents(folder: Path) -> dict[str, bytes | None]:
    return {path.name: _content(path) if path.is_file() else None for path in folder.iterdir()}


def limit_memory(gigabytes: float) -> None:
    """Let this process take so much address space more than it has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def run(n_folders: int, seed: int, *, gigabytes: float | None = None) -> tuple[Counter[str], list[str]]:
    """How the folders ended, and all that was not allowed."""
    rng, watch, outcomes, faults = np.random.default_rng(seed), Watch(), Counter[str](), []
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        (root / "models").mkdir()
        models = make_models(root / "models")
        X = np.zeros((4, 20), dtype=np.float32)
        for model in models:
            load_ranker(model).predict(
                X
            )  # what is compiled or imported on first use is not the folder's doing
        if gigabytes is not None:
            limit_memory(gigabytes)
        for number in range(n_folders):
            change, sealing = CHANGES[number // 2 % len(CHANGES)], number % 2 == 1
            folder = root / "hostile"
            changed_copy(models, folder, change, rng)
            if sealing:
                sealed(folder)
            outcome = load_hostile(folder, X, watch)
            kind = f"{change.__name__}, {'sealed' if sealing else 'damage'}"
            if outcome not in (SAFE if sealing else ("refused",)):
                faults.append(f"{kind} (folder {number}): {outcome[:200]}")
            outcomes[f"{kind}: {outcome.split(':')[0]}"] += 1
            shutil.rmtree(folder)
            if {path.name for path in root.iterdir()} != {"models"}:
                faults.append(f"{change.__name__} (folder {number}): something was written beside the folder")
    return outcomes, faults + watch.seen


def main() -> None:
    """Run, print how folders ended, and fail if anything was not allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folders", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="memory that loading may add")
    options = parser.parse_args()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    outcomes, faults = run(options.folders, options.seed, gigabytes=options.gigabytes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, count in sorted(outcomes.items()):
        print(f"{name:40} {count:6}")
    print(f"{options.folders} folders in {time.perf_counter() - started:.0f} s")
    print(f"peak memory {peak / 1024:.0f} MB, {before / 1024:.0f} MB of it before any model was made")
    for fault in faults[:20]:
        print("FAULT", fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
