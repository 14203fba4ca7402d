"""Experiments: the paper's comparison of rankers, its significance, and its results as tables.

Modules are imported where they are needed: a finished comparison is shown without the rankers being loaded.
"""

PROCEDURE = "DirectRanker-procedure"
"""The paper's DirectRanker of the studies on synthetic data, which depends on the data."""
