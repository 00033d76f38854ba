"""Equation 18: the reference figures, a slow twin, invariances, and data that have no estimate."""

import math
import time
import tracemalloc

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbn import AnalyticESS, BayesNetStructureEstimator, analytic_ess, structure_score
from skbn.counting.data import CategoricalData
from skbn.ess.analytic_ess import estimate_ess

SETS = ["balance", "iris", "liver", "diabetes", "post_op", "shuttle", "tictac", "bc_wisc",
        "heart_cl", "heart_st", "wine", "adult"]
PARTS = ["ess", "d_eff", "expected_loglik_data", "expected_loglik_prior"]


def named(columns, parents):
    return [(columns[p], columns[child]) for child, pa in enumerate(parents) for p in pa]


def parts(estimate):
    return [getattr(estimate, name) for name in PARTS]


def slow_parts(twin, parents):
    """d_eff, E_phat and E_q as Eqs. 15 and 18 read, one dictionary per set of variables."""
    d_eff, of_data, of_prior = 0, [], []
    for child, family in enumerate(parents):
        q = math.prod(twin.cardinalities[p] for p in family)
        for variables, size, sign in (
            ([*family, child], q * twin.cardinalities[child], 1), (list(family), q, -1)
        ):
            counts = twin.counts(variables).values()
            d_eff += sign * len(counts)
            of_data += [sign * n * math.log(n) / twin.n_samples for n in counts]
            of_prior += [sign * math.log(max(n, 1.0)) / size for n in counts]
    return d_eff, math.fsum(of_data), math.fsum(of_prior)


# Reference figures.


@pytest.mark.parametrize("name", SETS)
def test_graphs_of_the_reference(name, uci, reference):
    X, categories = uci(name)
    entry = reference["exact"][name]
    assert [len(levels) for levels in categories.values()] == entry["cardinalities"]
    for figures in entry["bdeu"].values():
        estimate = analytic_ess(X, named(X.columns, figures["parents"]), categories=categories)
        assert estimate.ess == pytest.approx(figures["eq18"], rel=1e-9)
        assert estimate.d_eff == figures["d_eff"]
        assert isinstance(estimate.d_eff, int)
        assert estimate.usable == (figures["eq18"] > 0)
    # The dense graphs of these three have mostly unobserved parent configurations.
    assert estimate.usable != (name in ("heart_cl", "heart_st", "wine"))


@pytest.mark.parametrize("name", ["learning_test", "asia"])
def test_fixed_graphs_of_the_reference(name, shared, reference, read_graph):
    entry = reference["fixed_graphs"][name]
    X = pd.read_csv(shared(f"data/bnlearn/{name}.csv"), dtype=str)
    edges = named(X.columns, read_graph(list(X.columns), entry["graph"]))
    estimate = analytic_ess(X, edges)
    assert estimate.d_eff == entry["eq15_d_eff"]
    assert estimate.ess == pytest.approx(entry["eq18_ess"], rel=1e-9)
    assert estimate.expected_loglik_data == pytest.approx(entry["eq18_E_phat"], rel=1e-9)
    assert estimate.expected_loglik_prior == pytest.approx(entry["eq18_E_q"], rel=1e-9)
    assert estimate.expected_loglik_data == pytest.approx(
        structure_score(X, edges, score_type="loglik") / len(X), rel=1e-12)


def test_by_hand():
    # Counts 3 and 1 of one binary column: 1 / [(3 ln 3/4 + ln 1/4) / 4 - (ln 3 + ln 1) / 2 + ln 4].
    estimate = analytic_ess([[0], [0], [0], [1]], [])
    of_data = (3 * math.log(3 / 4) + math.log(1 / 4)) / 4
    of_prior = math.log(3) / 2 - math.log(4)
    assert parts(estimate) == pytest.approx([1 / (of_data - of_prior), 1, of_data, of_prior])
    # A third level, not seen, halves nothing but the size of the space.
    wider = analytic_ess([[0], [0], [0], [1]], [], categories=[["a", 0, 1]])
    assert wider.expected_loglik_prior == pytest.approx(math.log(3) / 3 - math.log(4))
    assert wider.d_eff == 1


