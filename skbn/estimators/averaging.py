"""Prediction averaged over the posterior of all graphs, in place of one graph."""

from collections import Counter
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skbn.estimators.estimator import BayesNetStructureEstimator
from skbn.estimators.predictions import Predictions, undone_on_failure
from skbn.inference.conditional_table import fit_table
from skbn.networks.mixture import NetworkMixture
from skbn.networks.network import BayesianNetwork
from skbn.networks.persistence import Persistent
from skbn.posteriors.marginal_likelihood import posterior_of
from skbn.scores.local_scores import LocalScores
from skbn.tables.templates import ColumnTemplate, TableTemplate

# What the estimator of one graph takes as well, with the same meaning.
_SHARED = (
    "score_type", "ess", "max_parents", "required_edges", "forbidden_edges", "tiers",
    "graph_prior", "parameter_ess", "categories", "handle_missing", "handle_unknown", "n_jobs",
)


class BayesNetAverager(Predictions, Persistent, BaseEstimator):
    """Predict with many Bayesian networks, drawn from the exact posterior over all graphs.

    Where several graphs explain a table about as well, one of them alone is too sure of itself.
    The average is p(x | data) = sum over graphs of P(graph | data) p(x | graph, data), over graphs
    that are drawn exactly (no Markov chain), with the parameters of Equation 3 (Steck 2008) for
    each. So in predictions a graph counts by its posterior and by how well it explains the rest of
    the row. For up to about 20 columns.

    Parameters
    ----------
    score_type : str or score object, default="bdeu"
        A graph weighs exp(score); see `skbn.edge_posteriors`.
    ess : float, default=1.0
        Equivalent sample size, in rows: for the scores that have one, and for the parameters
        unless `parameter_ess` is given.
    n_graphs : int, default=500
        How many graphs are drawn. Those drawn more than once are kept once, with their weight.
    max_parents : int, default=None
        Largest number of parents of a variable.
    required_edges : iterable of (parent, child) names, default=None
        Edges that every graph has. The sum is over the graphs that meet the constraints.
    forbidden_edges : iterable of (parent, child) names, default=None
        Edges that no graph has.
    tiers : iterable of groups of names, default=None
        No edge leads from a later group to an earlier one.
    graph_prior : float or callable, default=None
        Log prior of graphs, in nats: a penalty per edge, or a function of a variable and its
        parents, by name. None is uniform over the graphs.
    parameter_ess : float, default=None
        Equivalent sample size for the conditional probabilities; None takes `ess`.
    categories : "auto", list or dict, default="auto"
        The levels of the columns, as in `BayesNetStructureEstimator`.
    handle_missing : {"error", "category"}, default="error"
        What missing cells are at fit: refused, or a level of their column, its last. At prediction
        they are summed out, but in a column that has this level.
    handle_unknown : {"error", "missing"}, default="error"
        What values that `fit` did not know are at prediction: refused, or as if the cell were
        missing.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState instance or None, default=None
        Decides which graphs are drawn.

    Attributes
    ----------
    edge_posterior_ : EdgePosteriors
        Exact, from all graphs: ``edge_posterior_.edges`` is the matrix P(row -> column | data),
        ``edge_posterior_.to_frame()`` the same with names. Without what its other methods need.
    log_marginal_likelihood_ : float
        ln p(data), summed over all graphs; see `EdgePosteriors`.
    networks_ : list of BayesianNetwork
        The distinct graphs drawn, the most frequent first, with their parameters.
    weights_ : ndarray of shape (n_networks,)
        How often each was drawn, as a share of all.
    estimator_ : BayesNetStructureEstimator
        The same model with the single best graph, fitted to the same table.
    categories_ : list of ndarray
        The levels of every variable.
    classes_ : ndarray
        The levels of y, if there was one, sorted, as in `BayesNetStructureEstimator`.
    n_features_in_ : int
        Number of columns of X, y not counted.
    feature_names_in_ : ndarray of str
        Names of the columns of X; only where all of them are strings.

    See Also
    --------
    edge_posteriors : The posterior alone, and what else can be asked of it.
    BayesNetStructureEstimator : One graph.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import BayesNetAverager
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(60) < 0.3
    >>> wet = np.where(rng.random(60) < 0.9, rain, ~rain)
    >>> X = np.column_stack([rain, wet, rng.random(60) < 0.5])
    >>> model = BayesNetAverager(random_state=0).fit(X)
    >>> round(float(model.edge_posterior_.adjacent[0, 1]), 3)
    0.999
    >>> len(model.networks_) > 2
    True
    >>> model.predict_proba(X[:1])[0].shape
    (1, 2)
    """

    _parameter_constraints: ClassVar[dict] = {
        **{name: BayesNetStructureEstimator._parameter_constraints[name] for name in _SHARED},
        "ess": [Interval(Real, 0, None, closed="neither")],
        "n_graphs": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        score_type="bdeu",
        ess=1.0,
        n_graphs=500,
        max_parents=None,
        required_edges=None,
        forbidden_edges=None,
        tiers=None,
        graph_prior=None,
        parameter_ess=None,
        categories="auto",
        handle_missing="error",
        handle_unknown="error",
        n_jobs=None,
        random_state=None,
    ):
        self.score_type = score_type
        self.ess = ess
        self.n_graphs = n_graphs
        self.max_parents = max_parents
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.graph_prior = graph_prior
        self.parameter_ess = parameter_ess
        self.categories = categories
        self.handle_missing = handle_missing
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.random_state = random_state

    @undone_on_failure
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Sum over all graphs, draw some of them, and fit their parameters.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Categories, as in `BayesNetStructureEstimator.fit`.
        y : array-like of shape (n_samples,), default=None
            Joins the networks as their last variable.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts; rows of weight zero are dropped, levels included. Shares are
            refused or told of, as by `BayesNetStructureEstimator.fit`.

        Returns
        -------
        BayesNetAverager
            This estimator, fitted.

        Raises
        ------
        ValueError, TypeError
            As `BayesNetStructureEstimator.fit`, and if no graph meets the constraints.
        MemoryError
            If the sums over all graphs would not fit into memory; before they start.

        Warns
        -----
        DataWarning
            As `edge_posteriors`.
        """
        # The estimator of one graph reads tables, here and for predictions.
        shared = {name: getattr(self, name) for name in _SHARED}
        single = BayesNetStructureEstimator(search="exact", **shared)
        table, y, reading = single._read(X, y, sample_weight)
        reading.warn_of_columns()
        learning = single._prepare(reading)
        scores = LocalScores(reading.data, learning.score, self.ess, learning.log_prior)
        posterior = posterior_of(
            scores, reading.labels, learning.constraints, families=learning.families,
            n_jobs=self.n_jobs,
        )
        reading.warn_of_weights()
        rng = check_random_state(self.random_state)
        drawn = Counter(map(tuple, posterior.sample_parents(self.n_graphs, rng)))
        ess = self.ess if self.parameter_ess is None else self.parameter_ess
        families = {(child, given) for graph in drawn for child, given in enumerate(graph)}
        tables = {
            (child, given): fit_table(reading.data, child, given, ess)
            for child, given in sorted(families)
        }
        ordered = sorted(drawn.items(), key=lambda item: (-item[1], item[0]))
        self.networks_ = [
            BayesianNetwork(
                reading.labels, reading.categories, [tables[family] for family in enumerate(graph)]
            )
            for graph, _ in ordered
        ]
        self.weights_ = np.array([count for _, count in ordered]) / self.n_graphs
        self.edge_posterior_ = posterior.without_sums()
        self.log_marginal_likelihood_ = posterior.log_marginal_likelihood
        self.estimator_ = single._keep(
            table, y, reading, learning, learning.learn(float(self.ess))
        )
        self.categories_ = reading.categories
        self._mixture = NetworkMixture(self.networks_, self.weights_)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(single, name):
                setattr(self, name, getattr(single, name))
            elif hasattr(self, name):
                delattr(self, name)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.handle_missing == "category"
        return tags

    @property
    def _distribution(self) -> NetworkMixture:
        return self._mixture

    @property
    def _templates(self) -> tuple[TableTemplate, ColumnTemplate | None]:
        return self.estimator_._templates

    def _levels(self, X, y=None, sample_weight=None, warn=False):
        shared = {name: getattr(self, name) for name in _SHARED}
        return BayesNetStructureEstimator(**shared)._levels(X, y, sample_weight, warn)

    def _read_codes(self, X, y=None) -> tuple[np.ndarray, np.ndarray | None]:
        check_is_fitted(self, "networks_")
        return self.estimator_._read_codes(X, y)
