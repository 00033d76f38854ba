"""Where the sign of an edge's log Bayes factor changes with the equivalent sample size."""

import math
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from skbn.theory.bayes_factor import EdgeBayesFactor
from skbn.theory.contingency import as_contingency

LOWEST, HIGHEST = 1e-6, 1e12
# ln of the smallest positive float: below it no equivalent sample size can be given.
_LOG_SMALLEST = -744.0
_PER_DECADE = 12


class EssSigns:
    """For which equivalent sample sizes an edge is favoured.

    The log Bayes factor is looked at on a grid in ln ess wherever some alpha = ess / |S| is neither
    tiny nor far above all counts; to the left of that it tends to a straight line in ln ess, to the
    right it is a power series in 1 / ess with known coefficients. Between two points of
    opposite sign the root is found; between points of one sign, an extremum that may cross zero is
    looked for. Values that are no larger than their rounding have no sign.

    Parameters
    ----------
    factor : EdgeBayesFactor
    """

    def __init__(self, factor: EdgeBayesFactor) -> None:
        self._factor = factor

    @cached_property
    def limit(self) -> int:
        """The sign for every large enough ess; 0 if the factor is 0 for all of them."""
        leading = self._factor.scaled_coefficients[self._factor.scaled_coefficients != 0]
        return int(np.sign(leading[0])) if len(leading) else 0

    @cached_property
    def log_changes(self) -> np.ndarray:
        """ln of every ess at which the sign changes, increasing, from the smallest float on."""
        points = self._refined(self._grid())
        return np.array([
            brentq(self._value, left, right, xtol=1e-11)
            for (left, at_left), (right, at_right) in pairwise(points)
            if at_left * at_right < 0
        ])

    @property
    def threshold(self) -> float:
        """The ess above which the edge is favoured for good; infinite if there is none."""
        if self.limit <= 0:
            return math.inf
        return _exp(self.log_changes[-1]) if len(self.log_changes) else 0.0

    def favoured_interval(self, ess: float) -> tuple[float, float]:
        """The largest interval around `ess` in which the edge is favoured, NaN if it is not."""
        if not self._factor.at(ess) > 0:
            return math.nan, math.nan
        place = int(np.searchsorted(self.log_changes, math.log(ess)))
        low = _exp(self.log_changes[place - 1]) if place else 0.0
        high = _exp(self.log_changes[place]) if place < len(self.log_changes) else math.inf
        return low, high

    def _value(self, log_ess: float) -> float:
        return float(self._factor.values(np.array([log_ess]))[0][0])

    def _grid(self) -> list[tuple[float, float]]:
        """(ln ess, value) at the points of the grid where the value has a sign."""
        factor = self._factor
        n_cells = factor.table.margins[0].n_states
        low = math.log(1e-4) + math.log(factor.table.n_parent_states) - math.log(n_cells)
        high = factor.log_series_from
        n_points = max(2, math.ceil((high - low) / math.log(10) * _PER_DECADE))
        top = high + self._series_span()
        grid = np.concatenate([
            [min(_LOG_SMALLEST, low - 1.0)],
            np.linspace(low, high, n_points),
            np.linspace(high, top, 2 + math.ceil(2 * (top - high)))[1:],
        ])
        values, noise = factor.values(grid)
        signed = np.abs(values) > noise
        return list(zip(grid[signed].tolist(), values[signed].tolist(), strict=True))

    def _series_span(self) -> float:
        """How far beyond the start of the series, in ln ess, its first term rules alone."""
        z = np.exp(self._factor.log_reach - self._factor.log_series_from)
        coefficients = self._factor.scaled_coefficients
        terms = np.abs(coefficients * z ** np.arange(1, len(coefficients) + 1))
        leading = terms[coefficients != 0]
        if len(leading) < 2:
            return 0.0
        return math.log(max(1.0, 2.0 * float(leading[1:].sum() / leading[0])))

    def _refined(self, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """The points, with the extrema between them that lie on the other side of zero."""
        found = []
        for (left, before), (_, value), (right, after) in zip(
            points, points[1:], points[2:], strict=False
        ):
            sign = math.copysign(1.0, value)
            rise_before, rise_after = sign * (before - value), sign * (after - value)
            if rise_before < 0 or rise_after < 0 or before * value < 0 or after * value < 0:
                continue
            # How far the parabola through the three points goes below the middle one.
            curvature = rise_before + rise_after
            slope = rise_after - rise_before
            depth = slope * (slope / (8 * curvature)) if curvature else 0.0
            if depth < 0.5 * abs(value):
                continue
            extremum = minimize_scalar(
                lambda u, sign=sign: sign * self._value(u), bounds=(left, right), method="bounded"
            )
            values, noise = self._factor.values(np.array([extremum.x]))
            if sign * values[0] < -noise[0]:
                found.append((float(extremum.x), float(values[0])))
        return sorted([*points, *found])


def ess_sign_changes(counts: Any, n_parent_states: float | None = None) -> np.ndarray:
    """The equivalent sample sizes at which an edge starts or ceases to be favoured.

    All ess between 1e-6 and 1e12 at which the log Bayes factor (Eq. 7) changes its sign, which it
    may do several times: it is not monotone in the ess.

    Parameters
    ----------
    counts : array-like of shape (|A|, |B|, observed parent states), or Contingency
        Counts of A, B and the parents, whole or fractional; shape (|A|, |B|) without parents. A
        `Contingency` comes from a table, by `contingency_table`.
    n_parent_states : int or float, default=None
        |P|, where there are more parent states than the array lists; 1e300 is legal.

    Returns
    -------
    ndarray of shape (n_changes,)
        In rows, increasing, each to better than 1e-6 of itself.

    See Also
    --------
    ess_threshold : The last of them, if the edge is favoured beyond.

    Examples
    --------
    A dependence that a weak prior favours, and a skewness that a strong one does:

    >>> from skbn import ess_sign_changes
    >>> ess_sign_changes([[5, 0], [31, 18]]).round(3)
    array([   5.813, 1070.646])
    """
    signs = EssSigns(EdgeBayesFactor(as_contingency(counts, n_parent_states)))
    changes = np.array([_exp(change) for change in signs.log_changes])
    return changes[(changes >= LOWEST) & (changes <= HIGHEST)]


def ess_threshold(counts: Any, n_parent_states: float | None = None) -> float:
    """The equivalent sample size above which an edge is favoured for good: alpha+ of Corollary 1.

    Parameters
    ----------
    counts : array-like of shape (|A|, |B|, observed parent states), or Contingency
        Counts of A, B and the parents, whole or fractional; shape (|A|, |B|) without parents.
    n_parent_states : int or float, default=None
        |P|, where there are more parent states than the array lists; 1e300 is legal.

    Returns
    -------
    float
        In rows. 0 if every equivalent sample size favours the edge; infinite if the large ones do
        not, and if the log Bayes factor is 0 for all of them. The threshold may be beyond the range
        of `ess_sign_changes`.

    Notes
    -----
    Finite iff N U > d_F (`large_ess_favours_edge`), or N U = d_F and the next term of the expansion
    in 1 / ess, of which Eq. 8 is the first, is positive.

    Examples
    --------
    Independent, but both skewed:

    >>> from skbn import ess_threshold
    >>> round(ess_threshold([[81, 9], [9, 1]]), 3)
    10.4
    >>> ess_threshold([[45, 45], [5, 5]])
    inf
    """
    return EssSigns(EdgeBayesFactor(as_contingency(counts, n_parent_states))).threshold


def _exp(log_ess: float) -> float:
    return math.exp(log_ess) if log_ess < 709.0 else math.inf
