"""Rankers whose score is a weighted sum of encoded features."""
