"""The displays: what they draw, where, and with which numbers."""

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skbn import (
    BayesNetClassifier,
    BayesNetStructureEstimator,
    ESSCurveDisplay,
    ESSPathDisplay,
    ESSSearchCV,
    ess_path,
)

matplotlib.use("Agg")


@pytest.fixture
def plt():
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(90, 4))
    X[:, 1] = np.where(rng.random(90) < 0.8, X[:, 0], X[:, 1])
    return X


def test_curve_shows_losses_of_the_grid_in_order(plt, table):
    search = ESSSearchCV(BayesNetStructureEstimator(random_state=0), [100, 1, 10], cv=3).fit(table)
    display = ESSCurveDisplay.from_estimator(search)
    ess, loss = display.line_.get_data()
    np.testing.assert_array_equal(ess, [1, 10, 100])
    means = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(loss, -means[[1, 2, 0]])
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "equivalent sample size (rows)"
    assert display.ax_.get_ylabel() == "test log-loss (nats per row)"
    labels = [line.get_label() for line in display.marks_]
    assert labels == [
        f"best of the grid: {search.best_params_['ess']:.3g}",
        f"Eq. 18: {search.analytic_ess_:.3g}",
        f"joint optimum: {search.map_ess_:.3g}",
    ]
    assert display.marks_[1].get_xdata()[0] == search.analytic_ess_


def test_curve_of_a_classifier_shows_scores(plt, table):
    classifier = BayesNetClassifier(random_state=0)
    figure, ax = plt.subplots()
    search = ESSSearchCV(classifier, [1, 10], cv=3).fit(table[:, 1:], table[:, 0])
    display = ESSCurveDisplay.from_estimator(search, ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    assert display.ax_.get_ylabel() == "test score (accuracy)"
    np.testing.assert_allclose(display.line_.get_ydata(), search.cv_results_["mean_test_score"])


def test_path_of_a_table(plt):
    X = np.random.default_rng(0).integers(0, 2, size=(60, 4))
    path = ess_path(X, [1.0, 10.0, 100.0])
    display = ESSPathDisplay.from_path(path)
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), path.n_edges)
    assert "complete graph: 6 edges" in display.ax_.lines[1].get_label()


def test_curve_needs_a_fitted_search():
    with pytest.raises(NotFittedError):
        ESSCurveDisplay.from_estimator(ESSSearchCV(BayesNetStructureEstimator(), [1.0]))


def test_path_shows_edges_scores_and_the_interval(plt):
    path = SimpleNamespace(
        ess=np.array([1.0, 10.0, 100.0]), n_edges=np.array([2, 4, 9]),
        scores=np.array([-120.0, -100.0, -130.0]), map_interval=(1.0, 10.0), map_ess=10.0,
        labels=list("abcde"),
    )
    display = ESSPathDisplay.from_path(path)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [
        "edges", "complete graph: 10 edges", "MAP graph best for 1 to 10",
        "log marginal likelihood, highest at 10",
    ]
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), [2, 4, 9])
    np.testing.assert_array_equal(display.score_ax_.lines[0].get_ydata(), [-120, -100, -130])
    assert display.ax_.get_xscale() == "log"


def test_a_path_with_sums_over_all_graphs_is_drawn(plt):
    X = np.random.default_rng(0).integers(3, size=(60, 4))
    X[:, 1] = X[:, 0]
    path = ess_path(X, [1, 10, 100], all_graphs=True)
    display = ESSPathDisplay.from_path(path)
    one, every = display.score_ax_.lines
    np.testing.assert_array_equal(one.get_ydata(), path.scores)
    np.testing.assert_array_equal(every.get_ydata(), path.log_marginal_likelihoods)
    last = display.ax_.get_legend().get_texts()[-1].get_text()
    assert last == f"the same over all graphs, highest at {path.all_graphs_ess:.3g}"
    assert len(ESSPathDisplay.from_path(ess_path(X, [1, 10])).score_ax_.lines) == 1


@pytest.mark.parametrize("ax", [3, "ax", [1], object()])
def test_where_nothing_can_be_drawn_is_refused(ax):
    display = ESSCurveDisplay(np.array([1.0]), np.array([1.0]), np.array([0.0]), {})
    with pytest.raises(TypeError, match="ax must be matplotlib Axes or None"):
        display.plot(ax=ax)


def test_what_is_no_path_is_refused():
    with pytest.raises(TypeError, match="path must be the result of ess_path, got None"):
        ESSPathDisplay.from_path(None)
