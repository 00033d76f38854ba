"""The same network as a classifier."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from skbn.estimators.estimator import BayesNetStructureEstimator
from skbn.tables.column_codes import has_missing_cells


class BayesNetClassifier(ClassifierMixin, BayesNetStructureEstimator):
    """A Bayesian network over the features and the class, learned as one and used to classify.

    The same model as `BayesNetStructureEstimator`, which says more of every parameter and has the
    same attributes, with y required and ``score`` the accuracy. `score_samples` gives ln p(x, y),
    or ln p(x) without y.

    Parameters
    ----------
    score_type : str or score object, default="bdeu"
        What the search maximises: the name of a score of the joint distribution, or a
        `skbn.Score` of your own.
    ess : float, "analytic" or "marginal_likelihood", default=1.0
        Equivalent sample size of the Dirichlet prior, in rows, or how it is chosen with the graph.
    search : str or search object, default="greedy"
        How graphs are searched: "greedy", "first_ascent", "tabu", "order" or "exact".
    init : {"empty", "full", "random", "bic", "tree"} or graph, default="empty"
        Where the search starts.
    n_restarts : int, default=0
        Further searches from random graphs.
    max_parents : int, default=None
        Largest number of parents of a variable, the class included.
    required_edges : iterable of (parent, child) names, default=None
        Edges that every graph has. The class is called as its Series is, else "y".
    forbidden_edges : iterable of (parent, child) names, default=None
        Edges that no graph has.
    tiers : iterable of groups of names, default=None
        No edge leads from a later group to an earlier one.
    graph_prior : float or callable, default=None
        Log prior of graphs, in nats: a penalty per edge, or a function of a variable and its
        parents.
    max_iter : int, default=None
        Largest number of moves of a search.
    parameter_ess : float, default=None
        Equivalent sample size for the conditional probabilities; None takes `ess`.
    categories : "auto", list or dict, default="auto"
        The levels of the columns. A list is for X; a dictionary may declare those of y as well.
    handle_missing : {"error", "category"}, default="error"
        What missing cells of X are at fit: refused, or a level of their column.
    handle_unknown : {"error", "missing"}, default="error"
        What values that `fit` did not know are at prediction: refused, or as if missing.
    n_jobs : int, default=None
        Number of threads for the restarts, or for an exact search.
    random_state : int, RandomState instance or None, default=None
        Decides ties and random graphs.
    verbose : int, default=0
        1 prints a line per run, 2 the moves too.

    Attributes
    ----------
    classes_ : ndarray
        The levels of y as `numpy.unique` sorts them, whatever order y declares; with a categorical
        dtype or ``categories={"y": levels}`` also those that do not occur.
    network_ : BayesianNetwork
        Graph, conditional probabilities and state names; the class is its last variable.
    edges_ : list of (parent, child) names
        In column order of the parent, then of the child.
    ess_ : float
        The equivalent sample size of the score, in rows.
    structure_score_ : float
        Score of the graph with `ess_`, log graph prior included, in nats.
    n_features_in_ : int
        Number of columns of X.

    See Also
    --------
    BayesNetStructureEstimator : Its parameters and attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import KBinsDiscretizer
    >>> from skbn import BayesNetClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    >>> model = make_pipeline(bins, BayesNetClassifier(ess=2.0, random_state=0)).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.95
    """

    def fit(self, X, y, sample_weight=None):
        """Learn a network of the features and the class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Categories, as in `BayesNetStructureEstimator.fit`.
        y : array-like of shape (n_samples,)
            Class labels, all known: a missing one is refused whatever `handle_missing` says.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts; rows of weight zero are dropped, levels included. Shares are
            refused or told of, as by `BayesNetStructureEstimator.fit`.

        Returns
        -------
        BayesNetClassifier
            This classifier, fitted.

        Raises
        ------
        ValueError, TypeError
            As `BayesNetStructureEstimator.fit`, and without y.
        """
        return super().fit(X, y, sample_weight)

    def predict_log_proba(self, X):
        """Take the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows with the columns of `fit`. Missing cells are summed out.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In nats, classes in the order of `classes_`; minus infinity for probability 0.
        """
        with np.errstate(divide="ignore"):
            probabilities = self.predict_proba(X)
            return np.log(probabilities, out=probabilities)

    def _check_y(self, y, table):
        y = super()._check_y(y, table)
        if y is None:
            raise ValueError(
                "BayesNetClassifier requires y to be passed, but the target y is None. Without a "
                "target fit BayesNetStructureEstimator."
            )
        # Missing classes are summed out at scoring; where they are refused all columns are named.
        if not has_missing_cells(y):
            assert_all_finite(y, input_name="y")
            try:
                check_classification_targets(y)
            except TypeError as error:
                raise TypeError(
                    "Classes must be of one type, since they are sorted, but y mixes several: "
                    f"{error}. Convert them, for example with y.astype(str)."
                ) from error
        return y

    def _y_missing(self) -> str | None:
        return "error"
