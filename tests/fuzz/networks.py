"""Random networks with their whole joint distribution, zeros included."""

import datetime
import itertools
import math

import numpy as np
from problem import pick

from skbn.inference.conditional_table import ConditionalTable
from skbn.networks.network import BayesianNetwork

NAMES = [
    [f"v{k}" for k in range(40)],
    list(range(7, 47)),
    [("a", k) for k in range(40)],
    ["", "a", "A", "a b", "ä", "x\"y", "b\n", "<i>", "{", "|", "//", "1", "$x$", "e0", "network"],
]
STATES = [
    ["no", "yes", "s2", "s3", "s4"], list(range(5)), [-3, 0, 7, 8, 9], [0.5, 1.5, 2.5, 3.5, 4.5],
    ["", "a b", "A", "a", "ä;"], ["<5", "5", "(>5)", "nan", "table"],
    [datetime.date(2020, 1, 1 + k) for k in range(5)],
]
# Values of several types in one column.
MIXED = [1, "1", "None", 2.5]


class KnownNetwork:
    """A network and what it must say, from arrays that the package never sees.

    Attributes
    ----------
    network : BayesianNetwork
    labels, states : list
        Names of the columns, and a list of names for each.
    parents : list of tuple of int
    dense : list of ndarray
        Of each column, an axis per parent and then its own.
    joint : ndarray or None
        An axis per column; None where there are too many.
    """

    def __init__(self, rng, *, most=6, plain=False):
        n = int(rng.integers(1, most + 1))
        large = not plain and rng.random() < 0.1
        if large:
            n = int(rng.integers(most + 1, 15))
        order = rng.permutation(n).tolist()
        self.labels = list(pick(rng, NAMES[:1] if plain else NAMES)[:n])
        self.sizes = [int(r) for r in rng.integers(1, 5, n)]
        self.states = []
        for r in self.sizes:
            kind = MIXED if not plain and rng.random() < 0.1 else pick(
                rng, STATES[:1] if plain else STATES)
            self.states.append(list(kind[:r]))
            if not plain and rng.random() < 0.05:
                # A level for missing cells is the last one.
                self.states[-1][-1] = None
        self.parents = [()] * n
        for place, child in enumerate(order):
            k = int(min(place, rng.integers(0, 4)))
            given = rng.choice(order[:place], k, replace=False) if k else []
            self.parents[child] = tuple(sorted(int(p) for p in given))
        self.dense = [self._numbers(rng, child) for child in range(n)]
        # A configuration without a row is uniform.
        tables = []
        for child, table in enumerate(self.dense):
            given = [self.sizes[p] for p in self.parents[child]]
            rows = np.array(list(itertools.product(*map(range, given))), dtype=np.uint8)
            rows = rows.reshape(math.prod(given), len(given))
            kept = np.ones(len(rows), dtype=bool)
            if given and rng.random() < 0.3:
                kept = rng.random(len(rows)) < 0.7
                kept[int(rng.integers(len(rows)))] = True
                table.reshape(len(rows), -1)[~kept] = 1 / self.sizes[child]
            with np.errstate(divide="ignore"):
                logs = np.log(table.reshape(len(rows), -1)[kept])
            tables.append(ConditionalTable.from_rows(
                child, self.parents[child], self.sizes[child], tuple(given),
                np.ascontiguousarray(rows[kept]), logs))
        self.tables = tables
        self.network = BayesianNetwork(self.labels, [self._levels(s) for s in self.states], tables)
        self.joint = self._possible = None
        if math.prod(self.sizes) <= 20_000:
            self.joint, self._possible = np.ones(self.sizes), np.ones(self.sizes, dtype=bool)
            for child, table in enumerate(self.dense):
                axes = [*self.parents[child], child]
                shape = [self.sizes[j] if j in axes else 1 for j in range(n)]
                factor = np.transpose(table, np.argsort(axes)).reshape(shape)
                self.joint, self._possible = self.joint * factor, self._possible & (factor > 0)

    @property
    def n(self):
        return len(self.labels)

    @property
    def edges(self):
        """By index."""
        return [(p, c) for c, given in enumerate(self.parents) for p in given]

    @property
    def is_writable(self):
        """Whether all names are of types that files hold."""
        names = [*self.labels, *itertools.chain(*self.states)]
        return all(isinstance(name, (str, int, float, type(None))) for name in names)

    def _numbers(self, rng, child):
        shape = [*(self.sizes[p] for p in self.parents[child]), self.sizes[child]]
        weights = rng.gamma(pick(rng, [0.2, 1.0, 5.0]), size=shape) + 1e-12
        if rng.random() < 0.5:
            weights[rng.random(shape) < 0.4] = 0.0
        if rng.random() < 0.1:
            weights[rng.random(shape) < 0.3] = 1e-200
        none = weights.sum(axis=-1) == 0
        weights[none, int(rng.integers(shape[-1]))] = 1.0
        return weights / weights.sum(axis=-1, keepdims=True)

    @staticmethod
    def _levels(states):
        kinds = {type(state) for state in states}
        if kinds <= {int} or kinds <= {float}:
            return np.array(states)
        levels = np.empty(len(states), dtype=object)
        levels[:] = states
        return levels

    def probability(self, codes):
        """P(codes), summed over the columns whose code is -1."""
        return float(self.joint[tuple(
            slice(None) if code < 0 else code for code in codes)].sum())

    def is_possible(self, codes):
        """Whether P(codes) > 0, however small."""
        return bool(self._possible[tuple(
            slice(None) if code < 0 else code for code in codes)].any())

    def draw_codes(self, rng, gaps):
        """A row of codes, with gaps."""
        return [-1 if rng.random() < gaps else int(rng.integers(r)) for r in self.sizes]

    def __contains__(self, kind):
        """Whether some column has "dates", or is "mixed", of several types."""
        if kind == "dates":
            return any(isinstance(states[0], datetime.date) for states in self.states)
        return any(len({type(state) for state in states if state is not None}) > 1
                   for states in self.states)

    def __str__(self):
        parts = [f"{label!r}: states {states!r} parents {given} {table.tolist()}"
                 for label, states, given, table in zip(
                     self.labels, self.states, self.parents, self.dense, strict=True)]
        return "\n".join(parts)[:3000]
