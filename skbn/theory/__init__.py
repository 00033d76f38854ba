"""One edge: Bayes factors and what the equivalent sample size does to them."""
