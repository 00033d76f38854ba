"""Functions of sets that are sums of terms of the counts, and their terms as integers."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skbn.subsets._set_counts import list_new

Terms = Callable[[np.ndarray], np.ndarray]

_PLACES = 2**16
_MOST_AT_ONCE = 2**16


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