def test_counts_below_one_count_as_one_in_the_prior_part_only():
    estimate = analytic_ess([[0], [0], [1]], [], sample_weight=[2.0, 1.0, 0.25])
    assert estimate.expected_loglik_prior == pytest.approx(math.log(3) / 2 - math.log(3.25))
    assert estimate.expected_loglik_data == pytest.approx(
        (3 * math.log(3 / 3.25) + 0.25 * math.log(0.25 / 3.25)) / 3.25)


# A slow twin.


@pytest.mark.parametrize("kind", [
    "plain", "constant", "duplicated", "unseen", "fractional", "whole", "constant+unseen+whole",
])
def test_against_a_slow_twin(kind, twin, make_table):
    rng = np.random.default_rng(5)
    for n_variables, n_rows in ((1, 1), (2, 3), (4, 40), (6, 200), (8, 30)):
        codes, cardinalities, weights = make_table(rng, n_variables, n_rows, kind)
        slow = twin(codes, cardinalities, weights)
        data = CategoricalData.from_codes(codes, cardinalities, weights)
        for density in (0.0, 0.4, 1.0):
            parents = [tuple(p for p in range(i) if rng.random() < density)
                       for i in range(n_variables)]
            found = estimate_ess(data, parents)
            d_eff, of_data, of_prior = slow_parts(slow, parents)
            assert found.d_eff == d_eff
            assert found.expected_loglik_data == pytest.approx(of_data, rel=1e-12, abs=1e-12)
            assert found.expected_loglik_prior == pytest.approx(of_prior, rel=1e-12, abs=1e-12)
            if abs(of_data - of_prior) > 1e-6:
                assert found.ess == pytest.approx(d_eff / (of_data - of_prior), rel=1e-9)
            assert found.usable == (math.isfinite(found.ess) and found.ess > 0)


# Data that have no estimate.


def test_identical_rows_give_zero():
    estimate = analytic_ess([["a", "b"]] * 10, [("x0", "x1")], categories=[["a", "z"], ["b", "z"]])
    assert estimate.ess == 0.0
    assert estimate.d_eff == 0
    assert not estimate.usable


@pytest.mark.parametrize("X", [[["a", "b"]], [["a", "b"]] * 10], ids=["one row", "constants"])
def test_one_row_and_constants_give_nan(X):
    for edges in ([], [("x0", "x1")]):
        estimate = analytic_ess(X, edges)
        assert math.isnan(estimate.ess)
        assert estimate.d_eff == 0
        assert not estimate.usable


def test_one_row_of_weight_above_one_is_several_rows():
    declared = [["a", "z"], ["b", "z"]]
    weighted = analytic_ess([["a", "b"]], [], categories=declared, sample_weight=[10])
    assert parts(weighted) == parts(analytic_ess([["a", "b"]] * 10, [], categories=declared))
    assert weighted.ess == 0.0


@pytest.mark.parametrize("repeats", [1, 3, 7, 1000])
@pytest.mark.parametrize("edges", [[], [("x0", "x1")], [("x0", "x1"), ("x0", "x2"), ("x1", "x2")]],
                         ids=["empty", "edge", "full"])
def test_uniform_data_are_not_usable(edges, repeats):
    X = np.array([(a, b, c) for a in range(2) for b in range(3) for c in range(5)])
    estimate = analytic_ess(np.repeat(X, repeats, axis=0), edges)
    assert estimate.expected_loglik_data == pytest.approx(-math.log(30))
    assert estimate.expected_loglik_prior == pytest.approx(-math.log(30))
    assert not math.isfinite(estimate.ess)
    assert not estimate.usable


