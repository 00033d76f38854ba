import ctypes
import itertools
import math

import mpmath
import numpy as np
import pytest

from skbn.counting.data import CategoricalData
from skbn.scores.bayesian import BDeu
from skbn.scores.by_name import SCORES
from skbn.scores.gamma import rising_tail
from skbn.scores.likelihood import BIC
from skbn.scores.local_scores import LocalScores
from skbn.scores.score import Family, Score, key_of, tail_of, terms_of
from skbn.scores.term_tables import Shapes, TermTables

TABULATED = [name for name, score in SCORES.items() if score.tabulated]
N = 40_000


def evaluate(tables, counts, of_parents):
    """Slow, obvious twin of `Shapes.add_unknown`, for one function of one shape.

    The terms of f, or g if `of_parents`, of counts from n_known upward, kept where the table
    reaches; and whether each is small enough for a sum of integers, 0 where it is not.
    """
    if not tables.usable:
        return np.zeros(len(counts), dtype=np.int64), np.zeros(len(counts), dtype=bool)
    score, table = tables.score, (tables.cells, tables.parents)[of_parents]
    function = score.parent_terms if of_parents else score.cell_terms
    terms = terms_of(function, counts.astype(np.float64), tables.family)
    rest = terms - tables.slopes[of_parents] * counts
    fits = np.abs(rest) <= tables.bound * counts
    values = np.rint(np.where(fits, rest, 0.0) * tables.scale).astype(np.int64)
    kept = counts < len(table)
    table[counts[kept]] = values[kept]
    return values, fits


class Terms(Score):
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
        values, fits = evaluate(tables, later, of_parents)
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
    tables = TermTables(Terms(lambda n: 0.0 * n), family(n_samples))
    assert tables.usable
    assert not tables.cells.any()
    assert not tables.parents.any()
    assert math.isfinite(tables.scale)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-290, 1e-20, 1e20, 1e290])
def test_terms_of_any_size(size):
    tables = TermTables(
        Terms(lambda n: size * np.sqrt(n), lambda n: -size * np.sqrt(n)), family(1000)
    )
    assert tables.usable
    assert math.isfinite(tables.scale)
    assert_sums_fit(tables.cells, np.arange(1001), 1000)
    np.testing.assert_array_equal(tables.parents, -tables.cells)
    sums = tables.cells[500] * 2 / tables.scale + tables.shift / 2
    assert sums == pytest.approx(size * math.sqrt(500) * 2, rel=1e-14, abs=1e-305)


def test_terms_in_proportion_to_the_count_are_nothing_but_shift():
    tables = TermTables(Terms(lambda n: 3.0 * n, lambda n: -n), family(1000))
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
    for score in (Terms(f), Terms(lambda n: n, f)):
        tables = TermTables(score, family(1000))
        assert not tables.usable
        assert not tables.cells.any()
        assert not tables.parents.any()
        for of_parents in (False, True):
            values, fits = evaluate(tables, counts, of_parents)
            assert not values.any()
            assert not fits.any()


def test_rounding_breaks_no_bound():
    # Terms in proportion to the count, but for the last digits.
    rough = Terms(lambda n: 3.0 * n * np.where(n == 600, 1 + 1e-15, 1.0))
    _, fits = evaluate(TermTables(rough, family(1000)), np.array([599, 600]), False)
    assert fits.all()
    # The largest term of all sits on the bound.
    for n_samples in range(600, 1000):
        tables = TermTables(SCORES["k2"], family(n_samples))
        _, fits = evaluate(tables, np.array([n_samples]), False)
        assert fits.all()


def test_a_count_that_breaks_the_bound_is_told_apart():
    # No sum of these fits 64 bits once 1600 is among the counts, which no known count tells.
    tables = TermTables(Terms(lambda n: np.where(n == 1600, 1e9, n**0.5)), family(10**6))
    assert tables.usable
    values, fits = evaluate(tables, np.array([1599, 1600, 1601, 999_999]), False)
    assert fits.tolist() == [True, False, True, True]
    assert values[1] == 0
    # It is asked for again each time.
    assert tables.cells[1600] == 0
    assert tables.cells[1599] != 0


class PriceOfParents(BDeu):
    """Overrides one method of a score that says what its terms depend on."""

    def cell_terms(self, counts, family):
        return super().cell_terms(counts, family) - 0.01 * family.n_parents * counts


class OwnConstant(BIC):
    def parent_terms(self, counts, family):
        return super().parent_terms(counts, family) + 0.5 * family.cardinality


class LargeInTheMiddle(Score):
    """No sum of integers holds the terms of counts around 2,000."""

    tabulated = True

    def cell_terms(self, counts, family):
        return np.where(np.abs(counts - 2000) < 300, 1e12 * counts, counts)

    def parent_terms(self, counts, family):
        return np.sqrt(counts)

    def constant(self, family):
        return 0.0


class Infinite(LargeInTheMiddle):
    def cell_terms(self, counts, family):
        return np.where(counts > 100, -math.inf, counts)


SCORES_AND_OWN = [
    *(pytest.param(SCORES[name], id=name) for name in TABULATED),
    *(own() for own in (PriceOfParents, OwnConstant, LargeInTheMiddle, Infinite)),
]


def families(ess=5.0, n_samples=float(N)):
    return [
        Family(r, q, n_parents, 40, n_samples, ess)
        for r, (q, n_parents) in itertools.product(
            (2, 3), ((1, 0), (2, 1), (3, 1), (6, 2), (10**400, 30))
        )
    ]


