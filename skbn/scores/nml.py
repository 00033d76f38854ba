"""Normalised maximum likelihood: FNML and QNML, which have no parameters."""

from typing import ClassVar

import numpy as np

from skbn.scores.gamma import ENTROPY
from skbn.scores.likelihood import LogLikelihood, entropy_terms
from skbn.scores.regret import log_regret, log_regret_of_any
from skbn.scores.score import Family, Formula, keyed


class FNML(Formula):
    """Factorised normalised maximum likelihood, in nats: loglik - sum_j ln C(N_j, r).

    C(n, K) is the exact regret of a multinomial variable of K states, see `skbn.scores.regret`
    (Silander, Roos, Kontkanen and Myllymaki, 2008). Without parameters; whole counts only.
    Equivalent graphs may differ.
    """

    uses_ess: ClassVar[bool] = False
    needs_whole_counts: ClassVar[bool] = True

    @keyed(lambda score, family: None, lambda score, family: ENTROPY)
    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return entropy_terms(counts)

    @keyed(lambda score, family: family.cardinality)
    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return entropy_terms(counts) + log_regret(counts, family.cardinality)


class QNML(LogLikelihood):
    """Quotient normalised maximum likelihood, in nats: loglik - ln C(N, r q) + ln C(N, q).

    The quotient of the codes for child and parents together and for the parents, each as one
    multinomial variable (Silander, Leppä-aho, Jääsaari and Roos, 2018; arXiv 2408.14935). Without
    parameters; whole counts only. Equivalent graphs score the same.

    The regret ln C(N, K) is exact, to 13 digits, for K below 10^8 states. From there on it is the
    approximation of Szpankowski and Weinberger (2012), which is too large by less than 0.19 / K:
    less than 2e-9 nats, whatever N. See `skbn.scores.regret`.
    """

    needs_whole_counts: ClassVar[bool] = True

    def constant(self, family: Family) -> float:
        n, q = family.n_samples, family.n_parent_states
        return log_regret_of_any(n, q) - log_regret_of_any(n, family.cardinality * q)
