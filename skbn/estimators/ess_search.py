"""Choosing the equivalent sample size: by cross-validation, by Eq. 18, by marginal likelihood."""

import copy
import time
import traceback
from collections.abc import Callable
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone, is_classifier
from sklearn.metrics import get_scorer_names
from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _score, _warn_or_raise_about_fit_failures
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from skbn.estimators.estimator import BayesNetStructureEstimator
from skbn.estimators.predictions import undone_on_failure
from skbn.graphs.given_graph import fitted_within
from skbn.messages import brief, first_few, kept_short
from skbn.networks.persistence import Persistent
from skbn.tables.reading import open_table

# The ways of choosing beside the grid: attribute prefix, and the estimator's `ess` for it.
_POLICIES = {"analytic": "analytic", "map": "marginal_likelihood"}


class ESSSearchCV(Persistent, BaseSearchCV):
    """Compare equivalent sample sizes by cross-validation, beside two that need none.

    Every value of the grid is fitted on every training part and judged on the test part. The same
    folds judge the estimate of Steck (2008, Eq. 18) and the joint optimum of the marginal
    likelihood (Eq. 11), each chosen on the training part alone, so that the three ways of choosing
    can be compared. Tables are read and sets of variables are counted once per fold.

    Parameters
    ----------
    estimator : BayesNetStructureEstimator, BayesNetClassifier or Pipeline that ends in one
        Cloned for every fit, where the values of the grid replace its `ess`.
    ess : sequence of float
        The grid, in rows, each above zero.
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
        1 prints a line when a fold is done, and one per ESS at the end.
    all_graphs : bool, default=False
        Report the marginal likelihood of the whole table, summed exactly over all graphs, for
        every value of the grid. For up to about 20 columns; see `skbn.edge_posteriors`.

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
    log_marginal_likelihood_ : ndarray of shape (n_values,)
        ln p(data | ess) summed over all graphs; only with ``all_graphs=True``.
    all_graphs_ess_ : float
        The value of the grid where it is highest.
    n_splits_, scorer_, refit_time_, multimetric_
        As in `GridSearchCV`.
    feature_names_in_ : ndarray of str
        Names of the columns of X, where `best_estimator_` has them.

    Notes
    -----
    With ``categories="auto"`` levels are read from the whole table, since a level is part of the
    domain: otherwise a fold without a rare one would fail. For the same reason metrics of
    probabilities that take `labels`, such as the log-loss, are told the classes of the model: by
    themselves they take those that occur in the test part.

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
    {'bayesnetstructureestimator__ess': 10}
    >>> round(search.analytic_ess_, 1)
    9.1
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "set_params"])],
        "ess": ["array-like"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "graph": "no_validation",
        "cv": ["cv_object"],
        "refit": ["boolean", StrOptions({"cv", *_POLICIES})],
        "n_jobs": [Integral, None],
        "error_score": [StrOptions({"raise"}), Real],
        "verbose": ["verbose"],
        "all_graphs": ["boolean"],
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
        all_graphs=False,
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
        self.all_graphs = all_graphs

    @undone_on_failure
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Judge the grid and the two other choices on every fold, and refit the one chosen.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            What the estimator takes: categories, or whatever a pipeline makes categories of.
        y : array-like of shape (n_samples,), default=None
            The target; a classifier needs one.
        **params : dict
            Passed to `fit` of the estimator, to the scorer and to the splitter, as by
            `GridSearchCV`: ``sample_weight``, for instance, or ``groups``.

        Returns
        -------
        ESSSearchCV
            This search, fitted.

        Raises
        ------
        TypeError
            If the estimator is not, or does not end in, one of this package.
        ValueError
            For a grid that is none, and if every fit of the grid failed.

        Warns
        -----
        FitFailedWarning
            If some fits failed; their scores are `error_score`.
        """
        grid = self._check_grid()
        _final(self.estimator)  # refuses what does not end in an estimator of this package
        scorer, _ = self._get_scorers()
        X, y = indexable(X, y)
        if not isinstance(self.estimator, Pipeline):
            open_table(X)  # refuses what is no table before rows of it are taken
        routed = self._get_routed_params_for_fit(_check_method_params(X, params=params))
        told = {"estimator": self, "X": X, "y": y, "metadata": params or None}
        context = self._init_callback_context(
            max_subtasks=2 + bool(self.refit)
        ).call_on_fit_task_begin(**told)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(cv.split(X, y, **routed.splitter.split))
        if not folds:
            raise ValueError("cv gave no folds. Pass a number of folds or a splitter.")
        self.n_splits_ = len(folds)
        estimator = self._with_graph(clone(self.estimator))
        candidates = [*grid, *_POLICIES.values()]
        of_folds = context.subcontext("folds", None, len(folds), False)
        of_folds.call_on_fit_task_begin(**told)
        # Made ahead of the folds, which may be judged by other processes.
        tasks = [
            _tasks(of_folds.subcontext("fold", number, len(candidates), False), candidates)
            for number in range(len(folds))
        ]
        judged = Parallel(n_jobs=self.n_jobs)(
            delayed(_judge_fold)(
                estimator, X, y, train, test, routed.estimator.fit, routed.scorer.score, scorer,
                grid, list(_POLICIES.values()), self.error_score, self, of_fold,
                f"fold {number}" if self.verbose else None,
            )
            for number, ((train, test), of_fold) in enumerate(zip(folds, tasks, strict=True))
        )
        of_folds.call_on_fit_task_end(**told)

        by_candidate = list(zip(*judged, strict=True))
        of_grid = [fit for candidate in by_candidate[: len(grid)] for fit in candidate]
        _warn_or_raise_about_fit_failures(of_grid, self.error_score)
        name = _prefix(estimator) + "ess"
        self.cv_results_ = self._format_results([{name: ess} for ess in grid], len(folds), of_grid)
        self.multimetric_ = False
        self.scorer_ = scorer
        of_whole = context.subcontext("whole table", max_subtasks=len(_POLICIES))
        of_whole.call_on_fit_task_begin(**told)
        fit_whole = _fitter(
            estimator, X, y, np.arange(_num_samples(X)), routed.estimator.fit, [],
            warn=not self.refit,  # the refit warns by itself
        )
        for (policy, ess), fits in zip(
            _POLICIES.items(), by_candidate[len(grid) :], strict=True
        ):
            self._keep_policy(policy, fits)
            task = of_whole.subcontext(ess).call_on_fit_task_begin(**told)
            setattr(self, f"{policy}_ess_", _final(fit_whole(ess)).ess_)
            task.call_on_fit_task_end(**told)
        of_whole.call_on_fit_task_end(**told)
        if self.verbose:
            self._print_scores(grid)

        for name_of_sum in ("log_marginal_likelihood_", "all_graphs_ess_"):
            if hasattr(self, name_of_sum):
                delattr(self, name_of_sum)
        if self.all_graphs:
            sums = _sums_over_graphs(estimator, X, y, routed.estimator.fit, grid)
            self.log_marginal_likelihood_ = sums
            self.all_graphs_ess_ = grid[int(np.argmax(sums))]

        choice = "cv" if self.refit is True else self.refit
        if choice in (False, "cv"):
            self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
            self.best_score_ = self.cv_results_["mean_test_score"][self.best_index_]
            self.best_params_ = self.cv_results_["params"][self.best_index_]
        else:
            if hasattr(self, "best_index_"):
                del self.best_index_
            self.best_score_ = getattr(self, f"{choice}_score_")
            self.best_params_ = {name: getattr(self, f"{choice}_ess_")}
        if choice:
            self.best_estimator_ = _set_ess(clone(estimator), self.best_params_[name])
            task = context.subcontext("refit")
            with task.propagate_callback_context(self.best_estimator_):
                task.call_on_fit_task_begin(**told)
                started = time.perf_counter()
                _fit(self.best_estimator_, X, y, routed.estimator.fit)
                self.refit_time_ = time.perf_counter() - started
            task.call_on_fit_task_end(**told)
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        context.call_on_fit_task_end(**told, reconstruction_attributes={})
        return self

    def _validate_params(self) -> None:
        with kept_short():
            super()._validate_params()

    def _check_grid(self) -> list:
        try:
            grid = np.asarray(self.ess)
        except ValueError:  # lists of different lengths
            grid = np.empty(0)
        if grid.ndim != 1 or not len(grid) or grid.dtype.kind not in "iuf":
            raise ValueError(f"ess must be a list of numbers above 0, got {brief(self.ess)}.")
        bad = grid[~(np.isfinite(grid) & (grid > 0))]
        if len(bad):
            raise ValueError(f"ess must hold finite numbers above 0, got {bad[0]} among them.")
        return grid.tolist()

    def _with_graph(self, estimator):
        """The estimator with the given graph as the only one it can find."""
        if self.graph is None:
            return estimator
        # The copies of the estimator would copy a fitted one, and copies forget their fit.
        graph = fitted_within(self.graph)
        graph = getattr(graph, "edges_", graph)
        fixed = {"init": graph, "search": "greedy", "max_iter": 0, "n_restarts": 0}
        prefix = _prefix(estimator)
        return estimator.set_params(**{prefix + name: value for name, value in fixed.items()})

    def _print_scores(self, grid: list) -> None:
        means = self.cv_results_["mean_test_score"].tolist()
        rows = [(f"{ess:.4g}", mean) for ess, mean in zip(grid, means, strict=True)]
        for policy, ess in _POLICIES.items():
            chosen = getattr(self, f"{policy}_ess_")
            rows.append((f"{chosen:.4g} ({ess})", getattr(self, f"{policy}_score_")))
        for ess, mean in rows:
            print(f"ess {ess}: mean test score {mean:.4f}")

    def _keep_policy(self, policy: str, fits) -> None:
        scores = np.array([fit["test_scores"] for fit in fits], dtype=np.float64)
        setattr(self, f"{policy}_fold_scores_", scores)
        setattr(self, f"{policy}_fold_ess_", np.array([fit["ess"] for fit in fits]))
        setattr(self, f"{policy}_score_", float(scores.mean()))


