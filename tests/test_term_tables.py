import ctypes
import math

import numpy as np
import pytest

from skbn.scores.by_name import SCORES
from skbn.scores.score import Family
from skbn.scores.term_tables import TermTables


class Score:
    """f and g as given."""

    tabulated = True

    def __init__(self, f, g=lambda n: 0.0 * n):
        self.f, self.g = f, g

    def cell_terms(self, counts, family):
        return self.f(counts)

    def parent_terms(self, counts, family):
        return self.g(counts)

    def constant(self, family):
        return 0.0


def family(n_samples, ess=1.0, cardinality=3, n_parent_states=4):
    return Family(cardinality, n_parent_states, 1, 5, float(n_samples), ess)


def assert_sums_fit(fixed, counts, n_samples):
    """Sums over counts that sum to N stay below 2 ** 61, so that differences of two fit."""
    assert (np.abs(fixed) <= 2.0**61 * (counts / n_samples) + 1).all()


@pytest.mark.parametrize("name", [name for name, score in SCORES.items() if score.tabulated])
@pytest.mark.parametrize("ess", [1e-300, 1e-3, 1.0, 1e4, 1e300])
@pytest.mark.parametrize("n_samples", [1, 2, 1023, 1024, 16383, 16384, 10**6, 2**31 - 1])
def test_tables_hold_the_terms_less_multiples_of_the_count(name, ess, n_samples):
    score, shape = SCORES[name], family(n_samples, ess)
    tables = TermTables(score, shape)
    assert tables.usable
    assert tables.n_known == min(n_samples + 1, 1024)
    assert len(tables.cells) == len(tables.parents) == min(n_samples + 1, 16384)
    assert math.frexp(tables.scale)[0] == 0.5
    known = np.arange(1, tables.n_known)
    later = np.unique(np.geomspace(tables.n_known, n_samples, 40).astype(np.int64))
    later = later[(later >= tables.n_known) & (later <= n_samples)]
    for table, function, of_parents, slope in (
        (tables.cells, score.cell_terms, False, tables.slopes[0]),
        (tables.parents, score.parent_terms, True, tables.slopes[1]),
    ):
        assert table[0] == 0
        assert not table[tables.n_known :].any()
        values, fits = tables.evaluate(later, of_parents)
        assert fits.all()
        kept = later < len(table)
        np.testing.assert_array_equal(table[later[kept]], values[kept])
        assert np.count_nonzero(table[tables.n_known :]) == np.count_nonzero(values[kept])
        counts = np.append(known, later).astype(float)
        fixed = np.append(table[known], values)
        assert_sums_fit(fixed, counts, n_samples)
        exact = function(counts, shape)
        np.testing.assert_allclose(
            fixed / tables.scale + slope * counts, exact, rtol=1e-14, atol=0.51 / tables.scale
        )
        # Nothing cancels: what is taken out is a part of the term.
        assert (np.abs(slope * counts) <= np.abs(exact) * (1 + 1e-12)).all()
    shift = (tables.slopes[0] - tables.slopes[1]) * n_samples
    assert tables.shift == pytest.approx(shift, rel=1e-15)


def test_the_unit_is_as_fine_as_64_bits_permit():
    tables = TermTables(SCORES["loglik"], family(1000))
    largest = 1000 * math.log(1000)
    assert tables.slopes == (0.0, 0.0)
    assert 2**60 / 1.01 < largest * tables.scale < 2**61


def test_a_large_prior_leaves_a_small_rest():
    # f(n) = n ln(ess / 12) and hardly more: the unit is that of the rest.
    tables = TermTables(SCORES["bdeu"], family(10**6, 1e300))
    assert tables.scale > 2.0 ** (60 - 20 + 30)
    assert tables.shift == pytest.approx(-(10**6) * math.log(3), rel=1e-12)


def test_addresses_are_those_of_the_tables():
    tables = TermTables(SCORES["k2"], family(50))
    for address, table in zip(tables.addresses, (tables.cells, tables.parents), strict=True):
        there = (ctypes.c_int64 * len(table)).from_address(address)
        assert list(there) == table.tolist()


@pytest.mark.parametrize("n_samples", [1, 30])
def test_terms_that_are_all_zero(n_samples):
    tables = TermTables(Score(lambda n: 0.0 * n), family(n_samples))
    assert tables.usable
    assert not tables.cells.any()
    assert not tables.parents.any()
    assert math.isfinite(tables.scale)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-290, 1e-20, 1e20, 1e290])
def test_terms_of_any_size(size):
    tables = TermTables(
        Score(lambda n: size * np.sqrt(n), lambda n: -size * np.sqrt(n)), family(1000)
    )
    assert tables.usable
    assert math.isfinite(tables.scale)
    assert_sums_fit(tables.cells, np.arange(1001), 1000)
    np.testing.assert_array_equal(tables.parents, -tables.cells)
    sums = tables.cells[500] * 2 / tables.scale + tables.shift / 2
    assert sums == pytest.approx(size * math.sqrt(500) * 2, rel=1e-14, abs=1e-305)


def test_terms_in_proportion_to_the_count_are_nothing_but_shift():
    tables = TermTables(Score(lambda n: 3.0 * n, lambda n: -n), family(1000))
    assert tables.shift == 4000.0
    assert not tables.cells.any()


@pytest.mark.parametrize(
    "f",
    [
        lambda n: np.where(n > 700, -np.inf, n),
        lambda n: np.where(n == 3, np.nan, n),
        lambda n: 1e307 * n**0.1,
        lambda n: np.full_like(n, np.inf),
    ],
    ids=["infinite", "not a number", "sums beyond floats", "all infinite"],
)
def test_terms_without_finite_sums_are_not_tabulated(f):
    counts = np.array([600, 700, 900, 1000])
    for score in (Score(f), Score(lambda n: n, f)):
        tables = TermTables(score, family(1000))
        assert not tables.usable
        assert not tables.cells.any()
        assert not tables.parents.any()
        for of_parents in (False, True):
            values, fits = tables.evaluate(counts, of_parents)
            assert not values.any()
            assert not fits.any()


def test_rounding_breaks_no_bound():
    # Terms in proportion to the count, but for the last digits.
    rough = Score(lambda n: 3.0 * n * np.where(n == 600, 1 + 1e-15, 1.0))
    _, fits = TermTables(rough, family(1000)).evaluate(np.array([599, 600]), False)
    assert fits.all()
    # The largest term of all sits on the bound.
    for n_samples in range(600, 1000):
        tables = TermTables(SCORES["k2"], family(n_samples))
        _, fits = tables.evaluate(np.array([n_samples]), False)
        assert fits.all()


def test_a_count_that_breaks_the_bound_is_told_apart():
    # No sum of these fits 64 bits once 1600 is among the counts, which no known count tells.
    tables = TermTables(Score(lambda n: np.where(n == 1600, 1e9, n**0.5)), family(10**6))
    assert tables.usable
    values, fits = tables.evaluate(np.array([1599, 1600, 1601, 999_999]), False)
    assert fits.tolist() == [True, False, True, True]
    assert values[1] == 0
    # It is asked for again each time.
    assert tables.cells[1600] == 0
    assert tables.cells[1599] != 0
