"""The score of a given graph on a table."""

import math
from numbers import Real

from sklearn.utils import check_scalar

from skbn.graphs.given_graph import read_graph, refuse_steps
from skbn.scores.by_name import as_score
from skbn.scores.local_scores import LocalScores
from skbn.tables.reading import read_table


def structure_score(
    X, graph, *, score_type="bdeu", ess=1.0, categories="auto", sample_weight=None
) -> float:
    """Score a graph on a table, in nats; higher is better.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_variables)
        Categories, without missing cells. The columns of an array are called "x0", "x1", ...
    graph : graph
        (parent, child) pairs of column names, an adjacency matrix (row -> column), a networkx
        graph, or a fitted estimator or network.
    score_type : str or score object, default="bdeu"
        A name, as in `BayesNetStructureEstimator`, or an object of your own.
    ess : float, default=1.0
        Equivalent sample size, in rows, for the scores that use one.
    categories : "auto", list or dict, default="auto"
        The levels of the columns, as in `BayesNetStructureEstimator`.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts; rows of weight zero are dropped, levels included. Weights that
        are shares make next to no rows, which a `DataWarning` tells; BIC and MDL refuse those that
        sum to 1 or less.

    Returns
    -------
    float
        The sum of the local scores of all variables, in nats; without a graph prior.

    Raises
    ------
    ValueError, TypeError
        For what is no table of categories or no acyclic graph over its columns, for a pipeline
        with steps before the last, which may make another table of this one, for an `ess` that
        is not above zero, and for fractional weights under a score that needs whole counts.

    Examples
    --------
    >>> from skbn import structure_score
    >>> X = [["a", 0], ["a", 0], ["b", 1], ["b", 1]]
    >>> edge = structure_score(X, [("x0", "x1")], ess=1.0)
    >>> edge > structure_score(X, [], ess=1.0)
    True
    """
    score = as_score(score_type)
    check_scalar(ess, "ess", Real)
    if not 0.0 < ess < math.inf:
        raise ValueError(f"ess must be a finite number above zero, got {ess}.")
    refuse_steps(graph, "structure_score(pipe[:-1].transform(X), pipe[-1])")
    reading = read_table(X, None, sample_weight, categories)
    dag = read_graph(graph, reading.labels)
    scores = LocalScores(reading.data, score, ess)
    reading.warn_of_weights()
    return scores.total(dag.all_parents())
