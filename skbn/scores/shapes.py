"""Term tables of several shapes of family, side by side for one native call."""

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from skbn.counting._counting import add_unknown_terms, locate_unknown_terms
from skbn.scores.score import Family, Score, constant_of, key_of, terms_of
from skbn.scores.term_tables import TermTables

# Scores that are made of parts below it are finite, and none is as low as a forbidden one.
_SURELY_FINITE = 1e299


class Shapes:
    """Tables of terms of several shapes of family, and their parts side by side.

    They are made for a family and all of its changes: `n_cells` are the joint states of the child
    and its unchanged parents, and the last shapes are those without a parent of the cardinalities
    `leaving`.

    Attributes
    ----------
    addresses : ndarray of shape (n_shapes, 2), uintp
        Of the tables of cells and of parents.
    scales, constants : ndarrays of shape (n_shapes,)
        A sum over counts is a score once it is divided by the scale and the constant is added.
    unusable : ndarray of shape (n_shapes,), bool
        Whether sums of integers do not exist.
    has_unusable : bool
    is_finite : bool
        Whether every score from the tables is sure to be finite.
    n_known, length : int
        Lengths of the tables; see `TermTables`.
    tails : ndarray of shape (n_shapes, 2, 7)
        Those of f and of g; see `TermTables`.
    """

    def __init__(
        self,
        score: Score,
        families: Sequence[Family],
        tables: Sequence[TermTables],
        n_cells: int,
        leaving: list[int],
    ) -> None:
        self.n_cells = n_cells
        self.leaving = leaving
        self._score, self._families = score, families
        # Kept, since the addresses are theirs.
        self.tables = list(tables)
        self.n_known = tables[0].n_known
        self.length = min(len(table) for pair in tables for table in (pair.cells, pair.parents))
        self.tails = np.array([table.tails for table in tables])
        self.addresses = np.array([table.addresses for table in tables], dtype=np.uintp)
        self.scales = np.array([table.scale for table in tables])
        constants = [
            constant_of(score, f) + t.shift for f, t in zip(families, tables, strict=True)
        ]
        self.constants = np.array(constants)
        unusable = [not table.usable for table in tables]
        self.unusable, self.has_unusable = np.array(unusable), any(unusable)
        largest = max(t.bound for t in tables) * families[0].n_samples
        self.is_finite = all(largest + abs(constant) < _SURELY_FINITE for constant in constants)

    @cached_property
    def _by_owner(self) -> "_ByOwner":
        return _ByOwner.of(self._score, self._families, self.tables)

    def add_unknown(
        self, which: np.ndarray, owners: np.ndarray, counts: np.ndarray, totals: np.ndarray
    ) -> np.ndarray | None:
        """Evaluate the terms of counts that the tables did not know, and add them to the sums.

        The sums, `totals`, change in place. Returns a mask of the candidates with a term too large
        for a sum of integers, None if there are none. `which` is the shape of each candidate;
        owners and counts are as `sum_families` gives them.

        They are kept where the tables reach.
        """
        known = self._by_owner
        numbers, n = np.empty(len(counts), dtype=np.int64), np.empty(len(counts))
        locate_unknown_terms(owners, counts, which, known.numbers, numbers, n)
        large = np.zeros(len(which), dtype=bool)
        found = add_unknown_terms(
            owners, counts, known.terms(numbers, n), which, known.slopes, known.scales,
            known.bounds, self.addresses, self.length, totals, large.view(np.uint8),
        )
        return large if found else None


class _ByOwner(NamedTuple):
    """What evaluates terms, by owner: entry 2 k is for f of shape k, entry 2 k + 1 for g."""

    slopes: np.ndarray
    scales: np.ndarray
    bounds: np.ndarray
    # Numbers among the functions that differ.
    numbers: np.ndarray
    functions: list[tuple[Callable, Family]]

    @classmethod
    def of(
        cls, score: Score, families: Sequence[Family], tables: Sequence[TermTables]
    ) -> "_ByOwner":
        numbers, functions = [], []
        keys: list[Hashable] = []
        for family in families:
            for function in (score.cell_terms, score.parent_terms):
                key = key_of(function, family)
                if key not in keys:
                    keys.append(key)
                    functions.append((function, family))
                numbers.append(keys.index(key))
        return cls(
            np.array([t.slopes if t.usable else (0.0, 0.0) for t in tables]).ravel(),
            np.repeat([t.scale for t in tables], 2),
            # Below zero, nothing fits.
            np.repeat([t.bound if t.usable else -1.0 for t in tables], 2),
            np.array(numbers),
            functions,
        )

    def terms(self, numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Terms of counts by the functions that have these numbers."""
        if len(self.functions) == 1:
            function, family = self.functions[0]
            return np.ascontiguousarray(terms_of(function, counts, family))
        terms = np.empty(len(counts))
        for number, (function, family) in enumerate(self.functions):
            chosen = np.flatnonzero(numbers == number)
            if len(chosen):
                terms[chosen] = terms_of(function, counts[chosen], family)
        return terms
