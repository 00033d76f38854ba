import itertools
import re

import numpy as np
import pytest

from skbn.graphs.constraints import Constraints
from skbn.graphs.graph import DAG, CycleError, Move

LABELS = ["a", "b", "c", "d"]


def refused(message, error=ValueError, **constraints):
    with pytest.raises(error) as caught:
        Constraints.from_names(LABELS, **constraints)
    assert re.search(message, str(caught.value)), str(caught.value)


def test_no_constraints_allow_all_edges_but_loops():
    constraints = Constraints.none(3)
    assert not constraints.required.any()
    np.testing.assert_array_equal(constraints.allowed, ~np.eye(3, dtype=bool))
    assert constraints.max_parents == 2


@pytest.mark.parametrize(("given", "kept"), [(None, 3), (0, 0), (2, 2), (9, 3)])
def test_max_parents_is_at_most_the_other_variables(given, kept):
    assert Constraints.from_names(LABELS, max_parents=given).max_parents == kept


def test_names_become_matrices():
    constraints = Constraints.from_names(
        LABELS,
        required_edges=[("a", "b"), ["c", "b"]],
        forbidden_edges={("b", "d")},
        tiers=[["a"], ("d",)],
    )
    assert np.argwhere(constraints.required).tolist() == [[0, 1], [2, 1]]
    refused_pairs = np.argwhere(~constraints.allowed & ~np.eye(4, dtype=bool))
    assert refused_pairs.tolist() == [[1, 3], [3, 0]]


def test_labels_need_not_be_strings():
    constraints = Constraints.from_names([10, ("x", 1), None], required_edges=[(("x", 1), None)])
    assert np.argwhere(constraints.required).tolist() == [[1, 2]]


def test_edges_may_come_as_an_array_or_a_generator():
    edges = np.array([["a", "b"], ["b", "c"]])
    for given in (edges, (tuple(edge) for edge in edges.tolist())):
        constraints = Constraints.from_names(LABELS, required_edges=given)
        assert np.argwhere(constraints.required).tolist() == [[0, 1], [1, 2]]


def test_tiers_forbid_exactly_the_edges_from_later_to_earlier_groups():
    tiers = [["c"], [], ["a", "d"]]
    constraints = Constraints.from_names(LABELS, tiers=tiers)
    group = {label: k for k, members in enumerate(tiers) for label in members}
    for (i, parent), (j, child) in itertools.permutations(enumerate(LABELS), 2):
        backward = parent in group and child in group and group[parent] > group[child]
        assert constraints.allowed[i, j] == (not backward)


def test_required_and_forbidden_edges_may_not_meet():
    refused(
        r"^required_edges and forbidden_edges both name \('a', 'b'\), \('c', 'd'\)\. Change one",
        required_edges=[("a", "b"), ("b", "c"), ("c", "d")],
        forbidden_edges=[("c", "d"), ("a", "b")],
    )


def test_required_edges_may_not_run_against_tiers():
    refused(
        r"^tiers forbid the required_edges \('d', 'a'\)\. Change one of the two\.$",
        required_edges=[("d", "a"), ("a", "d")][:1],
        tiers=[["a"], ["d"]],
    )


def test_many_contradictions_are_counted():
    labels = [*LABELS, "e"]
    edges = list(itertools.combinations(labels, 2))
    with pytest.raises(ValueError, match=r"\('b', 'c'\), \('b', 'd'\) and 4 more\. Change one"):
        Constraints.from_names(labels, required_edges=edges, forbidden_edges=edges)


def test_required_edges_may_not_form_a_cycle():
    refused(
        r"required_edges.*'a' -> 'b' -> 'c' -> 'a'",
        CycleError,
        required_edges=[("c", "a"), ("a", "b"), ("b", "c"), ("c", "d")],
    )


def test_required_edges_need_room_for_parents():
    refused(
        r"^max_parents=1 leaves no room for the required_edges \[\('a', 'd'\), \('c', 'd'\)\]\. "
        r"Raise max_parents or require fewer edges\.$",
        required_edges=[("c", "d"), ("a", "d"), ("a", "b")],
        max_parents=1,
    )


