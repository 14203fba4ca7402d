r"""A grid from a file in TOML or YAML, or what is wrong with the file, in one line.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "grid.toml"
...     _ = path.write_text("[RankSVM]\nalpha = [0.1, 1.0]\n")
...     parse_grid(path)
{'RankSVM': {'alpha': [0.1, 1.0]}}
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

__all__ = ["parse_grid"]

MAX_BYTES = 1 << 20
MAX_DEPTH = 8  # a ranker's parameter's value, which may hold lists of lists


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """Plain YAML. Aliases and tags are refused: a few lines of them can stand for gigabytes."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(None, None, "aliases are not supported", event.start_mark)
        if event.tag is not None:
            raise yaml.MarkedYAMLError(None, None, "tags are not supported", event.start_mark)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(None, None, "values are nested too deeply", event.start_mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def parse_grid(path: Path) -> Mapping[str, Any]:
    """What the file says, by ranker; whether rankers and parameters exist is not looked at."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give 'quick', 'paper' or a file that is there")
    with path.open("rb") as file:
        written = file.read(MAX_BYTES + 1)
    if len(written) > MAX_BYTES:
        raise ValueError(f"{path}: is larger than {MAX_BYTES >> 20} MB; give a grid of rankers and values")
    try:
        text = written.decode()
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else yaml.load(text, _Loader)  # noqa: S506
    except RecursionError:
        raise ValueError(f"{path}: values are nested too deeply") from None
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(content, Mapping) or not content:
        raise ValueError(f"{path}: names no ranker; write a ranker and, below it, values for its parameters")
    return content
