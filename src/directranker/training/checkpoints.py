"""Training checkpoints: after each epoch, the whole training state is written atomically to one file.

The file is safetensors; its metadata holds the rest of the state as JSON. A fingerprint of data and
parameters keeps a training from resuming from the checkpoint of another one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
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

__all__ = ["Checkpoint", "TrainingState", "compute_fingerprint", "read_seed"]

FILE = "training.safetensors"
Tensors = dict[str, torch.Tensor]


@dataclass
class TrainingState:
    """The progress of a training; everything else follows from the seed and the epoch."""

    epoch: int = 0
    step: int = 0
    best_epoch: int = 0
    best_metric: float | None = None
    finished: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)


def compute_fingerprint(parameters: Mapping[str, object], *arrays: NDArray[Any] | None) -> str:
    """Return a digest of the parameters and the data."""
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
    """A folder that training writes to after each epoch and resumes from."""

    def __init__(self, folder: str | Path, fingerprint: str, seed: int = 0) -> None:
        self._path = Path(folder) / FILE
        self._fingerprint, self._seed = fingerprint, seed
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists() and _read(self._path)[0]["fingerprint"] != fingerprint:
            raise StorageError(
                f"{self._path} is the checkpoint of a training with other data or parameters; "
                "give another checkpoint folder, or delete this one to start again"
            )

    def save(
        self,
        state: TrainingState,
        net: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        best: Tensors | None,
    ) -> None:
        """Write the state to a temporary file and rename it."""
        tensors = {f"net/{name}": value for name, value in net.state_dict().items()}
        tensors |= {f"best/{name}": value for name, value in (best or {}).items()}
        numbers: dict[str, Any] = {}
        for number, values in optimizer.state_dict()["state"].items():
            for name, value in values.items():
                key = f"optimizer/{number}/{name}"
                if isinstance(value, torch.Tensor):
                    tensors[key] = value
                else:
                    numbers[key] = value
        metadata = {
            "fingerprint": self._fingerprint,
            "seed": self._seed,
            "state": asdict(state),
            "optimizer": numbers,
        }
        copies = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        with write_atomically(self._path) as temporary:
            try:
                save_file(copies, temporary, metadata={"training": json.dumps(metadata)})
            except SafetensorError as error:
                raise StorageError(f"{self._path} cannot be written: {error}") from None

    def restore(
        self, net: torch.nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[TrainingState, Tensors | None]:
        """Load net and optimiser as of the last saved epoch → (state, best weights)."""
        if not self._path.exists():
            return TrainingState(), None
        metadata, tensors = _read(self._path)
        net.load_state_dict(_select(tensors, "net/"))
        _restore_optimizer(optimizer, tensors, metadata["optimizer"])
        best = _select(tensors, "best/")
        return TrainingState(**metadata["state"]), best or None


def read_seed(folder: str | Path | None) -> int | None:
    """Return the seed of the training whose checkpoint is in a folder; None where there is no checkpoint."""
    if folder is None or not (Path(folder) / FILE).exists():
        return None
    metadata, _ = _read(Path(folder) / FILE)
    seed: int | None = metadata.get("seed")
    return seed


def _read(path: Path) -> tuple[dict[str, Any], Tensors]:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads(file.metadata()["training"])
            return metadata, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{path} is damaged ({error}); delete it to start again") from None


def _select(tensors: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _restore_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Tensors, numbers: Mapping[str, object]
) -> None:
    state: dict[int, dict[str, Any]] = {}
    for key, value in {
        **_select(tensors, "optimizer/"),
        **{k.removeprefix("optimizer/"): v for k, v in numbers.items()},
    }.items():
        number, name = key.split("/", 1)
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
