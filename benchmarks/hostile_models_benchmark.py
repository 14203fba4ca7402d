"""Load hostile model folders (damaged, forged, huge): each must raise a `StorageError` or do no harm.

A folder is copied, changed in one of many ways (bytes, files, headers, shapes, depth, paths), and loaded in
this process, whose memory may grow by one gigabyte. Half of the folders are damaged: each differs in some
byte, and loading must raise a `StorageError`. The other half are forged: the checksums are recomputed as an
attacker would, and loading must raise a `StorageError` or return a ranker that scores or raises. Nothing may
be written next to the folder, and an audit hook checks that nothing is executed or opened for writing.

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
    """Save a ranker of each kind."""
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


def _choose_file(folder: Path, rng: np.random.Generator) -> Path:
    files = sorted(folder.iterdir())
    return files[rng.integers(len(files))]


def flip_bytes(folder: Path, rng: np.random.Generator) -> None:
    """Change some bytes of a file."""
    path = _choose_file(folder, rng)
    content = bytearray(path.read_bytes())
    for position in rng.integers(len(content), size=rng.integers(1, 9)):
        content[position] = rng.integers(256)
    path.write_bytes(content)


def truncate(folder: Path, rng: np.random.Generator) -> None:
    """Truncate a file."""
    path = _choose_file(folder, rng)
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(len(content))])


def swap_files(folder: Path, rng: np.random.Generator) -> None:
    """Replace a file by another's content or by a folder, or remove it."""
    first, second = _choose_file(folder, rng), _choose_file(folder, rng)
    how = rng.integers(3)
    content = second.read_bytes()
    first.unlink()
    if how == 0:
        first.write_bytes(content)
    elif how == 1:
        first.mkdir()


def recompute_checksums(folder: Path) -> None:
    """Recompute the checksums, as an attacker would."""
    path = folder / "header.json"
    try:
        header = json.loads(_read_content(path))
        header["weights_sha256"] = hashlib.sha256(_read_content(folder / "weights.safetensors")).hexdigest()
        for name in header["trees_sha256"]:
            header["trees_sha256"][name] = hashlib.sha256(_read_content(folder / name)).hexdigest()
        header.pop("header_sha256", None)
        path.write_bytes(seal_header(header))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError):
        return


def _read_content(path: Path) -> bytes:
    """Read a file; empty if it is endless."""
    is_whole = path.is_file() and path.stat().st_size < 1 << 30
    return path.read_bytes() if is_whole else b""


def flip_content(folder: Path, rng: np.random.Generator) -> None:
    """Change bytes of the weights or trees."""
    names = [path for path in sorted(folder.iterdir()) if path.name != "header.json"]
    path = names[rng.integers(len(names))]
    content = bytearray(path.read_bytes())
    # The header of safetensors holds shapes and offsets, where forged values do the most harm.
    reach = len(content) if rng.integers(2) else min(len(content), 400)
    for position in rng.integers(reach, size=rng.integers(1, 5)):
        content[position] = rng.integers(256)
    path.write_bytes(content)


def _list_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    paths = [path] if path else []
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        paths += _list_paths(inner, (*path, key))
    return paths


def change_header(folder: Path, rng: np.random.Generator) -> None:
    """Replace or delete one value of the header."""
    path = folder / "header.json"
    header = json.loads(path.read_bytes())
    paths = [keys for keys in _list_paths(header) if "sha256" not in str(keys[0])]
    keys = paths[rng.integers(len(paths))]
    parent: Any = header
    for key in keys[:-1]:
        parent = parent[key]
    invalid: list[Any] = [
        None, -1, 10**9, 10**30, 1e308, "", "../../../etc/passwd", "os.system", [], {}, [[]], True,
        [10**9, 10**9], {"array": "net_/head.weight"}, {"trees": "/etc/passwd"}, {"net": "x"}, "\x00",
        "LambdaMART",
        {"class": "os:system", "options": {}}, {"class": "Ensemble", "parameters": {}, "fitted": {}},
    ]  # fmt: skip
    if rng.integers(4) == 0:
        del parent[keys[-1]]
    else:
        parent[keys[-1]] = invalid[rng.integers(len(invalid))]
    path.write_text(json.dumps(header))