class _Recorder(BaseEstimator):
    """Stands at the end of a pipeline and keeps what would be fitted."""

    def __init__(self, estimator=None):
        self.estimator = estimator

    def fit(self, X, y=None, sample_weight=None):
        self.received_ = X, y, sample_weight
        return self

    def get_metadata_routing(self):
        return self.estimator.get_metadata_routing()


def _final(estimator) -> BayesNetStructureEstimator:
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(final, BayesNetStructureEstimator):
        raise TypeError(
            "ESSSearchCV needs a BayesNetStructureEstimator, a BayesNetClassifier or a Pipeline "
            f"that ends in one, got {brief(final)}."
        )
    return final


def _prefix(estimator) -> str:
    """What the names of the final estimator's parameters start with."""
    return f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""


def _set_ess(estimator, ess):
    return estimator.set_params(**{_prefix(estimator) + "ess": ess})


def _fit(estimator, X, y, fit_params):
    return estimator.fit(X, **fit_params) if y is None else estimator.fit(X, y, **fit_params)


def _tasks(context, candidates: list) -> list:
    """The task of a fold, then those of the candidates."""
    names = [ess if isinstance(ess, str) else f"ess={ess:.4g}" for ess in candidates]
    return [context, *(context.subcontext(name, k) for k, name in enumerate(names))]


