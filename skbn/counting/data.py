"""The encoded table: one small-integer code per cell, with a weight per distinct row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skbn.counting._counting import joint_labels

# Whole weights are counted as 32-bit integers below this total, as floats from it on.
_WHOLE_TOTAL = 2**31
# Shares of one row add up to it but for the rounding of single precision.
_A_ROW = 1.0 + 1e-6
# N ln N, which scores add up, must stay far below the largest float.
_LARGEST_TOTAL = 1e300


def smallest_code_type(n_states: int) -> np.dtype:
    """The smallest unsigned integer type that holds the codes 0 .. n_states - 1."""
    for code_type in (np.uint8, np.uint16, np.uint32):
        if n_states <= np.iinfo(code_type).max + 1:
            return np.dtype(code_type)
    raise ValueError(f"A column has {n_states} states, more than the 2**32 that codes can number.")


@dataclass(frozen=True, eq=False)
class CategoricalData:
    """Codes of every variable, row by row, and what counting needs to know about them.

    Attributes
    ----------
    codes : ndarray of shape (n_variables, n_rows), unsigned integers
        C-contiguous; ``codes[i, t]`` is the state of variable i in row t.
    cardinalities : ndarray of shape (n_variables,), int64
        Number of states of each variable, seen or not.
    weights : ndarray of shape (n_rows,), int32 or float64, or None
        How often each row counts; None means once each. int32 when all are whole and their
        total is below 2**31.
    n_samples : float
        Sum of the weights.
    """

    codes: np.ndarray
    cardinalities: np.ndarray
    weights: np.ndarray | None
    n_samples: float

    @classmethod
    def from_codes(
        cls,
        codes: np.ndarray,
        cardinalities: Sequence[int],
        weights: np.ndarray | None = None,
    ) -> "CategoricalData":
        """Take codes and weights, merging equal rows when that leaves at most half of them.

        Refuses tables without a row of weight above zero, or with 2**31 rows, and weights that sum
        to more than 1e300.

        Rows of weight zero are dropped. Fractional weights are sorted, so that sums over rows do
        not depend on the order in which the rows came.
        """
        cardinalities = np.asarray(cardinalities, dtype=np.int64)
        codes = np.ascontiguousarray(codes)
        if codes.dtype not in (np.uint8, np.uint16, np.uint32):
            codes = codes.astype(smallest_code_type(int(cardinalities.max())))
        if codes.shape[1] >= _WHOLE_TOTAL:
            raise ValueError(
                f"{codes.shape[1]} rows: at most 2**31 - 1 can be counted. Merge equal rows and "
                "pass how often each occurs as sample_weight."
            )
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if not weights.all():
                codes, weights = np.ascontiguousarray(codes[:, weights > 0]), weights[weights > 0]
            if (weights == 1.0).all():
                weights = None
        if codes.shape[1] == 0:
            raise ValueError(
                "There is nothing to count: no row, or none whose weight is above zero. Pass at "
                "least one row with a sample_weight above zero."
            )
        with np.errstate(over="ignore"):
            n_samples = float(codes.shape[1] if weights is None else np.sort(weights).sum())
        if n_samples > _LARGEST_TOTAL:
            raise ValueError(
                f"sample_weight sums to {n_samples:g}, and at most {_LARGEST_TOTAL:g} can be "
                "counted. Divide the weights by a constant."
            )
        if weights is not None:
            if n_samples < _WHOLE_TOTAL and (weights == np.floor(weights)).all():
                weights = weights.astype(np.int32)
            else:
                order = np.argsort(weights, kind="stable")
                codes, weights = np.ascontiguousarray(codes[:, order]), weights[order]
        codes, weights = _merge_equal_rows(codes, cardinalities, weights)
        return cls(codes, cardinalities, weights, n_samples)

    @property
    def n_variables(self) -> int:
        return self.codes.shape[0]

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]

    @property
    def n_rows_counted(self) -> float:
        """Sum of the weights, but no fewer than there are rows: weights may be shares."""
        return max(self.n_samples, float(self.n_rows))

    @property
    def is_at_most_a_row(self) -> bool:
        """Whether the weights divide one row or less among several, so that ln N is no price.

        A row alone, of weight 1, is legal.
        """
        return self.n_samples < 1.0 or (self.n_rows > 1 and self.n_samples <= _A_ROW)

    @property
    def has_whole_weights(self) -> bool:
        """Whether all counts are whole numbers below 2**31."""
        return self.weights is None or self.weights.dtype == np.int32


def _merge_equal_rows(
    codes: np.ndarray, cardinalities: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    n_variables, n_rows = codes.shape
    labels = np.empty(n_rows, dtype=np.int32)
    every = np.arange(n_variables, dtype=np.int32)
    n_distinct = joint_labels(codes, cardinalities, every, labels, n_rows // 2)
    if n_distinct > n_rows // 2:
        return codes, weights
    # Labels are numbered by first occurrence, so the first rows come in the order of the labels.
    first = np.full(n_distinct, n_rows, dtype=np.int64)
    np.minimum.at(first, labels, np.arange(n_rows))
    merged = np.bincount(labels, weights=weights, minlength=n_distinct)
    codes = np.ascontiguousarray(codes[:, first])
    if weights is None or weights.dtype == np.int32:
        return codes, merged.astype(np.int32)
    order = np.argsort(merged, kind="stable")
    return np.ascontiguousarray(codes[:, order]), merged[order]