def nest_header(folder: Path, rng: np.random.Generator) -> None:
    """Nest the header deeply, or make it very long."""
    depth = int(rng.integers(10, 200_000))
    kinds = ["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "9" * depth]
    inner = kinds[rng.integers(len(kinds))]
    (folder / "header.json").write_text(
        f'{{"format": "directranker model", "version": 2, "ranker": {inner}, "trees_sha256": {{}}}}'
    )


def forge_shapes(folder: Path, rng: np.random.Generator) -> None:
    """Claim tensors of enormous shapes."""
    path = folder / "weights.safetensors"
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    names = [name for name in header if name != "__metadata__"]
    if not names:  # a ranker of trees only
        header["forged"] = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
        names = ["forged"]
    tensor = header[names[rng.integers(len(names))]]
    shapes: list[Any] = [[2**40], [2**62, 2], [0, 2**63], [-1], [1] * 1000, tensor["shape"] * 2]
    if rng.integers(2):
        tensor["shape"] = shapes[rng.integers(len(shapes))]
    else:
        tensor["data_offsets"] = [[0, 2**50], [2**50, 0], [-8, 8], [0, 0]][rng.integers(4)]
    text = json.dumps(header).encode()
    claimed = len(text) if rng.integers(3) else 2**60
    path.write_bytes(claimed.to_bytes(8, "little") + text + content[8 + length :])


def forge_paths(folder: Path, rng: np.random.Generator) -> None:
    """Use file names and links that point outside the folder."""
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


def make_endless(folder: Path, rng: np.random.Generator) -> None:
    """Replace a file by an endless device, a pipe without a writer, or gigabytes of zeros."""
    path = _choose_file(folder, rng)
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
    flip_bytes, truncate, swap_files, flip_content, change_header, nest_header, forge_shapes, forge_paths,
    make_endless,
)  # fmt: skip


class Watch:
    """Record when something is executed or opened for writing while a folder is loaded."""

    def __init__(self) -> None:
        self.active = False
        self.seen: list[str] = []
        sys.addaudithook(self._record)

    def _record(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event in HARMFUL_EVENTS:
            self.seen.append(f"{event} {arguments}")
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITE_FLAGS:
            self.seen.append(f"opened for writing: {arguments[0]}")


def load_hostile(folder: Path, X: NDArray[np.float32], watch: Watch) -> str:
    """Load a folder; return `refused`, `scores`, or the fault."""
    watch.active = True
    try:
        ranker = load_ranker(folder)
    except StorageError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__} in loading: {error}"
    else:
        return _try_predict(ranker, X)
    finally:
        watch.active = False


def _try_predict(ranker: Ranker, X: NDArray[np.float32]) -> str:
    try:
        ranker.predict(X)
    except (ValueError, TypeError):
        return "refused by predict"  # for example another number of features, or an invalid n_jobs
    except Exception as error:
        return f"{type(error).__name__} in predict: {error}"
    return "scores"


def make_changed_copy(models: list[Path], folder: Path, change: Change, rng: np.random.Generator) -> None:
    """Copy and change a random model; try again until the copy differs."""
    while True:
        model = models[rng.integers(len(models))]
        shutil.copytree(model, folder)
        change(folder, rng)
        if _contents(folder) != _contents(model):
            return
        shutil.rmtree(folder)


def _contents(folder: Path) -> dict[str, bytes | None]:
    return {path.name: _read_content(path) if path.is_file() else None for path in folder.iterdir()}


def limit_memory(gigabytes: float) -> None:
    """Limit the address space of this process to this much more than it has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def run(n_folders: int, seed: int, *, gigabytes: float | None = None) -> tuple[Counter[str], list[str]]:
    """Return the number of folders by outcome, and all faults."""
    rng, watch, outcomes, faults = np.random.default_rng(seed), Watch(), Counter[str](), []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "models").mkdir()
        models = make_models(root / "models")
        X = np.zeros((4, 20), dtype=np.float32)
        for model in models:
            load_ranker(model).predict(X)  # compile and import before the audit starts
        if gigabytes is not None:
            limit_memory(gigabytes)
        for number in range(n_folders):
            change, is_forged = CHANGES[number // 2 % len(CHANGES)], number % 2 == 1
            folder = root / "hostile"
            make_changed_copy(models, folder, change, rng)
            if is_forged:
                recompute_checksums(folder)
            outcome = load_hostile(folder, X, watch)
            kind = f"{change.__name__}, {'forged' if is_forged else 'damage'}"
            if outcome not in (SAFE if is_forged else ("refused",)):
                faults.append(f"{kind} (folder {number}): {outcome[:200]}")
            outcomes[f"{kind}: {outcome.split(':')[0]}"] += 1
            shutil.rmtree(folder)
            if {path.name for path in root.iterdir()} != {"models"}:
                faults.append(
                    f"{change.__name__} (folder {number}): something was written next to the folder"
                )
    return outcomes, faults + watch.seen


def main() -> None:
    """Run, print the outcomes, and exit with 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folders", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="memory that loading may use")
    options = parser.parse_args()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    outcomes, faults = run(options.folders, options.seed, gigabytes=options.gigabytes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, count in sorted(outcomes.items()):
        print(f"{name:40} {count:6}")
    print(f"{options.folders} folders in {time.perf_counter() - started:.0f} s")
    print(f"peak memory {peak / 1024:.0f} MB, {before / 1024:.0f} MB of it before the first model")
    for fault in faults[:20]:
        print("FAULT", fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
