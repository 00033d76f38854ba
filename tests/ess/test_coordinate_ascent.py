"""Graph and ESS chosen in turn: where it ends on real tables, and that it always ends."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skbn import (
    BayesNetClassifier,
    BayesNetStructureEstimator,
    analytic_ess,
    structure_score,
)
from skbn.ess.coordinate_ascent import TOLERANCE
from skbn.ess.ess_likelihood import HIGHEST, LOWEST, EssLikelihood
from skbn.graphs.given_graph import read_graph
from skbn.scores.bayesian import BDeu
from skbn.scores.likelihood import BIC
from skbn.tables.reading import read_table

POLICIES = ["analytic", "marginal_likelihood"]
SEARCHES = ["greedy", "first_ascent", "tabu", "order", "exact"]


def best_ess(X, graph, policy, categories="auto"):
    """The ESS that step 2 takes for a graph, and the likelihood."""
    reading = read_table(X, categories=categories)
    parents = read_graph(graph, reading.labels).all_parents()
    if policy == "analytic":
        return analytic_ess(X, graph, categories=categories).ess
    return EssLikelihood(reading.data, parents).maximise().ess


def table(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n_rows)
    b = np.where(rng.random(n_rows) < 0.7, a, rng.integers(0, 3, n_rows))
    c = np.where(rng.random(n_rows) < 0.6, (a + b) % 2, rng.integers(0, 2, n_rows))
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": rng.integers(0, 2, n_rows)})


# Real tables.


@pytest.mark.parametrize(("name", "expected"), [
    ("balance", 43.57), ("iris", 2.28), ("liver", 3.31), ("diabetes", 3.79), ("post_op", 2.82),
    ("shuttle", 2.53), ("tictac", 53.3), ("bc_wisc", 5.30), ("heart_cl", 10.7),
    ("heart_st", 9.50), ("adult", 44.6),
])
def test_where_the_analytic_ascent_ends(name, expected, uci):
    X, categories = uci(name)
    bn = BayesNetStructureEstimator(ess="analytic", search="exact", categories=categories).fit(X)
    assert bn.ess_ == pytest.approx(expected, rel=0.01)
    assert bn.ess_ == bn.ess_history_[-1]
    assert abs(bn.ess_history_[-1] - bn.ess_history_[-2]) < TOLERANCE
    assert bn.ess_ == pytest.approx(best_ess(X, bn, "analytic", categories), rel=1e-12)
    bic = BayesNetStructureEstimator(score_type="bic", search="exact", categories=categories)
    first = best_ess(X, bic.fit(X), "analytic", categories) if name != "adult" else None
    assert first is None or bn.ess_history_[0] == pytest.approx(first, rel=1e-12)


def test_abalone_cycles_and_says_so(uci):
    X, categories = uci("abalone")
    bn = BayesNetStructureEstimator(ess="analytic", search="exact", categories=categories)
    with pytest.warns(ConvergenceWarning, match=r"cycles between .* 6\.59.* 6\.69") as caught:
        bn.fit(X)
    assert len(caught) == 1
    assert bn.ess_ == pytest.approx(6.59, abs=0.005)
    assert sorted(bn.ess_history_[-2:]) == pytest.approx([6.59, 6.69], abs=0.005)
    assert bn.ess_ == pytest.approx(best_ess(X, bn, "analytic", categories), rel=1e-12)
    # The other member of the cycle is less likely.
    other_ess = max(bn.ess_history_[-2:])
    other = BayesNetStructureEstimator(ess=bn.ess_, search="exact", categories=categories).fit(X)
    assert best_ess(X, other, "analytic", categories) == pytest.approx(other_ess)
    assert structure_score(X, bn, ess=bn.ess_, categories=categories) > structure_score(
        X, other, ess=other_ess, categories=categories)


@pytest.mark.parametrize("name", ["balance", "iris", "thyroid", "liver", "diabetes", "post_op",
                                  "tictac", "bc_wisc", "page", "wine", "abalone"])
def test_the_marginal_likelihood_rises_to_a_fixed_point(name, uci):
    X, categories = uci(name)
    options = {"search": "exact", "categories": categories}
    bn = BayesNetStructureEstimator(ess="marginal_likelihood", **options).fit(X)
    # The ascent again, one step at a time.
    graph = BayesNetStructureEstimator(score_type="bic", **options).fit(X)
    ess, likelihoods = None, []
    for expected in bn.ess_history_:
        ess = best_ess(X, graph, "marginal_likelihood", categories)
        assert ess == pytest.approx(expected, rel=1e-9)
        likelihoods.append(structure_score(X, graph, ess=ess, categories=categories))
        graph = BayesNetStructureEstimator(ess=ess, **options).fit(X)
        likelihoods.append(graph.structure_score_)
    rounding = 1e-12 * abs(likelihoods[0])
    assert (np.diff(likelihoods) >= -rounding).all()
    assert bn.ess_ == ess
    assert graph.edges_ == bn.edges_
    assert best_ess(X, bn, "marginal_likelihood", categories) == ess
    # Neither another ESS nor another graph is better alone.
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert structure_score(X, bn, ess=factor * ess, categories=categories) < likelihoods[-1]


# What is kept.


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("search", SEARCHES)
def test_the_fitted_network_is_that_of_the_ess(search, policy):
    X = table()
    bn = BayesNetStructureEstimator(ess=policy, search=search, random_state=0).fit(X)
    assert type(bn.ess_) is float
    assert all(type(ess) is float for ess in bn.ess_history_)
    assert bn.ess == policy
    assert bn.ess_ == pytest.approx(best_ess(X, bn, policy), rel=1e-12)
    fixed = BayesNetStructureEstimator(init=bn.edges_, max_iter=0, ess=bn.ess_).fit(X)
    np.testing.assert_array_equal(fixed.score_samples(X), bn.score_samples(X))
    again = clone(bn).fit(X)
    assert (again.ess_, again.edges_, again.ess_history_) == (bn.ess_, bn.edges_, bn.ess_history_)
    assert again.fit(X).ess_ == bn.ess_


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("score_type", ["bdeu", "bds", BDeu()], ids=str)
def test_the_structure_score_is_at_the_ess(score_type, policy):
    X = table()
    bn = BayesNetStructureEstimator(ess=policy, score_type=score_type, graph_prior=1.5).fit(X)
    expected = structure_score(X, bn, score_type=score_type, ess=bn.ess_)
    assert bn.structure_score_ == pytest.approx(expected - 1.5 * len(bn.edges_), rel=1e-12)


def test_the_structure_score_is_at_the_ess_after_a_cycle(uci):
    X, categories = uci("abalone")
    bn = BayesNetStructureEstimator(ess="analytic", search="exact", categories=categories)
    with pytest.warns(ConvergenceWarning, match="cycles"):
        bn.fit(X)
    expected = structure_score(X, bn, ess=bn.ess_, categories=categories)
    assert bn.structure_score_ == pytest.approx(expected, rel=1e-12)


def test_parameters_may_have_an_ess_of_their_own():
    X = table()
    bn = BayesNetStructureEstimator(ess="analytic", parameter_ess=77.0, random_state=0).fit(X)
    assert bn.ess_ == BayesNetStructureEstimator(ess="analytic", random_state=0).fit(X).ess_
    fixed = BayesNetStructureEstimator(init=bn.edges_, max_iter=0, ess=77.0).fit(X)
    np.testing.assert_array_equal(fixed.score_samples(X), bn.score_samples(X))


@pytest.mark.parametrize("ess", [1, 2.5, np.float64(3.0), np.int64(4)])
def test_a_number_has_a_history_of_one(ess):
    bn = BayesNetStructureEstimator(ess=ess).fit(table())
    assert bn.ess_ == float(ess)
    assert bn.ess_history_ == [float(ess)]
    assert type(bn.ess_) is float


@pytest.mark.parametrize("ess", ["analytical", "map", 0, -1.0, math.nan, math.inf, None])
def test_other_values_are_refused(ess):
    with pytest.raises(ValueError, match="ess"):
        BayesNetStructureEstimator(ess=ess).fit(table())


@pytest.mark.parametrize("policy", POLICIES)
def test_with_a_target(policy):
    X = table()
    joint = BayesNetStructureEstimator(ess=policy, random_state=0).fit(X)
    for Estimator in (BayesNetStructureEstimator, BayesNetClassifier):
        bn = Estimator(ess=policy, random_state=0).fit(X[["a", "b", "c"]], X["d"])
        assert bn.ess_ == joint.ess_
        assert bn.edges_ == joint.edges_


@pytest.mark.parametrize("policy", POLICIES)
def test_constraints_hold_on_the_way(policy):
    X = table()
    options = {"required_edges": [("d", "a")], "forbidden_edges": [("a", "b"), ("b", "a")],
               "max_parents": 2, "random_state": 0}
    for search in SEARCHES:
        bn = BayesNetStructureEstimator(ess=policy, search=search, **options).fit(X)
        assert ("d", "a") in bn.edges_
        assert not {("a", "b"), ("b", "a")} & set(bn.edges_)
        assert bn.ess_ == pytest.approx(best_ess(X, bn, policy), rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_graph_that_is_held_fixed(policy):
    X = table()
    edges = [("a", "b"), ("c", "d")]
    bn = BayesNetStructureEstimator(ess=policy, init=edges, max_iter=0).fit(X)
    assert bn.edges_ == edges
    assert bn.ess_history_ == [bn.ess_] * 2
    assert bn.ess_ == pytest.approx(best_ess(X, edges, policy), rel=1e-12)


# Scores that do not depend on the ESS.


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("score_type", ["bic", "aic", "mdl", "k2", "bdj", "fnml", "qnml", "loglik",
                                        BIC()], ids=str)
def test_scores_that_ignore_the_ess(score_type, policy):
    X = table()
    options = {"score_type": score_type, "random_state": 0, "max_parents": 2}
    for search in ("greedy", "exact"):
        plain = BayesNetStructureEstimator(search=search, **options).fit(X)
        bn = BayesNetStructureEstimator(ess=policy, search=search, **options).fit(X)
        assert bn.edges_ == plain.edges_
        assert bn.structure_score_ == plain.structure_score_
        assert bn.n_evaluations_ == plain.n_evaluations_  # found once
        assert bn.ess_history_ == [bn.ess_]
        assert bn.ess_ == pytest.approx(best_ess(X, plain, policy), rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_scores_that_depend_on_it_ascend(policy):
    X = table()
    for score_type in ("bdeu", "bds", BDeu()):
        bn = BayesNetStructureEstimator(score_type=score_type, ess=policy, random_state=0).fit(X)
        assert len(bn.ess_history_) > 1


class Plain:
    """A score of a user's own, of which nobody says whether it depends on the ESS."""

    def cell_terms(self, counts, family):
        return counts * np.log(counts)

    def parent_terms(self, counts, family):
        return counts * np.log(counts)

    def constant(self, family):
        return -2.0 * (family.cardinality - 1) * family.n_parent_states


