"""What graphs may be: required and forbidden edges, tiers, numbers of parents, and log priors."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from skbn.graphs.graph import DAG, CycleError, Move
from skbn.messages import brief, first_few
from skbn.resources import refuse_array

LogPrior = Callable[[int, tuple[int, ...]], float]


@dataclass(frozen=True, eq=False)
class Constraints:
    """Required and permitted edges, and the number of parents.

    Attributes
    ----------
    required : ndarray of shape (n, n), bool
        Edges, row -> column, that every graph has.
    allowed : ndarray of shape (n, n), bool
        Edges, row -> column, that a graph may have; required ones included.
    max_parents : int
        Largest number of parents of any variable.
    """

    required: np.ndarray
    allowed: np.ndarray
    max_parents: int

    @classmethod
    def none(cls, n_variables: int, max_parents: int | None = None) -> "Constraints":
        """No constraint but, if given, the number of parents."""
        allowed = ~np.eye(n_variables, dtype=bool)
        limit = n_variables - 1 if max_parents is None else min(max_parents, n_variables - 1)
        return cls(np.zeros_like(allowed), allowed, limit)

    @classmethod
    def from_names(
        cls,
        labels: Sequence[Hashable],
        *,
        required_edges: Iterable[tuple[Hashable, Hashable]] | None = None,
        forbidden_edges: Iterable[tuple[Hashable, Hashable]] | None = None,
        tiers: Iterable[Iterable[Hashable]] | None = None,
        max_parents: int | None = None,
    ) -> "Constraints":
        """Constraints by column names.

        Parameters
        ----------
        labels : sequence
            Column names, in column order.
        required_edges, forbidden_edges : iterables of (parent, child) names
        tiers : iterable of groups of names
            No edge leads from a later group to an earlier one; columns in no group are free.
        max_parents : int

        Raises
        ------
        ValueError
            For an unknown name, a column in two tiers, an edge from a column to itself, and for
            constraints that contradict each other; the message names the edges.
        MemoryError
            If there is no room for a search over so many columns.
        """
        # Here, in the graphs of a search, and in what each move would gain.
        _refuse_wide(len(labels), 16)
        index = {label: i for i, label in enumerate(labels)}
        plain = cls.none(len(labels), max_parents)
        required = edge_matrix(required_edges, index, "required_edges")
        forbidden = edge_matrix(forbidden_edges, index, "forbidden_edges")
        against_tiers = _against_tiers(tiers, index)

        _refuse(required & forbidden, labels, "required_edges and forbidden_edges both name")
        _refuse(required & against_tiers, labels, "tiers forbid the required_edges")
        try:
            DAG.from_adjacency(required)
        except CycleError as error:
            raise CycleError(error.cycle, labels, "the graph of required_edges") from None
        crowded = np.flatnonzero(required.sum(axis=0) > plain.max_parents)
        if len(crowded):
            child = crowded[0]
            names = [(labels[a], labels[child]) for a in np.flatnonzero(required[:, child])]
            raise ValueError(
                f"max_parents={max_parents} leaves no room for the required_edges "
                f"[{first_few(names)}]. Raise max_parents or require fewer edges."
            )
        allowed = plain.allowed & ~forbidden & ~against_tiers
        return cls(required, allowed, plain.max_parents)

    def isolating(self, variables: np.ndarray) -> "Constraints":
        """The same constraints, and no edge but required ones at `variables`, a boolean mask."""
        touching = variables[:, None] | variables[None, :]
        return replace(self, allowed=self.allowed & (self.required | ~touching))

    def additions(self, dag: DAG) -> np.ndarray:
        """Matrix of the edges that may be added to a graph, row -> column."""
        room = dag.adjacency.sum(axis=0) < self.max_parents
        return dag.additions() & self.allowed & room

    def deletions(self, dag: DAG) -> np.ndarray:
        """Matrix of the edges that may be deleted from a graph, row -> column."""
        return dag.adjacency & ~self.required

    def reversals(self, dag: DAG) -> np.ndarray:
        """Matrix of the edges a -> b of a graph that may be reversed, at [a, b]."""
        room = dag.adjacency.sum(axis=0) < self.max_parents
        return dag.reversals() & ~self.required & self.allowed.T & room[:, None]

    def permit(self, dag: DAG, move: Move) -> bool:
        """Whether a valid move keeps to the constraints."""
        kind, a, b = move
        if kind == "delete":
            return not self.required[a, b]
        if kind == "reverse":
            if self.required[a, b]:
                return False
            a, b = b, a
        return bool(
            self.allowed[a, b] and np.count_nonzero(dag.adjacency[:, b]) < self.max_parents
        )

    def check(self, dag: DAG, labels: Sequence[Hashable], name: str) -> None:
        """Refuse a graph that breaks a constraint.

        Raises
        ------
        ValueError
            Naming the edges, and the parameter `name` that the graph came from.
        """
        _refuse(self.required & ~dag.adjacency, labels, f"{name} lacks the required edges")
        _refuse(dag.adjacency & ~self.allowed, labels, f"{name} has the forbidden edges")
        crowded = np.flatnonzero(dag.adjacency.sum(axis=0) > self.max_parents)
        if len(crowded):
            child = crowded[0]
            raise ValueError(
                f"{name} gives {brief(labels[child])} {dag.adjacency[:, child].sum()} parents, "
                f"more than max_parents={self.max_parents}. Raise max_parents or drop edges."
            )


def _refuse_wide(n_variables: int, n_bytes: int) -> None:
    """Refuse so many bytes for each pair of columns if there is no room."""
    refuse_array(
        n_variables**2 * n_bytes // 8, f"Graphs over {n_variables:,} columns take",
        "Use fewer columns.",
    )


def edge_matrix(
    edges: Iterable[tuple[Hashable, Hashable]] | None, index: dict[Hashable, int], name: str
) -> np.ndarray:
    """Adjacency matrix of (parent, child) names; `name` is the parameter they came from."""
    _refuse_wide(len(index), 3)
    matrix = np.zeros((len(index), len(index)), dtype=bool)
    if edges is not None and not isinstance(edges, Iterable):
        edges = (edges,)
    for edge in () if edges is None else edges:
        try:
            # Text of two letters would unpack as well, and a set in any order.
            parent, child = () if isinstance(edge, (str, set, frozenset)) else edge
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must hold (parent, child) pairs of column names, got {brief(edge)}."
            ) from None
        a, b = position(parent, index, name), position(child, index, name)
        if a == b:
            raise ValueError(f"{name} has an edge from {brief(parent)} to itself. Remove it.")
        matrix[a, b] = True
    return matrix


def position(label: Hashable, index: dict[Hashable, int], name: str) -> int:
    """Index of the column called `label`; `name` is the parameter that names it."""
    try:
        return index[label]
    except (KeyError, TypeError):
        raise ValueError(
            f"{name} names {brief(label)}, which is not a column. The columns are "
            f"{first_few(list(index))}."
        ) from None


def _against_tiers(
    tiers: Iterable[Iterable[Hashable]] | None, index: dict[Hashable, int]
) -> np.ndarray:
    tier_of = np.full(len(index), -1)
    if tiers is not None and not isinstance(tiers, Iterable):
        tiers = (tiers,)
    for tier, group in enumerate(() if tiers is None else tiers):
        if isinstance(group, str):
            raise ValueError(
                f"tiers must hold groups of column names, got the string {brief(group)}. "
                f"Write [{brief(group)}]."
            )
        if not isinstance(group, Iterable):
            raise ValueError(f"tiers must hold groups of column names, got {brief(group)}.")
        for label in group:
            column = position(label, index, "tiers")
            if tier_of[column] >= 0:
                raise ValueError(
                    f"tiers name {brief(label)} twice, in groups {tier_of[column]} and {tier}. A "
                    "column belongs to one group at most."
                )
            tier_of[column] = tier
    placed = tier_of >= 0
    return (tier_of[:, None] > tier_of[None, :]) & placed[:, None] & placed[None, :]


def _refuse(edges: np.ndarray, labels: Sequence[Hashable], what: str) -> None:
    if edges.any():
        names = [(labels[a], labels[b]) for a, b in np.argwhere(edges)]
        raise ValueError(f"{what} {first_few(names)}. Change one of the two.")


@dataclass(frozen=True)
class EdgePenalty:
    """The log prior -per_edge * (number of edges), family by family.

    Attributes
    ----------
    per_edge : float
        In nats.
    """

    per_edge: float

    def __call__(self, child: int, parents: tuple[int, ...]) -> float:
        return -self.per_edge * len(parents)


def read_graph_prior(
    graph_prior: "float | Callable | None", labels: Sequence[Hashable]
) -> LogPrior | None:
    """The log prior of a family by variable numbers.

    Parameters
    ----------
    graph_prior : float, callable or None
        - None: uniform over graphs;
        - a number >= 0: every edge costs that many nats;
        - ``graph_prior(variable, parents)``: the log prior of a variable, by name, with a tuple of
          parents, by name and in column order. -inf forbids.
    labels : sequence
        Column names, in column order.
    """
    if graph_prior is None:
        return None
    if isinstance(graph_prior, Real):
        penalty = float(graph_prior)
        if not 0 <= penalty < math.inf:
            raise ValueError(
                f"graph_prior, as the cost of an edge in nats, must be a number >= 0 and finite, "
                f"got {brief(graph_prior)}. Forbid edges with forbidden_edges or max_parents."
            )
        return EdgePenalty(penalty)

    def log_prior(child: int, parents: tuple[int, ...]) -> float:
        came = graph_prior(labels[child], tuple(labels[p] for p in parents))
        is_number = isinstance(came, Real) or (isinstance(came, np.ndarray) and came.ndim == 0)
        value = float(came) if is_number else math.nan
        if not value < math.inf:
            raise ValueError(
                f"graph_prior gave {value if is_number else brief(came)} for "
                f"{brief(labels[child])} with parents [{first_few([labels[p] for p in parents])}]. "
                "It must return a number of nats or -inf."
            )
        return value

    return log_prior
