"""Error and warning messages speak the field's language; all of them are on one page of the docs."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
PRIVATE_WORDS = (
    r"in words|nonsense|mend(?:ed|s)?|whoever|whatever|dealt|blind|climb(?:s|ed)?|beliefs?|learnt|"
    r"is no number|goes? on|refused?|is told|places? of|stands? (?:in|at|behind)|lies? (?:in|at|there)"
)


@pytest.fixture(scope="module")
def messages() -> ModuleType:
    path = ROOT / "docs" / "building" / "messages.py"
    spec = importlib.util.spec_from_file_location("messages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["messages"] = module  # where dataclasses look it up
    spec.loader.exec_module(module)
    return module


def test_messages_are_in_the_fields_language(messages: ModuleType) -> None:
    collected = messages.collect_messages()
    assert sum(map(len, collected.values())) > 300
    unclear = [
        f"{module}:{message.line}: {message}"
        for module, found in collected.items()
        for message in found
        if re.search(rf"\b(?:{PRIVATE_WORDS})\b", message.text) or message.text.endswith(".")
    ]
    assert unclear == []


def test_the_page_has_every_message(messages: ModuleType) -> None:
    page = messages.messages_page()
    assert page.count("\n| `") == sum(map(len, messages.collect_messages().values()))
