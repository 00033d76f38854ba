"""Which rows with gaps are worked on together.

Rows with the same gap share one plan. Where nearly every row has gaps of its own, planning would
cost more than it saves: then rows of different patterns share the plan of all variables that are
missing in one of them, and the cells that a row does have enter as evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skbn.inference.elimination import LARGEST_TABLE, Plan, WideTableError, plan_elimination
from skbn.inference.patterns import Families, bits, distinct_columns, masks_of

# What a job costs, and every variable in it, in entries of tables that the time would do for.
_COST_OF_JOB = 40_000
_COST_OF_VARIABLE = 10_000
# Rows are divided while summing them out costs so many times what another plan does, so often.
_WORTH = 4
_MOST_DIVISIONS = 10

Component = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Job:
    """Rows in which the same variables are summed out.

    Attributes
    ----------
    rows : ndarray of int
    free : tuple of int
        The variables that factors have an axis for.
    evidence : tuple of int
        Those of them that some of the rows know.
    families : tuple of int
        The tables that are multiplied: all that know a free variable.
    plan : Plan
        Its factors are these tables, then one for each variable of `evidence`.
    """

    rows: np.ndarray
    free: tuple[int, ...]
    evidence: tuple[int, ...]
    families: tuple[int, ...]
    plan: Plan

    @property
    def cost(self) -> int:
        return self.plan.n_entries * len(self.rows) + _cost_of(len(self.free))


def group_rows(
    families: Families,
    missing: np.ndarray,
    kept: Sequence[int] = (),
    *,
    prune: bool = True,
    limit: float = LARGEST_TABLE,
) -> tuple[list[Job], np.ndarray]:
    """Find the jobs that sum out what is missing.

    Parameters
    ----------
    families : Families
    missing : ndarray of shape (n_variables, n_rows), bool
    kept : sequence of int
        Variables that stay, missing in all rows, of two states at least. Then only jobs that
        concern them are found.
    prune : bool
        Leave out what sums to 1. Maxima do not.
    limit : float
        Largest number of entries of a table.

    Returns
    -------
    jobs : list of Job
    direct : ndarray of shape (n_variables, n_rows), bool
        Where the family of a variable is part of no job, and must be read from its table.

    Raises
    ------
    WideTableError
        If a table would have more than `limit` entries.
    """
    barren = families.barren(missing, kept) if prune else np.zeros_like(missing)
    # A single state tells nothing, known or not.
    barren[families.constant] = True
    live = missing & ~barren
    covered = np.zeros_like(missing)
    for family, members in enumerate(families.members):
        covered[family] = live[list(members)].any(axis=0)
    rows = np.flatnonzero(live.any(axis=0))
    if not len(rows):
        return [], ~covered & ~barren
    grouping = _Grouping(families, missing[:, rows], barren[:, rows], rows, kept, limit)
    grouping.divide(np.arange(len(grouping.rows_of)), _MOST_DIVISIONS)
    for job in grouping.shared:
        covered[np.ix_(job.families, job.rows)] = True
    jobs = [
        _plan_job(families, component, (), np.concatenate(groups), kept, limit)
        for component, groups in grouping.alone.items()
    ]
    return grouping.shared + jobs, ~covered & ~barren


class _Grouping:
    """Patterns of missing cells, and the jobs found for them so far."""

    def __init__(
        self,
        families: Families,
        missing: np.ndarray,
        barren: np.ndarray,
        rows: np.ndarray,
        kept: Sequence[int],
        limit: float,
    ) -> None:
        self.families, self.kept, self.limit = families, kept, limit
        places = distinct_columns(missing)
        self.rows_of = [rows[where] for where in places]
        self.counts = np.array([len(where) for where in places])
        first = [where[0] for where in places]
        # What is barren follows from what is missing.
        self.missing, self.barren = missing[:, first], barren[:, first]
        self.components = [
            families.components(free, gone, kept)
            for free, gone in zip(
                masks_of(self.missing & ~self.barren), masks_of(self.barren), strict=True
            )
        ]
        self.shared: list[Job] = []
        self.alone: dict[Component, list[np.ndarray]] = {}

    def divide(self, patterns: np.ndarray, n_divisions: int) -> None:
        """Find jobs for these patterns: one plan for all, one per component, or divided."""
        components = {component for p in patterns for component in self.components[p]}
        price = sum(_cost_of(free.bit_count()) for free, _ in components)
        if len(components) > 1:
            jobs, dense = self._share(patterns)
            cost = sum(job.cost for job in jobs) if jobs else np.inf
            cheap = sum(_cost_of(len(job.free)) for job in jobs) if jobs else price / _WORTH
            if cost <= min(price, _WORTH * cheap):
                self.shared += jobs
                return
            column = self._dividing_column(patterns, dense)
            if column is not None and n_divisions and price > _WORTH * cheap:
                within = self.missing[column, patterns]
                self.divide(patterns[within], n_divisions - 1)
                self.divide(patterns[~within], n_divisions - 1)
                return
            if cost <= price:
                self.shared += jobs
                return
        for pattern in patterns:
            for component in self.components[pattern]:
                self.alone.setdefault(component, []).append(self.rows_of[pattern])

    def _share(self, patterns: np.ndarray) -> tuple[list[Job], dict[int, float]]:
        """The jobs of all these rows under one plan, and what each variable costs there.

        No jobs where tables would get too large.
        """
        missing, barren = self.missing[:, patterns], self.barren[:, patterns]
        gone = barren.all(axis=1)
        free = missing.any(axis=1) & ~gone
        unknown = missing.all(axis=1)
        rows = np.concatenate([self.rows_of[pattern] for pattern in patterns])
        (free_mask, gone_mask) = masks_of(np.stack([free, gone], axis=1))
        jobs: list[Job] = []
        dense: dict[int, float] = {}
        for component in self.families.components(free_mask, gone_mask, self.kept):
            evidence = tuple(place for place in bits(component[0]) if not unknown[place])
            try:
                job = _plan_job(
                    self.families, component, evidence, rows, self.kept, self.limit
                )
            except WideTableError as error:
                return [], dict.fromkeys(error.variables, 1.0)
            jobs.append(job)
            for step in job.plan.steps:
                size = 1.0
                for member in step.scope:
                    size *= self.families.cardinalities[member]
                for member in step.scope:
                    dense[member] = dense.get(member, 0.0) + size
        return jobs, dense

    def _dividing_column(self, patterns: np.ndarray, dense: dict[int, float]) -> int | None:
        """The variable that would save most if the rows that know it had a plan without it."""
        counts = self.counts[patterns]
        best, column = 0.0, None
        for variable, size in dense.items():
            known = counts[~self.missing[variable, patterns]].sum()
            saved = size * (1 - 1 / self.families.cardinalities[variable]) * known
            if saved > best and known < counts.sum():
                best, column = saved, variable
        return column


def _cost_of(n_variables: int) -> int:
    return _COST_OF_JOB + _COST_OF_VARIABLE * n_variables


def _plan_job(
    families: Families,
    component: Component,
    evidence: tuple[int, ...],
    rows: np.ndarray,
    kept: Sequence[int],
    limit: float,
) -> Job:
    free, of_free = component
    known = tuple(bits(of_free))
    scopes = [tuple(bits(families.masks[family] & free)) for family in known]
    scopes += [(variable,) for variable in evidence]
    plan = plan_elimination(scopes, families.cardinalities, kept, limit)
    return Job(rows, tuple(bits(free)), evidence, known, plan)
