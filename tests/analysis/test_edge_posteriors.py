"""Posteriors of edges and features, against the enumeration of all graphs."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

from skbn import EdgePosteriors, Score, edge_posteriors, structure_score
from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints, read_graph_prior
from skbn.posteriors.marginal_likelihood import log_marginal_likelihoods, posterior_of
from skbn.scores.by_name import SCORES
from skbn.scores.local_scores import LocalScores


class Enumeration:
    """All graphs of n variables, and what a table says of them: the slow twin."""

    def __init__(self, graphs, n):
        self.n = n
        self.parents = np.array([[sum(1 << p for p in given) for given in graph]
                                 for graph in graphs])
        bits = self.parents[:, None, :] >> np.arange(n)[:, None] & 1
        self.edges = bits.astype(bool)  # graph, parent, child
        reach = self.edges.copy()
        for _ in range(n):
            reach |= np.einsum("gab,gbc->gac", reach, self.edges)
        self.ancestors = reach
        self.n_orders = None

    def count_orders(self):
        """How many orders agree with each graph."""
        if self.n_orders is None:
            ways = np.zeros((len(self.parents), 2**self.n))
            ways[:, 0] = 1
            for members in range(1, 2**self.n):
                for last in range(self.n):
                    if members >> last & 1:
                        rest = members ^ 1 << last
                        ways[:, members] += ways[:, rest] * (self.parents[:, last] & ~rest == 0)
            self.n_orders = ways[:, -1]
        return self.n_orders

    def permitted(self, constraints, cardinalities):
        required, allowed = constraints.required, constraints.allowed.copy()
        constant = np.asarray(cardinalities) == 1
        allowed &= required | ~(constant[:, None] | constant[None, :])
        return ~(
            (self.edges & ~allowed).any(axis=(1, 2)) | (required & ~self.edges).any(axis=(1, 2))
            | (self.edges.sum(axis=1) > constraints.max_parents).any(axis=1)
        )

    def log_weights(self, local):
        """Sum over the families of each graph of a function of child and parents."""
        total = np.zeros(len(self.parents))
        for child in range(self.n):
            table = np.array([
                -np.inf if members >> child & 1
                else local(child, tuple(b for b in range(self.n) if members >> b & 1))
                for members in range(2**self.n)
            ])
            total += table[self.parents[:, child]]
        return total


@pytest.fixture(scope="session")
def enumeration(all_dags):
    known = {}

    def of(n):
        if n not in known:
            known[n] = Enumeration(list(all_dags(n)), n)
        return known[n]

    return of


def random_constraints(rng, n):
    labels = list(range(n))
    kind = rng.integers(5)
    if kind == 0:
        return Constraints.from_names(labels, max_parents=int(rng.integers(n)))
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    chosen = [pairs[k] for k in rng.choice(len(pairs), size=min(2, len(pairs)), replace=False)]
    if kind == 1:
        return Constraints.from_names(labels, forbidden_edges=chosen, max_parents=2)
    if kind == 2:
        child, *others = rng.permutation(n).tolist()
        return Constraints.from_names(labels, required_edges=[(a, child) for a in others[:2]])
    if kind == 3:
        return Constraints.from_names(labels, tiers=[labels[: n // 2], labels[n // 2 :]])
    return Constraints.from_names(
        labels, required_edges=chosen[:1], forbidden_edges=chosen[1:], max_parents=1
    )


KINDS = ("plain", "constant", "duplicated", "unseen", "whole", "fractional", "unseen+constant")
# The last tells families apart by their members, and so which variable is which.
PRIORS = (None, 0.7, lambda child, parents: -0.3 * len(parents) ** 2 - 0.4 * math.fsum(
    (1 + child) ** 2 * (2 + parent) % 5 for parent in parents))


@pytest.mark.filterwarnings("ignore:Of the parents:skbn.DataWarning")
@pytest.mark.parametrize("name", sorted(SCORES))
def test_enumeration_agrees_on_fifty_tables(name, enumeration, make_table):
    rng = np.random.default_rng(sorted(SCORES).index(name))
    for number in range(50):
        n = (2, 3, 4, 3, 5)[number % 5]
        kind = KINDS[number % len(KINDS)]
        if kind == "fractional" and name in ("fnml", "qnml"):
            kind = "plain"
        codes, cardinalities, weights = make_table(rng, n, int(rng.integers(1, 60)), kind)
        data = CategoricalData.from_codes(codes, cardinalities, weights)
        log_prior = read_graph_prior(PRIORS[number % 3], list(range(n)))
        scores = LocalScores(data, SCORES[name], float(rng.choice([0.1, 1.0, 20.0])), log_prior)
        every = enumeration(n)
        graph_weights = every.log_weights(scores.local)
        prior_weights = every.log_weights(log_prior or (lambda child, parents: 0.0))
        for constraints in (Constraints.none(n), random_constraints(rng, n)):
            permitted = every.permitted(constraints, cardinalities)
            if not permitted.any():
                with pytest.raises(ValueError, match="No acyclic graph"):
                    posterior_of(scores, range(n), constraints)
                continue
            logs = graph_weights[permitted]
            log_sum = logsumexp(logs)
            p = np.exp(logs - log_sum)
            found = posterior_of(scores, range(n), constraints)
            assert found.log_sum == pytest.approx(log_sum, abs=1e-10)
            assert found.log_marginal_likelihood == pytest.approx(
                log_sum - logsumexp(prior_weights[permitted]), abs=1e-10)
            for matrix, twin in ((found.edges, every.edges), (found.ancestors, every.ancestors)):
                expected = np.einsum("g,gab->ab", p, twin[permitted])
                np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_orders_agree_with_graphs_weighted_by_their_orders(seed, enumeration, make_table):
    rng = np.random.default_rng(seed)
    n = 3 + seed % 3
    codes, cardinalities, _ = make_table(rng, n, 30)
    data = CategoricalData.from_codes(codes, cardinalities)
    scores = LocalScores(data, SCORES["bdeu"], 1.0, read_graph_prior(PRIORS[seed % 3], range(n)))
    every = enumeration(n)
    for constraints in (Constraints.none(n), random_constraints(rng, n)):
        permitted = every.permitted(constraints, cardinalities)
        log_orders = np.log(every.count_orders())[permitted]
        logs = every.log_weights(scores.local)[permitted] + log_orders
        priors = every.log_weights(scores.log_prior or (lambda c, p: 0.0))[permitted] + log_orders
        found = posterior_of(scores, range(n), constraints, prior="orders")
        assert found.log_sum == pytest.approx(logsumexp(logs), abs=1e-10)
        assert found.log_marginal_likelihood == pytest.approx(
            logsumexp(logs) - logsumexp(priors), abs=1e-10)
        p = np.exp(logs - logsumexp(logs))
        expected = np.einsum("g,gab->ab", p, every.edges[permitted])
        np.testing.assert_allclose(found.edges, expected, rtol=0, atol=1e-10)
        assert found.ancestors is None


@pytest.fixture(scope="module")
def small(enumeration, make_table):
    """A table of four columns, its posterior, and all graphs with their probabilities."""
    codes, cardinalities, _ = make_table(np.random.default_rng(3), 4, 40)
    X = pd.DataFrame(codes.T, columns=["b", "a", "d", "c"])
    levels = {c: list(range(r)) for c, r in zip(X, cardinalities, strict=True)}
    posterior = edge_posteriors(X, ess=2.0, categories=levels)
    every = enumeration(4)
    data = CategoricalData.from_codes(codes, cardinalities)
    logs = every.log_weights(LocalScores(data, SCORES["bdeu"], 2.0).local)
    return X, posterior, every, np.exp(logs - logsumexp(logs))


def test_parent_sets(small):
    X, posterior, every, p = small
    names = list(X)
    for child, name in enumerate(names):
        found = posterior.parent_sets(name, n=8)
        assert len(found) == 8
        assert [one.probability for one in found] == sorted(
            (one.probability for one in found), reverse=True)
        for parents, probability in found:
            members = sum(1 << names.index(parent) for parent in parents)
            expected = p[every.parents[:, child] == members].sum()
            assert probability == pytest.approx(expected, abs=1e-12)
        assert posterior.parent_sets(name, n=2) == found[:2]
    with pytest.raises(ValueError, match="x names 'e', which is not a column"):
        posterior.parent_sets("e")


@pytest.mark.parametrize("prior", ["graphs", "orders"])
def test_markov_blankets_and_conditions(small, prior):
    X, posterior, every, p = small
    if prior == "orders":
        posterior = edge_posteriors(X, prior="orders", ess=2.0)
        assert posterior.log_sum > small[1].log_sum
        p = p * every.count_orders()
        p /= p.sum()
    joined = every.edges | every.edges.transpose(0, 2, 1)
    joined |= (every.edges[:, :, None] & every.edges[:, None]).any(axis=-1)
    expected = np.einsum("g,gab->ab", p, joined)
    np.fill_diagonal(expected, 0)
    for place, name in enumerate(X):
        np.testing.assert_allclose(
            posterior.markov_blanket(name), expected[place], rtol=0, atol=1e-12)
    np.testing.assert_allclose(posterior.markov_blanket(), expected, rtol=0, atol=1e-12)
    few = (every.edges.sum(axis=1) < 2).all(axis=1)
    found = posterior.probability(lambda variable, parents: len(parents) < 2)
    assert found == pytest.approx(p[few].sum(), abs=1e-12)
    first = every.edges[:, 1, 0]  # a -> b
    found = posterior.probability(lambda variable, parents: variable != "b" or "a" in parents)
    assert found == pytest.approx(p[first].sum(), abs=1e-12)
    assert posterior.probability(lambda variable, parents: False) == 0.0
    assert posterior.probability(lambda variable, parents: True) == pytest.approx(1.0, abs=1e-14)


def test_matrices_with_names(small):
    X, posterior, _, _ = small
    frame = posterior.to_frame()
    assert list(frame.index) == list(frame.columns) == list(X)
    assert frame.loc["a", "b"] == posterior.edges[1, 0]
    np.testing.assert_array_equal(
        posterior.to_frame("adjacent"), posterior.edges + posterior.edges.T)
    assert posterior.to_frame("ancestors").loc["a", "b"] >= posterior.edges[1, 0] - 1e-15
    with pytest.raises(ValueError, match="what must be"):
        posterior.to_frame("blankets")
    with pytest.raises(ValueError, match="no probabilities of ancestors"):
        edge_posteriors(X, prior="orders").to_frame("ancestors")
    assert repr(posterior).startswith("EdgePosteriors(4 variables, log marginal likelihood -")


def test_without_sums(small):
    posterior = small[1]
    light = posterior.without_sums()
    assert isinstance(light, EdgePosteriors)
    np.testing.assert_array_equal(light.edges, posterior.edges)
    with pytest.raises(ValueError, match="stored without the sums"):
        light.sample()


def test_asia(shared):
    X = pd.read_csv(shared("data/bnlearn/asia.csv"))
    posterior = edge_posteriors(X, ess=1.0)
    edges = posterior.edges
    assert np.isfinite(posterior.log_marginal_likelihood)
    assert ((edges >= 0) & (edges <= 1)).all()
    assert (posterior.adjacent <= 1).all()
    assert (np.diagonal(edges) == 0).all()
    assert (edges <= posterior.ancestors + 1e-12).all()
    assert posterior.adjacent[list(X).index("S"), list(X).index("B")] > 0.99
    # Turning an edge a -> b whose ends share all other parents gives an equivalent graph.
    def of_graph(edges):
        given = {c: tuple(a for a in X if (a, c) in edges) for c in X}
        return posterior.probability(lambda variable, parents: given[variable] == parents)

    graph = set(posterior.sample(1, random_state=0)[0])
    parents = {c: {a for a, b in graph if b == c} for c in X}
    turned = [(a, b) for a, b in graph if parents[b] == parents[a] | {a}]
    probability = of_graph(graph)
    assert 0 < probability < 1
    score = structure_score(X, graph, ess=1.0)
    assert np.log(probability) == pytest.approx(score - posterior.log_sum, abs=1e-9)
    assert turned
    for a, b in turned:
        assert of_graph(graph - {(a, b)} | {(b, a)}) == pytest.approx(probability, rel=1e-9)


@pytest.mark.parametrize("name", ["bdeu", "bic", "qnml"])
def test_equivalent_graphs_are_equally_probable(name, make_table):
    codes = make_table(np.random.default_rng(5), 4, 50)[0]
    X = pd.DataFrame(codes.T, columns=list("abcd"))
    posterior = edge_posteriors(X, score_type=name)
    # Chains and forks a - b - c with d apart: one class of three graphs.
    graphs = ([("a", "b"), ("b", "c")], [("b", "a"), ("b", "c")], [("c", "b"), ("b", "a")])
    found = []
    for graph in graphs:
        given = {child: tuple(sorted(a for a, b in graph if b == child)) for child in "abcd"}
        found.append(posterior.probability(lambda v, parents, given=given: given[v] == parents))
    assert found[0] > 0
    np.testing.assert_allclose(found, found[0], rtol=1e-9)


def test_columns_in_another_order():
    X = np.random.default_rng(0).integers([2, 4, 3, 2], size=(40, 4))
    one, two = edge_posteriors(X), edge_posteriors(X[:, [2, 0, 3, 1]])
    for name in ("edges", "ancestors"):
        matrix = getattr(one, name)[np.ix_([2, 0, 3, 1], [2, 0, 3, 1])]
        np.testing.assert_allclose(matrix, getattr(two, name), rtol=0, atol=1e-13)


def test_extreme_scores_neither_overflow_nor_underflow():
    rng = np.random.default_rng(1)
    a = rng.integers(3, size=50)
    X = np.column_stack([a, a, rng.integers(3, size=50), a])
    weights = np.full(50, 4e6)
    posterior = edge_posteriors(X, sample_weight=weights)
    assert posterior.log_sum < -4e8
    assert np.isfinite(posterior.edges).all()
    # Copies: one of the three connected graphs of two edges, or the complete one.
    assert posterior.adjacent[np.ix_([0, 1, 3], [0, 1, 3])].sum() >= 4 - 1e-9


@pytest.mark.parametrize("n_rows", [1, 7])
def test_one_column_one_row_and_constants(n_rows):
    assert edge_posteriors([[0]] * n_rows).edges.tolist() == [[0.0]]
    posterior = edge_posteriors([[0, 1, 0]] * n_rows, categories=[[0, 1], [0, 1], [0]])
    assert (posterior.edges[2] == 0).all()
    assert (posterior.edges[:, 2] == 0).all()
    alone = edge_posteriors([[0, 1]] * n_rows, categories=[[0, 1], [0, 1]])
    np.testing.assert_allclose(posterior.edges[:2, :2], alone.edges, rtol=0, atol=1e-14)
    assert posterior.log_marginal_likelihood == pytest.approx(
        alone.log_marginal_likelihood, abs=1e-12)
    if n_rows == 1:
        # One row says nothing: each of the three graphs is as good.
        assert alone.edges[0, 1] == pytest.approx(1 / 3)
        assert alone.log_marginal_likelihood == pytest.approx(-math.log(4))


def test_labels_of_any_kind_and_many_levels():
    X = pd.DataFrame(np.random.default_rng(0).integers(3, size=(30, 3)),
                     columns=[("a", 1), ("a", 2), ("b", 1)])
    X.columns = pd.Index(X.columns, tupleize_cols=False)
    posterior = edge_posteriors(X)
    assert list(posterior.to_frame().index) == posterior.labels
    numbers = edge_posteriors(X.set_axis([7, 8, 9], axis=1))
    assert numbers.to_frame().loc[7, 9] == posterior.edges[0, 2]
    assert set(numbers.sample(1, random_state=0)[0]) <= {(a, b) for a in (7, 8, 9)
                                                         for b in (7, 8, 9)}
    many = edge_posteriors(X, categories=[range(50_000), range(7), range(70_000)], ess=1.0)
    assert np.isfinite(many.log_sum)
    assert ((many.edges >= 0) & (many.edges <= 1)).all()


def test_weights_count_as_repeated_rows():
    X = np.random.default_rng(0).integers(2, size=(30, 4))
    weights = np.random.default_rng(1).integers(1, 4, size=30)
    repeated = edge_posteriors(np.repeat(X, weights, axis=0))
    weighted = edge_posteriors(X, sample_weight=weights)
    np.testing.assert_array_equal(weighted.edges, repeated.edges)
    assert weighted.log_sum == repeated.log_sum


def test_threads_change_nothing():
    X = np.random.default_rng(0).integers(3, size=(600, 9))
    one, two = (edge_posteriors(X, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.edges, two.edges)
    assert one.log_sum == two.log_sum
    assert one.sample(5, random_state=0) == two.sample(5, random_state=0)


class Own(Score):
    """BIC's log-likelihood, and no family with two parents."""

    def cell_terms(self, counts, family):
        return counts * np.log(counts)

    parent_terms = cell_terms

    def constant(self, family):
        return -np.inf if family.n_parents > 1 else -2.0 * family.n_parents


