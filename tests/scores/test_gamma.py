import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skbn.scores.gamma import float_of, log_rising_excess, log_rising_factorial

EPS = np.finfo(float).eps
SEAM = math.log(32.0)


def exact(count, log_alpha):
    """50 digits of ln G(n + alpha) - ln G(alpha), whatever cancels in the difference."""
    digits = 60 + max(0.0, log_alpha / math.log(10)) + max(0.0, -math.log10(count))
    with mpmath.workdps(int(digits)):
        alpha = mpmath.exp(mpmath.mpf(log_alpha))
        return mpmath.loggamma(alpha + mpmath.mpf(count)) - mpmath.loggamma(alpha)


def assert_accurate(counts, log_alpha):
    """Relative error 1e-12, but for the place where the function itself is 0.

    G has its minimum at 1.46: to its left n + alpha can lie as far up the other side, where the
    value is 0 and no float near it has a small relative error. The floor is a few roundings of the
    terms that cancel there, which are of size min(n, 1).
    """
    found = log_rising_factorial(np.asarray(counts), log_alpha)
    for count, value in zip(counts, found.tolist(), strict=True):
        expected = exact(count, log_alpha)
        error = abs(mpmath.mpf(value) - expected)
        floor = 40 * EPS * min(count, 1.0) if 0.0 < math.exp(log_alpha) < 1.5 else 0.0
        assert error <= 1e-12 * abs(expected) + floor, (count, log_alpha, value, float(expected))


WHOLE = [1, 2, 3, 10, 511, 512, 99_999, 10_000_000]
FRACTIONAL = [1e-300, 1e-20, 1e-10, 1e-6, 1e-3, 0.1, 0.5, 0.999999, 1.000001, 2.7, 1234.5]


@pytest.mark.parametrize(
    "log_alpha",
    [
        *(-5000.0, -745.5, -737.0, -691.0, -690.0, -300.0, -50.0, -20.0, -5.0, -1.0, -0.1),
        *(-1e-12, 0.0, 1e-10, 0.3, math.log(1.4616321449683623), 0.5, 1.0, 2.0, 3.0, 3.4),
        *(math.nextafter(SEAM, 0.0), SEAM, math.nextafter(SEAM, 9.0), SEAM - 1e-9, SEAM + 1e-9),
        *(3.6, 5.0, 10.0, 20.0, 50.0, 300.0, math.log(1e300), 709.7),
    ],
)
def test_log_rising_factorial_to_50_digits(log_alpha):
    assert_accurate(WHOLE, log_alpha)
    assert_accurate(FRACTIONAL, log_alpha)


@settings(max_examples=300)
@given(
    st.one_of(st.integers(1, 10**7), st.floats(-300, 7).map(lambda power: 10.0**power)),
    st.one_of(st.floats(-800, 690), st.floats(-3, 5)),
)
@example(1e-15, math.log(31.9999999))
@example(1, SEAM)
def test_log_rising_factorial_anywhere(count, log_alpha):
    assert_accurate([count], log_alpha)


@given(st.lists(st.integers(0, 10**7), max_size=20), st.floats(-5000, 709))
def test_nothing_counted_gives_exactly_nothing(counts, log_alpha):
    values = log_rising_factorial(np.array([0, *counts, 0.0]), log_alpha)
    assert values[0] == values[-1] == 0.0
    assert np.isfinite(values).all()


@pytest.mark.parametrize("log_alpha", [-1000.0, -1.0, 0.0, 2.0, 3.5, 600.0])
def test_accepts_whole_counts_of_any_type_and_shape(log_alpha):
    counts = np.arange(6)
    expected = log_rising_factorial(counts.astype(float), log_alpha)
    for kind in (np.int32, np.int64, np.uint8, np.float32):
        found = log_rising_factorial(counts.astype(kind), log_alpha)
        np.testing.assert_array_equal(found, expected)
    two_rows = log_rising_factorial(counts.reshape(2, 3), log_alpha)
    np.testing.assert_array_equal(two_rows, expected.reshape(2, 3))
    assert log_rising_factorial(np.array([]), log_alpha).shape == (0,)
    assert float(log_rising_factorial(np.float64(0.5), log_alpha)) == pytest.approx(
        float(exact(0.5, log_alpha)), rel=1e-12
    )
    np.testing.assert_array_equal(counts, np.arange(6))


def test_integers_beyond_floats():
    assert float_of(10**400) == math.inf
    assert float_of(3) == 3.0


def excess_in_many_digits(n, log_alpha):
    if n in (0, 1):
        return mpmath.mpf(0)
    with mpmath.workdps(150):
        n, alpha = mpmath.mpf(n), mpmath.exp(mpmath.mpf(log_alpha))
        return mpmath.loggamma(n + alpha) - mpmath.loggamma(alpha) - n * mpmath.log(alpha)


COUNTS = [
    0.0, 1e-12, 0.01, 0.25, 0.499, 0.5, 0.501, 1 - 1e-9, 1.0, 1 + 2**-40, 1.4999, 1.5, 2.0, 2.5,
    3.0, 17.0, 99.75, 1234.0, 1e6, 1e9 + 0.5,
]


@pytest.mark.parametrize("n", COUNTS)
def test_every_digit_counts_at_every_alpha(n):
    alphas = np.concatenate([10.0 ** np.arange(-30, 31, 3), [0.7, 5.0, 11.999, 12.0, 12.001, 40.0]])
    got = log_rising_excess(np.array([n]), alphas, np.log(alphas))
    for alpha, value in zip(alphas.tolist(), got.tolist(), strict=True):
        with mpmath.workdps(40):
            expected = excess_in_many_digits(n, mpmath.log(mpmath.mpf(alpha)))
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
