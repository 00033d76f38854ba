"""Uniformity and log Bayes factors against plain arithmetic in many digits."""

import json
import math
import os
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skbn import (
    contingency_table,
    large_ess_favours_edge,
    large_ess_log_bayes_factor,
    log_bayes_factor,
    structure_score,
    uniformity,
)

SHARED = Path(os.environ.get("SKBN_SHARED", Path(__file__).resolve().parents[3] / "shared"))


def reference(part):
    path = SHARED / "reference" / "reference.json"
    if not path.exists():
        pytest.skip("needs reference.json of the shared data")
    return json.loads(path.read_text())[part]


def four_terms(counts, ess, n_parent_states=None):
    """Slow twin: the four terms of Eq. 7 without their n ln(alpha), in 60 digits."""
    counts = np.asarray(counts, dtype=float)
    counts = counts[:, :, None] if counts.ndim == 2 else counts
    a, b, p = counts.shape
    p = p if n_parent_states is None else n_parent_states
    cells = [[[mp.mpf(n) for n in row] for row in slab] for slab in counts.tolist()]
    of_a, of_b, of_p = {}, {}, {}
    for i in range(a):
        for j in range(b):
            for k in range(counts.shape[2]):
                n = cells[i][j][k]
                of_a[i, k] = of_a.get((i, k), 0) + n
                of_b[j, k] = of_b.get((j, k), 0) + n
                of_p[k] = of_p.get(k, 0) + n
    flat = [n for slab in cells for row in slab for n in row]

    def term(values, size):
        alpha = mp.mpf(ess) / (mp.mpf(p) * size)
        return mp.fsum(
            mp.loggamma(n + alpha) - mp.loggamma(alpha) - n * mp.log(alpha)
            for n in values if n not in (0, 1)
        )

    return (
        term(flat, a * b), -term(of_a.values(), a), -term(of_b.values(), b), term(of_p.values(), 1)
    )


def random_table(rng, kind="whole", largest=1000.0):
    """Whole counts, dyadic fractions, or real numbers; skewed, with empty cells."""
    shape = rng.integers(1, 5), rng.integers(2, 5), rng.integers(1, 6)
    rate = 10.0 ** rng.uniform(-1, math.log10(largest))
    margins = rng.dirichlet([1.0] * shape[0])[:, None] * rng.dirichlet([1.0] * shape[1])
    counts = rng.poisson(rate * margins[:, :, None] * rng.uniform(0, 4, shape)).astype(float)
    counts[0, 0, 0] += 2
    if kind == "dyadic":
        counts *= rng.integers(1, 17, shape) / 16
    elif kind == "real":
        counts *= rng.uniform(0, 2, shape)
    return counts


# --- Uniformity ---------------------------------------------------------------------------------

small_tables = hnp.arrays(
    np.int64,
    hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=3),
    elements=st.integers(0, 3),
).filter(lambda counts: counts.any())

real_tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=4),
    elements=st.floats(0, 1e6, allow_subnormal=False).filter(lambda n: n == 0 or n > 1e-6),
).filter(lambda counts: counts.any())


def squares(counts):
    """Eq. 5 as a weighted sum of squares, in plain numpy."""
    a, b, p = counts.shape
    total = counts.sum()
    observed = counts[:, :, counts.sum(axis=(0, 1)) > 0]
    weights = observed.sum(axis=(0, 1)) / total
    joint = observed / observed.sum(axis=(0, 1))
    of_a, of_b = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    deviation = joint - of_a / b - of_b / a + 1 / (a * b)
    return a * b * p * float(np.sum(weights**2 * (deviation**2).sum(axis=(0, 1))))


def is_additive(counts):
    """Whether p(a,b|pi) = p(a|pi)/|B| + p(b|pi)/|A| - 1/(|A||B|) wherever pi occurs; integers."""
    a, b, _ = counts.shape
    of_a, of_b = counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    return bool((a * b * counts == a * of_a + b * of_b - counts.sum(axis=(0, 1))).all())


@given(real_tables)
def test_uniformity_is_symmetric_and_never_negative(counts):
    u = uniformity(counts)
    assert u >= 0
    assert u == uniformity(counts.transpose(1, 0, 2))
    size = counts.size * float(np.sum((counts / counts.sum()) ** 2))
    assert u == pytest.approx(squares(counts), rel=1e-9, abs=1e-13 * size)


