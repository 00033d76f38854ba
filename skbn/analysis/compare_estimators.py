"""Several estimators on the same folds of a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv, cross_validate
from sklearn.utils import indexable

from skbn.estimators.averaging import BayesNetAverager
from skbn.estimators.estimator import BayesNetStructureEstimator
from skbn.graphs.given_graph import fitted_within
from skbn.messages import brief, first_few
from skbn.tables.reading import open_target


def compare_estimators(
    estimators: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any = None,
    *,
    cv: Any = None,
    n_jobs: int | None = None,
) -> dict[str, list | np.ndarray]:
    """Compare estimators by their cross-validated log-loss, on the same folds for all.

    With ``categories="auto"`` levels are read from the whole table, since a level is part of the
    domain; within a pipeline, declare them.

    Parameters
    ----------
    estimators : mapping of str to estimator, or list of estimators
        All classifiers, ours or others with `predict_proba`: their loss is that of the class given
        the columns. Or all estimators of the joint distribution, with `score`. Pipelines and
        searches of such are taken too. Those of a list are called by their class, or as they are
        written where several are of one class.
    X : array-like or data frame of shape (n_samples, n_features)
        The table, in whatever form all of the estimators take.
    y : array-like of shape (n_samples,), default=None
        Needed by classifiers.
    cv : int, splitter or iterable of splits, default=None
        As in `sklearn.model_selection.cross_validate`; None makes five folds.
    n_jobs : int, default=None
        Folds at a time, by joblib.

    Returns
    -------
    dict of str to list or ndarray
        One entry per estimator in each, the lowest loss first; ``pandas.DataFrame(result)`` makes a
        table of it.

        estimator : list of str
            Names.
        log_loss : ndarray
            Mean over the folds, in nats a row.
        log_loss_std : ndarray
            Standard deviation over the folds, in nats.
        difference : ndarray
            Mean loss less that of the best, in nats.
        difference_se : ndarray
            Standard error of that, from the differences within each fold; folds share rows of
            training, so it is a guide only. NaN for one fold.
        n_edges : ndarray
            Mean number of edges; NaN for what has none.
        fit_seconds : ndarray
            Mean time to fit.

        A loss is infinite where something came that has probability 0, as a class has to a
        classifier that was not fitted to it; differences without a value are NaN.

    Raises
    ------
    ValueError
        If there are no estimators, or classifiers stand beside others: their losses are of
        different things. Errors of `fit` and of scoring are raised as they come.
    TypeError
        For what is no mapping or list, for what is no estimator in it, and for a list of
        estimators that are written alike.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import BayesNetStructureEstimator, compare_estimators
    >>> X = np.random.default_rng(0).integers(2, size=(100, 3))
    >>> X[:90, 1] = X[:90, 0]
    >>> estimators = {
    ...     "greedy": BayesNetStructureEstimator(random_state=0),
    ...     "no edges": BayesNetStructureEstimator(max_parents=0),
    ... }
    >>> result = compare_estimators(estimators, X)
    >>> result["estimator"], result["n_edges"]
    (['greedy', 'no edges'], array([1., 0.]))
    """
    estimators = _named(estimators)
    if not estimators:
        raise ValueError("estimators must name at least one estimator.")
    for name, estimator in estimators.items():
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise TypeError(f"estimators must hold estimators, but {brief(name)} is "
                            f"{brief(estimator)}.")
    kinds = {name: is_classifier(estimator) for name, estimator in estimators.items()}
    if len(set(kinds.values())) > 1:
        raise ValueError(
            "Classifiers and estimators of the joint distribution have losses of different things: "
            f"{first_few([name for name, kind in kinds.items() if kind])} are classifiers, "
            f"{first_few([name for name, kind in kinds.items() if not kind])} are not. Compare "
            "each kind."
        )
    classify = all(kinds.values())
    checked = check_cv(cv, y if classify else None, classifier=classify)
    splits = list(checked.split(*indexable(X, y)))
    rows, is_told = [], False
    for name, estimator in estimators.items():
        estimator = clone(estimator)
        if isinstance(estimator, (BayesNetStructureEstimator, BayesNetAverager)) and isinstance(
            estimator.categories, str
        ):
            # A level is part of the domain: folds that lack one could not judge it.
            estimator.set_params(categories=estimator._levels(X, y, warn=not is_told))
            is_told = True
        found = cross_validate(
            estimator, X, y, cv=splits, n_jobs=n_jobs, return_estimator=True, error_score="raise",
            scoring=_class_log_probability if classify else None,
        )
        rows.append((name, -found["test_score"], _mean_edges(found["estimator"]),
                     float(np.mean(found["fit_time"]))))
    rows.sort(key=lambda row: row[1].mean())
    losses = np.array([row[1] for row in rows])
    n_folds = len(splits)
    with np.errstate(invalid="ignore"):
        # Of infinite losses there are no differences.
        differences = losses - losses[0]
        deviations = losses.std(axis=1)
        errors = (differences.std(axis=1, ddof=1) / n_folds**0.5 if n_folds > 1
                  else np.full(len(rows), np.nan))
    return {
        "estimator": [row[0] for row in rows],
        "log_loss": losses.mean(axis=1),
        "log_loss_std": deviations,
        "difference": differences.mean(axis=1),
        "difference_se": errors,
        "n_edges": np.array([row[2] for row in rows]),
        "fit_seconds": np.array([row[3] for row in rows]),
    }


def _named(estimators: Any) -> Mapping[str, Any]:
    """Estimators by name; those of a list by the shortest way that tells them apart."""
    if isinstance(estimators, Mapping):
        return estimators
    wanted = "Pass a dictionary of name -> estimator."
    if not isinstance(estimators, (list, tuple)):
        raise TypeError(
            f"estimators must name each estimator, got {type(estimators).__name__}. {wanted}"
        )
    for name_of in (lambda one: type(one).__name__, lambda one: " ".join(repr(one).split())):
        named = {name_of(one): one for one in estimators}
        if len(named) == len(estimators):
            return named
    raise TypeError(f"Several estimators are written alike, and would have one name. {wanted}")


def _class_log_probability(estimator: Any, X: Any, y: Any) -> float:
    """Mean of ln P(y | x); a class that the estimator does not know has probability 0."""
    places = {label: place for place, label in enumerate(estimator.classes_.tolist())}
    probabilities = estimator.predict_proba(X)
    own = [
        probabilities[row, places[label]] if label in places else 0.0
        for row, label in enumerate(np.asarray(open_target(y, len(probabilities))).tolist())
    ]
    with np.errstate(divide="ignore"):
        return float(np.log(own).mean())


def _mean_edges(fitted: list) -> float:
    numbers = [len(getattr(fitted_within(one), "edges_", ())) for one in fitted]
    return float(np.mean(numbers)) if hasattr(fitted_within(fitted[0]), "edges_") else np.nan
