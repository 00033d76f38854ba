"""Slow, obvious twins of the searches: dictionaries, whole graphs, every move scored anew.

A graph is a frozenset of (parent, child) pairs, a move a triple (kind, parent, child).
"""

import itertools
import math
from collections import defaultdict

import numpy as np
from scipy.special import gammaln

TIE = 1e-9
FORBIDDEN = -1e300


class PlainScorer:
    """Scores of graphs, from a dictionary of counts per family and the formulas as written."""

    def __init__(self, codes, cardinalities, score="bdeu", ess=1.0, weights=None, log_prior=None):
        self.rows = np.asarray(codes).T.tolist()
        self.cardinalities = [int(r) for r in cardinalities]
        self.score = score
        self.ess = ess
        self.weights = np.ones(len(self.rows)) if weights is None else np.asarray(weights, float)
        self.log_prior = log_prior
        self.known = {}

    def local(self, child, parents):
        parents = tuple(sorted(parents))
        if (child, parents) not in self.known:
            value = self._local(child, parents)
            if self.log_prior is not None:
                value += self.log_prior(child, parents)
            self.known[child, parents] = value
        return self.known[child, parents]

    def _local(self, child, parents):
        cells, configurations = defaultdict(float), defaultdict(float)
        for row, weight in zip(self.rows, self.weights, strict=True):
            configuration = tuple(row[p] for p in parents)
            cells[configuration, row[child]] += weight
            configurations[configuration] += weight
        r = self.cardinalities[child]
        q = math.prod(self.cardinalities[p] for p in parents)
        n_cells = np.array([*cells.values()])
        n_configurations = np.array([*configurations.values()])
        if self.score in ("bdeu", "k2"):
            alpha = self.ess / (r * q) if self.score == "bdeu" else 1.0
            return float(
                np.sum(gammaln(n_cells + alpha) - gammaln(alpha))
                - np.sum(gammaln(n_configurations + r * alpha) - gammaln(r * alpha))
            )
        value = float(
            np.sum(n_cells * np.log(n_cells)) - np.sum(n_configurations * np.log(n_configurations))
        )
        n_parameters = float((r - 1) * q)
        if self.score == "aic":
            return value - n_parameters
        if self.score in ("bic", "mdl"):
            value -= 0.5 * math.log(self.weights.sum()) * n_parameters
        if self.score == "mdl":
            n = len(self.cardinalities)
            value -= math.log(n) + math.log(math.comb(n, len(parents)))
        return value

    def total(self, graph):
        """The score of a whole graph; a forbidden family counts as an enormous loss."""
        return math.fsum(
            max(self.local(child, parents_of(graph, child)), FORBIDDEN)
            for child in range(len(self.cardinalities))
        )


def parents_of(graph, child):
    return [a for a, b in graph if b == child]


def graph_of(parents):
    return frozenset((a, b) for b, given in enumerate(parents) for a in given)


def is_acyclic(graph):
    graph = set(graph)
    while graph:
        heads = {b for _, b in graph}
        kept = {(a, b) for a, b in graph if a in heads}
        if len(kept) == len(graph):
            return False
        graph = kept
    return True


def changed(graph, move):
    kind, a, b = move
    if kind == "add":
        return graph | {(a, b)}
    return (graph - {(a, b)}) | ({(b, a)} if kind == "reverse" else set())


def keeps(graph, constraints):
    """Whether a graph has all required edges, only allowed ones, and no crowded child."""
    n = len(constraints.required)
    return (
        all((int(a), int(b)) in graph for a, b in np.argwhere(constraints.required))
        and all(constraints.allowed[a, b] for a, b in graph)
        and all(len(parents_of(graph, b)) <= constraints.max_parents for b in range(n))
    )


