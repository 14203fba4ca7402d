"""Rankers whose score is a net: the DirectRanker, and those that differ from it in cost or defaults."""
