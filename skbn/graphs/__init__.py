"""Directed acyclic graphs: moves, constraints, priors, equivalence, comparison."""
