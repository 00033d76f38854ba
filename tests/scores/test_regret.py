"""The NML regret against enumeration, exact sums in long decimals, and its limits."""

import itertools
import math
from collections import Counter
from decimal import MAX_EMAX, Decimal, localcontext

import numpy as np
import pytest

from skbn.scores.nml import (
    APPROXIMATE_FROM,
    approximate_log_regret,
    binary_regret,
    log_regret,
    log_regret_of_any,
)

DIGITS = 50


def enumerated(n, n_states):
    """C(n, K) from its definition: over all sequences, the largest probability of each."""
    return math.fsum(
        math.prod((c / n) ** c for c in Counter(sequence).values())
        for sequence in itertools.product(range(n_states), repeat=n)
    )


def recurrent(n, n_states):
    """ln C(n, K) for K = 1 .. n_states in long decimals, from the textbook sum for K = 2."""
    with localcontext(prec=DIGITS):
        total, binomial = Decimal(0), Decimal(1)
        for h in range(n + 1):
            first, second = Decimal(h) / n, Decimal(n - h) / n
            power = (first**h if h else 1) * (second ** (n - h) if h < n else 1)
            total += binomial * power
            binomial = binomial * (n - h) / (h + 1)
        values = [Decimal(1), total]
        for k in range(1, n_states - 1):
            values.append(values[-1] + values[-2] * n / k)
        return [float(value.ln()) for value in values[:n_states]]


def summed(n, n_states):
    """ln C(n, K) in long decimals as the sum of n! / ((n-j)! n^j) binom(K + j - 2, j) over j."""
    with localcontext(prec=DIGITS, Emax=MAX_EMAX):
        term = total = Decimal(1)
        n_others = Decimal(n_states) - 1
        for j in range(n):
            term = term * (n - j) / n * (n_others + j) / (j + 1)
            total += term
        return total.ln()


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("n_states", range(1, 5))
def test_definition(n, n_states):
    expected = math.log(enumerated(n, n_states))
    assert log_regret(np.array([n]), n_states)[0] == pytest.approx(expected, rel=1e-13, abs=1e-14)
    assert log_regret_of_any(n, n_states) == pytest.approx(expected, rel=1e-13, abs=1e-14)
    assert float(summed(n, n_states)) == pytest.approx(expected, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize(
    "n", [1, 2, 3, 10, 31, 32, 33, 100, 511, 512, 1023, 1024, 1500, 3000, 5000]
)
def test_exact_to_thirteen_digits(n):
    expected = recurrent(n, 600)
    for n_states in (1, 2, 3, 4, 7, 30, 100, 255, 256, 257, 400, 600):
        value = log_regret(np.array([n]), n_states)[0]
        np.testing.assert_allclose(value, expected[n_states - 1], rtol=1e-13)
        assert log_regret_of_any(float(n), n_states) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 50, 1000, 4000])
@pytest.mark.parametrize("n_states", [2, 256, 3000, 10**5, APPROXIMATE_FROM - 1])
def test_exact_for_many_states(n, n_states):
    expected = float(summed(n, n_states))
    np.testing.assert_allclose(log_regret(np.array([n]), n_states)[0], expected, rtol=1e-13)
    assert log_regret_of_any(n, n_states) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("n", [1e5, 1e6, 1e9, 2.0**31, 1e13])
def test_two_states_and_many_rows(n):
    # 1 + Q(n) by Ramanujan's expansion (Knuth, The Art of Computer Programming, 1.2.11.3).
    root = math.sqrt(math.pi / (2 * n))
    expected = 2 / 3 + n * root + root / 12 - 4 / (135 * n) + root / (288 * n)
    np.testing.assert_allclose(binary_regret(np.array([n]))[0], expected, rtol=1e-14)