@pytest.mark.parametrize("score", [SCORES[name] for name in TABULATED], ids=TABULATED)
def test_equal_keys_mean_equal_terms(score):
    counts = np.unique(np.geomspace(1, N, 60).astype(np.int64)).astype(float)
    known = {}
    for family in families():
        for function in (score.cell_terms, score.parent_terms):
            terms = terms_of(function, counts, family)
            np.testing.assert_array_equal(known.setdefault(key_of(function, family), terms), terms)
    # Which is what makes it worth while.
    assert len(known) < 2 * len(families())


def test_a_method_that_overrides_a_keyed_one_has_no_key():
    family, other = families()[1], families()[1]._replace(n_parents=2)
    assert key_of(BDeu().cell_terms, family) == key_of(BDeu().cell_terms, other)
    own = PriceOfParents()
    assert key_of(own.cell_terms, family) != key_of(own.cell_terms, other)
    assert key_of(own.parent_terms, family) == key_of(BDeu().parent_terms, family)


@pytest.mark.parametrize("score", [PriceOfParents(), OwnConstant()])
def test_overridden_methods_are_scored_as_they_are(score):
    rng = np.random.default_rng(0)
    codes = rng.choice(3, (5, 5000), p=[0.9, 0.08, 0.02])
    data = CategoricalData.from_codes(codes, [3] * 5)
    scores = LocalScores(data, score, 5.0)
    for parents in ((), (1,), (1, 2), (1, 2, 3)):
        row = scores.toggled(0, parents)
        for j, found in enumerate(row.tolist()):
            given = tuple(sorted(set(parents) ^ ({j} - {0})))
            expected = scores._evaluate_counts(0, given)
            assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("score", SCORES_AND_OWN)
@pytest.mark.parametrize("ess", [1e-300, 5.0, 1e6])
def test_unknown_terms_are_those_of_one_table_after_another(score, ess):
    rng = np.random.default_rng(0)
    shapes_of = [[TermTables(score, family) for family in families(ess)] for _ in range(2)]
    ours = Shapes(score, families(ess), shapes_of[0], 6, [])
    which = rng.permutation(np.repeat(np.arange(len(families())), 3))
    n_unknown = 400
    owners = rng.integers(0, 2 * len(which), n_unknown).astype(np.int32)
    counts = np.exp(rng.uniform(math.log(1024), math.log(N), n_unknown)).astype(np.int64)
    # Beside what was summed before; sums of both signs, so that none comes near 2**63.
    totals = rng.integers(-1000, 1000, len(which))
    expected, large = totals.copy(), np.zeros(len(which), dtype=bool)
    for owner, count in zip(owners.tolist(), counts.tolist(), strict=True):
        tables = shapes_of[1][which[owner >> 1]]
        (value,), (fits,) = evaluate(tables, np.array([count]), bool(owner & 1))
        expected[owner >> 1] += -value if owner & 1 else value
        large[owner >> 1] |= not fits
    found = ours.add_unknown(which, owners, counts, totals)
    # All are in units of about 2**-61 of the largest sum; the last digits of a term may differ.
    np.testing.assert_allclose(totals, expected, rtol=0, atol=2.0**61 * 1e-14)
    if large.any():
        np.testing.assert_array_equal(found, large)
    else:
        assert found is None
    for one, other in zip(*shapes_of, strict=True):
        for table, twin in ((one.cells, other.cells), (one.parents, other.parents)):
            np.testing.assert_array_equal(table != 0, twin != 0)
            np.testing.assert_allclose(table, twin, rtol=1e-14)


@pytest.mark.parametrize("name", TABULATED)
@pytest.mark.parametrize("ess", [1e-300, 5.0, 3000.0, 1e6])
def test_tails_are_the_terms(name, ess):
    score = SCORES[name]
    counts = np.unique(np.geomspace(1024, N, 200).astype(np.int64)).astype(float)
    for family in families(ess):
        for function in (score.cell_terms, score.parent_terms):
            tail = tail_of(function, family)
            if tail is None:
                assert name == "fnml" or ess > 1024
                continue
            x = counts + tail.shift
            found = (x - tail.half) * np.log(x) + tail.constant + tail.linear * counts
            found += tail.series * (1 / (12 * x) - 1 / (360 * x**3))
            np.testing.assert_allclose(found, terms_of(function, counts, family), rtol=3e-15)


@pytest.mark.parametrize("log_alpha", [-800.0, -1.0, 0.0, 3.0, math.log(1024)])
def test_rising_tail_to_the_last_digits(log_alpha):
    tail = rising_tail(log_alpha)
    for n in (1024, 1025, 5000, 10**6, 2**31 - 1):
        x = n + tail.shift
        found = (x - tail.half) * math.log(x) + (tail.constant + tail.linear * n)
        found += tail.series / x * (1 / 12 - (1 / 360 - 1 / 1260 / x**2) / x**2)
        with mpmath.workdps(60):
            alpha = mpmath.exp(mpmath.mpf(log_alpha))
            exact = float(mpmath.loggamma(n + alpha) - mpmath.loggamma(alpha))
        assert found == pytest.approx(exact, rel=4e-15)


def test_no_tail_where_gamma_terms_would_cancel():
    assert rising_tail(math.log(1025)) is None


@pytest.mark.parametrize("name", TABULATED)
def test_large_counts_by_the_kernel(name):
    # Every count is beyond the tables that are made at once.
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (4, 30))
    data = CategoricalData.from_codes(codes, [3] * 4, rng.integers(1100, 90_000, 30))
    for ess in (0.1, 2000.0, 1e5):
        scores = LocalScores(data, SCORES[name], ess)
        for parents in ((), (1,), (1, 2, 3)):
            expected = scores._evaluate_counts(0, parents)
            assert scores.local(0, parents) == pytest.approx(expected, rel=1e-13)
