"""What a fitted joint distribution of columns is used for: to score, to predict and to sample."""

from collections.abc import Callable, Iterator
from functools import wraps
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skbn.messages import kept_short
from skbn.tables.reading import check_weights
from skbn.tables.templates import ColumnTemplate, TableTemplate, common_type
from skbn.tables.values import ascending

# Probabilities of so many states of rows are held at a time where only the best state is wanted.
_BLOCK = 2**22


def undone_on_failure(method: Callable) -> Callable:
    """A method that puts back the attributes of its object if it raises, or is interrupted.

    A fitted estimator whose second fit fails still predicts, and one that was not fitted is not
    half fitted.
    """

    @wraps(method)
    def run(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:  # KeyboardInterrupt, too
            vars(self).clear()
            vars(self).update(before)
            raise

    return run


class Predictions:
    """Scores, predictions and samples of an estimator, from its distribution of codes.

    The estimator has `categories_`, `_read_codes` and what follows.
    """

    @property
    def _distribution(self) -> Any:
        """A `BayesianNetwork` or `NetworkMixture`, by their methods of codes."""
        raise NotImplementedError

    @property
    def _templates(self) -> tuple[TableTemplate, ColumnTemplate | None]:
        """The kinds of table and of y that `fit` got."""
        raise NotImplementedError

    @property
    def _has_y(self) -> bool:
        return self._templates[1] is not None

    @property
    def classes_(self) -> np.ndarray:
        """The levels of y as `numpy.unique` sorts them, whatever order y declares.

        Scorers and ensembles of scikit-learn take the columns of `predict_proba` in this order.
        """
        if not (hasattr(self, "categories_") and self._has_y):
            raise AttributeError(f"{type(self).__name__} has classes once it is fitted with y.")
        levels = self.categories_[-1]
        return levels[ascending(levels)]

    def _validate_params(self) -> None:
        with kept_short():
            super()._validate_params()

    def _read_codes(self, X, y=None) -> tuple[np.ndarray, np.ndarray | None]:
        """Codes (n_variables, n_samples) of a table to predict, and where cells are missing."""
        raise NotImplementedError

    def score_samples(self, X, y=None):
        """Log-probability of every row, in nats.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Missing cells are summed out.
        y : array-like of shape (n_samples,), default=None
            Given: ln p(x, y). Left out of a network that was fitted with y: ln p(x), y summed
            out, as it is in the rows where y is missing.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number per row.

        Raises
        ------
        ValueError
            For unknown categories, unless `handle_unknown` is "missing"; for y at a network that
            was fitted without; and where summing out takes a table of more than 2**25 entries: so
            many columns that depend on each other are missing at once.
        """
        codes, missing = self._read_codes(X, y)
        if self._has_y and y is None:
            if missing is None:
                return self._distribution.marginal_log_prob_codes(codes, len(codes) - 1)
            missing[-1] = True
        return self._distribution.log_prob_codes(codes, missing)

    def score(self, X, y=None, sample_weight=None):
        """Mean log-probability of the rows, in nats: minus the log-loss of the joint model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to judge, with the columns of `fit`. Missing cells are summed out.
        y : array-like of shape (n_samples,), default=None
            Left out of a network that was fitted with y, the score is that of X alone.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean; None weighs all alike.

        Returns
        -------
        float
            The mean of `score_samples`.
        """
        log_prob = self.score_samples(X, y)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(log_prob))
        return float(np.average(log_prob, weights=sample_weight))

    def predict_proba(self, X):
        """Predict probabilities of the states of y, or of every column given all others.

        Missing cells are summed out: what is given is what the row has.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows with the columns of `fit`, y left out.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of ndarray
            P(y | x) if the network was fitted with y, classes in the order of `classes_`. Otherwise
            one array of shape (n_samples, n_states) per column, P(column | the other columns).

        Raises
        ------
        MemoryError
            If there is no room for a column of so many states; `predict` works in blocks of rows.
        """
        codes, missing = self._read_codes(X)
        if self._has_y:
            return self._conditional(codes, missing, len(codes) - 1)
        return [self._conditional(codes, missing, column) for column in range(len(codes))]

    def predict(self, X):
        """Predict the class, or every column's state given all others, as the most probable.

        Each column for itself; `BayesianNetwork.most_probable` completes a row as a whole. Works
        in blocks of rows, so that columns of very many states take little memory.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Missing cells are summed out.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_features)
            Equally probable states: the first. Columns of several types make an array of objects.
        """
        codes, missing = self._read_codes(X)
        if self._has_y:
            return self.classes_[self._best(codes, missing, len(codes) - 1)]
        states = [
            levels[self._best(codes, missing, column)]
            for column, levels in enumerate(self.categories_)
        ]
        # numpy would make text of the numbers beside a column of text.
        dtype = common_type(self._templates[0].dtype, self.categories_)
        return np.stack([column.astype(dtype) for column in states], axis=1)

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the distribution that was fitted.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        random_state : int, RandomState instance or None, default=None
            Decides which rows are drawn.

        Returns
        -------
        X : array or data frame of shape (n_samples, n_features)
            The kind of table that `fit` got.
        y : array or Series of shape (n_samples,)
            The kind of column that `fit` got; only if the network was fitted with y.
        """
        check_is_fitted(self)
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        codes = self._distribution.sample_codes(int(n_samples), check_random_state(random_state))
        x_template, y_template = self._templates
        if y_template is None:
            return x_template.build(codes, self.categories_)
        X = x_template.build(codes[:-1], self.categories_[:-1])
        return X, y_template.build(codes[-1], self.categories_[-1])

    def _conditional(self, codes, missing, column: int) -> np.ndarray:
        """P(column | the other columns) of rows of codes; y in the order of its classes."""
        of_levels = self._distribution.conditional_codes(codes, column, missing)
        if not self._has_y or column < len(codes) - 1:
            return of_levels
        order = ascending(self.categories_[-1])
        if (order != np.arange(len(order))).any():
            # In place, block by block: there may be no room for two.
            for rows in self._blocks(len(of_levels), column):
                of_levels[rows] = of_levels[rows][:, order]
        return of_levels

    def _best(self, codes, missing, column: int) -> np.ndarray:
        """The place of the most probable state of a column in every row."""
        best = np.empty(codes.shape[1], dtype=np.intp)
        for rows in self._blocks(len(best), column):
            gaps = None if missing is None else missing[:, rows]
            best[rows] = self._conditional(codes[:, rows], gaps, column).argmax(axis=1)
        return best

    def _blocks(self, n_rows: int, column: int) -> Iterator[slice]:
        """Rows whose states of a column are worked on together."""
        step = max(1, _BLOCK // len(self.categories_[column]))
        return (slice(start, start + step) for start in range(0, n_rows, step))
