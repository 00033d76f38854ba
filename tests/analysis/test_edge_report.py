"""The report of edges against its parts computed apart."""

import math

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    ESSSearchCV,
    analytic_ess,
    contingency_table,
    edge_report,
    ess_threshold,
    large_ess_log_bayes_factor,
    log_bayes_factor,
    structure_score,
    uniformity,
)

EDGES = [("a", "b"), ("a", "c"), ("b", "c"), ("e", "c"), ("d", "e")]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    n = 250
    a = rng.integers(3, size=n)
    b = np.where(rng.random(n) < 0.6, a % 2, rng.integers(2, size=n))
    c = np.where(rng.random(n) < 0.8, (a + b) % 3, rng.integers(3, size=n))
    d = (rng.random(n) < 0.06).astype(int)
    e = (rng.random(n) < 0.08).astype(int)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e}).astype(str)


@pytest.mark.parametrize("ess", [1.0, 30.0, 1e4])
def test_every_column_computed_apart(table, ess):
    report = pd.DataFrame(edge_report(EDGES, table, ess=ess))
    assert list(zip(report["parent"], report["child"], strict=True)) == sorted(EDGES)
    for row in report.itertuples():
        others = [a for a, b in EDGES if b == row.child and a != row.parent]
        assert sorted(row.given) == sorted(others)
        assert row.present
        counts = contingency_table(table, row.parent, row.child, others)
        assert row.log_bayes_factor == log_bayes_factor(counts, ess=ess)
        assert row.large_ess_log_bayes_factor == large_ess_log_bayes_factor(counts, ess=ess)
        assert row.uniformity == uniformity(counts)
        assert row.ess_threshold == ess_threshold(counts)
        assert row.degrees_of_freedom == counts.degrees_of_freedom
        without = [edge for edge in EDGES if edge != (row.parent, row.child)]
        change = {
            score: structure_score(table, EDGES, score_type=score, ess=ess)
            - structure_score(table, without, score_type=score, ess=ess)
            for score in ("bdeu", "aic", "bic", "loglik")
        }
        assert row.log_bayes_factor == pytest.approx(change["bdeu"], abs=1e-8)
        assert row.aic_change == pytest.approx(change["aic"], abs=1e-9)
        assert row.bic_change == pytest.approx(change["bic"], abs=1e-9)
        assert len(table) * row.mutual_information == pytest.approx(change["loglik"], abs=1e-9)


def test_the_three_verdicts(table):
    seen = set()
    for ess in (1e-3, 1.0, 50.0, 1e3, 1e6):
        report = edge_report(EDGES, table, ess=ess)
        for verdict, factor, aic in zip(
            report["verdict"], report["log_bayes_factor"], report["aic_change"], strict=True
        ):
            expected = "unsupported"
            if aic > 0:
                expected = "supported"
            elif factor > 0:
                expected = "prior and skewness"
            assert verdict == expected
            seen.add(verdict)
    assert len(seen) == 3


@pytest.mark.parametrize("ess", [1e-9, 1e-3, 1.0, 50.0, 1e3, 1e6, 1e14])
def test_the_interval_in_which_an_edge_stays_favoured(table, ess):
    report = pd.DataFrame(edge_report(EDGES, table, ess=ess, absent=True))
    for row in report.itertuples():
        counts = contingency_table(table, row.parent, row.child, row.given)
        if row.log_bayes_factor <= 0:
            assert math.isnan(row.ess_low)
            assert math.isnan(row.ess_high)
            continue
        assert row.ess_low < ess < row.ess_high
        inside = np.geomspace(
            max(row.ess_low * (1 + 1e-6), 1e-12), min(row.ess_high * (1 - 1e-6), 1e15), 50
        )
        assert (log_bayes_factor(counts, ess=inside) > 0).all()
        if row.ess_low > 0:
            assert log_bayes_factor(counts, ess=row.ess_low * (1 - 1e-6)) < 0
        if row.ess_high < math.inf:
            assert log_bayes_factor(counts, ess=row.ess_high * (1 + 1e-6)) < 0
        else:
            assert row.ess_threshold == row.ess_low


