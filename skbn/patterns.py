"""Which rows with gaps are worked on together: by what is missing, as far as that matters."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from skbn.elimination import LARGEST_TABLE, Plan, WideTableError, plan_elimination
from skbn.parameters import ConditionalTable

# What planning and carrying out a job cost, in entries of its tables: they decide whether rows of
# different patterns share one plan, in which the cells that they do have enter as evidence.
_COST_OF_JOB = 30_000
_COST_OF_VARIABLE = 20_000


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


class Families:
    """The families of a network, as far as summing out asks for them.

    Parameters
    ----------
    tables : sequence of ConditionalTable
    order : sequence of int
        All variables, parents before children.
    """

    def __init__(self, tables: Sequence[ConditionalTable], order: Sequence[int]) -> None:
        self.members = [(table.child, *table.parents) for table in tables]
        self.masks = [sum(1 << member for member in members) for members in self.members]
        self.order = tuple(order)
        self.cardinalities = [table.cardinality for table in tables]
        self.of: list[list[int]] = [[] for _ in tables]
        for family, members in enumerate(self.members):
            for member in members:
                self.of[member].append(family)

    def barren(self, missing: np.ndarray, kept: Collection[int] = ()) -> np.ndarray:
        """Where a variable sums to 1: it and all its descendants are missing, and none is kept."""
        barren = missing.copy()
        barren[list(kept)] = False
        for variable in reversed(self.order):
            for family in self.of[variable]:
                barren[variable] &= barren[family]
        return barren

    def components(self, free: int, gone: int = 0) -> Iterator[tuple[int, int]]:
        """The sets of free variables that families link, and the families that know them.

        All sets are bits of an integer. The families of the variables `gone` count for nothing.
        """
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
        Variables that stay, missing in all rows. Then only jobs that concern them are found.
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
    live = missing & ~barren
    covered = np.zeros_like(missing)
    for family, members in enumerate(families.members):
        covered[family] = live[list(members)].any(axis=0)
    rows = np.flatnonzero(live.any(axis=0))
    jobs: list[Job] = []
    if len(rows):
        rows_of = _distinct(missing[:, rows], rows)
        # What is barren follows from what is missing.
        first = np.array([group[0] for group in rows_of])
        alone = _by_component(families, live[:, first], barren[:, first], rows_of, kept)
        together = None
        if len(alone) > 1:
            price = sum(
                _COST_OF_JOB + _COST_OF_VARIABLE * free.bit_count() for free, _ in alone
            )
            together = _union(families, missing[:, rows], barren[:, rows], rows, kept, price, limit)
        if together is not None:
            jobs = together
            for job in jobs:
                covered[np.ix_(job.families, job.rows)] = True
        else:
            jobs = [
                _job(families, free, (), known, np.concatenate(groups), kept, limit)
                for (free, known), groups in alone.items()
            ]
    return jobs, ~covered & ~barren


def _distinct(missing: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """The rows that have each of the different columns of a matrix of truth values."""
    if (missing == missing[:, :1]).all():
        return [rows]
    packed = np.packbits(missing, axis=0)
    words = np.zeros((-(-len(packed) // 8) * 8, packed.shape[1]), dtype=np.uint8)
    words[: len(packed)] = packed
    keys = np.ascontiguousarray(words.T).view(np.uint64)
    order = np.lexsort(keys.T)
    keys = keys[order]
    starts = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)])
    return np.split(rows[order], starts[1:])


def _by_component(
    families: Families,
    live: np.ndarray,
    barren: np.ndarray,
    rows_of: Sequence[np.ndarray],
    kept: Sequence[int],
) -> dict[tuple[int, int], list[np.ndarray]]:
    """Rows by linked set of missing variables and families; the kept variables are one set."""
    found: dict[tuple[int, int], list[np.ndarray]] = {}
    for free, gone, rows in zip(_masks(live), _masks(barren), rows_of, strict=True):
        for key in _concerned(families.components(free, gone), kept):
            found.setdefault(key, []).append(rows)
    return found


def _concerned(
    components: Iterator[tuple[int, int]], kept: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """All components, or those of the kept variables as one."""
    if not kept:
        yield from components
        return
    wanted = sum(1 << variable for variable in kept)
    free, families = 0, 0
    for component, known in components:
        if component & wanted:
            free |= component
            families |= known
    yield free, families


def _union(
    families: Families,
    missing: np.ndarray,
    barren: np.ndarray,
    rows: np.ndarray,
    kept: Sequence[int],
    price: float,
    limit: float,
) -> list[Job] | None:
    """The jobs of all rows under the union of their patterns, if they cost no more than `price`."""
    gone = barren.all(axis=1)
    somewhere = _mask(missing.any(axis=1) & ~gone)
    known = ~missing.all(axis=1)
    jobs: list[Job] = []
    for free, of_free in _concerned(families.components(somewhere, _mask(gone)), kept):
        evidence = tuple(variable for variable in bits(free) if known[variable])
        try:
            most = min(limit, price / len(rows))
            job = _job(families, free, evidence, of_free, rows, kept, most)
        except WideTableError:
            return None
        price -= job.plan.n_entries * len(rows)
        if price < 0:
            return None
        jobs.append(job)
    return jobs


def _job(
    families: Families,
    free: int,
    evidence: tuple[int, ...],
    of_free: int,
    rows: np.ndarray,
    kept: Sequence[int],
    limit: float,
) -> Job:
    variables, known = tuple(bits(free)), tuple(bits(of_free))
    scopes = [tuple(bits(families.masks[family] & free)) for family in known]
    scopes += [(variable,) for variable in evidence]
    plan = plan_elimination(scopes, families.cardinalities, kept, limit)
    return Job(rows, variables, evidence, known, plan)


def bits(mask: int) -> Iterator[int]:
    """The places of the bits of an integer that are 1, increasing."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _mask(truths: np.ndarray) -> int:
    return int.from_bytes(np.packbits(truths, bitorder="little").tobytes(), "little")


def _masks(matrix: np.ndarray) -> list[int]:
    """Each column of a matrix of truth values as the bits of an integer."""
    packed = np.packbits(matrix, axis=0, bitorder="little").T
    return [int.from_bytes(column.tobytes(), "little") for column in packed]
