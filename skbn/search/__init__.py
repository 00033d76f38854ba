"""Searches for the best graph: by moves, by orders, exact."""
