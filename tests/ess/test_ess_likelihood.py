"""The marginal likelihood of a graph as a function of the ESS: value, slope and maximum."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skbn import structure_score
from skbn.counting.data import CategoricalData
from skbn.ess.ess_likelihood import HIGHEST, LOWEST, EssLikelihood

KINDS = ["plain", "constant", "duplicated", "unseen", "fractional", "whole", "unseen+fractional"]


def random_problem(rng, make_table, kind="plain", n_variables=None, n_rows=None):
    n_variables = n_variables or int(rng.integers(1, 7))
    n_rows = n_rows or int(rng.choice([2, 5, 30, 200]))
    codes, cardinalities, weights = make_table(rng, n_variables, n_rows, kind)
    density = rng.random()
    parents = [tuple(p for p in range(i) if rng.random() < density) for i in range(n_variables)]
    return codes, cardinalities, weights, parents


def likelihood_of(codes, cardinalities, weights, parents):
    return EssLikelihood(CategoricalData.from_codes(codes, cardinalities, weights), parents)


def column(counts, n_states=None):
    """A likelihood of one variable without parents, from its counts."""
    codes = np.repeat(np.arange(len(counts)), counts)[None]
    return likelihood_of(codes, [n_states or len(counts)], None, [()])


def exactly(twin, parents, ess, digits=60):
    """ln p(D | ess, G) and its derivative in ln ess, with many digits."""
    with mpmath.workdps(digits):
        value, slope = mpmath.mpf(0), mpmath.mpf(0)
        for child, family in enumerate(parents):
            q = math.prod(twin.cardinalities[p] for p in family)
            for variables, size, sign in (
                ([*family, child], q * twin.cardinalities[child], 1), (list(family), q, -1)
            ):
                alpha = mpmath.mpf(ess) / size
                for n in twin.counts(variables).values():
                    value += sign * (mpmath.loggamma(n + alpha) - mpmath.loggamma(alpha))
                    slope += sign * alpha * (mpmath.psi(0, n + alpha) - mpmath.psi(0, alpha))
        return float(value), float(slope)


# Value and slope.


@pytest.mark.parametrize("kind", KINDS)
def test_value_is_the_bdeu_score(kind, make_table):
    rng = np.random.default_rng(1)
    for _ in range(10):
        codes, cardinalities, weights, parents = random_problem(rng, make_table, kind)
        likelihood = likelihood_of(codes, cardinalities, weights, parents)
        X = pd.DataFrame(codes.T, columns=[f"x{i}" for i in range(len(codes))])
        edges = [(f"x{p}", f"x{c}") for c, family in enumerate(parents) for p in family]
        levels = [list(range(r)) for r in cardinalities]
        for ess in (1e-6, 0.01, 1.0, 7.3, 250.0, 1e4, 1e8):
            expected = structure_score(
                X, edges, ess=ess, categories=levels, sample_weight=weights)
            assert likelihood.value(ess) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_value_and_slope_with_many_digits(kind, make_table, twin):
    rng = np.random.default_rng(2)
    for n_rows in (2, 8, 60):
        problem = random_problem(rng, make_table, kind, n_variables=4, n_rows=n_rows)
        codes, cardinalities, weights, parents = problem
        likelihood = likelihood_of(*problem)
        slow = twin(codes, cardinalities, weights)
        for ess in (1e-6, 1e-3, 0.5, 3.0, 31.0, 33.0, 400.0, 1e5, 1e8):
            value, slope = exactly(slow, parents, ess)
            assert likelihood.value(ess) == pytest.approx(value, rel=1e-11, abs=1e-9)
            assert likelihood.slope(math.log(ess)) == pytest.approx(
                slope, rel=1e-9, abs=1e-11 * slow.n_samples)


@pytest.mark.parametrize("weight", [1e-6, 1e-3, 0.5, 1e3, 1e6, 1e9])
def test_slope_for_small_and_large_weights(weight, twin, make_table):
    rng = np.random.default_rng(3)
    codes, cardinalities, _, parents = random_problem(rng, make_table, n_variables=4, n_rows=30)
    weights = np.full(30, weight)
    likelihood = likelihood_of(codes, cardinalities, weights, parents)
    slow = twin(codes, cardinalities, weights)
    for ess in (1e-6, 1e-2, 1.0, 20.0, 100.0, 1e4, 1e8):
        value, slope = exactly(slow, parents, ess)
        size = slow.n_samples
        assert likelihood.value(ess) == pytest.approx(value, rel=1e-9, abs=1e-9 * size)
        assert likelihood.slope(math.log(ess)) == pytest.approx(slope, rel=1e-7, abs=1e-10 * size)


@given(seed=st.integers(0, 2**32 - 1), log_ess=st.floats(-6, 9))
def test_slope_by_finite_differences(seed, log_ess, make_table):
    rng = np.random.default_rng(seed)
    likelihood = likelihood_of(*random_problem(rng, make_table))
    h = 1e-4
    left, right = (likelihood.value(math.exp(log_ess + step)) for step in (-h, h))
    assert likelihood.slope(log_ess) == pytest.approx(
        (right - left) / (2 * h), rel=1e-5, abs=1e-6 * max(1.0, abs(left)))


def test_a_parent_space_beyond_any_float():
    rng = np.random.default_rng(0)
    n = 1500
    codes = rng.integers(0, 2, (n + 1, 40))
    parents = [()] * n + [tuple(range(n))]
    likelihood = likelihood_of(codes, [2] * (n + 1), None, parents)
    # Every row has a configuration of its own: given it, either state has probability 1/2.
    without = likelihood_of(codes[:-1], [2] * n, None, [()] * n)
    for ess in (1e-6, 1.0, 1e8):
        assert likelihood.value(ess) == pytest.approx(
            without.value(ess) - 40 * math.log(2), rel=1e-9)
        assert likelihood.slope(math.log(ess)) == pytest.approx(without.slope(math.log(ess)))
    assert likelihood.maximise().ess == pytest.approx(without.maximise().ess, rel=1e-9)


# The maximum.


def golden_section(f, left, right):
    ratio = (math.sqrt(5) - 1) / 2
    a, b = right - ratio * (right - left), left + ratio * (right - left)
    f_a, f_b = f(a), f(b)
    while right - left > 1e-9:
        if f_a < f_b:
            left, a, f_a = a, b, f_b
            b = left + ratio * (right - left)
            f_b = f(b)
        else:
            right, b, f_b = b, a, f_a
            a = right - ratio * (right - left)
            f_a = f(a)
    return (left + right) / 2


def slow_maximum(likelihood, n_grid=600):
    """ln ess of the highest value on a dense grid, refined; with the index in the grid."""
    grid = np.linspace(math.log(LOWEST), math.log(HIGHEST), n_grid)
    values = [likelihood.value(math.exp(u)) for u in grid]
    k = int(np.argmax(values))
    around = grid[max(k - 1, 0)], grid[min(k + 1, n_grid - 1)]
    return golden_section(lambda u: likelihood.value(math.exp(u)), *around), k, n_grid


@pytest.mark.parametrize("kind", ["plain", "unseen", "fractional"])
def test_maximum_against_a_dense_grid(kind, make_table):
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(8):
        likelihood = likelihood_of(*random_problem(rng, make_table, kind))
        found = likelihood.maximise()
        u, k, n_grid = slow_maximum(likelihood)
        if found.where == "inside":
            inside += 1
            # Values alone cannot place a maximum better than about the root of their rounding.
            value, best = likelihood.value(found.ess), likelihood.value(math.exp(u))
            assert value >= best - 1e-12 * abs(best)
            if 0 < k < n_grid - 1 and abs(best - likelihood.value(2 * math.exp(u))) > 1e-3:
                assert math.log(found.ess) == pytest.approx(u, abs=1e-4)
            # The slope can: it changes its sign within 1e-6 of the maximum.
            assert likelihood.slope(math.log(found.ess * (1 - 1e-6))) >= 0
            assert likelihood.slope(math.log(found.ess * (1 + 1e-6))) <= 0
        elif found.where == "lower":
            assert found.ess == LOWEST
            assert k == 0
        elif found.where == "upper":
            assert found.ess == HIGHEST
            assert likelihood.value(HIGHEST) >= likelihood.value(math.exp(u)) - 1e-9
    assert inside >= 4


def test_maximum_with_many_digits(twin, make_table):
    rng = np.random.default_rng(6)
    checked = 0
    while checked < 4:
        problem = random_problem(rng, make_table, n_variables=3, n_rows=60)
        found = likelihood_of(*problem).maximise()
        if found.where != "inside":
            continue
        slow = twin(*problem[:3])
        with mpmath.workdps(40):
            below, above = (exactly(slow, problem[3], found.ess * (1 + step))[1]
                            for step in (-1e-7, 1e-7))
        assert below > 0 > above
        checked += 1


def two_maxima(n_equal, n_mixed):
    """Columns of equal rows fall while ess is about the number of rows; a child of 20 binary
    columns rises until it is about their 2**20 states.

    Rows come in pairs of one parent configuration, `n_mixed` of the 20 pairs with both states of
    the child.
    """
    keys = np.random.default_rng(0).integers(0, 2, (20, 20)).repeat(2, axis=1)
    child = np.array([[0, 1]] * n_mixed + [[0, 0]] * (20 - n_mixed)).ravel()
    codes = np.vstack([keys, np.zeros((n_equal, 40), dtype=int), child])
    parents = [()] * (20 + n_equal) + [tuple(range(20))]
    return likelihood_of(codes, [2] * len(codes), None, parents)


@pytest.mark.parametrize(("n_equal", "n_mixed", "n_maxima", "where", "size"), [
    (0, 4, 1, "inside", 7e5),
    (2, 4, 2, "inside", 7e5),
    (3, 4, 2, "inside", 5.0),
    (5, 9, 2, "inside", 9e6),
    (6, 9, 2, "inside", 3.1),
    (4, 20, 2, "upper", HIGHEST),
    (16, 20, 2, "inside", 1.7),
])
def test_the_higher_of_two_maxima_wins(n_equal, n_mixed, n_maxima, where, size):
    likelihood = two_maxima(n_equal, n_mixed)
    grid = np.linspace(math.log(LOWEST), math.log(HIGHEST), 500)
    signs = [sign for u in grid if (sign := np.sign(likelihood.slope(u)))]
    falls = sum(a > 0 > b for a, b in pairwise(signs))
    assert falls + (signs[-1] > 0) == n_maxima
    found = likelihood.maximise()
    assert found.where == where
    assert found.ess == pytest.approx(size, rel=0.1)
    assert likelihood.value(found.ess) >= max(likelihood.value(math.exp(u)) for u in grid) - 1e-9


# Where there is no maximum inside.


@pytest.mark.parametrize("n", [2, 10, 100_000])
def test_equal_rows_fall_to_the_lower_bound(n):
    codes = np.zeros((3, n), dtype=np.uint8)
    for parents in ([(), (), ()], [(), (0,), (0, 1)]):
        found = likelihood_of(codes, [2, 3, 4], None, parents).maximise()
        assert found == (LOWEST, "lower")


@pytest.mark.parametrize("repeats", [2, 5, 1000])
def test_uniform_data_rise_to_the_upper_bound(repeats):
    codes = np.array([(a, b) for a in range(2) for b in range(3)] * repeats).T
    for parents in ([(), ()], [(), (0,)]):
        assert likelihood_of(codes, [2, 3], None, parents).maximise() == (HIGHEST, "upper")


@pytest.mark.parametrize("n_states", [2, 5, 50])
def test_single_cells_rise_to_the_upper_bound(n_states):
    assert column([1] * n_states).maximise() == (HIGHEST, "upper")
    assert column([1] * n_states, 100).maximise() == (HIGHEST, "upper")


def test_flat():
    for codes, cardinalities, parents in (
        (np.zeros((2, 20)), [1, 1], [(), ()]),        # constants
        (np.zeros((2, 20)), [1, 1], [(), (0,)]),
        (np.zeros((2, 1)), [3, 4], [(), ()]),         # one row
        (np.zeros((2, 1)), [3, 4], [(), (0,)]),
    ):
        likelihood = likelihood_of(codes.astype(np.uint8), cardinalities, None, parents)
        found = likelihood.maximise()
        assert found.where == "flat"
        assert math.isnan(found.ess)
        assert likelihood.value(1e-6) == pytest.approx(likelihood.value(1e8), rel=1e-12)


def test_parents_that_leave_single_rows_add_nothing():
    rng = np.random.default_rng(0)
    codes = np.array([np.arange(30), rng.integers(0, 2, 30), rng.integers(0, 3, 30)])
    alone = likelihood_of(codes, [30, 2, 3], None, [(), (), ()]).maximise()
    # Given a key, the others are any state with equal probability, whatever the ess.
    keyed = likelihood_of(codes, [30, 2, 3], None, [(), (0,), (0,)])
    assert alone.where in ("inside", "upper")
    assert keyed.maximise() == (HIGHEST, "upper")


# What it must not depend on.


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_of_variables_and_rows(seed, make_table):
    rng = np.random.default_rng(seed)
    codes, cardinalities, weights, parents = random_problem(rng, make_table, "whole")
    found = likelihood_of(codes, cardinalities, weights, parents).maximise()
    order = rng.permutation(len(codes))
    place = np.argsort(order)
    rows = rng.permutation(codes.shape[1])
    permuted = likelihood_of(
        codes[np.ix_(order, rows)], cardinalities[order], weights[rows],
        [tuple(sorted(int(place[p]) for p in parents[i])) for i in order])
    rows = np.repeat(np.arange(codes.shape[1]), weights.astype(int))
    repeated = likelihood_of(codes[:, rows], cardinalities, None, parents)
    for other in (permuted.maximise(), repeated.maximise()):
        assert other.where == found.where
        assert other.ess == pytest.approx(found.ess, rel=1e-9, nan_ok=True)
