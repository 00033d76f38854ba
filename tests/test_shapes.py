import itertools
import math

import mpmath
import numpy as np
import pytest

from skbn.counting.data import CategoricalData
from skbn.scores.bayesian import BDeu
from skbn.scores.by_name import SCORES
from skbn.scores.likelihood import BIC
from skbn.scores.local_scores import LocalScores
from skbn.scores.score import Family, terms_of
from skbn.scores.shapes import Shapes
from skbn.scores.tails import rising_tail
from skbn.scores.term_tables import TermTables, key_of, tail_of

TABULATED = [name for name, score in SCORES.items() if score.tabulated]
N = 40_000


class PriceOfParents(BDeu):
    """Overrides one method of a score that says what its terms depend on."""

    def cell_terms(self, counts, family):
        return super().cell_terms(counts, family) - 0.01 * family.n_parents * counts


class OwnConstant(BIC):
    def parent_terms(self, counts, family):
        return super().parent_terms(counts, family) + 0.5 * family.cardinality


class LargeInTheMiddle:
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
        (value,), (fits,) = tables.evaluate(np.array([count]), bool(owner & 1))
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
