"""What a graph says of independence: equivalent graphs, their distance, and d-separation."""

from collections.abc import Collection, Hashable, Sequence

import numpy as np

from skbn.graphs.given_graph import labels_among, read_graph
from skbn.graphs.graph import topological_order


def cpdag_of(adjacency: np.ndarray) -> np.ndarray:
    """The essential graph of a DAG: the edges that all equivalent graphs share, and the others.

    Parameters
    ----------
    adjacency : ndarray of shape (n, n), bool
        Row -> column, without cycles.

    Returns
    -------
    ndarray of shape (n, n), bool
        [a, b] alone: every graph equivalent to this one has a -> b. [a, b] and [b, a]: some have
        a -> b, the others b -> a.

    References
    ----------
    D. Chickering. A Transformational Characterization of Equivalent Bayesian Network Structures.
    UAI 1995.

    Examples
    --------
    >>> import numpy as np
    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> cpdag_of(chain).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    adjacency = np.asarray(adjacency, dtype=bool)
    order = topological_order(adjacency)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    compelled = np.zeros_like(adjacency)
    labelled = np.zeros_like(adjacency)
    for y in order:
        parents = np.flatnonzero(adjacency[:, y])
        for x in parents[np.argsort(-place[parents])].tolist():
            if labelled[x, y]:
                continue
            above = compelled[:, x]
            if (above & ~adjacency[:, y]).any():
                # Some w -> x is compelled and w is not joined to y: all edges into y are compelled.
                compelled[:, y] = labelled[:, y] = adjacency[:, y]
                break
            compelled[:, y] |= above
            labelled[:, y] |= above
            unshielded = adjacency[:, y] & ~adjacency[:, x]
            unshielded[x] = False
            rest = adjacency[:, y] & ~labelled[:, y]
            compelled[:, y] |= rest & unshielded.any()
            labelled[:, y] |= rest
    reversible = adjacency & ~compelled
    return adjacency | reversible.T


def structural_hamming_distance(
    first: object,
    second: object,
    *,
    cpdag: bool = False,
    labels: Sequence[Hashable] | None = None,
) -> int:
    """Number of pairs of variables between which two graphs differ.

    A pair counts once if one graph joins it and the other does not, or if they join it in another
    direction (Tsamardinos, Brown and Aliferis, 2006).

    Parameters
    ----------
    first, second : graph
        (parent, child) pairs of names, an adjacency matrix (row -> column), a networkx graph, a
        fitted estimator or its network.
    cpdag : bool, default=False
        Compare the essential graphs: then equivalent graphs are at distance 0.
    labels : sequence, optional
        Names of the variables; needed only to compare a bare array with a graph of names.

    Returns
    -------
    int
        From 0, for graphs that are the same (or equivalent, with `cpdag`), to the number of pairs.

    Raises
    ------
    ValueError, TypeError
        For what is no acyclic graph, and for labels that are no different names.

    Examples
    --------
    >>> from skbn import structural_hamming_distance
    >>> structural_hamming_distance([("a", "b"), ("b", "c")], [("b", "a")])
    2
    >>> structural_hamming_distance([("a", "b"), ("b", "c")], [("b", "a")], cpdag=True)
    1
    """
    labels = labels_among(labels, first, second)
    matrices = [read_graph(graph, labels).adjacency for graph in (first, second)]
    if cpdag:
        matrices = [cpdag_of(matrix) for matrix in matrices]
    different = matrices[0] != matrices[1]
    return int(np.triu(different | different.T).sum())


def reachable(
    parents: Sequence[Sequence[int]],
    children: Sequence[Sequence[int]],
    sources: Collection[int],
    given: Collection[int],
) -> set[int]:
    """All variables that some trail, active given `given`, connects with the sources.

    A trail passes through a collider where it or a descendant is given, and through every other
    variable that is not (Shachter 1998, the Bayes ball).

    Parameters
    ----------
    parents, children : sequence of (sequence of int)
        By variable.
    sources, given : collection of int
        Disjoint.

    Returns
    -------
    set of int
        Sources included, `given` excluded.

    Examples
    --------
    >>> from skbn.graphs.equivalence import reachable
    >>> parents, children = [(), (), (0, 1)], [(2,), (2,), ()]
    >>> reachable(parents, children, sources=[0], given=[])
    {0, 2}
    >>> reachable(parents, children, sources=[0], given=[2])
    {0, 1}
    """
    given = set(given)
    # A trail arrives at a variable from a child (True) or from a parent (False).
    trails = [(source, True) for source in sources]
    seen = set(trails)
    while trails:
        variable, from_child = trails.pop()
        further = []
        # What is given turns round a trail from a parent: thus it comes back, as from a child, to
        # the colliders that what is given descends from, and goes on through them.
        if from_child != (variable in given):
            further += [(parent, True) for parent in parents[variable]]
        if variable not in given:
            further += [(child, False) for child in children[variable]]
        for trail in further:
            if trail not in seen:
                seen.add(trail)
                trails.append(trail)
    return {variable for variable, _ in seen} - given