def valid_moves(graph, constraints):
    """Every move to another acyclic graph that keeps the constraints, found by trying all."""
    n = len(constraints.required)
    moves = []
    for a, b in itertools.permutations(range(n), 2):
        kinds = ("delete", "reverse") if (a, b) in graph else ("add",)
        moves += [(kind, a, b) for kind in kinds]
    return [
        move
        for move in moves
        if is_acyclic(changed(graph, move)) and keeps(changed(graph, move), constraints)
    ]


def move_gains(scorer, graph, constraints):
    now = scorer.total(graph)
    return {
        move: scorer.total(changed(graph, move)) - now for move in valid_moves(graph, constraints)
    }


def is_local_optimum(scorer, graph, constraints):
    gains = move_gains(scorer, graph, constraints).values()
    return max(gains, default=0.0) <= 2 * TIE * abs(scorer.total(graph))


def best_moves(scorer, graph, constraints):
    """The moves that tie for the best, if they improve the score."""
    gains = move_gains(scorer, graph, constraints)
    noise = TIE * abs(scorer.total(graph))
    best = max(gains.values(), default=0.0)
    return [m for m, gain in gains.items() if gain >= best - noise] if best > noise else []


def improving_moves(scorer, graph, constraints):
    gains = move_gains(scorer, graph, constraints)
    noise = TIE * abs(scorer.total(graph))
    return [move for move, gain in gains.items() if gain > noise]


def outcomes(choices, start):
    """The exact distribution of where a climb ends that draws uniformly among choices(graph).

    Every move must lead to a graph that no later move leads back from.
    """
    known = {}

    def ends(graph):
        if graph not in known:
            moves = choices(graph)
            known[graph] = {} if moves else {graph: 1.0}
            for move in moves:
                for end, p in ends(changed(graph, move)).items():
                    known[graph][end] = known[graph].get(end, 0.0) + p / len(moves)
        return known[graph]

    return ends(frozenset(start))


def random_graphs(constraints):
    """The exact distribution of the graphs that the rejection procedure for random starts makes.

    Rejecting pairs until one is valid draws uniformly among the valid ones.
    """
    n = len(constraints.required)
    required = frozenset((int(a), int(b)) for a, b in np.argwhere(constraints.required))
    return outcomes(
        lambda graph: [
            move for move in valid_moves(graph, constraints) if move[0] == "add"
        ] if len(graph) < n else [],
        required,
    )


def grow_and_shrink(scorer, child, permitted, constraints):
    """Parents of a child among the permitted ones: the best addition while one helps, then the
    best removal while one helps."""
    required = {a for a in range(len(constraints.required)) if constraints.required[a, child]}
    parents = set(required)

    def improvement(candidates, change):
        now = scorer.local(child, parents)
        scored = [(scorer.local(child, change(parents, c)), c) for c in candidates]
        better = [(s, c) for s, c in scored if s > now + TIE * abs(now)]
        return max(better, key=lambda pair: pair[0])[1] if better else None

    while len(parents) < constraints.max_parents:
        open_to = [c for c in permitted if c not in parents and constraints.allowed[c, child]]
        best = improvement(open_to, lambda given, c: given | {c})
        if best is None:
            break
        parents.add(best)
    while True:
        worst = improvement(sorted(parents - required), lambda given, c: given - {c})
        if worst is None:
            return parents
        parents.remove(worst)


def order_total(scorer, order, constraints):
    """The score of an order: the sum over variables of grown-and-shrunk parents before each."""
    return math.fsum(
        scorer.local(child, grow_and_shrink(scorer, child, order[:place], constraints))
        for place, child in enumerate(order)
    )


def orders_one_move_away(order, constraints):
    """All orders with one variable elsewhere in which required parents still come first."""
    for here, there in itertools.permutations(range(len(order)), 2):
        moved = [*order[:here], *order[here + 1 :]]
        moved.insert(there, order[here])
        if fits(moved, constraints):
            yield moved


def fits(order, constraints):
    """Whether every required parent precedes its child."""
    place = {variable: k for k, variable in enumerate(order)}
    return all(place[int(a)] < place[int(b)] for a, b in np.argwhere(constraints.required))
