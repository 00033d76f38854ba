"""Logarithms of gamma-function ratios that stay exact where plain differences do not."""

import math

import numpy as np
from scipy.special import gammaln

_STIRLING_FROM = 32.0
# Bernoulli numbers B_2k / (2k (2k - 1)) of the Stirling series, k = 1..6.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def log_of(value: int | float) -> float:
    """Natural logarithm of a positive number, also of an integer beyond the largest float."""
    return math.log(value)


def float_of(value: int | float) -> float:
    """The nearest float, infinity where the integer is larger than every float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def log_rising_factorials(
    counts: np.ndarray, which: np.ndarray, log_alphas: np.ndarray
) -> np.ndarray:
    """`log_rising_factorial` of whole counts above 0 that have different alphas.

    Parameters
    ----------
    counts : ndarray of shape (n_counts,)
    which : ndarray of shape (n_counts,), int
        Which alpha each count has.
    log_alphas : ndarray of shape (n_alphas,)

    Returns
    -------
    ndarray of shape (n_counts,)
    """
    is_small = log_alphas < math.log(_STIRLING_FROM)
    alphas = np.exp(np.where(is_small, log_alphas, 0.0))
    bases = log_alphas - gammaln(1.0 + alphas)
    terms = gammaln(counts + alphas[which]) + bases[which]
    if not is_small.all():
        others = np.flatnonzero(~is_small[which])
        others = others[np.argsort(which[others], kind="stable")]
        starts = np.flatnonzero(np.diff(which[others], prepend=-1))
        for chosen in np.split(others, starts[1:]) if len(others) else []:
            log_alpha = float(log_alphas[which[chosen[0]]])
            terms[chosen] = log_rising_factorial(counts[chosen], log_alpha)
    return terms


def log_rising_factorial(counts: np.ndarray, log_alpha: float) -> np.ndarray:
    """ln G(n + alpha) - ln G(alpha) for every count n >= 0, G the gamma function.

    Parameters
    ----------
    counts : ndarray of float or int
        Counts n; whole or fractional.
    log_alpha : float
        Natural logarithm of alpha, so that alpha may be smaller than every positive float.

    Returns
    -------
    ndarray of float
        In nats; 0 where the count is 0.

    Notes
    -----
    Below 32 the identity ln G(alpha) = ln G(1 + alpha) - ln alpha takes the pole out. Above it the
    difference of the two Stirling series is taken term by term with log1p, since ln G(alpha) itself
    grows so large that a difference of two of them would keep no digits.
    """
    n = np.asarray(counts, dtype=np.float64)
    if log_alpha < math.log(_STIRLING_FROM):
        alpha = math.exp(log_alpha)
        terms = gammaln(n + alpha) + (log_alpha - gammaln(1.0 + alpha))
        # Where n is tiny beside alpha the two gamma terms cancel, and n = 0 must give exactly 0.
        return np.where(n == 0, 0.0, terms)
    alpha = math.exp(log_alpha)
    ratio = np.log1p(n / alpha)
    return (
        (alpha - 0.5) * ratio
        - n
        + n * (log_alpha + ratio)
        + (_stirling_remainder(n + alpha) - _stirling_remainder(np.float64(alpha)))
    )


def _stirling_remainder(x: np.ndarray) -> np.ndarray:
    """ln G(x) - [(x - 1/2) ln x - x + ln(2 pi) / 2] for x >= 32, to the last digit."""
    inverse = 1.0 / x
    square = inverse * inverse
    total = np.zeros_like(x)
    for coefficient in reversed(_STIRLING):
        total = total * square + coefficient
    return total * inverse