def test_absent_edges(table):
    report = pd.DataFrame(edge_report(EDGES, table, ess=10.0, absent=True))
    present = report[report["present"]]
    pd.testing.assert_frame_equal(
        present, pd.DataFrame(edge_report(EDGES, table, ess=10.0)), check_exact=True
    )
    absent = report[~report["present"]]
    graph = nx.DiGraph(EDGES)
    expected = []
    for a in table.columns:
        for b in table.columns:
            if a != b and not graph.has_edge(a, b):
                graph.add_edge(a, b)
                if nx.is_directed_acyclic_graph(graph):
                    expected.append((a, b))
                graph.remove_edge(a, b)
    found = list(zip(absent["parent"], absent["child"], strict=True))
    assert found == expected
    # Every pair without an edge has a row; no edge of the graph is turned round.
    apart = {frozenset(pair) for pair in nx.complement(graph.to_undirected()).edges}
    assert {frozenset(pair) for pair in found} == apart
    for row in absent.itertuples():
        assert sorted(row.given) == sorted(a for a, b in EDGES if b == row.child)
        change = structure_score(
            table, [*EDGES, (row.parent, row.child)], ess=10.0
        ) - structure_score(table, EDGES, ess=10.0)
        assert row.log_bayes_factor == pytest.approx(change, abs=1e-8)


def test_forms_of_the_graph_and_of_the_table(table):
    expected = pd.DataFrame(edge_report(EDGES, table, ess=3.0))
    adjacency = pd.DataFrame(0, index=table.columns, columns=table.columns)
    for a, b in EDGES:
        adjacency.loc[a, b] = 1
    for graph in (nx.DiGraph(EDGES), adjacency, adjacency.to_numpy(), EDGES[::-1]):
        pd.testing.assert_frame_equal(pd.DataFrame(edge_report(graph, table, ess=3.0)), expected)
    for same in (pl.from_pandas(table), table.astype("category"), table.iloc[::-1]):
        pd.testing.assert_frame_equal(pd.DataFrame(edge_report(EDGES, same, ess=3.0)), expected)
    turned = pd.DataFrame(edge_report(EDGES, table[list("edcba")], ess=3.0))
    for frame in (turned, expected):
        frame["given"] = frame["given"].map(sorted)
    turned = turned.sort_values(["parent", "child"], ignore_index=True)
    pd.testing.assert_frame_equal(turned, expected, check_exact=True)


def test_weights_and_repeated_rows(table):
    counts = np.random.default_rng(0).integers(0, 4, len(table))
    weighted = edge_report(EDGES, table, ess=3.0, sample_weight=counts)
    repeated = edge_report(EDGES, table.loc[table.index.repeat(counts)], ess=3.0)
    pd.testing.assert_frame_equal(
        pd.DataFrame(weighted), pd.DataFrame(repeated), check_exact=True
    )
    fractional = edge_report(EDGES, table, ess=3.0, sample_weight=counts / 3)
    assert not np.allclose(fractional["log_bayes_factor"], weighted["log_bayes_factor"])


def test_a_fitted_estimator_brings_its_ess_and_its_levels(table):
    levels = {column: ["0", "1", "2"] for column in table}
    model = BayesNetStructureEstimator(ess=7.0, categories=levels, random_state=0).fit(table)
    report = edge_report(model, table)
    assert list(zip(report["parent"], report["child"], strict=True)) == model.edges_
    given = edge_report(model.edges_, table, ess=7.0, categories=levels)
    pd.testing.assert_frame_equal(pd.DataFrame(report), pd.DataFrame(given))
    # A greedy search from nothing added each of these edges, and would not delete one.
    assert (report["log_bayes_factor"] > 0).all()
    by_network = edge_report(model.network_, table, ess=7.0)
    pd.testing.assert_frame_equal(pd.DataFrame(by_network), pd.DataFrame(report))
    analytic = BayesNetStructureEstimator(ess="analytic", random_state=0).fit(table)
    report = edge_report(analytic, table)
    assert (report["log_bayes_factor"] > 0).all()


