"""The best graph as a function of the equivalent sample size."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import validate_parameter_constraints

from skbn.ess.coordinate_ascent import go_on_to_joint_optimum
from skbn.estimators.estimator import BayesNetStructureEstimator
from skbn.estimators.learning import Learning
from skbn.graphs.constraints import Constraints, read_graph_prior
from skbn.messages import brief, kept_short
from skbn.scores.by_name import as_score
from skbn.search.runs import draw_seeds
from skbn.search.searches import ExactSearch, Search, as_search
from skbn.tables.reading import read_table

# Relative to the best score: a graph that comes as close is as good.
_TIE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ESSPath:
    """The best graph for each equivalent sample size (ESS) of a grid.

    Parameters
    ----------
    ess : ndarray of shape (n_ess,)
        The grid, ascending, each value once.
    scores : ndarray of shape (n_ess,)
        Score of the best graph, log graph prior included, in nats.
    n_edges : ndarray of shape (n_ess,), int
        Number of edges of the best graph.
    graphs : list of list of (parent, child) names
        The best graphs, one for each ESS of the grid.
    map_ess : float
        The ESS of the grid with the highest score, the smallest of those that tie exactly: with
        BDeu and a uniform graph prior the maximum of p(D | ess, G) over the grid and all graphs.
    map_interval : tuple of float
        The lowest and the highest ESS of the grid around `map_ess` between which that graph is
        as good as the best of every grid value, to 1e-9 of its score.
    continuous_map_ess : float
        The ESS at the joint maximum of p(D | ess, G) over all ESS and graphs (Eq. 11), reached
        from `map_ess` by the best ESS for the graph and the best graph for the ESS in turn.
    labels : list
        Names of the variables, in column order.
    log_marginal_likelihoods : ndarray of shape (n_ess,) or None
        Log marginal likelihood ln p(D | ess), in nats, summed over all graphs, the graph prior
        normalised; only with ``all_graphs=True``. See `EdgePosteriors`.
    all_graphs_ess : float or None
        The ESS of the grid where it is highest, the smallest of those that tie exactly.

    See Also
    --------
    ess_path : Makes it from a table.
    ESSPathDisplay : Draws it.

    Examples
    --------
    >>> from skbn import ess_path
    >>> path = ess_path([["a", 0]] * 6 + [["b", 1]] * 2, [0.1, 10])
    >>> path.graphs
    [[('x0', 'x1')], [('x0', 'x1')]]
    >>> path
    ESSPath(2 ESS values from 0.1 to 10, best at 0.1 (its graph from 0.1 to 10), 1 edge)
    >>> path.map_ess in path.ess
    True
    """

    ess: np.ndarray
    scores: np.ndarray
    n_edges: np.ndarray
    graphs: list[list[tuple[Hashable, Hashable]]]
    map_ess: float
    map_interval: tuple[float, float]
    continuous_map_ess: float
    labels: list[Hashable]
    log_marginal_likelihoods: np.ndarray | None = None
    all_graphs_ess: float | None = None

    def __repr__(self) -> str:
        n, least, most = len(self.ess), int(self.n_edges.min()), int(self.n_edges.max())
        low, high = self.map_interval
        return (
            f"ESSPath({n} ESS value{'s' * (n != 1)} from {self.ess[0]:.6g} to {self.ess[-1]:.6g}, "
            f"best at {self.map_ess:.6g} (its graph from {low:.6g} to {high:.6g}), "
            + (f"{most} edge{'s' * (most != 1)})" if least == most else f"{least} to {most} edges)")
        )


def ess_path(
    X,
    ess_values,
    *,
    search="exact",
    score_type="bdeu",
    init="empty",
    n_restarts=0,
    max_parents=None,
    required_edges=None,
    forbidden_edges=None,
    tiers=None,
    graph_prior=None,
    max_iter=None,
    categories="auto",
    sample_weight=None,
    n_jobs=None,
    random_state=None,
    all_graphs=False,
) -> ESSPath:
    """Find the best graph for every equivalent sample size (ESS) of a grid.

    The optimal graph depends strongly on the ESS, and mostly gains edges with it. The exact
    search counts the table once for the whole grid.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_variables)
        Categories, without missing cells. The columns of an array are called "x0", "x1", ...
    ess_values : array-like of shape (n_ess,)
        The grid, in rows, each above zero; in any order.
    search : {"exact", "greedy", "first_ascent", "tabu", "order"} or search object, default="exact"
        With a search other than "exact" a graph need not be the best one for its ESS.
    score_type : str or score object, default="bdeu"
        As in `BayesNetStructureEstimator`. With a score that does not depend on the ESS there is
        one graph for the whole grid.
    init : {"empty", "full", "random", "bic", "tree"} or graph, default="empty"
        Where each search starts. An exact search starts nowhere and takes the default only.
    n_restarts : int, default=0
        Further searches from random graphs for every ESS; none for an exact search.
    max_parents : int, default=None
        Largest number of parents of a variable.
    required_edges : iterable of (parent, child) names, default=None
        Edges that every graph has.
    forbidden_edges : iterable of (parent, child) names, default=None
        Edges that no graph has.
    tiers : iterable of groups of names, default=None
        No edge leads from a later group to an earlier one.
    graph_prior : float or callable, default=None
        Log prior of graphs, in nats: a penalty per edge, or a function of a variable and its
        parents, by name. None is uniform.
    max_iter : int, default=None
        Largest number of moves of a search (for "order", of sweeps); an exact search takes none.
    categories : "auto", list or dict, default="auto"
        The levels of the columns, as in `BayesNetStructureEstimator`.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts; rows of weight zero are dropped, levels included. Weights that
        are shares make next to no rows, which a `DataWarning` tells; BIC and MDL refuse those that
        sum to 1 or less.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Decides ties and random graphs; the same for every ESS.
    all_graphs : bool, default=False
        Sum p(D | ess, G) over all graphs as well, exactly, for every ESS. For up to about 20
        columns: time triples with every column, see `edge_posteriors`.

    Returns
    -------
    ESSPath
        The best graph, its score and its number of edges for each ESS, and the best ESS.

    Raises
    ------
    ValueError, TypeError
        For what is no table of categories or no grid, and for parameters that do not fit together.
    MemoryError
        Before it starts, if an exact search, or a sum over all graphs, would not fit into memory.

    Warns
    -----
    ConvergenceWarning
        If p(D | ess, G) of the graph at the end has its maximum over the ESS at a bound of
        [1e-6, 1e8] (then `continuous_map_ess` is the bound) or does not depend on it (then it is
        the ESS at hand), or if a search that is not exact cycles between graphs.
    DataWarning
        As `BayesNetStructureEstimator.fit`, of all the best graphs at once.

    References
    ----------
    H. Steck. Learning the Bayesian Network Structure: Dirichlet Prior versus Data. UAI 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import ess_path
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(200) < 0.3
    >>> wet = np.where(rng.random(200) < 0.8, rain, ~rain)
    >>> X = np.column_stack([rain, wet, rng.random(200) < 0.4, rng.random(200) < 0.3])
    >>> path = ess_path(X, [1, 10, 100, 1000])
    >>> path.n_edges.tolist()
    [1, 1, 1, 4]
    >>> path.map_ess, path.map_interval, round(path.continuous_map_ess, 1)
    (10.0, (1.0, 100.0), 6.7)
    """
    parameters = {
        "search": search, "score_type": score_type, "init": init, "n_restarts": n_restarts,
        "max_parents": max_parents, "required_edges": required_edges,
        "forbidden_edges": forbidden_edges, "tiers": tiers, "graph_prior": graph_prior,
        "max_iter": max_iter, "categories": categories, "n_jobs": n_jobs,
        "random_state": random_state, "all_graphs": all_graphs,
    }
    known = {**BayesNetStructureEstimator._parameter_constraints, "all_graphs": ["boolean"]}
    known = {name: known[name] for name in parameters}
    with kept_short():
        validate_parameter_constraints(known, parameters, caller_name="ess_path")
    grid = _read_grid(ess_values)
    search = _read_search(search, init, n_restarts, max_iter, n_jobs)
    score = as_score(score_type)
    reading = read_table(X, None, sample_weight, categories)
    reading.warn_of_columns()
    data, labels = reading.data, reading.labels
    learning = Learning(
        data=data,
        labels=labels,
        score=score,
        search=search,
        constraints=Constraints.from_names(
            labels, required_edges=required_edges, forbidden_edges=forbidden_edges, tiers=tiers,
            max_parents=max_parents,
        ),
        log_prior=read_graph_prior(graph_prior, labels),
        init=init,
        seeds=draw_seeds(check_random_state(random_state), n_restarts),
        max_iter=max_iter,
        n_jobs=n_jobs,
    )
    # Before the search, which changes what is counted for both.
    sums = learning.log_marginal_likelihoods(grid) if all_graphs else None
    learning.expect(grid)
    runs = [learning.graph(ess) for ess in grid]
    reading.warn_of_weights()
    learning.saturated(runs).warn("The best graphs have")

    scores = np.array([one.best.score for one in runs])
    place = int(np.argmax(scores))
    graph = runs[place].best.parents

    def stays(k: int) -> bool:
        """Whether the MAP graph is as good as the best at a grid value."""
        return (
            runs[k].best.parents == graph
            or learning.score_of(graph, grid[k]) >= scores[k] - _TIE * abs(scores[k])
        )

    first = place - sum(1 for _ in takewhile(stays, reversed(range(place))))
    last = place + sum(1 for _ in takewhile(stays, range(place + 1, len(grid))))
    optimum = go_on_to_joint_optimum(data, runs[place], grid[place], learning.graph)
    graphs = [_named_edges(one.best.parents, labels) for one in runs]
    return ESSPath(
        ess=np.array(grid),
        scores=scores,
        n_edges=np.array([len(edges) for edges in graphs]),
        graphs=graphs,
        map_ess=grid[place],
        map_interval=(grid[first], grid[last]),
        continuous_map_ess=optimum.ess,
        labels=list(labels),
        log_marginal_likelihoods=sums,
        all_graphs_ess=None if sums is None else grid[int(np.argmax(sums))],
    )


def _read_grid(ess_values) -> list[float]:
    """The values in ascending order, each once."""
    try:
        values = np.asarray(ess_values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "ess_values must be numbers above zero, such as range(1, 101), got "
            f"{brief(ess_values)}."
        ) from None
    if values.ndim != 1 or not len(values):
        raise ValueError(
            "ess_values must be a sequence of at least one equivalent sample size, such as "
            f"range(1, 101); got an array of shape {values.shape}."
        )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if len(wrong):
        raise ValueError(
            f"ess_values[{wrong[0]}] is {values[wrong[0]]:g}: an equivalent sample size is a "
            "finite number of rows above zero. Remove it."
        )
    return np.unique(values).tolist()


def _read_search(
    search: "str | Search", init, n_restarts: int, max_iter: int | None, n_jobs: int | None
) -> Search:
    search = ExactSearch(n_jobs=n_jobs) if search == "exact" else as_search(search)
    if isinstance(search, ExactSearch):
        for name, value, default in (
            ("init", init, "empty"), ("n_restarts", n_restarts, 0), ("max_iter", max_iter, None)
        ):
            if not isinstance(value, type(default)) or value != default:
                raise ValueError(
                    f"An exact search has no starts, no restarts and no moves: leave {name} at "
                    f"{brief(default)}, got {brief(value)}, or choose another search."
                )
    return search


def _named_edges(
    parents: Sequence[Sequence[int]], labels: Sequence[Hashable]
) -> list[tuple[Hashable, Hashable]]:
    """Pairs (parent, child) in column order of the parent, then of the child."""
    edges = sorted((p, child) for child, given in enumerate(parents) for p in given)
    return [(labels[p], labels[child]) for p, child in edges]
