"""Training that survives being killed: after each epoch all of its state in one file, atomically.

The file holds tensors (safetensors) and, as text in its header, everything else. A fingerprint of data and
parameters keeps a checkpoint from being taken for another training's.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from directranker.data.files import write_atomically
from directranker.errors import StorageError

__all__ = ["Checkpoint", "TrainingState", "fingerprint", "kept_seed"]

FILE = "training.safetensors"
Tensors = dict[str, torch.Tensor]


@dataclass
class TrainingState:
    """How far training has come; what is not in here is derived from the seed and the epoch."""

    epoch: int = 0
    step: int = 0
    best_epoch: int = 0
    best_metric: float | None = None
    finished: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)


def fingerprint(parameters: dict[str, Any], *arrays: NDArray[Any] | None) -> str:
    """A text that is another one for other parameters or other data."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True, default=repr).encode())
    for array in arrays:
        if array is None:
            digest.update(b"none")
            continue
        digest.update(f"{array.dtype}{array.shape}".encode())
        rows = max(1, (1 << 24) // max(1, array.nbytes // max(1, len(array))))
        for start in range(0, len(array), rows):
            digest.update(np.ascontiguousarray(array[start : start + rows]).data)
    return digest.hexdigest()


class Checkpoint:
    """A folder that training writes to after each epoch and goes on from."""

    def __init__(self, folder: str | Path, fingerprint: str, seed: int = 0) -> None:
        self._path = Path(folder) / FILE
        self._fingerprint, self._seed = fingerprint, seed
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists() and _read(self._path)[0]["fingerprint"] != fingerprint:
            raise StorageError(
                f"{self._path} is of a training with other data or parameters; "
                "give another checkpoint folder, or delete this one to start anew"
            )

    def save(
        self,
        state: TrainingState,
        net: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        best: Tensors | None,
    ) -> None:
        """Write all of it under another name and rename."""
        tensors = {f"net/{name}": value for name, value in net.state_dict().items()}
        tensors |= {f"best/{name}": value for name, value in (best or {}).items()}
        plain: dict[str, Any] = {}
        for number, values in optimizer.state_dict()["state"].items():
            for name, value in values.items():
                key = f"optimizer/{number}/{name}"
                if isinstance(value, torch.Tensor):
                    tensors[key] = value
                else:
                    plain[key] = value
        words = {
            "fingerprint": self._fingerprint,
            "seed": self._seed,
            "state": asdict(state),
            "optimizer": plain,
        }
        copies = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        with write_atomically(self._path) as temporary:
            try:
                save_file(copies, temporary, metadata={"training": json.dumps(words)})
            except SafetensorError as error:
                raise StorageError(f"{self._path} cannot be written: {error}") from None

    def restore(
        self, net: torch.nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[TrainingState, Tensors | None]:
        """Put net and optimiser where the last epoch left them → (state, the best weights)."""
        if not self._path.exists():
            return TrainingState(), None
        words, tensors = _read(self._path)
        net.load_state_dict(_part(tensors, "net/"))
        _restore_optimizer(optimizer, tensors, words["optimizer"])
        best = _part(tensors, "best/")
        return TrainingState(**words["state"]), best or None


def kept_seed(folder: str | Path | None) -> int | None:
    """The seed of the training whose checkpoint is in a folder; None where there is none."""
    if folder is None or not (Path(folder) / FILE).exists():
        return None
    words, _ = _read(Path(folder) / FILE)
    seed: int | None = words.get("seed")
    return seed


def _read(path: Path) -> tuple[dict[str, Any], Tensors]:
    try:
        with safe_open(path, framework="pt") as file:
            words = json.loads(file.metadata()["training"])
            return words, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{path} is damaged ({error}); delete it to start anew") from None


def _part(tensors: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors, plain: dict[str, Any]) -> None:
    state: dict[int, dict[str, Any]] = {}
    for key, value in {
        **_part(tensors, "optimizer/"),
        **{k.removeprefix("optimizer/"): v for k, v in plain.items()},
    }.items():
        number, name = key.split("/", 1)
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
