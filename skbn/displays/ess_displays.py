"""Pictures of how the equivalent sample size was chosen; matplotlib is imported when drawing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skbn.displays.axes import figure_and_axes, require_result
from skbn.messages import brief, cut


class ESSCurveDisplay:
    """Cross-validated log-loss against the equivalent sample size, with the values chosen.

    Parameters
    ----------
    ess : ndarray of shape (n_values,)
        The grid, in rows, ascending.
    mean, deviation : ndarray of shape (n_values,)
        Mean over the folds, and standard deviation, in the unit of `quantity`.
    marks : dict of float
        Equivalent sample sizes to mark, by what chose them.
    quantity : str, default="test log-loss (nats per row)"
        What `mean` is, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curve is.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    line_ : matplotlib Line2D
        The means.
    marks_ : list of matplotlib Line2D
        A vertical line for each of `marks`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from skbn import BayesNetStructureEstimator, ESSCurveDisplay, ESSSearchCV
    >>> X = np.random.default_rng(0).integers(3, size=(90, 4))
    >>> X[:70, 1] = X[:70, 0]
    >>> search = ESSSearchCV(BayesNetStructureEstimator(random_state=0), [1, 10, 100], cv=3).fit(X)
    >>> display = ESSCurveDisplay.from_estimator(search)
    >>> display.ax_.get_xscale()
    'log'
    """

    def __init__(
        self,
        ess: np.ndarray,
        mean: np.ndarray,
        deviation: np.ndarray,
        marks: dict[str, float],
        quantity: str = "test log-loss (nats per row)",
    ) -> None:
        self.ess = ess
        self.mean = mean
        self.deviation = deviation
        self.marks = marks
        self.quantity = quantity

    @classmethod
    def from_estimator(cls, search, *, ax=None) -> "ESSCurveDisplay":
        """Draw a fitted `ESSSearchCV`.

        Parameters
        ----------
        search : ESSSearchCV
            Fitted. Without `scoring`, an estimator of the joint distribution is drawn by its
            log-loss; else the test scores themselves are.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ESSCurveDisplay
            The display, drawn: the best value of the grid, that of Eq. 18 and the joint optimum
            are marked.

        Raises
        ------
        NotFittedError
            For a search that is not fitted.
        TypeError
            For an estimator that is no search.
        ImportError
            Without matplotlib.
        """
        require_result(search, "cv_results_", "an ESSSearchCV")
        results = search.cv_results_
        parameter = next(iter(results["params"][0]))
        ess = np.array([params[parameter] for params in results["params"]], dtype=float)
        order = np.argsort(ess)
        best = int(np.argmin(results["rank_test_score"]))
        is_loss = search.scoring is None and not is_classifier(search.estimator)
        if is_loss:
            quantity = "test log-loss (nats per row)"
        else:
            scoring = search.scoring or "accuracy"
            name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", None)
            quantity = f"test score ({name or cut(str(scoring), 40)})"
        return cls(
            ess[order],
            (-1 if is_loss else 1) * results["mean_test_score"][order],
            results["std_test_score"][order],
            {
                "best of the grid": float(ess[best]),
                "Eq. 18": search.analytic_ess_,
                "joint optimum": search.map_ess_,
            },
            quantity,
        ).plot(ax=ax)

    def plot(self, *, ax=None) -> "ESSCurveDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ESSCurveDisplay
            This display, with what was drawn as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        self.figure_, self.ax_ = figure_and_axes(ax)
        (self.line_,) = self.ax_.plot(
            self.ess, self.mean, "o-", color="C0", markersize=4, label="mean over folds"
        )
        self.ax_.fill_between(
            self.ess, self.mean - self.deviation, self.mean + self.deviation,
            color="C0", alpha=0.15, linewidth=0, label="± standard deviation",
        )
        self.marks_ = [
            self.ax_.axvline(
                value, color=f"C{k + 1}", linestyle=style, linewidth=1.5,
                label=f"{name}: {value:.3g}",
            )
            for k, ((name, value), style) in enumerate(
                zip(self.marks.items(), ("-", "--", ":"), strict=False)
            )
        ]
        self.ax_.set_xscale("log")
        self.ax_.set_xlabel("equivalent sample size (rows)")
        self.ax_.set_ylabel(self.quantity)
        self.ax_.grid(alpha=0.3)
        self.ax_.legend(fontsize="small")
        return self


class ESSPathDisplay:
    """Edges and log marginal likelihood of the best graph against the equivalent sample size.

    Parameters
    ----------
    ess : array-like of shape (n_values,)
        The grid, in rows, ascending.
    n_edges : array-like of shape (n_values,)
        Number of edges of the best graph for each value.
    scores : array-like of shape (n_values,)
        Of the best graphs, in nats.
    map_interval : (float, float)
        Where the graph of highest marginal likelihood stays the best.
    map_ess : float
        The value of the grid with the highest score.
    n_variables : int
        For the number of edges of the complete graph.
    sums : array-like of shape (n_values,), default=None
        Log marginal likelihoods summed over all graphs, in nats.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Of the edges.
    score_ax_ : matplotlib Axes
        Of the marginal likelihood.
    figure_ : matplotlib Figure
        The figure of both.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from skbn import ESSPathDisplay, ess_path
    >>> X = np.random.default_rng(0).integers(2, size=(90, 4))
    >>> X[:70, 1] = X[:70, 0]
    >>> display = ESSPathDisplay.from_path(ess_path(X, [1, 10, 100]))
    >>> display.score_ax_.get_ylabel()
    'log marginal likelihood (nats)'
    """

    def __init__(
        self,
        ess: Sequence[float],
        n_edges: Sequence[int],
        scores: Sequence[float],
        map_interval: tuple[float, float],
        map_ess: float,
        n_variables: int,
        sums: Sequence[float] | None = None,
    ) -> None:
        self.ess = np.asarray(ess, dtype=float)
        self.n_edges = np.asarray(n_edges)
        self.scores = np.asarray(scores, dtype=float)
        self.map_interval = map_interval
        self.map_ess = map_ess
        self.n_variables = n_variables
        self.sums = None if sums is None else np.asarray(sums, dtype=float)

    @classmethod
    def from_path(cls, path: Any, *, ax=None) -> "ESSPathDisplay":
        """Draw the result of `ess_path`.

        Parameters
        ----------
        path : ESSPath
            The result of `ess_path`, with ``all_graphs=True`` or without.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ESSPathDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            For what is no such result.
        ImportError
            Without matplotlib.
        """
        if not hasattr(path, "map_interval"):
            raise TypeError(f"path must be the result of ess_path, got {brief(path)}.")
        return cls(
            path.ess, path.n_edges, path.scores, path.map_interval, path.map_ess,
            len(path.labels), getattr(path, "log_marginal_likelihoods", None),
        ).plot(ax=ax)

    def plot(self, *, ax=None) -> "ESSPathDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ESSPathDisplay
            This display, with what was drawn as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        self.figure_, self.ax_ = figure_and_axes(ax)
        n_complete = self.n_variables * (self.n_variables - 1) // 2
        low, high = self.map_interval
        lines = [
            *self.ax_.plot(self.ess, self.n_edges, "o-", color="C0", markersize=4, label="edges"),
            self.ax_.axhline(
                n_complete, color="C0", linestyle=":", linewidth=1.2,
                label=f"complete graph: {n_complete} edges",
            ),
            self.ax_.axvspan(
                low, high, color="C2", alpha=0.15,
                label=f"MAP graph best for {low:.3g} to {high:.3g}",
            ),
        ]
        self.score_ax_ = self.ax_.twinx()
        lines += self.score_ax_.plot(
            self.ess, self.scores, "s--", color="C1", markersize=3, linewidth=1,
            label=f"log marginal likelihood, highest at {self.map_ess:.3g}",
        )
        if self.sums is not None:
            best = self.ess[int(np.argmax(self.sums))]
            lines += self.score_ax_.plot(
                self.ess, self.sums, "^-.", color="C3", markersize=3, linewidth=1,
                label=f"the same over all graphs, highest at {best:.3g}",
            )
        self.ax_.set_xscale("log")
        self.ax_.set_ylim(0, 1.08 * max(n_complete, 1))
        self.ax_.set_xlabel("equivalent sample size (rows)")
        self.ax_.set_ylabel("edges of the best graph")
        self.score_ax_.set_ylabel("log marginal likelihood (nats)")
        self.ax_.grid(alpha=0.3)
        self.ax_.legend(
            handles=lines, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.14),
            ncols=2, frameon=False,
        )
        return self


