r"""Parameter grids from TOML or YAML files; errors are one line.

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
MAX_DEPTH = 8  # ranker, parameter, value, which may be nested lists


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """Plain YAML without aliases and tags: a few lines of them can expand to gigabytes."""

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


def parse_grid(path: Path) -> Mapping[str, object]:
    """Parse the file into grids by ranker; rankers and parameters are not validated."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; pass 'quick', 'paper' or an existing file")
    with path.open("rb") as file:
        content_bytes = file.read(MAX_BYTES + 1)
    if len(content_bytes) > MAX_BYTES:
        raise ValueError(f"{path}: is larger than {MAX_BYTES >> 20} MB; pass a grid of rankers and values")
    try:
        text = content_bytes.decode()
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else yaml.load(text, _Loader)  # noqa: S506
    except RecursionError:
        raise ValueError(f"{path}: values are nested too deeply") from None
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(content, Mapping) or not content:
        raise ValueError(f"{path}: has no ranker; write a ranker and, below it, values for its parameters")
    return content
