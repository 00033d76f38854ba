"""Normalised maximum likelihood: the regret of a multinomial, and FNML and QNML made of it."""

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import gammaincc, gammaln

from skbn.scores.gamma import ENTROPY
from skbn.scores.likelihood import LogLikelihood, entropy_terms
from skbn.scores.score import Family, Formula, keyed

# States from which `log_regret` integrates, and from which `log_regret_of_any` approximates.
_INTEGRAL_FROM = 256
APPROXIMATE_FROM = 10**8
# Regrets of counts below this are kept, once per number of states.
_KEPT = 1024
_STIRLING_FROM = 32.0
# From here on floats are not whole because they count anything, and what cancels in the formulas
# below is more than what is left.
_COUNTABLE = 2.0**53
# Standard deviations from the peak at which the integrand is taken. For a Gaussian the sum over a
# grid of this step is the integral to 34 digits, and 9 on either side leave out 1e-18 of it.
_STEP = 0.5
_GRID = np.arange(-9.0, 9.0 + _STEP, _STEP)


def log_regret(counts: np.ndarray, n_states: int) -> np.ndarray:
    """ln C(n, K) for every count n, to 13 digits (for counts beyond 10^10, to 11).

    In nats, for whole counts below 2**53 and K within the range of a float.
    """
    counts = np.asarray(counts)
    distinct, which = np.unique(counts, return_inverse=True)
    regrets = np.empty(len(distinct))
    n_kept = int(np.searchsorted(distinct, _KEPT))
    if n_kept:
        regrets[:n_kept] = _kept_regrets(n_states)[distinct[:n_kept].astype(np.int64)]
    if n_kept < len(distinct):
        regrets[n_kept:] = _log_regret(distinct[n_kept:].astype(np.float64), n_states)
    return regrets[which].reshape(counts.shape)


@lru_cache(maxsize=256)
def _kept_regrets(n_states: int) -> np.ndarray:
    return np.append(0.0, _log_regret(np.arange(1.0, _KEPT), n_states))


def _log_regret(n: np.ndarray, n_states: int) -> np.ndarray:
    """ln C(n, K) for floats n >= 1."""
    _refuse_uncountable(float(n.max()))
    if n_states == 1:
        return np.zeros(len(n))
    return (_recurrence if n_states < _INTEGRAL_FROM else _integral)(n, n_states)


def _refuse_uncountable(n: float) -> None:
    if n >= _COUNTABLE:
        raise ValueError(
            f"The NML scores need whole counts below 2**53 (9e15), and sample_weight adds up to "
            f"{n:g}. Divide the weights, or choose another score, such as 'bdeu' or 'bic'."
        )


def _recurrence(n: np.ndarray, n_states: int) -> np.ndarray:
    """ln C(n, K) for floats n >= 1 and K >= 2, in a time that grows with K.

    C(n, K + 2) = C(n, K + 1) + (n / K) C(n, K) (Kontkanen and Myllymaki, 2007), as a recurrence of
    the ratios C(n, K + 1) / C(n, K), whose logarithms add up without overflow.
    """
    ratio = binary_regret(n)
    total = np.log(ratio)
    for k in range(1, n_states - 1):
        excess = n / (k * ratio)
        total += np.log1p(excess)
        ratio = 1.0 + excess
    return total


def binary_regret(n: np.ndarray) -> np.ndarray:
    """C(n, 2) for floats n >= 1, to 14 digits and in constant time.

    Notes
    -----
    The sum over h of binom(n, h) (h/n)^h ((n-h)/n)^(n-h) equals the sum over j = 0..n of
    n! / ((n-j)! n^j) (Mononen and Myllymaki, 2008), which is 1 + n! e^n n^-n Q(n, n) with Q the
    regularised upper incomplete gamma function.
    """
    log_factor = np.where(
        n < _STIRLING_FROM,
        gammaln(n + 1.0) - n * np.log(n) + n,
        0.5 * np.log(2.0 * np.pi * n) + _stirling_remainder(np.maximum(n, _STIRLING_FROM)),
    )
    return 1.0 + np.exp(log_factor) * gammaincc(n, n)


