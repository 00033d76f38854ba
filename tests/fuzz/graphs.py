"""Calls of what takes graphs alone: comparisons, distances, `full_graph`."""

import functools
import itertools
import math

import numpy as np
import pandas as pd
from checks import all_parent_sets, require
from problem import draw_edges, edges_of, pick

from skbn import BayesNetStructureEstimator, compare_graphs, full_graph, structural_hamming_distance

NAMES = [list("abcdefghij"), list(range(10)), [("a", k) for k in range(10)],
         ["x", 1, None, 2.5, ("t",), "1", False, b"b", "", "z"]]


def essential_by_hand(parents):
    """The class of a graph by its definition: same skeleton and same unshielded colliders."""
    return _classes(len(parents))[_signature(parents)]


def _signature(parents):
    joined = {frozenset((p, c)) for c, given in enumerate(parents) for p in given}
    colliders = {(frozenset(pair), c) for c, given in enumerate(parents)
                 for pair in itertools.combinations(given, 2) if frozenset(pair) not in joined}
    return frozenset(joined), frozenset(colliders)


@functools.lru_cache
def _classes(n):
    found = {}
    for parents in all_parent_sets(n):
        matrix = found.setdefault(_signature(parents), np.zeros((n, n), dtype=bool))
        for child, given in enumerate(parents):
            matrix[list(given), child] = True
    return found


class ComparisonCall:
    """`compare_graphs`, `structural_hamming_distance` and `full_graph`."""

    def __init__(self, rng):
        self.flaws = []
        self.name = pick(rng, ["compare_graphs", "structural_hamming_distance", "full_graph"])
        self.names = pick(rng, NAMES)[: int(rng.integers(1, 11 if rng.random() < 0.3 else 5))]
        self.labels = None
        if rng.random() < 0.6:
            order = rng.permutation(len(self.names))
            self.labels = pick(rng, [list, tuple])([self.names[k] for k in order])
        self.graphs, self.edges = [], []
        for _ in range(2):
            self._draw(rng)
        if rng.random() < 0.04 and self.name != "full_graph":
            self.flaws.append("!labels")
            self.labels = pick(rng, [3, [*self.names, "more", "more"], [[1], [2]], 1.5,
                                     [{}], object()])
        self.cpdag = bool(rng.random() < 0.5)
        self.order = pick(rng, [list, tuple, iter])(self.names)
        if self.name == "full_graph":
            self.flaws.clear()
            if rng.random() < 0.2:
                self.order = pick(
                    rng, [3, None, 1.5, object(), ["a", "b", "a"], [["a"], "b"], ["a", {}]])
                self.flaws.append("!order")

    def _draw(self, rng):
        names = self.names
        edges = draw_edges(rng, names, pick(rng, [0.0, 0.3, 1.0]))
        self.edges.append(edges)
        matrix = np.zeros((len(names), len(names)), dtype=pick(rng, [bool, int, float]))
        place = {label: k for k, label in enumerate(self.labels or names)}
        for a, b in edges:
            matrix[place[a], place[b]] = 1
        form = pick(rng, ["edges", "set", "matrix", "frame", "networkx", "network", "wrong"])
        if form == "wrong" and rng.random() < 0.5:
            form = "edges"
        if form == "matrix" and (self.labels is None):
            form = "edges"
        if form == "wrong":
            self.flaws.append("!graph")
            self.graphs.append(pick(rng, [
                None, 3, [names[:1]], [(names[0], names[0])], object(), [3], np.eye(2), 1.5,
                BayesNetStructureEstimator(), np.ones((2, 3)), np.array(1),
                [("p", "q"), ("q", "p")], [("p", "q", "r")], [{1, 2}], "graph", b"ab",
            ]))
            return
        labels = list(self.labels or names)
        if form in ("matrix", "edges", "set"):
            self.graphs.append({"matrix": matrix, "edges": edges, "set": set(edges)}[form])
        elif form == "frame":
            index = pd.Index(labels, tupleize_cols=False, dtype=object)
            self.graphs.append(pd.DataFrame(matrix, index=index, columns=index))
        else:
            import networkx as nx

            # None is no node to networkx, and 1 and True are one.
            if None in names:
                self.graphs.append(edges)
                return
            graph = nx.DiGraph()
            graph.add_nodes_from(names if form == "network" else [])
            graph.add_edges_from(edges)
            self.graphs.append(graph)

    def run(self):
        if self.name == "compare_graphs":
            self.result = compare_graphs(*self.graphs, labels=self.labels)
        elif self.name == "full_graph":
            self.result = full_graph(self.order)
        else:
            self.result = structural_hamming_distance(
                *self.graphs, cpdag=self.cpdag, labels=self.labels)

    def check(self, rng):
        if self.name == "full_graph":
            require(self.result == list(itertools.combinations(self.names, 2)), self.result)
            return
        ours, theirs = map(set, self.edges)
        back = {(b, a) for a, b in theirs}
        distance = len({frozenset(pair) for pair in ours ^ theirs})
        if self.name == "structural_hamming_distance":
            other = structural_hamming_distance(
                *self.graphs[::-1], cpdag=self.cpdag, labels=self.labels)
            require(other == self.result, "the distance is not symmetric", other, self.result)
            for edges in self.edges:
                require(structural_hamming_distance(edges, edges, cpdag=self.cpdag) == 0, "itself")
            if not self.cpdag:
                require(self.result == distance, "distance", self.result, "by hand", distance)
            elif len(self.names) <= 4:
                require(self.result == self._class_distance(), "distance of classes", self.result)
            return
        found = self.result
        require(set(found.kept) == ours & theirs, "kept", found)
        require(set(found.reversed) == ours & back, "reversed", found)
        require(set(found.extra) == ours - theirs - back, "extra", found)
        require(set(found.missing) == {e for e in theirs - ours if e[::-1] not in ours}, "missing")
        require(found.shd == distance, "shd", found.shd, distance)
        if len(self.names) <= 4:
            require(found.cpdag_shd == self._class_distance(), "cpdag_shd", found.cpdag_shd)
        for view, right in (("directed", len(ours & theirs)),
                            ("skeleton", len(ours & theirs) + len(ours & back))):
            agreement = getattr(found, view)
            require(tuple(agreement) == (right, len(ours), len(theirs)), view, agreement)
            for part, whole in (("precision", len(ours)), ("recall", len(theirs))):
                share = getattr(agreement, part)
                require(share == right / whole if whole else math.isnan(share), part, share)
        require(len(found.to_dict()["edges"]) == 3 and str(found), "to_dict")

    def _class_distance(self):
        matrices = []
        for edges in self.edges:
            parents = [tuple(sorted(self.names.index(a) for a, b in edges if b == c))
                       for c in self.names]
            matrices.append(essential_by_hand(parents))
        different = matrices[0] != matrices[1]
        return int(np.triu(different | different.T).sum())

    def __str__(self):
        shown = [edges_of(graph, self.names) if isinstance(graph, pd.DataFrame) else graph
                 for graph in self.graphs]
        return (f"{self.name} flaws {self.flaws} labels {self.labels!r} names {self.names!r} "
                f"cpdag {self.cpdag} order {self.order!r}\n{shown!r}\n{self.edges!r}")
