"""The heat map of edge posteriors."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

matplotlib = pytest.importorskip("matplotlib")

from skbn import BayesNetAverager, EdgePosteriorDisplay, edge_posteriors  # noqa: E402

matplotlib.use("Agg")


@pytest.fixture
def plt():
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(0).integers(2, size=(90, 4))
    X[:70, 1] = X[:70, 0]
    return X


def test_the_matrix_is_drawn_with_names_and_numbers(plt, X):
    posterior = edge_posteriors(X)
    display = EdgePosteriorDisplay.from_posterior(posterior)
    shown = display.image_.get_array()
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_array_equal(shown.data[off], posterior.edges[off])
    assert np.diagonal(shown.mask).all()
    assert display.image_.get_clim() == (0.0, 1.0)
    names = ["x0", "x1", "x2", "x3"]
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == names
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == names
    assert len(display.texts_) == 12
    text = next(t for t in display.texts_ if t.get_position() == (1, 0))
    assert text.get_text() == f"{posterior.edges[0, 1]:.2f}".removeprefix("0")
    assert "posterior probability" in display.colorbar_.ax.get_ylabel()


def test_on_given_axes_and_from_an_estimator(plt, X):
    figure, ax = plt.subplots()
    model = BayesNetAverager(n_graphs=10, random_state=0).fit(X)
    display = EdgePosteriorDisplay.from_estimator(model, ax=ax, numbers=False, colorbar=False)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.texts_ == []
    assert display.colorbar_ is None
    with pytest.raises(NotFittedError):
        EdgePosteriorDisplay.from_estimator(BayesNetAverager())


def test_sure_and_impossible_edges_and_many_columns(plt):
    edges = np.array([[0, 0.0004, 0.9996], [0.004, 0, 0.996], [0.25, 0.5, 0]])
    display = EdgePosteriorDisplay(edges, ["a", "b", "c"]).plot()
    assert [text.get_text() for text in display.texts_] == ["0", "1", "<.01", ">.99", ".25", ".50"]
    # Dark cells have light numbers.
    assert [text.get_color() for text in display.texts_][:2] == ["black", "white"]
    many = EdgePosteriorDisplay(np.zeros((13, 13)), list(range(13))).plot()
    assert many.texts_ == []
    assert len(EdgePosteriorDisplay(np.zeros((1, 1)), ["alone"]).plot().texts_) == 0


def test_what_is_no_posterior_and_no_choice_of_numbers_is_refused(X):
    with pytest.raises(TypeError, match="posterior must be the result of edge_posteriors"):
        EdgePosteriorDisplay.from_posterior(3)
    with pytest.raises(ValueError, match="numbers must be 'auto', True or False, got 3"):
        EdgePosteriorDisplay(np.zeros((2, 2)), ["a", "b"]).plot(numbers=3)
