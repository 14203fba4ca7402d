"""All error and warning messages of the sources, as one page of the reference.

A message is the text that a `raise` or a warning is built from; `{name}` marks a value that is filled in.

>>> import ast
>>> tree = ast.parse("raise ValueError(f'k is {self.k!r}; pass a ' 'positive number')")
>>> [str(message) for message in messages_of(tree)]
['ValueError: k is {k}; pass a positive number']
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SOURCES", "Message", "collect_messages", "messages_of", "messages_page"]

SOURCES = Path(__file__).parents[2] / "src" / "directranker"
WARNINGS = {"warn", "warn_caller"}


@dataclass(frozen=True)
class Message:
    """The text of an error or a warning, its class, and the line that raises it."""

    kind: str
    text: str
    line: int

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def collect_messages(sources: Path = SOURCES) -> dict[str, list[Message]]:
    """All messages by module, such as `data/dataset.py`."""
    found = {}
    for path in sorted(sources.rglob("*.py")):
        messages = list(messages_of(ast.parse(path.read_text(encoding="utf-8"))))
        if messages:
            found[path.relative_to(sources).as_posix()] = messages
    return found


def messages_of(tree: ast.AST) -> Iterator[Message]:
    """The messages of a module, in the order of its lines."""
    constants = _constants(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.Call)]
    for node in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        is_warning = isinstance(node, ast.Call) and _last_name(call.func) in WARNINGS
        if not (isinstance(node, ast.Raise) or is_warning):
            continue
        text = _text(call.args[0], constants)
        kind = _last_name(call.args[1]) if is_warning and len(call.args) > 1 else _last_name(call.func)
        if text is not None and any(letter.isalpha() for letter in text.replace("{…}", "")):
            yield Message(kind, text, node.lineno)


def _constants(tree: ast.AST) -> dict[str, ast.expr]:
    body = tree.body if isinstance(tree, ast.Module) else []
    return {
        target.id: node.value
        for node in body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _text(node: ast.expr, constants: dict[str, ast.expr]) -> str | None:
    """The text that an expression gives, as far as the source shows it."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_piece(value) for value in node.values)
    if isinstance(node, ast.Name) and node.id in constants:
        return _text(constants[node.id], {})
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, constants), _text(node.right, constants)
        return None if left is None and right is None else (left or "{…}") + (right or "{…}")
    return None


def _piece(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return str(value.value)
    if isinstance(value, ast.FormattedValue) and isinstance(value.value, ast.Name | ast.Attribute):
        return f"{{{_last_name(value.value)}}}"
    return "{…}"


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "Warning")


def messages_page() -> str:
    """The page of the reference."""
    lines = [
        "# Error and warning messages",
        "",
        "After this page you know what each error and warning of directranker means and what to do about it. "
        "Names in braces are filled in.",
    ]
    for module, messages in collect_messages().items():
        lines += ["", f"## {module}", "", "| class | message |", "|---|---|"]
        lines += [f"| `{message.kind}` | {_escaped(message.text)} |" for message in messages]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    for character in "\\`*_|<>[]":
        text = text.replace(character, f"\\{character}")
    return text.replace("\n", " ")


def main() -> None:
    """Print the page."""
    sys.stdout.write(messages_page())


if __name__ == "__main__":
    main()
