"""What the data and the prior say about every edge of a graph."""

import math
from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from skbn.graphs.given_graph import (
    fitted_within,
    read_graph,
    refuse_graphless,
    table_within,
    target_of,
)
from skbn.messages import brief, first_few
from skbn.scores.gamma import float_of
from skbn.tables.reading import label_of_target, open_table, open_target, read_table
from skbn.tables.values import has_missing_level
from skbn.theory.bayes_factor import EdgeBayesFactor, uniformity
from skbn.theory.contingency import Contingency
from skbn.theory.ess_changes import EssSigns

_TEXT, _NUMBER = object, np.float64
_COLUMNS = {
    "parent": _TEXT,
    "child": _TEXT,
    "verdict": _TEXT,
    "log_bayes_factor": _NUMBER,
    "given": _TEXT,
    "present": np.bool_,
    "large_ess_log_bayes_factor": _NUMBER,
    "uniformity": _NUMBER,
    "mutual_information": _NUMBER,
    "degrees_of_freedom": _NUMBER,
    "aic_change": _NUMBER,
    "bic_change": _NUMBER,
    "ess_low": _NUMBER,
    "ess_high": _NUMBER,
    "ess_threshold": _NUMBER,
}

SUPPORTED = "supported"
PRIOR_AND_SKEWNESS = "prior and skewness"
UNSUPPORTED = "unsupported"


def edge_report(
    graph: Any,
    X: Any,
    y: Any = None,
    *,
    ess: float | None = None,
    absent: bool = False,
    categories: Any = "auto",
    sample_weight: Any = None,
) -> dict[str, list | np.ndarray]:
    """Judge which edges of a graph the data support, and which rest on the prior.

    Each edge parent -> child is judged given the other parents of the child: the graph with the
    edge against the graph without it.

    Parameters
    ----------
    graph : graph
        (parent, child) pairs of column names, an adjacency matrix (row -> column), a networkx
        graph, or a fitted estimator or network; also a pipeline that ends in such an estimator,
        or a search of one.
    X : array-like or data frame of shape (n_samples, n_variables)
        Categories: the table that the graph was learned from, or another with its columns. Columns
        that a fitted estimator or network does not have are not read. For a pipeline, what its
        `fit` takes: it goes through the fitted steps before the last.
    y : array-like of shape (n_samples,), default=None
        The target of an estimator that was fitted with one, whatever it is called.
    ess : float, default=None
        Equivalent sample size, in rows. None takes that of a fitted estimator; other graphs need
        one.
    absent : bool, default=False
        Report the edges that the graph lacks as well, each as if it alone were added. Those that
        would close a cycle are left out; of two variables without an edge, one direction or both
        can be added, and each that can has its row. The reverse of an edge of the graph is not an
        absent edge.
    categories : "auto", list or dict, default="auto"
        The levels of the columns, as in `BayesNetStructureEstimator`. "auto" takes those of a
        fitted estimator or network, and otherwise reads them from the table.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts; rows of weight zero are dropped, levels included. Weights that
        are shares make next to no rows, which a `DataWarning` tells.

    Returns
    -------
    dict of str to list or ndarray
        One entry per edge in each, the edges of the graph first; ``pandas.DataFrame(report)`` and
        ``polars.DataFrame(report)`` make a table of it.

        parent, child : names
        verdict : str
            "supported" if the change in AIC is above zero. Otherwise "prior and skewness" if the
            log Bayes factor is above zero all the same: what favours the edge is the prior, with
            the skewness of the two distributions (Corollary 1). Otherwise "unsupported".
        log_bayes_factor : float
            At `ess`, in nats (Eq. 7); the change of the BDeu score by the edge.
        given : list of names
            The other parents of the child.
        present : bool
            Whether the graph has the edge; without `absent`, always.
        large_ess_log_bayes_factor : float
            Its form for large `ess`, in nats (Eq. 8).
        uniformity : float
            U (Eqs. 4 and 5), without unit.
        mutual_information : float
            Of parent and child given the other parents, in nats a row.
        degrees_of_freedom : float
            d_F, not corrected for cells that were not observed.
        aic_change, bic_change : float
            By the edge, in nats: N times the mutual information, less d_F or d_F ln(N) / 2; no
            BIC, but NaN, where the weights sum to at most 1.
        ess_low, ess_high : float
            The interval of equivalent sample sizes around `ess` in which the edge stays favoured,
            0 and infinity where it has no end; NaN if the edge is not favoured at `ess`.
        ess_threshold : float
            The equivalent sample size above which the edge is favoured for good; infinite if
            there is none.

    Raises
    ------
    ValueError, TypeError
        For what is no table or no graph over its columns, without `ess` where there is no
        estimator to take it from, without y where the graph has it, and for a pipeline whose
        steps draw other rows or do not transform.

    See Also
    --------
    contingency_table : The counts behind a row of the report, for the functions of the theory.

    References
    ----------
    H. Steck. Learning the Bayesian Network Structure: Dirichlet Prior versus Data. UAI 2008.

    Examples
    --------
    Two rare events that occurred once together in 100 rows, as chance would have it:

    >>> import pandas as pd
    >>> from skbn import edge_report
    >>> table = pd.DataFrame({
    ...     "flood": [1] * 10 + [0] * 90, "strike": ([1] + [0] * 9) * 10,
    ... })
    >>> for ess in (1, 100):
    ...     report = edge_report([("flood", "strike")], table, ess=ess)
    ...     print(ess, report["verdict"][0], report["log_bayes_factor"].round(3))
    1 unsupported [-1.848]
    100 prior and skewness [3.324]
    >>> report["ess_low"].round(2), report["ess_high"]
    (array([10.4]), array([inf]))
    """
    X = table_within(graph, X, "edge_report(pipe[-1], pipe[:-1].transform(X), y)")
    graph = fitted_within(graph)
    refuse_graphless(graph, "graph")
    ess = _read_ess(ess, graph)
    table = open_table(X)
    target = target_of(graph)
    if y is None:
        edges = [] if target is None else graph.edges_
        if target not in table.names and any(target in edge for edge in edges):
            raise ValueError(
                f"The network was fitted with y, its variable {brief(target)}, and X has no such "
                "column. Pass y."
            )
    else:
        target = label_of_target(y) if target is None else target
        y = open_target(y, table.shape[0])
    categories, missing = _read_categories(
        categories, graph, table.names if y is None else [*table.names, target]
    )
    reading = read_table(
        table, y, sample_weight, categories, missing, y_label=target,
        only=_variables(graph, table.names),
    )
    reading.warn_of_weights()
    labels = reading.labels
    dag = read_graph(graph, labels)
    edges = [(a, b, True) for a, b in dag.edges]
    if absent:
        edges += [(int(a), int(b), False) for a, b in np.argwhere(dag.additions())]
    rows = []
    for parent, child, present in edges:
        given = [other for other in dag.parents(child) if other != parent]
        table = Contingency.from_data(reading.data, parent, child, given)
        rows.append({
            "parent": labels[parent],
            "child": labels[child],
            "given": [labels[other] for other in given],
            "present": present,
            **judge_edge(table, ess),
            **({"bic_change": math.nan} if reading.data.is_at_most_a_row else {}),
        })
    return {name: _column([row[name] for row in rows], kind) for name, kind in _COLUMNS.items()}


