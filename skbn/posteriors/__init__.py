"""Sums over all graphs: posteriors of edges, and graphs drawn from them."""
