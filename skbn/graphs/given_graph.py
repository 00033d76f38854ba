"""Reading a graph in any of the forms that people have one in."""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from sklearn.utils.validation import _is_fitted

from skbn.graphs.constraints import edge_matrix, position
from skbn.graphs.graph import DAG, CycleError
from skbn.messages import brief


def read_graph(graph: object, labels: Sequence[Hashable], name: str = "graph") -> DAG:
    """The directed acyclic graph that `graph` describes over the columns `labels`.

    Parameters
    ----------
    graph : edges, adjacency matrix, networkx graph, fitted estimator or network
        - an iterable of (parent, child) pairs of column names;
        - a square array, or a data frame with the column names as index and columns, that is 1
          (True) at [parent, child] for an edge and 0 elsewhere;
        - a directed networkx graph whose nodes are column names;
        - a fitted estimator, a pipeline that ends in one, a search that holds one
          (``best_estimator_``), or its network.
    labels : sequence
        Column names, in column order.
    name : str
        What messages call the graph.

    Raises
    ------
    ValueError
        For an unknown name, an edge from a column to itself, a matrix of another shape or with
        other entries, and a cycle; the message shows it.
    TypeError
        For an undirected graph or something that is no graph.

    Examples
    --------
    >>> read_graph([("a", "b"), ("c", "b")], ["a", "b", "c"]).parents(1)
    (0, 2)
    """
    graph = fitted_within(graph)
    labels = list(labels)
    target = target_of(graph)
    if target is not None and target not in labels and any(target in e for e in graph.edges_):
        raise ValueError(
            f"{name} was fitted with y, its variable {brief(target)}, which is not a column. Add y "
            "to the table under that name."
        )
    index = {label: i for i, label in enumerate(labels)}
    adjacency = _adjacency(graph, index, name)
    try:
        return DAG.from_adjacency(adjacency)
    except CycleError as error:
        raise CycleError(error.cycle, labels, name) from None


def fitted_within(graph: object) -> object:
    """The fitted estimator in a grid search or at the end of a pipeline; else `graph` itself."""
    return _unwrapped(graph)[0]


def _unwrapped(graph: object) -> tuple[object, list]:
    """What grid searches and pipelines hold at last, and the pipelines on the way to it."""
    pipelines = []
    while True:
        if hasattr(graph, "best_estimator_"):
            graph = graph.best_estimator_
        elif hasattr(graph, "named_steps"):
            pipelines.append(graph)
            graph = graph.steps[-1][1]
        else:
            return graph, pipelines


def target_of(graph: object) -> Hashable:
    """The name of y in the network of a fitted estimator; None where there is none."""
    graph = fitted_within(graph)
    if hasattr(graph, "network_") and hasattr(graph, "classes_"):
        return graph.network_.labels[-1]
    return None


def steps_within(graph: object) -> list:
    """The pipelines of what a table goes through to the estimator that `fitted_within` finds.

    Fitted as it is, and empty where the estimator gets the table as it came.
    """
    return [
        pipeline[:-1]
        for pipeline in _unwrapped(graph)[1]
        if any(step is not None and step != "passthrough" for _, step in pipeline.steps[:-1])
    ]


def table_within(graph: object, X: object, advice: str) -> object:
    """The table that reaches the fitted estimator within `graph`, from one as the whole takes it.

    Parameters
    ----------
    graph : graph
    X : array-like or data frame
    advice : str
        The call that does without the steps of a pipeline.

    Raises
    ------
    TypeError
        For a pipeline that draws other rows or has a step that does not transform.
    """
    for before in steps_within(graph):
        for name, step in before.steps:
            if hasattr(step, "fit_resample") or not (
                step is None or step == "passthrough" or hasattr(step, "transform")
            ):
                what = "draws rows anew" if hasattr(step, "fit_resample") else "does not transform"
                raise TypeError(
                    f"The step {brief(name)} of the pipeline {what}, so the table that its network "
                    f"is to be judged on is not known. Pass that table: {advice}."
                )
        X = before.transform(X)
    return X


def refuse_steps(graph: object, advice: str) -> None:
    """Refuse a pipeline whose steps make another table than the one that comes beside it.

    Raises
    ------
    TypeError
        The columns of an array have the same names before and after the steps, so that a table
        that did not go through them would be judged as if it had.
    """
    if steps_within(graph):
        raise TypeError(
            "graph is a pipeline, or holds one, and its network is over what its steps make of a "
            f"table. Pass the last step and that table: {advice}."
        )


def refuse_graphless(graph: object, name: str) -> None:
    """Refuse an estimator that is not fitted, or that is and has no graph, or many.

    Raises
    ------
    TypeError
        It says which of these `graph` is; other objects pass.
    """
    if hasattr(graph, "edges_") or not hasattr(graph, "get_params"):
        return
    kind = type(graph).__name__
    if hasattr(graph, "edge_posterior_"):
        why = (
            f"{name} is a {kind}, which averages over many graphs. Pass its estimator_, which has "
            "the best of them; EdgePosteriorDisplay.from_estimator draws how probable each edge is."
        )
    elif hasattr(graph, "cv_results_"):
        why = f"{name} is a {kind} that kept no estimator. Fit it with another refit than False."
    elif _is_fitted(graph):
        why = f"{name} is a {kind}, which learns no graph. Pass an estimator that does."
    else:
        why = (
            f"{name} is a {kind} that is not fitted. Fit it first; where clone() takes part, as in "
            "grid searches, pass its edges_, since clones forget their fit."
        )
    raise TypeError(why)


