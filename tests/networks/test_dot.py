"""Networks as networkx graphs and as Graphviz text."""

import datetime
import io
import json
import re

import numpy as np
import pytest

from skbn import BayesNetStructureEstimator, from_networkx
from skbn.inference.conditional_table import ConditionalTable
from skbn.networks.network import BayesianNetwork
from skbn.tables.values import array_of_levels

networkx = pytest.importorskip("networkx")
pandas = pytest.importorskip("pandas")


@pytest.fixture
def network():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(40, 4))
    edges = [("x3", "x1"), ("x0", "x1"), ("x1", "x2")]
    return BayesNetStructureEstimator(init=edges, max_iter=0).fit(X).network_


def same(first, second):
    assert first.parent_indices == second.parent_indices
    for ours, theirs in zip(first.tables, second.tables, strict=True):
        np.testing.assert_array_equal(ours.configurations, theirs.configurations)
        np.testing.assert_array_equal(ours.log_probabilities, theirs.log_probabilities)
    for ours, theirs in zip(first.categories, second.categories, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    return first.labels == second.labels


def test_a_network_comes_back(network):
    graph = network.to_networkx()
    assert list(graph.edges) == network.edges or set(graph.edges) == set(network.edges)
    assert same(network, from_networkx(graph))
    assert same(network, from_networkx(graph.copy()))


def through_text(write, read):
    def through(graph):
        file = io.BytesIO()
        write(graph, file)
        file.seek(0)
        return read(file)
    return through


FORMATS = {
    "GraphML": through_text(networkx.write_graphml, networkx.read_graphml),
    "GML": through_text(networkx.write_gml, networkx.read_gml),
    "GEXF": through_text(networkx.write_gexf, networkx.read_gexf),
    "node-link": lambda graph: networkx.node_link_graph(
        json.loads(json.dumps(networkx.node_link_data(graph)))),
    "adjacency": lambda graph: networkx.adjacency_graph(
        json.loads(json.dumps(networkx.adjacency_data(graph)))),
    "cytoscape": lambda graph: networkx.cytoscape_graph(
        json.loads(json.dumps(networkx.cytoscape_data(graph)))),
    "as it is": lambda graph: graph,
}
LEVELS = [
    ["no", "yes"], ["", " ", '"', "<&amp;>"], ["é", "中", "\ud800", "a\nb\x00", "[]"],
    [False, True], [1, 2, 30], np.array([0, 255], np.uint8), np.array([0.1, 2.5], np.float32),
    [2**70, 3], [-0.5, 1e300, 0.1], np.array(["a", "bc"]), [1, "1", True, 1.5, None], [0.5, np.nan],
    [pandas.Interval(0.5, 1), pandas.Interval(1, 2.25, closed="left"), pandas.Interval(0, 9)],
]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_networkx_holds_a_network(name):
    rng = np.random.default_rng(3)
    rows = []
    levels = [x if isinstance(x, np.ndarray) else array_of_levels(x) for x in LEVELS]
    for child, names in enumerate(levels):
        given = tuple(range(max(0, child - 2), child))
        sizes = tuple(len(levels[p]) for p in given)
        seen = np.array([[rng.integers(size) for size in sizes]], dtype=np.uint8)
        p = rng.dirichlet(np.full(len(names), 0.2), 1)
        p[0, 0] = 0.0
        with np.errstate(divide="ignore"):
            rows.append(ConditionalTable.from_rows(
                child, given, len(names), sizes, seen, np.log(p / p.sum())))
    network = BayesianNetwork([f"v {j}" for j in range(len(levels))], levels, rows)
    again = from_networkx(FORMATS[name](network.to_networkx()))
    assert again.labels == network.labels and again.parent_indices == network.parent_indices
    for ours, theirs in zip(network.tables, again.tables, strict=True):
        np.testing.assert_array_equal(ours.configurations, theirs.configurations)
        np.testing.assert_array_equal(ours.log_probabilities, theirs.log_probabilities)
    for ours, theirs in zip(network.categories, again.categories, strict=True):
        assert ours.dtype == theirs.dtype
        assert list(map(type, ours.tolist())) == list(map(type, theirs.tolist()))
        assert all(a == b or (a != a and b != b)
                   for a, b in zip(ours.tolist(), theirs.tolist(), strict=True))


@pytest.mark.parametrize("states", [
    [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], [("a", 1), ("a", 2)], [b"x", b"y"],
    [pandas.Interval(pandas.Timestamp(f"2020-01-0{k}"), pandas.Timestamp("2020-02-01"))
     for k in (1, 2)], [np.int64(3), "x"],
])
def test_states_that_text_would_change_come_back_as_they_are(states):
    levels = np.fromiter(states, dtype=object, count=2)
    table = ConditionalTable.from_rows(
        0, (), 2, (), np.zeros((1, 0), np.uint8), np.log([[0.25, 0.75]]))
    again = from_networkx(BayesianNetwork(["a"], [levels], [table]).to_networkx())
    assert again.categories[0].tolist() == states
    assert list(map(type, again.categories[0].tolist())) == list(map(type, states))


def test_it_comes_back_renamed_and_in_another_order(network):
    graph = networkx.relabel_nodes(network.to_networkx(), {"x0": "first"})
    again = from_networkx(graph)
    assert again.labels == ("first", "x1", "x2", "x3")
    turned = networkx.DiGraph()
    turned.add_nodes_from(reversed(list(graph.nodes(data=True))))
    turned.add_edges_from(graph.edges(data=True))
    again = from_networkx(turned)
    assert again.labels == ("x3", "x2", "x1", "first")
    rows = np.random.default_rng(1).integers(0, 3, size=(4, 30)).astype(np.uint8)
    np.testing.assert_array_equal(again.tables[2].log_prob(rows[::-1]),
                                  network.tables[1].log_prob(rows))


@pytest.mark.filterwarnings("ignore:The graph has families:skbn.DataWarning")
@pytest.mark.parametrize("sizes", [(2, 3, 4, 3), (900, 3, 4, 700)])
def test_turned_round_it_is_what_is_fitted_to_the_columns_turned_round(sizes):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(r, size=60) for r in sizes])
    edges = [("d", "b"), ("a", "b"), ("b", "c"), ("d", "c")]

    def fitted(names):
        data = {name: X[:, "abcd".index(name)] for name in names}
        levels = {name: range(sizes["abcd".index(name)]) for name in names}
        model = BayesNetStructureEstimator(init=edges, max_iter=0, categories=levels)
        return model.fit(pandas.DataFrame(data)).network_

    graph = fitted("abcd").to_networkx()
    turned = networkx.DiGraph()
    turned.add_nodes_from(reversed(list(graph.nodes(data=True))))
    turned.add_edges_from(graph.edges(data=True))
    network = from_networkx(turned)
    assert same(network, fitted("dcba"))
    codes = X[:, ::-1].T.astype(np.uint16)
    np.testing.assert_array_equal(
        network.log_prob_codes(codes), fitted("dcba").log_prob_codes(codes))


