"""Sets of parents as numbers: bit b stands for variable b."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


def as_set(members: Sequence[int]) -> int:
    """A set of variables as a number with a bit per variable."""
    return sum(1 << int(b) for b in members)


def bits(members: int) -> Iterable[int]:
    """The variables of a set, in ascending order."""
    while members:
        yield (members & -members).bit_length() - 1
        members &= members - 1


@dataclass(frozen=True, eq=False)
class ParentRules:
    """Which parents each variable may have; sets are numbers with a bit per variable.

    Attributes
    ----------
    allowed, required : list of int
        For each child the set its parents come from and the set they hold.
    max_parents : int
    """

    allowed: list[int]
    required: list[int]
    max_parents: int

    def n_families(self) -> int:
        """How many pairs of a child and parents are possible."""
        return sum(
            math.comb((allowed & ~required).bit_count(), size)
            for allowed, required in zip(self.allowed, self.required, strict=True)
            if not required & ~allowed
            for size in range(self.max_parents - required.bit_count() + 1)
        )

    def families(self, child: int) -> Iterator[int]:
        """Every possible set of parents of a child."""
        allowed, required = self.allowed[child], self.required[child]
        if required & ~allowed:
            return
        free = allowed & ~required
        part = 0
        while True:
            if (part | required).bit_count() <= self.max_parents:
                yield part | required
            part = (part - free) & free
            if not part:
                return