def _stirling_remainder(x):
    """ln G(x) - [(x - 1/2) ln x - x + ln(2 pi) / 2] for x >= 32, to the last digit."""
    square = 1.0 / (x * x)
    return (((-square / 1680.0 + 1 / 1260.0) * square - 1 / 360.0) * square + 1 / 12.0) / x


def _integral(n: np.ndarray, n_states: int) -> np.ndarray:
    """ln C(n, K) for floats n >= 1 and many states, in constant time.

    Notes
    -----
    The generating function of the regrets gives C(n, K) as the sum over j = 0..n of
    n! / ((n-j)! n^j) binom(K + j - 2, j). That is the mean of (1 + S/n)^n over S with the density
    S^(k-1) e^-S / G(k), k = K - 1, and with S = n e^u an integral over u of the exponential of
    k u - n e^u + n ln(1 + e^u). The exponent is concave, with its peak at t = e^u where
    n t^2 = k (1 + t) and nearly a parabola for large k: the trapezoidal rule converges at once.
    """
    k = n_states - 1.0
    a = k / n
    t = 0.5 * (a + np.sqrt(a * (a + 4.0)))
    s = t / (1.0 + t)
    width = 1.0 / (s * np.sqrt(n * (2.0 + t)))
    v = np.outer(width, _GRID)
    e = np.expm1(v)
    x = s[:, None] * e
    heights = np.exp(k * (v - e) - n[:, None] * (x - np.log1p(x)))
    peak = k * np.log1p(1.0 / t) + n * (np.log1p(t) - s)
    gamma = _stirling_remainder(k) - 0.5 * math.log(k / (2.0 * math.pi))
    return peak - gamma + np.log(_STEP * width * heights.sum(axis=1))


@lru_cache(maxsize=4096)
def log_regret_of_any(n: float, n_states: int) -> float:
    """ln C(n, K) of one count for any integer K, however large.

    Of a whole count n below 2**53.

    As `log_regret` for K < 10^8. From there on the approximation of Szpankowski and Weinberger,
    which exceeds ln C by less than 0.19 / K: by less than 2e-9 nats.
    """
    if n == 0:
        return 0.0
    _refuse_uncountable(n)
    if n_states < APPROXIMATE_FROM:
        return float(_log_regret(np.array([n], dtype=np.float64), n_states)[0])
    return approximate_log_regret(n, n_states)


def approximate_log_regret(n: float, n_states: int) -> float:
    """ln C(n, K) by Szpankowski and Weinberger (2012), for n >= 1 and any integer K >= 1.

    Too large by less than 0.19 / K for K > 100: most where n is about 10 K, by 1 / (6 K) for n far
    above that, and by less and less below. It tends to n ln(K / n) as K grows, as it should.

    Notes
    -----
    With a = K / n and c = 1/2 + 1/2 sqrt(1 + 4/a) it is
    n [ln a + (a + 2) ln c - 1/c] - 1/2 ln(c + 2/a). Written with x = c - 1, for which
    x (1 + x) = 1/a, so that nothing cancels where a is far above or far below 1.
    """
    log_a = math.log(n_states) - math.log(n)
    inverse_a = math.exp(-log_a)
    x = 2.0 * inverse_a / (1.0 + math.sqrt(1.0 + 4.0 * inverse_a))
    # ln a + 2 ln c is `leading`; a ln c - 1/c is (slope - 1) / (1 + x).
    leading = log_a + 2.0 * math.log1p(x) if log_a > 0 else math.log1p(1.0 / x)
    slope = math.log1p(x) / x if x > 0 else 1.0
    return n * (leading + (slope - 1.0) / (1.0 + x)) - 0.5 * math.log1p(x + 2.0 * inverse_a)


class FNML(Formula):
    """Factorised normalised maximum likelihood, in nats: loglik - sum_j ln C(N_j, r).

    C(n, K) is the exact regret of a multinomial variable of K states, see `skbn.scores.nml`
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
    less than 2e-9 nats, whatever N. See `skbn.scores.nml`.
    """

    needs_whole_counts: ClassVar[bool] = True

    def constant(self, family: Family) -> float:
        n, q = family.n_samples, family.n_parent_states
        return log_regret_of_any(n, q) - log_regret_of_any(n, family.cardinality * q)
