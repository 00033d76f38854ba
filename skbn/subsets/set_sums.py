"""Sums over the counts of every set of variables: layers of terms, and how they are filled."""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skbn.counting.data import CategoricalData
from skbn.resources import CallGroup
from skbn.subsets._set_counts import count_sets, list_new, sum_layers
from skbn.subsets.parent_sets import bits
from skbn.subsets.signatures import Signatures

Terms = Callable[[np.ndarray], np.ndarray]
_PLACES = 2**16
_MOST_AT_ONCE = 2**16
# Entries of the tables of terms of one layer, and of all layers that are summed at once.
_TABLE_ENTRIES = 2**21
_LAYERS_ENTRIES = 2**25
# Rows and counts at a time, which bounds the time of a call and what it holds.
_CALL_ROWS = 2**24
_CALL_COUNTS = 2**18
_CALL_LARGE_COUNTS = 2**20
_LARGE_TABLE = 4096
# Counts that are kept for the next sums: a second search of a small table need not count.
_REMEMBERED = 2**24


@dataclass(frozen=True, eq=False)
class Layer:
    """A function of sets of variables: a sum of terms of the counts, and a constant.

    Attributes
    ----------
    terms_of : callable
        Takes a signature; returns the function f of an array of counts, or None where the sums
        are not wanted.
    constants : ndarray of shape (n_signatures,)
        Added to the sums.
    terms_at : callable or None
        ``terms_at(counts, signatures)`` are the same terms, each count with a signature of its
        own, in one go. f(n) / n must be monotone in n then.
    """

    terms_of: Callable[[int], Terms | None]
    constants: np.ndarray
    terms_at: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    def terms(self, counts: np.ndarray, signatures: np.ndarray) -> np.ndarray:
        """f of every count under its signature; 0 where the sums are not wanted."""
        if self.terms_at is not None:
            return self.terms_at(counts, signatures)
        values = np.zeros(len(counts))
        order = np.argsort(signatures, kind="stable")
        edges = np.flatnonzero(np.diff(signatures[order], prepend=-1))
        for start, stop in zip(edges, [*edges[1:], len(order)], strict=True):
            chosen = order[start:stop]
            terms = self.terms_of(int(signatures[chosen[0]]))
            if terms is not None:
                values[chosen] = terms(counts[chosen])
        return values


class LayerTables:
    """Terms of several layers as integers, by signature and count; made when they first occur.

    Counts below `length` have a place in the tables, and those below `n_small` are tabulated at
    once unless they are too many. The counts of a set sum to `n_samples`, and at most
    `max_distinct` of them differ.

    Attributes
    ----------
    terms : ndarray of shape (n_signatures, length, n_layers), int64
        Not defined where a count never occurred.
    scales, constants : ndarray of shape (n_signatures, n_layers)
        The unit of the terms is 1 / scale.
    """

    def __init__(
        self, layers: Sequence[Layer], n_samples: float, n_signatures: int, length: int,
        n_small: int, max_distinct: int,
    ) -> None:
        self._layers = layers
        self._n_samples = n_samples
        self._lock = threading.Lock()
        # Pages that are never written take no memory.
        self.terms = np.zeros((n_signatures, length, len(layers)), dtype=np.int64)
        self._known = np.zeros((n_signatures, length), dtype=np.uint8)
        self._places = np.empty(max(_PLACES, max_distinct), dtype=np.int64)
        self.constants = np.stack([layer.constants for layer in layers], axis=1)
        self.scales = np.stack([self._scales(layer) for layer in layers], axis=1)
        self._first = n_small if n_signatures * n_small <= _MOST_AT_ONCE else 1
        counts = np.tile(np.arange(1, self._first), n_signatures)
        owners = np.repeat(np.arange(n_signatures), self._first - 1)
        self.terms[owners, counts] = self.fixed(counts, owners)

    def _scales(self, layer: Layer) -> np.ndarray:
        # |f(n)| <= n max |f(m)| / m: sums of counts up to N stay below N times that, scaled to
        # 2^60, with room for what was not looked at. Terms that are all 0 take any scale.
        n_signatures, length = self._known.shape
        counts = [1.0, self._n_samples]
        if layer.terms_at is None:
            counts = [*range(1, length), self._n_samples]
        counts = np.array(counts, dtype=np.float64)
        values = layer.terms(
            np.tile(counts, n_signatures), np.repeat(np.arange(n_signatures), len(counts))
        ).reshape(n_signatures, -1)
        slopes = np.maximum(np.max(np.abs(values) / counts, axis=1), 2.0**-900)
        return np.ldexp(1.0, 60 - np.frexp(self._n_samples * slopes)[1])

    def know(
        self, found: np.ndarray, begins: np.ndarray, ends: np.ndarray, signatures: np.ndarray
    ) -> None:
        """Fill in the terms of all counts of one block of sets; see `count_sets`."""
        length = self._known.shape[1]
        rows = self.terms.reshape(-1, len(self._layers))
        start = 0
        with self._lock:
            while start < len(begins):
                n_new, start = list_new(
                    found, begins, ends, signatures, self._known, self._first, start, self._places
                )
                places = np.sort(self._places[:n_new])
                owners, counts = np.divmod(places, length)
                rows[places] = self.fixed(counts, owners)

    def fixed(self, counts: np.ndarray, signatures: np.ndarray) -> np.ndarray:
        """Terms of counts, each with its signature, as integers: (n_counts, n_layers)."""
        integers = np.empty((len(counts), len(self._layers)), dtype=np.int64)
        if not len(counts):
            return integers
        counts = counts.astype(np.float64)
        for k, layer in enumerate(self._layers):
            terms = layer.terms(counts, signatures)
            scaled = terms * self.scales[signatures, k]
            shares = np.abs(scaled) / counts * self._n_samples
            if not shares.max() <= 2.0**62:
                worst = int(np.argmax(np.where(np.isfinite(shares), shares, np.inf)))
                raise ValueError(
                    f"The score's terms cannot be tabulated: that of the count {counts[worst]:g} "
                    f"is {terms[worst]}, beyond all proportion to those of other counts. Terms "
                    "must be finite and grow roughly as the count; without `tabulated = True` "
                    "they need not."
                )
            integers[:, k] = np.rint(scaled)
        return integers


