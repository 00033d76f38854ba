"""The network: a graph with parameters, and what reads and writes it."""
