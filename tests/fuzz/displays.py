"""Calls of the displays: what is drawn has every node, edge and value, at finite places."""

import io
import itertools
import math
import os

import numpy as np
import pandas as pd
from checks import require
from graphs import NAMES
from problem import draw_edges, pick
from sklearn.linear_model import LogisticRegression

from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    BootstrapEdges,
    EdgePosteriorDisplay,
    ESSCurveDisplay,
    ESSPathDisplay,
    ESSSearchCV,
    NetworkDisplay,
    edge_posteriors,
    ess_path,
)

# No windows, whatever the machine has.
os.environ["MPLBACKEND"] = "Agg"
AXES = [3, "ax", object(), [1]]


class Canvas:
    """Where a display may draw: a new figure, axes of one, or something that is none."""

    def __init__(self, rng, flaws):
        self.how = pick(rng, ["new", "axes", "none given"])
        if rng.random() < 0.05:
            self.how = pick(rng, AXES)
            flaws.append("!ax")

    def options(self):
        from matplotlib.figure import Figure

        if self.how == "none given":
            return {}
        if self.how == "new":
            return {"ax": None}
        return {"ax": Figure().add_subplot() if self.how == "axes" else self.how}


def finish(display, rng):
    """Draw it now and then, and forget the figure."""
    from matplotlib import pyplot as plt

    require(display.ax_.figure is display.figure_, "figure_")
    if rng.random() < 0.1:
        file = io.BytesIO()
        display.figure_.savefig(file, format="png", dpi=40)
        require(file.getvalue().startswith(b"\x89PNG"), "no picture")
    plt.close("all")


def small_table(rng):
    n = int(rng.integers(1, 5))
    X = rng.integers(0, 3, (int(rng.integers(6, 40)), n))
    if n > 1:
        X[2:, 1] = X[2:, 0]
    return X


