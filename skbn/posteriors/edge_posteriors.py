"""Posterior probabilities of the features of graphs: the result of a sum over all of them."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state, check_scalar

from skbn.graphs.constraints import position
from skbn.messages import brief
from skbn.posteriors.family_weights import put_in, take_out
from skbn.posteriors.graph_sampler import sample_dags, sample_orders
from skbn.posteriors.graph_sums import GraphSums
from skbn.resources import Workers, memory_limit, refuse_if_too_large
from skbn.subsets.parent_sets import bits

# A function of every family is called once for each; beyond this nobody would wait.
_MAX_ONE_BY_ONE = 2**22


class ParentSetPosterior(NamedTuple):
    """A set of parents of a variable, by name, and its posterior probability.

    Parameters
    ----------
    parents : tuple of hashable
        Names of the parents, in column order; empty for a variable without parents.
    probability : float
        Sum of the posterior probabilities of all graphs in which the variable has just these.

    Examples
    --------
    >>> from skbn import edge_posteriors
    >>> posterior = edge_posteriors([[0, 0], [1, 1]] * 5)
    >>> for found in posterior.parent_sets("x1"):
    ...     print(found.parents, round(found.probability, 3))
    () 0.501
    ('x0',) 0.499
    """

    parents: tuple[Hashable, ...]
    probability: float


class GraphState(NamedTuple):
    """Sums over all graphs, and posteriors of all parent sets, by bits.

    Attributes
    ----------
    sums : GraphSums
    parents : ndarray of shape (n_variables, 2 ** (n_variables - 1))
        P(parents of a bit | data), the child's own bit taken out of the sets.
    order : list of int
        The variable of each bit.
    max_memory, n_jobs
        As in `edge_posteriors`.
    """

    sums: GraphSums
    parents: np.ndarray
    order: list[int]
    max_memory: int | None
    n_jobs: int | None


@dataclass(frozen=True, eq=False, repr=False)
class EdgePosteriors:
    """What a table says of every edge, averaged over all graphs.

    Parameters
    ----------
    labels : list
        Names of the variables, in column order.
    edges : ndarray of shape (n_variables, n_variables)
        P(row -> column | data).
    ancestors : ndarray of shape (n_variables, n_variables) or None
        P(a directed path leads from row to column | data). None under ``prior="orders"``.
    prior : {"graphs", "orders"}
        As given.
    log_sum : float
        The logarithm of the sum over all graphs of exp(score + log prior), the prior not
        normalised. Under ``prior="orders"`` every graph counts once for each order that agrees
        with it.
    log_marginal_likelihood : float
        The log marginal likelihood ln p(data), in nats, with the prior normalised over the graphs
        that meet the constraints: `log_sum` minus the same sum with all scores 0. With a score
        that is a log marginal likelihood (BDeu, BDJ, K2) values for different equivalent sample
        sizes, constraints or priors compare as models do; with others it is the logarithm of a
        weighted mean of exp(score).
    _state : GraphState or None, default=None
        The sums that the methods need; None in what `without_sums` gives.

    See Also
    --------
    edge_posteriors : Makes it from a table.
    EdgePosteriorDisplay : Draws it.

    Examples
    --------
    >>> from skbn import edge_posteriors
    >>> posterior = edge_posteriors([["a", 0]] * 6 + [["b", 1]] * 2)
    >>> posterior.edges.round(2)
    array([[0.  , 0.49],
           [0.49, 0.  ]])
    >>> float(posterior.to_frame("adjacent").loc["x0", "x1"].round(2))
    0.99
    """

    labels: list[Hashable]
    edges: np.ndarray
    ancestors: np.ndarray | None
    prior: str
    log_sum: float
    log_marginal_likelihood: float
    _state: "GraphState | None" = field(default=None)

    def __repr__(self) -> str:
        return (
            f"EdgePosteriors({len(self.labels)} variables, "
            f"log marginal likelihood {self.log_marginal_likelihood:.4f})"
        )

    @property
    def adjacent(self) -> np.ndarray:
        """P(an edge joins row and column, in either direction | data), symmetric.

        Also the probability that the essential graph (CPDAG) joins them, which has the same
        adjacencies as the graph.
        """
        return self.edges + self.edges.T

    def to_frame(self, what: str = "edges"):
        """Make a pandas DataFrame of a matrix, with the names as index and columns.

        Parameters
        ----------
        what : {"edges", "adjacent", "ancestors"}, default="edges"
            Which of the matrices.

        Returns
        -------
        pandas.DataFrame of shape (n_variables, n_variables)
            Probabilities, the row's column of the table being the parent (or the ancestor).

        Raises
        ------
        ValueError
            For another name of a matrix, and for the ancestors under ``prior="orders"``.
        ImportError
            Without pandas.
        """
        if what not in ("edges", "adjacent", "ancestors"):
            raise ValueError(
                f"what must be 'edges', 'adjacent' or 'ancestors', got {brief(what)}."
            )
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install pandas, or use the array."
            ) from error
        matrix = getattr(self, what)
        if matrix is None:
            raise ValueError("Under prior='orders' there are no probabilities of ancestors.")
        index = pd.Index(self.labels, dtype=None if _is_uniform(self.labels) else object)
        return pd.DataFrame(matrix, index=index, columns=index)

    def parent_sets(self, x: Hashable, n: int = 10) -> list[ParentSetPosterior]:
        """List the most probable sets of parents of column `x`, the most probable first.

        Parameters
        ----------
        x : hashable
            Name of the column.
        n : int, default=10
            How many; fewer are returned if fewer have a probability above 0.

        Returns
        -------
        list of ParentSetPosterior
            Pairs (parents, probability); of equally probable sets the smaller one first.

        Raises
        ------
        ValueError
            For an unknown column, and for posteriors that were stored without sums.
        """
        state = self._needed()
        check_scalar(n, "n", Integral, min_val=1)
        bit = state.order.index(self._place(x))
        row = state.parents[bit]
        count = min(int(n), len(row))
        chosen = np.argpartition(-row, count - 1)[:count]
        chosen = chosen[np.lexsort((chosen, np.bitwise_count(chosen), -row[chosen]))]
        found = []
        for place in chosen.tolist():
            if row[place] > 0:
                members = sorted(state.order[b] for b in bits(put_in(place, bit)))
                found.append(
                    ParentSetPosterior(tuple(self.labels[v] for v in members), float(row[place]))
                )
        return found

    def probability(self, holds: Callable[[Hashable, tuple[Hashable, ...]], bool]) -> float:
        """P(every variable's parents satisfy a condition | data).

        Parameters
        ----------
        holds : callable
            ``holds(variable, parents)``, with names, parents in column order: whether the family
            may occur. Called once for each family of a probability above 0.

        Returns
        -------
        float
            The posterior probability of the graphs all of whose families satisfy it.

        Raises
        ------
        ValueError
            If more than 4 million families would have to be looked at, and for posteriors that
            were stored without sums.
        TypeError
            For what is no function.
        MemoryError
            If another sum over all graphs would not fit into memory; before it starts.

        Examples
        --------
        The probability that no variable has two parents:

        >>> from skbn import edge_posteriors
        >>> X = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 5
        >>> posterior = edge_posteriors(X)
        >>> round(posterior.probability(lambda variable, parents: len(parents) < 2), 3)
        0.754
        """
        if not callable(holds):
            raise TypeError("holds must be a function of a variable and parents, got "
                            f"{brief(holds)}.")
        state = self._needed()
        keep = np.zeros(state.parents.shape, dtype=bool)
        found = np.argwhere(state.sums.logs > -np.inf)
        if len(found) > _MAX_ONE_BY_ONE:
            raise ValueError(
                f"A condition would have to be asked of {len(found)} families, more than the "
                f"{_MAX_ONE_BY_ONE} that end in reasonable time. Set max_parents, or use "
                "fewer columns."
            )
        for bit, place in found.tolist():
            members = sorted(state.order[b] for b in bits(put_in(place, bit)))
            keep[bit, place] = bool(
                holds(self.labels[state.order[bit]], tuple(self.labels[v] for v in members))
            )
        return self._restricted(keep)

    def markov_blanket(self, x: Hashable | None = None) -> np.ndarray:
        """P(one column is in the Markov blanket of another | data).

        A sum over all graphs for each pair, which takes about a third of what `edge_posteriors`
        took.

        Parameters
        ----------
        x : hashable, default=None
            Name of the column whose blanket is asked for; None for all.

        Returns
        -------
        ndarray of shape (n_variables,) or (n_variables, n_variables)
            For `x` with every column, or for all pairs, symmetric; 0 for a column with itself.

        Raises
        ------
        ValueError
            For an unknown column, and for posteriors that were stored without sums.
        MemoryError
            If another sum over all graphs would not fit into memory; before it starts.
        """
        n = len(self.labels)
        if x is not None:
            place = self._place(x)
            return np.array([self._joined(place, other) for other in range(n)])
        blankets = np.zeros((n, n))
        for first in range(n):
            for second in range(first):
                blankets[first, second] = blankets[second, first] = self._joined(first, second)
        return blankets

    def sample(
        self, n_samples: int = 1, random_state=None
    ) -> list[list[tuple[Hashable, Hashable]]]:
        """Draw graphs from the posterior, exactly and independently of each other.

        Parameters
        ----------
        n_samples : int, default=1
            How many graphs.
        random_state : int, RandomState instance or None, default=None
            Decides which graphs are drawn.

        Returns
        -------
        list of list of (parent, child) names
            One list per graph, its edges in column order of the parent, then of the child.
        """
        graphs = []
        for parents in self.sample_parents(n_samples, random_state):
            edges = sorted((p, child) for child, given in enumerate(parents) for p in given)
            graphs.append([(self.labels[p], self.labels[child]) for p, child in edges])
        return graphs

    def sample_parents(
        self, n_samples: int = 1, random_state=None
    ) -> list[list[tuple[int, ...]]]:
        """Draw graphs as `sample` does, as the positions of the parents of each column.

        Parameters
        ----------
        n_samples : int, default=1
            How many graphs.
        random_state : int, RandomState instance or None, default=None
            Decides which graphs are drawn.

        Returns
        -------
        list of list of tuple of int
            For each graph and each column, in column order, where its parents are among `labels`.
        """
        state = self._needed()
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        rng = check_random_state(random_state)
        draw = sample_dags if self.prior == "graphs" else sample_orders
        sets = draw(state.sums, int(n_samples), rng)
        place_of = np.argsort(state.order)
        return [
            [tuple(sorted(state.order[b] for b in bits(int(row[bit])))) for bit in place_of]
            for row in sets
        ]

    def without_sums(self) -> "EdgePosteriors":
        """Copy what its attributes hold, and leave out what the methods need.

        Returns
        -------
        EdgePosteriors
            A few numbers, to be kept or pickled. `parent_sets`, `probability`, `markov_blanket`
            and `sample` raise a ValueError.
        """
        return replace(self, _state=None)

    def _joined(self, first: int, second: int) -> float:
        """The probability that some family joins two columns."""
        if first == second:
            return 0.0
        state = self._needed()
        pair = 1 << state.order.index(first) | 1 << state.order.index(second)
        places = np.arange(state.parents.shape[1], dtype=np.int64)
        keep = np.empty(state.parents.shape, dtype=bool)
        for child in range(len(keep)):
            # One as the parent of the other, or both as parents of a third.
            parents = take_out(pair & ~(1 << child), child)
            keep[child] = (places & parents) != parents
        return max(0.0, 1.0 - self._restricted(keep))

    def _restricted(self, keep: np.ndarray) -> float:
        """The probability that all families are among those to keep."""
        state = self._needed()
        n = len(self.labels)
        refuse_sums(n, 8 * keep.size + GraphSums.memory(n), memory_limit(state.max_memory))
        with Workers(max(1, effective_n_jobs(state.n_jobs)), None) as workers:
            sums = GraphSums(np.where(keep, state.sums.logs, -np.inf), workers)
            over_orders = self.prior == "orders"
            if not over_orders:
                sums.sum_dags()
            return sums.share_of(state.sums, over_orders)

    def _place(self, x: Hashable) -> int:
        return position(x, {label: i for i, label in enumerate(self.labels)}, "x")

    def _needed(self) -> "GraphState":
        if self._state is None:
            raise ValueError(
                "These posteriors were stored without the sums that this needs. Call "
                "edge_posteriors on the table."
            )
        return self._state


def refuse_sums(n: int, needed: int, limit: float) -> None:
    """Refuse sums that take more bytes than there are, before anything is allocated."""
    refuse_if_too_large(
        needed, limit, f"Sums over all graphs of {n} variables take",
        "Use fewer columns, or search the best graph alone; edge_posteriors(max_memory=) sets the "
        "limit.",
    )


def _is_uniform(labels: Sequence[Hashable]) -> bool:
    return len(set(map(type, labels))) == 1 and not isinstance(labels[0], tuple)
