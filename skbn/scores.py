"""Decomposable scores as sums over counts.

The local score of a child given its parents is::

    sum_jk f(N_jk) - sum_j g(N_j) + c

with N_jk the number of rows in parent configuration j and child state k, N_j = sum_k N_jk, both
over observed states only. A score is a small object with three methods: f is `cell_terms`, g is
`parent_terms` and c is `constant`. All are in nats, and higher is better.
"""

import math
from collections.abc import Callable, Hashable
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from skbn.regret import log_regret, log_regret_of_any
from skbn.special import float_of, log_of, log_rising_factorial, log_rising_factorials
from skbn.tails import ENTROPY, Tail, rising_tail


class Family(NamedTuple):
    """What a score may use of a child and its parents, beside the counts.

    Parameters
    ----------
    cardinality : int
        Number r of states of the child.
    n_parent_states : int
        Product q of the parents' cardinalities (1 without parents), as an exact integer.
    n_parents : int
        Number of parents.
    n_variables : int
        Number of variables of the network.
    n_samples : float
        Sum N of the weights of the rows.
    ess : float
        Equivalent sample size of the Dirichlet prior, in rows.
    n_observed_parent_states : int or None, default=None
        Number q~ of parent configurations that occur; None while terms are tabulated.

    Examples
    --------
    What BDeu adds to the count of every cell:

    >>> from skbn import Family
    >>> family = Family(
    ...     cardinality=2, n_parent_states=6, n_parents=2, n_variables=4, n_samples=100.0, ess=3.0
    ... )
    >>> family.ess / (family.cardinality * family.n_parent_states)
    0.25
    """

    cardinality: int
    n_parent_states: int
    n_parents: int
    n_variables: int
    n_samples: float
    ess: float
    n_observed_parent_states: int | None = None


@runtime_checkable
class Score(Protocol):
    """What a score is; write a class with these methods to bring your own.

    An object of a class with these three methods is accepted as ``score_type`` wherever a name
    is. A class attribute ``tabulated = True`` says that the terms depend on nothing but the
    count, the cardinalities, N and the ESS, which lets them be tabulated once per shape and summed
    natively; without it every family is evaluated on its own counts. The terms are one number per
    count, or one number for all of them. ``needs_whole_counts = True`` has fractional weights
    refused before anything is scored. ``uses_ess = False`` says that the ESS does not enter, so
    that choosing one takes no further search.

    Examples
    --------
    The criterion of Hannan and Quinn, with ln ln N in place of the (ln N) / 2 of BIC:

    >>> import numpy as np
    >>> from skbn import Score, structure_score
    >>> class HannanQuinn:
    ...     tabulated = True
    ...     uses_ess = False
    ...     def cell_terms(self, counts, family):
    ...         return counts * np.log(counts)
    ...     def parent_terms(self, counts, family):
    ...         return counts * np.log(counts)
    ...     def constant(self, family):
    ...         n_parameters = (family.cardinality - 1) * family.n_parent_states
    ...         return -np.log(np.log(family.n_samples)) * n_parameters
    >>> isinstance(HannanQuinn(), Score)
    True
    >>> X = [["a", 0]] * 6 + [["b", 1]] * 2
    >>> round(structure_score(X, [("x0", "x1")], score_type=HannanQuinn()), 3)
    -6.695
    """

    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        """Compute f(N_jk), what each count of a state of child and parents adds.

        Parameters
        ----------
        counts : ndarray of shape (n_counts,), float64
            Counts N_jk, all above zero and in no particular order; of a score that is
            ``tabulated`` those that may occur.
        family : Family
            Cardinalities, N and the ESS.

        Returns
        -------
        ndarray of shape (n_counts,), or float
            In nats, one number per count or one for all of them.
        """

    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        """Compute g(N_j), what each count of a parent configuration takes away.

        Parameters
        ----------
        counts : ndarray of shape (n_counts,), float64
            Counts N_j, all above zero and in no particular order; of a score that is
            ``tabulated`` those that may occur.
        family : Family
            Cardinalities, N and the ESS.

        Returns
        -------
        ndarray of shape (n_counts,), or float
            In nats, one number per count or one for all of them.
        """

    def constant(self, family: Family) -> float:
        """Compute c, what does not depend on the counts, for instance minus a penalty.

        Parameters
        ----------
        family : Family
            Cardinalities, N and the ESS.

        Returns
        -------
        float
            In nats, added once for each variable; minus infinity forbids the parents.
        """


def terms_of(
    function: Callable[[np.ndarray, Family], np.ndarray], counts: np.ndarray, family: Family
) -> np.ndarray:
    """`cell_terms` or `parent_terms` as one float per count."""
    terms = np.asarray(function(counts, family), dtype=np.float64)
    return terms if terms.shape == counts.shape else np.broadcast_to(terms, counts.shape)


def keyed(
    key: Callable[[Family], Hashable],
    tail: Callable[[Family], Tail | None] | None = None,
) -> Callable:
    """Mark `cell_terms` or `parent_terms` of a tabulated score with all that its values depend on.

    Where the keys of two families are equal, of one method or of both, so are the terms; they are
    then evaluated once. A method that overrides a marked one is not marked itself, so that it need
    not know of this.

    Parameters
    ----------
    key : callable
        Of a family, from the fields that differ between the families of one table.
    tail : callable, optional
        Of a family: the terms of large counts as a formula, if there is one.
    """

    def mark(method: Callable) -> Callable:
        method.key, method.tail = key, tail
        return method

    return mark


