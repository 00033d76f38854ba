"""The heat map of edge posteriors."""

import itertools

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


NAMES = {
    "signs": ["$x^$", "cost in $", "$a$ and $b$", r"\$5$", "a_b^2 %#{}"],
    "long": ["y" * 80, "z" * 5000, "tall\nname", "age", ("a tuple",) * 40],
    "alike": [f"{'share of households that ' * 4}own {thing}" for thing in "abcde"],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_are_drawn_as_they_are_and_leave_room(plt, names):
    display = EdgePosteriorDisplay(np.full((5, 5), 0.5), names).plot()
    display.figure_.canvas.draw()  # a formula that is none, or no room, would be an error
    for axis in (display.ax_.xaxis, display.ax_.yaxis):
        labels = axis.get_ticklabels()
        texts = [label.get_text() for label in labels]
        assert len(set(texts)) == 5
        assert max(map(len, texts)) <= 26
        assert not any(label.get_parse_math() for label in labels)
        if names is NAMES["signs"]:
            assert texts == names
        if names is NAMES["alike"]:
            assert [text[-5:] for text in texts] == [f"own {thing}" for thing in "abcde"]
    inside = display.ax_.get_window_extent()
    whole = display.figure_.bbox
    assert inside.width > 0.3 * whole.width and inside.height > 0.3 * whole.height


def test_every_name_of_many_has_a_line_of_its_own(plt):
    n = 40
    display = EdgePosteriorDisplay(np.zeros((n, n)), [f"column {j}" for j in range(n)]).plot()
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert all(upper.y0 > lower.y1 - 2 for upper, lower in itertools.pairwise(boxes))
    # The axes of others are left as they are.
    figure, ax = plt.subplots(figsize=(3, 3))
    EdgePosteriorDisplay(np.zeros((n, n)), list(range(n))).plot(ax=ax)
    assert figure.get_size_inches().tolist() == [3, 3]


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
