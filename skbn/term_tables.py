"""Tables of a score's terms by count, for one shape of family."""

import math

import numpy as np

from skbn.scores import Family, Score

# Counts below the first are tabulated at once, counts below the second when they first occur.
_KNOWN = 512
_LENGTH = 16384


class TermTables:
    """f(n) and g(n) of a score for counts n = 0, 1, ..., as integers in units of 1 / scale.

    Sums of integers do not depend on the order of their terms: a score summed from these tables
    is the same to the last bit for every order of rows and of states. The unit is as small as a
    64-bit sum permits, about 2**-60 of the largest possible sum.

    Attributes
    ----------
    cells, parents : ndarray of int64
        f and g. 0 at n = 0; from n_known upward 0 stands for "not evaluated yet".
    n_known : int
        All counts below it are tabulated.
    scale : float
        A power of two.
    addresses : tuple of int
        Where `cells` and `parents` lie in memory, for the kernels.
    """

    def __init__(self, score: Score, family: Family) -> None:
        self._functions = (score.cell_terms, score.parent_terms)
        self._family = family
        total = family.n_samples
        self.n_known = int(min(total + 1, _KNOWN))
        counts = np.append(np.arange(1.0, self.n_known), total)
        values = [function(counts, family) for function in self._functions]
        # |f(n)| / n is largest at n = 1 or n = N, so that |f| sums up to N times that at most.
        slope = max(float(np.max(np.abs(v) / counts)) for v in values)
        if not math.isfinite(slope):
            raise ValueError(f"{score!r} has terms that are not finite for {family}.")
        # All terms are 0 where N = 1 and a term is N ln N; any unit does then.
        self.scale = 2.0 ** min(60 - math.frexp(total * slope)[1], 1000)
        self.cells, self.parents = (
            np.zeros(int(min(total + 1, _LENGTH)), dtype=np.int64) for _ in range(2)
        )
        self.addresses = (self.cells.ctypes.data, self.parents.ctypes.data)
        self.cells[1 : self.n_known] = self._fixed(values[0][:-1])
        self.parents[1 : self.n_known] = self._fixed(values[1][:-1])

    def _fixed(self, values: np.ndarray) -> np.ndarray:
        return np.rint(values * self.scale).astype(np.int64)

    def evaluate(self, counts: np.ndarray, of_parents: bool) -> np.ndarray:
        """f, or g if `of_parents`, of counts from n_known upward; kept where the table reaches."""
        values = self._fixed(self._functions[of_parents](counts.astype(np.float64), self._family))
        kept = counts < len(self.cells)
        (self.parents if of_parents else self.cells)[counts[kept]] = values[kept]
        return values
