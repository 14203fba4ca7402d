"""Every code block in the README and in docs/ runs, and the site builds without warnings.

Python and shell blocks run from top to bottom, all of a page in one process and one folder. A hidden comment
above a block changes that:

    <!-- not run: WHY -->    the block is only compiled, and its command-line options are checked
    <!-- file: NAME -->      the block is the content of a file that later blocks read
"""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import directranker
from directranker.cli import app, main

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>not run|file): (?P<about>[^\n]+) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
RUN = ("python", "sh")
SHOWN = ("", "c", "json", "text", "toml")
Names = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """A code block, and the comment above it."""

    language: str
    code: str
    mark: str | None
    about: str | None


def find_blocks(text: str) -> list[Block]:
    return [Block(**found.groupdict()) for found in BLOCK.finditer(text)]


def format_name(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=format_name)
def test_blocks_have_a_known_language(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    blocks = find_blocks(text)
    assert len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)) == 2 * len(blocks)
    for block in blocks:
        assert block.language in (*RUN, *SHOWN), block
        assert block.mark != "not run" or block.language in RUN, block
    assert text.count("<!-- not run") + text.count("<!-- file") == sum(bool(block.mark) for block in blocks)


@pytest.mark.parametrize("document", DOCUMENTS, ids=format_name)
def test_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: Names = {"__name__": document.stem}
    for block in find_blocks(document.read_text(encoding="utf-8")):
        if block.mark == "file":
            Path(str(block.about)).write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            program = compile(block.code, document.name, "exec")
            if block.mark is None:
                exec(program, names)  # noqa: S102 - our own documents
        elif block.language == "sh":
            for command in split_commands(block.code):
                (run if block.mark is None else check_options)(command, monkeypatch)
    if document.name in CHECKS:
        CHECKS[document.name](names)


def split_commands(code: str) -> Iterator[str]:
    return (line for line in code.replace("\\\n", " ").splitlines() if tokenise(line))


def tokenise(command: str) -> list[str]:
    """Split a shell command into tokens, without comments."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def is_single_command(tokens: list[str]) -> bool:
    return tokens[0] == "directranker" and not any(set(token) <= set("|&;<>()") for token in tokens)


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run our command in this process, which has imported torch already, and any other in a shell."""
    tokens = tokenise(command)
    if is_single_command(tokens):
        monkeypatch.setattr(sys, "argv", tokens)
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, command
        return
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=True, env={**os.environ, "PATH": path})


def check_options(command: str, _: pytest.MonkeyPatch) -> None:
    tokens = tokenise(command)
    if is_single_command(tokens):
        group: Any = typer.main.get_command(app)
        group.commands[tokens[1]].make_context(tokens[1], tokens[2:])


def check_digits(names: Names) -> None:
    assert names["concordant"] == 1
    scores, digits = names["scores"], names["y_test"]
    higher = digits[:, None] > digits[None, :]
    # .950 to .953, depending on the seed and on the processor's rounding
    assert np.mean((scores[:, None] > scores[None, :])[higher]) > 0.94
    pair = names["ranker"].compare(names["test"][:1], names["test"][1:2])
    assert np.sign(pair[0]) == np.sign(int(digits[0]) - int(digits[1]))


CHECKS: dict[str, Callable[[Names], None]] = {"digits.md": check_digits}


def test_check_options_finds_an_unknown_option(monkeypatch: pytest.MonkeyPatch) -> None:
    check_options("directranker compare MQ2008 --seeds 3", monkeypatch)
    with pytest.raises(Exception, match="No such option: --sedes"):
        check_options("directranker compare MQ2008 --sedes 3", monkeypatch)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    for name in directranker.__all__:
        assert f'id="directranker.{name}"' in pages, name


def test_the_first_page_is_the_readme(site: Path) -> None:
    page = html.unescape((site / "index.html").read_text(encoding="utf-8"))
    for heading in re.findall(r"^## (.+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert f">{heading}<" in page
    assert 'href="comparison.html"' in page


def test_no_page_loads_from_another_server(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        asked = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*', text)
        assert not asked, (page, asked)
