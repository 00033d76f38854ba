"""The log Bayes factor of an edge, exactly (Eq. 7) and for large equivalent sample sizes (Eq. 8).

H. Steck. Learning the Bayesian Network Structure: Dirichlet Prior versus Data. UAI 2008.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import factorial, polygamma

from skbn.messages import brief
from skbn.scores.gamma import float_of, log_rising_excess
from skbn.theory.contingency import Contingency, as_contingency

_SIGNS = (1, -1, -1, 1)
# Up to this many times the smallest count or 1, all alpha are small: a power series in ess.
_SMALL_UP_TO = 1e-3
_N_SMALL_TERMS = 6
# From this many times the largest count over alpha on, the factor is a power series in 1 / ess.
_SERIES_FROM = 1000.0
# Bernoulli polynomials B_k(n) - B_k, k = 2 .. 7: coefficients of n, n^2, ...
_BERNOULLI = tuple(
    tuple(Fraction(text) for text in row.split())
    for row in (
        "-1 1",
        "1/2 -3/2 1",
        "0 1 -2 1",
        "-1/6 0 5/3 -5/2 1",
        "0 -1/2 0 5/2 -3 1",
        "1/6 0 -7/6 0 7/2 -7/2 1",
    )
)
# Numbers held at once by an evaluation over many equivalent sample sizes.
_BLOCK = 2**18


def uniformity(counts: Any, n_parent_states: float | None = None) -> float:
    """How far two variables are from being additive given the parents (Eqs. 4 and 5).

    With p(a, b, pi) = counts / N and |.| numbers of joint states::

        U = |A,B,P| sum p(a,b,pi)^2 - |A,P| sum p(a,pi)^2 - |B,P| sum p(b,pi)^2 + |P| sum p(pi)^2

    U is what the mutual information is in the Akaike criterion when the equivalent sample size is
    large: the edge between A and B is then favoured if N U > d_F (`large_ess_favours_edge`).

    Parameters
    ----------
    counts : array-like of shape (|A|, |B|, observed parent states), or Contingency
        Counts of A, B and the parents, whole or fractional; shape (|A|, |B|) without parents. A
        `Contingency` comes from a table, by `contingency_table`.
    n_parent_states : int or float, default=None
        |P|, where there are more parent states than the array lists; 1e300 is legal.

    Returns
    -------
    float
        U, without unit; symmetric in A and B and never negative. Infinite if beyond every float.

    Notes
    -----
    Written in the conditional distributions of each parent state, U is a sum of squares::

        |A||B||P| sum_pi p(pi)^2 sum_ab
            [ p(a,b|pi) - p(a|pi)/|B| - p(b|pi)/|A| + 1/(|A||B|) ]^2

    so U = 0 iff the table of every occurring parent state is additive, p(a,b|pi) = p(a|pi)/|B| +
    p(b|pi)/|A| - 1/(|A||B|). Independence with one uniform marginal is a special case; dependent
    variables can have U = 0 as well (the second example), and independent variables with two
    skewed marginals have U > 0 (the third). The sums are taken in exact rational arithmetic and
    rounded once.

    References
    ----------
    H. Steck. Learning the Bayesian Network Structure: Dirichlet Prior versus Data. UAI 2008.

    Examples
    --------
    >>> from skbn import uniformity
    >>> uniformity([[50, 0], [0, 50]])
    1.0
    >>> uniformity([[40, 30], [20, 10]])
    0.0
    >>> round(uniformity([[81, 9], [9, 1]]), 4)
    0.4096
    """
    table = as_contingency(counts, n_parent_states)
    n, denominator = table.n_samples_exactly
    return float_of_fraction(
        table.n_parent_states * squared_deviation(table) / Fraction(n, denominator) ** 2
    )


def squared_deviation(table: Contingency) -> Fraction:
    """N^2 U / |P| = |A||B| sum n_ab,pi^2 - |A| sum n_a,pi^2 - |B| sum n_b,pi^2 + sum n_pi^2."""
    a, b = table.cardinality_a, table.cardinality_b
    squares = [margin.power_sum(2) for margin in table.margins]
    total = a * b * squares[0] - a * squares[1] - b * squares[2] + squares[3]
    return Fraction(total, table.n_samples_exactly[1] ** 2)


def float_of_fraction(value: Fraction) -> float:
    """The nearest float, infinite where the fraction is beyond every float."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class EdgeBayesFactor:
    """The log Bayes factor of one edge as a function of the equivalent sample size (Eq. 7).

    It is a sum over the sets (A,B,P), (A,P), (B,P), P with signs +, -, -, + of the log rising
    factorials of their counts. The parts n ln(alpha) of these cancel between the sets and are
    never computed. For large `ess` what remains of Eq. 7 is a power series in 1 / ess whose leading
    terms cancel as well: its coefficients are taken in exact rational arithmetic, so that the
    value keeps its digits and its sign however small it is. Its first term is Eq. 8. For small
    `ess` it is a straight line in ln ess, whose slope is a difference of numbers of observed
    states, and a power series in ess.

    Parameters
    ----------
    table : Contingency
    """

    def __init__(self, table: Contingency) -> None:
        self.table = table
        self._log_sizes = [math.log(size) for size in table.set_sizes]
        self._sizes = [float_of(size) for size in table.set_sizes]

    def at(self, ess: float) -> float:
        """The log Bayes factor at one equivalent sample size, in nats."""
        return float(self.values(np.array([math.log(ess)]), np.array([ess]))[0][0])

    def values(
        self, log_ess: np.ndarray, ess: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The log Bayes factor at many equivalent sample sizes, and a bound on its rounding.

        Parameters
        ----------
        log_ess : ndarray of shape (n,)
            Their natural logarithms; they may be beyond the floats themselves.
        ess : ndarray of shape (n,), optional
            The values themselves, where they are known.

        Returns
        -------
        values, noise : ndarrays of shape (n,)
            In nats.
        """
        values, noise = np.empty(len(log_ess)), np.zeros(len(log_ess))
        if ess is None:
            ess = np.exp(np.minimum(log_ess, 709.0))
        large = log_ess > self.log_series_from
        values[large] = self._large(log_ess[large])
        small = log_ess < self.log_small_to
        if small.any():
            values[small], noise[small] = self._small(log_ess[small])
        summed = np.flatnonzero(~(large | small))
        per_block = max(1, _BLOCK // max(len(margin.counts) for margin in self.table.margins))
        for start in range(0, len(summed), per_block):
            block = summed[start : start + per_block]
            values[block], noise[block] = self._sums(log_ess[block], ess[block])
        return values, noise

    def large_ess_at(self, ess: float) -> float:
        """The first term of the series at one equivalent sample size, in nats (Eq. 8)."""
        slope = self.table.n_parent_states * self.large_ess_coefficient
        return float_of_fraction(slope / Fraction(ess))

    @property
    def large_ess_coefficient(self) -> Fraction:
        """The coefficient of 1 / ess over |P|: (N / 2) (N U - d_F) / |P|, exactly (Eq. 8)."""
        n = Fraction(*self.table.n_samples_exactly)
        freedom = (self.table.cardinality_a - 1) * (self.table.cardinality_b - 1)
        return (squared_deviation(self.table) - n * freedom) / 2

    @cached_property
    def log_series_from(self) -> float:
        """ln of the equivalent sample size from which on the power series is used."""
        return math.log(_SERIES_FROM) + self.log_reach

    @cached_property
    def scaled_coefficients(self) -> np.ndarray:
        """Coefficients of the powers 1 .. 6 of z = exp(log_reach) / ess in the series."""
        a, b = self.table.cardinality_a, self.table.cardinality_b
        scale = 1 << self.table.margins[0].shift
        reach = self._reach
        coefficients = [Fraction(0)] * len(_BERNOULLI)
        for sign, size, margin in zip(_SIGNS, (a * b, a, b, 1), self.table.margins, strict=True):
            sums = [
                Fraction(margin.power_sum(power), scale**power)
                for power in range(1, len(_BERNOULLI) + 2)
            ]
            for j, polynomial in enumerate(_BERNOULLI, start=1):
                value = sum(c * s for c, s in zip(polynomial, sums, strict=False))
                sign_of_power = sign if j % 2 else -sign
                coefficients[j - 1] += sign_of_power * Fraction(size, reach) ** j * value / (
                    j * (j + 1)
                )
        return np.array([float_of_fraction(c) for c in coefficients])

    @cached_property
    def _reach(self) -> int:
        """A whole number above |A||B| times every count."""
        largest = max(float(margin.counts[-1]) for margin in self.table.margins)
        return self.table.cardinality_a * self.table.cardinality_b * (int(largest) + 1)

    @cached_property
    def log_reach(self) -> float:
        """ln of a bound on |S| times the largest count, over the four sets S."""
        return math.log(self._reach * self.table.n_parent_states)

    @cached_property
    def log_small_to(self) -> float:
        """ln of the equivalent sample size up to which the line and its power series are used."""
        smallest = min(1.0, float(self.table.margins[0].counts[0]))
        if smallest < 1e-30:  # the derivatives of ln G would leave the floats
            return -math.inf
        return math.log(_SMALL_UP_TO * smallest) + self._log_sizes[3]

    @cached_property
    def _small_parts(self) -> tuple[int, list[float], np.ndarray]:
        """Slope, terms of the constant, and coefficients of the powers of ess / |P|."""
        n_states = [margin.n_states for margin in self.table.margins]
        constant = [
            -(n_states[0] - n_states[1]) * math.log(self.table.cardinality_a),
            -(n_states[0] - n_states[2]) * math.log(self.table.cardinality_b),
        ]
        # ln G(n) of equal counts cancels between the sets; only what is left is computed.
        left: Counter[int] = Counter()
        a, b = self.table.cardinality_a, self.table.cardinality_b
        powers = np.arange(1, _N_SMALL_TERMS + 1)
        parts = []
        for sign, share, margin in zip(
            _SIGNS, (1 / (a * b), 1 / a, 1 / b, 1.0), self.table.margins, strict=True
        ):
            for number, times in zip(
                margin.numbers.tolist(), margin.multiplicities.tolist(), strict=True
            ):
                left[number] += sign * times
            derivatives = polygamma(powers[:, None] - 1, margin.counts) - polygamma(
                powers[:, None] - 1, 1.0
            )
            parts.append(sign * share**powers * (derivatives @ margin.multiplicities))
        coefficients = _add_up(parts)
        unit = 1 << self.table.margins[0].shift
        constant += [times * math.lgamma(n / unit) for n, times in sorted(left.items()) if times]
        slope = sum(sign * n for sign, n in zip(_SIGNS, n_states, strict=True))
        return slope, constant, coefficients / factorial(powers)

    def _small(self, log_ess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slope, constant, coefficients = self._small_parts
        log_alpha = log_ess - self._log_sizes[3]
        alpha = np.exp(log_alpha)
        series = np.zeros_like(alpha)
        for coefficient in coefficients[::-1]:
            series = (series + coefficient) * alpha
        line = slope * log_alpha + math.fsum(constant)
        magnitude = np.abs(slope * log_alpha) + math.fsum(map(abs, constant)) + np.abs(series)
        return line + series, 4e-15 * magnitude

    def _large(self, log_ess: np.ndarray) -> np.ndarray:
        z = np.exp(self.log_reach - log_ess)
        total = np.zeros_like(z)
        for coefficient in self.scaled_coefficients[::-1]:
            total = (total + coefficient) * z
        return total

    def _sums(self, log_ess: np.ndarray, ess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts, magnitude = [], np.zeros(len(log_ess))
        for sign, size, log_size, margin in zip(
            _SIGNS, self._sizes, self._log_sizes, self.table.margins, strict=True
        ):
            log_alpha = log_ess - log_size
            # Divided where both are floats; otherwise the logarithm is all there is.
            alpha = np.where((ess < 1e300) & (size < 1e300), ess / size, np.exp(log_alpha))
            terms = margin.multiplicities * log_rising_excess(
                margin.counts, alpha[:, None], log_alpha[:, None]
            )
            parts.append(sign * terms.sum(axis=1))
            magnitude += np.abs(terms).sum(axis=1)
        return _add_up(parts), 4e-15 * magnitude


def _add_up(parts: list[np.ndarray]) -> np.ndarray:
    """Sum over the four sets, rounded once: A and B may change places, and equal parts cancel."""
    return np.array([math.fsum(column) for column in np.stack(parts, axis=1).tolist()])


def log_bayes_factor(
    counts: Any, *, ess: Any, n_parent_states: float | None = None
) -> float | np.ndarray:
    """Log Bayes factor of the edge between A and B given the parents, under BDeu (Eq. 7).

    ln p(D | ess, G+) - ln p(D | ess, G-) for two graphs that differ in the edge A -> B (or B -> A)
    alone, where the child has the other parents P: the difference of their BDeu scores.

    Parameters
    ----------
    counts : array-like of shape (|A|, |B|, observed parent states), or Contingency
        Counts of A, B and the parents, whole or fractional; shape (|A|, |B|) without parents. A
        `Contingency` comes from a table, by `contingency_table`.
    ess : float or array-like of float
        Equivalent sample size of the Dirichlet prior, in rows; above zero.
    n_parent_states : int or float, default=None
        |P|, where there are more parent states than the array lists; 1e300 is legal.

    Returns
    -------
    float, or ndarray of the shape of `ess`
        In nats. Above zero, the presence of the edge is favoured. Symmetric in A and B.

    Raises
    ------
    ValueError, TypeError
        For what is no table of counts and no number of rows.

    References
    ----------
    H. Steck. Learning the Bayesian Network Structure: Dirichlet Prior versus Data. UAI 2008.

    Examples
    --------
    Independent, but both skewed: a strong prior makes an edge of it.

    >>> from skbn import log_bayes_factor
    >>> log_bayes_factor([[81, 9], [9, 1]], ess=[1, 100]).round(3)
    array([-1.848,  3.324])
    """
    factor = EdgeBayesFactor(as_contingency(counts, n_parent_states))
    ess = _read_ess(ess)
    values = factor.values(np.log(ess).ravel(), ess.ravel())[0].reshape(ess.shape)
    return float(values) if ess.ndim == 0 else values


def large_ess_log_bayes_factor(
    counts: Any, *, ess: Any, n_parent_states: float | None = None
) -> float | np.ndarray:
    """What the log Bayes factor of an edge comes to for large `ess` (Eq. 8).

    N / (2 ess) (N U - d_F), with U the `uniformity` and d_F = |P| (|A| - 1) (|B| - 1). The error
    falls as 1 / ess^2.

    Parameters
    ----------
    counts : array-like of shape (|A|, |B|, observed parent states), or Contingency
        Counts of A, B and the parents; shape (|A|, |B|) without parents.
    ess : float or array-like of float
        Equivalent sample size of the Dirichlet prior, in rows; above zero.
    n_parent_states : int or float, default=None
        |P|, where there are more parent states than the array lists; 1e300 is legal.

    Returns
    -------
    float, or ndarray of the shape of `ess`
        In nats; its sign is the same for every `ess`.

    Raises
    ------
    ValueError, TypeError
        For what is no table of counts and no number of rows.

    Examples
    --------
    >>> from skbn import large_ess_log_bayes_factor, log_bayes_factor
    >>> counts = [[81, 9], [9, 1]]
    >>> large_ess_log_bayes_factor(counts, ess=1e6)
    0.001998
    >>> round(log_bayes_factor(counts, ess=1e6), 6)
    0.001997
    """
    factor = EdgeBayesFactor(as_contingency(counts, n_parent_states))
    ess = _read_ess(ess)
    values = np.array([factor.large_ess_at(value) for value in ess.ravel().tolist()])
    return float(values[0]) if ess.ndim == 0 else values.reshape(ess.shape)


def large_ess_favours_edge(counts: Any, n_parent_states: float | None = None) -> bool:
    """Whether every equivalent sample size above some threshold favours the edge (Corollary 1).

    True iff N U > d_F. The parent states' number cancels, and in counts this reads::

        sum_pi [ |A||B| sum n_ab,pi^2 - |A| sum n_a,pi^2 - |B| sum n_b,pi^2 + n_pi^2 ]
            > N (|A| - 1) (|B| - 1)

    Parameters
    ----------
    counts : array-like of shape (|A|, |B|, observed parent states), or Contingency
        Counts of A, B and the parents; shape (|A|, |B|) without parents.
    n_parent_states : int or float, default=None
        |P|, where there are more parent states than the array lists. It does not change the
        answer.

    Returns
    -------
    bool
        Equality, as where no parent state has more than one row, gives False. Exact, in integers,
        for the counts as they came.

    Notes
    -----
    An edge is favoured because A and B depend on each other given the parents, or because both
    are skewed while they are independent: it need not mean dependence.

    Examples
    --------
    >>> from skbn import large_ess_favours_edge
    >>> large_ess_favours_edge([[81, 9], [9, 1]])
    True
    >>> large_ess_favours_edge([[45, 45], [5, 5]])
    False
    """
    return EdgeBayesFactor(as_contingency(counts, n_parent_states)).large_ess_coefficient > 0


def _read_ess(ess: Any) -> np.ndarray:
    array = np.asarray(ess)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"ess must be a number or an array of numbers, got {brief(ess)}.")
    array = array.astype(np.float64)
    if not (np.isfinite(array) & (array > 0)).all():
        raise ValueError(f"ess must be finite and above zero, got {brief(ess)}.")
    return array
