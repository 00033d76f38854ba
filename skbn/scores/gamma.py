"""Logarithms of ratios of gamma functions that stay exact where plain differences do not."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

_STIRLING_FROM = 32.0
# Bernoulli numbers B_2k / (2k (2k - 1)) of the Stirling series, k = 1..6.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
# Below it floats lose digits.
_SMALLEST = 1e-300
_LOG_SMALLEST = math.log(_SMALLEST)



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

    The i-th has ``log_alphas[which[i]]``.
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

    In nats, for whole and fractional counts. alpha comes as its logarithm, so that it may be
    smaller than every positive float.

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


# Beyond this alpha ln G(alpha) is so large that a difference of two gamma terms loses digits.
_LARGEST_ALPHA = 1024.0


class Tail(NamedTuple):
    """f(n) = (x - half) ln x + constant + linear n + series R(x), with x = n + shift, n >= 1024.

    R(x) = 1 / (12 x) - 1 / (360 x^3) + 1 / (1260 x^5) is the remainder of Stirling's series, from
    1024 on to the last digit.
    """

    shift: float
    half: float
    constant: float
    linear: float
    series: float


# n ln n
ENTROPY = Tail(0.0, 0.0, 0.0, 0.0, 0.0)


def rising_tail(log_alpha: float) -> Tail | None:
    """The tail of ln G(n + alpha) - ln G(alpha); None where alpha is too large for it.

    Examples
    --------
    >>> import math
    >>> tail = rising_tail(math.log(2.0))
    >>> x = 5000 + tail.shift
    >>> value = (x - tail.half) * math.log(x) + tail.constant + tail.linear * 5000
    >>> round(value + tail.series / (12 * x) - (math.lgamma(5002.0) - math.lgamma(2.0)), 9)
    0.0
    """
    if log_alpha > math.log(_LARGEST_ALPHA):
        return None
    alpha = math.exp(log_alpha)
    # ln G(alpha) = ln G(1 + alpha) - ln alpha has no pole, and alpha may have underflown to 0.
    start = math.lgamma(1.0 + alpha) - log_alpha
    return Tail(alpha, 0.5, 0.5 * math.log(2.0 * math.pi) - alpha - start, -1.0, 1.0)


# The Stirling series is used from here on; its terms are c x^-p, c = B_2k / (2k (2k - 1)).
_EXCESS_FROM = 12.0
_EXCESS_SERIES = (
    (1, 1 / 12),
    (3, -1 / 360),
    (5, 1 / 1260),
    (7, -1 / 1680),
    (9, 1 / 1188),
    (11, -691 / 360360),
    (13, 1 / 156),
)
# Below this logarithm a number may be no normal float, and ratios to it no float at all.
_SMALLEST_LOG = -600.0


def log_rising_excess(
    counts: np.ndarray, alpha: np.ndarray, log_alpha: np.ndarray
) -> np.ndarray:
    """ln G(n + alpha) - ln G(alpha) - n ln(alpha) for counts n >= 0, G the gamma function.

    In nats, to a few units in the last digit also where it is tiny; alpha may have underflown to 0,
    and broadcasts against the counts, whole or fractional.

    For whole n it is the sum of ln(1 + k / alpha) over k = 1 .. n - 1; it is 0 at n = 0 and n = 1,
    negative between them, and n (n - 1) / (2 alpha) to first order in 1 / alpha.

    Notes
    -----
    Below 12, alpha is raised by the recurrence of the gamma function. Above it, with t = n / alpha,
    alpha ((1 + t) ln(1 + t) - t) - ln(1 + t) / 2 and the difference of the Stirling remainders
    are left; each is taken in a form that does not cancel for small t. Around n = 1, one factor is
    split off, for the sum of these parts would vanish there.

    Examples
    --------
    >>> import numpy as np
    >>> excess = log_rising_excess(np.array([0.0, 1.0, 2.0]), np.float64(4.0), np.log(4.0))
    >>> bool(np.allclose(excess, [0.0, 0.0, np.log1p(1 / 4)]))
    True
    """
    n, alpha, log_alpha = np.broadcast_arrays(
        np.asarray(counts, dtype=np.float64), alpha, log_alpha
    )
    near_one = np.abs(n - 1.0) < 0.5
    first = np.where(near_one, n - 1.0, 0.0)
    n = np.where(near_one, first, n)
    result = np.asarray(first * _log1p_ratio(1.0, alpha, log_alpha))
    alpha = np.where(near_one, alpha + 1.0, alpha)
    log_alpha = np.where(near_one, 0.0, log_alpha)  # only looked at where alpha is tiny

    small = alpha < _EXCESS_FROM
    if small.any():
        steps = int(_EXCESS_FROM)
        n_small, alpha_small, log_small = n[small], alpha[small], log_alpha[small]
        shift = n_small * _log1p_ratio(_EXCESS_FROM, alpha_small, log_small)
        shift -= _log1p_ratio(n_small, alpha_small, log_small)
        for k in range(1, steps):
            shift -= np.log1p(n_small / (alpha_small + k))
        result[small] += shift
        alpha = np.where(small, alpha + _EXCESS_FROM, alpha)
    return result + _from_stirling(n, alpha)


def _from_stirling(n: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """The same for alpha >= 12 and any n above -1."""
    t = n / alpha
    log_ratio = np.log1p(t)
    short = np.abs(t) < 0.1
    # ((1 + t) ln(1 + t) - t) / t = t / 2 - t^2 / 6 + t^3 / 12 - ...
    s = np.where(short, -t, 0.0)
    series = np.zeros_like(s)
    for k in range(17, 1, -1):
        series = series * s + 1.0 / (k * (k - 1))
    total = np.where(short, -n * s * series, (alpha + n) * log_ratio - n) - 0.5 * log_ratio
    inverse = 1.0 / alpha
    for power, coefficient in _EXCESS_SERIES:
        total += coefficient * inverse**power * np.expm1(-power * log_ratio)
    return total


def _log1p_ratio(n: np.ndarray | float, alpha: np.ndarray, log_alpha: np.ndarray) -> np.ndarray:
    """ln(1 + n / alpha), also where alpha is too small for a float."""
    tiny = log_alpha < _SMALLEST_LOG
    if not tiny.any():
        return np.log1p(n / alpha)
    log_n = np.log(n, where=np.asarray(n) > 0, out=np.full(np.shape(alpha), -np.inf))
    return np.where(
        tiny,
        np.logaddexp(0.0, log_n - log_alpha),
        np.log1p(n / np.where(tiny, 1.0, alpha)),
    )
