"""How the files in a folder of results are called; `results` has those of the comparison itself."""

from __future__ import annotations

__all__ = ["EXAMPLES", "HISTORIES", "NEIGHBOURS", "SENSITIVITY"]

EXAMPLES = "examples.json"
HISTORIES = "histories.json"
NEIGHBOURS = "neighbours.json"
SENSITIVITY = "sensitivity.json"