def test_unobserved_parent_configurations_can_make_it_negative():
    # Of four states of p two occur, each with either value of x and of y: the denominator is
    # (1 - 1 - 1) ln(2) / 2.
    X = pd.DataFrame([(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1)], columns=list("pxy"))
    estimate = analytic_ess(X, [("p", "x"), ("p", "y")], categories={"p": [0, 1, 2, 3]})
    assert estimate.d_eff == 5
    assert estimate.ess == pytest.approx(-10 / math.log(2), rel=1e-12)
    assert not estimate.usable


# Huge spaces.


@pytest.mark.parametrize("n_parents", [100, 1100])
def test_spaces_beyond_any_float(n_parents):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, (60, n_parents)), np.arange(60) % 3])
    edges = [(f"x{i}", f"x{n_parents}") for i in range(n_parents)]
    X[30:] = X[:30]  # every configuration twice, so that they have a logarithm
    tracemalloc.start()
    started = time.perf_counter()
    estimate = analytic_ess(X, edges, categories=[[0, 1]] * n_parents + [[0, 1, 2]])
    seconds = time.perf_counter() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert estimate.usable
    # The last column adds 30 cells and 30 configurations, and nothing else.
    without = analytic_ess(X[:, :-1], [])
    assert estimate.d_eff == without.d_eff
    assert estimate.expected_loglik_data == pytest.approx(without.expected_loglik_data, rel=1e-12)
    assert estimate.expected_loglik_prior == pytest.approx(without.expected_loglik_prior, rel=1e-9)
    assert peak < 100e6
    assert seconds < 5


def test_declared_levels_cost_nothing():
    X = np.arange(20).reshape(10, 2) % 3
    levels = [list(range(100_000))] * 2
    estimate = analytic_ess(X, [("x0", "x1")], categories=levels)
    assert estimate.d_eff == analytic_ess(X, [("x0", "x1")]).d_eff
    assert estimate.expected_loglik_prior == pytest.approx(-math.log(10) - 0, abs=1e-3)


# Invariances.


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_columns = draw(st.integers(1, 6))
    n_rows = draw(st.sampled_from([1, 2, 5, 30, 150]))
    codes = np.empty((n_rows, n_columns), dtype=int)
    for j in range(n_columns):
        r = rng.integers(1, 5)
        codes[:, j] = rng.integers(0, r, n_rows)
        if j and rng.random() < 0.7:
            copied = rng.random(n_rows) < 0.7
            codes[copied, j] = codes[copied, rng.integers(0, j)] % r
    order = rng.permutation(n_columns)
    density = rng.random()
    parents = [()] * n_columns
    for place, child in enumerate(order):
        parents[child] = tuple(sorted(int(p) for p in order[:place] if rng.random() < density))
    X = pd.DataFrame(codes, columns=[f"v{j}" for j in range(n_columns)])
    return X, parents, rng


def assert_same(a, b):
    assert a.d_eff == b.d_eff
    assert a.usable == b.usable
    assert parts(a) == pytest.approx(parts(b), rel=1e-9, nan_ok=True)


@pytest.mark.filterwarnings("ignore:sample_weight sums to:skbn.DataWarning")
@given(problem=problems())
def test_nothing_depends_on_columns_rows_states_or_weights(problem):
    X, parents, rng = problem
    edges = named(X.columns, parents)
    weights = rng.integers(1, 4, len(X))
    plain = analytic_ess(X, edges)
    assert_same(plain, analytic_ess(X[rng.permutation(X.columns)], edges[::-1]))
    assert_same(plain, analytic_ess(X.iloc[rng.permutation(len(X))], edges))
    names = rng.permutation([f"state {k}" for k in range(9)])
    assert_same(plain, analytic_ess(X.map(lambda code: names[code]), edges))
    fractional = rng.uniform(0.1, 3, len(X))
    order = rng.permutation(len(X))
    assert_same(
        analytic_ess(X, edges, sample_weight=fractional),
        analytic_ess(X.iloc[order][X.columns[::-1]], edges, sample_weight=fractional[order]))
    repeated = analytic_ess(X.loc[X.index.repeat(weights)], edges)
    assert_same(repeated, analytic_ess(X, edges, sample_weight=weights))
    halves = pd.concat([X, X])
    assert_same(repeated, analytic_ess(halves, edges, sample_weight=np.r_[weights, weights] / 2))