def test_a_score_object():
    X = np.random.default_rng(0).integers(2, size=(30, 4))
    posterior = edge_posteriors(X, score_type=Own())
    assert all(len(one.parents) < 2 for one in posterior.parent_sets("x0"))
    assert posterior.edges[:, 0].sum() <= 1


def test_refusals():
    X = np.random.default_rng(0).integers(2, size=(30, 12))
    with pytest.raises(MemoryError, match="Sums over all graphs of 12 variables take about"):
        edge_posteriors(X, max_memory=10_000)
    with pytest.raises(MemoryError, match="Sums over all graphs of 60 variables take about"):
        edge_posteriors(np.zeros((3, 60), dtype=int))
    with pytest.raises(ValueError, match="prior"):
        edge_posteriors(X, prior="dags")
    with pytest.raises(ValueError, match="No acyclic graph"):
        edge_posteriors(X[:, :3], graph_prior=lambda variable, parents: -np.inf)


@pytest.mark.parametrize("asked", [
    {"max_parents": 1}, {"required_edges": [("a", "c")]}, {"forbidden_edges": [("a", "b")]},
    {"tiers": [["c"], ["a", "b"]]},
])
def test_constraints_by_name(asked):
    X = pd.DataFrame(np.random.default_rng(0).integers(2, size=(20, 3)), columns=list("cab"))
    X["b"] = X["a"]
    constraints = Constraints.from_names(list("cab"), **asked)
    data = CategoricalData.from_codes(X.to_numpy().T, [2, 2, 2])
    expected = posterior_of(LocalScores(data, SCORES["bdeu"], 1.0), list("cab"), constraints)
    found = edge_posteriors(X, **asked)
    np.testing.assert_array_equal(found.edges, expected.edges)
    assert found.log_marginal_likelihood == expected.log_marginal_likelihood
    assert found.log_sum < edge_posteriors(X).log_sum


