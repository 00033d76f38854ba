"""How often the states of two variables occur together, for every state of the others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np

from skbn.counting.counts import label_rows
from skbn.counting.data import CategoricalData
from skbn.messages import brief

# An array of more cells than this is not made.
_MOST_CELLS = 2**27


@dataclass(frozen=True, eq=False)
class Margin:
    """The counts of a set of variables, exactly: ``numbers * 2**-shift``, all above zero.

    Parameters
    ----------
    numbers : ndarray of Python int
        The distinct counts times ``2**shift``, increasing.
    shift : int
        Binary digits of the counts after the point; 0 for whole counts.
    multiplicities : ndarray of int64
        How many states have each count.

    Examples
    --------
    >>> from skbn import Contingency
    >>> of_a = Contingency.from_array([[3, 1], [0, 4]]).margins[1]
    >>> of_a.counts, of_a.multiplicities  # both states of A occur four times
    (array([4.]), array([2]))
    """

    numbers: np.ndarray
    shift: int
    multiplicities: np.ndarray

    @cached_property
    def counts(self) -> np.ndarray:
        """The distinct counts as floats."""
        divisor = 1 << self.shift
        return np.array([number / divisor for number in self.numbers.tolist()], dtype=np.float64)

    @property
    def n_states(self) -> int:
        """How many states were observed."""
        return int(self.multiplicities.sum())

    def power_sum(self, power: int) -> int:
        """Sum the powers of the numbers over the observed states.

        Parameters
        ----------
        power : int
            The exponent, from 1.

        Returns
        -------
        int
            The sum of ``number**power``, exact; that of the counts is ``2**(shift * power)`` times
            smaller.
        """
        return int(np.sum(self.multiplicities.astype(object) * self.numbers**power))


@dataclass(frozen=True, eq=False)
class Contingency:
    """Counts of two variables A and B for every observed state of a set of parents.

    Only observed cells are held, so time and memory grow with them and not with the number of
    parent states. Made by `contingency_table` from a table or by `Contingency.from_array`.

    Parameters
    ----------
    cardinality_a, cardinality_b : int
        |A| and |B|, the numbers of states, seen or not.
    n_parent_states : int
        |P|, the number of joint states of the parents, seen or not; 1 without parents.
    states_a, states_b, states_parents : ndarrays of shape (n_observed_cells,), int64
        State of A, state of B and number of the parents' joint state in every observed cell.
    counts : ndarray of shape (n_observed_cells,), int64, float64 or Python int
        How often each cell occurs, above zero.

    Examples
    --------
    >>> from skbn import Contingency
    >>> table = Contingency.from_array([[3, 1], [0, 4]])
    >>> table.n_samples, table.counts
    (8.0, array([3, 1, 4]))
    >>> round(table.mutual_information, 3)  # nats a row
    0.38
    """

    cardinality_a: int
    cardinality_b: int
    n_parent_states: int
    states_a: np.ndarray
    states_b: np.ndarray
    states_parents: np.ndarray
    counts: np.ndarray

    @classmethod
    def from_array(cls, counts: Any, n_parent_states: float | None = None) -> "Contingency":
        """Take an array of counts.

        Parameters
        ----------
        counts : array-like of shape (|A|, |B|, n_listed_parent_states) or (|A|, |B|)
            Whole or fractional, zero or above. Without a third axis there are no parents.
        n_parent_states : int or float, default=None
            |P|, where it is more than the array lists; 1e300 is legal.

        Returns
        -------
        Contingency
            The counts above zero; parent states are numbered by their place along the third axis.

        Raises
        ------
        ValueError, TypeError
            For other shapes, for counts that are negative, not finite, no numbers or all zero, and
            for an `n_parent_states` that is not whole or smaller than the third axis.
        """
        array = _read_counts(counts)
        n_listed = array.shape[2]
        if n_parent_states is None:
            n_parent_states = n_listed
        elif isinstance(n_parent_states, (bool, np.bool_)) or not isinstance(n_parent_states, Real):
            raise TypeError(f"n_parent_states must be a number, got {brief(n_parent_states)}.")
        elif not isinstance(n_parent_states, Integral) and not float(n_parent_states).is_integer():
            raise ValueError("n_parent_states must be a whole number, got "
                             f"{brief(n_parent_states)}.")
        elif n_parent_states < n_listed:
            raise ValueError(
                f"n_parent_states={n_parent_states} is less than the {n_listed} parent states that "
                "counts lists along its third axis."
            )
        a, b, parents = np.nonzero(array)
        return cls(*array.shape[:2], int(n_parent_states), a, b, parents, array[a, b, parents])

    @classmethod
    def from_data(
        cls, data: CategoricalData, a: int, b: int, parents: Sequence[int]
    ) -> "Contingency":
        """Count the variables a and b given the others, by their indices.

        Parameters
        ----------
        data : CategoricalData
            Codes of the rows and their weights.
        a, b : int
            Indices of the two variables.
        parents : sequence of int
            Indices of the variables given; none for the counts of a and b alone.

        Returns
        -------
        Contingency
            The cells that occur.
        """
        parent_labels, _ = label_rows(data, parents)
        labels, n_cells = label_rows(data, [*parents, a, b])
        counts = np.bincount(labels, weights=data.weights, minlength=n_cells)
        row = np.empty(n_cells, dtype=np.int64)
        row[labels] = np.arange(data.n_rows)
        cardinalities = data.cardinalities.tolist()
        return cls(
            cardinalities[a],
            cardinalities[b],
            math.prod(cardinalities[p] for p in parents),
            data.codes[a, row].astype(np.int64),
            data.codes[b, row].astype(np.int64),
            parent_labels[row].astype(np.int64),
            counts.astype(np.int64) if data.has_whole_weights else counts,
        )

    def to_array(self) -> np.ndarray:
        """Lay the counts out as an array of the cells, seen or not, of the observed parent states.

        Returns
        -------
        ndarray of shape (|A|, |B|, observed parent states)
            Zero in the cells that were not observed; of the type of `counts`.

        Raises
        ------
        ValueError
            If it would have more than 2**27 entries.
        """
        observed, place = np.unique(self.states_parents, return_inverse=True)
        shape = (self.cardinality_a, self.cardinality_b, len(observed))
        if math.prod(shape) > _MOST_CELLS:
            raise ValueError(
                f"An array of shape {shape} is too large. The functions of the theory take this "
                "object as it is, and its attributes list the observed cells."
            )
        array = np.zeros(shape, dtype=self.counts.dtype)
        array[self.states_a, self.states_b, place] = self.counts
        return array

    @cached_property
    def n_samples(self) -> float:
        """N, the sum of all counts."""
        return self.margins[3].power_sum(1) / (1 << self._scaled[1])

    @property
    def n_samples_exactly(self) -> tuple[int, int]:
        """N as a whole number over a power of two."""
        return self.margins[3].power_sum(1), 1 << self._scaled[1]

    @cached_property
    def margins(self) -> tuple[Margin, Margin, Margin, Margin]:
        """The counts of (A, B, P), (A, P), (B, P) and P."""
        numbers, shift = self._scaled
        places = (None, self._place_a, self._place_b, self._place_parents)
        return tuple(_margin(numbers, shift, place) for place in places)

    @property
    def set_sizes(self) -> tuple[int, int, int, int]:
        """|A,B,P|, |A,P|, |B,P| and |P|, the numbers of joint states, seen or not."""
        a, b, p = self.cardinality_a, self.cardinality_b, self.n_parent_states
        return a * b * p, a * p, b * p, p

    @property
    def degrees_of_freedom(self) -> int:
        """The degrees of freedom d_F = |P| (|A| - 1) (|B| - 1).

        Not corrected for cells that were not observed.
        """
        return self.n_parent_states * (self.cardinality_a - 1) * (self.cardinality_b - 1)

    @cached_property
    def mutual_information(self) -> float:
        """Conditional mutual information of A and B given the parents, in nats, from 0."""
        numbers, shift = self._scaled
        unit = 1 << shift
        with_a, with_b, with_neither = (
            _sums(numbers, place)[place]
            for place in (self._place_a, self._place_b, self._place_parents)
        )
        terms = [
            n / unit * _log_ratio(n * n_parents, n_a * n_b)
            for n, n_a, n_b, n_parents in zip(
                numbers.tolist(), with_a, with_b, with_neither, strict=True
            )
        ]
        return max(0.0, math.fsum(terms) / self.n_samples)

    @cached_property
    def _scaled(self) -> tuple[np.ndarray, int]:
        """The counts as Python integers times 2**-shift."""
        if self.counts.dtype.kind != "f":
            return self.counts.astype(object), 0
        if (self.counts == np.floor(self.counts)).all():
            return np.array([int(count) for count in self.counts.tolist()], dtype=object), 0
        ratios = [count.as_integer_ratio() for count in self.counts.tolist()]
        shift = max(denominator.bit_length() - 1 for _, denominator in ratios)
        numbers = [
            numerator << (shift + 1 - denominator.bit_length()) for numerator, denominator in ratios
        ]
        return np.array(numbers, dtype=object), shift

    @cached_property
    def _place_a(self) -> np.ndarray:
        return _renumber(self.states_parents * self.cardinality_a + self.states_a)

    @cached_property
    def _place_b(self) -> np.ndarray:
        return _renumber(self.states_parents * self.cardinality_b + self.states_b)

    @cached_property
    def _place_parents(self) -> np.ndarray:
        return _renumber(self.states_parents)


def as_contingency(counts: Any, n_parent_states: float | None = None) -> Contingency:
    """An array of counts as a `Contingency`; one that came is returned as it is."""
    if not isinstance(counts, Contingency):
        return Contingency.from_array(counts, n_parent_states)
    if n_parent_states is not None:
        raise ValueError(
            f"n_parent_states={brief(n_parent_states)} came beside a Contingency, which has its "
            "own. Leave it out."
        )
    return counts


def _read_counts(counts: Any) -> np.ndarray:
    try:
        array = np.asarray(counts)
    except ValueError:
        raise ValueError("counts must be an array, but its rows are not equally long.") from None
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or not array.size:
        raise ValueError(
            "counts must have shape (|A|, |B|, observed parent states), or (|A|, |B|) without "
            f"parents, none of them 0; got shape {np.shape(counts)}."
        )
    if array.dtype.kind == "O" and all(isinstance(n, Integral) for n in array.flat):
        # Whole numbers of any size; numpy's own would overflow in a product.
        array = np.vectorize(int, otypes=[object])(array)
    elif array.dtype == np.uint64:
        array = array.astype(object)
    elif array.dtype.kind in "bui":
        array = array.astype(np.int64)
    else:
        casting = "unsafe" if array.dtype == "O" else "same_kind"
        try:
            array = array.astype(np.float64, casting=casting)
        except (TypeError, ValueError):
            raise TypeError(f"counts must be numbers, got an array of {array.dtype}.") from None
        if not np.isfinite(array).all():
            raise ValueError(f"counts must be finite, got {array[~np.isfinite(array)][0]}.")
    if (array < 0).any():
        raise ValueError(f"counts must not be negative, got {array.min()}.")
    if not array.any():
        raise ValueError("counts are all zero, so there is nothing to judge an edge by.")
    return array


def _renumber(keys: np.ndarray) -> np.ndarray:
    return np.unique(keys, return_inverse=True)[1]


def _sums(numbers: np.ndarray, place: np.ndarray) -> np.ndarray:
    sums = np.zeros(int(place.max()) + 1, dtype=object)
    np.add.at(sums, place, numbers)
    return sums


def _margin(numbers: np.ndarray, shift: int, place: np.ndarray | None) -> Margin:
    if place is not None:
        numbers = _sums(numbers, place)
    distinct, multiplicities = np.unique(numbers, return_counts=True)
    return Margin(distinct, shift, multiplicities)


def _log_ratio(numerator: int, denominator: int) -> float:
    """ln(numerator / denominator) of positive integers; 0 only where they are equal."""
    difference = numerator - denominator
    if abs(difference) < denominator:
        return math.log1p(difference / denominator)
    return math.log(numerator) - math.log(denominator)
