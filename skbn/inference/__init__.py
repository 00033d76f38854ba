"""Answers of a network about rows in which cells are missing."""
