"""All families of a table: every child given every set of parents, from one count of all sets."""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints, EdgePenalty, LogPrior
from skbn.resources import Workers
from skbn.scores.local_scores import LocalScores
from skbn.subsets.parent_sets import ParentRules, as_set, bits
from skbn.subsets.set_sums import SubsetSums
from skbn.subsets.subset_scores import SubsetPrior, SubsetScores, fill_layers

# Several scores are summed with one count of all sets while their numbers take so many bytes.
_GRID_MEMORY = 2**30


class AllFamilies:
    """The local scores of every child given every set of parents, for whoever looks at all graphs.

    The exact search and the sums over graphs ask for them alike, for one equivalent sample size
    or for several: all sets of variables are counted once for all that is asked at a time, and
    what is kept need not be counted for the next to ask.

    Attributes
    ----------
    order : list of int
        The variable that each bit of a set stands for; those with few states come first, as the
        counting ends with them.
    rules : ParentRules
        The constraints, in terms of the bits.
    """

    def __init__(self, data: CategoricalData, constraints: Constraints) -> None:
        self.table = data
        self.n = data.n_variables
        self.order = np.argsort(data.cardinalities, kind="stable").tolist()
        self.rules = rules_of(constraints, self.order)
        self._counting = SubsetSums(
            CategoricalData(
                np.ascontiguousarray(data.codes[self.order]), data.cardinalities[self.order],
                data.weights, data.n_samples,
            )
        )
        self._kept: dict[tuple[int, float], SubsetScores] = {}

    @property
    def lists_memory(self) -> int:
        """Bytes of what is listed before any memory is asked for: the products of cardinalities."""
        return self._counting.signatures.memory

    def plan(self, scores: LocalScores) -> SubsetScores:
        """What has to be summed for one score, not filled yet unless it was kept."""
        kept = self._kept.get((id(scores.score), scores.ess))
        return kept or SubsetScores(
            LocalScores(self._counting.data, scores.score, scores.ess), self._counting,
            self.rules, _in_bits(scores.log_prior, self.order), self.order,
        )

    def filled(
        self, plans: Sequence[SubsetScores], workers: Workers, room: float, *,
        share: float = 0.0, keep: bool = False,
    ) -> Iterator[SubsetScores]:
        """The plans one after the other with their numbers, which are the receiver's to change.

        The plans differ in nothing but their ess. Where `room`, in bytes, does not suffice for all
        of them at once, the sets are counted several times. With `keep` the numbers are not to be
        changed, and stay for who asks next if there is room for all. `share` is the part of the
        whole work that each plan makes up, for the progress told.
        """
        wanted = [plan for plan in plans if self._kept.get(plan.key) is not plan]
        at_once = self._at_once(wanted, workers.n_threads, room)
        keep = keep and at_once == len(wanted) and not plans[0].is_dense
        if wanted and wanted[0].is_counted:
            self._counting.prepare()
        waiting = iter(wanted)
        for plan in plans:
            if plan.layers and not plan.numbers:
                self._sum_layers(list(islice(waiting, at_once)), workers, share)
            if not self._kept.pop(plan.key, None):
                for group in plan.dense_tasks():
                    workers.run(group, share / plan.n_stages)
            if keep:
                self._kept[plan.key] = plan
            yield plan
            if not keep:
                plan.numbers = []

    def _sum_layers(self, plans: list[SubsetScores], workers: Workers, share: float) -> None:
        largest = min(self.n, self.rules.max_parents + 1)
        for part, group in fill_layers(plans, self._counting, largest):
            workers.run(group, part * len(plans) * share / plans[0].n_stages)

    def _at_once(self, plans: list[SubsetScores], n_threads: int, room: float) -> int:
        """How many of these plans are filled with one count of the sets."""
        n_plans = len(plans)
        while n_plans > 1:
            needed = plans[0].memory(n_plans, n_threads)
            if needed <= room and needed - plans[0].memory(1, n_threads) <= _GRID_MEMORY:
                break
            n_plans -= 1
        return n_plans


def rules_of(constraints: Constraints, order: Sequence[int]) -> ParentRules:
    """The constraints as sets of bits, bit b standing for variable ``order[b]``."""
    allowed = constraints.allowed[np.ix_(order, order)]
    required = constraints.required[np.ix_(order, order)]
    return ParentRules(
        [as_set(np.flatnonzero(column)) for column in allowed.T],
        [as_set(np.flatnonzero(column)) for column in required.T],
        min(len(order) - 1, int(constraints.max_parents)),
    )


def _in_bits(log_prior: LogPrior | None, order: list[int]) -> SubsetPrior:
    """The prior as a penalty per edge or as a function of bits."""
    if log_prior is None:
        return SubsetPrior()
    if isinstance(log_prior, EdgePenalty):
        return SubsetPrior(log_prior.per_edge)

    def prior(child: int, parents: int) -> float:
        return float(log_prior(order[child], tuple(sorted(order[b] for b in bits(parents)))))

    return SubsetPrior(of_family=prior)