@pytest.mark.parametrize("as_frame", [True, False])
def test_an_estimator_with_a_target(table, as_frame):
    X, y = table.drop(columns="c"), table["c"]
    if not as_frame:
        X, y = X.to_numpy(), y.to_numpy()
    model = BayesNetClassifier(ess=5.0, random_state=0).fit(X, y)
    report = edge_report(model, X, y)
    assert list(zip(report["parent"], report["child"], strict=True)) == model.edges_
    assert ("c" if as_frame else "y") in {*report["parent"], *report["child"]}


def test_data_frames_of_the_report(table):
    report = edge_report(EDGES, table, ess=3.0)
    frame = pd.DataFrame(report)
    assert frame.shape == (5, 15)
    assert frame["present"].dtype == bool
    assert list(frame.columns[:3]) == ["parent", "child", "verdict"]
    assert (frame.dtypes[6:] == np.float64).all()
    assert pl.DataFrame(report).shape == (5, 15)
    empty = pd.DataFrame(edge_report([], table, ess=3.0))
    assert empty.shape == (0, 15)
    assert list(empty.columns) == list(frame.columns)


def test_many_parents_and_a_constant_column():
    rng = np.random.default_rng(0)
    X = rng.integers(20, size=(40, 300))
    X[:, 1] = 7
    edges = [(f"x{j}", "x0") for j in range(2, 300)] + [("x1", "x2")]
    levels = {f"x{j}": range(20) for j in range(300) if j != 1}
    report = pd.DataFrame(edge_report(edges, X, ess=1.0, categories=levels))
    crowded, constant = report[report["child"] == "x0"], report[report["child"] == "x2"]
    assert (crowded["log_bayes_factor"] == 0).all()  # no parent state has two rows
    assert (crowded["verdict"] == "unsupported").all()
    assert (crowded["aic_change"] == -math.inf).all()
    assert (constant["log_bayes_factor"] == 0).all()
    assert (constant["degrees_of_freedom"] == 0).all()
    assert (constant["aic_change"] == 0).all()
    assert (constant["verdict"] == "unsupported").all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "ess is needed"),
        ({"ess": 0.0}, ValueError, "ess == 0.0, must be > 0"),
        ({"ess": math.inf}, ValueError, "ess must be finite"),
        ({"ess": "1"}, TypeError, "ess must be an instance of"),
        ({"ess": 1.0, "graph": [("a", "z")]}, ValueError, "'z', which is not a column"),
        ({"ess": 1.0, "graph": [("a", "b"), ("b", "a")]}, ValueError, "no directed cycle"),
    ],
)
def test_what_is_refused(table, arguments, error, message):
    with pytest.raises(error, match=message):
        edge_report(**{"graph": EDGES, "X": table, **arguments})


@pytest.fixture
def turned():
    """A table whose columns a pipeline turns round, and what it was fitted with."""
    rng = np.random.default_rng(0)
    a = rng.integers(2, size=500)
    Z = np.column_stack([rng.integers(2, size=500), a])
    y = np.where(rng.random(500) < 0.9, a, 1 - a)
    turn = make_column_transformer(("passthrough", [1]), remainder="passthrough")
    return make_pipeline(turn, BayesNetClassifier(random_state=0)).fit(Z, y), Z, y


def test_the_steps_of_a_pipeline_make_the_table_that_is_judged(turned):
    pipe, Z, y = turned
    expected = pd.DataFrame(edge_report(pipe[-1], pipe[:-1].transform(Z), y))
    assert expected["verdict"].tolist() == ["supported"]
    searches = [
        ESSSearchCV(pipe, [1.0], cv=2).fit(Z, y),
        GridSearchCV(pipe, {"bayesnetclassifier__ess": [1.0]}, cv=2).fit(Z, y),
    ]
    nested = make_pipeline("passthrough", pipe)
    for whole in (pipe, *searches, nested):
        pd.testing.assert_frame_equal(pd.DataFrame(edge_report(whole, Z, y)), expected)
    for score in (structure_score, analytic_ess):
        with pytest.raises(TypeError, match=r"pipe\[:-1\].transform\(X\), pipe\[-1\]"):
            score(np.column_stack([Z, y]), pipe)


