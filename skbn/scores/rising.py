"""The logarithm of a rising factorial beyond n ln(alpha)."""

import numpy as np

# The Stirling series is used from here on; its terms are c x^-p, c = B_2k / (2k (2k - 1)).
_STIRLING_FROM = 12.0
_STIRLING = (
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

    For whole n it is the sum of ln(1 + k / alpha) over k = 1 .. n - 1; it is 0 at n = 0 and n = 1,
    negative between them, and n (n - 1) / (2 alpha) to first order in 1 / alpha.

    Parameters
    ----------
    counts : ndarray of float
        Counts n, whole or fractional.
    alpha, log_alpha : ndarrays of float, broadcastable against `counts`
        alpha and its natural logarithm; alpha may have underflown to 0.

    Returns
    -------
    ndarray of float
        In nats, to a few units in the last digit, also where it is tiny.

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

    small = alpha < _STIRLING_FROM
    if small.any():
        steps = int(_STIRLING_FROM)
        n_small, alpha_small, log_small = n[small], alpha[small], log_alpha[small]
        shift = n_small * _log1p_ratio(_STIRLING_FROM, alpha_small, log_small)
        shift -= _log1p_ratio(n_small, alpha_small, log_small)
        for k in range(1, steps):
            shift -= np.log1p(n_small / (alpha_small + k))
        result[small] += shift
        alpha = np.where(small, alpha + _STIRLING_FROM, alpha)
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
    for power, coefficient in _STIRLING:
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