class NetworkDisplayCall:
    """`NetworkDisplay` by its constructor, `from_graph` and `from_estimator`."""

    name = "NetworkDisplay"

    def __init__(self, rng):
        self.flaws = []
        self.way = pick(rng, ["constructor", "from_graph", "from_graph", "from_estimator"])
        self.canvas = Canvas(rng, self.flaws)
        n = int(rng.integers(1, 11)) if rng.random() < 0.9 else int(rng.integers(40, 300))
        names = pick(rng, NAMES) if n <= 10 else [f"{k}$_long <name> {k}" for k in range(n)]
        self.X = self.y = None
        self.options = {}
        if self.way == "from_estimator":
            self._fit(rng)
        else:
            self.names = list(names[:n])
            density = pick(rng, [0.0, 0.3, 1.0]) if n <= 10 else 1.5 / n
            self.edges = draw_edges(rng, self.names, density)
        self._draw_options(rng)
        if rng.random() < 0.12:
            self._spoil(rng)

    def _fit(self, rng):
        self.X = small_table(rng)
        kind = pick(rng, [BayesNetStructureEstimator, BayesNetClassifier])
        self.estimator = kind(random_state=0, n_restarts=2)
        if kind is BayesNetClassifier:
            self.y = rng.integers(0, 2, len(self.X))
        self.estimator.fit(self.X, self.y)
        self.names = list(self.estimator.network_.labels)
        self.edges = list(self.estimator.edges_)

    def _draw_options(self, rng):
        names, options = self.names, self.options
        n = len(names)
        if rng.random() < 0.4:
            options["target"] = names[int(rng.integers(n))]
        weights = rng.choice([0.0, 0.5, 1.0, -1.0, 30.0, 1e300, np.nan, np.inf], (n, n))
        if rng.random() < 0.5:
            index = pd.Index(names, tupleize_cols=False, dtype=object)
            options["edge_width"] = pick(rng, [
                weights, weights.tolist(), {e: 0.5 for e in self.edges[1:]}, {}, None,
                pd.DataFrame(weights, index=index, columns=index),
                pd.DataFrame(weights[1:, 1:], index=index[1:], columns=index[1:]),
                BootstrapEdges(names, 3, np.abs(np.nan_to_num(weights)), weights),
            ])
        if self.way == "from_estimator":
            if rng.random() < 0.4:
                options["edge_width"] = pick(rng, ["log_bayes_factor", "restarts"])
        elif rng.random() < 0.3:
            options["width_name"] = pick(rng, ["share", "", "$"])
        self.kinds = None
        if self.way == "constructor" and rng.random() < 0.4:
            options["kinds"] = self.kinds = [
                pick(rng, ["kept", "reversed", "extra", "missing"]) for _ in self.edges]
        self.reference = None
        if self.way != "constructor" and rng.random() < 0.4 and n <= 10:
            self.reference = options["reference"] = draw_edges(rng, names, 0.4)
        if self.way == "from_graph":
            self.labels = dict.fromkeys(itertools.chain(*self.edges, *(self.reference or [])))
            if rng.random() < 0.5 or options.keys() & {"target", "edge_width"} or not self.edges:
                options["labels"] = self.labels = names
        else:
            self.labels = names

    def _spoil(self, rng):
        choices = {
            "target": ["no such node", 99, ("a", 99), b"x"],
            "edge_width": ["width", np.ones((1, 9)), 3, object(), {self.edges[0]: "wide"}
                           if self.edges else "wide", np.full((len(self.names),) * 2, "w")],
        }
        if self.way == "constructor":
            choices["kinds"] = [["right"] * max(len(self.edges), 1), 3, "kept", object()]
            choices["edges"] = [[("p", "q")], [1], [("a",)], 3, None, [[[1], [2]]]]
            choices["labels"] = [3, None, ["a", "a"], [[1]]]
        else:
            choices["reference"] = [3, [("p", "p")], object(), [1], "graph"]
        if self.way == "from_graph":
            choices["labels"] = [3, ["a", "a", "b"], object(), [[1]]]
            choices["graph"] = [None, 3, object(), [("a", "a")], [1], BayesNetStructureEstimator()]
        if self.way == "from_estimator":
            choices["estimator"] = [None, 3, BayesNetStructureEstimator(), LogisticRegression(),
                                    BayesNetStructureEstimator]
        name = pick(rng, list(choices))
        self.spoiled = name, pick(rng, choices[name])
        flaw = "!" + name
        if name == "edge_width" and isinstance(self.spoiled[1], dict) and self.reference:
            # An edge that is only in the reference has no weight.
            flaw = "?" + name
        self.flaws.append(flaw)

    def run(self):
        options = {**self.options, **self.canvas.options()}
        name, value = getattr(self, "spoiled", (None, None))
        if name in ("target", "edge_width", "reference") or (
            name == "kinds" or (name == "labels" and self.way == "from_graph")
        ):
            options[name] = value
        if self.way == "from_graph":
            graph = value if name == "graph" else self.edges
            self.result = NetworkDisplay.from_graph(graph, **options)
        elif self.way == "from_estimator":
            estimator = value if name == "estimator" else self.estimator
            self.result = NetworkDisplay.from_estimator(estimator, self.X, self.y, **options)
        else:
            axes = {"ax": options.pop("ax")} if "ax" in options else {}
            labels = value if name == "labels" else self.names
            edges = value if name == "edges" else self.edges
            self.result = NetworkDisplay(labels, edges, **options).plot(**axes)

    def check(self, rng):
        picture = self.result.picture_
        layout = picture.layout
        require(list(self.result.labels) == list(self.labels), "labels", self.result.labels)
        n = len(self.labels)
        require(len(picture.nodes) == len(layout.centres) == n, "nodes")
        drawn = {frozenset(edge) for edge in [*self.edges, *(self.reference or [])]}
        require({frozenset(edge) for edge in self.result.edges} == drawn, self.result.edges)
        require(len(picture.edges) == len(layout.curves) == len(drawn), "edges")
        require(np.isfinite(np.asarray(layout.centres, dtype=float)).all(), "centres")
        require(all(np.isfinite(curve).all() for curve in layout.curves), "curves")
        require(all(math.isfinite(look.width) and look.width > 0 for look in picture.edges),
                "widths", picture.edges)
        boxes = sorted(zip((round(float(y), 6) for _, y in layout.centres),
                           (float(x) for x, _ in layout.centres), layout.widths, strict=True))
        for (y, x, width), (below, right, other) in itertools.pairwise(boxes):
            require(y != below or right - x >= (width + other) / 2 - 1e-6, "nodes overlap")
        heads = [patch for patch in self.result.ax_.patches if type(patch).__name__ == "Polygon"]
        require(len(heads) == len(drawn), "heads", len(heads))
        finish(self.result, rng)

    def __str__(self):
        return (f"NetworkDisplay {self.way} flaws {self.flaws} ax {self.canvas.how!r} "
                f"{str(self.options)[:1500]} spoiled {getattr(self, 'spoiled', None)!r}\n"
                f"names {self.names[:20]!r} edges {self.edges[:50]!r}")


