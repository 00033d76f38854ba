"""Topological order of a graph: every variable after its parents."""

import heapq
from collections.abc import Hashable, Sequence


def topological_order(
    parents: Sequence[Sequence[int]], labels: Sequence[Hashable] | None = None
) -> list[int]:
    """Every variable after its parents; the lowest index first where there is a choice.

    Parameters
    ----------
    parents : sequence of (sequence of int)
        Indices of the parents of each variable.
    labels : sequence of hashable, optional
        Names for the message; indices by default.

    Raises
    ------
    ValueError
        If there is a cycle; the message names it.
    """
    n_waiting_for = [len(family) for family in parents]
    children: list[list[int]] = [[] for _ in parents]
    for child, family in enumerate(parents):
        for parent in family:
            children[parent].append(child)
    ready = [variable for variable, count in enumerate(n_waiting_for) if count == 0]
    order = []
    while ready:
        variable = heapq.heappop(ready)
        order.append(variable)
        for child in children[variable]:
            n_waiting_for[child] -= 1
            if n_waiting_for[child] == 0:
                heapq.heappush(ready, child)
    if len(order) < len(parents):
        cycle = _cycle_among(set(range(len(parents))) - set(order), parents)
        names = " -> ".join(repr(v if labels is None else labels[v]) for v in cycle)
        raise ValueError(f"The graph has a cycle: {names}. Remove one of its edges.")
    return order


def _cycle_among(left: set[int], parents: Sequence[Sequence[int]]) -> list[int]:
    """A cycle, first variable repeated last; every variable left over has a parent left over."""
    path = [min(left)]
    while True:
        parent = min(left.intersection(parents[path[-1]]))
        if parent in path:
            return [parent, *reversed(path[path.index(parent) :])]
        path.append(parent)
