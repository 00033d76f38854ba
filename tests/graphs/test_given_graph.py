import re
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skbn import BayesNetAverager, BayesNetStructureEstimator, compare_graphs
from skbn.graphs.given_graph import read_graph
from skbn.graphs.graph import CycleError


def named(value):
    """A name for a test that is the same in every process."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))

LABELS = ["a", "b", "c"]
EDGES = [("a", "b"), ("c", "b")]
MATRIX = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])


def frame(matrix=MATRIX, dtype=int):
    """The matrix with rows and columns in orders of their own."""
    square = pd.DataFrame(matrix, index=LABELS, columns=LABELS).astype(dtype)
    return square.loc[["c", "a", "b"], ["b", "c", "a"]]


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(EDGES, id="list"),
        pytest.param([list(edge) for edge in EDGES], id="lists"),
        pytest.param(set(EDGES), id="set"),
        pytest.param(dict(EDGES).items(), id="items"),
        pytest.param(MATRIX, id="int array"),
        pytest.param(MATRIX.astype(bool), id="bool array"),
        pytest.param(MATRIX.astype(float), id="float array"),
        pytest.param(MATRIX.astype(object), id="object array"),
        pytest.param(frame(), id="frame"),
        pytest.param(frame(dtype=bool), id="bool frame"),
        pytest.param(nx.DiGraph(EDGES), id="networkx"),
        pytest.param(nx.MultiDiGraph(EDGES + EDGES[:1]), id="networkx multigraph"),
        pytest.param(SimpleNamespace(edges_=EDGES), id="estimator"),
        pytest.param(SimpleNamespace(edges=EDGES, labels=LABELS), id="network"),
    ],
)
def test_every_form_gives_the_same_graph(graph):
    assert read_graph(graph, LABELS).edges == [(0, 1), (2, 1)]


@pytest.mark.parametrize("graph", [[], set(), np.zeros((3, 3)), nx.DiGraph()], ids=named)
def test_the_empty_graph_is_a_graph(graph):
    dag = read_graph(graph, LABELS)
    assert dag.n_variables == 3
    assert dag.edges == []


def test_integer_labels_are_names_not_positions():
    assert read_graph([(2, 0)], [2, 1, 0]).edges == [(0, 2)]


def test_the_given_graph_is_not_shared():
    matrix = MATRIX.astype(bool)
    dag = read_graph(matrix, LABELS)
    dag.adjacency[:] = False
    np.testing.assert_array_equal(matrix, MATRIX)


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        ([("a", "z")], ValueError, r"^init names 'z', which is not a column"),
        ([("a", "a")], ValueError, r"^init has an edge from 'a' to itself"),
        (["ab"], ValueError, r"^init must hold \(parent, child\) pairs of column names, got 'ab'"),
        ([("a", "b"), ("b", "a")], CycleError, r"but init has 'a' -> 'b' -> 'a'"),
        (nx.DiGraph([("a", "z")]), ValueError, r"^init names 'z'"),
        (nx.DiGraph([("b", "b")]), ValueError, r"^init has an edge from 'b' to itself"),
        (nx.Graph(EDGES), TypeError, r"^init is an undirected graph\. Pass a networkx\.DiGraph"),
        (np.zeros((2, 2)), ValueError, r"^init must be a 3 x 3 .*got an array of shape \(2, 2\)"),
        (np.array(EDGES), ValueError, r"shape \(2, 2\)\. Pass pairs of column names as a list\.$"),
        (MATRIX * 0.5, ValueError, r"^init must hold 0 and 1 only"),
        (np.full((3, 3), np.nan), ValueError, r"^init must hold 0 and 1 only"),
        (np.full((3, 3), "a"), ValueError, r"^init must hold 0 and 1 only"),
        (np.eye(3), ValueError, r"^init has an edge from 'a' to itself"),
        (MATRIX + MATRIX.T, CycleError, r"'a' -> 'b' -> 'a'"),
        (frame().rename(columns={"c": "z"}), ValueError, r"^init names 'z'"),
        (frame().iloc[:2], ValueError, r"^init must have every column name once in its index and"),
        (frame().iloc[[0, 1, 1]], ValueError, r"^init must have every column name once"),
        (7, TypeError, r"^init must be \(parent, child\) pairs, .*got int\.$"),
        (None, TypeError, r"^init must be .* got NoneType\.$"),
    ],
)
def test_bad_graphs_are_refused_by_name(graph, error, message):
    with pytest.raises(error, match=message):
        read_graph(graph, LABELS, "init")


def test_a_network_fitted_on_other_columns_is_refused():
    with pytest.raises(ValueError, match=r"graph names 'z', which is not a column"):
        read_graph(SimpleNamespace(edges_=[("z", "a")]), LABELS)


TABLE = pd.DataFrame({"a": [0, 1, 0, 1] * 5, "b": [0, 1, 1, 1] * 5, "c": [0, 0, 1, 1] * 5})


@pytest.mark.parametrize(("make", "message"), [
    (lambda: BayesNetAverager(n_graphs=3, random_state=0),
     "a BayesNetAverager, which averages over many graphs. Pass its estimator_"),
    (lambda: make_pipeline("passthrough", BayesNetAverager(n_graphs=3, random_state=0)),
     "a BayesNetAverager, which averages over many graphs"),
    (lambda: GridSearchCV(BayesNetStructureEstimator(), {"ess": [1.0]}, cv=2, refit=False),
     "a GridSearchCV that kept no estimator"),
    (lambda: KMeans(2, n_init=1), "a KMeans, which learns no graph"),
], ids=["averager", "pipeline", "search", "another"])
def test_fitted_estimators_without_one_graph_are_not_called_unfitted(make, message):
    fitted = make().fit(TABLE)
    with pytest.raises(TypeError, match=f"graph is {message}"):
        read_graph(fitted, LABELS)
    with pytest.raises(TypeError, match=f"learned is {message}"):
        compare_graphs(fitted, EDGES)
    unfitted = make()
    if hasattr(unfitted, "steps"):
        unfitted = unfitted[-1]
    with pytest.raises(TypeError, match=r"that is not fitted\. Fit it first"):
        read_graph(unfitted, LABELS)