class CurveDisplayCall:
    """The other displays, of results that were just made."""

    def __init__(self, rng):
        self.flaws = []
        self.canvas = Canvas(rng, self.flaws)
        self.name = pick(rng, ["ESSCurveDisplay", "ESSPathDisplay", "EdgePosteriorDisplay"])
        self.X = small_table(rng)
        self.grid = sorted(pick(rng, [[1.0], [0.5, 5.0, 50.0], [1e-3, 1e3]]))
        self.options = {}
        self.way = pick(rng, ["from", "constructor"])
        getattr(self, "_draw_" + self.name)(rng)

    def _draw_ESSCurveDisplay(self, rng):
        kind = BayesNetClassifier if rng.random() < 0.3 else BayesNetStructureEstimator
        self.y = rng.integers(0, 2, len(self.X)) if kind is BayesNetClassifier else None
        self.source = ESSSearchCV(kind(max_iter=2), self.grid, cv=2)
        unfitted = rng.random() < 0.1
        if unfitted:
            self.flaws.append("!search")
            self.source = pick(rng, [self.source, None, 3, LogisticRegression(), kind()])
        elif self.way == "from":
            try:
                self.source.fit(self.X, self.y)
            except ValueError:
                self.way = "constructor"
        if unfitted:
            self.way = "from"
        self.arguments = (np.array(self.grid), np.array(self.grid) * -1.0,
                          np.ones(len(self.grid)), {"best": 1.0, "Eq. 18": math.nan})

    def _draw_ESSPathDisplay(self, rng):
        self.all_graphs = bool(rng.random() < 0.5)
        self.source = ess_path(self.X, self.grid, all_graphs=self.all_graphs)
        if rng.random() < 0.1:
            self.flaws.append("!path")
            self.way, self.source = "from", pick(rng, [None, 3, "path", object()])
        path = self.source
        if self.way == "constructor":
            self.arguments = (path.ess.tolist(), path.n_edges.tolist(), path.scores.tolist(),
                              path.map_interval, path.map_ess, len(path.labels))

    def _draw_EdgePosteriorDisplay(self, rng):
        self.source = edge_posteriors(self.X)
        self.way = pick(rng, ["from", "constructor", "estimator"])
        if rng.random() < 0.4:
            self.options["cmap"] = pick(rng, ["viridis", "Greys"])
        if rng.random() < 0.4:
            self.options["numbers"] = pick(rng, ["auto", True, False])
        if rng.random() < 0.4:
            self.options["colorbar"] = pick(rng, [True, False])
        if self.way == "estimator":
            self.source = BayesNetAverager(n_graphs=3, random_state=0).fit(self.X)
        self.arguments = (getattr(self.source, "edges", None), getattr(self.source, "labels", None))
        if rng.random() < 0.15:
            name, values = pick(rng, [
                ("source", [None, 3, object(), BayesNetAverager()]),
                ("numbers", ["some", 3, None]), ("cmap", ["no such map", 3]),
            ])
            if name == "source":
                self.source = pick(rng, values)
                self.way = "estimator" if isinstance(
                    self.source, BayesNetAverager) else pick(rng, ["from", "estimator"])
            else:
                self.options[name] = pick(rng, values)
            self.flaws.append("!" + name)

    def run(self):
        options = {**self.options, **self.canvas.options()}
        if self.name == "EdgePosteriorDisplay":
            kind = EdgePosteriorDisplay
            if self.way == "from":
                self.result = kind.from_posterior(self.source, **options)
            elif self.way == "estimator":
                self.result = kind.from_estimator(self.source, **options)
            else:
                self.result = kind(*self.arguments).plot(**options)
        elif self.way == "constructor":
            kind = ESSCurveDisplay if self.name == "ESSCurveDisplay" else ESSPathDisplay
            self.result = kind(*self.arguments).plot(**options)
        elif self.name == "ESSCurveDisplay":
            self.result = ESSCurveDisplay.from_estimator(self.source, **options)
        else:
            self.result = ESSPathDisplay.from_path(self.source, **options)

    def check(self, rng):
        display = self.result
        if self.name == "EdgePosteriorDisplay":
            n = len(display.labels)
            require(display.image_.get_array().shape == (n, n), "cells")
            require(len(display.ax_.get_xticks()) == n, "ticks")
            numbers = self.options.get("numbers", "auto")
            require(len(display.texts_) == n * (n - 1) * bool(numbers), "numbers")
            require((display.colorbar_ is not None) == self.options.get("colorbar", True), "scale")
        elif self.name == "ESSPathDisplay":
            lines = display.ax_.lines
            require(lines[0].get_xdata().tolist() == self.grid, "grid", lines[0].get_xdata())
            require(lines[0].get_ydata().tolist() == self.source.n_edges.tolist(), "edges")
            shown = 1 + (self.all_graphs and self.way == "from")
            require(len(display.score_ax_.lines) == shown, "lines of scores")
        else:
            require(display.line_.get_xdata().tolist() == self.grid, "grid")
            require(len(display.marks_) == len(display.marks), "marks")
            if self.way == "from":
                mean = self.source.cv_results_["mean_test_score"]
                require(np.array_equal(np.abs(display.line_.get_ydata()), np.abs(mean),
                                       equal_nan=True), "means")
        finish(display, rng)

    def __str__(self):
        return (f"{self.name} {self.way} flaws {self.flaws} ax {self.canvas.how!r} {self.options} "
                f"grid {self.grid} source {self.source!r}\n{self.X.tolist()}")
