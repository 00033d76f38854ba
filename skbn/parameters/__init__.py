"""Probabilities of states given the parents' states."""
