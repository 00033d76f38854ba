"""The same network as a classifier."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from skbn.estimator import BayesNetStructureEstimator
from skbn.factors import has_missing_cells


class BayesNetClassifier(ClassifierMixin, BayesNetStructureEstimator):
    """A Bayesian network over the features and the class, learned as one and used to classify.

    The same model, parameters and attributes as `BayesNetStructureEstimator`, with y required and
    ``score`` the accuracy. `score_samples` gives ln p(x, y), or ln p(x) without y.

    Attributes
    ----------
    classes_ : ndarray
        The levels of y; with a categorical dtype or ``categories={"y": levels}`` also those that
        do not occur.

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
        y : array-like of shape (n_samples,)
            Class labels, all known: a missing one is refused whatever `handle_missing` says.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, of shape (n_samples, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

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
            check_classification_targets(y)
        return y

    def _y_missing(self) -> str | None:
        return "error"
