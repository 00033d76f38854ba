"""Families that the data cannot speak about: hardly two rows to a configuration of the parents.

With a row to each configuration no two rows can be compared. Whatever its state, a row then has
the probability 1/r under BDeu, K2, BDs and BDJ, fNML gives it the same and qNML nearly so: the
family has the score -N ln r, whatever the data say. For a child that is close to uniform that is
more than it gets without parents.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skbn.counting.counts import hardly_repeat, label_rows
from skbn.counting.data import CategoricalData
from skbn.messages import first_few, warn_user

# Families, and parents of each, that a warning names.
_N_SHOWN = 3


class SaturatedFamily(NamedTuple):
    """A child and its parents, by name, and how many configurations of these were observed."""

    child: Hashable
    parents: tuple[Hashable, ...]
    n_configurations: int


@dataclass(frozen=True)
class SaturatedFamilies:
    """Families with fewer than two rows to each observed configuration, and the number of rows."""

    families: list[SaturatedFamily]
    n_rows: float

    @classmethod
    def among(
        cls,
        families: Iterable[tuple[int, Sequence[int]]],
        data: CategoricalData,
        labels: Sequence[Hashable],
    ) -> "SaturatedFamilies":
        """Those among some families, each a child and its parents."""
        found = []
        cardinalities, n_rows = data.cardinalities.tolist(), data.n_rows_counted
        for child, parents in families:
            # There are no more than this: most families need no count.
            if hardly_repeat(math.prod(cardinalities[p] for p in parents), n_rows):
                _, n_observed = label_rows(data, parents)
                if hardly_repeat(n_observed, n_rows):
                    names = tuple(labels[p] for p in parents)
                    found.append(SaturatedFamily(labels[child], names, n_observed))
        return cls(found, n_rows)

    def warn(self, where: str) -> None:
        """Warn that `where` (subject and verb) such families are; of none, say nothing."""
        if not self.families:
            return
        worst = sorted(self.families, key=lambda family: -family.n_configurations)[:_N_SHOWN]
        more = len(self.families) - len(worst)
        told = "; ".join(
            f"{first_few([family.child])} given {first_few(family.parents, _N_SHOWN)} has "
            f"{family.n_configurations:,} configurations"
            for family in worst
        )
        warn_user(
            f"{where} families that {self.n_rows:,.12g} rows say next to nothing about, fewer than "
            f"two for each observed configuration of the parents: {told}"
            + (f"; and {more:,} more" if more else "")
            + ". With a row to each configuration the score is the same whatever the data say, so "
            "the edges need not mean anything. Limit max_parents, make levels coarser, drop "
            "columns that identify rows, or learn from a larger table."
        )
