"""The analytical estimate of the best equivalent sample size (Steck 2008, Equations 13-18)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skbn.counting.counts import count_family
from skbn.counting.data import CategoricalData
from skbn.scores.gamma import float_of
from skbn.scores.likelihood import entropy_terms


@dataclass(frozen=True)
class AnalyticESS:
    """The estimate of Equation 18 for one graph, and its parts.

    Parameters
    ----------
    ess : float
        The estimate d_eff / (expected_loglik_data - expected_loglik_prior), in rows.
    usable : bool
        Whether `ess` is finite and above zero. Otherwise it is no equivalent sample size: dense
        graphs with mostly unobserved parent configurations give a negative value, identical rows
        0, one row 0 / 0 (NaN), and uniform data d_eff / 0 (infinity).
    d_eff : int
        Effective number of parameters: observed cells less observed parent configurations, summed
        over the variables (Eq. 15).
    expected_loglik_data : float
        Mean maximised log-likelihood of a row of the table, in nats.
    expected_loglik_prior : float
        Its expectation under the prior's uniform distribution, in nats, with N+ = max(N, 1) in
        place of each count on its own: what was not observed contributes nothing.

    See Also
    --------
    analytic_ess : Makes it from a table and a graph.

    Examples
    --------
    >>> from skbn import analytic_ess
    >>> estimate = analytic_ess([["a"]] * 9 + [["b"]] * 3, [])
    >>> round(estimate.expected_loglik_data, 3), round(estimate.expected_loglik_prior, 3)
    (-0.562, -0.837)
    >>> round(estimate.ess, 2)
    3.64
    """

    ess: float
    usable: bool
    d_eff: int
    expected_loglik_data: float
    expected_loglik_prior: float


def estimate_ess(data: CategoricalData, parents: Sequence[Sequence[int]]) -> AnalyticESS:
    """Equation 18 for the graph in which ``parents[i]`` are the parents of i.

    Time and memory grow with the observed cells, whatever the number of parent configurations.
    """
    cardinalities = data.cardinalities.tolist()
    d_eff = 0
    data_parts: list[float] = []
    prior_parts: list[float] = []
    for child, given in enumerate(parents):
        cells, configurations = count_family(data, child, given)
        q = math.prod(cardinalities[p] for p in given)
        d_eff += len(cells) - len(configurations)
        for counts, n_states, sign in (
            (cells, cardinalities[child] * q, 1.0), (configurations, q, -1.0)
        ):
            data_parts.append(sign * float(np.sum(entropy_terms(counts))))
            log_counts = float(np.sum(np.log(np.maximum(counts, 1.0))))
            prior_parts.append(sign * log_counts / float_of(n_states))
    # Rounded once, so that the order of the variables does not matter.
    of_data = math.fsum(data_parts) / data.n_samples
    of_prior = math.fsum(prior_parts)
    difference = of_data - of_prior
    # Uniform data: what is left of two equal numbers is rounding, not an estimate.
    if abs(difference) <= 1e-12 * (abs(of_data) + abs(of_prior)):
        ess = math.nan if d_eff == 0 else math.inf
    else:
        ess = d_eff / difference
    return AnalyticESS(ess, math.isfinite(ess) and ess > 0, d_eff, of_data, of_prior)
