r"""Docstrings as Markdown, for the reference.

griffe, which reads the sources, calls `on_object` (`extensions` in mkdocs.yml). Markdown would take `>>>` for
three quotations within each other. And griffe's own reading of sections gives the type and default of the
first parameter to all that are described together, so that `a, b` would have the default of `a` twice.

>>> as_markdown("Add.\n\nParameters\n----------\na, b\n    Any\n    numbers.")
'Add.\n\n**Parameters**\n\n`a`, `b`\n:   Any\n    numbers.'
>>> as_markdown("Twice.\n\n>>> double(2)\n4\n\nAnd so on.")
'Twice.\n\n```pycon\n>>> double(2)\n4\n```\n\nAnd so on.'
"""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["MarkdownDocstrings", "as_markdown"]

EXAMPLE = re.compile(r"^>>> .*\n?(?:.+\n?)*", re.MULTILINE)
SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\w[\w, ]*)\n    (.+\n?(?:    .+\n?)*)", re.MULTILINE)


def as_markdown(docstring: str) -> str:
    """The docstring with examples as code and with sections as lists of definitions."""
    text, *sections = SECTION.split(_with_code(docstring))
    for title, entries in zip(sections[::2], sections[1::2], strict=True):
        text += f"**{title}**\n\n{ENTRY.sub(_definition, entries)}\n"
    return text.rstrip()


def _with_code(docstring: str) -> str:
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", docstring)


def _definition(entry: re.Match[str]) -> str:
    names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
    return f"{names}\n:   {entry[2].rstrip()}\n\n"


class MarkdownDocstrings(griffe.Extension):
    """Rewrites the docstring of every object that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