@pytest.mark.parametrize("n, rtol", [(1e4, 1e-13), (1e6, 1e-13), (1e9, 1e-13), (1e12, 1e-11)])
def test_three_and_four_states_of_many_rows_follow_the_recurrence(n, rtol):
    two = binary_regret(np.array([n]))[0]
    values = np.array([log_regret(np.array([n]), k)[0] for k in (3, 4)])
    np.testing.assert_allclose(values, np.log([two + n, two + n + two * n / 2]), rtol=1e-13)
    # The two methods meet: C(n, K + 2) = C(n, K + 1) + (n / K) C(n, K) across the switch at 256.
    a, b, c = (log_regret(np.array([n]), k)[0] for k in (255, 256, 257))
    np.testing.assert_allclose(c, b + math.log1p(n / 255 * math.exp(a - b)), rtol=rtol)


def test_shapes_order_and_repeats():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3000, size=(7, 30))
    values = log_regret(counts, 5)
    assert values.shape == counts.shape
    for index in np.ndindex(3, 4):
        assert values[index] == log_regret(counts[index], 5)
    np.testing.assert_array_equal(log_regret(counts.astype(float), 5), values)
    assert log_regret(np.array([]), 5).shape == (0,)


def test_nothing_to_regret():
    np.testing.assert_array_equal(log_regret(np.array([0, 5, 5000]), 1), 0.0)
    for n_states in (1, 2, 300, 10**400):
        assert log_regret_of_any(0, n_states) == 0.0
    np.testing.assert_array_equal(log_regret(np.zeros(2), 300), 0.0)
    # One symbol costs ln K.
    for n_states in (2, 3, 299, 10**5):
        assert log_regret(np.array([1]), n_states)[0] == pytest.approx(math.log(n_states), 1e-13)


def test_answers_are_never_edited():
    first = log_regret(np.arange(5), 4)
    first[:] = -1.0
    assert log_regret(np.arange(5), 4)[1] == pytest.approx(math.log(4))


@pytest.mark.parametrize("n_states", [101, 1000, 10**4, 10**5])
def test_error_of_the_approximation(n_states):
    counts = np.unique(np.geomspace(1, 10**7, 200).round())
    exact = log_regret(counts, n_states)
    approximate = np.array([approximate_log_regret(n, n_states) for n in counts.tolist()])
    error = (approximate - exact) * n_states
    noise = 1e-14 * exact * n_states
    assert np.all(error > -noise)
    assert np.all(error < 0.19 + noise)
    far = counts > 100 * n_states
    np.testing.assert_allclose(error[far], 1 / 6, atol=0.007 + noise.max())


def test_error_of_the_approximation_against_the_long_sum():
    for n, n_states in [(5, 10**4), (300, 10**4), (2000, 5000), (300, 10**6)]:
        error = approximate_log_regret(n, n_states) - float(summed(n, n_states))
        assert 0 < error < 0.19 / n_states


@pytest.mark.parametrize("n", [1, 7, 1000, 10**6])
def test_no_step_where_the_approximation_begins(n):
    for n_states in (APPROXIMATE_FROM - 1, APPROXIMATE_FROM):
        exact = log_regret(np.array([n]), n_states)[0]
        assert log_regret_of_any(n, n_states) == pytest.approx(exact, rel=4e-15, abs=2e-9)


@pytest.mark.parametrize("exponent", [20, 100, 300, 308, 309, 1000, 20000])
@pytest.mark.parametrize("n", [1, 3, 1000, 10**6])
def test_beyond_every_float(n, exponent):
    n_states = 10**exponent
    value = log_regret_of_any(n, n_states)
    limit = n * (exponent * math.log(10) - math.log(n))
    # What it exceeds n ln(K / n) by is about n^2 / K.
    excess = 2 * n * n / 10.0 ** min(exponent, 300)
    np.testing.assert_allclose(value, limit, rtol=2e-15, atol=excess)
    twice = log_regret_of_any(n, 2 * n_states)
    assert twice - value == pytest.approx(n * math.log(2), rel=1e-12, abs=1e-15 * value)
    if n <= 1000:
        assert value == pytest.approx(float(summed(n, n_states)), rel=1e-15 * 4)
