"""Thresholds and sign changes against the factor itself, in many digits."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import brentq, minimize_scalar

from skbn import (
    ess_sign_changes,
    ess_threshold,
    large_ess_favours_edge,
    log_bayes_factor,
)
from skbn.theory.bayes_factor import EdgeBayesFactor
from skbn.theory.contingency import Contingency
from skbn.theory.ess_changes import EssSigns

# Favoured from 1.7 to 23, and again above 2,600.
THREE_CHANGES = np.array([[[41, 3, 2], [8, 3, 0]], [[22, 4, 8], [0, 1, 7]]])
TWO_CHANGES = np.array([[5, 0], [31, 18]])


def sign(counts, ess, n_parent_states=None):
    """Slow twin: the sign of Eq. 7 in 60 digits."""
    counts = np.asarray(counts)
    counts = counts[:, :, None] if counts.ndim == 2 else counts
    a, b, p = counts.shape
    p = p if n_parent_states is None else n_parent_states
    with mp.workdps(60):
        total = mp.mpf(0)
        for factor, size, values in (
            (1, a * b, counts), (-1, a, counts.sum(1)), (-1, b, counts.sum(0)),
            (1, 1, counts.sum((0, 1))),
        ):
            alpha = mp.mpf(ess) / (mp.mpf(p) * size)
            for n in values.ravel().tolist():
                if n not in (0, 1):
                    gammas = mp.loggamma(n + alpha) - mp.loggamma(alpha)
                    total += factor * (gammas - n * mp.log(alpha))
        return int(mp.sign(total)) if abs(total) > mp.mpf(10) ** -45 else 0


def random_counts(rng):
    a, b, p = rng.integers(2, 4), rng.integers(2, 4), rng.integers(1, 4)
    rate = 10.0 ** rng.uniform(-0.5, 1.5, (a, 1, p)) * 10.0 ** rng.uniform(-0.5, 0.5, (1, b, p))
    counts = rng.poisson(rate)
    counts[0, 0, 0] += 1
    return counts


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (THREE_CHANGES, [1.74595737, 22.5683257, 2581.90091]),
        (TWO_CHANGES, [5.81306521, 1070.64603]),
    ],
)
def test_several_changes(counts, expected):
    changes = ess_sign_changes(counts)
    np.testing.assert_allclose(changes, expected, rtol=1e-8)
    for change in changes:
        assert sign(counts, change * (1 - 1e-7)) * sign(counts, change * (1 + 1e-7)) == -1
    assert ess_threshold(counts) == changes[-1]
    signs = EssSigns(EdgeBayesFactor(Contingency.from_array(counts)))
    edges = [0.0, *changes, math.inf]
    for low, high in pairwise(edges):
        inside = math.sqrt(max(low, 1e-6) * min(high, 1e12))
        if log_bayes_factor(counts, ess=inside) > 0:
            assert signs.favoured_interval(inside) == (low, high)
        else:
            assert all(map(math.isnan, signs.favoured_interval(inside)))


def test_all_changes_are_found_and_right_to_one_in_ten_million():
    rng = np.random.default_rng(11)
    fine = np.logspace(-6, 12, 18 * 60 + 1)
    n_changes = 0
    for number in range(150):
        counts = random_counts(rng)
        size = None if number % 3 else float(10 ** rng.integers(1, 9))
        changes = ess_sign_changes(counts, n_parent_states=size)
        n_changes += len(changes)
        for change in changes:
            before, after = (sign(counts, change * (1 + d), size) for d in (-1e-7, 1e-7))
            assert before * after == -1
        values = log_bayes_factor(counts, ess=fine, n_parent_states=size)
        apart = np.abs(values) > 1e-13 * (1 + np.abs(values).max()) * (fine < 1e3)
        crossings = np.flatnonzero(np.diff(np.sign(values[apart])))
        assert len(crossings) <= len(changes)
        for left, right in zip(fine[apart][crossings], fine[apart][crossings + 1], strict=True):
            assert ((changes >= left) & (changes <= right)).any()
    assert n_changes > 80


@pytest.mark.parametrize("height", [1e-3, 1e-5, 1e-7, -1e-5])
def test_a_hump_that_just_reaches_zero_has_two_changes(height):
    """Both lie between two points of any coarse grid."""
    def hump(taken):
        counts = THREE_CHANGES.astype(float)
        counts[1, 0, 0] -= taken
        found = minimize_scalar(
            lambda u: -log_bayes_factor(counts, ess=math.exp(u)), bounds=(0.0, 4.0),
            method="bounded", options={"xatol": 1e-9},
        )
        return counts, math.exp(found.x), -found.fun

    taken = brentq(lambda taken: hump(taken)[2] - height, 2.0, 6.0, xtol=1e-13)
    counts, ess, _ = hump(taken)
    assert sign(counts, ess) == math.copysign(1, height)
    assert sign(counts, ess / 1.15) == sign(counts, ess * 1.15) == -1
    changes = ess_sign_changes(counts)
    near = changes[np.abs(np.log(changes / ess)) < math.log(1.15)]
    assert len(near) == (2 if height > 0 else 0)
    for change in near:
        assert sign(counts, change * (1 - 1e-6)) * sign(counts, change * (1 + 1e-6)) == -1


def test_the_threshold_and_the_limit_agree():
    rng = np.random.default_rng(12)
    n_finite = 0
    for _ in range(100):
        counts = random_counts(rng)
        threshold = ess_threshold(counts)
        if large_ess_favours_edge(counts):
            assert threshold < math.inf
            n_finite += 1
            above = np.geomspace(max(threshold, 1e-7) * (1 + 1e-6), 1e13, 40)
            assert (log_bayes_factor(counts, ess=above) > 0).all()
            if threshold:
                assert log_bayes_factor(counts, ess=threshold * (1 - 1e-6)) < 0
    assert n_finite > 30


def test_where_equation_8_is_zero_the_next_term_decides():
    for counts, expected in (([[71, 118], [113, 139]], 98.134), ([[31, 16], [20, 14]], math.inf)):
        assert not large_ess_favours_edge(counts)
        threshold = ess_threshold(counts)
        assert threshold == pytest.approx(expected, rel=1e-4)
        assert sign(counts, 1e9) == (1 if threshold < math.inf else -1)


def test_a_change_far_out_where_four_terms_cancel():
    # N U = d_F without the fraction: where the sign changes, the terms have lost 7 to 11 digits.
    counts = np.array([[250250 + 2.0**-8, 250000.0], [249500.0, 250250.0]])
    for fraction, within in ((2.0**-8, True), (2.0**-20, False)):
        counts[0, 0] = 250250 + fraction
        threshold = ess_threshold(counts)
        assert threshold > 1e10
        assert sign(counts, threshold * (1 - 1e-7)) == -1
        assert sign(counts, threshold * (1 + 1e-7)) == 1
        assert ess_sign_changes(counts).tolist() == ([threshold] if within else [])


def test_beyond_the_range_the_limits_decide():
    counts = [[81, 9], [9, 1]]
    assert len(ess_sign_changes(counts)) == 1
    # The same table in a larger space of parents: everything scales with it, to first order.
    assert len(ess_sign_changes(counts, n_parent_states=1e20)) == 0
    assert ess_threshold(counts, n_parent_states=1e20) == pytest.approx(1.04003801e21)
    assert ess_threshold(counts, n_parent_states=1e300) == pytest.approx(1.04003801e301)
    assert ess_threshold(counts, n_parent_states=10**320) == math.inf  # beyond the floats
    assert ess_threshold([[3, 0], [0, 2]]) == 0.0
    assert ess_threshold([[45, 45], [5, 5]]) == math.inf


def test_a_factor_that_is_zero_has_no_change():
    counts = np.zeros((2, 3, 3))
    counts[[0, 1, 1], [2, 0, 1], range(3)] = 1
    for table in (counts, counts[:1], [[7, 3]]):
        assert len(ess_sign_changes(table)) == 0
        assert ess_threshold(table) == math.inf


@settings(max_examples=150, deadline=None)
@given(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=3, max_dims=3, max_side=3),
               elements=st.integers(0, 40)).filter(lambda counts: counts.any())
)
def test_signs_between_the_changes(counts):
    changes = ess_sign_changes(counts)
    assert (np.diff(changes) > 0).all()
    np.testing.assert_array_equal(changes, ess_sign_changes(counts.transpose(1, 0, 2)))
    edges = np.concatenate([[1e-6], changes, [1e12]])
    signs = [sign(counts, math.sqrt(low * high)) for low, high in pairwise(edges)]
    assert all(one * other == -1 for one, other in pairwise(signs))
