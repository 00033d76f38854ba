"""d-separation: which independences the graph alone implies."""

from collections.abc import Collection, Sequence


def reachable(
    parents: Sequence[Sequence[int]],
    children: Sequence[Sequence[int]],
    sources: Collection[int],
    given: Collection[int],
) -> set[int]:
    """All variables that some trail, active given `given`, connects with the sources.

    A trail passes through a collider where it or a descendant is given, and through every other
    variable that is not (Shachter 1998, the Bayes ball).

    Parameters
    ----------
    parents, children : sequence of (sequence of int)
        By variable.
    sources, given : collection of int
        Disjoint.

    Returns
    -------
    set of int
        Sources included, `given` excluded.

    Examples
    --------
    >>> from skbn.separation import reachable
    >>> parents, children = [(), (), (0, 1)], [(2,), (2,), ()]
    >>> reachable(parents, children, sources=[0], given=[])
    {0, 2}
    >>> reachable(parents, children, sources=[0], given=[2])
    {0, 1}
    """
    opened = set(given)
    waiting = list(given)
    while waiting:
        for parent in parents[waiting.pop()]:
            if parent not in opened:
                opened.add(parent)
                waiting.append(parent)
    given = set(given)
    # A trail arrives at a variable from a child (True) or from a parent (False).
    trails = [(source, True) for source in sources]
    seen = set(trails)
    while trails:
        variable, from_child = trails.pop()
        further = []
        if from_child or variable in opened:
            # From a parent this goes through a collider, which `opened` has.
            if not from_child or variable not in given:
                further += [(parent, True) for parent in parents[variable]]
        if variable not in given:
            further += [(child, False) for child in children[variable]]
        for trail in further:
            if trail not in seen:
                seen.add(trail)
                trails.append(trail)
    return {variable for variable, _ in seen} - given