@pytest.mark.parametrize("constant", [False, True])
def test_a_grid_of_equivalent_sample_sizes(constant):
    X = np.random.default_rng(0).integers(3, size=(40, 5))
    X[:, 2] *= not constant
    data = CategoricalData.from_codes(X.T, [3, 3, 1 if constant else 3, 3, 3])
    grid = [0.5, 2.0, 30.0]
    for constraints in (Constraints.none(5), Constraints.none(5, 2)):
        found = log_marginal_likelihoods(
            [LocalScores(data, SCORES["bdeu"], ess) for ess in grid], constraints)
        expected = [
            posterior_of(
                LocalScores(data, SCORES["bdeu"], ess), range(5), constraints
            ).log_marginal_likelihood
            for ess in grid
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_scores_beyond_all_bounds_are_refused():
    class Wild(Own):
        def constant(self, family):
            return -1e20 * family.n_parents

    with pytest.raises(ValueError, match="sums over all graphs take scores up to 1e\\+14"):
        edge_posteriors([[0, 1], [1, 0]], score_type=Wild())


def test_a_condition_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="holds must be a function of a variable and parents"):
        edge_posteriors([[0, 1], [1, 0]]).probability(3)


@pytest.mark.parametrize("prior", ["graphs", "orders"])
def test_conditions_keep_their_digits_where_scores_are_billions_of_nats(prior):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (4, 4))
    posterior = edge_posteriors(
        X, prior=prior, score_type="bic", sample_weight=np.full(4, 2.0**31))
    assert posterior.log_sum < -1e10
    assert posterior.probability(lambda variable, parents: True) == pytest.approx(1, rel=1e-12)
    for child in range(4):
        # Each is found by other sums over all graphs.
        for parent in set(range(4)) - {child}:
            found = posterior.probability(
                lambda v, parents, edge=(f"x{parent}", f"x{child}"):
                    v != edge[1] or edge[0] in parents)
            assert found == pytest.approx(posterior.edges[parent, child], rel=1e-9, abs=1e-12)
    assert (posterior.markov_blanket() >= posterior.adjacent - 1e-12).all()
