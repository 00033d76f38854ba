"""Marginal likelihoods of Dirichlet priors: BDeu, K2, BDs and BDJ."""

import math
from typing import ClassVar

import numpy as np

from skbn.scores.gamma import Tail, log_rising_factorial, log_rising_factorials, rising_tail
from skbn.scores.score import Family, Formula, SetScore, keyed


class BDeu(SetScore):
    """Log marginal likelihood with the uniform Dirichlet prior of Buntine (1991), in nats.

    The sum over parent configurations j and child states k of
    ln G(N_jk + ess/(r q)) - ln G(ess/(r q)), minus the sum over j of
    ln G(N_j + ess/q) - ln G(ess/q). Equation 2 of Steck (2008) with alpha_jk = ess/(r q);
    Heckerman, Geiger and Chickering (1995). Equivalent graphs score the same.
    """

    def set_terms(self, counts: np.ndarray, n_states: int, ess: float) -> np.ndarray:
        return log_rising_factorial(counts, math.log(ess) - math.log(n_states))

    def set_terms_of_many(
        self, counts: np.ndarray, which: np.ndarray, log_states: np.ndarray, ess: float
    ) -> np.ndarray:
        return log_rising_factorials(counts, which, math.log(ess) - log_states)

    def set_tail(self, n_states: int, ess: float) -> Tail | None:
        return rising_tail(math.log(ess) - math.log(n_states))


class _FixedPrior(Formula):
    """Log marginal likelihood with every Dirichlet parameter the same number, in nats."""

    uses_ess: ClassVar[bool] = False
    alpha: ClassVar[float]

    @keyed(lambda score, family: None, lambda score, family: rising_tail(math.log(score.alpha)))
    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return log_rising_factorial(counts, math.log(self.alpha))

    @keyed(
        lambda score, family: family.cardinality,
        lambda score, family: rising_tail(math.log(score.alpha * family.cardinality)),
    )
    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return log_rising_factorial(counts, math.log(self.alpha * family.cardinality))


class K2(_FixedPrior):
    """Log marginal likelihood with every Dirichlet parameter 1, in nats.

    The sum over j, k of ln G(N_jk + 1) minus the sum over j of ln G(N_j + r) - ln G(r)
    (Cooper and Herskovits, 1992). Equivalent graphs may differ.
    """

    alpha: ClassVar[float] = 1.0


class BDJ(_FixedPrior):
    """Log marginal likelihood with every Dirichlet parameter 1/2, Jeffreys' prior, in nats.

    The sum over j, k of ln G(N_jk + 1/2) - ln G(1/2) minus the sum over j of
    ln G(N_j + r/2) - ln G(r/2) (Suzuki, 2017). Equivalent graphs may differ.
    """

    alpha: ClassVar[float] = 0.5


class BDs(Formula):
    """Log marginal likelihood with the prior on observed parent configurations only, in nats.

    As `BDeu` with q~, the number of parent configurations that occur, in place of q: the sum over
    j, k of ln G(N_jk + ess/(r q~)) - ln G(ess/(r q~)), minus the sum over j of
    ln G(N_j + ess/q~) - ln G(ess/q~). Bayesian Dirichlet sparse, Scutari (2016). Equivalent graphs
    may differ where parent configurations are missing.
    """

    tabulated: ClassVar[bool] = False

    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        n_cells = family.cardinality * family.n_observed_parent_states
        return log_rising_factorial(counts, math.log(family.ess) - math.log(n_cells))

    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        log_alpha = math.log(family.ess) - math.log(family.n_observed_parent_states)
        return log_rising_factorial(counts, log_alpha)