def _judge_fold(
    estimator, X, y, train, test, fit_params, score_params, scorer, grid, policies, error_score,
    caller, tasks, title,
) -> list[dict[str, Any]]:
    """Fit every ESS on the training part and score it on the test part.

    The callbacks of `caller` are told of the `tasks`; a line is printed if there is a title.
    Returns one dictionary per ESS, as scikit-learn's own search collects them, and the ESS used.
    """
    told = {"estimator": caller, "X": X, "y": y}
    of_fold, *of_candidates = tasks
    of_fold.call_on_fit_task_begin(**told)
    X_test, y_test = _safe_split(estimator, X, y, test, train)
    score_params = _check_method_params(X, params=score_params, indices=test)
    fit, failure, started = None, None, time.perf_counter()
    try:
        fit = _fitter(estimator, X, y, train, fit_params, grid)
    except Exception:
        if error_score == "raise":
            raise
        failure = traceback.format_exc()
    if isinstance(scorer, _PassthroughScorer) and not isinstance(estimator, Pipeline):
        # Our own methods take a table that is open, and read it once for all values.
        X_test = open_table(X_test)
    results = []
    for ess, task in zip([*grid, *policies], of_candidates, strict=True):
        task.call_on_fit_task_begin(**told)
        result = {
            "fit_error": failure, "ess": np.nan, "score_time": 0.0, "test_scores": error_score
        }
        try:
            model = None if fit is None else fit(ess)
        except Exception:
            if error_score == "raise":
                raise
            model, result["fit_error"] = None, traceback.format_exc()
        fitted = time.perf_counter()
        # What the fits share counts as time of the first.
        result["fit_time"] = fitted - started
        if model is not None:
            result["ess"] = _final(model).ess_
            judge = _with_classes(scorer, getattr(model, "classes_", None), score_params)
            result["test_scores"] = _score(
                model, X_test, y_test, judge, score_params, error_score
            )
            result["score_time"] = time.perf_counter() - fitted
            if isinstance(result["test_scores"], dict):
                raise TypeError(
                    "scoring must give one number, got a dictionary with "
                    f"{first_few(list(result['test_scores']))}. Choose one of them."
                )
        results.append(result)
        task.call_on_fit_task_end(**told)
        started = time.perf_counter()
    of_fold.call_on_fit_task_end(**told)
    if title is not None:
        print(f"{title}: {[round(result['test_scores'], 4) for result in results]}")
    return results


