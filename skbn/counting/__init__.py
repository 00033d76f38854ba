"""Codes of a table, how often rows come together, and how much memory there is."""