@pytest.mark.parametrize("name", ["required_edges", "forbidden_edges"])
def test_bad_edges_are_refused_by_parameter(name):
    refused(rf"^{name} has an edge from 'b' to itself\. Remove it\.$", **{name: [("b", "b")]})
    refused(
        rf"^{name} names 'z', which is not a column\. The columns are 'a', 'b', 'c', 'd'\.$",
        **{name: [("a", "b"), ("a", "z")]},
    )
    refused(rf"^{name} names \['a'\], which is not a column", **{name: [(["a"], "b")]})
    pairs = rf"^{name} must hold \(parent, child\) pairs of column names, got "
    refused(pairs + "'a'", **{name: ("a", "b")})
    refused(pairs + "'ab'", **{name: ["ab"]})
    refused(pairs + r"\('a', 'b', 'c'\)", **{name: [("a", "b", "c")]})
    refused(pairs + r"\{'[ab]', '[ab]'\}", **{name: [{"a", "b"}]})
    refused(pairs + "3", **{name: [3]})
    refused(pairs + "3", **{name: 3})


def test_long_lists_of_columns_are_cut_short():
    with pytest.raises(ValueError, match=r"The columns are 0, 1, 2, 3, 4, 5 and 5 more\.$"):
        Constraints.from_names(range(11), required_edges=[(0, 11)])


def test_bad_tiers_are_refused():
    refused(
        r"^tiers must hold groups of column names, got the string 'a'\. Write \['a'\]\.$",
        tiers=["a", ["b"]],
    )
    refused(r"^tiers must hold groups of column names, got the string 'a'", tiers="abc")
    refused(r"^tiers must hold groups of column names, got 3", tiers=[["a"], 3])
    refused(r"^tiers must hold groups of column names, got 3", tiers=3)
    refused(
        r"^tiers name 'b' twice, in groups 0 and 2\. A column belongs to one group at most\.$",
        tiers=[["a", "b"], ["c"], ["b"]],
    )
    refused(r"^tiers name 'b' twice, in groups 0 and 0", tiers=[["b", "b"]])
    refused(r"^tiers names 'z', which is not a column", tiers=[["a"], ["z"]])


def some_constraints(rng, n):
    """Random constraints with a random graph that keeps them."""
    order = rng.permutation(n)
    later = np.triu(np.ones((n, n), dtype=bool), k=1)[np.ix_(order.argsort(), order.argsort())]
    adjacency = later & (rng.random((n, n)) < 0.4)
    required = adjacency & (rng.random((n, n)) < 0.3)
    allowed = ~np.eye(n, dtype=bool) & ((rng.random((n, n)) < 0.7) | adjacency)
    most = int(adjacency.sum(axis=0).max() + rng.integers(2))
    return Constraints(required, allowed, most), DAG.from_adjacency(adjacency)


@pytest.mark.parametrize("seed", range(40))
def test_permitted_moves_agree_with_brute_force(seed, twins):
    constraints, dag = some_constraints(np.random.default_rng(seed), 5)
    expected = set(twins.valid_moves(frozenset(dag.edges), constraints))
    by_matrix = {
        (kind, a, b)
        for kind, matrix in (
            ("add", constraints.additions(dag)),
            ("delete", constraints.deletions(dag)),
            ("reverse", constraints.reversals(dag)),
        )
        for a, b in np.argwhere(matrix).tolist()
    }
    by_move = {
        move
        for kind in ("add", "delete", "reverse")
        for a, b in itertools.product(range(5), repeat=2)
        if dag.is_valid(move := Move(kind, a, b)) and constraints.permit(dag, move)
    }
    assert by_matrix == by_move == expected


def test_check_names_the_edges_and_the_parameter():
    constraints = Constraints.from_names(
        LABELS, required_edges=[("a", "b")], forbidden_edges=[("c", "d")], max_parents=2
    )
    constraints.check(DAG.from_parents([(), (0,), (), ()]), LABELS, "init")
    for parents, message in (
        ([(), (), (), ()], r"^init lacks the required edges \('a', 'b'\)"),
        ([(1,), (), (), ()], r"^init lacks the required edges \('a', 'b'\)"),
        ([(), (0,), (), (2,)], r"^init has the forbidden edges \('c', 'd'\)"),
        (
            [(), (0,), (0, 1, 3), ()],
            r"^init gives 'c' 3 parents, more than max_parents=2\. Raise max_parents or drop",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            constraints.check(DAG.from_parents(parents), LABELS, "init")
