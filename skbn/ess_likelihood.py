"""The marginal likelihood of one graph as a function of the equivalent sample size."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma

from skbn.counts import count_family
from skbn.data import CategoricalData
from skbn.special import log_of, log_rising_factorial

LOWEST, HIGHEST = 1e-6, 1e8
_GRID = 240
_ASYMPTOTIC_FROM = 32.0


class Optimum(NamedTuple):
    """The equivalent sample size of highest marginal likelihood.

    Attributes
    ----------
    ess : float
        NaN where `where` is "flat".
    where : str
        "inside" the range searched, at its "lower" or "upper" bound, or "flat": the marginal
        likelihood does not depend on the equivalent sample size.
    """

    ess: float
    where: str


class EssLikelihood:
    """ln p(D | ess, G) for one graph G: the BDeu score (Eq. 2), and its slope.

    Parameters
    ----------
    data : CategoricalData
    parents : sequence of sequences of int
        The parents of every variable.
    """

    def __init__(self, data: CategoricalData, parents: Sequence[Sequence[int]]) -> None:
        cardinalities = data.cardinalities.tolist()
        # (distinct counts, how many cells have each, ln of the number of states, sign) of each set.
        self._sets: list[tuple[np.ndarray, np.ndarray, float, int]] = []
        for child, given in enumerate(parents):
            cells, configurations = count_family(data, child, given)
            q = math.prod(cardinalities[p] for p in given)
            for counts, n_states, sign in (
                (cells, cardinalities[child] * q, 1), (configurations, q, -1)
            ):
                distinct, multiplicities = np.unique(counts, return_counts=True)
                self._sets.append((distinct, multiplicities, log_of(n_states), sign))

    def value(self, ess: float) -> float:
        """ln p(D | ess, G), in nats."""
        return math.fsum(
            sign * float(multiplicities @ log_rising_factorial(counts, math.log(ess) - log_states))
            for counts, multiplicities, log_states, sign in self._sets
        )

    def slope(self, log_ess: float) -> float:
        """Derivative of the value with respect to ln ess; exactly 0 where it is only rounding."""
        parts, noise = [], 0.0
        for counts, multiplicities, log_states, sign in self._sets:
            alpha = math.exp(log_ess - log_states)
            shortfall = multiplicities * _shortfall(counts, alpha)
            parts.append(-sign * float(np.sum(shortfall)))
            noise += 1e-12 * abs(parts[-1])
            if alpha < _ASYMPTOTIC_FROM:
                noise += 1e-14 * float(multiplicities @ counts)
        total = math.fsum(parts)
        return 0.0 if abs(total) <= noise else total

    def maximise(self) -> Optimum:
        """The best equivalent sample size between 1e-6 and 1e8, to better than 1e-6 relative.

        Every maximum that a grid of 17 points per decade brackets is taken to the root of the
        slope; the highest of these and of the bounds wins.
        """
        grid = np.linspace(math.log(LOWEST), math.log(HIGHEST), _GRID)
        slopes = [(u, slope) for u in grid if (slope := self.slope(u))]
        if not slopes:
            return Optimum(math.nan, "flat")
        found = [
            Optimum(math.exp(brentq(self.slope, left, right, xtol=1e-10)), "inside")
            for (left, rising), (right, falling) in pairwise(slopes)
            if rising > 0 > falling
        ]
        if slopes[0][1] < 0:
            found.append(Optimum(LOWEST, "lower"))
        if slopes[-1][1] > 0:
            found.append(Optimum(HIGHEST, "upper"))
        return max(found, key=lambda optimum: self.value(optimum.ess))


def _shortfall(counts: np.ndarray, alpha: float) -> np.ndarray:
    """n - alpha (psi(n + alpha) - psi(alpha)), which is 0 for n = 1 and grows with n.

    The digamma part is the derivative of ln G(n + alpha) - ln G(alpha) with respect to ln alpha;
    it comes close to n for large alpha. The n cancel between the cells and the parent
    configurations of a family, so that only this remainder matters.
    """
    if alpha < _ASYMPTOTIC_FROM:
        exact = counts - alpha * (digamma(counts + alpha) - digamma(alpha))
        return np.where(counts == 1.0, 0.0, exact)
    x = counts + alpha
    ratio = counts / alpha
    # psi(x) = ln x - 1 / (2 x) - 1 / (12 x^2) + 1 / (120 x^4) - 1 / (252 x^6) + ...
    series = -0.5 * counts / x
    for coefficient, power in ((-1 / 12, 2), (1 / 120, 4), (-1 / 252, 6), (1 / 240, 8)):
        series -= coefficient * alpha * (x**-power - alpha**-power)
    return alpha * _excess(ratio) + series


def _excess(t: np.ndarray) -> np.ndarray:
    """t - ln(1 + t) for t >= 0 without cancellation."""
    small = t < 0.05
    s = np.where(small, t, 0.0)
    series = np.zeros_like(s)
    for k in range(13, 1, -1):
        series = s * series + (1.0 if k % 2 == 0 else -1.0) / k
    return np.where(small, s * s * series, t - np.log1p(t))
