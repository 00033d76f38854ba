"""Pictures of networks, in figures and in notebooks."""

import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import set_config
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    EdgePosteriorDisplay,
    ESSCurveDisplay,
    NetworkDisplay,
    bootstrap_edges,
    edge_posteriors,
    edge_report,
)
from skbn.drawing.picture import KINDS, picture_of, short_texts, svg_text
from skbn.networks.network import BayesianNetwork

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def backend():
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(200, 5))
    X[:150, 1] = X[:150, 0]
    X[:120, 2] = X[:120, 1]
    return X


@pytest.fixture(scope="module")
def fitted(table):
    return BayesNetStructureEstimator(random_state=0, n_restarts=3).fit(table)


def widths(display):
    return dict(zip(display.edges, [look.width for look in display.picture_.edges], strict=True))


def test_a_figure_of_its_own_and_given_axes(fitted):
    display = NetworkDisplay.from_estimator(fitted)
    assert display.labels == list(fitted.network_.labels) and display.edges == fitted.edges_
    assert display.ax_.figure is display.figure_
    figure, axes = matplotlib.pyplot.subplots(1, 2)
    assert NetworkDisplay.from_graph(fitted, ax=axes[1]).ax_ is axes[1]
    figure.canvas.draw()
    # A shape per edge, head, node and text.
    assert len(axes[1].patches) == 2 * len(fitted.edges_) + 2 * 5


def test_widths_by_log_bayes_factor(fitted, table):
    display = NetworkDisplay.from_estimator(fitted, table, edge_width="log_bayes_factor")
    report = edge_report(fitted, table)
    by_factor = dict(zip(zip(report["parent"], report["child"], strict=True),
                         report["log_bayes_factor"], strict=True))
    found = widths(display)
    assert sorted(found, key=found.get) == sorted(by_factor, key=by_factor.get)
    assert display.picture_.legend[-1].text.startswith("log Bayes factor")
    with pytest.raises(ValueError, match="Pass X"):
        NetworkDisplay.from_estimator(fitted, edge_width="log_bayes_factor")
    with pytest.raises(ValueError, match="'restarts', a mapping"):
        NetworkDisplay.from_estimator(fitted, edge_width="size")


def test_widths_by_a_pipeline_are_those_of_the_table_that_its_steps_make(table):
    turn = make_column_transformer(("passthrough", [4, 3, 2]), remainder="passthrough")
    pipe = make_pipeline(turn, BayesNetStructureEstimator(random_state=0, n_restarts=1)).fit(table)
    found = widths(NetworkDisplay.from_estimator(pipe, table, edge_width="log_bayes_factor"))
    assert len(found) >= 2
    assert found == widths(NetworkDisplay.from_estimator(
        pipe[-1], pipe[:-1].transform(table), edge_width="log_bayes_factor"
    ))
    NetworkDisplay.from_estimator(pipe, edge_width="restarts")


def test_widths_by_restarts_resamples_and_hand(fitted, table):
    assert len(fitted.restart_edges_) == 4
    assert set(fitted.edges_) == set(
        fitted.restart_edges_[int(np.argmax(fitted.restart_scores_))]
    )
    NetworkDisplay.from_estimator(fitted, edge_width="restarts")
    boot = bootstrap_edges(fitted, table, n_resamples=5, random_state=0)
    display = NetworkDisplay.from_estimator(fitted, edge_width=boot)
    expected = [boot.directed[int(a[1]), int(b[1])] for a, b in fitted.edges_]
    found = [look.width for look in display.picture_.edges]
    np.testing.assert_allclose(found, 0.7 + 3.5 * np.array(expected))
    for weights in (boot.to_frame(), boot.directed):
        same = NetworkDisplay.from_estimator(fitted, edge_width=weights)
        assert widths(same) == widths(display)
    posterior = edge_posteriors(table)
    display = NetworkDisplay.from_estimator(fitted, edge_width=posterior)
    expected = [posterior.edges[int(a[1]), int(b[1])] for a, b in fitted.edges_]
    found = [look.width for look in display.picture_.edges]
    np.testing.assert_allclose(found, 0.7 + 3.5 * np.array(expected))
    assert display.width_name == "posterior probability"
    graph = [("a", "b"), ("b", "c")]
    some = NetworkDisplay.from_graph(graph, edge_width={("a", "b"): 5})
    assert [bool(look.dashes) for look in some.picture_.edges] == [False, True]
    with pytest.raises(ValueError, match=r"matrix of shape \(3, 3\), got an array of shape \(2,"):
        NetworkDisplay.from_graph(graph, edge_width=np.ones((2, 2)))
    NetworkDisplay.from_graph(graph, edge_width={edge: -1.0 for edge in graph})


