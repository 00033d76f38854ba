"""Logarithms of the weights of all families: what sums over all graphs are made of."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints
from skbn.graphs.graph_prior import EdgePenalty, LogPrior
from skbn.scores.local_scores import FORBIDDEN, LocalScores
from skbn.subsets.parent_sets import ParentRules, as_set, bits
from skbn.subsets.subset_scores import SubsetScores, fill_layers
from skbn.subsets.subset_sums import SubsetSums
from skbn.subsets.workers import Workers

# Several scores are summed with one count of all sets while their numbers take so many bytes.
_GRID_MEMORY = 2**30
# Powers of two of weights stay whole numbers of 64 bits, with room for products.
_LARGEST = 1e14


class FamilyWeights:
    """ln of the weight exp(local score + log prior) of every family, for each of several scores.

    Parameters
    ----------
    scores : sequence of LocalScores
        Of one table and one score; only the equivalent sample sizes differ. With the graph prior.
    constraints : Constraints
        Families that break them have weight 0.

    Attributes
    ----------
    order : list of int
        The variable that each bit of a set stands for; those with few states come first, as the
        counting ends with them.
    rules : ParentRules
        The constraints, in terms of the bits.
    """

    def __init__(self, scores: Sequence[LocalScores], constraints: Constraints) -> None:
        data = scores[0].data
        self._scores = list(scores)
        self.order = np.argsort(data.cardinalities, kind="stable").tolist()
        self.rules = rules_of(constraints, self.order)
        ordered = CategoricalData(
            np.ascontiguousarray(data.codes[self.order]), data.cardinalities[self.order],
            data.weights, data.n_samples,
        )
        self._counting = SubsetSums(ordered)
        self._plans = [
            SubsetScores(
                LocalScores(ordered, one.score, one.ess), self._counting, self.rules,
                *_prior(self.order, one.log_prior), self.order,
            )
            for one in scores
        ]

    def memory(self, n_threads: int) -> int:
        """Bytes that counting and scoring take for one of the scores, its weights included."""
        n = len(self.order)
        return self._plans[0].memory(1, n_threads) + 8 * n * 2 ** (n - 1)

    def logs(self, workers: Workers, n_threads: int, max_memory: float) -> Iterator[np.ndarray]:
        """The weights' logarithms for one score after the other.

        Returns
        -------
        iterator of ndarray of shape (n_variables, 2 ** (n_variables - 1))
            ``[j, P]`` is that of parents P of bit j, with bit j taken out of P; minus infinity
            for families that the constraints or the prior forbid.
        """
        n = len(self.order)
        at_once = len(self._plans)
        spared = 8 * n * 2 ** (n - 1)
        while at_once > 1:
            needed = self._plans[0].memory(at_once, n_threads)
            if needed + spared <= max_memory and needed <= _GRID_MEMORY:
                break
            at_once -= 1
        if self._plans[0].is_counted:
            self._counting.prepare()
        possible = possible_families(self.rules, n)
        for start in range(0, len(self._plans), at_once):
            chosen = self._plans[start : start + at_once]
            largest = min(n, self.rules.max_parents + 1)
            for _, group in fill_layers(chosen, self._counting, largest):
                workers.run(group, 0.0)
            for subsets in chosen:
                for group in subsets.dense_tasks():
                    workers.run(group, 0.0)
                logs = self._differences(subsets, possible)
                subsets.numbers = []
                yield logs

    def _differences(self, subsets: SubsetScores, possible: np.ndarray) -> np.ndarray:
        n = len(self.order)
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
                    f"A local score of variable {self.order[child]} is "
                    f"{finite[np.argmax(np.abs(finite))]:g}: sums over all graphs take scores up "
                    f"to {_LARGEST:g} nats. Return -inf where a family may not be."
                )
        return logs


def rules_of(constraints: Constraints, order: Sequence[int]) -> ParentRules:
    """The constraints as sets of bits, bit b standing for variable ``order[b]``."""
    allowed = constraints.allowed[np.ix_(order, order)]
    required = constraints.required[np.ix_(order, order)]
    return ParentRules(
        [as_set(np.flatnonzero(column)) for column in allowed.T],
        [as_set(np.flatnonzero(column)) for column in required.T],
        min(len(order) - 1, int(constraints.max_parents)),
    )


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
    """Log prior of every family, -inf for forbidden ones; shaped as `FamilyWeights.logs`."""
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


def _prior(
    order: list[int], log_prior: LogPrior | None
) -> tuple[float, Callable[[int, int], float] | None]:
    """The penalty per edge, and the prior in terms of bits."""
    if log_prior is None:
        return 0.0, None
    if isinstance(log_prior, EdgePenalty):
        return log_prior.per_edge, None

    def prior(child: int, parents: int) -> float:
        return float(log_prior(order[child], tuple(sorted(order[b] for b in bits(parents)))))

    return 0.0, prior

