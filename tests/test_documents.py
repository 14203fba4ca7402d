"""Every Python block in the documents runs, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def run_blocks(document: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in BLOCK.findall(document.read_text(encoding="utf-8")):
        exec(compile(block, document.name, "exec"), names)  # noqa: S102 - our own documents
    return names


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run_blocks(document)
    if document.name == "digits.md":
        assert names["concordant"] == 1
        scores, digits = names["scores"], names["y_test"]
        higher = digits[:, None] > digits[None, :]
        assert np.mean((scores[:, None] > scores[None, :])[higher]) > 0.95
        pair = names["ranker"].compare(names["test"][:1], names["test"][1:2])
        assert np.sign(pair[0]) == np.sign(int(names["y_test"][0]) - int(names["y_test"][1]))
