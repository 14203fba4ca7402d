"""Add pages that are stored outside docs/ to the site: the README as its first page, CHANGELOG and others.

MkDocs calls `on_files` (`hooks` in mkdocs.yml). Links are relative to the original files, so they are
rewritten for the site.

>>> convert_links("[how](docs/comparison.md#folds), [what](CHANGELOG.md), [who](https://a.org/docs/b.md)")
'[how](comparison.md#folds), [what](changelog.md), [who](https://a.org/docs/b.md)'
"""

from __future__ import annotations

import runpy
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

__all__ = ["ORIGINALS", "convert_links", "on_files"]

ORIGINALS = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""The page of each original file."""


def convert_links(text: str) -> str:
    """Rewrite the links of a text for the site."""
    for original, page in {"docs/": "", **ORIGINALS}.items():
        text = text.replace(f"]({original}", f"]({page}")
    return text.replace('="docs/', '="')  # images


def _build_messages_page() -> str:
    # MkDocs loads this file alone, so its neighbour is loaded by path.
    path = Path(__file__).with_name("messages.py")
    names = runpy.run_path(str(path))
    page: str = names["messages_page"]()
    return page


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the converted originals to the site's files."""
    root = Path(config.config_file_path).parent
    for original, page in ORIGINALS.items():
        text = (root / original).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=convert_links(text)))
    files.append(File.generated(config, "reference/messages.md", content=_build_messages_page()))
    return files