def test_what_does_not_fit_is_refused(network):
    with pytest.raises(TypeError, match=r"DiGraph is needed, got Graph"):
        from_networkx(networkx.Graph())
    with pytest.raises(ValueError, match="Node 'a' has no states"):
        from_networkx(networkx.DiGraph([("a", "b")]))
    graph = network.to_networkx()
    graph.remove_edge("x0", "x1")
    with pytest.raises(ValueError, match=r"edges into 'x1' must have the positions \[0\], got"):
        from_networkx(graph)
    for name, value, reason in (
        ("states", ["a", "b"], "log_probabilities of 'x1'"),
        ("configurations", np.full((9, 2), 3), "configurations of 'x1'"),
        ("configurations", np.zeros((9, 2), int), "has two rows"),
        ("log_probabilities", np.zeros((9, 3)), "sum 1"),
        ("log_probabilities", np.full((9, 3), np.nan), "sum 1"),
    ):
        graph = network.to_networkx()
        graph.nodes["x1"][name] = value
        with pytest.raises(ValueError, match=reason):
            from_networkx(graph)
    graph = network.to_networkx()
    graph.add_edge("x2", "x3", position=0)
    with pytest.raises(ValueError):
        from_networkx(graph)


def parsed(text):
    """Slow twin of Graphviz: nodes and edges, names unescaped."""
    quoted = r'"((?:[^"\\]|\\.)*)"'
    undo = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
    edges = re.findall(rf"^  {quoted} -> {quoted};$", text, re.MULTILINE)
    nodes = re.findall(rf"^  {quoted}(?: \[label={quoted}\])?;$", text, re.MULTILINE)

    def plain(name):
        return re.sub(r"\\.", lambda found: undo[found[0]], name)

    return [plain(node) for node, _ in nodes], [(plain(a), plain(b)) for a, b in edges]


