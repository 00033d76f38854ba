"""Essential graphs and distances between graphs, against brute force over all small graphs."""

import itertools
from collections import defaultdict

import networkx as nx
import numpy as np
import pytest

from skbn import BayesNetStructureEstimator, structural_hamming_distance
from skbn.graphs.equivalence import cpdag_of


def all_dags(n):
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    for present in itertools.product([False, True], repeat=len(pairs)):
        edges = [pair for pair, here in zip(pairs, present, strict=True) if here]
        graph = nx.DiGraph(edges)
        if not edges or nx.is_directed_acyclic_graph(graph):
            matrix = np.zeros((n, n), dtype=bool)
            for a, b in edges:
                matrix[a, b] = True
            yield matrix


def class_key(matrix):
    """Skeleton and v-structures: what equivalent graphs share (Verma and Pearl, 1990)."""
    n = len(matrix)
    skeleton = matrix | matrix.T
    v_structures = frozenset(
        (min(a, b), c, max(a, b))
        for c in range(n)
        for a, b in itertools.combinations(np.flatnonzero(matrix[:, c]).tolist(), 2)
        if not skeleton[a, b]
    )
    return skeleton.tobytes(), v_structures


@pytest.mark.parametrize("n, n_dags, n_classes", [(2, 3, 2), (3, 25, 11), (4, 543, 185)])
def test_essential_graph_is_the_union_of_the_class(n, n_dags, n_classes):
    classes = defaultdict(list)
    for matrix in all_dags(n):
        classes[class_key(matrix)].append(matrix)
    assert sum(map(len, classes.values())) == n_dags
    assert len(classes) == n_classes
    for members in classes.values():
        union = np.any(members, axis=0)
        for matrix in members:
            np.testing.assert_array_equal(cpdag_of(matrix), union)


def test_five_nodes_at_random():
    rng = np.random.default_rng(0)
    classes = defaultdict(list)
    for order in itertools.permutations(range(5)):
        if rng.random() < 0.3:
            upper = np.triu(rng.random((5, 5)) < 0.5, k=1)
            classes[class_key(upper[np.ix_(order, order)])].append(upper[np.ix_(order, order)])
    for members in classes.values():
        for matrix in members:
            np.testing.assert_array_equal(cpdag_of(matrix), cpdag_of(members[0]))


def distance_twin(first, second):
    n = len(first)
    return sum(
        (first[a, b], first[b, a]) != (second[a, b], second[b, a])
        for a in range(n)
        for b in range(a + 1, n)
    )


def test_distances_against_a_loop_over_pairs():
    dags = list(all_dags(4))
    rng = np.random.default_rng(1)
    for i, j in rng.integers(len(dags), size=(300, 2)):
        assert structural_hamming_distance(dags[i], dags[j]) == distance_twin(dags[i], dags[j])
        assert structural_hamming_distance(dags[i], dags[j], cpdag=True) == distance_twin(
            cpdag_of(dags[i]), cpdag_of(dags[j])
        )


def test_forms_of_graphs_compare_with_each_other():
    X = np.random.default_rng(0).integers(2, size=(50, 3))
    X[:, 1] = X[:, 0]
    model = BayesNetStructureEstimator(random_state=0).fit(X)
    ((parent, child),) = model.edges_
    assert structural_hamming_distance(model, [(parent, child)]) == 0
    assert structural_hamming_distance(model, model.network_) == 0
    assert structural_hamming_distance(model, [(child, parent)]) == 1
    assert structural_hamming_distance(model, [(child, parent)], cpdag=True) == 0
    assert structural_hamming_distance(nx.DiGraph([("a", "b")]), [("b", "c")]) == 2
    assert structural_hamming_distance(model, np.zeros((3, 3)), labels=["x0", "x1", "x2"]) == 1
    assert model.network_.cpdag().sum() == 2


def test_graphs_of_other_variables_are_refused():
    with pytest.raises(ValueError, match="must be a 5 x 5 adjacency matrix"):
        structural_hamming_distance([("a", "b")], np.zeros((3, 3)))