def test_steps_that_draw_rows_or_do_not_transform_are_refused(turned):
    class Draws(BaseEstimator):
        def fit_resample(self, X, y):
            return X, y

    pipe, Z, y = turned
    for step in (Draws(), BayesNetClassifier().fit(Z, y)):
        whole = Pipeline([("odd", step), ("last", pipe[-1])])
        with pytest.raises(TypeError, match=r"edge_report\(pipe\[-1\], pipe\[:-1\].transform"):
            edge_report(whole, Z, y)


def test_a_target_that_is_not_there_or_has_another_name(table):
    X, y = table.drop(columns="c"), table["c"]
    model = BayesNetClassifier(ess=5.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"its variable 'c', and X has no such column. Pass y"):
        edge_report(model, X)
    with pytest.raises(ValueError, match="Add y to the table under that name"):
        structure_score(X, model)
    report = pd.DataFrame(edge_report(model, X, y))
    for other in (y.to_numpy(), y.rename("d"), y.rename(None)):
        pd.testing.assert_frame_equal(pd.DataFrame(edge_report(model, X, other)), report)
    pd.testing.assert_frame_equal(pd.DataFrame(edge_report(model, X.assign(c=y))), report)


@pytest.mark.parametrize("y", [[1], [0, 1, 0], np.zeros(1)])
def test_a_y_of_other_length_is_refused(y):
    for weights in (None, [0.0, 4.0]):
        with pytest.raises(ValueError, match=f"X has 2 rows, but y has {len(y)}"):
            edge_report([("x0", "y")], [[0], [1]], y, ess=1.0, sample_weight=weights)


def test_columns_that_the_network_does_not_have_are_not_read(table):
    fitted = BayesNetStructureEstimator(init=EDGES, max_iter=0, ess=3.0).fit(table)
    rng = np.random.default_rng(0)
    wide = table[list("ecadb")].assign(
        length=rng.normal(size=len(table)), day=pd.date_range("2020", periods=len(table)), gap=None)
    for graph in (fitted, fitted.network_):
        for absent in (False, True):
            expected = edge_report(graph, table, ess=3.0, absent=absent)
            found = edge_report(graph, wide, ess=3.0, absent=absent)
            by_edge = [dict(zip(zip(report["parent"], report["child"], strict=True),
                                report["log_bayes_factor"].tolist(), strict=True))
                       for report in (expected, found)]
            assert by_edge[0] == by_edge[1]
    # A list of levels has an entry for each column of the table, read or not.
    levels = [*(sorted(table[name].unique()) for name in "ecadb"), "auto", "auto", "auto"]
    assert edge_report(fitted, wide, categories=levels)["parent"] == (
        edge_report(fitted, table[list("ecadb")])["parent"])
    # A list of edges is over all columns of the table.
    with pytest.raises(ValueError, match="Column 'length' is real-valued"):
        edge_report(EDGES, wide, ess=1.0)
    with pytest.raises(ValueError, match="X has none of the columns of the network, 'a', 'b', 'c'"):
        edge_report(fitted, wide[["length"]])


def test_other_columns_beside_a_target(table):
    X, y = table.drop(columns="c"), table["c"]
    fitted = BayesNetClassifier(init=EDGES, max_iter=0).fit(X, y)
    wide = X.assign(length=np.linspace(0, 1, len(X)))
    for target in (y, y.to_frame()):
        found = edge_report(fitted, wide, target)
        assert set(zip(found["parent"], found["child"], strict=True)) == set(EDGES)
        np.testing.assert_array_equal(
            found["log_bayes_factor"], edge_report(fitted, X, y)["log_bayes_factor"])


def test_an_average_of_graphs_is_none(table):
    averager = BayesNetAverager(n_graphs=5, random_state=0).fit(table)
    for options in ({}, {"ess": 1.0}):
        with pytest.raises(TypeError, match="a BayesNetAverager, which averages over many graphs"):
            edge_report(averager, table, **options)
    assert edge_report(averager.estimator_, table)["parent"]
