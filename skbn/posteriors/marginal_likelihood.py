"""The marginal likelihood of a table summed over all graphs, and what follows from the sums."""

import math
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from joblib import effective_n_jobs

from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints, EdgePenalty, LogPrior
from skbn.posteriors.edge_posteriors import EdgePosteriors, GraphState, refuse_sums
from skbn.posteriors.family_weights import (
    log_priors,
    log_weights,
    possible_families,
    without_constants,
)
from skbn.posteriors.graph_sums import GraphSums, sum_over_members
from skbn.resources import Workers, memory_limit
from skbn.scores.local_scores import LocalScores
from skbn.scores.saturated import SaturatedFamilies
from skbn.subsets.all_families import AllFamilies, rules_of
from skbn.subsets.parent_sets import bits
from skbn.subsets.subset_scores import SubsetScores

# Less of the posterior of a variable's parents than this is not worth a warning.
_LITTLE = 0.1
_N_STEPS = 16


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


def posterior_of(
    scores: LocalScores,
    labels: Sequence[Hashable],
    constraints: Constraints,
    *,
    families: AllFamilies | None = None,
    prior: str = "graphs",
    max_memory: float | None = None,
    n_jobs: int | None = None,
) -> EdgePosteriors:
    """Posteriors of the edges of a table that is read and scored.

    `families`, if others ask for them too, are those of the constraints `without_constants`; what
    is counted is then kept for them. The rest is as in `skbn.edge_posteriors`.
    """
    n = scores.data.n_variables
    n_threads = max(1, effective_n_jobs(n_jobs))
    over_orders = prior == "orders"
    constraints = without_constants(constraints, scores.data)
    keep, families = families is not None, families or AllFamilies(scores.data, constraints)
    plans, room = _plans([scores], families, n_threads, memory_limit(max_memory))
    order = families.order
    with Workers(n_threads, None) as workers:
        total = _prior_total(constraints, scores.log_prior, order, workers, over_orders)
        (logs,) = _logs(plans, families, workers, room, keep)
        sums = GraphSums(logs, workers)
        if over_orders:
            log_sum, given = sums.log_order_sum, None
        else:
            log_sum, given = sums.sum_dags(with_nondescendants=True)
        _refuse_nothing(log_sum)
        ancestors = None
        if over_orders:
            given = sums.predecessors()
        else:
            ancestors = np.zeros((n, n))
            for bit in range(n):
                # Neither itself nor what does not descend from it.
                within = given[bit].sum() - sum_over_members(given[bit], bit)
                within[bit] = 0.0
                ancestors[order[bit], order] = within
        parents = sums.parent_sets(given)
        sums.release()
    _likely_saturated(parents, order, scores.data, labels).warn(
        "Of the parents of some variables more than a tenth of the posterior is on"
    )
    edges = np.zeros((n, n))
    for bit in range(n):
        edges[order, order[bit]] = sum_over_members(parents[bit], bit)
    for matrix in (edges, ancestors):
        if matrix is not None:
            np.clip(matrix, 0.0, 1.0, out=matrix)
    # Both directions of an edge together are no more than certain, to the last digit.
    edges /= np.maximum(1.0, edges + edges.T)
    while (over := edges + edges.T > 1.0).any():
        edges[over] = np.nextafter(edges[over], 0.0)
    return EdgePosteriors(
        labels=list(labels), edges=edges, ancestors=ancestors, prior=prior, log_sum=log_sum,
        log_marginal_likelihood=log_sum - total,
        _state=GraphState(sums, parents, order, max_memory, n_jobs),
    )


def log_marginal_likelihoods(
    scores: Sequence[LocalScores],
    constraints: Constraints,
    *,
    families: AllFamilies | None = None,
    max_memory: float | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """ln p(data) summed over all graphs, for each equivalent sample size.

    The scores differ in nothing but their ess; the rest is as in `posterior_of`.

    The table is counted once, and the prior normalised once.
    """
    n_threads = max(1, effective_n_jobs(n_jobs))
    constraints = without_constants(constraints, scores[0].data)
    keep, families = families is not None, families or AllFamilies(scores[0].data, constraints)
    plans, room = _plans(scores, families, n_threads, memory_limit(max_memory))
    values = []
    with Workers(n_threads, None) as workers:
        total = _prior_total(constraints, scores[0].log_prior, families.order, workers, False)
        for logs in _logs(plans, families, workers, room, keep):
            log_sum, _ = GraphSums(logs, workers).sum_dags()
            _refuse_nothing(log_sum)
            values.append(log_sum - total)
    return np.array(values)


def _likely_saturated(
    parents: np.ndarray, order: Sequence[int], data: CategoricalData, labels: Sequence[Hashable]
) -> SaturatedFamilies:
    """For each child of which such families have more than a tenth of the posterior, one of them.

    Of the families that may be such, those are counted to which equal steps through their
    posterior lead: likely ones surely, and of many unlikely ones as many as is their due.
    """
    found = []
    log_states = np.log(data.cardinalities[order])
    for bit, row in enumerate(parents):
        others = [b for b in range(len(order)) if b != bit]
        sizes = np.zeros(1)
        for other in others:
            sizes = np.concatenate([sizes, sizes + log_states[other]])
        large = np.flatnonzero(sizes > math.log(data.n_rows_counted / 2))
        shares = np.cumsum(row[large])
        if not len(large) or shares[-1] <= _LITTLE:
            continue
        steps = (np.arange(_N_STEPS) + 0.5) / _N_STEPS * shares[-1]
        families = [
            (order[bit], sorted(order[others[b]] for b in bits(place)))
            for place in large[np.searchsorted(shares, steps)].tolist()
        ]
        saturated = SaturatedFamilies.among(families, data, labels).families
        if len(saturated) / _N_STEPS * shares[-1] > _LITTLE:
            found.append(max(saturated, key=lambda family: family.n_configurations))
    return SaturatedFamilies(found, data.n_rows_counted)


def _plans(
    scores: Sequence[LocalScores], families: AllFamilies, n_threads: int, limit: float
) -> tuple[list[SubsetScores], float]:
    """What has to be summed over all sets, and the bytes that are left for it, if all fits."""
    n = families.n
    # The posteriors' own, and what every thread holds while it works one child out.
    fixed = GraphSums.memory(n) + (n + 48 * n_threads) * 2 ** (n - 1) + families.lists_memory
    refuse_sums(n, fixed, limit)
    plans = [families.plan(one) for one in scores]
    fixed += 8 * n * 2 ** (n - 1)
    refuse_sums(n, fixed + plans[0].memory(1, n_threads), limit)
    return plans, limit - fixed


def _logs(
    plans: Sequence[SubsetScores], families: AllFamilies, workers: Workers, room: float, keep: bool
) -> Iterator[np.ndarray]:
    """The weights' logarithms for one score after the other."""
    possible = possible_families(families.rules, families.n)
    for subsets in families.filled(plans, workers, room, keep=keep):
        yield log_weights(subsets, families, possible)


def _prior_total(
    constraints: Constraints, log_prior: LogPrior | None, order: Sequence[int],
    workers: Workers, over_orders: bool,
) -> float:
    total = log_prior_total(constraints, log_prior, order, workers, over_orders=over_orders)
    _refuse_nothing(total)
    return total


def _refuse_nothing(log_sum: float) -> None:
    if log_sum == -math.inf:
        raise ValueError(
            "No acyclic graph meets the constraints, or the score or the prior gives all of them "
            "minus infinity. Require fewer edges, or allow more."
        )
