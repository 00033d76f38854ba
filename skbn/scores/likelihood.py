"""The maximised likelihood, and what it is minus a price per parameter: BIC, AIC and MDL."""

import math
from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from skbn.scores.gamma import ENTROPY, Tail, float_of
from skbn.scores.score import Family, SetScore


def entropy_terms(counts: np.ndarray) -> np.ndarray:
    """N ln N for every count, 0 at N = 0."""
    counts = np.asarray(counts, dtype=np.float64)
    return counts * np.log(np.where(counts > 0, counts, 1.0))


class LogLikelihood(SetScore):
    """Maximised log-likelihood, in nats.

    The sum over j, k of N_jk ln(N_jk / N_j). Never decreases with a further parent.
    """

    uses_ess: ClassVar[bool] = False

    def set_terms(self, counts: np.ndarray, n_states: int, ess: float) -> np.ndarray:
        return entropy_terms(counts)

    def set_terms_of_many(
        self, counts: np.ndarray, which: np.ndarray, log_states: np.ndarray, ess: float
    ) -> np.ndarray:
        return entropy_terms(counts)

    def set_key(self, n_states: int) -> Hashable:
        return None

    def set_tail(self, n_states: int, ess: float) -> Tail | None:
        return ENTROPY


def n_free_parameters(family: Family) -> float:
    """(r - 1) q, the free parameters of one conditional probability table; may be infinite."""
    return float_of((family.cardinality - 1) * family.n_parent_states)


class BIC(LogLikelihood):
    """Bayesian information criterion, in nats: loglik - (ln N / 2) (r - 1) q.

    Schwarz (1978). Not multiplied by -2: higher is better. Weights that sum to at most 1 are
    refused: ln N would make parameters free, or a gain.
    """

    takes_log_of_rows: ClassVar[bool] = True

    def constant(self, family: Family) -> float:
        price = 0.5 * math.log(family.n_samples)
        # One row makes parameters free of charge, infinitely many of them too.
        return -price * n_free_parameters(family) if price else 0.0


class AIC(LogLikelihood):
    """Akaike information criterion, in nats: loglik - (r - 1) q.

    Akaike (1974). Not multiplied by -2: higher is better.
    """

    def constant(self, family: Family) -> float:
        return -n_free_parameters(family)


class MDL(BIC):
    """Minus the description length, in nats: bic - ln n - ln C(n, p).

    ln n + ln C(n, p) is the cost of writing down how many parents the child has, p, and which of
    the n variables they are (Friedman and Goldszmidt, 1996).
    """

    def constant(self, family: Family) -> float:
        n, p = family.n_variables, family.n_parents
        return super().constant(family) - math.log(n) - math.log(math.comb(n, p))
