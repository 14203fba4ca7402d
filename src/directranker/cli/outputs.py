"""Output paths, checked before any slow work."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from directranker.data.files import check_writable_parent

__all__ = ["check_output_file", "check_output_folder", "check_results_folder"]


def check_output_folder(out: Path, *, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Check that a folder can be created, or may be replaced."""
    _check_is_not_input(out, inputs)
    if out.exists() and not overwrite:
        raise FileExistsError(f"{out} exists; choose another name or pass --overwrite")
    if not out.name:
        raise ValueError(f"{out} cannot be replaced; give the name of a new folder")
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; give the name of a folder")
    check_writable_parent(out)


def check_output_file(out: Path, *, inputs: Iterable[Path] = ()) -> None:
    """Check that a file can be created, or may be replaced; a device or a pipe is written to."""
    _check_is_not_input(out, inputs)
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder; give the name of a file")
    if out.is_file() or not out.exists():
        check_writable_parent(out)


def check_results_folder(out: Path) -> None:
    """Check that files can be added to a folder, which is created with its parents if it is missing."""
    existing = next(path for path in (out, *out.parents) if path.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"{existing} is a file; give the name of a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(f"the folder {existing} is not writable; choose another")


def _check_is_not_input(out: Path, inputs: Iterable[Path]) -> None:
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path) and not out.is_char_device():
            raise ValueError(f"{out} is both input and output; choose another name for the output")
