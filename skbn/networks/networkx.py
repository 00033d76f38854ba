"""A network back from a networkx graph."""

import json
from typing import TYPE_CHECKING

import numpy as np

from skbn.counting.data import smallest_code_type
from skbn.inference.conditional_table import ConditionalTable
from skbn.messages import brief, first_few
from skbn.networks.dot import levels_of
from skbn.networks.network import BayesianNetwork
from skbn.tables.values import array_of_levels, keys_of

if TYPE_CHECKING:
    import networkx

_NODE_DATA = ("states", "configurations", "log_probabilities")
_OFF = 1e-6


def from_networkx(graph: "networkx.DiGraph") -> BayesianNetwork:
    """Make a network again of the graph that `BayesianNetwork.to_networkx` made of one.

    Nodes may have been renamed since. A graph without probabilities is no network yet; functions
    and estimators take it as it is, for example as ``init``.

    Parameters
    ----------
    graph : networkx.DiGraph
        Each node has `states`, the names of its states; `log_probabilities`, one row of logarithms
        per parent configuration and one column per state; and `configurations`, the number of
        each parent's state in each of these rows: as JSON text, lists or arrays. Each edge has the
        `position` of the parent among the columns of the child's configurations. Configurations
        without a row are uniform.

    Returns
    -------
    BayesianNetwork
        With the nodes in the order of the graph.

    Raises
    ------
    TypeError
        For what is no directed graph.
    ValueError
        If a node or an edge lacks these data or they do not fit each other, and for cycles.

    Examples
    --------
    >>> from skbn import BayesNetStructureEstimator, from_networkx
    >>> bn = BayesNetStructureEstimator(init=[("x1", "x0")], max_iter=0)
    >>> bn = bn.fit([["yes", "wet"], ["no", "dry"]])
    >>> graph = bn.network_.to_networkx()
    >>> graph.edges
    OutEdgeView([('x1', 'x0')])
    >>> from_networkx(graph)
    BayesianNetwork(2 variables, 1 edge)
    """
    if not getattr(graph, "is_directed", lambda: False)():
        raise TypeError(f"A networkx.DiGraph is needed, got {type(graph).__name__}.")
    places = {label: place for place, label in enumerate(graph.nodes)}
    categories = []
    for label, found in graph.nodes(data=True):
        lacking = [name for name in _NODE_DATA if name not in found]
        if lacking:
            raise ValueError(
                f"Node {brief(label)} has no {' and no '.join(lacking)}. from_networkx reads what "
                "to_networkx made; a graph without probabilities can be passed as init, or its "
                "edges learned anew."
            )
        categories.append(_states(found["states"], label, found.get("dtype")))
    tables = []
    for label, found in graph.nodes(data=True):
        parents = _parents_by_position(graph, label)
        numbers, codes = (
            _numbers(found[name], name, label) for name in ("log_probabilities", "configurations")
        )
        own = [places[parent] for parent in parents]
        tables.append(_table(places[label], own, categories, codes, numbers, label))
    return BayesianNetwork(list(graph.nodes), categories, tables)


def _numbers(data: object, name: str, label: object) -> np.ndarray:
    try:
        return np.asarray(json.loads(data) if isinstance(data, str) else data, dtype=np.float64)
    except (TypeError, ValueError, RecursionError):
        raise ValueError(
            f"{name} of {brief(label)} must be an array of numbers, got {brief(data)}."
        ) from None


def _states(states: object, label: object, dtype: object) -> np.ndarray:
    """The names of the states of a node, which are all different."""
    names = None
    try:
        if isinstance(states, str):
            names = levels_of(states, dtype)
        elif isinstance(states, np.ndarray):
            names = states
        elif isinstance(states, (list, tuple)):
            # numpy itself would make 1 and "1" one text.
            names = array_of_levels(list(states))
        repeated = names is not None and len(set(keys_of(names))) < names.size
    except (TypeError, ValueError, KeyError, RecursionError):
        names = None
    if names is None or names.ndim != 1 or not len(names):
        raise ValueError(f"states of {brief(label)} must be a list of names, got {brief(states)}.")
    if repeated:
        raise ValueError(f"states of {brief(label)} must be different names, got "
                         f"{first_few(names)}.")
    return names


def _parents_by_position(graph: "networkx.DiGraph", label: object) -> list:
    """The parents in the order of the columns of the configurations."""
    positions = {parent: graph.edges[parent, label].get("position")
                 for parent in graph.predecessors(label)}
    by_position = {position: parent for parent, position in positions.items()}
    expected = list(range(len(positions)))
    if sorted(by_position, key=str) != sorted(expected, key=str):
        raise ValueError(
            f"The edges into {brief(label)} must have the positions [{first_few(expected)}], got "
            f"[{first_few(list(positions.values()))}]. An edge was added or removed: learn the "
            "table anew."
        )
    return [by_position[position] for position in expected]


def _table(
    child: int,
    parents: list[int],
    categories: list[np.ndarray],
    configurations: np.ndarray,
    log_probabilities: np.ndarray,
    label: object,
) -> ConditionalTable:
    cardinalities = [len(categories[parent]) for parent in parents]
    n_rows, r = (len(log_probabilities) if log_probabilities.ndim else 0), len(categories[child])
    if log_probabilities.shape != (n_rows, r) or n_rows == 0:
        raise ValueError(
            f"log_probabilities of {brief(label)} must have the shape (rows, {r}) and at least one "
            f"row, got {log_probabilities.shape}."
        )
    if configurations.shape != (n_rows, len(parents)) or not (
        (configurations % 1 == 0) & (configurations >= 0)
        & (configurations < np.array(cardinalities, dtype=int))
    ).all():
        raise ValueError(
            f"configurations of {brief(label)} must have the shape ({n_rows}, {len(parents)}) and "
            f"hold codes below [{first_few(cardinalities)}], got the shape {configurations.shape}."
        )
    sums = np.exp(log_probabilities).sum(axis=1)
    if not (abs(sums - 1) < _OFF).all():
        raise ValueError(f"The probabilities of {brief(label)} must have the sum 1 in each row.")
    codes = smallest_code_type(max(cardinalities, default=1))
    columns = np.argsort(parents, kind="stable")
    configurations = configurations[:, columns].astype(codes)
    if parents:
        order = np.lexsort(configurations.T[::-1])
        configurations, log_probabilities = configurations[order], log_probabilities[order]
    if (configurations[1:] == configurations[:-1]).all(axis=1).any():
        raise ValueError(f"A configuration of {brief(label)} has two rows.")
    return ConditionalTable.from_rows(
        child,
        tuple(parents[column] for column in columns),
        r,
        tuple(cardinalities[column] for column in columns),
        np.ascontiguousarray(configurations),
        np.array(log_probabilities),
    )
