"""Graphs drawn from the posterior come as often as they should."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from skbn import edge_posteriors, structure_score
from skbn.posteriors.family_weights import take_out
from skbn.posteriors.graph_sampler import sample_dags
from skbn.posteriors.graph_sums import GraphSums
from skbn.resources import Workers


def deviations(posterior, n_samples, random_state=0):
    """How far the frequencies of edges are from their probabilities, in standard errors."""
    place = {label: i for i, label in enumerate(posterior.labels)}
    counts = np.zeros(posterior.edges.shape)
    for edges in posterior.sample(n_samples, random_state=random_state):
        for parent, child in edges:
            counts[place[parent], place[child]] += 1
    p = posterior.edges
    spread = np.sqrt(np.maximum(p * (1 - p), 0.02) / n_samples)
    return np.abs(counts / n_samples - p) / spread


def independent():
    return np.random.default_rng(0).integers(3, size=(80, 9))


def chain():
    rng = np.random.default_rng(1)
    columns = [rng.integers(2, size=120)]
    for _ in range(6):
        columns.append(np.where(rng.random(120) < 0.8, columns[-1], rng.integers(2, size=120)))
    return np.column_stack(columns)


@pytest.mark.filterwarnings("ignore:Of the parents:skbn.DataWarning")
@pytest.mark.parametrize("prior", ["graphs", "orders"])
@pytest.mark.parametrize("table", [independent, chain])
def test_frequencies_of_edges(table, prior):
    posterior = edge_posteriors(table(), prior=prior, ess=2.0)
    assert deviations(posterior, 4000).max() < 4.5


def test_frequencies_of_edges_of_asia(shared):
    X = pd.read_csv(shared("data/bnlearn/asia.csv"))
    assert deviations(edge_posteriors(X), 4000).max() < 4.5


def test_frequencies_of_edges_under_constraints():
    posterior = edge_posteriors(
        chain(), ess=30.0, max_parents=2, required_edges=[("x0", "x3")],
        forbidden_edges=[("x1", "x2")], tiers=[["x0", "x1"], ["x5", "x6"]], graph_prior=0.5,
    )
    assert deviations(posterior, 3000).max() < 4.5
    for edges in posterior.sample(200, random_state=1):
        assert ("x0", "x3") in edges
        assert ("x1", "x2") not in edges
        assert max(Counter(child for _, child in edges).values()) <= 2
        assert not {("x5", "x0"), ("x5", "x1"), ("x6", "x0"), ("x6", "x1")} & set(edges)


@pytest.mark.parametrize("prior", ["graphs", "orders"])
def test_frequencies_of_whole_graphs(prior, all_dags, make_table):
    codes = make_table(np.random.default_rng(4), 4, 12)[0]
    posterior = edge_posteriors(codes.T, ess=1.0, prior=prior)
    n_samples = 10_000
    drawn = Counter(
        tuple(given) for given in posterior.sample_parents(n_samples, random_state=0)
    )
    assert all(len(given) == 4 for given in drawn)
    expected = {}
    for given in all_dags(4):
        edges = [(f"x{p}", f"x{c}") for c in range(4) for p in given[c]]
        log_p = structure_score(codes.T, edges, ess=1.0) - posterior.log_sum
        expected[tuple(given)] = n_samples * np.exp(log_p) * (
            1 if prior == "graphs" else n_orders(given))
    assert sum(expected.values()) == pytest.approx(n_samples)
    rare = sum(value for value in expected.values() if value < 10)
    terms = [(drawn[g] - e) ** 2 / e for g, e in expected.items() if e >= 10]
    rare_drawn = sum(drawn[g] for g, e in expected.items() if e < 10)
    terms.append((rare_drawn - rare) ** 2 / max(rare, 1e-9))
    # A sum of about as many squares of standard normal deviates.
    assert sum(terms) < len(terms) + 5 * np.sqrt(2 * len(terms))


def n_orders(given, placed=frozenset()):
    if len(placed) == len(given):
        return 1
    return sum(
        n_orders(given, placed | {v}) for v in range(len(given))
        if v not in placed and set(given[v]) <= placed
    )


def test_the_same_seed_draws_the_same_graphs():
    posterior = edge_posteriors(independent()[:, :5])
    assert posterior.sample(20, random_state=3) == posterior.sample(20, random_state=3)
    assert posterior.sample(20, random_state=3) != posterior.sample(20, random_state=4)
    with pytest.raises(ValueError, match="n_samples"):
        posterior.sample(0)


def test_one_column():
    assert edge_posteriors([[0], [1]]).sample(3) == [[], [], []]


@pytest.mark.parametrize("seed", range(5))
def test_the_graph_that_outweighs_all_others(seed):
    n = 5
    logs = np.random.default_rng(seed).integers(-2000, 2001, size=(n, 2 ** (n - 1))).astype(float)
    found = {}
    for order in itertools.permutations(range(n)):
        before, total, graph = 0, 0.0, [0] * n
        for child in order:
            sets = [s for s in range(2**n) if s & before == s]
            graph[child] = max(sets, key=lambda s, child=child: logs[child, take_out(s, child)])
            total += logs[child, take_out(graph[child], child)]
            before |= 1 << child
        found[tuple(graph)] = total
    best, second = sorted(found, key=found.get)[-1:-3:-1]
    assert found[best] > found[second] + 40
    with Workers(1, None) as workers:
        sums = GraphSums(logs, workers)
        sums.sum_dags()
    drawn = sample_dags(sums, 20, np.random.RandomState(0))
    assert (drawn == best).all()