@given(problem=problems())
def test_equivalent_graphs_have_the_same_estimate(problem):
    X, parents, rng = problem
    estimate = analytic_ess(X, named(X.columns, parents))
    for _ in range(5):
        covered = [
            (p, child) for child, family in enumerate(parents) for p in family
            if set(family) - {p} == set(parents[p])
        ]
        if not covered:
            return
        p, child = covered[rng.integers(len(covered))]
        parents = list(parents)
        parents[p] = tuple(sorted((*parents[p], child)))
        parents[child] = tuple(i for i in parents[child] if i != p)
        other = analytic_ess(X, named(X.columns, parents))
        assert other.d_eff == estimate.d_eff
        assert other.expected_loglik_data == pytest.approx(
            estimate.expected_loglik_data, rel=1e-12, abs=1e-12)
        assert other.expected_loglik_prior == pytest.approx(
            estimate.expected_loglik_prior, rel=1e-12, abs=1e-12)
        assert_same(estimate, other)


# The forms that a table and a graph have.


def test_tables_and_graphs_of_every_kind():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (50, 3)), columns=list("abc"))
    edges = [("a", "b"), ("b", "c")]
    expected = analytic_ess(X, edges)
    assert isinstance(expected, AnalyticESS)
    adjacency = np.zeros((3, 3), dtype=int)
    adjacency[0, 1] = adjacency[1, 2] = 1
    fitted = BayesNetStructureEstimator(init=edges, max_iter=0).fit(X)
    for graph in (adjacency, nx.DiGraph(edges), fitted, fitted.network_, fitted.edges_):
        assert analytic_ess(X, graph) == expected
    array_edges = [("x0", "x1"), ("x1", "x2")]
    assert analytic_ess(X.to_numpy(), array_edges) == expected
    assert analytic_ess(X.to_numpy().tolist(), array_edges) == expected
    assert analytic_ess(pl.from_pandas(X), edges) == expected
    assert analytic_ess(X.astype("category"), edges) == expected


def test_declared_levels_enter():
    X = pd.DataFrame({"a": [0, 0, 1, 1, 1], "b": [0, 1, 1, 1, 0]})
    edges = [("a", "b")]
    by_hand = analytic_ess(X, edges, categories={"b": [0, 1, 2]})
    by_dtype = analytic_ess(X.astype({"b": pd.CategoricalDtype([0, 1, 2])}), edges)
    assert by_hand == by_dtype
    assert by_hand.ess != analytic_ess(X, edges).ess


def test_rows_of_weight_zero_change_nothing():
    X = [["a", 0], ["b", 1], ["b", 0], ["c", None]]
    edges = [("x0", "x1")]
    assert analytic_ess(X, edges, sample_weight=[2, 1, 3, 0]) == analytic_ess(
        X[:3], edges, sample_weight=[2, 1, 3])


def test_bad_input():
    X = [[0, 0], [1, 1]]
    with pytest.raises(ValueError, match="nobody"):
        analytic_ess(X, [("x0", "nobody")])
    with pytest.raises(ValueError, match="cycle"):
        analytic_ess(X, [("x0", "x1"), ("x1", "x0")])
    with pytest.raises(ValueError, match="Negative"):
        analytic_ess(X, [], sample_weight=[1, -1])
    with pytest.raises(ValueError, match="zero"):
        analytic_ess(X, [], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="real-valued"):
        analytic_ess([[0.5], [0.25]], [])
