import math

import mpmath as mp
import numpy as np
import pytest

from skbn.scores.rising import log_rising_excess


def excess_in_many_digits(n, log_alpha):
    if n in (0, 1):
        return mp.mpf(0)
    with mp.workdps(150):
        n, alpha = mp.mpf(n), mp.exp(mp.mpf(log_alpha))
        return mp.loggamma(n + alpha) - mp.loggamma(alpha) - n * mp.log(alpha)


COUNTS = [
    0.0, 1e-12, 0.01, 0.25, 0.499, 0.5, 0.501, 1 - 1e-9, 1.0, 1 + 2**-40, 1.4999, 1.5, 2.0, 2.5,
    3.0, 17.0, 99.75, 1234.0, 1e6, 1e9 + 0.5,
]


@pytest.mark.parametrize("n", COUNTS)
def test_every_digit_counts_at_every_alpha(n):
    alphas = np.concatenate([10.0 ** np.arange(-30, 31, 3), [0.7, 5.0, 11.999, 12.0, 12.001, 40.0]])
    got = log_rising_excess(np.array([n]), alphas, np.log(alphas))
    for alpha, value in zip(alphas.tolist(), got.tolist(), strict=True):
        with mp.workdps(40):
            expected = excess_in_many_digits(n, mp.log(mp.mpf(alpha)))
            assert abs(value - expected) <= 2e-14 * abs(expected)


@pytest.mark.parametrize("n", [0.0, 1e-9, 0.5, 1.0, 1.25, 2.0, 1e5])
@pytest.mark.parametrize("log_alpha", [-599.0, -601.0, -744.0, -5000.0])
def test_an_alpha_below_every_float(n, log_alpha):
    got = float(log_rising_excess(np.array(n), np.exp(log_alpha), np.float64(log_alpha)))
    expected = excess_in_many_digits(n, log_alpha)
    assert abs(got - expected) <= 2e-14 * abs(expected)


def test_whole_counts_are_a_sum_of_log1p():
    counts = np.arange(2, 60)
    for alpha in (1e-3, 0.9, 20.0, 1e7):
        expected = [math.fsum(math.log1p(k / alpha) for k in range(1, n)) for n in counts.tolist()]
        got = log_rising_excess(counts, np.float64(alpha), np.log(alpha))
        np.testing.assert_allclose(got, expected, rtol=4e-15)
