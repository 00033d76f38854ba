"""What is missing in rows, and what of it hangs together."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from skbn.parameters.conditional_table import ConditionalTable


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
    >>> from skbn.inference.patterns import distinct_columns
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