def test_target_and_blanket(table):
    edges = [("x0", "x1"), ("x2", "x1"), ("x1", "x3"), ("x3", "y")]
    clf = BayesNetClassifier(init=edges, max_iter=0).fit(table[:, :4], table[:, 4])
    looks = dict(zip(clf.network_.labels,
                     NetworkDisplay.from_estimator(clf).picture_.nodes, strict=True))
    assert looks["x0"] == looks["x2"] == looks["x1"]
    assert len({looks["y"], looks["x3"], looks["x0"]}) == 3
    for target in clf.network_.labels:
        picture = NetworkDisplay.from_graph(clf, target=target).picture_
        coloured = {label for label, look in zip(clf.network_.labels, picture.nodes, strict=True)
                    if look == picture.legend[1].look}
        assert coloured == set(clf.network_.markov_blanket(target))
    with pytest.raises(ValueError, match="No node is called 'z'"):
        NetworkDisplay.from_graph(clf, target="z")


def test_a_comparison():
    graph = [("a", "b"), ("c", "b"), ("c", "d")]
    reference = [("a", "b"), ("b", "c"), ("d", "e")]
    display = NetworkDisplay.from_graph(graph, reference=reference)
    assert dict(zip(display.edges, display.kinds, strict=True)) == {
        ("a", "b"): "kept", ("c", "b"): "reversed", ("c", "d"): "extra", ("d", "e"): "missing",
    }
    assert [look for look in display.picture_.edges] == list(KINDS.values())
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["in both: 1", "reversed: 1", "only learned: 1", "only in reference: 1"]


AWKWARD = ["$x^$", "a very long name that nobody wants to read", "<b>&amp;\"'", "é\n\x00", "", 7]


def test_awkward_names_are_drawn():
    display = NetworkDisplay.from_graph([(AWKWARD[0], name) for name in AWKWARD[1:]])
    display.figure_.canvas.draw()
    assert display.picture_.texts[1] == "a very long name that nob…"


ALIKE = {
    # Two beginnings, and where they differ after those.
    "ends": ["share of households that own a car", "share of households that own a dog"],
    "middles": [f"{'x' * 40}{a}{'y' * 40}" for a in "abc"],
    "two places": [f"{'x' * 40}{a}{'y' * 40}{b}{'z' * 40}" for a in "abc" for b in "de"],
    "lengths": ["x" * 26, "x" * 80, "x" * 81, "x" * 25 + "…", "x" * 25 + "…z"],
    "many places": ["x".join("q" * 30 + sign for sign in signs)
                    for signs in itertools.product("ab", repeat=6)],
    "numbers of thousands": [f"{'gene' * 10}{j}" for j in range(3000)],
}


@pytest.mark.parametrize("names", ALIKE.values(), ids=ALIKE)
def test_different_names_are_different_when_they_are_cut(names):
    texts = short_texts(names)
    assert len(set(texts)) == len(names)
    assert max(map(len, texts)) <= 26
    # Each begins as its name does, and all else in it is a part of the name, or its number.
    for place, (name, text) in enumerate(zip(names, texts, strict=True)):
        first, *parts = text.removesuffix(f" #{place}").split("…")
        assert name.startswith(first) and all(part in name for part in parts)


def test_where_names_differ_is_shown():
    assert short_texts(ALIKE["ends"]) == ["share of…s that own a car", "share of…s that own a dog"]
    assert [text[8:14] for text in short_texts(ALIKE["middles"])] == ["…xxayy", "…xxbyy", "…xxcyy"]
    # Names that are short, or long and like no other, are as they were.
    assert short_texts(["age", "y" * 30, "age (years)"]) == ["age", "y" * 25 + "…", "age (years)"]
    # Those that are written alike, whole, are left alike.
    assert short_texts([5, "5"]) == ["5", "5"]


@settings(deadline=None)
@given(st.lists(st.text("ab…", min_size=0, max_size=60), unique=True, max_size=12))
def test_any_different_names_are_different(names):
    assert len(set(short_texts(names))) == len(names)


def test_networks_of_names_that_begin_alike_are_drawn_with_different_texts():
    names = ALIKE["two places"]
    display = NetworkDisplay.from_graph(list(itertools.pairwise(names)))
    display.figure_.canvas.draw()
    assert len(set(display.picture_.texts)) == len(names)
    texts, titles, _ = read_svg(svg_text(display.picture_, names))
    assert len(set(texts)) == len(names) and titles == names


def read_svg(text):
    root = ElementTree.fromstring(text)
    ns = {"s": "http://www.w3.org/2000/svg"}
    return ([node.text or "" for node in root.findall(".//s:text", ns)],
            [node.text for node in root.findall(".//s:title", ns)],
            len(root.findall(".//s:polygon", ns)))


