"""Choosing the equivalent sample size, and comparing what was learned."""
