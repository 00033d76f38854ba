"""Codes of a table, and how often rows come together."""
