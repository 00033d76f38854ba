"""A picture of the posterior probabilities of edges; matplotlib is imported when drawing."""

from collections.abc import Hashable, Sequence

import numpy as np

from skbn.displays.axes import figure_and_axes, require_result
from skbn.drawing.picture import short_texts
from skbn.messages import brief
from skbn.posteriors.edge_posteriors import EdgePosteriors

# Numbers are written into the cells of matrices up to so many columns.
_MOST_WITH_NUMBERS = 12
# Inches that a name needs beside its row, and of the matrix in a figure of usual size.
_CELL, _MATRIX = 0.2, 3.0


class EdgePosteriorDisplay:
    """The matrix P(row -> column | data) as a heat map.

    Parameters
    ----------
    edges : ndarray of shape (n_variables, n_variables)
        Probabilities; the diagonal is left blank.
    labels : sequence
        Names of the variables.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the matrix is.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    image_ : matplotlib AxesImage
        The cells.
    colorbar_ : matplotlib Colorbar or None
        The scale beside them, if there is one.
    texts_ : list of matplotlib Text
        The numbers in the cells, if any.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from skbn import EdgePosteriorDisplay, edge_posteriors
    >>> X = np.random.default_rng(0).integers(2, size=(90, 4))
    >>> X[:70, 1] = X[:70, 0]
    >>> display = EdgePosteriorDisplay.from_posterior(edge_posteriors(X))
    >>> display.ax_.get_xlabel()
    'child'
    """

    def __init__(self, edges: np.ndarray, labels: Sequence[Hashable]) -> None:
        self.edges = edges
        self.labels = labels

    @classmethod
    def from_posterior(cls, posterior: EdgePosteriors, **options) -> "EdgePosteriorDisplay":
        """Draw the result of `edge_posteriors`.

        Parameters
        ----------
        posterior : EdgePosteriors
            Its `edges` are drawn, under its `labels`.
        **options : dict
            Passed to `plot`: ``ax``, ``cmap``, ``numbers``, ``colorbar``.

        Returns
        -------
        EdgePosteriorDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            For what is no such result.
        """
        if not (hasattr(posterior, "edges") and hasattr(posterior, "labels")):
            raise TypeError(
                f"posterior must be the result of edge_posteriors, got {brief(posterior)}."
            )
        return cls(posterior.edges, posterior.labels).plot(**options)

    @classmethod
    def from_estimator(cls, estimator, **options) -> "EdgePosteriorDisplay":
        """Draw the posterior of a fitted `BayesNetAverager`.

        Parameters
        ----------
        estimator : BayesNetAverager
            Fitted; its `edge_posterior_` is drawn.
        **options : dict
            Passed to `plot`: ``ax``, ``cmap``, ``numbers``, ``colorbar``.

        Returns
        -------
        EdgePosteriorDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            For an estimator that is not fitted.
        TypeError
            For an estimator of another kind.
        """
        require_result(estimator, "edge_posterior_", "a BayesNetAverager")
        return cls.from_posterior(estimator.edge_posterior_, **options)

    def plot(
        self, *, ax=None, cmap="Blues", numbers="auto", colorbar=True
    ) -> "EdgePosteriorDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        cmap : str or matplotlib Colormap, default="Blues"
            For probabilities from 0 to 1.
        numbers : "auto" or bool, default="auto"
            Write the probabilities into the cells; "auto" does for up to 12 variables.
        colorbar : bool, default=True
            Draw the scale of the colours beside the matrix.

        Returns
        -------
        EdgePosteriorDisplay
            This display, with what was drawn as attributes.

        Raises
        ------
        ValueError
            For another word than "auto" in `numbers`, and from matplotlib for an unknown `cmap`.
        ImportError
            Without matplotlib.
        """
        if not isinstance(numbers, (bool, np.bool_)) and not (
            isinstance(numbers, str) and numbers == "auto"
        ):
            raise ValueError(f"numbers must be 'auto', True or False, got {brief(numbers)}.")
        self.figure_, self.ax_ = figure_and_axes(ax)
        n = len(self.labels)
        if ax is None:
            more = max(0.0, _CELL * n - _MATRIX)
            self.figure_.set_size_inches(self.figure_.get_size_inches() + more)
        shown = np.ma.masked_array(self.edges, np.eye(n, dtype=bool))
        self.image_ = self.ax_.imshow(shown, vmin=0.0, vmax=1.0, cmap=cmap)
        self.ax_.set_facecolor("0.9")
        names = short_texts(self.labels)
        # A dollar begins no formula here.
        self.ax_.set_xticks(
            range(n), names, rotation=45, ha="right", rotation_mode="anchor", parse_math=False
        )
        self.ax_.set_yticks(range(n), names, parse_math=False)
        self.ax_.set_xlabel("child")
        self.ax_.set_ylabel("parent")
        self.texts_ = []
        if (n <= _MOST_WITH_NUMBERS) if isinstance(numbers, str) else numbers:
            for parent, child in np.argwhere(~shown.mask):
                p = float(self.edges[parent, child])
                red, green, blue, _ = self.image_.cmap(p)
                is_dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
                self.texts_.append(self.ax_.text(
                    child, parent, _two_places(p), ha="center", va="center", fontsize="small",
                    color="white" if is_dark else "black",
                ))
        self.colorbar_ = None
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(
                self.image_, ax=self.ax_, label="posterior probability of the edge", shrink=0.85
            )
        return self


def _two_places(p: float) -> str:
    """Two digits, and 0 or 1 only for what is within a thousandth of it."""
    if p < 0.001:
        return "0"
    if p > 0.999:
        return "1"
    return "<.01" if p < 0.01 else ">.99" if p > 0.99 else f"{p:.2f}".removeprefix("0")
