"""In which order variables are summed out of a product of factors, and how large that gets."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# A table of this many numbers takes a quarter of a gigabyte, and a few are there at a time.
LARGEST_TABLE = 2**25


class Step(NamedTuple):
    """One variable goes: the factors that know it are multiplied, and it is summed out.

    The factors `slots`, smallest first, are brought to `shapes`, which have an axis per variable of
    `scope`, and the variable is that at `axis`.
    """

    variable: int
    scope: tuple[int, ...]
    axis: int
    slots: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Plan:
    """The steps of an elimination.

    Factors are numbered: first those given, then the result of each step. The last step, of
    variable -1, multiplies what is left over the kept variables and sums out nothing.

    Attributes
    ----------
    steps : tuple of Step
    n_entries : int
        Entries of all tables that are multiplied out, added up: the work for one row.
    largest : int
        Entries of the largest of them.
    widest : tuple of int
        Its variables.
    """

    steps: tuple[Step, ...]
    n_entries: int
    largest: int
    widest: tuple[int, ...]


class WideTableError(ValueError):
    """An elimination needs a table that is too large.

    Attributes
    ----------
    size : int
        Number of entries of the first table that is.
    variables : list of int
        Its variables.
    """

    def __init__(self, size: int, variables: Sequence[int]) -> None:
        self.size, self.variables = size, list(variables)
        super().__init__(
            f"An elimination needs a table of {size} entries over {len(self.variables)} variables, "
            f"and {LARGEST_TABLE:,} is the most. Give the states of some of them."
        )


def plan_elimination(
    scopes: Sequence[Collection[int]],
    cardinalities: Sequence[int],
    kept: Collection[int] = (),
    limit: float = LARGEST_TABLE,
) -> Plan:
    """Find an order by min-fill: next goes the variable whose factors link fewest new pairs.

    Parameters
    ----------
    scopes : sequence of collections of int
        The variables of each factor.
    cardinalities : sequence of int
        Number of states, by variable.
    kept : collection of int
        Variables that stay.
    limit : float
        Largest number of entries of a table.

    Returns
    -------
    Plan

    Raises
    ------
    WideTableError
        If a table has more than `limit` entries.

    Examples
    --------
    A chain of four variables, summed out from its ends:

    >>> from skbn.inference.elimination import plan_elimination
    >>> plan = plan_elimination([(0,), (0, 1), (1, 2), (2, 3)], [2, 3, 2, 4], kept=[1])
    >>> [(step.variable, step.scope) for step in plan.steps]
    [(0, (0, 1)), (3, (2, 3)), (2, (1, 2)), (-1, (1,))]
    >>> plan.n_entries
    23
    """
    order = _order_by_fill(scopes, cardinalities, kept, limit)
    sorted_scopes = [tuple(sorted(scope)) for scope in scopes]
    holders: dict[int, set[int]] = {}
    for slot, scope in enumerate(sorted_scopes):
        for variable in scope:
            holders.setdefault(variable, set()).add(slot)
    left = set(range(len(sorted_scopes)))
    steps: list[Step] = []
    n_entries, largest, widest = 0, 0, ()
    for variable in [*order, -1]:
        used = left if variable < 0 else holders.pop(variable, set())
        members: set[int] = set(kept) if variable < 0 else {variable}
        members.update(*(sorted_scopes[slot] for slot in used))
        scope = tuple(sorted(members))
        size = math.prod(cardinalities[member] for member in scope)
        if size > limit:
            raise WideTableError(size, scope)
        n_entries += size
        if size > largest:
            largest, widest = size, scope
        slots = sorted(used, key=lambda slot: (_size(sorted_scopes[slot], cardinalities), slot))
        shapes = tuple(
            tuple(
                cardinalities[member] if member in sorted_scopes[slot] else 1 for member in scope
            )
            for slot in slots
        )
        axis = scope.index(variable) if variable >= 0 else -1
        steps.append(Step(variable, scope, axis, tuple(slots), shapes))
        left = left - used
        if variable >= 0:
            slot = len(sorted_scopes)
            sorted_scopes.append(tuple(member for member in scope if member != variable))
            left.add(slot)
            for member in sorted_scopes[slot]:
                holders[member] -= used
                holders[member].add(slot)
    return Plan(tuple(steps), n_entries, largest, widest)


def _size(scope: Sequence[int], cardinalities: Sequence[int]) -> int:
    return math.prod(cardinalities[member] for member in scope)


def _order_by_fill(
    scopes: Sequence[Collection[int]],
    cardinalities: Sequence[int],
    kept: Collection[int],
    limit: float,
) -> list[int]:
    """Variables that are not kept, in the order of their elimination."""
    # Sets of variables are the bits of an integer: pairs are counted a machine word at a time.
    variables = sorted({variable for scope in scopes for variable in scope})
    place = {variable: index for index, variable in enumerate(variables)}
    sizes = [math.log2(max(cardinalities[variable], 1)) for variable in variables]
    neighbours = [0] * len(variables)
    for scope in scopes:
        together = 0
        for variable in scope:
            together |= 1 << place[variable]
        for variable in scope:
            neighbours[place[variable]] |= together
    for index in range(len(variables)):
        neighbours[index] &= ~(1 << index)

    def cost(index: int) -> tuple[int, float]:
        around, missing, size = neighbours[index], 0, sizes[index]
        for other in _bits(around):
            missing += (around & ~neighbours[other]).bit_count() - 1
            size += sizes[other]
        return missing, size

    waiting = {index: cost(index) for index in range(len(variables))}
    for variable in kept:
        waiting.pop(place.get(variable, -1), None)
    most = math.log2(limit) + 1e-9 if limit < math.inf else math.inf
    order = []
    while waiting:
        index = min(waiting, key=waiting.__getitem__)
        around = neighbours[index]
        if waiting.pop(index)[1] > most:
            # Later ones may be wider still, but finding out would take long.
            scope = sorted(variables[other] for other in [index, *_bits(around)])
            raise WideTableError(_size(scope, cardinalities), scope)
        order.append(variables[index])
        changed = around
        for other in _bits(around):
            before = neighbours[other]
            neighbours[other] = (before | around) & ~(1 << other) & ~(1 << index)
            changed |= neighbours[other]
        for other in _bits(changed):
            if other in waiting:
                waiting[other] = cost(other)
    return order


def _bits(mask: int):
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
