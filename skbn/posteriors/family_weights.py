"""Logarithms of the weights of all families: what sums over all graphs are made of."""

from collections.abc import Sequence

import numpy as np

from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints, EdgePenalty, LogPrior
from skbn.scores.local_scores import FORBIDDEN
from skbn.subsets.all_families import AllFamilies
from skbn.subsets.parent_sets import ParentRules, bits
from skbn.subsets.subset_scores import SubsetScores

# Powers of two of weights stay whole numbers of 64 bits, with room for products.
_LARGEST = 1e14


def log_weights(subsets: SubsetScores, families: AllFamilies, possible: np.ndarray) -> np.ndarray:
    """ln of the weight exp(local score + log prior) of every family.

    Of shape (n_variables, 2 ** (n_variables - 1)): ``[j, P]`` is that of parents P of bit j, with
    bit j taken out of P; minus infinity for families that the constraints or the prior forbid.
    """
    n = families.n
    logs = np.empty((n, 2 ** (n - 1)))
    for child in range(n):
        halves = (2 ** (n - 1 - child), 2, 2**child)
        row = logs[child]
        np.subtract(
            subsets.numbers[subsets.plus[child]].reshape(halves)[:, 1],
            subsets.numbers[subsets.minus[child]].reshape(halves)[:, 0],
            out=row.reshape(halves[0], halves[2]),
        )
        row[~possible[child] | (row < FORBIDDEN)] = -np.inf
        finite = row[row > -np.inf]
        if len(finite) and not np.abs(finite).max() <= _LARGEST:
            raise ValueError(
                f"A local score of variable {families.order[child]} is "
                f"{finite[np.argmax(np.abs(finite))]:g}: sums over all graphs take scores up "
                f"to {_LARGEST:g} nats. Return -inf where a family may not be."
            )
    return logs


def without_constants(constraints: Constraints, data: CategoricalData) -> Constraints:
    """The constraints, and no edge but required ones at columns of one state.

    Such edges change no score; left in, they would only dilute what is said of the others.
    """
    return constraints.isolating(data.cardinalities == 1)


def possible_families(rules: ParentRules, n: int) -> np.ndarray:
    """Which families are allowed: boolean (n, 2 ** (n - 1)), the child's bit taken out."""
    places = np.arange(2 ** (n - 1), dtype=np.int64)
    possible = np.empty((n, len(places)), dtype=bool)
    for child in range(n):
        allowed, required = take_out(rules.allowed[child], child), rules.required[child]
        row = (places & ~allowed) == 0
        row &= (places & take_out(required, child)) == take_out(required, child)
        row &= np.bitwise_count(places) <= rules.max_parents
        possible[child] = row
    return possible


def log_priors(
    log_prior: LogPrior | None, rules: ParentRules, order: Sequence[int]
) -> np.ndarray:
    """Log prior of every family, -inf for forbidden ones; shaped as `log_weights`."""
    n = len(order)
    possible = possible_families(rules, n)
    if log_prior is None:
        return np.where(possible, 0.0, -np.inf)
    if isinstance(log_prior, EdgePenalty):
        sizes = np.bitwise_count(np.arange(2 ** (n - 1), dtype=np.int64)).astype(np.float64)
        return np.where(possible, -log_prior.per_edge * sizes, -np.inf)
    logs = np.full(possible.shape, -np.inf)
    for child in range(n):
        for parents in rules.families(child):
            members = tuple(sorted(order[b] for b in bits(parents)))
            logs[child, take_out(parents, child)] = log_prior(order[child], members)
    return logs


def take_out(members, variable):
    """A set's number with one bit taken out; of numbers or arrays of them."""
    return members & (1 << variable) - 1 | members >> variable + 1 << variable


def put_in(members, variable: int):
    """The opposite: a set's number with room for one more bit, which is 0."""
    return members & (1 << variable) - 1 | members >> variable << variable + 1
