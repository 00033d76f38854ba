"""The marginal likelihood of one graph as a function of the equivalent sample size."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma

from skbn.counting.counts import count_family
from skbn.counting.data import CategoricalData
from skbn.scores.gamma import log_rising_factorial

LOWEST, HIGHEST = 1e-6, 1e8
_GRID = 127
_ASYMPTOTIC_FROM = 32.0
_BLOCK = 2**18


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
    """ln p(D | ess, G) for one graph G: the BDeu score (Eq. 2), and its slope."""

    def __init__(self, data: CategoricalData, parents: Sequence[Sequence[int]]) -> None:
        cardinalities = data.cardinalities.tolist()
        counts, multiplicities, log_states = [], [], []
        for child, given in enumerate(parents):
            cells, configurations = count_family(data, child, given)
            q = math.prod(cardinalities[p] for p in given)
            for found, n_states, sign in (
                (cells, cardinalities[child] * q, 1.0), (configurations, q, -1.0)
            ):
                distinct, repeats = np.unique(found, return_counts=True)
                counts.append(distinct)
                multiplicities.append(sign * repeats)
                log_states.append(np.full(len(distinct), math.log(n_states)))
        # Distinct counts of every set; how many cells have each, below 0 for configurations; and
        # ln of the number of states of the set.
        self._counts = np.concatenate(counts)
        self._multiplicities = np.concatenate(multiplicities)
        self._log_states = np.concatenate(log_states)

    def value(self, ess: float) -> float:
        """ln p(D | ess, G), in nats."""
        log_alphas, place = np.unique(math.log(ess) - self._log_states, return_inverse=True)
        terms = np.empty_like(self._counts)
        for k, log_alpha in enumerate(log_alphas):
            terms[place == k] = log_rising_factorial(self._counts[place == k], log_alpha)
        return math.fsum(self._multiplicities * terms)

    def slope(self, log_ess: float) -> float:
        """Derivative of the value with respect to ln ess; exactly 0 where it is only rounding."""
        return float(self.slopes(np.array([log_ess]))[0])

    def slopes(self, log_ess: np.ndarray) -> np.ndarray:
        """`slope` at several places."""
        alphas = np.exp(log_ess[:, None] - self._log_states)
        counts = np.broadcast_to(self._counts, alphas.shape)
        parts = -self._multiplicities * _shortfall(counts, alphas)
        weights = np.abs(self._multiplicities * self._counts)
        noise = 1e-12 * np.abs(parts).sum(axis=1)
        noise += 1e-14 * ((alphas < _ASYMPTOTIC_FROM) @ weights)
        totals = np.array([math.fsum(part) for part in parts.tolist()])
        return np.where(np.abs(totals) <= noise, 0.0, totals)

    def maximise(self) -> Optimum:
        """The best equivalent sample size between 1e-6 and 1e8, to better than 1e-6 relative.

        Every maximum that a grid of 9 points per decade brackets is taken to the root of the
        slope; the highest of these and of the bounds wins.
        """
        grid = np.linspace(math.log(LOWEST), math.log(HIGHEST), _GRID)
        # Places at a time, so that the memory stays a small multiple of the counts'.
        step = max(1, _BLOCK // len(self._counts))
        slopes = np.concatenate([
            self.slopes(grid[start : start + step]) for start in range(0, _GRID, step)
        ])
        slopes = [(u, slope) for u, slope in zip(grid, slopes, strict=True) if slope]
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


def _shortfall(counts: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """n - alpha (psi(n + alpha) - psi(alpha)), which is 0 for n = 1 and grows with n.

    The digamma part is the derivative of ln G(n + alpha) - ln G(alpha) with respect to ln alpha;
    it comes close to n for large alpha. The n cancel between the cells and the parent
    configurations of a family, so that only this remainder matters.
    """
    result = np.zeros_like(counts)
    small = (alphas < _ASYMPTOTIC_FROM) & (counts != 1.0)
    n, alpha = counts[small], alphas[small]
    # Below the smallest float alpha psi(alpha) is -1 to the last digit.
    with np.errstate(invalid="ignore"):
        product = np.where(alpha > 0, alpha * (digamma(n + alpha) - digamma(alpha)), 1.0)
    result[small] = n - product
    large = (alphas >= _ASYMPTOTIC_FROM) & (counts != 1.0)
    n, alpha = counts[large], alphas[large]
    x = n + alpha
    # psi(x) = ln x - 1 / (2 x) - 1 / (12 x^2) + 1 / (120 x^4) - 1 / (252 x^6) + ...
    series = -0.5 * n / x
    for coefficient, power in ((-1 / 12, 2), (1 / 120, 4), (-1 / 252, 6), (1 / 240, 8)):
        series -= coefficient * alpha * (x**-power - alpha**-power)
    result[large] = alpha * _excess(n / alpha) + series
    return result


def _excess(t: np.ndarray) -> np.ndarray:
    """t - ln(1 + t) for t >= 0 without cancellation."""
    small = t < 0.05
    s = np.where(small, t, 0.0)
    series = np.zeros_like(s)
    for k in range(13, 1, -1):
        series = s * series + (1.0 if k % 2 == 0 else -1.0) / k
    return np.where(small, s * s * series, t - np.log1p(t))