@settings(max_examples=500)
@given(small_tables)
def test_uniformity_is_zero_just_where_the_tables_are_additive(counts):
    assert (uniformity(counts) == 0) == is_additive(counts)


@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_additive_tables_have_uniformity_zero(data, a, b, p):
    rows = data.draw(hnp.arrays(np.int64, (a, 1, p), elements=st.integers(0, 1000)))
    columns = data.draw(hnp.arrays(np.int64, (1, b, p), elements=st.integers(1, 1000)))
    assert uniformity(rows + columns) == 0


@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_independence_with_one_uniform_marginal_gives_uniformity_zero(data, a, b, p):
    which = data.draw(hnp.arrays(np.bool_, p))
    counts = np.zeros((a, b, p), dtype=np.int64)
    for k in range(p):
        side = a if which[k] else b
        skewed = data.draw(hnp.arrays(np.int64, side, elements=st.integers(0, 1000)))
        counts[:, :, k] = skewed[:, None] if which[k] else skewed[None, :]
    counts[:, :, 0] += not counts.any()
    assert uniformity(counts) == 0


def test_dependent_variables_can_have_uniformity_zero():
    counts = [[40, 30], [20, 10]]
    assert uniformity(counts) == 0
    assert 40 * 10 != 30 * 20  # not independent


def test_uniformity_of_the_reference():
    tables = reference("theory")
    for table in tables:
        assert uniformity(table["counts_a_b_pi"]) == pytest.approx(table["uniformity"], rel=1e-12)


# --- Log Bayes factor, Eq. 7 --------------------------------------------------------------------


def test_the_reference_in_60_digits():
    for table in reference("theory"):
        counts = table["counts_a_b_pi"]
        for ess, expected in table["log_bayes_factor"].items():
            largest = max(map(abs, four_terms(counts, float(ess))))
            got = log_bayes_factor(counts, ess=float(ess))
            assert abs(got - expected) <= 1e-9 * largest
            assert got == pytest.approx(expected, rel=1e-11)
        for ess, expected in table["eq8"].items():
            got = large_ess_log_bayes_factor(counts, ess=float(ess))
            assert got == pytest.approx(expected, rel=1e-12)


def figure_1_counts(z):
    return 100 * np.outer([z, 1 - z], [z, 1 - z])


def test_figure_1_of_the_paper():
    for ess, curve in reference("figure1").items():
        for z, expected in curve.items():
            got = log_bayes_factor(figure_1_counts(float(z)), ess=float(ess))
            assert got == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kind", ["whole", "dyadic", "real"])
def test_accuracy_against_many_digits(kind):
    rng = np.random.default_rng(7)
    worst = 0.0
    with mp.workdps(60):
        for _ in range(60):
            counts = random_table(rng, kind)
            ess = 10.0 ** rng.uniform(-8, 12)
            size = None if rng.random() < 0.6 else float(rng.choice([7.0, 1e3, 1e10, 1e300]))
            terms = four_terms(counts, ess, size)
            got = log_bayes_factor(counts, ess=ess, n_parent_states=size)
            largest = max(map(abs, terms))
            worst = max(worst, float(abs(got - mp.fsum(terms)) / largest) if largest else abs(got))
    assert worst <= 2e-14  # 1e-9 is asked for


def test_a_tiny_factor_keeps_its_digits():
    # N U - d_F is -1e-9 of N U here, so the four terms cancel to nine digits more.
    counts = np.array([[20000.0, 17000.0], [16900.0, 14101.25]])
    for ess in (1e9, 1e10, 1e11, 1e12):
        with mp.workdps(60):
            expected = mp.fsum(four_terms(counts, ess))
        assert log_bayes_factor(counts, ess=ess) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("n_parent_states", [1e300, 20**400])
def test_state_spaces_beyond_the_floats(n_parent_states):
    counts = np.array([[81.0, 9.0], [9.0, 1.0]])
    with mp.workdps(700):
        expected = mp.fsum(four_terms(counts, 10.0, n_parent_states))
    got = log_bayes_factor(counts, ess=10.0, n_parent_states=n_parent_states)
    assert got == pytest.approx(float(expected), rel=1e-12)
    assert large_ess_favours_edge(counts, n_parent_states)


