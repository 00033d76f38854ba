"""Search over orders of the variables: every variable's best place, again and again."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from skbn.graphs.constraints import Constraints
from skbn.graphs.graph import DAG
from skbn.scores.local_scores import LocalScores
from skbn.search.climbing import TIE, SearchResult, comparable


class _Node:
    """One parent set of one child: where growing leads from here, and what shrinking leaves."""

    __slots__ = ("candidates", "children", "parents", "score", "shrunk")

    def __init__(self, parents: tuple[int, ...], score: float, candidates: list[int]) -> None:
        self.parents = parents
        self.score = score
        # Variables whose addition improves the score, best first.
        self.candidates = candidates
        self.children: dict[int, _Node] = {}
        self.shrunk: tuple[float, tuple[int, ...]] | None = None


class GrowShrinkTree:
    """Parents of one child, grown and shrunk greedily among any set of permitted variables.

    Growing adds the variable that improves the local score most until none does; shrinking then
    removes in the same way. Each parent set that growing meets is a node, scored once and kept, so
    that a second question mostly walks where an earlier one has been (Andrews et al., 2023).
    """

    def __init__(self, child: int, scores: LocalScores, constraints: Constraints) -> None:
        self.child = child
        self._scores = scores
        self._allowed = constraints.allowed[:, child]
        self._required = tuple(np.flatnonzero(constraints.required[:, child]).tolist())
        self._max_parents = constraints.max_parents
        self._root = self._make_node(self._required)

    def _make_node(self, parents: tuple[int, ...]) -> _Node:
        row = comparable(self._scores.toggled(self.child, parents))
        score = float(row[self.child])
        candidates: list[int] = []
        if len(parents) < self._max_parents:
            better = self._allowed & (row > score + TIE * abs(score))
            better[list(parents)] = False
            found = np.flatnonzero(better)
            candidates = found[np.argsort(-row[found], kind="stable")].tolist()
        return _Node(parents, score, candidates)

    def best(self, permitted: int) -> tuple[float, tuple[int, ...]]:
        """Local score and parents among the variables whose bits are set in `permitted`."""
        node = self._root
        while True:
            for candidate in node.candidates:
                if permitted >> candidate & 1:
                    break
            else:
                break
            following = node.children.get(candidate)
            if following is None:
                following = self._make_node((*node.parents, candidate))
                node.children[candidate] = following
            node = following
        if node.shrunk is None:
            node.shrunk = self._shrink(node.parents)
        return node.shrunk

    def _shrink(self, parents: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        while True:
            row = comparable(self._scores.toggled(self.child, parents))
            score = float(row[self.child])
            removable = [p for p in parents if p not in self._required]
            if not removable:
                return score, parents
            least = max(removable, key=lambda p: row[p])
            if row[least] <= score + TIE * abs(score):
                return score, parents
            parents = tuple(p for p in parents if p != least)


def search_orders(
    scores: LocalScores,
    start: DAG,
    constraints: Constraints,
    rng: np.random.Generator,
    max_iter: int | None = None,
    progress: Callable[[int, float, int], None] | None = None,
) -> SearchResult:
    """Best order score search: move single variables within an order while that helps.

    It begins with a random order in which the edges of `start` point forward; `max_iter` limits the
    sweeps.

    An order's score is the sum of every variable's best grown-and-shrunk parents among its
    predecessors. Each sweep takes the variables in random order and puts each where the score is
    highest; the search ends after a sweep that changed nothing.

    References
    ----------
    B. Andrews, J. Ramsey, R. Sanchez Romero, J. Camchong, E. Kummerfeld. Fast Scalable and
    Accurate Discovery of DAGs Using the Best Order Score Search and Grow-Shrink Trees. NeurIPS
    2023.
    """
    trees = [GrowShrinkTree(v, scores, constraints) for v in range(start.n_variables)]
    order = random_topological_order(start, rng)
    start_score = scores.total(_order_parents(trees, order))
    total = _order_score(trees, order)
    sweeps = 0
    improved = True
    if progress is not None:
        progress(sweeps, total, scores.n_evaluations)
    while improved and (max_iter is None or sweeps < max_iter):
        improved = False
        sweeps += 1
        for variable in rng.permutation(start.n_variables).tolist():
            noise = TIE * abs(total)
            order, gain = _place(trees, order, variable, constraints, noise, rng)
            if gain > noise:
                improved = True
                total = _order_score(trees, order)
        if progress is not None:
            progress(sweeps, total, scores.n_evaluations)
    parents = _order_parents(trees, order)
    return SearchResult(parents, scores.total(parents), start_score, n_rounds=sweeps)


def _order_families(
    trees: list[GrowShrinkTree], order: list[int]
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Local score and parents of every variable, in the order."""
    permitted = 0
    for variable in order:
        yield trees[variable].best(permitted)
        permitted |= 1 << variable


def _order_score(trees: list[GrowShrinkTree], order: list[int]) -> float:
    return math.fsum(score for score, _ in _order_families(trees, order))


def _order_parents(trees: list[GrowShrinkTree], order: list[int]) -> list[tuple[int, ...]]:
    parents = [()] * len(order)
    for variable, (_, found) in zip(order, _order_families(trees, order), strict=True):
        parents[variable] = tuple(sorted(found))
    return parents


def _place(
    trees: list[GrowShrinkTree],
    order: list[int],
    variable: int,
    constraints: Constraints,
    noise: float,
    rng: np.random.Generator,
) -> tuple[list[int], float]:
    """Put `variable` at its best position; the new order and how much the score grew.

    One of the positions that tie is drawn at random: orders of equal score differ in where they
    lead, and a search that always stayed in front would get stuck sooner.
    """
    here = order.index(variable)
    others = order[:here] + order[here + 1 :]
    bit = 1 << variable
    tree = trees[variable]
    permitted = 0
    # before[i] / after[i]: others[i] with `variable` behind it / in front of it.
    own, before, after = [], [], []
    for other in others:
        own.append(tree.best(permitted)[0])
        before.append(trees[other].best(permitted)[0])
        after.append(trees[other].best(permitted | bit)[0])
        permitted |= 1 << other
    own.append(tree.best(permitted)[0])
    behind = np.concatenate([[0.0], np.cumsum(before)])
    ahead = np.concatenate([np.cumsum(after[::-1])[::-1], [0.0]])
    totals = behind + ahead + np.array(own)
    current = totals[here]

    needed = constraints.required[others, variable]
    needing = constraints.required[variable, others]
    if needed.any():
        totals[: np.flatnonzero(needed)[-1] + 1] = -np.inf
    if needing.any():
        totals[np.flatnonzero(needing)[0] + 1 :] = -np.inf
    best = int(rng.choice(np.flatnonzero(totals >= totals.max() - noise)))
    gain = float(totals[best] - current)
    return [*others[:best], variable, *others[best:]], gain


def random_topological_order(dag: DAG, rng: np.random.Generator) -> list[int]:
    """A random order in which every edge of the graph points forward."""
    n_parents = dag.adjacency.sum(axis=0)
    ready = np.flatnonzero(n_parents == 0).tolist()
    order: list[int] = []
    while ready:
        variable = ready.pop(int(rng.integers(len(ready))))
        order.append(variable)
        for child in np.flatnonzero(dag.adjacency[variable]).tolist():
            n_parents[child] -= 1
            if n_parents[child] == 0:
                ready.append(child)
    return order
