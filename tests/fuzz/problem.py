"""Random tables with names, levels and weights, and random graphs over their columns."""

import math

import numpy as np
import pandas as pd
from tables import Dress, draw_codes, draw_weights, spoiled_table, take_rows

from skbn import BayesNetStructureEstimator


def pick(rng, choices):
    """One of a list of anything."""
    return choices[int(rng.integers(len(choices)))]


class Problem:
    """A table with names, levels and weights."""

    def __init__(self, rng, largest_columns=None, largest_rows=None):
        self.flaws = []
        shape = rng.random()
        n_columns = int(rng.integers(1, 7))
        largest = 6
        if shape > 0.985:
            n_columns, largest = int(rng.integers(13, 301)), 3
        elif shape > 0.9:
            n_columns = int(rng.integers(7, 13))
        elif shape > 0.8:
            largest = 300
        n_columns = min(n_columns, largest_columns or n_columns)
        n_rows = int(pick(rng, [1, 2, 3, 8, 20, 20, 60, 60, 200, 500]))
        if shape < 0.03:
            n_rows = int(rng.integers(1000, 5001))
        if n_columns > 12:
            n_rows = min(n_rows, 100)
        n_rows = min(n_rows, largest_rows or n_rows)
        self.codes, self.sizes = draw_codes(rng, n_rows, n_columns, largest)
        self.dress = Dress(rng, self.sizes)
        self.names = self.dress.labels()
        self.X = self.dress.table(self.codes)
        self.weights, flaw = draw_weights(rng, n_rows)
        if flaw and rng.random() < 0.7:
            self.weights, flaw = None, None
        self.flaws += [flaw] if flaw else []
        self.categories = self._categories(rng)
        if rng.random() < 0.08:
            self.X, flaw = spoiled_table(rng, self.codes, self.names)
            if self.weights is not None and "!weights" not in self.flaws:
                # The spoiled cell may be in a row of weight zero.
                cells = ("!inf", "!real", "!mixed", "!truth", "!lists", "!bytes", "!masked")
                flaw = "?" + flaw[1:] if flaw in cells else flaw
            self.flaws.append(flaw)
            # Its levels need not be the table's, nor its names.
            self.flaws.append("?levels")

    @property
    def is_array(self):
        return self.dress.names is None

    @property
    def n_columns(self):
        return len(self.sizes)

    @property
    def n_rows(self):
        return len(self.codes)

    @property
    def whole(self):
        if self.weights is None or "!weights" in self.flaws:
            return True
        weights = np.asarray(self.weights, dtype=float)
        return bool((weights == np.floor(weights)).all())

    @property
    def countable(self):
        """Whether the weights can be counts."""
        return self.whole and (
            self.weights is None or "!weights" in self.flaws
            or float(np.sum(np.asarray(self.weights, dtype=float))) < 2**53
        )

    @property
    def is_less_than_a_row(self):
        """Whether the weights sum to less than 1."""
        return self.weights is not None and "!weights" not in self.flaws and (
            float(np.sum(np.asarray(self.weights, dtype=float))) < 1.0 + 1e-5)

    @property
    def levels_given(self):
        """Names of the columns whose levels are given by hand."""
        if isinstance(self.categories, str):
            return []
        return list(self.categories) if isinstance(self.categories, dict) else (
            self.names[: len(self.categories)])

    def _categories(self, rng):
        how = rng.random()
        if how < 0.75:
            return "auto"
        if how < 0.8:
            self.flaws.append("!categories")
            wrong = ["levels", None, 3, {"no such column": [1]}, [[1]] * (self.n_columns + 1),
                     {self.names[0]: []}, {self.names[0]: 3}, {self.names[0]: [1, 1]},
                     {self.names[0]: [None, *self.dress.pools[0]]},
                     {self.names[0]: [*self.dress.pools[0], math.inf]}]
            return pick(rng, wrong)
        entries = {}
        for name, pool, style in zip(
            self.names, self.dress.pools, self.dress.styles, strict=True
        ):
            levels = [pool[k] for k in rng.permutation(len(pool))]
            if "enum" in style or "dictionary" in style:
                levels = list(map(str, levels))
            entries[name] = levels
        if how < 0.83:
            seen = np.unique(self.codes[:, 0])
            levels = entries[self.names[0]]
            entries[self.names[0]] = levels[:-1] or levels
            self.flaws.append("?levels")
            del seen
        if how < 0.92:
            return entries
        return [entries[name] for name in self.names]

    def permuted(self, rng):
        """The same rows in another order."""
        order = rng.permutation(self.n_rows).tolist()
        weights = None if self.weights is None else np.asarray(self.weights, dtype=float)[order]
        return take_rows(self.X, order), weights, order

    def __str__(self):
        return (f"{self.dress.family} {self.n_rows} x {self.n_columns}, styles "
                f"{self.dress.styles[:8]}, kinds {self.dress.kinds[:8]}, sizes {self.sizes[:12]}, "
                f"weights {type(self.weights).__name__} {np.asarray(self.weights).ravel()[:5]}, "
                f"categories {str(self.categories)[:200]}")


def draw_edges(rng, names, probability):
    """Edges of a random DAG."""
    order = rng.permutation(len(names))
    return [(names[order[i]], names[order[j]]) for i in range(len(names))
            for j in range(i + 1, len(names)) if rng.random() < probability]


def draw_graph(rng, names, flaws):
    """A graph in one of its forms, or something that is none."""
    edges = draw_edges(rng, names, pick(rng, [0.1, 0.5, 1.0]) if len(names) < 10 else 0.05)
    form = rng.random()
    if form < 0.1:
        flaws.append("!graph")
        a = names[0]
        return pick(rng, [None, 5, "graph", [(a, a)], [(a, "no such column")], [a], [(a,)],
                          np.zeros((2, 5)), np.full((len(names), len(names)), 0.5),
                          BayesNetStructureEstimator()])
    matrix = np.zeros((len(names), len(names)), dtype=pick(rng, [bool, int, float]))
    for a, b in edges:
        matrix[names.index(a), names.index(b)] = 1
    if form < 0.3:
        return matrix
    if form < 0.4:
        place = rng.permutation(len(names))
        labels = pd.Index([names[k] for k in place], tupleize_cols=False)
        return pd.DataFrame(matrix[np.ix_(place, place)], index=labels, columns=labels)
    if form < 0.5 and not any(isinstance(name, tuple) for name in names):
        import networkx as nx

        return nx.DiGraph(edges)
    return edges


def edges_of(graph, names):
    """The edges of a graph in any of its forms."""
    if isinstance(graph, np.ndarray):
        return [(names[a], names[b]) for a, b in np.argwhere(graph)]
    if isinstance(graph, pd.DataFrame):
        labels = list(graph.columns)
        return [(labels[a], labels[b]) for a, b in np.argwhere(graph.to_numpy())]
    if hasattr(graph, "edges"):
        return list(graph.edges)
    return list(graph)
