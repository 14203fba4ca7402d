"""Rankers whose score is computed by a net: the DirectRanker, and rankers with other costs or defaults."""