def test_parent_states_that_do_not_occur_cost_nothing():
    counts = random_table(np.random.default_rng(0))
    padded = np.concatenate([counts, np.zeros((*counts.shape[:2], 40))], axis=2)
    size = padded.shape[2]
    ess = [1e-3, 1.0, 1e9]
    np.testing.assert_array_equal(
        log_bayes_factor(padded, ess=ess), log_bayes_factor(counts, ess=ess, n_parent_states=size)
    )
    assert uniformity(padded) == uniformity(counts, n_parent_states=size)
    # A table over 60 columns of 20 states: 20**60 parent states, 50 of them seen.
    X = np.random.default_rng(0).integers(20, size=(50, 62))
    X = np.concatenate([X, X])
    wide = contingency_table(
        X, "x0", "x1", [f"x{j}" for j in range(2, 62)], categories=[range(20)] * 62
    )
    assert wide.n_parent_states == 20**60
    assert len(wide.counts) == 50
    # Every parent state has one cell, of two rows: ln G leaves 50 ess (1/20 - 1)**2 / |P|.
    assert log_bayes_factor(wide, ess=1.0) == pytest.approx(50 * 0.95**2 / 20.0**60, rel=1e-12)


def test_one_row_for_every_parent_state_says_nothing():
    counts = np.zeros((2, 3, 4))
    counts[[0, 1, 1, 0], [2, 0, 1, 1], range(4)] = 1
    assert (log_bayes_factor(counts, ess=10.0 ** np.arange(-8, 13)) == 0).all()
    assert (log_bayes_factor(counts[:1], ess=[1e-3, 1.0, 1e9]) == 0).all()


@given(real_tables, st.floats(-8, 12))
def test_log_bayes_factor_is_symmetric(counts, exponent):
    ess = 10.0**exponent
    assert log_bayes_factor(counts, ess=ess) == log_bayes_factor(
        counts.transpose(1, 0, 2), ess=ess
    )


def test_many_equivalent_sample_sizes_at_once():
    counts = random_table(np.random.default_rng(1), "real")
    ess = np.logspace(-8, 12, 40).reshape(8, 5)
    got = log_bayes_factor(counts, ess=ess)
    assert got.shape == (8, 5)
    for value, one in zip(got.flat, ess.flat, strict=True):
        assert value == log_bayes_factor(counts, ess=one)
    assert large_ess_log_bayes_factor(counts, ess=ess).shape == (8, 5)


@pytest.mark.parametrize("weights", [None, "fractional"])
def test_it_is_the_difference_of_two_bdeu_scores(weights):
    rng = np.random.default_rng(2)
    X = rng.integers(3, size=(300, 5))
    X[:, 1] = np.where(rng.random(300) < 0.5, X[:, 0], X[:, 1])
    if weights:
        weights = rng.uniform(0.1, 2.0, 300)
    others = [("x2", "x1"), ("x3", "x1"), ("x4", "x0")]
    for given_names, edges in (([], others[2:]), (["x2", "x3"], others)):
        table = contingency_table(X, "x0", "x1", given_names, sample_weight=weights)
        for ess in (1e-6, 0.1, 1.0, 10.0, 1e4, 1e8):
            with_edge, without = (
                structure_score(X, graph, ess=ess, sample_weight=weights)
                for graph in ([("x0", "x1"), *edges], edges)
            )
            got = log_bayes_factor(table, ess=ess)
            assert abs(got - (with_edge - without)) <= 1e-9 * max(abs(with_edge), abs(without))


def test_learning_test_against_the_empty_graph():
    path = SHARED / "data" / "bnlearn" / "learning_test.csv"
    if not path.exists():
        pytest.skip("needs learning_test.csv of the shared data")
    pandas = pytest.importorskip("pandas")
    X = pandas.read_csv(path, dtype=str)
    chain = [("A", "B", []), ("A", "D", []), ("C", "D", ["A"]), ("B", "E", []), ("F", "E", ["B"])]
    tables = [contingency_table(X, a, b, others) for a, b, others in chain]
    totals = {
        ess: sum(log_bayes_factor(table, ess=ess) for table in tables) for ess in (10.0, 1e6)
    }
    assert totals[10.0] == pytest.approx(4303.5259897039, abs=1e-9)
    assert totals[1e6] == pytest.approx(35.3584, abs=5e-5)


# --- Large equivalent sample sizes: Eq. 8 and Corollary 1 -----------------------------------------


