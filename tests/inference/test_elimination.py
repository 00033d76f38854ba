"""Elimination orders: what they multiply, how wide they get, and what is refused."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

from skbn.inference.elimination import LARGEST_TABLE, WideTableError, plan_elimination


def carry_out(plan, scopes, factors, cardinalities, kept):
    """The obvious twin of carrying out a plan: einsum over names of axes."""
    slots = [(tuple(sorted(scope)), factor) for scope, factor in zip(scopes, factors, strict=True)]
    used = set()
    for step in plan.steps:
        assert not used & set(step.slots)
        sizes = [math.prod(cardinalities[v] for v in slots[slot][0]) for slot in step.slots]
        assert sizes == sorted(sizes)
        used |= set(step.slots)
        operands = []
        for slot, shape in zip(step.slots, step.shapes, strict=True):
            scope, factor = slots[slot]
            assert factor.size == math.prod(shape)
            operands += [factor, list(scope)]
        out = [v for v in step.scope if v != step.variable]
        result = np.einsum(*operands, out) if operands else np.ones(())
        slots.append((tuple(out), result))
    assert used == set(range(len(slots) - 1))
    assert slots[-1][0] == tuple(sorted(kept))
    return slots[-1][1]


@pytest.mark.parametrize("seed", range(40))
def test_plans_give_the_sum_over_all_states(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    cardinalities = rng.integers(1, 4, n).tolist()
    scopes = [
        sorted(rng.choice(n, rng.integers(1, min(n, 3) + 1), replace=False).tolist())
        for _ in range(rng.integers(1, 8))
    ]
    known = sorted(set(itertools.chain(*scopes)))
    kept = sorted(rng.choice(known, rng.integers(0, len(known) + 1), replace=False).tolist())
    factors = [rng.random([cardinalities[v] for v in scope]) for scope in scopes]
    plan = plan_elimination(scopes, cardinalities, kept)
    operands = [x for scope, factor in zip(scopes, factors, strict=True) for x in (factor, scope)]
    np.testing.assert_allclose(
        carry_out(plan, scopes, factors, cardinalities, kept),
        np.einsum(*operands, kept),
        rtol=1e-12,
    )
    sizes = [math.prod(cardinalities[v] for v in step.scope) for step in plan.steps]
    assert plan.n_entries == sum(sizes)
    assert plan.largest == max(sizes)
    assert {step.variable for step in plan.steps} == set(known) - set(kept) | {-1}


def width(graph):
    cardinalities = [2] * len(graph)
    plan = plan_elimination(list(graph.edges), cardinalities)
    return int(math.log2(plan.largest)) - 1


def test_min_fill_finds_the_width_of_graphs_that_have_no_better_order():
    relabel = nx.convert_node_labels_to_integers
    assert width(nx.path_graph(50)) == 1
    assert width(nx.random_labeled_tree(200, seed=0)) == 1
    assert width(nx.cycle_graph(30)) == 2
    assert width(nx.complete_graph(9)) == 8
    assert width(relabel(nx.grid_2d_graph(4, 4))) == 4
    assert width(relabel(nx.grid_2d_graph(3, 20))) == 3


@pytest.mark.parametrize("seed", range(20))
def test_next_goes_a_variable_that_links_fewest_new_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    scopes = [
        sorted(rng.choice(n, rng.integers(1, 4), replace=False).tolist())
        for _ in range(rng.integers(3, 2 * n))
    ]
    # Some that many know link no new pairs.
    scopes += [range(n, n + 6), *([n + 6 + k, n + 6 + (k + 1) % 4] for k in range(4))]
    n += 10
    known = sorted(set(itertools.chain(*scopes)))
    kept = set(rng.choice(known, rng.integers(0, 3), replace=False).tolist())
    graph = nx.Graph()
    graph.add_nodes_from(known)
    graph.add_edges_from(pair for scope in scopes for pair in itertools.combinations(scope, 2))

    def new_pairs(variable):
        pairs = itertools.combinations(graph[variable], 2)
        return [pair for pair in pairs if not graph.has_edge(*pair)]

    for step in plan_elimination(scopes, rng.integers(1, 5, n).tolist(), kept).steps[:-1]:
        waiting = set(graph) - kept
        assert len(new_pairs(step.variable)) == min(len(new_pairs(v)) for v in waiting)
        graph.add_edges_from(new_pairs(step.variable))
        graph.remove_node(step.variable)


def test_orders_of_a_thousand_variables_are_found_fast():
    import time

    started = time.process_time()
    plan = plan_elimination([(i, i + 1, i + 2) for i in range(1998)], [3] * 2000)
    assert plan.largest == 27
    assert time.process_time() - started < 5


def test_what_is_too_wide_is_refused_with_its_size():
    clique = [tuple(range(40))]
    with pytest.raises(WideTableError) as caught:
        plan_elimination(clique, [10] * 40)
    assert caught.value.size == 10**40
    assert caught.value.variables == list(range(40))
    assert f"{LARGEST_TABLE:,} is the most" in str(caught.value)
    # Kept variables count too, and nothing is multiplied for a plan.
    with pytest.raises(WideTableError):
        plan_elimination([(i,) for i in range(30)], [2] * 30, kept=range(30))
    with pytest.raises(WideTableError) as caught:
        plan_elimination([(0, 1), (1, 2)], [5, 5, 5], limit=24)
    assert caught.value.size == 25
    assert plan_elimination([(0, 1), (1, 2)], [5, 5, 5], limit=25).largest == 25
