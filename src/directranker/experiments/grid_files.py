r"""A grid from a file in TOML or YAML, or what is wrong with the file, in one line.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "grid.toml"
...     _ = path.write_text("[RankSVM]\nl2 = [0.1, 1.0]\n")
...     parse_grid(path)
{'RankSVM': {'l2': [0.1, 1.0]}}
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

__all__ = ["parse_grid"]


def parse_grid(path: Path) -> Mapping[str, Any]:
    """What the file says, by ranker; whether rankers and parameters exist is not looked at."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; give 'quick', 'paper' or a file that is there")
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else yaml.safe_load(text)
    except (tomllib.TOMLDecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(content, Mapping) or not content:
        raise ValueError(f"{path}: names no ranker; write a ranker and, below it, values for its parameters")
    return content
