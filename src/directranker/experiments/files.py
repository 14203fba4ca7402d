"""How the files in a folder of results are called; `results` has those of the comparison itself."""

from __future__ import annotations

__all__ = ["CELLS", "EXAMPLES", "HISTORIES", "NEIGHBOURS", "PLANNED", "SENSITIVITY", "TRAINING"]

CELLS = "cells.sqlite"
EXAMPLES = "examples.json"
HISTORIES = "histories.json"
NEIGHBOURS = "neighbours.json"
PLANNED = "planned.json"
SENSITIVITY = "sensitivity.json"
TRAINING = "training.json"
