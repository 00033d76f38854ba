"""Scores: sums of terms of counts, one family at a time.

`bayesian` has "bdeu", "k2", "bds" and "bdj", `likelihood` has "loglik", "bic", "aic" and "mdl", and
`nml` has "fnml" and "qnml"; `score` says what a score is, and so how to write one.
"""