def test_graphviz_text(network):
    labels = ['a "b"', "c\\", "d\ne", "<&amp;>"]
    renamed = BayesianNetwork(labels, network.categories, network.tables)
    nodes, edges = parsed(renamed.to_dot())
    assert nodes == labels
    assert edges == renamed.edges
    assert "&amp;amp;" in renamed.to_dot()


def test_labels_that_read_alike_stay_apart_in_graphviz(network):
    text = BayesianNetwork([1, "1", "2", 3], network.categories, network.tables).to_dot()
    assert text.count('[label="1"]') == 2
    assert "n0 -> n1;" in text


@pytest.mark.filterwarnings("default")
def test_graphviz_text_is_read_by_pydot(network):
    pydot = pytest.importorskip("pydot")
    (graph,) = pydot.graph_from_dot_data(network.to_dot())
    assert len(graph.get_edges()) == 3


@pytest.mark.parametrize(("name", "value", "message"), [
    ("states", ["a", "a", "b"], "'x3' must be different names"),
    ("states", 3, "must be a list of names, got 3"),
    ("states", np.ones((3, 2)), "must be a list of names"),
    ("states", [], "must be a list of names"),
    ("states", "[", "must be a list of names, got '\\['"),
    ("states", "[" * 10**5, r"must be a list of names, got '\[\[\[.*\.\.\."),
    ("states", '{"interval": 3}', "must be a list of names"),
    ("states", '[{"other": 3}, 1, 2]', "must be a list of names"),
    ("states", "[[1], [2], [3]]", "must be a list of names"),
    ("states", '["a", "a", "b"]', "must be different names"),
    ("dtype", "no type", "must be a list of names"),
    ("log_probabilities", "[" * 10**5, "must be an array of numbers"),
    ("configurations", '["a"]', "configurations of 'x3' must be an array of numbers"),
    ("log_probabilities", "text", "must be an array of numbers, got 'text'"),
    ("log_probabilities", 1.0, "shape"),
    ("log_probabilities", [[0.0], [0.0]], "shape"),
])
def test_what_is_no_list_of_states_or_numbers_is_refused(network, name, value, message):
    graph = network.to_networkx()
    graph.nodes["x3"][name] = value
    with pytest.raises(ValueError, match=message):
        from_networkx(graph)


def test_states_in_a_list_keep_their_types():
    network = BayesNetStructureEstimator().fit([[0], [1]]).network_
    graph = network.to_networkx()
    graph.nodes["x0"]["states"] = [1, "1"]
    assert from_networkx(graph).categories[0].tolist() == [1, "1"]


def test_codes_that_are_no_whole_numbers_are_refused(network):
    graph = network.to_networkx()
    graph.nodes["x2"]["configurations"] = [
        [code + 0.5 for code in row] for row in json.loads(graph.nodes["x2"]["configurations"])]
    with pytest.raises(ValueError, match="configurations of 'x2' must"):
        from_networkx(graph)
