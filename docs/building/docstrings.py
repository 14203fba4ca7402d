r"""Convert docstrings to Markdown for the API reference.

griffe parses the sources and calls `on_object` (`extensions` in mkdocs.yml). Markdown would render `>>>` as
nested quotations, and griffe's own parser of sections gives parameters that are described together, such as
`a, b`, the type and default of the first one.

>>> to_markdown("Add.\n\nParameters\n----------\na, b\n    Any\n    numbers.")
'Add.\n\n**Parameters**\n\n`a`, `b`\n:   Any\n    numbers.'
>>> to_markdown("Twice.\n\n>>> double(2)\n4\n\nAnd so on.")
'Twice.\n\n```pycon\n>>> double(2)\n4\n```\n\nAnd so on.'
"""

from __future__ import annotations

import re

import griffe

__all__ = ["MarkdownDocstrings", "to_markdown"]

EXAMPLE = re.compile(r"^>>> .*\n?(?:.+\n?)*", re.MULTILINE)
SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\w[\w, ]*)\n    (.+\n?(?:    .+\n?)*)", re.MULTILINE)


def to_markdown(docstring: str) -> str:
    """Convert a docstring: examples become code blocks, sections definition lists."""
    text, *sections = SECTION.split(_fence_examples(docstring))
    for title, entries in zip(sections[::2], sections[1::2], strict=True):
        text += f"**{title}**\n\n{ENTRY.sub(_format_entry, entries)}\n"
    return text.rstrip()


def _fence_examples(docstring: str) -> str:
    return EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", docstring)


def _format_entry(entry: re.Match[str]) -> str:
    names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
    return f"{names}\n:   {entry[2].rstrip()}\n\n"


class MarkdownDocstrings(griffe.Extension):
    """A griffe extension that converts the docstring of every object."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Convert the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