def _with_classes(scorer, classes, score_params):
    """The scorer, told the classes of the model if its metric of probabilities takes `labels`.

    Metrics that are not told take them from y, and fail where a test part lacks one.
    """
    if (
        classes is None
        or not isinstance(scorer, _BaseScorer)
        or scorer._response_method == "predict"  # there `labels` are those to average over
        or "labels" not in signature(scorer._score_func).parameters
        or "labels" in {**scorer._kwargs, **score_params}
    ):
        return scorer
    told = copy.copy(scorer)
    told._kwargs = {**scorer._kwargs, "labels": classes}
    return told


def _fitter(
    estimator, X, y, train, fit_params, grid, warn=False
) -> Callable[[float | str], Any]:
    """Function that fits one ESS on the rows `train`; all that does not depend on it is done once.

    The levels are those of the whole table, after what a pipeline makes of it.
    """
    X_train, y_train = _safe_split(estimator, X, y, train)
    final = _final(estimator)
    params = _check_method_params(X, params=fit_params, indices=train)
    # What precedes our estimator is fitted once, and what reaches it is kept.
    pipeline, received = _received(estimator, X_train, y_train, params)
    whole, weights = X, fit_params.get("sample_weight")
    if isinstance(estimator, Pipeline):
        name = estimator.steps[-1][0]
        whole = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
        weights = pipeline._check_method_params("fit", fit_params)[name]["fit"].get("sample_weight")
    levels = final._levels(whole, y, weights, warn)
    fit_final = clone(final).set_params(categories=levels)._fitter(*received, grid)

    def fit(ess):
        fitted = fit_final(ess)
        if not isinstance(estimator, Pipeline):
            return fitted
        return copy.copy(pipeline).set_params(**{name: fitted})

    return fit


def _sums_over_graphs(estimator, X, y, fit_params, grid) -> np.ndarray:
    """ln p(data | ess) summed over all graphs, of the table that reaches the final estimator."""
    _, received = _received(estimator, X, y, fit_params)
    reader = clone(_final(estimator))
    return reader._prepare(reader._read(*received)[2]).log_marginal_likelihoods(grid)


def _received(estimator, X, y, fit_params) -> tuple[Any, tuple]:
    """The pipeline with its steps fitted, and the table, y and weights that its last step gets.

    An estimator alone gets them as they are.
    """
    if not isinstance(estimator, Pipeline):
        return estimator, (X, y, fit_params.get("sample_weight"))
    name, final = estimator.steps[-1]
    pipeline = _fit(clone(estimator).set_params(**{name: _Recorder(final)}), X, y, fit_params)
    return pipeline, pipeline[-1].received_
