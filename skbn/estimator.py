"""The estimator: a table goes in, a network and its predictions come out."""

from collections.abc import Hashable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from skbn.constraints import Constraints
from skbn.data import CategoricalData, smallest_code_type
from skbn.encoding import (
    TableTemplate,
    apply_categories,
    apply_column,
    as_table,
    learn_categories,
    learn_column,
    table_labels,
)
from skbn.graph_prior import read_graph_prior
from skbn.local_scores import LocalScores
from skbn.network import BayesianNetwork
from skbn.parameters import fit_tables
from skbn.scores import SCORES, as_score
from skbn.search import INITS, SEARCHES, SearchResult, run_search


class HistoryStep(NamedTuple):
    """A move of a search, by column names, and the score of the graph that it led to."""

    kind: str
    parent: Hashable
    child: Hashable
    score: float


class BayesNetStructureEstimator(BaseEstimator):
    """Learn the structure and the parameters of a Bayesian network from a table of categories.

    Parameters
    ----------
    score_type : {"bdeu", "loglik", "bic", "aic", "mdl", "k2"} or score object, default="bdeu"
        What the search maximises; see `skbn.scores`. An object with the methods of
        `skbn.Score` is a score of your own.
    ess : float, default=1.0
        Equivalent sample size of the Dirichlet prior, in rows: it enters the scores that have
        one, and the parameters unless `parameter_ess` is given.
    search : {"greedy", "first_ascent", "tabu", "order"} or search object, default="greedy"
        How graphs are searched. An object, such as ``TabuSearch(tabu_length=20)``, has parameters
        of its own.
    init : {"empty", "full", "random", "bic", "tree"} or graph, default="empty"
        Where the search starts: no edges; all edges in column order (`skbn.full_graph` gives
        another order); random edges, as many as columns; the optimum of BIC by the same search;
        the tree of greatest mutual information; or a graph: (parent, child) pairs of column names,
        an adjacency matrix, a networkx graph, a fitted estimator.
    n_restarts : int, default=0
        Further searches from random graphs. The best of all runs is kept.
    max_parents : int, default=None
        Largest number of parents of a variable.
    required_edges, forbidden_edges : iterable of (parent, child) names, default=None
    tiers : iterable of groups of names, default=None
        No edge leads from a later group to an earlier one.
    graph_prior : float or callable, default=None
        Log prior of graphs, in nats: a number is the penalty per edge, a function is called as
        ``graph_prior(variable, parents)`` with names.
    max_iter : int, default=None
        Largest number of moves of a search (for "order", of sweeps over all variables).
    parameter_ess : float, default=None
        Equivalent sample size for the conditional probabilities (Eq. 3); None takes `ess`.
    categories : "auto", list or dict, default="auto"
        The levels of the columns: read from the table, or given as one list per column, or as a
        dictionary from column name to list. A categorical dtype keeps its declared levels.
    n_jobs : int, default=None
        Number of threads for the restarts.
    random_state : int, RandomState instance or None, default=None
        Decides ties and random graphs.
    verbose : int, default=0
        1 prints a line per run.

    Attributes
    ----------
    network_ : BayesianNetwork
        Graph, conditional probabilities and state names.
    edges_ : list of (parent, child) names
    adjacency_ : ndarray of shape (n_variables, n_variables), bool
        Row -> column.
    categories_ : list of ndarray
        The levels of every variable.
    classes_ : ndarray
        The levels of y, if there was one.
    ess_ : float
        The equivalent sample size used.
    structure_score_ : float
        Score of the graph, log graph prior included, in nats.
    history_ : list of HistoryStep
        The moves of the best run, (kind, parent, child, score); searches over orders have none.
    n_iter_ : int
        Number of moves of the best run.
    restart_scores_ : ndarray of shape (n_restarts + 1,)
        Final score of every run, the one from `init` first.
    restart_histories_ : list of list of HistoryStep
    n_evaluations_ : int
        How many families were counted.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where all column names are strings.

    See Also
    --------
    BayesNetClassifier : The same model as a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import BayesNetStructureEstimator
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(500) < 0.3
    >>> wet = np.where(rng.random(500) < 0.9, rain, ~rain)
    >>> X = np.column_stack([rain, wet, rng.random(500) < 0.5])
    >>> bn = BayesNetStructureEstimator(ess=1.0, random_state=0).fit(X)
    >>> bn.edges_
    [('x1', 'x0')]
    >>> bn.predict_proba(X[:1])[0].round(2)
    array([[0.97, 0.03]])
    """

    _parameter_constraints: dict = {
        "score_type": [StrOptions(set(SCORES)), HasMethods(["cell_terms", "parent_terms"])],
        "ess": [Interval(Real, 0, None, closed="neither")],
        "search": [StrOptions(set(SEARCHES)), HasMethods(["search"])],
        "init": "no_validation",
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "max_parents": [Interval(Integral, 0, None, closed="left"), None],
        "required_edges": "no_validation",
        "forbidden_edges": "no_validation",
        "tiers": "no_validation",
        "graph_prior": [Interval(Real, None, None, closed="neither"), callable, None],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "parameter_ess": [Interval(Real, 0, None, closed="neither"), None],
        "categories": [StrOptions({"auto"}), list, tuple, dict],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        score_type="bdeu",
        ess=1.0,
        search="greedy",
        init="empty",
        n_restarts=0,
        max_parents=None,
        required_edges=None,
        forbidden_edges=None,
        tiers=None,
        graph_prior=None,
        max_iter=None,
        parameter_ess=None,
        categories="auto",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.score_type = score_type
        self.ess = ess
        self.search = search
        self.init = init
        self.n_restarts = n_restarts
        self.max_parents = max_parents
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.graph_prior = graph_prior
        self.max_iter = max_iter
        self.parameter_ess = parameter_ess
        self.categories = categories
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
