"""The pages of the site that are made: the README is its first page, CHANGELOG and others follow.

MkDocs calls `on_files` (`hooks` in mkdocs.yml). Links of the originals hold where they stand, so they are
turned to where the pages stand.

>>> as_page("[how](docs/comparison.md#folds), [what](CHANGELOG.md), [who](https://a.org/docs/b.md)")
'[how](comparison.md#folds), [what](changelog.md), [who](https://a.org/docs/b.md)'
"""

from __future__ import annotations

import runpy
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

__all__ = ["ORIGINALS", "as_page", "on_files"]

ORIGINALS = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""What becomes which page."""


def as_page(text: str) -> str:
    """The text with its links as they must be among the pages."""
    for original, page in {"docs/": "", **ORIGINALS}.items():
        text = text.replace(f"]({original}", f"]({page}")
    return text.replace('="docs/', '="')  # pictures


def _messages_page() -> str:
    # MkDocs loads this file alone, so its neighbour is loaded by path.
    path = Path(__file__).with_name("messages.py")
    names = runpy.run_path(str(path))
    page: str = names["messages_page"]()
    return page


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages to those of the folder."""
    root = Path(config.config_file_path).parent
    for original, page in ORIGINALS.items():
        text = (root / original).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=as_page(text)))
    files.append(File.generated(config, "reference/messages.md", content=_messages_page()))
    return files
