"""One number for every set of variables."""
