"""Data sets known by name: from which label on a document is relevant, and whether the paper has figures.

The paper maps labels of 2 and more to relevant on MSLR-WEB10K, labels of 1 and more on MQ2007 and MQ2008. A
folder `MQ2007-partial` has MQ2007's labels but is not MQ2007, so the published figures do not apply.

>>> identify_dataset("data/MSLR-WEB10K/Fold1/train.txt")
KnownDataset(name='MSLR-WEB10K', threshold=2.0, whole=True)
>>> identify_dataset("data/MQ2007-partial")
KnownDataset(name='MQ2007', threshold=1.0, whole=False)
>>> identify_dataset("my/table.parquet") is None
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KnownDataset", "identify_dataset"]

_NAMES = {
    r"(?:mslr[-_ ]?)?web10k": ("MSLR-WEB10K", 2.0),
    r"(?:mslr[-_ ]?)?web30k": ("MSLR-WEB30K", 2.0),
    r"mq2007": ("MQ2007", 1.0),
    r"mq2008": ("MQ2008", 1.0),
}


@dataclass(frozen=True)
class KnownDataset:
    """A data set by its usual name."""

    name: str
    threshold: float
    """The lowest label that the paper counts as relevant."""
    whole: bool
    """Whether the folder's name is the set's own, and not that of a part or a variant of it."""


def identify_dataset(path: str | Path) -> KnownDataset | None:
    """Recognise a data set by the name of its file or folder, or of the nearest known folder above."""
    path = Path(path).absolute()
    for place in (path, *path.parents):
        # A dot may belong to an ending, as in MQ2008.parquet, or to a version, which makes it a variant.
        name = place.name.lower() if place.is_dir() else place.name.lower().partition(".")[0]
        found = _by_name(name)
        if found is not None:
            return found
    return None


def _by_name(name: str) -> KnownDataset | None:
    for pattern, (usual, threshold) in _NAMES.items():
        match = re.match(pattern + r"(?![0-9a-z])", name)
        if match:
            return KnownDataset(usual, threshold, whole=match.end() == len(name))
    return None
