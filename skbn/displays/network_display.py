"""Pictures of networks; matplotlib is imported when drawing."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbn.analysis.bootstrap import BootstrapEdges
from skbn.analysis.compare_graphs import compare_graphs
from skbn.analysis.edge_report import edge_report
from skbn.displays.axes import figure_and_axes
from skbn.drawing.layout import NODE_HEIGHT
from skbn.drawing.picture import (
    FONT_SIZE,
    KINDS,
    EdgeLook,
    GraphPicture,
    LegendEntry,
    picture_of,
)
from skbn.graphs.given_graph import (
    different_names,
    fitted_within,
    labels_among,
    read_graph,
    refuse_graphless,
    target_of,
)
from skbn.messages import brief, first_few
from skbn.posteriors.edge_posteriors import EdgePosteriors

_MARGIN = 8.0
# Of a new figure, in inches.
_WIDTH_NAMES = {"log_bayes_factor": "log Bayes factor", "restarts": "share of runs"}
_WIDEST, _HIGHEST, _NARROWEST = 14.0, 11.0, 4.0
_LEGEND_ROW, _LEGEND_MARK, _LEGEND_LETTER = 0.2, 0.6, 0.075


class NetworkDisplay:
    """A layered drawing of a network, alone or beside a reference graph.

    Parameters
    ----------
    labels : sequence
        Names of the nodes.
    edges : sequence of (parent, child) names
        What to draw between them.
    target : label, default=None
        A node to colour, with its Markov blanket in a lighter tone.
    edge_width : mapping, square array, data frame, BootstrapEdges or EdgePosteriors, default=None
        The weight of each edge: by (parent, child) names, at [parent, child] in the order of the
        labels, by labels, the directed frequencies of `bootstrap_edges`, or the probabilities of
        `edge_posteriors`. Edges without a weight are dotted, as are those of weight 0 or less.
        Up to 1, widths are in proportion to the weights; else to their square roots.
    width_name : str, default="weight"
        What the weights are, for the legend.
    kinds : sequence of {"kept", "reversed", "extra", "missing"}, default=None
        What each edge is beside a reference graph.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the network is.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    picture_ : GraphPicture
        Positions, curves and looks, in points.

    See Also
    --------
    compare_graphs : The figures behind a comparison.
    bootstrap_edges : Frequencies to draw as widths.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from skbn import BayesNetStructureEstimator, NetworkDisplay
    >>> X = np.random.default_rng(0).integers(2, size=(90, 4))
    >>> X[:70, 1] = X[:70, 0]
    >>> bn = BayesNetStructureEstimator(random_state=0).fit(X)
    >>> display = NetworkDisplay.from_estimator(bn, X, edge_width="log_bayes_factor")
    >>> display.figure_.savefig("network.pdf")  # doctest: +SKIP
    >>> graph, truth = [("a", "b"), ("c", "b")], [("a", "b"), ("b", "c"), ("c", "d")]
    >>> NetworkDisplay.from_graph(graph, reference=truth).kinds
    ['kept', 'reversed', 'missing']
    """

    def __init__(
        self,
        labels: Sequence[Hashable],
        edges: Sequence[tuple[Hashable, Hashable]],
        *,
        target: Hashable = None,
        edge_width: Any = None,
        width_name: str = "weight",
        kinds: Sequence[str] | None = None,
    ) -> None:
        self.labels = different_names(labels, "labels")
        self.edges = _pairs(edges)
        self.target = target
        if isinstance(edge_width, EdgePosteriors):
            if width_name == "weight":
                width_name = "posterior probability"
            edge_width = {
                (parent, child): float(edge_width.edges[i, j])
                for i, parent in enumerate(edge_width.labels)
                for j, child in enumerate(edge_width.labels)
            }
        self.edge_width = edge_width
        self.width_name = (
            "share of resamples"
            if width_name == "weight" and isinstance(edge_width, BootstrapEdges)
            else width_name
        )
        self.kinds = kinds
        if kinds is not None and not (
            isinstance(kinds, Sequence) and len(kinds) == len(self.edges)
            and all(isinstance(kind, str) and kind in KINDS for kind in kinds)
        ):
            raise ValueError(
                f"kinds must hold one of {first_few(list(KINDS))} for each of the "
                f"{len(self.edges)} edges, got {brief(kinds)}."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        edge_width: Any = None,
        target: Hashable = None,
        reference: Any = None,
        ax: Any = None,
    ) -> "NetworkDisplay":
        """Draw the network of a fitted estimator.

        Parameters
        ----------
        estimator : BayesNetStructureEstimator, BayesNetClassifier, or a search or pipeline of one
            Fitted.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            The table that was fitted, as the pipeline takes it if there is one; needed for log
            Bayes factors only.
        y : array-like of shape (n_samples,), default=None
            The target that was fitted, if there was one; needed for log Bayes factors only.
        edge_width : {"log_bayes_factor", "restarts"} or weights, default=None
            "log_bayes_factor": of each edge by `edge_report`, at the estimator's equivalent sample
            size; "restarts": the share of the runs of the search that ended with the edge. Else
            weights as of the class.
        target : label, default=None
            The node to colour; None takes y, if the network was fitted with one.
        reference : graph, default=None
            Compare with this graph, in any of the forms that `compare_graphs` takes.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        NetworkDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            For an estimator that is not fitted.
        TypeError
            For one that has no graph, or many, as a `BayesNetAverager`.
        ValueError
            For weights that are none, a target that is no node, and log Bayes factors without X,
            or without y where the graph has it.
        ImportError
            Without matplotlib.
        """
        whole, estimator = estimator, fitted_within(estimator)
        if not hasattr(estimator, "network_"):
            check_is_fitted(estimator)
            refuse_graphless(estimator, "estimator")
        name = "weight"
        if isinstance(edge_width, str):
            name = _WIDTH_NAMES.get(edge_width, "")
            edge_width = _named_widths(edge_width, whole, X, y)
        if target is None:
            target = target_of(estimator)
        return cls.from_graph(
            estimator.network_, edge_width=edge_width, width_name=name, target=target,
            reference=reference, ax=ax,
        )

    @classmethod
    def from_graph(
        cls,
        graph: Any,
        *,
        edge_width: Any = None,
        width_name: str = "weight",
        target: Hashable = None,
        reference: Any = None,
        labels: Sequence[Hashable] | None = None,
        ax: Any = None,
    ) -> "NetworkDisplay":
        """Draw a network or any graph.

        Parameters
        ----------
        graph : graph
            (parent, child) pairs of names, an adjacency matrix (row -> column), a networkx graph, a
            fitted estimator or its network.
        edge_width : mapping, array, data frame, BootstrapEdges or EdgePosteriors, default=None
            The weight of each edge, as of the class; None draws all alike.
        width_name : str, default="weight"
            What the weights are, for the legend.
        target : label, default=None
            A node to colour, with its Markov blanket in a lighter tone.
        reference : graph, default=None
            Draw the edges of both, and which of them are in both, reversed, only in the graph, or
            only in the reference.
        labels : sequence, default=None
            Names of the nodes; None takes those that the graphs know.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        NetworkDisplay
            The display, drawn.

        Raises
        ------
        ValueError, TypeError
            For what is no acyclic graph, for weights that are none and a target that is no node.
        ImportError
            Without matplotlib.
        """
        labels = labels_among(labels, graph, *([] if reference is None else [reference]))
        if reference is None:
            edges, kinds = read_graph(graph, labels).edges, None
            edges = [(labels[a], labels[b]) for a, b in edges]
        else:
            found = compare_graphs(graph, reference, labels=labels)
            groups = {name: getattr(found, name) for name in KINDS}
            edges = [edge for group in groups.values() for edge in group]
            kinds = [name for name, group in groups.items() for _ in group]
        return cls(
            labels, edges, target=target, edge_width=edge_width, width_name=width_name, kinds=kinds
        ).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> "NetworkDisplay":
        """Draw on `ax`, or on a new figure of a size that suits the network.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        NetworkDisplay
            This display, with what was drawn as attributes.

        Raises
        ------
        ValueError
            For an edge or a target between names that are no nodes, and for weights that are none.
        ImportError
            Without matplotlib.
        """
        self.picture_ = self._picture()
        width, height = (length + 2 * _MARGIN for length in self.picture_.layout.size)
        new = ax is None
        self.figure_, self.ax_ = figure_and_axes(ax)
        if new:
            shrink = min(1.0, 72 * _WIDEST / width, 72 * _HIGHEST / height)
            figure_width = max(shrink * width / 72, _NARROWEST)
            n_columns = _legend_columns(self.picture_, figure_width)
            rows = -(-len(self.picture_.legend) // n_columns)
            self.figure_.set_size_inches(
                figure_width, shrink * height / 72 + _LEGEND_ROW * rows + 0.1 * (rows > 0)
            )
        else:
            box = self.ax_.get_window_extent()
            points = 72 / self.figure_.dpi
            shrink = min(box.width * points / width, box.height * points / height)
            n_columns = _legend_columns(self.picture_, box.width * points / 72)
        self.ax_.set(xlim=(-_MARGIN, width - _MARGIN), ylim=(height - _MARGIN, -_MARGIN))
        self.ax_.set_aspect("equal")
        self.ax_.axis("off")
        _draw(self.picture_, self.ax_, shrink, n_columns)
        return self

    def _picture(self) -> GraphPicture:
        places = {label: place for place, label in enumerate(self.labels)}
        for label in [*(label for edge in self.edges for label in edge),
                      *([] if self.target is None else [self.target])]:
            if getattr(label, "__hash__", None) is None or label not in places:
                raise ValueError(f"No node is called {brief(label)}. There are "
                                 f"{first_few(self.labels)}.")
        edges = [(places[a], places[b]) for a, b in self.edges]
        weights = None
        if self.edge_width is not None:
            weights = _weights_of(self.edge_width, self.edges, places)
        return picture_of(
            self.labels, edges, target=None if self.target is None else places[self.target],
            kinds=self.kinds, weights=weights, weight_name=self.width_name,
        )


def _pairs(edges: Any) -> list[tuple[Hashable, Hashable]]:
    if not isinstance(edges, Iterable):
        raise TypeError(f"edges must hold (parent, child) pairs of names, got {brief(edges)}.")
    edges = list(edges)
    for edge in edges:
        if not isinstance(edge, Sequence) or isinstance(edge, str) or len(edge) != 2:
            raise ValueError(f"edges must hold (parent, child) pairs of names, got {brief(edge)}.")
    return edges


def _named_widths(name: str, estimator: Any, X: Any, y: Any) -> dict:
    if name == "log_bayes_factor":
        if X is None:
            raise ValueError(
                "edge_width='log_bayes_factor' needs the table: estimators keep no rows. Pass X."
            )
        report = edge_report(estimator, X, y)
        pairs = zip(report["parent"], report["child"], strict=True)
        return dict(zip(pairs, report["log_bayes_factor"].tolist(), strict=True))
    if name == "restarts":
        runs = fitted_within(estimator).restart_edges_
        counts: dict[tuple, float] = {}
        for run in runs:
            for edge in run:
                counts[edge] = counts.get(edge, 0.0) + 1 / len(runs)
        return counts
    raise ValueError(
        "edge_width must be 'log_bayes_factor', 'restarts', a mapping or a matrix, got "
        f"{brief(name)}."
    )


def _weights_of(
    weights: Any, edges: list[tuple[Hashable, Hashable]], places: dict[Hashable, int]
) -> list[float]:
    """The weight of each edge, by names or by places; NaN where it has none."""
    if isinstance(weights, BootstrapEdges):
        index = {label: place for place, label in enumerate(weights.labels)}
        weights = {(a, b): weights.directed[index[a], index[b]] for a, b in edges
                   if a in index and b in index}
    elif hasattr(weights, "columns") and hasattr(weights, "at"):
        rows, columns = set(weights.index), set(weights.columns)
        weights = {(a, b): weights.at[a, b] for a, b in edges if a in rows and b in columns}
    try:
        if isinstance(weights, Mapping):
            return [float(weights.get(edge, np.nan)) for edge in edges]
        matrix = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "edge_width must hold numbers, by (parent, child) names or as a matrix, got "
            f"{brief(weights)}."
        ) from None
    if matrix.shape != (len(places), len(places)):
        raise ValueError(
            f"edge_width must be a mapping from (parent, child) names, or a matrix of shape "
            f"{(len(places), len(places))}, got an array of shape {matrix.shape}."
        )
    return [float(matrix[places[a], places[b]]) for a, b in edges]


def _legend_columns(picture: GraphPicture, width: float) -> int:
    """How many columns of the legend there is room for, in so many inches."""
    longest = max((len(entry.text) for entry in picture.legend), default=1)
    return max(1, min(4, int(width / (_LEGEND_MARK + _LEGEND_LETTER * longest))))


def _draw(picture: GraphPicture, ax: Any, shrink: float, n_columns: int) -> None:
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path

    thin = min(max(shrink, 0.3), 1.5)
    for (curve, head), look in zip(picture.heads(), picture.edges, strict=True):
        codes = [Path.MOVETO] + [Path.CURVE4] * (len(curve) - 1)
        ax.add_patch(PathPatch(
            Path(curve, codes), facecolor="none", edgecolor=look.colour,
            linewidth=thin * look.width, linestyle=_line_style(look), capstyle="butt", zorder=1,
        ))
        ax.add_patch(Polygon(head, facecolor=look.colour, linewidth=0, zorder=2))
    layout = picture.layout
    for (x, y), width, look in zip(layout.centres, layout.widths, picture.nodes, strict=True):
        ax.add_patch(FancyBboxPatch(
            (x - width / 2, y - NODE_HEIGHT / 2), width, NODE_HEIGHT,
            boxstyle="round,pad=0,rounding_size=8", facecolor=look.fill, edgecolor=look.line,
            linewidth=thin, zorder=3,
        ))
    _write(picture, ax)
    if picture.legend:
        ax.legend(
            handles=[_handle(entry) for entry in picture.legend], loc="upper center",
            bbox_to_anchor=(0.5, 0.0), ncols=n_columns, frameon=False, fontsize="small",
        )


def _write(picture: GraphPicture, ax: Any) -> None:
    """The texts, as shapes in the units of the layout: they keep to their nodes at any size."""
    from matplotlib.patches import PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    shapes, boxes = [], []
    for text in picture.texts:
        # A dollar begins no formula here; matplotlib makes no shape of blanks.
        shapes.append(TextPath((0, 0), (text.strip() or "-").replace("$", r"\$"), size=FONT_SIZE))
        boxes.append(shapes[-1].get_extents())
    fits = [
        (width - 8) / max(box.width, 1.0)
        for box, width in zip(boxes, picture.layout.widths, strict=True)
    ]
    scale = min([1.0, *fits])
    places = zip(shapes, boxes, picture.texts, picture.layout.centres, strict=True)
    for shape, box, text, (x, y) in places:
        if text.strip():
            move = Affine2D().translate(-(box.x0 + box.x1) / 2, -0.36 * FONT_SIZE)
            move = move.scale(scale, -scale).translate(x, y)
            ax.add_patch(PathPatch(
                move.transform_path(shape), facecolor="#1b2129", linewidth=0, zorder=4
            ))


def _line_style(look: EdgeLook) -> Any:
    return (0, look.dashes) if look.dashes else "solid"


def _handle(entry: LegendEntry) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    look = entry.look
    if isinstance(look, EdgeLook):
        return Line2D(
            [], [], color=look.colour, linewidth=look.width, linestyle=_line_style(look),
            label=entry.text,
        )
    return Patch(facecolor=look.fill, edgecolor=look.line, label=entry.text)
