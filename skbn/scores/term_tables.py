"""Tables of a score's terms by count, and those of several shapes of family side by side."""

import math
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from skbn.counting._counting import add_unknown_terms, locate_unknown_terms
from skbn.scores.gamma import Tail
from skbn.scores.score import Family, Score, constant_of, key_of, terms_of

# Counts below the first are tabulated at once, counts below the second when they first occur.
_KNOWN = 1024
_LENGTH = 16384
# Room for the rounding of terms that grow in proportion to the count, as a share of them.
_ROUNDING = 2.0**-48
# Scores that are made of parts below it are finite, and none is as low as a forbidden one.
_SURELY_FINITE = 1e299


class KnownTerms:
    """f or g for the counts 1 .. n_known - 1 and for N, and the bounds of f(n) / n.

    f and g are `cell_terms` and `parent_terms`. A `short` table goes no further than the known
    counts.

    Attributes
    ----------
    values : ndarray of shape (n_known,)
        The last one is that of N.
    slope : float
        a, the f(n) / n nearest to 0.
    spread : float
        How far f(n) / n goes from a, with some room.
    tail : Tail or None
        What f is beyond the known counts, if there is a formula.
    """

    def __init__(
        self, function: Callable, family: Family, tail: Tail | None = None, short: bool = False
    ) -> None:
        self.tail = tail
        self._length = int(min(family.n_samples + 1, _KNOWN if short else _LENGTH))
        self._n_samples = family.n_samples
        counts = _known_counts(family.n_samples)
        self.values = terms_of(function, counts, family)
        ratios = self.values / counts
        # f(n) / n of most scores lies between f(1) and f(N) / N, which bounds the sums. Counts that
        # break the rule are told apart by `Shapes.add_unknown`.
        low, high = float(ratios.min()), float(ratios.max())
        self.slope = max(low, min(0.0, high))
        self.spread = 1.001 * max(high - self.slope, self.slope - low) + (
            _ROUNDING * abs(self.slope)
        )
        self._tables: dict[float, tuple[np.ndarray, int]] = {}

    def table(self, scale: float) -> tuple[np.ndarray, int]:
        """f(n) - a n in units of 1 / scale, 0 where it has not been evaluated, and its address.

        It is kept.
        """
        found = self._tables.get(scale)
        if found is None:
            table = np.zeros(self._length, dtype=np.int64)
            counts = _known_counts(self._n_samples)[:-1]
            rest = self.values[:-1] - self.slope * counts
            rest *= scale
            table[1 : len(counts) + 1] = np.rint(rest, out=rest)
            # Another thread may have been quicker.
            found = self._tables.setdefault(scale, (table, table.ctypes.data))
        return found


@lru_cache(maxsize=8)
def _known_counts(n_samples: float) -> np.ndarray:
    n_known = int(min(n_samples + 1, _KNOWN))
    counts = np.arange(1.0, n_known + 1.0)
    counts[-1] = n_samples
    counts.flags.writeable = False
    return counts


class TermTables:
    """f(n) - a n and g(n) - b n for counts n = 0, 1, ..., as integers in units of 1 / scale.

    Sums of integers do not depend on the order of their terms: a score summed from these tables
    is the same to the last bit for every order of rows and of states. The unit is as small as a
    64-bit sum permits, about 2**-61 of the largest possible sum. The counts of cells sum to N, as
    those of parents do, so that a and b shift a score by (a - b) N whatever the counts. a is the
    f(n) / n nearest to 0: for a large ESS f(n) is n ln(ess / (r q)) and hardly more, and what is
    left is small.

    Attributes
    ----------
    cells, parents : ndarray of int64
        The tables of f and of g. 0 at n = 0; from n_known upward 0 stands for "not evaluated yet".
    n_known : int
        All counts below it are tabulated.
    scale : float
        A power of two.
    slopes : tuple of float
        a and b.
    bound : float
        No f(n) - a n and no g(n) - b n beyond this multiple of n is kept.
    shift : float
        (a - b) N, to be added to every sum.
    usable : bool
        False where the sums have no finite bound; then nothing is tabulated.
    addresses : tuple of int
        Where `cells` and `parents` lie in memory, for the kernels.
    tails : tuple of tuple of float
        What f(n) - a n and g(n) - b n are beyond the known counts, for the kernels: the fields of
        `skbn.scores.gamma.Tail`, bound and scale; NaN where there is no formula.
    """

    def __init__(
        self,
        score: Score,
        family: Family,
        known: tuple[KnownTerms, KnownTerms] | None = None,
    ) -> None:
        self.score, self.family = score, family
        if known is None:
            functions = (score.cell_terms, score.parent_terms)
            known = tuple(KnownTerms(function, family) for function in functions)
        total = family.n_samples
        self.n_known = len(known[0].values)
        self.slopes = tuple(terms.slope for terms in known)
        spread = max(terms.spread for terms in known)
        self.shift = (self.slopes[0] - self.slopes[1]) * total
        self.usable = all(math.isfinite(total * v) for v in (spread, *self.slopes))
        if not self.usable:
            spread = self.shift = 0.0
        exponent = math.frexp(total * spread)[1]
        self.scale = 2.0 ** min(61 - exponent, 1023)
        # Tables of one scale have one bound, since they may be the same.
        self.bound = math.ldexp(1.0, min(exponent, 1023)) / total
        if self.usable:
            found = [terms.table(self.scale) for terms in known]
        else:
            nothing = np.zeros(int(min(total + 1, _LENGTH)), dtype=np.int64)
            found = [(nothing, nothing.ctypes.data)] * 2
        (self.cells, _), (self.parents, _) = found
        self.addresses = tuple(address for _, address in found)
        self.tails = tuple(self._scaled(terms) for terms in known)

    def _scaled(self, terms: KnownTerms) -> tuple[float, ...]:
        """The tail of what the table holds, its bound and its scale; NaN if there is none."""
        if terms.tail is None or not self.usable:
            return (math.nan,) * 7
        shift, half, constant, linear, series = terms.tail
        return shift, half, constant, linear - terms.slope, series, self.bound, self.scale


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
