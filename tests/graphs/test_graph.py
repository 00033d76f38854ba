import itertools

import networkx as nx
import numpy as np
import pytest

from skbn.graphs.graph import DAG, CycleError, Move, topological_order


def plain_graph(dag):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(dag.n_variables))
    graph.add_edges_from(dag.edges)
    return graph


def closure(dag):
    """The ancestor relation, worked out anew."""
    graph = nx.transitive_closure(plain_graph(dag), reflexive=False)
    return nx.to_numpy_array(graph, nodelist=range(dag.n_variables)).astype(bool)


def leads_to_dag(dag, move):
    """Whether a move makes sense and leads to an acyclic graph, by making it."""
    kind, a, b = move
    graph = plain_graph(dag)
    if a == b or graph.has_edge(a, b) == (kind == "add"):
        return False
    if kind == "add":
        graph.add_edge(a, b)
    else:
        graph.remove_edge(a, b)
        if kind == "reverse":
            graph.add_edge(b, a)
    return nx.is_directed_acyclic_graph(graph)


def all_moves(n):
    pairs = itertools.product(range(n), repeat=2)
    return [Move(kind, a, b) for a, b in pairs for kind in ("add", "delete", "reverse")]


def assert_consistent(dag):
    np.testing.assert_array_equal(dag.ancestors, closure(dag))


@pytest.mark.parametrize(("n", "n_moves"), [(1, 5), (2, 60), (3, 200), (6, 250), (9, 80)])
def test_moves_agree_with_brute_force(n, n_moves):
    rng = np.random.default_rng(n)
    dag = DAG(n)
    for _ in range(n_moves):
        valid = [move for move in all_moves(n) if leads_to_dag(dag, move)]
        assert [move for move in all_moves(n) if dag.is_valid(move)] == valid
        kinds = {kind: [m for m in valid if m.kind == kind] for kind in ("add", "reverse")}
        for kind, matrix in (("add", dag.additions()), ("reverse", dag.reversals())):
            assert [(m.parent, m.child) for m in kinds[kind]] == [
                (a, b) for a, b in np.argwhere(matrix).tolist()
            ]
        if valid:
            dag.apply(valid[rng.integers(len(valid))])
        assert_consistent(dag)


def test_ancestors_stay_exact_over_a_long_walk_in_a_larger_graph():
    rng = np.random.default_rng(0)
    dag = DAG(25)
    made = 0
    while made < 300:
        kind = ("add", "add", "reverse", "delete")[rng.integers(4)]
        move = Move(kind, *rng.integers(25, size=2).tolist())
        assert dag.is_valid(move) == leads_to_dag(dag, move)
        if dag.is_valid(move):
            dag.apply(move)
            made += 1
            assert_consistent(dag)
    assert dag.adjacency.sum() > 50


def test_undo_takes_back_any_number_of_moves():
    rng = np.random.default_rng(1)
    dag = DAG(7)
    stack = []
    for _ in range(400):
        if stack and rng.random() < 0.4:
            move, before = stack.pop()
            dag.undo(move)
            np.testing.assert_array_equal(dag.adjacency, before)
            assert_consistent(dag)
        else:
            valid = [move for move in all_moves(7) if dag.is_valid(move)]
            move = valid[rng.integers(len(valid))]
            stack.append((move, dag.adjacency.copy()))
            dag.apply(move)
    while stack:
        move, before = stack.pop()
        dag.undo(move)
        np.testing.assert_array_equal(dag.adjacency, before)
    assert not dag.ancestors.any()


def test_inverse_of_each_kind():
    assert Move("add", 0, 1).inverse == ("delete", 0, 1)
    assert Move("delete", 0, 1).inverse == ("add", 0, 1)
    assert Move("reverse", 0, 1).inverse == ("reverse", 1, 0)


def test_moves_reach_all_543_graphs_of_four_variables():
    start = DAG(4)
    seen = {start.adjacency.tobytes()}
    frontier = [start]
    while frontier:
        dag = frontier.pop()
        for move in all_moves(4):
            if dag.is_valid(move):
                dag.apply(move)
                if dag.adjacency.tobytes() not in seen:
                    seen.add(dag.adjacency.tobytes())
                    frontier.append(dag.copy())
                dag.undo(move)
    assert len(seen) == 543


def test_no_kind_of_move_applies_to_a_variable_and_itself():
    dag = DAG(3)
    assert not any(dag.is_valid(Move(kind, 1, 1)) for kind in ("add", "delete", "reverse"))


def test_reversal_is_refused_by_a_long_detour_alone():
    dag = DAG.from_parents([(), (0,), (1,), (0, 2)])
    assert not dag.is_valid(Move("reverse", 0, 3))
    dag.apply(Move("delete", 1, 2))
    assert dag.is_valid(Move("reverse", 0, 3))


@pytest.mark.parametrize("seed", range(5))
def test_graphs_are_read_from_adjacency_and_from_parents(seed):
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(8)
    adjacency = np.triu(rng.random((8, 8)) < 0.4, k=1)[np.ix_(shuffled, shuffled)]
    dag = DAG.from_adjacency(adjacency)
    assert_consistent(dag)
    assert dag.edges == [(a, b) for a, b in np.argwhere(adjacency).tolist()]
    assert dag.all_parents() == [
        tuple(np.flatnonzero(column).tolist()) for column in adjacency.T
    ]
    again = DAG.from_parents(dag.all_parents())
    np.testing.assert_array_equal(again.adjacency, adjacency)
    np.testing.assert_array_equal(again.ancestors, dag.ancestors)


def test_a_graph_does_not_share_memory_with_what_it_was_read_from():
    adjacency = np.zeros((2, 2), dtype=bool)
    dag = DAG.from_adjacency(adjacency)
    copy = dag.copy()
    dag.apply(Move("add", 0, 1))
    assert not adjacency.any()
    assert not copy.adjacency.any()
    assert not copy.ancestors.any()


@pytest.mark.parametrize("seed", range(5))
def test_topological_order_puts_parents_first_and_is_the_smallest_such_order(seed):
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(7)
    adjacency = np.triu(rng.random((7, 7)) < 0.3, k=1)[np.ix_(shuffled, shuffled)]
    graph = nx.from_numpy_array(adjacency, create_using=nx.DiGraph)
    assert topological_order(adjacency) == list(nx.lexicographical_topological_sort(graph))


@pytest.mark.parametrize("seed", range(30))
def test_cycle_error_shows_a_cycle_of_the_graph(seed):
    rng = np.random.default_rng(seed)
    adjacency = rng.random((6, 6)) < 0.3
    graph = nx.from_numpy_array(adjacency, create_using=nx.DiGraph)
    if nx.is_directed_acyclic_graph(graph):
        assert sorted(topological_order(adjacency)) == list(range(6))
        return
    with pytest.raises(CycleError) as caught:
        DAG.from_adjacency(adjacency)
    cycle = caught.value.cycle
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert all(adjacency[a, b] for a, b in itertools.pairwise(cycle))
    assert " -> ".join(map(repr, cycle)) in str(caught.value)


def test_cycle_error_uses_names_where_there_are_names():
    with pytest.raises(CycleError, match=r"'rain' -> 'grass' -> 'rain'\. Remove or turn"):
        raise CycleError([0, 1, 0], ["rain", "grass"])


def test_a_cycle_behind_long_tails_is_found():
    # 0 -> 1 -> 2 -> 0 with 3 below it and 4 above it.
    with pytest.raises(CycleError) as caught:
        DAG.from_parents([(2, 4), (0,), (1,), (2,), ()])
    assert sorted(caught.value.cycle[:-1]) == [0, 1, 2]
