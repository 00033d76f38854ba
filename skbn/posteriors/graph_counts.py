"""The total weight of the prior over graphs, which a marginal likelihood is divided by."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from skbn.graphs.constraints import Constraints
from skbn.graphs.graph_prior import EdgePenalty, LogPrior
from skbn.posteriors.family_weights import log_priors
from skbn.posteriors.graph_sums import GraphSums
from skbn.subsets.all_families import rules_of
from skbn.subsets.workers import Workers


def log_prior_total(
    constraints: Constraints,
    log_prior: LogPrior | None,
    order: Sequence[int],
    workers: Workers,
    *,
    over_orders: bool = False,
) -> float:
    """ln of the sum of the prior's weights over all graphs that meet the constraints.

    Minus infinity if there is none. With `over_orders`, over all pairs of an order and a graph that
    agrees with it.

    With a uniform prior this is ln of the number of graphs. Where only the number of parents is
    limited it is exact (Robinson 1973, with limited in-degrees); constraints on edges and priors
    that are functions take a sum over all graphs of their own.

    Examples
    --------
    >>> with Workers(1, None) as workers:
    ...     total = log_prior_total(Constraints.none(4), None, range(4), workers)
    >>> round(math.exp(total))
    543
    """
    allowed = constraints.allowed
    touched = allowed.any(axis=0) | allowed.any(axis=1)
    n_free = int(touched.sum())
    is_plain = not constraints.required.any() and allowed.sum() == n_free * (n_free - 1)
    if is_plain and (log_prior is None or isinstance(log_prior, EdgePenalty)):
        per_edge = 0.0 if log_prior is None else log_prior.per_edge
        choices = _choices(n_free, constraints.max_parents, per_edge)
        if over_orders:
            return math.lgamma(len(allowed) + 1) + math.fsum(map(_log, choices[:n_free]))
        return _log(_count_graphs(n_free, choices))
    rules = rules_of(constraints, order)
    sums = GraphSums(log_priors(log_prior, rules, order), workers)
    return sums.log_order_sum if over_orders else sums.sum_dags()[0]


def _choices(n: int, max_parents: int, per_edge: float) -> list[Fraction]:
    """Weight of all parent sets out of 0, 1, ... n variables."""
    edge = Fraction(float(np.exp(-per_edge)))
    powers = [edge**size for size in range(min(n, max_parents) + 1)]
    return [
        sum((math.comb(m, size) * power for size, power in enumerate(powers)), Fraction(0))
        for m in range(n + 1)
    ]


def _count_graphs(n: int, choices: Sequence[Fraction]) -> Fraction:
    """Weight of all graphs over n variables: by the number of those without children."""
    totals = [Fraction(1)]
    for m in range(1, n + 1):
        totals.append(sum(
            ((-1) ** (k + 1) * math.comb(m, k) * totals[m - k] * choices[m - k] ** k
             for k in range(1, m + 1)),
            Fraction(0),
        ))
    return totals[n]


def _log(value: Fraction) -> float:
    # Logarithms of both parts would be large, and their difference lose what they lack.
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    return math.log(value / Fraction(2) ** shift) + shift * math.log(2.0)
