"""Numbering of parent configurations: which row of a table a row of codes reads."""

import math
from collections.abc import Sequence

import numpy as np

_LARGEST_KEY = np.iinfo(np.int64).max

Columns = Sequence[np.ndarray | int]


class EveryConfiguration:
    """Numbers all configurations 0 .. q - 1 in lexicographic order, seen or not.

    Parameters
    ----------
    cardinalities : sequence of int
        Of the parents; their product q must be small enough for a table of q rows.
    """

    def __init__(self, cardinalities: Sequence[int]) -> None:
        self.cardinalities = tuple(cardinalities)
        self.n_numbers = math.prod(self.cardinalities)

    def locate(self, columns: Columns, n_rows: int) -> np.ndarray:
        """The number of each row's configuration.

        Parameters
        ----------
        columns : sequence of (ndarray of shape (n_rows,), unsigned integers, or int)
            Codes of each parent; an int stands for the same code in every row.
        n_rows : int

        Returns
        -------
        ndarray of shape (n_rows,), intp
        """
        numbers = np.zeros(n_rows, dtype=np.intp)
        for place, (column, cardinality) in enumerate(
            zip(columns, self.cardinalities, strict=True)
        ):
            if place:
                numbers *= cardinality
            numbers += column
        return numbers

    def locate_each(self, columns: Columns, n_rows: int, place: int) -> np.ndarray:
        """The numbers with the parent at `place` set to each of its states in turn.

        Returns
        -------
        ndarray of shape (cardinality of that parent, n_rows), intp
        """
        first = self.locate([*columns[:place], 0, *columns[place + 1 :]], n_rows)
        stride = math.prod(self.cardinalities[place + 1 :])
        return first + stride * np.arange(self.cardinalities[place])[:, None]

    def locate_grid(self, columns: Columns, shape: tuple[int, ...]) -> np.ndarray:
        """The numbers of configurations on a grid.

        Parameters
        ----------
        columns : sequence of ndarray
            Codes of each parent, of shapes that broadcast to `shape`.
        shape : tuple of int

        Returns
        -------
        ndarray of intp, of `shape` or of one that broadcasts to it
        """
        numbers: np.ndarray | int = np.zeros((1,) * len(shape), dtype=np.intp)
        for column, cardinality in zip(columns, self.cardinalities, strict=True):
            numbers = numbers * cardinality + column
        return numbers


class ObservedConfigurations:
    """Numbers observed configurations 0 .. n_observed - 1 and every other one n_observed.

    The mixed-radix key of a configuration may exceed any integer. So parents are combined only
    while their key fits 64 bits, the key is replaced by its rank among the observed keys, and the
    rank is combined with the next parents: a chain of sorted arrays, as many as needed.

    Parameters
    ----------
    cardinalities : sequence of int
        Of the parents; at least one.
    observed : ndarray of shape (n_observed, n_parents), unsigned integers
        Distinct configurations in lexicographic order; at least one.
    """

    def __init__(self, cardinalities: Sequence[int], observed: np.ndarray) -> None:
        self.cardinalities = tuple(cardinalities)
        self.n_observed = observed.shape[0]
        self.n_numbers = self.n_observed + 1
        self._links: list[tuple[int, int, np.ndarray]] = []
        ranks, n_ranks, start = np.zeros(self.n_observed, dtype=np.int64), 1, 0
        while start < len(self.cardinalities):
            # Below 2**31 ranks and 2**32 states, so a link always takes at least one parent.
            stop, size = start, n_ranks
            while stop < len(self.cardinalities):
                size *= self.cardinalities[stop]
                if size > _LARGEST_KEY:
                    break
                stop += 1
            keys = self._combine(ranks.copy(), list(observed.T), start, stop)
            sorted_keys, ranks = np.unique(keys, return_inverse=True)
            self._links.append((start, stop, sorted_keys))
            n_ranks, start = len(sorted_keys), stop

    def locate(self, columns: Columns, n_rows: int) -> np.ndarray:
        """The number of each row's configuration, as in `EveryConfiguration.locate`."""
        ranks = np.zeros(n_rows, dtype=np.int64)
        unobserved = np.zeros(n_rows, dtype=bool)
        for start, stop, sorted_keys in self._links:
            keys = self._combine(ranks, columns, start, stop)
            # A row that misses keeps some valid rank, so that later keys stay in range.
            ranks = np.searchsorted(sorted_keys[:-1], keys)
            unobserved |= sorted_keys[ranks] != keys
        ranks[unobserved] = self.n_observed
        return ranks

    def locate_each(self, columns: Columns, n_rows: int, place: int) -> np.ndarray:
        """As `EveryConfiguration.locate_each`."""
        states = np.arange(self.cardinalities[place])[:, None]
        columns = [*columns[:place], states, *columns[place + 1 :]]
        return self.locate_grid(columns, (len(states), n_rows))

    def locate_grid(self, columns: Columns, shape: tuple[int, ...]) -> np.ndarray:
        """As `EveryConfiguration.locate_grid`."""
        flat = [np.broadcast_to(column, shape).ravel() for column in columns]
        return self.locate(flat, math.prod(shape)).reshape(shape)

    def _combine(self, keys: np.ndarray, columns: Columns, start: int, stop: int) -> np.ndarray:
        for place in range(start, stop):
            keys *= self.cardinalities[place]
            keys += columns[place]
        return keys