def _entropy_tail(family: Family) -> Tail:
    return ENTROPY


def entropy_terms(counts: np.ndarray) -> np.ndarray:
    """N ln N for every count, 0 at N = 0."""
    counts = np.asarray(counts, dtype=np.float64)
    return counts * np.log(np.where(counts > 0, counts, 1.0))


def no_constant(self: Score, family: Family) -> float:
    """The constant of scores that have none."""
    return 0.0


def _bdeu_terms(counts: np.ndarray, n_states: int, family: Family) -> np.ndarray:
    return log_rising_factorial(counts, math.log(family.ess) - log_of(n_states))


def _bdeu_tail(n_states: int, family: Family) -> Tail | None:
    return rising_tail(math.log(family.ess) - log_of(n_states))


class _Formula:
    """A score without parameters: all of one class are equal."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}()"


class BDeu(_Formula):
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


class LogLikelihood(_Formula):
    """Maximised log-likelihood, in nats.

    The sum over j, k of N_jk ln(N_jk / N_j). Never decreases with a further parent.
    """

    tabulated: ClassVar[bool] = True
    set_function: ClassVar[bool] = True
    uses_ess: ClassVar[bool] = False

    def set_terms(self, counts: np.ndarray, n_states: int, family: Family) -> np.ndarray:
        return entropy_terms(counts)

    def set_terms_of_many(
        self, counts: np.ndarray, which: np.ndarray, log_states: np.ndarray, family: Family
    ) -> np.ndarray:
        return entropy_terms(counts)

    @keyed(lambda family: None, _entropy_tail)
    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return entropy_terms(counts)

    @keyed(lambda family: None, _entropy_tail)
    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return entropy_terms(counts)

    constant = no_constant


def n_free_parameters(family: Family) -> float:
    """(r - 1) q, the free parameters of one conditional probability table; may be infinite."""
    return float_of((family.cardinality - 1) * family.n_parent_states)


class BIC(LogLikelihood):
    """Bayesian information criterion, in nats: loglik - (ln N / 2) (r - 1) q.

    Schwarz (1978). Not multiplied by -2: higher is better.
    """

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
        return super().constant(family) - math.log(n) - log_of(math.comb(n, p))


class K2(_Formula):
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


class BDs(_Formula):
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


class BDJ(_Formula):
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


class FNML(_Formula):
    """Factorised normalised maximum likelihood, in nats: loglik - sum_j ln C(N_j, r).

    C(n, K) is the exact regret of a multinomial variable of K states, see `skbn.regret`
    (Silander, Roos, Kontkanen and Myllymaki, 2008). Without parameters; whole counts only.
    Equivalent graphs may differ.
    """

    tabulated: ClassVar[bool] = True
    set_function: ClassVar[bool] = False
    uses_ess: ClassVar[bool] = False
    needs_whole_counts: ClassVar[bool] = True

    @keyed(lambda family: None, _entropy_tail)
    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return entropy_terms(counts)

    @keyed(lambda family: family.cardinality)
    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return entropy_terms(counts) + log_regret(counts, family.cardinality)

    constant = no_constant


class QNML(LogLikelihood):
    """Quotient normalised maximum likelihood, in nats: loglik - ln C(N, r q) + ln C(N, q).

    The quotient of the codes for child and parents together and for the parents, each as one
    multinomial variable (Silander, Leppä-aho, Jääsaari and Roos, 2018; arXiv 2408.14935). Without
    parameters; whole counts only. Equivalent graphs score the same.

    The regret ln C(N, K) is exact, to 13 digits, for K below 10^8 states. From there on it is the
    approximation of Szpankowski and Weinberger (2012), which is too large by less than 0.19 / K:
    less than 2e-9 nats, whatever N. See `skbn.regret`.
    """

    uses_ess: ClassVar[bool] = False
    needs_whole_counts: ClassVar[bool] = True

    def constant(self, family: Family) -> float:
        n, q = family.n_samples, family.n_parent_states
        return log_regret_of_any(n, q) - log_regret_of_any(n, family.cardinality * q)


SCORES: dict[str, Score] = {
    "bdeu": BDeu(),
    "loglik": LogLikelihood(),
    "bic": BIC(),
    "aic": AIC(),
    "mdl": MDL(),
    "k2": K2(),
    "bds": BDs(),
    "bdj": BDJ(),
    "fnml": FNML(),
    "qnml": QNML(),
}


def as_score(score_type: "str | Score") -> Score:
    """The score object that `score_type` names, or `score_type` itself if it is one.

    Raises
    ------
    ValueError
        For a name that is not a score's.
    TypeError
        For an object that lacks one of the methods of `Score`.
    """
    if isinstance(score_type, str):
        if score_type not in SCORES:
            raise ValueError(
                f"score_type must be one of {', '.join(map(repr, SCORES))} or a score object, "
                f"got {score_type!r}."
            )
        return SCORES[score_type]
    missing = [
        name
        for name in ("cell_terms", "parent_terms", "constant")
        if not callable(getattr(score_type, name, None))
    ]
    if missing or isinstance(score_type, type):
        what = "a class, not an object" if isinstance(score_type, type) else repr(score_type)
        raise TypeError(
            "score_type must be the name of a score or an object with the methods cell_terms, "
            f"parent_terms and constant, got {what}"
            + (f" without {', '.join(missing)}." if missing else "; call it.")
        )
    return score_type
