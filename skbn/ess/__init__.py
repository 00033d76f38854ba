"""The equivalent sample size that a table asks for."""
