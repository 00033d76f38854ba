"""Marginal likelihoods of Dirichlet priors: BDeu, K2, BDs and BDJ."""

import math
from typing import ClassVar

import numpy as np

from skbn.scores.score import Family, Formula, keyed, no_constant
from skbn.scores.special import log_of, log_rising_factorial, log_rising_factorials
from skbn.scores.tails import Tail, rising_tail


def _bdeu_terms(counts: np.ndarray, n_states: int, family: Family) -> np.ndarray:
    return log_rising_factorial(counts, math.log(family.ess) - log_of(n_states))


def _bdeu_tail(n_states: int, family: Family) -> Tail | None:
    return rising_tail(math.log(family.ess) - log_of(n_states))


class BDeu(Formula):
    """Log marginal likelihood with the uniform Dirichlet prior of Buntine (1991), in nats.

    The sum over parent configurations j and child states k of
    ln G(N_jk + ess/(r q)) - ln G(ess/(r q)), minus the sum over j of
    ln G(N_j + ess/q) - ln G(ess/q). Equation 2 of Steck (2008) with alpha_jk = ess/(r q);
    Heckerman, Geiger and Chickering (1995). Equivalent graphs score the same.
    """

    tabulated: ClassVar[bool] = True
    set_function: ClassVar[bool] = True

    def set_terms(self, counts: np.ndarray, n_states: int, family: Family) -> np.ndarray:
        return _bdeu_terms(counts, n_states, family)

    def set_terms_of_many(
        self, counts: np.ndarray, which: np.ndarray, log_states: np.ndarray, family: Family
    ) -> np.ndarray:
        """Set terms of whole counts, the i-th of a set of ``exp(log_states[which[i]])`` states."""
        return log_rising_factorials(counts, which, math.log(family.ess) - log_states)

    @keyed(
        lambda family: family.cardinality * family.n_parent_states,
        lambda family: _bdeu_tail(family.cardinality * family.n_parent_states, family),
    )
    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return _bdeu_terms(counts, family.cardinality * family.n_parent_states, family)

    @keyed(
        lambda family: family.n_parent_states,
        lambda family: _bdeu_tail(family.n_parent_states, family),
    )
    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return _bdeu_terms(counts, family.n_parent_states, family)

    constant = no_constant


class K2(Formula):
    """Log marginal likelihood with every Dirichlet parameter 1, in nats.

    The sum over j, k of ln G(N_jk + 1) minus the sum over j of ln G(N_j + r) - ln G(r)
    (Cooper and Herskovits, 1992). Equivalent graphs may differ.
    """

    tabulated: ClassVar[bool] = True
    set_function: ClassVar[bool] = False
    uses_ess: ClassVar[bool] = False

    @keyed(lambda family: None, lambda family: rising_tail(0.0))
    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return log_rising_factorial(counts, 0.0)

    @keyed(
        lambda family: family.cardinality,
        lambda family: rising_tail(math.log(family.cardinality)),
    )
    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return log_rising_factorial(counts, math.log(family.cardinality))

    constant = no_constant


class BDs(Formula):
    """Log marginal likelihood with the prior on observed parent configurations only, in nats.

    As `BDeu` with q~, the number of parent configurations that occur, in place of q: the sum over
    j, k of ln G(N_jk + ess/(r q~)) - ln G(ess/(r q~)), minus the sum over j of
    ln G(N_j + ess/q~) - ln G(ess/q~). Bayesian Dirichlet sparse, Scutari (2016). Equivalent graphs
    may differ where parent configurations are missing.
    """

    tabulated: ClassVar[bool] = False
    set_function: ClassVar[bool] = False

    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        n_cells = family.cardinality * family.n_observed_parent_states
        return log_rising_factorial(counts, math.log(family.ess) - log_of(n_cells))

    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        log_alpha = math.log(family.ess) - log_of(family.n_observed_parent_states)
        return log_rising_factorial(counts, log_alpha)

    constant = no_constant


class BDJ(Formula):
    """Log marginal likelihood with every Dirichlet parameter 1/2, Jeffreys' prior, in nats.

    The sum over j, k of ln G(N_jk + 1/2) - ln G(1/2) minus the sum over j of
    ln G(N_j + r/2) - ln G(r/2) (Suzuki, 2017). Equivalent graphs may differ.
    """

    tabulated: ClassVar[bool] = True
    set_function: ClassVar[bool] = False
    uses_ess: ClassVar[bool] = False

    @keyed(lambda family: None, lambda family: rising_tail(math.log(0.5)))
    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return log_rising_factorial(counts, math.log(0.5))

    @keyed(
        lambda family: family.cardinality,
        lambda family: rising_tail(math.log(0.5 * family.cardinality)),
    )
    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return log_rising_factorial(counts, math.log(0.5 * family.cardinality))

    constant = no_constant
