"""Climbing from graph to graph by single moves: greedy, first-ascent and tabu."""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from skbn.graphs._moves import KINDS, best_moves
from skbn.graphs.constraints import Constraints
from skbn.graphs.graph import DAG, Move
from skbn.scores.local_scores import FORBIDDEN, LocalScores

# Differences up to this fraction of the score are float noise, which must not decide a search.
TIE = 1e-9


def comparable(scores: np.ndarray | float) -> np.ndarray:
    """Local scores whose differences are never NaN: `FORBIDDEN` for -inf.

    Families are forbidden by the graph prior or by an infinite penalty. Of two forbidden graphs the
    one with fewer such families is better, so a search that starts from one finds its way out.
    """
    return np.maximum(scores, FORBIDDEN)


class Step(NamedTuple):
    """A move that a search made, and the score of the graph that it led to.

    Parameters
    ----------
    move : Move
        What was done, by the numbers of the variables.
    score : float
        Score of the graph after the move, graph prior included, in nats.

    Examples
    --------
    >>> from skbn.search.climbing import Step
    >>> from skbn.graphs.graph import Move
    >>> Step(Move("add", 0, 1), -7.8).move.kind
    'add'
    """

    move: Move
    score: float


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The graph that a search ended with.

    Parameters
    ----------
    parents : list of tuple of int
        The parents of every variable.
    score : float
        Its score, graph prior included, in nats.
    start_score : float
        The score of the graph that the search started from.
    history : list of Step, default=[]
        The moves made, in order; empty for searches that make none.
    n_rounds : int or None, default=None
        Rounds of a search that makes no moves.

    Examples
    --------
    What a search of your own returns, at least:

    >>> from skbn import SearchResult
    >>> SearchResult(parents=[(), (0,)], score=-7.8, start_score=-9.3).n_iter
    0
    """

    parents: list[tuple[int, ...]]
    score: float
    start_score: float
    history: list[Step] = field(default_factory=list)
    n_rounds: int | None = None

    @property
    def n_iter(self) -> int:
        """Number of moves, or of rounds."""
        return len(self.history) if self.n_rounds is None else self.n_rounds


class _Climb:
    """The current graph of a climb, and what toggling each edge would add to its score."""

    def __init__(self, scores: LocalScores, start: DAG, constraints: Constraints) -> None:
        n = start.n_variables
        self.scores = scores
        self.dag = start.copy()
        # The graph's matrices are changed in place, and seen here as they are.
        self._relations = [
            np.ascontiguousarray(relation).view(np.uint8)
            for relation in (
                self.dag.adjacency, self.dag.ancestors, constraints.allowed, constraints.required
            )
        ]
        self._max_parents = constraints.max_parents
        self.local = [0.0] * n
        # gains[a, b]: change of b's local score when a joins its parents, or leaves them.
        self.gains = np.empty((n, n))
        self.history: list[Step] = []
        for child in range(n):
            self._rescore(child)
        self._sum()
        self.start_score = self.score

    def _rescore(self, child: int) -> None:
        row = self.scores.toggled(child, self.dag.parents(child))
        self.local[child] = float(row[child])
        row = comparable(row)
        self.gains[:, child] = row - row[child]

    def _sum(self) -> None:
        self.score = math.fsum(self.local)
        # The score to compare with, finite also where the graph is forbidden.
        self.level = self.score
        if self.score == -math.inf:
            self.level = math.fsum(comparable(self.local))

    @property
    def noise(self) -> float:
        return TIE * abs(self.level)

    def make(self, move: Move) -> None:
        self.dag.apply(move)
        self._rescore(move.child)
        if move.kind == "reverse":
            self._rescore(move.parent)
        self._sum()
        self.history.append(Step(move, self.score))

    def draw_best(
        self, rng: np.random.Generator, tabu: Iterable[Move] = (), exempt_above: float = math.inf
    ) -> tuple[Move | None, float]:
        """One of the best valid moves, at random among ties, and the best gain.

        No move if there is none or if all lead from a permitted graph to a forbidden one. Moves
        that are `tabu` are passed over unless their gain is above `exempt_above`.
        """
        tabu = [(KINDS.index(kind), a, b) for kind, a, b in tabu]
        best, tied = best_moves(
            self.gains,
            *self._relations,
            self._max_parents,
            self.noise,
            np.array(tabu, dtype=np.int32) if tabu else None,
            exempt_above,
        )
        if best <= FORBIDDEN / 2:
            return None, best
        kind, a, b = tied[int(rng.integers(len(tied))) if len(tied) > 1 else 0]
        return Move(KINDS[kind], a, b), best

    def result(self) -> SearchResult:
        return SearchResult(self.dag.all_parents(), self.score, self.start_score, self.history)


def climb_greedily(
    scores: LocalScores,
    start: DAG,
    constraints: Constraints,
    rng: np.random.Generator,
    max_iter: int | None = None,
) -> SearchResult:
    """Make the best valid move, ties at random, until none improves the score."""
    climb = _Climb(scores, start, constraints)
    while max_iter is None or len(climb.history) < max_iter:
        move, gain = climb.draw_best(rng)
        if move is None or gain <= climb.noise:
            break
        climb.make(move)
    return climb.result()


def climb_first_ascent(
    scores: LocalScores,
    start: DAG,
    constraints: Constraints,
    rng: np.random.Generator,
    max_iter: int | None = None,
) -> SearchResult:
    """Look at the valid moves in random order and make the first that improves, until none does.

    Only the moves that are looked at are scored.
    """
    dag = start.copy()
    local = [scores.local(child, dag.parents(child)) for child in range(dag.n_variables)]
    start_score = score = math.fsum(local)
    history: list[Step] = []
    while max_iter is None or len(history) < max_iter:
        noise = TIE * abs(math.fsum(comparable(local)))
        for move in _shuffled_moves(dag, constraints, rng):
            changed = {child: scores.local(child, parents) for child, parents in _after(dag, move)}
            gain = math.fsum(
                comparable(new) - comparable(local[child]) for child, new in changed.items()
            )
            if gain > noise:
                break
        else:
            break
        dag.apply(move)
        for child, new in changed.items():
            local[child] = new
        score = math.fsum(local)
        history.append(Step(move, score))
    return SearchResult(dag.all_parents(), score, start_score, history)


def _shuffled_moves(dag: DAG, constraints: Constraints, rng: np.random.Generator) -> Iterator[Move]:
    """All moves that are valid and permitted, in random order."""
    edges = [
        np.argwhere(matrix)
        for matrix in (
            constraints.additions(dag), constraints.deletions(dag), constraints.reversals(dag)
        )
    ]
    kinds = np.repeat(["add", "delete", "reverse"], [len(found) for found in edges])
    edges = np.concatenate(edges)
    for drawn in rng.permutation(len(edges)).tolist():
        yield Move(str(kinds[drawn]), *edges[drawn].tolist())


def _after(dag: DAG, move: Move) -> list[tuple[int, tuple[int, ...]]]:
    """The children whose parents a move changes, and their parents after it."""
    kind, a, b = move
    if kind == "add":
        return [(b, (*dag.parents(b), a))]
    without = (b, tuple(p for p in dag.parents(b) if p != a))
    return [without] if kind == "delete" else [without, (a, (*dag.parents(a), b))]


def climb_with_tabu(
    scores: LocalScores,
    start: DAG,
    constraints: Constraints,
    rng: np.random.Generator,
    max_iter: int | None = None,
    tabu_length: int = 10,
    patience: int = 10,
) -> SearchResult:
    """Greedy climbing that goes on downhill: the best move that does not undo a recent one.

    The last `tabu_length` moves may not be undone, unless that leads to a better graph than any
    before (aspiration). Ends after `patience` moves without such a graph; the history of the result
    ends at the best one.
    """
    climb = _Climb(scores, start, constraints)
    tabu: deque[Move] = deque(maxlen=tabu_length)
    best, best_level, n_best = climb.result(), climb.level, 0
    while len(climb.history) - n_best < patience:
        if max_iter is not None and len(climb.history) >= max_iter:
            break
        record = best_level + TIE * abs(best_level)
        move, _ = climb.draw_best(rng, tabu, record - climb.level)
        if move is None:
            break
        climb.make(move)
        tabu.append(move.inverse)
        if climb.level > record:
            best, best_level, n_best = climb.result(), climb.level, len(climb.history)
    return replace(best, history=climb.history[:n_best])
