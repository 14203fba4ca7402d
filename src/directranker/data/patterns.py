"""Files of a folder, or of a pattern such as `parts/*.parquet`.

>>> is_pattern(Path("parts/*.csv")), is_pattern(Path("parts/1.csv"))
(True, False)
"""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path

__all__ = ["find_files", "is_pattern"]


def is_pattern(path: Path) -> bool:
    """Whether a path is a pattern of file names rather than the name of a file."""
    return glob.has_magic(str(path)) and not path.exists()


def find_files(path: Path) -> list[Path]:
    """Return the files of a folder or of a pattern, sorted by name, except hidden ones."""
    found: Iterable[Path] = path.iterdir()
    if is_pattern(path):
        found = map(Path, glob.iglob(str(path)))  # noqa: PTH207 - the pattern may be absolute
    return [file for file in sorted(found) if file.is_file() and not file.name.startswith((".", "_"))]
