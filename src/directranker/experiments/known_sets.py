"""Known data sets: the lowest relevant label, and whether the paper has published values.

The paper maps labels of 2 and more to relevant on MSLR-WEB10K, labels of 1 and more on MQ2007 and MQ2008. A
folder `MQ2007-partial` has MQ2007's labels but is not MQ2007, so the published values do not apply.

>>> identify_dataset("data/MSLR-WEB10K/Fold1/train.txt")
KnownDataset(name='MSLR-WEB10K', threshold=2.0, is_complete=True)
>>> identify_dataset("data/MQ2007-partial")
KnownDataset(name='MQ2007', threshold=1.0, is_complete=False)
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
    """A known data set."""

    name: str
    threshold: float
    """The lowest label that the paper counts as relevant."""
    is_complete: bool
    """Whether the folder's name is the data set's own, not that of a subset or variant."""


def identify_dataset(path: str | Path) -> KnownDataset | None:
    """Identify a data set by the name of its file or folder, or of the nearest parent with a known name."""
    path = Path(path).absolute()
    for candidate in (path, *path.parents):
        # A dot may start a suffix, as in MQ2008.parquet, or a version, which makes it a variant.
        name = candidate.name.lower() if candidate.is_dir() else candidate.name.lower().partition(".")[0]
        known = _match_name(name)
        if known is not None:
            return known
    return None


def _match_name(name: str) -> KnownDataset | None:
    for pattern, (usual, threshold) in _NAMES.items():
        match = re.match(pattern + r"(?![0-9a-z])", name)
        if match:
            return KnownDataset(usual, threshold, is_complete=match.end() == len(name))
    return None