class _SetCounts(NamedTuple):
    """Counts of one block of sets, as `count_sets` gives them; large ones in order of the sets."""

    found: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    large_sets: np.ndarray
    large_counts: np.ndarray


class SubsetSums:
    """Sums of functions of the counts, for every set of variables of one table.

    The weights are whole. Variables with few states should come first.

    Notes
    -----
    A set is a number whose bit b stands for variable b. Terms are added as 64-bit integers (fixed
    point), so a sum does not depend on the order of the rows or the names of the states, nor on
    what else is summed at the same time.
    """

    def __init__(self, data: CategoricalData) -> None:
        n = data.n_variables
        n_samples = int(data.n_samples)
        self.data = data
        self.signatures = Signatures(data.cardinalities.tolist())
        self.table_length = min(n_samples + 1, max(16, _TABLE_ENTRIES // self.signatures.n))
        # A set has at most so many counts that the tables do not reach, and so many distinct ones
        # that they do: different counts sum to N at most.
        self.max_large = min(data.n_rows, n_samples // self.table_length)
        most = (math.isqrt(8 * n_samples + 1) - 1) // 2
        # At least one, for fractional weights that sum to less, which are never counted here.
        self.max_distinct = max(1, min(data.n_rows, most))
        smallest = max(1, min(_CALL_ROWS // data.n_rows, _CALL_COUNTS // self.max_distinct, 2**16))
        if self.max_large:
            smallest = max(1, min(smallest, _CALL_LARGE_COUNTS // self.max_large))
        self.n_tail = min(n, smallest.bit_length() - 1)
        self._is_prepared = False
        self._remembered: dict[tuple[int, int], _SetCounts] = {}
        self._room = _REMEMBERED
        self._lock = threading.Lock()

    def memory(self, n_layers: int) -> int:
        """Bytes that one call takes beside its results, for so many layers."""
        of_rows = 12 * (self.data.n_variables + 1) * self.data.n_rows + 4 * self.table_length
        of_larges = (48 + 8 * min(n_layers, self.layers_at_once())) * self.max_large
        return of_rows + 2**self.n_tail * (8 * self.max_distinct + 16 + of_larges) + 2**17

    def remembered_memory(self) -> int:
        """Bytes of the counts that are kept for the next sums, at most."""
        of_set = 8 * self.max_distinct + 16 + 16 * self.max_large
        return min(_REMEMBERED, 2**self.data.n_variables * of_set)

    def layers_at_once(self) -> int:
        """How many layers are summed with one count of the sets."""
        return max(1, _LAYERS_ENTRIES // (self.signatures.n * self.table_length))

    def table_memory(self, n_layers: int) -> int:
        """Bytes of the tables of terms while so many layers are filled."""
        at_once = min(n_layers, self.layers_at_once())
        return (8 * at_once + 1) * self.signatures.n * self.table_length + 2**22

    def prepare(self) -> None:
        """Sort and merge the rows, before the first sums; no more than once."""
        if self._is_prepared:
            return
        n = self.data.n_variables
        # What counts as a small count: cells of large tables are worth a longer look.
        n_small = 32 if self.data.n_samples < _LARGE_TABLE else 64
        self._n_small = min(self.table_length, n_small)
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
        self._is_prepared = True

    def _states_of(self, variable: int) -> np.ndarray:
        """Codes of one column, numbered anew if most of its states cannot occur."""
        codes = self.data.codes[variable]
        if self.data.cardinalities[variable] > self.data.n_rows:
            codes = np.unique(codes, return_inverse=True)[1]
        return codes.astype(np.int32)

    def tasks(
        self, layers: Sequence[Layer], max_size: int, sums: np.ndarray
    ) -> Iterator[tuple[float, CallGroup]]:
        """Groups of calls, one after the other, that fill sums, and their shares of the work.

        `sums`, of shape (n_layers, at least 2 ** n_variables), is not defined for sets of more than
        `max_size` members.
        """
        n = self.data.n_variables
        for start, stop in self.parts(len(layers)):
            tables = LayerTables(
                layers[start:stop], self.data.n_samples, self.signatures.n, self.table_length,
                self._n_small, self.max_distinct,
            )
            calls = [
                partial(self._fill, tables, prefix, max_size, sums[start:stop])
                for prefix in range(2 ** (n - self.n_tail))
                if prefix.bit_count() <= max_size
            ]
            yield (stop - start) / len(layers), CallGroup(calls, True)

    def parts(self, n_layers: int) -> list[tuple[int, int]]:
        """The layers, from and to, that each count of all sets serves."""
        n_parts = -(-n_layers // self.layers_at_once())
        return list(pairwise(n_layers * k // n_parts for k in range(n_parts + 1)))

    def _fill(self, tables: LayerTables, prefix: int, max_size: int, sums: np.ndarray) -> None:
        size = 2**self.n_tail
        found, begins, ends, large_sets, large_counts = self._count(prefix, max_size)
        signatures = self._tail_signatures + np.int32(self._signature_of(prefix))
        tables.know(found, begins, ends, signatures)
        large_terms = tables.fixed(large_counts, signatures[large_sets])
        sum_layers(
            found, begins, ends, large_sets, large_terms, signatures,
            tables.terms, tables.scales, tables.constants, prefix * size, sums,
        )

    def _count(self, prefix: int, max_size: int) -> _SetCounts:
        """The counts of one block of sets, remembered while they are few."""
        known = self._remembered.get((prefix, max_size))
        if known is not None:
            return known
        size = 2**self.n_tail
        found = np.empty(size * self.max_distinct + 1, dtype=np.int64)
        begins, ends = np.zeros((2, size), dtype=np.int64)
        large_sets, large_counts = np.empty((2, size * self.max_large), dtype=np.int64)
        n_large = count_sets(
            self._states, self._nexts, self._level_starts, self._keys, self._n_keyed,
            self._weights, self.table_length, self._n_small, prefix, self.n_tail, max_size,
            found, begins, ends, large_sets, large_counts,
        )
        order = np.argsort(large_sets[:n_large], kind="stable")
        counted = _SetCounts(found, begins, ends, large_sets[order], large_counts[order])
        used = counted._replace(found=found[: int(ends.max()) + 1])
        n_bytes = sum(array.nbytes for array in used)
        with self._lock:
            if n_bytes <= self._room:
                self._room -= n_bytes
                self._remembered[prefix, max_size] = used._replace(found=used.found.copy())
        return counted

    def _signature_of(self, prefix: int) -> int:
        classes = self.signatures.class_of
        return sum(self.signatures.strides[classes[self.n_tail + b]] for b in bits(prefix))
