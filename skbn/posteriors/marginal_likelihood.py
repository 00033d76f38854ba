"""The marginal likelihood of a table summed over all graphs, and what follows from the sums."""

import math
from collections.abc import Hashable, Sequence

import numpy as np
from joblib import effective_n_jobs

from skbn.counting.data import CategoricalData
from skbn.counting.memory import memory_limit
from skbn.graphs.constraints import Constraints
from skbn.graphs.graph_prior import LogPrior
from skbn.posteriors.family_weights import FamilyWeights, without_constants
from skbn.posteriors.graph_counts import log_prior_total
from skbn.posteriors.graph_posterior import EdgePosteriors, GraphState, refuse_sums
from skbn.posteriors.graph_sums import GraphSums, sum_over_members
from skbn.scores.local_scores import LocalScores
from skbn.scores.saturated import SaturatedFamilies
from skbn.subsets.parent_sets import bits
from skbn.subsets.signatures import Signatures
from skbn.subsets.workers import Workers

# Less of the posterior of a variable's parents than this is not worth a warning.
_LITTLE = 0.1
_N_STEPS = 16


def posterior_of(
    scores: LocalScores,
    labels: Sequence[Hashable],
    constraints: Constraints,
    *,
    prior: str = "graphs",
    max_memory: int | None = None,
    n_jobs: int | None = None,
) -> EdgePosteriors:
    """Posteriors of the edges of a table that is read and scored.

    Parameters
    ----------
    scores : LocalScores
        With the graph prior.
    labels : sequence
        Names of the variables.
    constraints : Constraints
    prior, max_memory, n_jobs
        As in `skbn.edge_posteriors`.
    """
    n = scores.data.n_variables
    n_threads = max(1, effective_n_jobs(n_jobs))
    limit = memory_limit(max_memory)
    over_orders = prior == "orders"
    constraints = without_constants(constraints, scores.data)
    weights, fixed = _weights([scores], constraints, n_threads, limit)
    with Workers(n_threads, None) as workers:
        total = _prior_total(constraints, scores.log_prior, weights, workers, over_orders)
        (logs,) = weights.logs(workers, n_threads, limit - fixed)
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
                ancestors[weights.order[bit], weights.order] = within
        parents = sums.parent_sets(given)
        sums.release()
    _likely_saturated(parents, weights.order, scores.data, labels).warn(
        "Of the parents of some variables more than a tenth of the posterior is on"
    )
    edges = np.zeros((n, n))
    for bit in range(n):
        edges[weights.order, weights.order[bit]] = sum_over_members(parents[bit], bit)
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
        _state=GraphState(sums, parents, weights.order, max_memory, n_jobs),
    )


def log_marginal_likelihoods(
    scores: Sequence[LocalScores],
    constraints: Constraints,
    *,
    max_memory: int | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """ln p(data) summed over all graphs, for each equivalent sample size.

    The table is counted once, and the prior normalised once.

    Parameters
    ----------
    scores : sequence of LocalScores
        Of one table, with one score and one graph prior; only the equivalent sample sizes differ.
    constraints : Constraints
    max_memory, n_jobs
        As in `skbn.edge_posteriors`.

    Returns
    -------
    ndarray of shape (n_scores,)
        As `EdgePosteriors.log_marginal_likelihood`.
    """
    n_threads = max(1, effective_n_jobs(n_jobs))
    limit = memory_limit(max_memory)
    constraints = without_constants(constraints, scores[0].data)
    weights, fixed = _weights(scores, constraints, n_threads, limit)
    values = []
    with Workers(n_threads, None) as workers:
        total = _prior_total(constraints, scores[0].log_prior, weights, workers, False)
        for logs in weights.logs(workers, n_threads, limit - fixed):
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


def _weights(
    scores: Sequence[LocalScores], constraints: Constraints, n_threads: int, limit: float
) -> tuple[FamilyWeights, int]:
    """The weights of all families, and the bytes that their sums take, if all fits."""
    n = scores[0].data.n_variables
    # The posteriors' own, and what every thread holds while it works one child out.
    fixed = GraphSums.memory(n) + (n + 48 * n_threads) * 2 ** (n - 1)
    fixed += Signatures(scores[0].data.cardinalities.tolist()).memory
    refuse_sums(n, fixed, limit)
    weights = FamilyWeights(scores, constraints)
    refuse_sums(n, fixed + weights.memory(n_threads), limit)
    return weights, fixed


def _prior_total(
    constraints: Constraints, log_prior: LogPrior | None, weights: FamilyWeights,
    workers: Workers, over_orders: bool,
) -> float:
    total = log_prior_total(
        constraints, log_prior, weights.order, workers, over_orders=over_orders
    )
    _refuse_nothing(total)
    return total


def _refuse_nothing(log_sum: float) -> None:
    if log_sum == -math.inf:
        raise ValueError(
            "No acyclic graph meets the constraints, or the score or the prior gives all of them "
            "minus infinity. Require fewer edges, or allow more."
        )
