"""The analytical estimate of the best equivalent sample size, of a graph and a table."""

from skbn.ess.analytic_ess import AnalyticESS, estimate_ess
from skbn.graphs.given_graph import read_graph, refuse_steps
from skbn.tables.reading import read_table


def analytic_ess(X, graph, *, categories="auto", sample_weight=None) -> AnalyticESS:
    """Estimate the equivalent sample size that suits a graph and a table (Eq. 18).

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_variables)
        Categories, without missing cells. The columns of an array are called "x0", "x1", ...
    graph : graph
        (parent, child) pairs of column names, an adjacency matrix (row -> column), a networkx
        graph, or a fitted estimator or network.
    categories : "auto", list or dict, default="auto"
        The levels of the columns, as in `BayesNetStructureEstimator`.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts; rows of weight zero are dropped, levels included. Weights that
        are shares make next to no rows, which a `DataWarning` tells.

    Returns
    -------
    AnalyticESS
        The estimate is its `ess`, in rows, if its `usable` says so.

    Raises
    ------
    ValueError, TypeError
        For what is no table of categories or no acyclic graph over its columns, and for a
        pipeline with steps before the last, which may make another table of this one.

    References
    ----------
    H. Steck. Learning the Bayesian Network Structure: Dirichlet Prior versus Data. UAI 2008.

    Examples
    --------
    >>> from skbn import analytic_ess
    >>> X = [["a", 0]] * 30 + [["b", 1]] * 20 + [["b", 0]] * 10
    >>> estimate = analytic_ess(X, [("x0", "x1")])
    >>> estimate.d_eff, estimate.usable
    (2, True)
    """
    refuse_steps(graph, "analytic_ess(pipe[:-1].transform(X), pipe[-1])")
    reading = read_table(X, None, sample_weight, categories)
    reading.warn_of_weights()
    dag = read_graph(graph, reading.labels)
    return estimate_ess(reading.data, dag.all_parents())