@pytest.mark.parametrize("policy", POLICIES)
def test_a_users_score(policy):
    X = table()
    plain = BayesNetStructureEstimator(score_type=Plain(), random_state=0).fit(X)
    bn = BayesNetStructureEstimator(score_type=Plain(), ess=policy, random_state=0).fit(X)
    assert bn.edges_ == plain.edges_
    assert bn.ess_ == pytest.approx(best_ess(X, plain, policy), rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_scores_that_ignore_the_ess_warn_too(policy):
    bn = BayesNetStructureEstimator(score_type="bic", ess=policy, categories=[["a", "b"]])
    with pytest.warns(ConvergenceWarning, match="For the graph found") as caught:
        bn.fit([["a"]])
    assert len(caught) == 1
    assert bn.ess_ == 1.0


# Values that cannot be used, and bounds.


@pytest.mark.parametrize("X", [
    [["a", "b"]] * 10,
    [["a", "b"]],
    [(a, b) for a in "ay" for b in "bz"] * 10,
], ids=["equal rows", "one row", "uniform"])
def test_no_analytic_value_at_all(X):
    bn = BayesNetStructureEstimator(
        ess="analytic", search="exact", categories=[["a", "y"], ["b", "z"]])
    with pytest.warns(ConvergenceWarning) as caught:
        bn.fit(X)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert messages[0].startswith("For the BIC optimum the estimate of Eq. 18 is ")
    assert messages[0].endswith("the ascent starts at ess=1.")
    assert "ess=1 is kept. Compare it with other values by ESSSearchCV." in messages[1]
    assert bn.ess_ == 1.0
    assert set(bn.ess_history_) == {1.0}
    assert np.isfinite(bn.score_samples(X)).all()


def test_an_unusable_value_on_the_way_keeps_the_last_usable_one():
    X, categories = [[2, 1], [3, 0], [0, 1]], [range(5), range(3)]
    categories = [list(levels) for levels in categories]
    start = analytic_ess(X, [], categories=categories)
    assert start.usable
    bn = BayesNetStructureEstimator(ess="analytic", search="exact", categories=categories)
    with pytest.warns(ConvergenceWarning, match=r"For the last graph .* not usable; ess=12\.98"):
        bn.fit(X)
    assert bn.edges_ == [("x0", "x1")] or bn.edges_ == [("x1", "x0")]
    assert not analytic_ess(X, bn, categories=categories).usable
    assert bn.ess_ == start.ess


@pytest.mark.parametrize(("X", "bound", "verb"), [
    ([["a", "b"]] * 10, LOWEST, "falls"),
    ([(a, b) for a in "ay" for b in "bz"] * 10, HIGHEST, "rises"),
    ([("a", "b"), ("y", "z")], None, "rises"),
], ids=["equal rows", "uniform", "single rows"])
@pytest.mark.parametrize("search", ["greedy", "exact"])
def test_bounds_end_with_a_warning(search, X, bound, verb):
    bn = BayesNetStructureEstimator(
        ess="marginal_likelihood", search=search, categories=[["a", "y"], ["b", "z"]],
        random_state=0)
    with pytest.warns(ConvergenceWarning, match=f"marginal likelihood {verb} over all"):
        bn.fit(X)
    assert LOWEST <= bn.ess_ <= HIGHEST
    assert bound is None or bn.ess_ == bound
    assert np.isfinite(bn.score_samples(X)).all()
    assert np.isfinite(bn.structure_score_)


@pytest.mark.parametrize("X", [[["a", "b"]], [["c", "d"]] * 5], ids=["one row", "constants"])
def test_a_flat_likelihood_keeps_the_ess(X):
    categories = [["a", "y"], ["b", "z"]] if len(X) == 1 else "auto"
    bn = BayesNetStructureEstimator(ess="marginal_likelihood", categories=categories)
    with pytest.warns(ConvergenceWarning, match="does not depend on the ess"):
        bn.fit(X)
    assert bn.ess_ == 1.0


@st.composite
def odd_tables(draw):
    """Small tables with constant, copied and even columns, few rows and undeclared levels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_rows = int(rng.integers(1, 6)), int(rng.choice([1, 2, 3, 5, 10, 40]))
    cardinalities = rng.integers(1, 5, n)
    X = np.empty((n_rows, n), dtype=int)
    for j, r in enumerate(cardinalities):
        X[:, j] = rng.integers(0, r, n_rows)
        if j and rng.random() < 0.6:
            copied = rng.random(n_rows) < rng.random()
            X[copied, j] = X[copied, rng.integers(0, j)] % r
    return X, [list(range(r + int(rng.integers(0, 3)))) for r in cardinalities]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=30)
@given(problem=odd_tables(), search=st.sampled_from(SEARCHES))
def test_it_always_ends_with_a_number(policy, problem, search):
    X, categories = problem
    bn = BayesNetStructureEstimator(
        ess=policy, search=search, categories=categories, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bn.fit(X)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    assert math.isfinite(bn.ess_) and bn.ess_ > 0
    assert all(math.isfinite(ess) and ess > 0 for ess in bn.ess_history_)
    assert bn.ess_ in bn.ess_history_
    assert len(bn.ess_history_) <= 20
    assert np.isfinite(bn.score_samples(X)).all()
    best = best_ess(X, bn, policy, categories)
    settled = bn.ess_ == pytest.approx(best, rel=1e-9, nan_ok=True)
    # If it ended without a warning about it, it ended where both steps agree.
    assert settled or any("is kept" in str(warning.message) for warning in caught)


# What it must not depend on.


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_states_weights_and_threads(policy):
    X = table()
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, len(X))
    bn = BayesNetStructureEstimator(ess=policy, n_restarts=2, random_state=0)
    plain = clone(bn).fit(X, sample_weight=weights)
    order = rng.permutation(len(X))
    others = [
        clone(bn).fit(X.iloc[order], sample_weight=weights[order]),
        clone(bn).fit(X.loc[X.index.repeat(weights)]),
        clone(bn).fit(X.map(lambda code: f"state {7 - code}"), sample_weight=weights),
        clone(bn).set_params(n_jobs=2).fit(X, sample_weight=weights),
    ]
    for other in others:
        assert other.ess_history_ == plain.ess_history_
        assert other.ess_ == plain.ess_
        assert other.edges_ == plain.edges_
        assert other.structure_score_ == plain.structure_score_


@pytest.mark.parametrize("policy", POLICIES)
def test_column_order(policy, uci):
    X, categories = uci("heart_st")
    options = {"search": "exact", "ess": policy, "categories": categories}
    plain = BayesNetStructureEstimator(**options).fit(X)
    permuted = BayesNetStructureEstimator(**options).fit(X[X.columns[::-1]])
    assert permuted.ess_ == pytest.approx(plain.ess_, rel=1e-9)
    assert permuted.structure_score_ == pytest.approx(plain.structure_score_, rel=1e-12)