def test_svg_is_well_formed_and_escaped():
    labels = [*AWKWARD, "\ud800", "]]>"]
    edges = [(0, i) for i in range(1, 8)]
    text = svg_text(picture_of(labels, edges, target=2, weights=range(7)), list(map(str, labels)))
    texts, titles, n_heads = read_svg(text.encode())
    assert len(texts) == len(titles) == 8 and n_heads == 7
    assert texts[2] == AWKWARD[2] and texts[1].endswith("…") and titles[1] == AWKWARD[1]
    assert "<b>" not in text


def test_notebooks_show_networks_and_tables(fitted):
    network = fitted.network_
    texts, titles, n_heads = read_svg(network._repr_svg_())
    assert texts == list(network.labels) and n_heads == len(network.edges)
    assert titles[0] == "x0: 0, 1"
    assert "BayesianNetwork(5 variables" in network._repr_html_()
    child = network.edges[0][1]
    rows = re.findall("<tr>", network.cpt(child)._repr_html_())
    assert len(rows) == 1 + len(network.cpt(child).configurations)
    renamed = BayesianNetwork(["<a>", *network.labels[1:]], network.categories, network.tables)
    for text in (renamed.cpt("<a>")._repr_html_(), renamed._repr_html_()):
        assert "<a>" not in text and "&lt;a&gt;" in text


def test_large_networks_are_not_drawn_unasked(make_table):
    X = np.random.default_rng(0).integers(2, size=(20, 160))
    network = BayesNetStructureEstimator(max_iter=0).fit(X).network_
    assert network._repr_svg_() is None
    assert "NetworkDisplay.from_graph" in network._repr_html_()


def test_estimators_keep_scikit_learns_display(fitted):
    plain = BayesNetStructureEstimator()
    assert "<svg xmlns" not in plain._repr_html_() and "sk-container" in plain._repr_html_()
    shown = fitted._repr_html_()
    assert "sk-container" in shown and "BayesianNetwork(5 variables" in shown
    assert set(fitted._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert "sk-container" in make_pipeline("passthrough", fitted)._repr_html_()
    set_config(display="text")
    try:
        assert not hasattr(fitted, "_repr_html_")
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}
    finally:
        set_config(display="diagram")


@pytest.mark.parametrize(("labels", "edges", "options", "error", "message"), [
    (3, [], {}, TypeError, "labels must be a list of names"),
    (["a", "a"], [], {}, ValueError, "labels has 'a' twice"),
    (["a", "b"], 3, {}, TypeError, "edges must hold"),
    (["a", "b"], [("a",)], {}, ValueError, "edges must hold"),
    (["a", "b"], [("a", "b")], {"kinds": ["right"]}, ValueError, "kinds must hold one of 'kept'"),
    (["a", "b"], [("a", "b")], {"kinds": []}, ValueError, "for each of the 1 edges"),
    (["a", "b"], [([1], "b")], {}, ValueError, "No node is called"),
    (["a", "b"], [("a", "b")], {"edge_width": "wide"}, ValueError, "edge_width must hold numbers"),
    (["a", "b"], [("a", "b")], {"edge_width": {("a", "b"): "x"}}, ValueError, "must hold numbers"),
])
def test_what_is_no_drawing_is_refused(labels, edges, options, error, message):
    with pytest.raises(error, match=message):
        NetworkDisplay(labels, edges, **options).plot()


def test_estimators_without_one_graph(table, fitted):
    with pytest.raises(NotFittedError):
        NetworkDisplay.from_estimator(BayesNetStructureEstimator())
    with pytest.raises(NotFittedError):
        NetworkDisplay.from_estimator(BayesNetAverager())
    averager = BayesNetAverager(n_graphs=20, random_state=0).fit(table)
    for whole in (averager, make_pipeline("passthrough", averager)):
        with pytest.raises(TypeError, match=r"averages over many graphs\. Pass its estimator_"):
            NetworkDisplay.from_estimator(whole)
    # What the message advises can be done.
    drawn = NetworkDisplay.from_estimator(
        averager.estimator_, edge_width=averager.edge_posterior_)
    assert drawn.edges == averager.estimator_.edges_
    EdgePosteriorDisplay.from_estimator(averager)
    with pytest.raises(TypeError, match="BayesNetStructureEstimator has no edge_posterior_"):
        EdgePosteriorDisplay.from_estimator(fitted)
    with pytest.raises(TypeError, match=r"has no cv_results_.* Pass an ESSSearchCV"):
        ESSCurveDisplay.from_estimator(fitted)


def test_columns_that_the_network_does_not_have():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(2, size=80)}).assign(b=lambda frame: frame["a"])
    fitted = BayesNetStructureEstimator(random_state=0).fit(table)
    wide = table.assign(length=rng.normal(size=80))
    drawn = NetworkDisplay.from_estimator(fitted, wide, edge_width="log_bayes_factor")
    assert list(drawn.edge_width) == fitted.edges_