def judge_edge(table: Contingency, ess: float) -> dict[str, Any]:
    """The row of the report for one edge, from its counts."""
    factor = EdgeBayesFactor(table)
    signs = EssSigns(factor)
    log_factor = factor.at(ess)
    freedom = float_of(table.degrees_of_freedom)
    information = table.mutual_information
    n = table.n_samples
    aic_change = n * information - freedom
    if aic_change > 0:
        verdict = SUPPORTED
    else:
        verdict = PRIOR_AND_SKEWNESS if log_factor > 0 else UNSUPPORTED
    low, high = signs.favoured_interval(ess)
    return {
        "verdict": verdict,
        "log_bayes_factor": log_factor,
        "large_ess_log_bayes_factor": factor.large_ess_at(ess),
        "uniformity": uniformity(table),
        "mutual_information": information,
        "degrees_of_freedom": freedom,
        "aic_change": aic_change,
        "bic_change": n * information - 0.5 * math.log(n) * freedom,
        "ess_low": low,
        "ess_high": high,
        "ess_threshold": signs.threshold,
    }


def _column(entries: list, kind: type) -> list | np.ndarray:
    return entries if kind is _TEXT else np.array(entries, dtype=kind)


def _read_ess(ess: Any, graph: Any) -> float:
    if ess is None:
        if not hasattr(graph, "ess_"):
            raise ValueError(
                "ess is needed: only a fitted estimator says at which equivalent sample size its "
                "graph was learned. Pass ess=."
            )
        return float(graph.ess_)
    check_scalar(ess, "ess", Real, min_val=0.0, include_boundaries="neither")
    if not math.isfinite(ess):
        raise ValueError(f"ess must be finite, got {brief(ess)}.")
    return float(ess)


def _variables(graph: Any, names: list[Hashable]) -> set[Hashable] | None:
    """The variables of a fitted graph, other columns being none of its business; else None."""
    network = getattr(graph, "network_", graph)
    if not hasattr(network, "labels"):
        return None
    known = set(network.labels)
    if known.isdisjoint(names):
        raise ValueError(
            f"X has none of the columns of the network, {first_few(network.labels)}. Its columns "
            f"are {first_few(names)}. Pass the table that the network was learned from, or another "
            "with its columns."
        )
    return known


def _read_categories(categories: Any, graph: Any, labels: list[Hashable]) -> tuple[Any, str]:
    """The levels of a fitted graph for those of its columns that the table has.

    Missing cells are a level where they are one of the graph's.
    """
    network = getattr(graph, "network_", graph)
    if not (isinstance(categories, str) and categories == "auto" and hasattr(network, "labels")):
        return categories, "error"
    levels: dict[Hashable, np.ndarray] = dict(
        zip(network.labels, network.categories, strict=True)
    )
    used = {label: levels[label] for label in labels if label in levels}
    return used, "category" if any(map(has_missing_level, used.values())) else "error"
