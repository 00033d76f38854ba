"""A learned graph beside a reference graph: which edges are right, and how many."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skbn.graphs.equivalence import cpdag_of
from skbn.graphs.given_graph import labels_among, read_graph

Edge = tuple[Hashable, Hashable]


class Agreement(NamedTuple):
    """How well the edges of a learned graph agree with those of a reference.

    Parameters
    ----------
    n_right : int
        Edges of the learned graph that the reference has.
    n_learned, n_reference : int
        Edges of either graph.

    Examples
    --------
    >>> from skbn import compare_graphs
    >>> agreement = compare_graphs([("a", "b"), ("b", "c")], [("a", "b")]).directed
    >>> agreement
    Agreement(n_right=1, n_learned=2, n_reference=1)
    >>> agreement.precision, agreement.recall
    (0.5, 1.0)
    """

    n_right: int
    n_learned: int
    n_reference: int

    @property
    def precision(self) -> float:
        """Share of the learned edges that are right; NaN if there are none."""
        return _share(self.n_right, self.n_learned)

    @property
    def recall(self) -> float:
        """Share of the reference's edges that were learned; NaN if there are none."""
        return _share(self.n_right, self.n_reference)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; NaN if neither graph has edges."""
        return _share(2 * self.n_right, self.n_learned + self.n_reference)


@dataclass(frozen=True, eq=False, repr=False)
class GraphComparison:
    """The result of `compare_graphs`.

    Parameters
    ----------
    labels : list
        Names of the variables.
    kept, reversed, extra, missing : list of (parent, child)
        Edges of the learned graph that the reference has, has in the other direction, and lacks
        (as learned); and edges that only the reference has.
    directed : Agreement
        Of the edges with their directions.
    skeleton : Agreement
        Of the pairs of joined variables.
    cpdag : Agreement
        Of the edges of the essential graphs: a pair agrees if it has the same direction in both,
        or none in both. Equivalent graphs agree wholly.
    shd, cpdag_shd : int
        Structural Hamming distances of the graphs and of their essential graphs.

    Examples
    --------
    >>> from skbn import compare_graphs
    >>> comparison = compare_graphs([("b", "a"), ("b", "c")], [("a", "b"), ("b", "c")])
    >>> comparison.kept, comparison.reversed
    ([('b', 'c')], [('b', 'a')])
    >>> comparison.shd, comparison.cpdag_shd
    (1, 0)
    >>> comparison.to_dict()["f1"]
    [0.5, 1.0, 1.0]
    """

    labels: list[Hashable]
    kept: list[Edge]
    reversed: list[Edge]
    extra: list[Edge]
    missing: list[Edge]
    directed: Agreement
    skeleton: Agreement
    cpdag: Agreement
    shd: int
    cpdag_shd: int

    def to_dict(self) -> dict[str, list]:
        """Make the columns of a table, such as ``pandas.DataFrame``, with a row for each view.

        Returns
        -------
        dict of str to list
            "edges" names the views, directed, skeleton and cpdag; the others are the figures of
            the `Agreement` of each: precision, recall, f1, n_right, n_learned, n_reference.
        """
        views = {"directed": self.directed, "skeleton": self.skeleton, "cpdag": self.cpdag}
        return {
            "edges": list(views),
            **{
                name: [getattr(view, name) for view in views.values()]
                for name in ("precision", "recall", "f1", "n_right", "n_learned", "n_reference")
            },
        }

    def __str__(self) -> str:
        lines = [
            f"{len(self.kept)} kept, {len(self.reversed)} reversed, {len(self.extra)} extra, "
            f"{len(self.missing)} missing; structural Hamming distance {self.shd}, "
            f"of the essential graphs {self.cpdag_shd}",
            f"{'edges':10}{'precision':>10}{'recall':>10}{'F1':>10}",
        ]
        lines += [
            f"{name:10}{view.precision:10.3f}{view.recall:10.3f}{view.f1:10.3f}"
            for name, view in (
                ("directed", self.directed), ("skeleton", self.skeleton), ("cpdag", self.cpdag)
            )
        ]
        return "\n".join(lines)

    __repr__ = __str__


def compare_graphs(
    learned: Any, reference: Any, *, labels: Sequence[Hashable] | None = None
) -> GraphComparison:
    """Compare a learned graph with a reference.

    Parameters
    ----------
    learned, reference : graph
        (parent, child) pairs of names, an adjacency matrix (row -> column), a networkx graph, a
        fitted estimator or its network.
    labels : sequence, optional
        Names of the variables; needed only to compare a bare array with a graph of names.

    Returns
    -------
    GraphComparison
        Prints as a table. Data from one of several equivalent graphs cannot tell which it was:
        then `cpdag` is the fair view.

    Raises
    ------
    ValueError, TypeError
        For what is no acyclic graph, and for labels that are no different names.

    See Also
    --------
    structural_hamming_distance : One of the figures alone.
    NetworkDisplay : Draws the comparison.

    Examples
    --------
    >>> from skbn import compare_graphs
    >>> comparison = compare_graphs(
    ...     [("a", "b"), ("c", "b"), ("c", "d")], [("a", "b"), ("b", "c"), ("d", "e")]
    ... )
    >>> comparison
    1 kept, 1 reversed, 1 extra, 1 missing; structural Hamming distance 3, of the essential graphs 4
    edges      precision    recall        F1
    directed       0.333     0.333     0.333
    skeleton       0.667     0.667     0.667
    cpdag          0.000     0.000     0.000
    >>> comparison.reversed
    [('c', 'b')]
    """
    labels = labels_among(labels, learned, reference)
    ours = read_graph(learned, labels, "learned").adjacency
    theirs = read_graph(reference, labels, "reference").adjacency
    our_class, their_class = cpdag_of(ours), cpdag_of(theirs)

    def named(matrix: np.ndarray) -> list[Edge]:
        return [(labels[a], labels[b]) for a, b in np.argwhere(matrix)]

    return GraphComparison(
        labels=labels,
        kept=named(ours & theirs),
        reversed=named(ours & theirs.T),
        extra=named(ours & ~theirs & ~theirs.T),
        missing=named(theirs & ~ours & ~ours.T),
        directed=_agreement(ours, theirs),
        skeleton=_agreement(ours | ours.T, theirs | theirs.T),
        cpdag=_agreement(our_class, their_class),
        shd=_n_different(ours, theirs),
        cpdag_shd=_n_different(our_class, their_class),
    )


def _agreement(ours: np.ndarray, theirs: np.ndarray) -> Agreement:
    """Pairs that are joined in the same way, and pairs that are joined."""
    alike = (ours == theirs) & (ours == theirs).T
    return Agreement(*(
        int(np.triu(joined | joined.T).sum()) for joined in (alike & ours, ours, theirs)
    ))


def _n_different(ours: np.ndarray, theirs: np.ndarray) -> int:
    different = ours != theirs
    return int(np.triu(different | different.T).sum())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
