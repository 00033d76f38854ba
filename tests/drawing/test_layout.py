"""Drawings of graphs: nothing overlaps, nothing runs through a node, and all is as it was."""

import itertools

import numpy as np
import pytest

from skbn import read_bif
from skbn.drawing.layout import NODE_HEIGHT, LayerRows, lay_out, layers_of, without_cycles


def random_graph(rng, n, density):
    order = rng.permutation(n)
    edges = [(int(order[a]), int(order[b])) for a, b in itertools.combinations(range(n), 2)
             if rng.random() < density]
    rng.shuffle(edges)
    return rng.uniform(20, 120, n), [tuple(edge) for edge in edges]


def points_on(curve):
    """Points along the cubic Bezier pieces of a curve."""
    t = np.linspace(0, 1, 25)[:, None]
    pieces = [curve[i : i + 4] for i in range(0, len(curve) - 1, 3)]
    return np.concatenate([
        (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d
        for a, b, c, d in pieces
    ])


def check(widths, edges):
    layout = lay_out(widths, edges)
    x, y = layout.centres.T
    half = np.asarray(widths) / 2
    assert np.isfinite(layout.centres).all()
    assert (x - half).min() >= -1e-6 and (x + half).max() <= layout.size[0] + 1e-6
    assert y.min() >= NODE_HEIGHT / 2 and y.max() <= layout.size[1] - NODE_HEIGHT / 2 + 1e-6
    for a, b in itertools.combinations(range(len(widths)), 2):
        beside = abs(x[a] - x[b]) >= half[a] + half[b] + 5
        assert beside or abs(y[a] - y[b]) >= NODE_HEIGHT + 5
    for (a, b), curve in zip(edges, layout.curves, strict=True):
        for end, node in ((curve[0], a), (curve[-1], b)):
            assert abs(end[0] - x[node]) <= half[node]
            assert abs(abs(end[1] - y[node]) - NODE_HEIGHT / 2) < 1e-6
        points = points_on(curve)
        for node in set(range(len(widths))) - {a, b}:
            inside = (abs(points[:, 0] - x[node]) < half[node]) & (
                abs(points[:, 1] - y[node]) < NODE_HEIGHT / 2 - 1e-6
            )
            assert not inside.any()
    return layout


@pytest.mark.parametrize(("n", "density"), [
    (1, 0), (2, 1), (5, 0), (6, 0.5), (12, 0.2), (12, 1), (30, 0.05), (30, 0.12), (60, 0.03)
])
def test_nothing_overlaps_in_random_graphs(n, density):
    for seed in range(3):
        widths, edges = random_graph(np.random.default_rng(seed), n, density)
        layout = check(widths, edges)
        for a, b in edges:
            assert layout.centres[a, 1] < layout.centres[b, 1]


@pytest.mark.parametrize("name", ["asia", "alarm", "hepar2"])
def test_nothing_overlaps_in_known_networks(shared, name):
    network = read_bif(shared("data/bif") / f"{name}.bif.gz")
    places = {label: place for place, label in enumerate(network.labels)}
    edges = [(places[a], places[b]) for a, b in network.edges]
    layout = check([7.0 * len(label) + 16 for label in network.labels], edges)
    assert layout.size[0] < 1600 and layout.size[1] < 1100


def test_the_same_graph_is_drawn_the_same():
    widths, edges = random_graph(np.random.default_rng(0), 25, 0.1)
    first, second = lay_out(widths, edges), lay_out(widths, edges)
    np.testing.assert_array_equal(first.centres, second.centres)
    for ours, theirs in zip(first.curves, second.curves, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_empty_graph_and_edges_in_both_directions():
    assert lay_out([], []).size == (0.0, 0.0)
    layout = check([40.0, 40.0, 40.0], [(0, 1), (1, 2), (2, 0), (1, 0)])
    assert layout.centres[0, 1] < layout.centres[1, 1] < layout.centres[2, 1]
    # Those that would close a cycle run upwards.
    for place in (2, 3):
        assert layout.curves[place][0, 1] > layout.curves[place][-1, 1]


def test_crossings_are_counted():
    for seed in range(5):
        widths, edges = random_graph(np.random.default_rng(seed), 14, 0.25)
        layers = LayerRows(widths, layers_of(widths, edges), edges)
        # Slow twin: every pair of pieces between the same two layers.
        at = {place: rank for row in layers.rows for rank, place in enumerate(row)}
        pieces = [piece for chain in layers.chains for piece in itertools.pairwise(chain)]
        expected = sum(
            (at[a] - at[c]) * (at[b] - at[d]) < 0
            for (a, b), (c, d) in itertools.combinations(pieces, 2)
            if layers.layer[a] == layers.layer[c]
        )
        assert layers.count_crossings() == expected
        layers.reduce_crossings()
        assert layers.count_crossings() <= expected


def test_a_planar_graph_is_drawn_without_crossings():
    edges = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (3, 7), (6, 8)]
    shuffled = np.random.default_rng(0).permutation(9)
    edges = [(int(shuffled[a]), int(shuffled[b])) for a, b in edges]
    widths = np.full(9, 30.0)
    layers = LayerRows(widths, layers_of(widths, edges), edges)
    layers.reduce_crossings()
    assert layers.count_crossings() == 0


def test_turned_edges_close_no_cycle():
    rng = np.random.default_rng(0)
    for _ in range(20):
        edges = [tuple(pair) for pair in rng.integers(8, size=(15, 2)).tolist()]
        edges = [(a, b) for a, b in edges if a != b]
        result = without_cycles(8, edges)
        assert [set(edge) for edge in result] == [set(edge) for edge in edges]
        layer = layers_of(np.full(8, 30.0), result)
        assert all(layer[a] < layer[b] for a, b in result)


def test_a_graph_that_is_too_dense_is_refused():
    edges = list(itertools.combinations(range(60), 2))
    with pytest.raises(ValueError, match="1,770 edges among 60 nodes are too dense to draw"):
        lay_out(np.full(60, 30.0), edges)
