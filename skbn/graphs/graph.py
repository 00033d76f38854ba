"""Directed acyclic graphs, the three moves between them, and the ancestor relation."""

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from skbn.graphs._moves import join_ancestors, part_ancestors, update_ancestors
from skbn.messages import first_few


class Move(NamedTuple):
    """One change of a graph: an edge is added, deleted or reversed.

    Parameters
    ----------
    kind : {"add", "delete", "reverse"}
        What is done to the edge parent -> child.
    parent, child : int
        Numbers of the variables that the edge joins, before it is reversed.

    Examples
    --------
    >>> from skbn.graphs.graph import Move
    >>> Move("reverse", 0, 1).inverse
    Move(kind='reverse', parent=1, child=0)
    """

    kind: str
    parent: int
    child: int

    @property
    def inverse(self) -> "Move":
        """The move that undoes this one."""
        if self.kind == "reverse":
            return Move("reverse", self.child, self.parent)
        return Move("delete" if self.kind == "add" else "add", self.parent, self.child)


class DAG:
    """A directed acyclic graph over variables 0 .. n - 1 that is changed move by move.

    Attributes
    ----------
    adjacency : ndarray of shape (n, n), bool
        ``adjacency[a, b]``: a is a parent of b.
    ancestors : ndarray of shape (n, n), bool
        ``ancestors[a, b]``: a directed path leads from a to b. Kept up to date by every move.

    Examples
    --------
    >>> dag = DAG(3)
    >>> dag.apply(Move("add", 0, 1))
    >>> dag.apply(Move("add", 1, 2))
    >>> dag.is_valid(Move("add", 2, 0))
    False
    >>> dag.apply(Move("reverse", 1, 2))
    >>> dag.edges
    [(0, 1), (2, 1)]
    """

    def __init__(self, n_variables: int) -> None:
        self.adjacency = np.zeros((n_variables, n_variables), dtype=bool)
        self.ancestors = np.zeros((n_variables, n_variables), dtype=bool)

    @classmethod
    def from_adjacency(cls, adjacency: np.ndarray) -> "DAG":
        """The graph of a square boolean matrix, row -> column.

        Raises
        ------
        CycleError
            If it has a directed cycle.
        """
        adjacency = np.asarray(adjacency, dtype=bool)
        dag = cls(len(adjacency))
        dag.adjacency[:] = adjacency
        dag._update_ancestors(topological_order(adjacency))
        return dag

    @classmethod
    def from_parents(cls, parents: Sequence[Iterable[int]]) -> "DAG":
        """The graph in which ``parents[i]`` are the parents of i."""
        adjacency = np.zeros((len(parents), len(parents)), dtype=bool)
        for child, given in enumerate(parents):
            adjacency[list(given), child] = True
        return cls.from_adjacency(adjacency)

    @property
    def n_variables(self) -> int:
        return len(self.adjacency)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """All (parent, child) pairs, by parent and then by child."""
        return [(int(a), int(b)) for a, b in np.argwhere(self.adjacency)]

    def parents(self, variable: int) -> tuple[int, ...]:
        return tuple(self.adjacency[:, variable].nonzero()[0].tolist())

    def all_parents(self) -> list[tuple[int, ...]]:
        return [self.parents(variable) for variable in range(self.n_variables)]

    def copy(self) -> "DAG":
        other = DAG.__new__(DAG)
        other.adjacency = self.adjacency.copy()
        other.ancestors = self.ancestors.copy()
        return other

    def is_valid(self, move: Move) -> bool:
        """Whether the move leads to another directed acyclic graph.

        Adding a -> b: a is no parent of b and b is no ancestor of a. Deleting: a is a parent of
        b. Reversing: a is a parent of b, and an ancestor of b by no path of more than one edge.
        """
        kind, a, b = move
        if kind == "add":
            return a != b and not self.adjacency[a, b] and not self.ancestors[b, a]
        if not self.adjacency[a, b]:
            return False
        return kind == "delete" or not (self.ancestors[a] & self.adjacency[:, b]).any()

    def additions(self) -> np.ndarray:
        """Matrix of the edges that may be added: valid "add" moves, row -> column."""
        valid = ~(self.adjacency | self.ancestors.T)
        np.fill_diagonal(valid, False)
        return valid

    def reversals(self) -> np.ndarray:
        """Matrix of the edges a -> b that may be reversed, at [a, b]."""
        valid = np.zeros_like(self.adjacency)
        a, b = np.nonzero(self.adjacency)
        longer = (self.ancestors[a] & self.adjacency.T[b]).any(axis=1)
        valid[a[~longer], b[~longer]] = True
        return valid

    def apply(self, move: Move) -> None:
        """Change the graph; the move must be valid."""
        kind, a, b = move
        if kind == "add":
            self._add(a, b)
        else:
            self._delete(a, b)
            if kind == "reverse":
                self._add(b, a)

    def undo(self, move: Move) -> None:
        """Take back a move that was just applied."""
        self.apply(move.inverse)

    def _add(self, a: int, b: int) -> None:
        self.adjacency[a, b] = True
        if self.ancestors[a, b]:
            return
        join_ancestors(self.ancestors.view(np.uint8), a, b)

    def _delete(self, a: int, b: int) -> None:
        self.adjacency[a, b] = False
        part_ancestors(self.adjacency.view(np.uint8), self.ancestors.view(np.uint8), a, b)

    def _update_ancestors(self, variables: Sequence[int]) -> None:
        """Find their ancestors anew; parents come before children."""
        update_ancestors(
            self.adjacency.view(np.uint8),
            self.ancestors.view(np.uint8),
            np.asarray(variables, dtype=np.int64),
        )


class CycleError(ValueError):
    """A graph that should be acyclic is not.

    Attributes
    ----------
    cycle : list of int
        The variables along the cycle, the first one repeated at the end.
    """

    def __init__(
        self, cycle: Sequence[int], names: Sequence | None = None, what: str = "this one"
    ) -> None:
        self.cycle = list(cycle)
        shown = self.cycle if names is None else [names[i] for i in self.cycle]
        super().__init__(
            f"The graph of a Bayesian network has no directed cycle, but {what} has "
            f"{first_few(shown, 12, ' -> ')}. Remove or turn one of these edges."
        )


def topological_order(adjacency: np.ndarray) -> list[int]:
    """All variables, parents before children, else in index order.

    Raises
    ------
    CycleError
        If there is none.
    """
    children: list[list[int]] = [[] for _ in adjacency]
    for a, b in zip(*(ends.tolist() for ends in np.nonzero(adjacency)), strict=True):
        children[a].append(b)
    n_parents = adjacency.sum(axis=0).tolist()
    ready = [variable for variable, n in enumerate(n_parents) if n == 0]
    order: list[int] = []
    while ready:
        variable = heapq.heappop(ready)
        order.append(variable)
        for child in children[variable]:
            n_parents[child] -= 1
            if n_parents[child] == 0:
                heapq.heappush(ready, child)
    if len(order) < len(adjacency):
        raise CycleError(_find_cycle(adjacency, set(range(len(adjacency))) - set(order)))
    return order


def _find_cycle(adjacency: np.ndarray, remaining: set[int]) -> list[int]:
    # Every remaining variable has a remaining parent: walking up must meet a variable twice.
    path = [min(remaining)]
    while True:
        parent = next(p for p in np.flatnonzero(adjacency[:, path[-1]]).tolist() if p in remaining)
        if parent in path:
            return [parent, *path[path.index(parent):][::-1]]
        path.append(parent)
