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
    >>> from skbn.graphs.separation import reachable
    >>> parents, children = [(), (), (0, 1)], [(2,), (2,), ()]
    >>> reachable(parents, children, sources=[0], given=[])
    {0, 2}
    >>> reachable(parents, children, sources=[0], given=[2])
    {0, 1}
    """
    given = set(given)
    # A trail arrives at a variable from a child (True) or from a parent (False).
    trails = [(source, True) for source in sources]
    seen = set(trails)
    while trails:
        variable, from_child = trails.pop()
        further = []
        # What is given turns round a trail from a parent: thus it comes back, as from a child, to
        # the colliders that what is given descends from, and goes on through them.
        if from_child != (variable in given):
            further += [(parent, True) for parent in parents[variable]]
        if variable not in given:
            further += [(child, False) for child in children[variable]]
        for trail in further:
            if trail not in seen:
                seen.add(trail)
                trails.append(trail)
    return {variable for variable, _ in seen} - given
