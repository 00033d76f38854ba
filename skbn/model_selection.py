"""Choosing the equivalent sample size: by cross-validation, by Eq. 18, by marginal likelihood."""

import time
import warnings
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from skbn.estimator import BayesNetStructureEstimator

# The ways of choosing beside the grid: attribute prefix, and the estimator's `ess` for it.
_POLICIES = {"analytic": "analytic", "map": "marginal_likelihood"}


class ESSSearchCV(BaseSearchCV):
    """Compare equivalent sample sizes by cross-validation, beside two that need none.

    Every value of the grid is fitted on every training part and judged on the test part. The same
    folds judge the estimate of Steck (2008, Eq. 18) and the joint optimum of the marginal
    likelihood (Eq. 11), each chosen on the training part alone, so that the three ways of choosing
    can be compared. Tables are read and sets of variables are counted once per fold.

    Parameters
    ----------
    estimator : BayesNetStructureEstimator, BayesNetClassifier or Pipeline that ends in one
    ess : sequence of float
        The grid.
    scoring : str, callable or None, default=None
        A scorer; None takes the estimator's own score: the mean log-probability of a row (minus
        the log-loss, in nats), or the accuracy of a classifier.
    graph : graph, default=None
        Holds one graph fixed, so that only the ESS of the parameters varies: (parent, child)
        pairs of names, an adjacency matrix, a networkx graph or a fitted estimator. None learns
        the graph anew for every value.
    cv : int, splitter, iterable or None, default=None
        Folds, as in `sklearn.model_selection.GridSearchCV`. Sorted tables want
        ``KFold(shuffle=True)``.
    refit : {True, "cv", "analytic", "map", False}, default=True
        Which ESS `best_estimator_` has: the best of the grid (True is "cv"), that of Eq. 18, or
        the joint optimum; each from the whole table.
    n_jobs : int, default=None
        Folds at a time.
    error_score : "raise" or float, default=nan
        Score of a fit that fails, with a warning; "raise" raises its error.
    verbose : int, default=0
        1 prints a line per fold.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        One entry per value of the grid, as `GridSearchCV` has them.
    best_params_, best_score_ : dict and float
        The chosen ESS and its cross-validated score.
    best_index_ : int
        Its place in the grid, for ``refit="cv"`` only.
    best_estimator_ : estimator
        Fitted on the whole table, unless ``refit=False``.
    analytic_ess_, map_ess_ : float
        The estimate of Eq. 18 and the joint optimum, from the whole table.
    analytic_fold_ess_, map_fold_ess_ : ndarray of shape (n_splits,)
        The same from each training part.
    analytic_fold_scores_, map_fold_scores_ : ndarray of shape (n_splits,)
        Scores on the test parts with these.
    analytic_score_, map_score_ : float
        Their means.
    n_splits_, scorer_, refit_time_, multimetric_
        As in `GridSearchCV`.

    Notes
    -----
    With ``categories="auto"`` levels are read from the whole table, since a level is part of the
    domain: otherwise a fold without a rare one would fail.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import KFold
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import KBinsDiscretizer
    >>> from skbn import BayesNetStructureEstimator, ESSSearchCV
    >>> X = load_wine().data[:, :5]
    >>> bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    >>> model = make_pipeline(bins, BayesNetStructureEstimator(random_state=0))
    >>> folds = KFold(5, shuffle=True, random_state=0)
    >>> search = ESSSearchCV(model, ess=[1, 3, 10, 30], cv=folds).fit(X)
    >>> search.best_params_
    {'bayesnetstructureestimator__ess': 3}
    >>> round(search.analytic_ess_, 1)
    2.9
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "set_params"])],
        "ess": ["array-like"],
        "scoring": BaseSearchCV._parameter_constraints["scoring"],
        "graph": "no_validation",
        "cv": ["cv_object"],
        "refit": ["boolean", StrOptions({"cv", *_POLICIES})],
        "n_jobs": BaseSearchCV._parameter_constraints["n_jobs"],
        "error_score": [StrOptions({"raise"}), Interval(Real, None, None, closed="both")],
        "verbose": ["verbose"],
    }
    # What BaseSearchCV's own methods read beside the parameters.
    pre_dispatch = "2*n_jobs"
    return_train_score = False

    def __init__(
        self,
        estimator,
        ess,
        *,
        scoring=None,
        graph=None,
        cv=None,
        refit=True,
        n_jobs=None,
        error_score=np.nan,
        verbose=0,
    ):
        self.estimator = estimator
        self.ess = ess
        self.scoring = scoring
        self.graph = graph
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.error_score = error_score
        self.verbose = verbose
