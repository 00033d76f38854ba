"""Scores: sums of terms of counts, one family at a time."""