def labels_of(graph: object) -> list[Hashable]:
    """The names that a graph itself knows: of its variables, or at least of those with edges.

    The columns of a bare array are numbered.
    """
    graph = fitted_within(graph)
    if hasattr(graph, "edges_"):
        graph = graph.network_
    if hasattr(graph, "is_directed"):
        return list(graph.nodes)
    if hasattr(graph, "labels") and hasattr(graph, "edges"):
        return list(graph.labels)
    if hasattr(graph, "columns") and hasattr(graph, "index"):
        return list(graph.columns)
    if isinstance(graph, np.ndarray):
        return list(range(len(graph))) if graph.ndim else []
    found: dict[Hashable, None] = {}
    try:
        for edge in graph:
            found.update(dict.fromkeys(edge))
    except TypeError:
        pass  # `read_graph` says what is wrong
    return list(found)


def labels_among(labels: Iterable[Hashable] | None, *graphs: object) -> list[Hashable]:
    """The names of the variables that graphs are compared or drawn over.

    Parameters
    ----------
    labels : sequence or None
        As the caller was given them; None takes the names that the graphs know.
    *graphs : graph

    Raises
    ------
    TypeError, ValueError
        For what is no list of different names.
    """
    if labels is None:
        return list(dict.fromkeys(label for graph in graphs for label in labels_of(graph)))
    return different_names(labels, "labels")


def different_names(labels: Iterable[Hashable], name: str) -> list[Hashable]:
    """A list of these names; `name` is the parameter that they came as.

    Raises
    ------
    TypeError, ValueError
        For what is no list of names, and for a name that comes twice.
    """
    if not isinstance(labels, Iterable):
        raise TypeError(f"{name} must be a list of names, got {brief(labels)}.")
    labels = list(labels)
    seen: set[Hashable] = set()
    for label in labels:
        try:
            twice = label in seen
        except TypeError:
            raise TypeError(f"{name} must be a list of names, but holds {brief(label)}.") from None
        if twice:
            raise ValueError(f"{name} has {brief(label)} twice. Names must differ.")
        seen.add(label)
    return labels


def _adjacency(graph: object, index: dict[Hashable, int], name: str) -> np.ndarray:
    if hasattr(graph, "edges_"):
        return edge_matrix(graph.edges_, index, name)
    if hasattr(graph, "is_directed"):
        if not graph.is_directed():
            raise TypeError(f"{name} is an undirected graph. Pass a networkx.DiGraph.")
        for node in graph.nodes:
            position(node, index, name)
        return edge_matrix(graph.edges(), index, name)
    if hasattr(graph, "labels") and hasattr(graph, "edges"):
        return edge_matrix(graph.edges, index, name)
    if hasattr(graph, "columns") and hasattr(graph, "index"):
        return _from_frame(graph, index, name)
    if isinstance(graph, np.ndarray):
        return _from_matrix(graph, index, name)
    refuse_graphless(graph, name)
    try:
        edges = list(graph)
    except TypeError:
        raise TypeError(
            f"{name} must be (parent, child) pairs, an adjacency matrix, a networkx graph or a "
            f"fitted estimator, got {type(graph).__name__}."
        ) from None
    return edge_matrix(edges, index, name)


def _from_matrix(matrix: np.ndarray, index: dict[Hashable, int], name: str) -> np.ndarray:
    n = len(index)
    if matrix.shape != (n, n):
        raise ValueError(
            f"{name} must be a {n} x {n} adjacency matrix, one row and column per variable, got an "
            f"array of shape {matrix.shape}. Pass pairs of column names as a list."
        )
    if not np.isin(matrix, (0, 1)).all():
        raise ValueError(f"{name} must hold 0 and 1 only. Compare the weights with a threshold.")
    adjacency = matrix.astype(bool)
    own = np.flatnonzero(np.diagonal(adjacency))
    if len(own):
        raise ValueError(f"{name} has an edge from {brief(list(index)[own[0]])} to itself. Remove "
                         "it.")
    return adjacency


def _from_frame(frame, index: dict[Hashable, int], name: str) -> np.ndarray:
    rows = [position(label, index, name) for label in frame.index]
    columns = [position(label, index, name) for label in frame.columns]
    if sorted(rows) != list(range(len(index))) or sorted(columns) != list(range(len(index))):
        raise ValueError(
            f"{name} must have every column name once in its index and once in its columns."
        )
    matrix = np.empty((len(index), len(index)), dtype=object)
    matrix[np.ix_(rows, columns)] = frame.to_numpy()
    return _from_matrix(matrix, index, name)
