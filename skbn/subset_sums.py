"""Sums over the counts of every set of variables: what an exact search scores networks with."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from skbn._subsets import sum_sets
from skbn.data import CategoricalData

# Entries of all tables of terms together; and terms at a time, which bounds the time of a call.
_TABLE_ENTRIES = 2**21
_CALL_ROWS = 2**24
_CALL_LARGE_COUNTS = 2**20

Terms = Callable[[np.ndarray], np.ndarray]


class Signatures:
    """Numbers of the multisets of cardinalities that sets of variables have.

    The product of the cardinalities of a set, and with it every term of a score, depends on its
    signature alone, and there are far fewer signatures than sets.

    Parameters
    ----------
    cardinalities : sequence of int

    Attributes
    ----------
    classes : list of int
        The distinct cardinalities, in ascending order.
    class_of : list of int
        Position in `classes` of each variable's cardinality.
    strides : list of int
        What one more variable of each class adds to the signature of a set.
    n : int
        Number of signatures.
    """

    def __init__(self, cardinalities: Sequence[int]) -> None:
        self.classes = sorted(set(cardinalities))
        self.class_of = [self.classes.index(r) for r in cardinalities]
        self.multiplicities = [self.class_of.count(k) for k in range(len(self.classes))]
        self.strides = []
        self.n = 1
        for multiplicity in self.multiplicities:
            self.strides.append(self.n)
            self.n *= multiplicity + 1

    def members(self, signature: int) -> list[int]:
        """How many variables of each class a set of this signature has."""
        counts = []
        for multiplicity in self.multiplicities:
            signature, count = divmod(signature, multiplicity + 1)
            counts.append(count)
        return counts

    def n_states(self, signature: int) -> int:
        """Product of the cardinalities, as an exact integer."""
        return math.prod(
            r**count for r, count in zip(self.classes, self.members(signature), strict=True)
        )

    def of_subsets(self, n_variables: int) -> np.ndarray:
        """Signatures of all subsets of the first variables; bit b of the index is variable b."""
        signatures = np.zeros(1, dtype=np.int32)
        for b in range(n_variables):
            more = signatures + np.int32(self.strides[self.class_of[b]])
            signatures = np.concatenate([signatures, more])
        return signatures


class SubsetSums:
    """Sums of a function of the counts, for every set of variables of one table.

    Parameters
    ----------
    data : CategoricalData
        With whole weights. Variables with few states should come first.

    Notes
    -----
    A set is a number whose bit b stands for variable b. Terms are added as 64-bit integers (fixed
    point), so a sum does not depend on the order of the rows or the names of the states.
    """

    def __init__(self, data: CategoricalData) -> None:
        n = data.n_variables
        self.data = data
        self.signatures = Signatures(data.cardinalities.tolist())
        self.table_length = int(
            min(data.n_samples + 1, max(16, _TABLE_ENTRIES // self.signatures.n))
        )
        # A set has at most so many counts that the tables do not reach.
        self.max_large = min(data.n_rows, int(data.n_samples // self.table_length))
        smallest = max(1, min(_CALL_ROWS // data.n_rows, 2**16))
        if self.max_large:
            smallest = max(1, min(smallest, _CALL_LARGE_COUNTS // self.max_large))
        self.n_tail = min(n, smallest.bit_length() - 1)

    def memory(self) -> int:
        """Bytes that one call takes beside its results."""
        n = self.data.n_variables
        per_call = (n + 1) * (12 * self.data.n_rows + 8 * self.signatures.n)
        return per_call + 2**self.n_tail * (40 + 24 * self.max_large)

    def table_memory(self) -> int:
        """Bytes of one table of terms."""
        return 10 * self.signatures.n * self.table_length

    def prepare(self) -> None:
        """Sort and merge the rows; once, before the first sums."""
        n = self.data.n_variables
        strides = [self.signatures.strides[k] for k in self.signatures.class_of]
        reach = [np.zeros(1, dtype=np.int32)]
        for stride in strides:
            reach.append(np.union1d(reach[-1], reach[-1] + np.int32(stride)))
        self._strides = np.array(strides, dtype=np.int32)
        self._reach = np.concatenate(reach)
        self._reach_starts = np.cumsum([0, *map(len, reach)], dtype=np.int64)
        self._tail_signatures = self.signatures.of_subsets(self.n_tail)

        # One column after the other, so that an interrupt gets through.
        order = np.arange(self.data.n_rows)
        for codes in self.data.codes[::-1]:
            order = order[np.argsort(codes[order], kind="stable")]
        weights = self.data.weights
        weights = np.ones(len(order), np.int32) if weights is None else weights[order]
        states, nexts = [np.zeros(1, np.int32)], [np.zeros(1, np.int32)]
        keys = [np.zeros(1, np.uint64)]
        self._n_keyed = 0
        key = np.zeros(len(order), dtype=np.uint64)
        is_new = np.zeros(len(order), dtype=bool)
        is_new[0] = True
        number = np.zeros(len(order), dtype=np.int32)
        for k in range(n):
            codes = self._states_of(k)[order]
            is_new[1:] |= codes[1:] != codes[:-1]
            states.append(codes[is_new])
            nexts.append(number[is_new])
            if self._n_keyed == k < 8 and codes.max() < 256:
                key |= codes.astype(np.uint64) << np.uint64(8 * k)
                self._n_keyed += 1
            keys.append(key[is_new])
            number = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
        self._weights = np.add.reduceat(weights, np.flatnonzero(is_new), dtype=np.int32)
        self._level_starts = np.cumsum([0, *map(len, states)], dtype=np.int64)
        self._keys = np.concatenate(keys)
        self._states, self._nexts = np.concatenate(states), np.concatenate(nexts)

    def _states_of(self, variable: int) -> np.ndarray:
        """Codes of one column, numbered anew if most of its states cannot occur."""
        codes = self.data.codes[variable]
        if self.data.cardinalities[variable] > self.data.n_rows:
            codes = np.unique(codes, return_inverse=True)[1]
        return codes.astype(np.int32)

    def tabulate(self, terms_of: Callable[[int], Terms | None]) -> tuple[np.ndarray, np.ndarray]:
        """Tables of the terms of every signature, as integers, and their scales.

        Parameters
        ----------
        terms_of : callable
            Takes a signature; returns the function f of an array of counts, or None where the
            sums are not wanted.
        """
        n_samples = self.data.n_samples
        counts = np.append(np.arange(1.0, self.table_length), n_samples)
        tables = np.zeros((self.signatures.n, self.table_length), dtype=np.int64)
        scales = np.ones(self.signatures.n)
        for signature in range(self.signatures.n):
            terms = terms_of(signature)
            if terms is None:
                continue
            values = terms(counts)
            # |f(n)| <= n max |f(m)| / m: sums of counts up to N stay below N times that, scaled
            # to 2^60, with room for the counts between the end of the table and N. Terms that are
            # all 0 take any scale.
            slope = max(float(np.max(np.abs(values) / counts)), 2.0**-900)
            scales[signature] = 2.0 ** (60 - math.frexp(n_samples * slope)[1])
            tables[signature, 1:] = np.rint(values[:-1] * scales[signature])
        return tables, scales

    def blocks(
        self, terms_of: Callable[[int], Terms | None], constants: np.ndarray, max_size: int,
        sums: np.ndarray,
    ) -> Iterator[Callable[[], None]]:
        """Calls that fill `sums`, in any order and any number of threads.

        Parameters
        ----------
        terms_of : callable
            See `tabulate`.
        constants : ndarray of shape (n_signatures,)
            Added to the sums.
        max_size : int
            Larger sets are left out; their entries are not defined.
        sums : ndarray of shape (2 ** n_variables,), out
        """
        tables, scales = self.tabulate(terms_of)
        n = self.data.n_variables
        prefix_signatures = [0]
        for b in range(self.n_tail, n):
            stride = int(self._strides[b])
            prefix_signatures += [signature + stride for signature in prefix_signatures]

        def fill(prefix: int) -> None:
            size = 2**self.n_tail
            totals = np.zeros(size, dtype=np.int64)
            large_sets = np.empty(size * self.max_large, dtype=np.int64)
            large_counts = np.empty(size * self.max_large, dtype=np.int64)
            n_large = sum_sets(
                self._states, self._nexts, self._level_starts, self._keys, self._n_keyed,
                self._weights,
                self._strides, self._reach, self._reach_starts, self._tail_signatures, tables,
                prefix, self.n_tail, max_size,
                totals, large_sets, large_counts,
            )
            signatures = self._tail_signatures + np.int32(prefix_signatures[prefix])
            if n_large:
                self._add_large(
                    signatures, large_sets[:n_large], large_counts[:n_large], terms_of, scales,
                    totals,
                )
            block = sums[prefix * size : (prefix + 1) * size]
            np.divide(totals, scales[signatures], out=block)
            block += constants[signatures]

        for prefix in range(2 ** (n - self.n_tail)):
            if prefix.bit_count() <= max_size:
                yield lambda prefix=prefix: fill(prefix)

    @staticmethod
    def _add_large(
        signatures: np.ndarray, sets: np.ndarray, counts: np.ndarray,
        terms_of: Callable[[int], Terms | None], scales: np.ndarray, totals: np.ndarray,
    ) -> None:
        owners = signatures[sets]
        order = np.argsort(owners, kind="stable")
        edges = np.flatnonzero(np.diff(owners[order], prepend=-1))
        for start, stop in zip(edges, [*edges[1:], len(order)], strict=True):
            chosen = order[start:stop]
            signature = int(owners[chosen[0]])
            terms = terms_of(signature)
            if terms is not None:
                values = terms(counts[chosen].astype(np.float64)) * scales[signature]
                np.add.at(totals, sets[chosen], np.rint(values).astype(np.int64))
