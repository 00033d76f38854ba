"""d-separation against networkx, and against independence in the joint distribution."""

import itertools

import networkx as nx
import numpy as np
import pytest

from skbn.counting.data import CategoricalData
from skbn.inference.conditional_table import ConditionalTable
from skbn.networks.network import BayesianNetwork


def random_network(rng, n, density):
    """A random graph with random probabilities, far from 0 and from each other."""
    tables = []
    for child in range(n):
        parents = tuple(p for p in range(child) if rng.random() < density)
        states = np.array(list(itertools.product(range(2), repeat=len(parents))), dtype=np.uint8)
        p = rng.uniform(0.1, 0.9, len(states))
        tables.append(ConditionalTable.from_rows(
            child, parents, 2, (2,) * len(parents), states.reshape(len(states), len(parents)),
            np.log(np.column_stack([p, 1 - p])),
        ))
    return BayesianNetwork(list("abcdefgh"[:n]), [np.array(["no", "yes"])] * n, tables)


def graph_of(network):
    graph = nx.DiGraph(network.edges)
    graph.add_nodes_from(network.labels)
    return graph


def independent(network, x, y, given):
    """Whether p(x, y | given) = p(x | given) p(y | given) in every state."""
    joint = network.posterior([*x, *y, *given]).probabilities
    joint = joint.reshape(2 ** len(x), 2 ** len(y), 2 ** len(given))
    both = joint / joint.sum(axis=(0, 1))
    product = both.sum(axis=1, keepdims=True) * both.sum(axis=0, keepdims=True)
    return np.abs(both - product).max() < 1e-9


@pytest.mark.parametrize("seed", range(25))
def test_pairs_of_columns(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    network = random_network(rng, n, rng.choice([0.2, 0.5, 0.8]))
    graph = graph_of(network)
    for x, y in itertools.combinations(network.labels, 2):
        others = [label for label in network.labels if label not in (x, y)]
        for size in range(len(others) + 1):
            for given in itertools.combinations(others, size):
                found = network.d_separated(x, y, given)
                assert found == network.d_separated(y, x, set(given))
                assert found == nx.is_d_separator(graph, x, y, set(given))
                assert found == independent(network, [x], [y], given)


@pytest.mark.parametrize("seed", range(60))
def test_sets_of_columns(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 8, rng.choice([0.1, 0.25, 0.4]))
    graph = graph_of(network)
    for _ in range(20):
        side = rng.integers(0, 4, 8)
        x, y, given = ([c for c, s in zip(network.labels, side, strict=True) if s == k]
                       for k in range(3))
        if x and y:
            assert network.d_separated(x, y, given) == nx.is_d_separator(
                graph, set(x), set(y), set(given))


def test_what_is_asked_wrongly():
    network = random_network(np.random.default_rng(0), 4, 0.5)
    for arguments, said in (
        (("a", "q"), "No column is called 'q'. The network has 'a', 'b', 'c', 'd'."),
        (("a", "a"), "'a' is in x and y. Leave it out"),
        ((["a", "b"], "c", "b"), "'b' is in x and given"),
        (("a", ["c"], {"c"}), "'c' is in y and given"),
        (([], "c"), "x must name a column at least"),
        (("a", ()), "y must name a column at least"),
    ):
        with pytest.raises(ValueError, match="column") as caught:
            network.d_separated(*arguments)
        assert said in str(caught.value)


def test_labels_of_other_types():
    data = CategoricalData.from_codes(np.array([[0, 1, 1], [0, 1, 0], [1, 1, 0]]), [2, 2, 2])
    network = BayesianNetwork.from_data(
        data, [(), (0,), (1,)], 1.0, labels=[("a", 1), 7, "b"], categories=[np.arange(2)] * 3)
    assert network.d_separated(("a", 1), "b", 7)
    assert not network.d_separated([("a", 1)], ["b"])
    assert network.posterior(("a", 1)).columns == (("a", 1),)
    assert network.posterior([7, ("a", 1)]).columns == (7, ("a", 1))
