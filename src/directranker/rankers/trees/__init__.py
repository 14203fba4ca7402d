"""Rankers whose score is a sum of regression trees."""
