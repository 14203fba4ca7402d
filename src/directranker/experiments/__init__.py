"""Experiments: the paper's comparison of rankers, significance tests, and results as tables.

Modules are imported where they are used, so that a finished comparison is shown without loading the rankers.
"""

PROCEDURE = "DirectRanker-procedure"
"""The paper's DirectRanker of the studies on synthetic data; its layers depend on the data."""
