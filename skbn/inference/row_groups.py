"""Which rows with gaps are worked on together.

Rows with the same gap share one plan. Where nearly every row has gaps of its own, planning would
cost more than it saves: then rows of different patterns share the plan of all variables that are
missing in one of them, and the cells that a row does have enter as evidence.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from skbn.inference.conditional_table import ConditionalTable
from skbn.inference.elimination import LARGEST_TABLE, Plan, WideTableError, plan_elimination

# What a job costs, and every variable in it, in entries of tables that the time would do for.
_COST_OF_JOB = 40_000
_COST_OF_VARIABLE = 10_000
# Rows are divided while summing them out costs so many times what another plan does, so often.
_WORTH = 4
_MOST_DIVISIONS = 10
Component = tuple[int, int]


class Families:
    """The families of a network, as far as summing out asks for them.

    Sets of variables, and of families, which are numbered as their children are, are the bits of
    an integer. Variables of a single state are members of no family: they tell nothing, and would
    give every table an axis.

    Parameters
    ----------
    tables : sequence of ConditionalTable
    order : sequence of int
        All variables, parents before children.

    Attributes
    ----------
    members : list of tuple of int
        The child and the parents of each family.
    masks : list of int
        The same as bits.
    of : list of list of int
        The families that each variable is a member of.
    cardinalities : list of int
    constant : list of int
        The variables of a single state.
    """

    def __init__(self, tables: Sequence[ConditionalTable], order: Sequence[int]) -> None:
        self.cardinalities = [table.cardinality for table in tables]
        self.constant = [v for v, states in enumerate(self.cardinalities) if states == 1]
        self.members = [
            tuple(v for v in (table.child, *table.parents) if self.cardinalities[v] > 1)
            if table.cardinality > 1 else ()
            for table in tables
        ]
        self.masks = [sum(1 << member for member in members) for members in self.members]
        self.order = tuple(order)
        self.of: list[list[int]] = [[] for _ in tables]
        for family, members in enumerate(self.members):
            for member in members:
                self.of[member].append(family)

    def barren(self, missing: np.ndarray, kept: Collection[int] = ()) -> np.ndarray:
        """Where a variable sums to 1: it and all its descendants are missing, and none is kept.

        Parameters
        ----------
        missing : ndarray of shape (n_variables, n_rows), bool
        kept : collection of int

        Returns
        -------
        ndarray of shape (n_variables, n_rows), bool
        """
        barren = missing.copy()
        barren[list(kept)] = False
        for variable in reversed(self.order):
            for family in self.of[variable]:
                barren[variable] &= barren[family]
        return barren

    def components(
        self, free: int, gone: int = 0, kept: Sequence[int] = ()
    ) -> list[tuple[int, int]]:
        """The sets of free variables that families link.

        Parameters
        ----------
        free : int
        gone : int
            Families that count for nothing.
        kept : sequence of int
            If there are any, then only the sets that hold one of them, and as a single set.

        Returns
        -------
        list of (int, int)
            The variables of each set, and the families that know one of them.
        """
        found = list(self._linked(free, gone))
        if not kept:
            return found
        wanted = mask_of(kept)
        together, families = 0, 0
        for component, known in found:
            if component & wanted:
                together |= component
                families |= known
        return [(together, families)]

    def _linked(self, free: int, gone: int) -> Iterator[tuple[int, int]]:
        while free:
            found, frontier, families = 0, free & -free, 0
            while frontier:
                found |= frontier
                reached = 0
                for variable in bits(frontier):
                    for family in self.of[variable]:
                        if not gone >> family & 1:
                            families |= 1 << family
                            reached |= self.masks[family]
                frontier = reached & free & ~found
            free &= ~found
            yield found, families


def distinct_columns(matrix: np.ndarray) -> list[np.ndarray]:
    """Where each of the different columns of a matrix of truth values stands.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn.inference.row_groups import distinct_columns
    >>> distinct_columns(np.array([[True, False, True], [False, False, False]]))
    [array([1]), array([0, 2])]
    """
    if (matrix == matrix[:, :1]).all():
        return [np.arange(matrix.shape[1])]
    packed = np.packbits(matrix, axis=0)
    words = np.zeros((-(-len(packed) // 8) * 8, packed.shape[1]), dtype=np.uint8)
    words[: len(packed)] = packed
    keys = np.ascontiguousarray(words.T).view(np.uint64)
    order = np.lexsort(keys.T)
    keys = keys[order]
    starts = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    return np.split(order, starts)


def bits(mask: int) -> Iterator[int]:
    """The places of the bits of an integer that are 1, increasing."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def mask_of(places: Collection[int]) -> int:
    """The integer whose bits at these places are 1."""
    return sum(1 << place for place in places)


def masks_of(matrix: np.ndarray) -> list[int]:
    """Each column of a matrix of truth values as the bits of an integer."""
    packed = np.packbits(matrix, axis=0, bitorder="little").T
    return [int.from_bytes(column.tobytes(), "little") for column in packed]


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