def second_coefficient(counts):
    """The coefficient of 1 / ess^2 in Eq. 7, exactly: it is what Eq. 8 leaves out."""
    a, b, p = counts.shape
    total = Fraction(0)
    for sign, size, values in (
        (1, a * b, counts), (-1, a, counts.sum(1)), (-1, b, counts.sum(0)),
        (1, 1, counts.sum((0, 1))),
    ):
        for n in values.ravel().tolist():
            n = Fraction(n)
            total -= sign * Fraction(size * p) ** 2 * n * (n - 1) * (2 * n - 1) / 12
    return total


def test_the_error_of_equation_8_falls_with_the_square_of_ess():
    rng = np.random.default_rng(3)
    for number in range(100):
        counts = random_table(rng, "whole" if number % 2 else "dyadic", largest=100.0)
        ess = counts.size * counts.sum() * 10.0 ** np.arange(3, 7)
        error = log_bayes_factor(counts, ess=ess) - large_ess_log_bayes_factor(counts, ess=ess)
        settled = np.abs(error) * ess**2
        expected = abs(float(second_coefficient(counts)))
        scale = max(expected, 1e-3 * counts.size**2 * counts.sum())
        assert (np.abs(settled - expected) <= scale * np.array([1e-2, 1e-3, 1e-4, 1e-5])).all()


def test_corollary_1_agrees_with_equation_7_at_a_large_ess():
    rng = np.random.default_rng(4)
    n_clear = n_favoured = 0
    for number in range(1000):
        counts = random_table(rng, ("whole", "dyadic", "real")[number % 3])
        a, b, p = counts.shape
        n = counts.sum()
        margin = n * uniformity(counts) - p * (a - 1) * (b - 1)
        if abs(margin) <= 1e-3:
            continue
        n_clear += 1
        favoured = large_ess_favours_edge(counts)
        n_favoured += favoured
        assert favoured == (margin > 0)
        assert favoured == (log_bayes_factor(counts, ess=1e12 * n) > 0)
        if number % 10 == 0:
            with mp.workdps(60):
                assert favoured == (mp.fsum(four_terms(counts, 1e12 * n)) > 0)
    assert n_clear > 700
    assert 100 < n_favoured < n_clear - 100


def test_equality_does_not_favour_the_edge():
    assert large_ess_favours_edge([[1, 0], [0, 0]]) is False
    assert large_ess_favours_edge([[31, 16], [20, 14]]) is False  # N U = d_F exactly
    assert large_ess_log_bayes_factor([[31, 16], [20, 14]], ess=5.0) == 0.0
    assert large_ess_favours_edge([[2, 0], [0, 0]]) is True


def test_corollary_1_is_exact_where_products_overflow_64_bits():
    # For 2 x 2 tables (n00 - n01 - n10 + n11)^2 against N; one count decides.
    at_most = [[2**62 + 2**30, 2**62 - 2**30], [2**62 - 2**30, 2**62 + 2**30]]
    assert large_ess_favours_edge(np.array(at_most)) is False  # (2**32)**2 against 2**64
    above = [[at_most[0][0] + 1, at_most[0][1]], at_most[1]]
    assert large_ess_favours_edge(np.array(above)) is True
    assert large_ess_favours_edge(np.array(above, dtype=object) * 10**30) is True
    assert large_ess_favours_edge(np.array([[2**63, 0], [0, 2**63]], dtype=np.uint64)) is True


@given(small_tables)
def test_corollary_1_in_plain_integers(counts):
    a, b, _ = counts.shape
    left = (
        a * b * (counts**2).sum() - a * (counts.sum(axis=1) ** 2).sum()
        - b * (counts.sum(axis=0) ** 2).sum() + (counts.sum(axis=(0, 1)) ** 2).sum()
    )
    expected = left > counts.sum() * (a - 1) * (b - 1)
    assert large_ess_favours_edge(counts) == expected
    assert large_ess_favours_edge(counts, n_parent_states=1e300) == expected


@pytest.mark.parametrize("ess", [0.0, -1.0, math.inf, math.nan, [1.0, 0.0]])
def test_an_ess_that_is_none_is_refused(ess):
    with pytest.raises(ValueError, match="ess must be finite and above zero"):
        log_bayes_factor([[1, 2], [3, 4]], ess=ess)
    with pytest.raises(ValueError, match="ess must be finite and above zero"):
        large_ess_log_bayes_factor([[1, 2], [3, 4]], ess=ess)


def test_an_ess_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="ess must be a number"):
        log_bayes_factor([[1, 2], [3, 4]], ess="10")
