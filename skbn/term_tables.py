"""Tables of a score's terms by count, for one shape of family."""

import math

import numpy as np

from skbn.scores import Family, Score, terms_of

# Counts below the first are tabulated at once, counts below the second when they first occur.
_KNOWN = 1024
_LENGTH = 16384
# Room for the rounding of terms that grow in proportion to the count, as a share of them.
_ROUNDING = 2.0**-48


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
    shift : float
        (a - b) N, to be added to every sum.
    constant : float
        c, in nats.
    usable : bool
        False where the sums have no finite bound; then nothing is tabulated.
    addresses : tuple of int
        Where `cells` and `parents` lie in memory, for the kernels.
    """

    def __init__(self, score: Score, family: Family) -> None:
        self._functions = (score.cell_terms, score.parent_terms)
        self._family = family
        total = family.n_samples
        self.n_known = int(min(total + 1, _KNOWN))
        counts = np.append(np.arange(1.0, self.n_known), total)
        values = [terms_of(function, counts, family) for function in self._functions]
        # f(n) / n of most scores lies between f(1) and f(N) / N, which bounds the sums. Counts that
        # break the rule are told apart by `evaluate`.
        ratios = [v / counts for v in values]
        low, high = [float(r.min()) for r in ratios], [float(r.max()) for r in ratios]
        self.slopes = tuple(max(lo, min(0.0, hi)) for lo, hi in zip(low, high, strict=True))
        self._bound = max(
            1.001 * max(hi - slope, slope - lo) + _ROUNDING * abs(slope)
            for lo, hi, slope in zip(low, high, self.slopes, strict=True)
        )
        self.shift = (self.slopes[0] - self.slopes[1]) * total
        self.usable = all(math.isfinite(total * v) for v in (self._bound, *self.slopes))
        if not self.usable:
            self._bound = self.shift = 0.0
        self.constant = score.constant(family)
        self.scale = 2.0 ** min(61 - math.frexp(total * self._bound)[1], 1023)
        self.cells, self.parents = (
            np.zeros(int(min(total + 1, _LENGTH)), dtype=np.int64) for _ in range(2)
        )
        if self.usable:
            for k, table in enumerate((self.cells, self.parents)):
                rest = values[k][:-1] - self.slopes[k] * counts[:-1]
                table[1 : self.n_known] = self._fixed(rest)
        self.addresses = (self.cells.ctypes.data, self.parents.ctypes.data)

    def _fixed(self, values: np.ndarray) -> np.ndarray:
        return np.rint(values * self.scale).astype(np.int64)

    def evaluate(self, counts: np.ndarray, of_parents: bool) -> tuple[np.ndarray, np.ndarray]:
        """Terms of f, or g if `of_parents`, of counts from n_known upward.

        They are kept where the table reaches. Also returns whether each is small enough for a sum
        of integers; where it is not the term is 0.
        """
        if not self.usable:
            return np.zeros(len(counts), dtype=np.int64), np.zeros(len(counts), dtype=bool)
        terms = terms_of(self._functions[of_parents], counts.astype(np.float64), self._family)
        rest = terms - self.slopes[of_parents] * counts
        fits = np.abs(rest) <= self._bound * counts
        if not fits.all():
            rest = np.where(fits, rest, 0.0)
        values = self._fixed(rest)
        kept = counts < len(self.cells)
        (self.parents if of_parents else self.cells)[counts[kept]] = values[kept]
        return values, fits
