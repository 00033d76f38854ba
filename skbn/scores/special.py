"""Logarithms of gamma-function ratios that stay exact where plain differences do not."""

import math

import numpy as np
from scipy.special import gammaln

_STIRLING_FROM = 32.0
# Bernoulli numbers B_2k / (2k (2k - 1)) of the Stirling series, k = 1..6.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
# Below it floats lose digits.
_SMALLEST = 1e-300
_LOG_SMALLEST = math.log(_SMALLEST)


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
    From alpha = 32 on the difference of the two Stirling series is taken term by term, since
    ln G(alpha) itself grows so large that a difference of two of them would keep no digits. Below
    32 the identity ln G(alpha) = ln G(1 + alpha) - ln alpha takes the pole out. A count below 1 may
    be tiny beside alpha, and the two gamma terms then cancel: the recurrence
    G(x + 1) = x G(x) moves alpha beyond 32 instead.
    """
    n = np.asarray(counts, dtype=np.float64)
    alpha = math.exp(log_alpha)
    if alpha >= _STIRLING_FROM:
        return _stirling_difference(n, alpha, log_alpha)
    terms = np.asarray(gammaln(n + alpha) + (log_alpha - gammaln(1.0 + alpha)))
    if n.min(initial=1.0) < 1:
        terms[n == 0] = 0.0
        few = (n > 0) & (n < 1)
        terms[few] = _difference_by_recurrence(n[few], alpha, log_alpha)
    return terms


def _difference_by_recurrence(n: np.ndarray, alpha: float, log_alpha: float) -> np.ndarray:
    if log_alpha > _LOG_SMALLEST:
        total = -np.log1p(n / alpha)
    else:
        total = -np.logaddexp(0.0, np.log(n) - log_alpha)
    n_steps = math.ceil(_STIRLING_FROM - alpha)
    for step in range(1, n_steps):
        total -= np.log1p(n / (alpha + step))
    alpha += n_steps
    return total + _stirling_difference(n, alpha, math.log(alpha))


def _stirling_difference(n: np.ndarray, alpha: float, log_alpha: float) -> np.ndarray:
    """ln G(n + alpha) - ln G(alpha) for alpha >= 32, to the last digits also where n is tiny."""
    step = n / alpha
    ratio = np.log1p(step)
    # alpha ln(1 + n / alpha) - n, as n times a number; the quotient is 1 where step underflows.
    quotient = np.divide(ratio, step, out=np.ones_like(step), where=step > _SMALLEST)
    total = n * ((quotient - 1.0) + (log_alpha + ratio)) - 0.5 * ratio
    for k, coefficient in enumerate(_STIRLING):
        power = 2 * k + 1
        total += coefficient * alpha**-power * np.expm1(-power * ratio)
    return total
