"""Graphs that a search starts from."""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints
from skbn.graphs.given_graph import different_names, read_graph
from skbn.graphs.graph import DAG, CycleError, Move, topological_order
from skbn.messages import brief, first_few
from skbn.scores.likelihood import BIC, LogLikelihood
from skbn.scores.local_scores import LocalScores
from skbn.search.searches import Search

INITS = ("empty", "full", "random", "bic", "tree")


def empty_start(constraints: Constraints) -> DAG:
    """No edges but the required ones."""
    return DAG.from_adjacency(constraints.required)


def full_start(constraints: Constraints) -> DAG:
    """Each variable a child of all before it, as far as the constraints permit.

    The order is that of the columns, changed only where required edges, or pairs that may be
    joined in one direction alone, ask for it. With a limit on parents the nearest ones before a
    variable are kept, after its required ones.
    """
    one_way = constraints.allowed & ~constraints.allowed.T
    try:
        order = topological_order(constraints.required | one_way)
    except CycleError:
        order = topological_order(constraints.required)
    adjacency = constraints.required.copy()
    for place, child in enumerate(order):
        for parent in order[:place][::-1]:
            if adjacency[:, child].sum() >= constraints.max_parents:
                break
            adjacency[parent, child] |= constraints.allowed[parent, child]
    return DAG.from_adjacency(adjacency)


def full_graph(order: Iterable[Hashable]) -> list[tuple[Hashable, Hashable]]:
    """List the edges of the graph in which each name is a child of all names before it.

    For ``init=`` where the order of the full graph should not be that of the columns.

    Parameters
    ----------
    order : iterable of hashable
        Column names, parents before their children.

    Returns
    -------
    list of (parent, child) names
        All n (n - 1) / 2 edges among n names.

    Raises
    ------
    TypeError, ValueError
        For what is no list of names, and for a name that comes twice.

    Examples
    --------
    >>> full_graph(["b", "a", "c"])
    [('b', 'a'), ('b', 'c'), ('a', 'c')]
    """
    order = different_names(order, "order")
    return [(a, b) for place, a in enumerate(order) for b in order[place + 1 :]]


def random_start(constraints: Constraints, rng: np.random.Generator) -> DAG:
    """Random valid edges, one after another, until there are as many as variables.

    A parent and a child are drawn, and joined if that is valid and permitted; the graph has fewer
    edges only if no further one can be added. Required edges come first and count.
    """
    n = len(constraints.allowed)
    dag = empty_start(constraints)
    for _ in range(n - int(dag.adjacency.sum())):
        move = _draw_addition(dag, constraints, rng)
        if move is None:
            break
        dag.apply(move)
    return dag


def _draw_addition(dag: DAG, constraints: Constraints, rng: np.random.Generator) -> Move | None:
    # Drawing until a pair is valid picks each valid edge with the same probability; where valid
    # edges are rare they are listed instead, which does the same and always ends.
    for _ in range(50):
        move = Move("add", *rng.integers(dag.n_variables, size=2).tolist())
        if dag.is_valid(move) and constraints.permit(dag, move):
            return move
    choices = np.argwhere(constraints.additions(dag))
    if not len(choices):
        return None
    return Move("add", *choices[rng.integers(len(choices))].tolist())


def tree_start(data: CategoricalData, constraints: Constraints) -> DAG:
    """The tree of Chow and Liu (1968): the spanning tree of greatest mutual information.

    Its edges lead away from the first column. Columns without information about any other stay
    alone. An edge that the constraints forbid is turned if that is permitted and left out if not.
    """
    scores = LocalScores(data, LogLikelihood(), ess=1.0)
    rows = np.array([scores.toggled(child, ()) for child in range(data.n_variables)])
    information = rows - np.diagonal(rows)[:, None]
    # Symmetric but for rounding; weights below zero, since scipy's tree is the smallest one.
    weights = -np.triu(np.maximum(information, information.T), k=1)
    weights[weights > -1e-9 * data.n_samples] = 0.0
    # Sparse, since of a dense matrix scipy takes all entries within 1e-8 of 0 for no edge.
    tree = minimum_spanning_tree(csr_array(weights)).tocsr()
    tree = tree + tree.T

    dag = empty_start(constraints)
    reached: set[int] = set()
    for root in range(data.n_variables):
        if root in reached:
            continue
        order, predecessors = breadth_first_order(tree, root, directed=False)
        reached.update(order.tolist())
        for child in order[1:].tolist():
            parent = int(predecessors[child])
            for move in (Move("add", parent, child), Move("add", child, parent)):
                if dag.is_valid(move) and constraints.permit(dag, move):
                    dag.apply(move)
                    break
    return dag


def make_start(
    init: "str | object",
    search: Search,
    scores: LocalScores,
    constraints: Constraints,
    labels: Sequence[Hashable],
    rng: np.random.Generator,
    max_iter: int | None = None,
) -> DAG:
    """The initial graph that `init` names or is."""
    if not isinstance(init, str):
        dag = read_graph(init, labels, "init")
        constraints.check(dag, labels, "init")
        return dag
    if init not in INITS:
        raise ValueError(
            f"init must be one of {first_few(INITS)} or a graph, got {brief(init)}."
        )
    if init == "random":
        return random_start(constraints, rng)
    if init == "full":
        return full_start(constraints)
    if init == "tree":
        return tree_start(scores.data, constraints)
    if init == "bic":
        bic = LocalScores(scores.data, BIC(), scores.ess, scores.log_prior)
        found = search.search(bic, empty_start(constraints), constraints, rng, max_iter)
        return DAG.from_parents(found.parents)
    return empty_start(constraints)
