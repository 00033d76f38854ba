import itertools
import math

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chisquare

from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints
from skbn.search.starts import empty_start, full_graph, full_start, random_start, tree_start


def nothing_allowed(n):
    return Constraints(np.zeros((n, n), bool), np.zeros((n, n), bool), n - 1)


def random_constraints(rng, n):
    """Satisfiable constraints: required edges along a random order, all else by chance."""
    order = rng.permutation(n).argsort()
    required = (order[:, None] < order[None, :]) & (rng.random((n, n)) < 0.2)
    allowed = ~np.eye(n, dtype=bool) & ((rng.random((n, n)) < 0.6) | required)
    return Constraints(required, allowed, int(required.sum(axis=0).max() + rng.integers(3)))


def assert_keeps(twins, dag, constraints):
    graph = frozenset(dag.edges)
    assert twins.is_acyclic(graph)
    assert twins.keeps(graph, constraints)


def test_empty_start_has_the_required_edges_alone():
    constraints = Constraints.from_names(
        "abc", required_edges=[("c", "a")], forbidden_edges=[("a", "b")]
    )
    assert empty_start(constraints).edges == [(2, 0)]
    assert empty_start(Constraints.none(1)).edges == []


# Random starts


@pytest.mark.parametrize("n", [1, 2, 3, 4, 10, 50])
def test_random_start_has_as_many_edges_as_variables_where_there_is_room(n):
    for seed in range(20):
        dag = random_start(Constraints.none(n), np.random.default_rng(seed))
        assert len(dag.edges) == min(n, n * (n - 1) // 2)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_random_start_ends_where_nothing_can_be_added(n):
    rng = np.random.default_rng(0)
    assert random_start(nothing_allowed(n), rng).edges == []
    assert random_start(Constraints.none(n, max_parents=0), rng).edges == []
    # One parent each makes a tree, since n edges of that kind would hold a cycle.
    assert len(random_start(Constraints.none(n, max_parents=1), rng).edges) == n - 1


@pytest.mark.parametrize("seed", range(60))
def test_random_start_keeps_constraints_and_stops_early_only_when_stuck(seed, twins):
    rng = np.random.default_rng(seed)
    constraints = random_constraints(rng, int(rng.integers(1, 7)))
    dag = random_start(constraints, rng)
    assert_keeps(twins, dag, constraints)
    n = dag.n_variables
    assert len(dag.edges) <= max(n, constraints.required.sum())
    if len(dag.edges) < n:
        assert not constraints.additions(dag).any()


def test_more_required_edges_than_variables_are_all_there():
    required = list(itertools.combinations("abcd", 2))
    dag = random_start(
        Constraints.from_names("abcd", required_edges=required), np.random.default_rng(0)
    )
    assert len(dag.edges) == 6


def assert_distribution(draws, expected):
    seen = {graph: 0 for graph in expected}
    for graph in draws:
        seen[graph] += 1
    n = len(draws)
    result = chisquare([seen[graph] for graph in expected], [n * p for p in expected.values()])
    assert result.pvalue > 1e-3


@pytest.mark.parametrize(("n", "n_draws"), [(3, 3000), (4, 8000)])
def test_random_starts_are_distributed_as_the_rejection_procedure_makes_them(n, n_draws, twins):
    constraints = Constraints.none(n)
    rng = np.random.default_rng(n)
    draws = [frozenset(random_start(constraints, rng).edges) for _ in range(n_draws)]
    assert_distribution(draws, twins.random_graphs(constraints))


def test_random_starts_under_constraints_have_the_same_distribution(twins):
    constraints = Constraints.from_names(
        "abcd", required_edges=[("d", "c")], forbidden_edges=[("a", "b"), ("b", "c")], max_parents=2
    )
    rng = np.random.default_rng(5)
    draws = [frozenset(random_start(constraints, rng).edges) for _ in range(4000)]
    assert_distribution(draws, twins.random_graphs(constraints))


def test_rare_valid_edges_are_drawn_with_equal_probability():
    # Three permitted edges among 10,000 pairs, of which two exclude each other.
    allowed = np.zeros((100, 100), dtype=bool)
    allowed[[3, 4, 7], [4, 3, 8]] = True
    constraints = Constraints(np.zeros_like(allowed), allowed, 99)
    rng = np.random.default_rng(0)
    draws = [frozenset(random_start(constraints, rng).edges) for _ in range(400)]
    assert_distribution(
        draws, {frozenset([(3, 4), (7, 8)]): 0.5, frozenset([(4, 3), (7, 8)]): 0.5}
    )


# Full starts


@pytest.mark.parametrize("n", [1, 2, 6])
def test_full_start_is_complete_in_column_order(n):
    assert full_start(Constraints.none(n)).edges == list(itertools.combinations(range(n), 2))


@pytest.mark.parametrize("most", [0, 1, 3])
def test_full_start_keeps_the_nearest_parents(most):
    dag = full_start(Constraints.none(6, max_parents=most))
    assert dag.all_parents() == [tuple(range(max(0, i - most), i)) for i in range(6)]


@pytest.mark.parametrize("seed", range(60))
def test_full_start_keeps_constraints(seed, twins):
    rng = np.random.default_rng(seed)
    constraints = random_constraints(rng, int(rng.integers(1, 7)))
    assert_keeps(twins, full_start(constraints), constraints)


def test_full_start_turns_edges_to_fit_tiers():
    constraints = Constraints.from_names("abcd", tiers=[["d"], ["b", "c"]])
    # a is in no tier and stays first; d goes before b and c.
    assert full_start(constraints).edges == [(0, 1), (0, 2), (0, 3), (1, 2), (3, 1), (3, 2)]


def test_full_start_joins_every_pair_that_may_be_joined_under_tiers():
    constraints = Constraints.from_names(
        "abcdef", tiers=[["f", "b"], ["a"], ["c", "d"]], required_edges=[("e", "a")]
    )
    dag = full_start(constraints)
    assert dag.adjacency.sum() == 15


def test_full_start_copes_with_one_way_pairs_in_a_circle(twins):
    constraints = Constraints.from_names(
        "abc", forbidden_edges=[("a", "b"), ("b", "c"), ("c", "a")], required_edges=[("b", "a")]
    )
    dag = full_start(constraints)
    assert_keeps(twins, dag, constraints)
    assert len(dag.edges) == 2


def test_full_graph_by_names_follows_the_order_given():
    assert full_graph(iter("cab")) == [("c", "a"), ("c", "b"), ("a", "b")]
    assert full_graph([]) == full_graph(["a"]) == []


# Trees


def mutual_information(codes, weights, i, j):
    """In nats per unit of weight."""
    weights = np.ones(codes.shape[1]) if weights is None else weights
    joint = np.zeros((int(codes[i].max()) + 1, int(codes[j].max()) + 1))
    np.add.at(joint, (codes[i], codes[j]), weights / weights.sum())
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    seen = joint > 0
    return math.fsum(joint[seen] * np.log(joint[seen] / independent[seen]))


def information_graph(codes, weights=None):
    graph = nx.Graph()
    graph.add_nodes_from(range(len(codes)))
    for i, j in itertools.combinations(range(len(codes)), 2):
        information = mutual_information(codes, weights, i, j)
        if information > 1e-9:
            graph.add_edge(i, j, weight=information)
    return graph


KINDS = ["plain", "constant", "duplicated", "unseen", "fractional", "whole+constant+duplicated"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_tree_has_the_greatest_mutual_information(kind, seed, make_table):
    rng = np.random.default_rng(seed)
    codes, cardinalities, weights = make_table(rng, 7, 80, kind)
    data = CategoricalData.from_codes(codes, cardinalities, weights)
    dag = tree_start(data, Constraints.none(7))
    graph = information_graph(codes, weights)
    best = nx.maximum_spanning_tree(graph)
    assert len(dag.edges) == best.number_of_edges()
    assert nx.is_forest(nx.Graph(dag.edges)) or not dag.edges
    total = sum(graph.edges[edge]["weight"] for edge in dag.edges)
    assert total == pytest.approx(best.size(weight="weight"), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_tree_leads_away_from_the_first_column_of_each_part(seed, make_table):
    codes, cardinalities, _ = make_table(np.random.default_rng(seed), 8, 50, "constant")
    dag = tree_start(CategoricalData.from_codes(codes, cardinalities), Constraints.none(8))
    assert dag.adjacency.sum(axis=0).max() <= 1
    for part in nx.weakly_connected_components(nx.DiGraph(dag.edges)):
        assert [v for v in part if not dag.parents(v)] == [min(part)]


def test_columns_without_information_stay_alone():
    # Every combination of three columns once, a copy of the first, and a constant.
    codes = np.array([*itertools.product(range(2), range(3), range(2))], dtype=np.uint8).T
    codes = np.vstack([codes, codes[:1], np.zeros((1, 12), dtype=np.uint8)])
    for weights in (None, np.full(12, 0.1)):
        data = CategoricalData.from_codes(codes, [2, 3, 2, 2, 1], weights)
        assert tree_start(data, Constraints.none(5)).edges == [(0, 3)]


def test_small_weights_give_the_same_tree(make_table):
    codes, cardinalities, weights = make_table(np.random.default_rng(0), 6, 60, "fractional")
    trees = [
        tree_start(
            CategoricalData.from_codes(codes, cardinalities, scale * weights), Constraints.none(6)
        ).edges
        for scale in (1.0, 1e-12, 1e12)
    ]
    assert len(trees[0]) == 5
    assert trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize("seed", range(5))
def test_information_that_is_float_noise_joins_nothing(seed):
    # The weights are a product of marginals, so that both columns are independent but for rounding.
    rng = np.random.default_rng(seed)
    weights = np.outer(rng.random(4), rng.random(5)).ravel()
    codes = np.array([*itertools.product(range(4), range(5))], dtype=np.uint8).T
    data = CategoricalData.from_codes(codes, [4, 5], weights)
    assert tree_start(data, Constraints.none(2)).edges == []


@pytest.mark.parametrize(("n", "n_rows"), [(1, 5), (2, 1), (4, 1), (1, 1)])
def test_tree_of_a_tiny_table_is_empty(n, n_rows):
    data = CategoricalData.from_codes(np.zeros((n, n_rows), dtype=np.uint8), [2] * n)
    assert tree_start(data, Constraints.none(n)).edges == []


@pytest.mark.parametrize("seed", range(60))
def test_tree_keeps_constraints_and_adds_tree_edges_alone(seed, make_table, twins):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    codes, cardinalities, weights = make_table(rng, n, 40)
    data = CategoricalData.from_codes(codes, cardinalities, weights)
    constraints = random_constraints(rng, n)
    dag = tree_start(data, constraints)
    assert_keeps(twins, dag, constraints)
    tree = nx.maximum_spanning_tree(information_graph(codes))
    chosen = {(a, b) for a, b in dag.edges if not constraints.required[a, b]}
    assert all(tree.has_edge(a, b) for a, b in chosen)
    # What is left out could not have been added in either direction.
    for a, b in tree.edges:
        if not dag.adjacency[a, b] and not dag.adjacency[b, a]:
            assert not constraints.additions(dag)[[a, b], [b, a]].any()


def test_a_forbidden_tree_edge_is_turned():
    codes = np.array([[0, 1, 0, 1], [0, 1, 0, 1]], dtype=np.uint8)
    data = CategoricalData.from_codes(codes, [2, 2])
    turned = Constraints.from_names("ab", forbidden_edges=[("a", "b")])
    assert tree_start(data, turned).edges == [(1, 0)]
    neither = Constraints.from_names("ab", forbidden_edges=[("a", "b"), ("b", "a")])
    assert tree_start(data, neither).edges == []


def test_what_is_no_order_of_names_gives_no_full_graph():
    for order, error, message in ((3, TypeError, "order must be a list of names, got 3"),
                                  (["a", "b", "a"], ValueError, "order has 'a' twice"),
                                  ([["a"], "b"], TypeError, r"but holds \['a'\]")):
        with pytest.raises(error, match=message):
            full_graph(order)
