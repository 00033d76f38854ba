import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbn.graphs import _moves
from skbn.graphs.constraints import Constraints
from skbn.graphs.graph import DAG, Move
from skbn.search.starts import random_start


@st.composite
def problems(draw):
    """A graph, constraints that it keeps, gains with many ties, and tabu moves."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 7))
    free = Constraints.none(n)
    dag = random_start(free, rng)
    for a, b in dag.edges:
        if rng.random() < 0.3:
            dag.apply(Move("delete", a, b))
    required = dag.adjacency & (rng.random((n, n)) < 0.2)
    allowed = required | dag.adjacency | (free.allowed & (rng.random((n, n)) < 0.8))
    most = int(dag.adjacency.sum(axis=0).max(initial=0))
    constraints = Constraints(required, allowed, draw(st.integers(most, max(most, n))))
    size = draw(st.sampled_from([1.0, 1e-12, 1e300]))
    gains = size * rng.integers(-3, 4, (n, n)).astype(float)
    tabu = [
        (int(rng.integers(3)), int(rng.integers(n)), int(rng.integers(n)))
        for _ in range(draw(st.integers(0, 8)))
    ]
    noise = draw(st.sampled_from([0.0, 0.5, 1.0])) * size
    exempt_above = draw(st.sampled_from([-np.inf, 0.0, 2.0, np.inf])) * size
    return dag, constraints, gains, noise, tabu, exempt_above


def plain_moves(dag, constraints, gains, tabu, exempt_above):
    """Gain of each move, one after another; those that add or delete first."""
    found = {}
    for kinds in (("add", "delete"), ("reverse",)):
        for a in range(dag.n_variables):
            for b in range(dag.n_variables):
                for kind in kinds:
                    move = Move(kind, a, b)
                    if not (dag.is_valid(move) and constraints.permit(dag, move)):
                        continue
                    gain = gains[a, b] + (gains[b, a] if kind == "reverse" else 0.0)
                    number = (_moves.KINDS.index(kind), a, b)
                    if number not in tabu or gain > exempt_above:
                        found[number] = gain
    return found


def call(dag, constraints, gains, noise, tabu, exempt_above):
    return _moves.best_moves(
        gains,
        *(
            relation.view(np.uint8)
            for relation in (
                dag.adjacency, dag.ancestors, constraints.allowed, constraints.required
            )
        ),
        constraints.max_parents,
        noise,
        np.array(tabu, dtype=np.int32) if tabu else None,
        exempt_above,
    )


@given(problems())
def test_the_best_moves_are_those_of_a_plain_search(problem):
    dag, constraints, gains, noise, tabu, exempt_above = problem
    expected = plain_moves(dag, constraints, gains, tabu, exempt_above)
    best, moves = call(*problem)
    if not expected:
        assert best == -np.inf
        assert moves == []
        return
    assert best == max(expected.values())
    assert moves == [move for move, gain in expected.items() if gain >= best - noise]


def test_many_edges_and_many_ties():
    n = 40
    dag = DAG.from_parents([range(child) for child in range(n)])
    constraints = Constraints.none(n)
    best, moves = call(dag, constraints, np.zeros((n, n)), 0.0, [], np.inf)
    assert best == 0.0
    # All edges may be deleted, and those between neighbours reversed.
    expected = [(1, a, b) for a in range(n) for b in range(a + 1, n)]
    assert moves == expected + [(2, a, a + 1) for a in range(n - 1)]


def test_large_graphs():
    n = 230
    rng = np.random.default_rng(0)
    constraints = Constraints.none(n)
    dag = random_start(constraints, rng)
    gains = rng.integers(-1000, 1001, (n, n)).astype(float)
    expected = plain_moves(dag, constraints, gains, [], np.inf)
    best, moves = call(dag, constraints, gains, 1.0, [], np.inf)
    assert best == max(expected.values())
    assert moves == [move for move, gain in expected.items() if gain >= best - 1.0]


@pytest.mark.parametrize("n", [1, 2])
def test_no_move(n):
    constraints = Constraints.none(n, max_parents=0)
    assert call(DAG(n), constraints, np.ones((n, n)), 1.0, [], np.inf) == (-np.inf, [])
