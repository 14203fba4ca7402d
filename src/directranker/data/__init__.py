"""Ranking data: reading, keeping, transforming, making and inspecting it."""
