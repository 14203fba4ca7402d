"""Rankers whose score is a sum of trees."""
