"""Neighbouring variables packed into joint codes, so that one pass over rows counts several."""

from dataclasses import dataclass

import numpy as np


def _runs(cardinalities: list[int], most_states: int) -> tuple[list[int], list[int]]:
    """Joint states and first variable of each pack."""
    starts, states = [0], [1]
    for variable, cardinality in enumerate(cardinalities):
        if variable > starts[-1] and states[-1] * cardinality > most_states:
            starts.append(variable)
            states.append(1)
        states[-1] *= cardinality
    return states, starts


@dataclass(frozen=True, eq=False)
class Packs:
    """Joint codes of runs of neighbouring variables.

    Attributes
    ----------
    codes : ndarray of shape (n_packs, n_rows), unsigned integers
        The last variable of a pack runs fastest.
    cardinalities : ndarray of shape (n_packs,), int64
        Product of the cardinalities of the members.
    starts : ndarray of shape (n_packs + 1,), int32
        Pack p holds the variables ``starts[p]`` to ``starts[p + 1] - 1``.
    """

    codes: np.ndarray
    cardinalities: np.ndarray
    starts: np.ndarray

    @classmethod
    def up_to(cls, codes: np.ndarray, cardinalities: np.ndarray, most_states: int) -> "Packs":
        """Variables packed in column order while a pack has at most so many joint states."""
        states, starts = _runs(cardinalities.tolist(), most_states)
        ends = [*starts[1:], len(codes)]
        if len(starts) == len(codes):
            return cls(codes, cardinalities, np.arange(len(codes) + 1, dtype=np.int32))
        packed = np.empty((len(starts), codes.shape[1]), dtype=codes.dtype)
        for pack, (start, end) in enumerate(zip(starts, ends, strict=True)):
            packed[pack] = codes[start]
            for variable in range(start + 1, end):
                packed[pack] *= codes.dtype.type(cardinalities[variable])
                packed[pack] += codes[variable]
        starts = np.array([*starts, len(codes)], dtype=np.int32)
        return cls(packed, np.array(states, dtype=np.int64), starts)


class PackLevels:
    """Packs of several sizes, made when first wanted, and the choice between them.

    A pass over the rows counts one pack; then its table is summed over all members but one, for
    each. Larger packs mean fewer passes and larger tables.
    """

    # Joint states of a pack: those of one variable, of about three, four, five.
    _MOST_STATES = (1, 27, 81, 256)
    # What one row and one cell of a table cost, relative to each other; integers, since there may
    # be more joint states than any float can hold.
    _ROW, _CELL = 11, 10

    def __init__(self, codes: np.ndarray, cardinalities: np.ndarray) -> None:
        self._codes = codes
        self._cardinalities = cardinalities
        self._levels: dict[int, Packs] = {}
        self._level_for: dict[int, int] = {}
        self._sizes = []
        for most_states in self._MOST_STATES:
            states, _ = _runs(cardinalities.tolist(), most_states)
            self._sizes.append((len(states), sum(states)))

    def __reduce__(self):
        # Packs are quickly made again, and double what has to be sent to another process.
        return PackLevels, (self._codes, self._cardinalities)

    def cheapest(self, n_base: int) -> Packs:
        """The packs that are counted fastest with `n_base` cells per joint state."""
        level = self._level_for.get(n_base)
        if level is None:
            level = self._level_for[n_base] = self._cheapest_level(n_base)
        packs = self._levels.get(level)
        if packs is None:
            packs = self._levels[level] = Packs.up_to(
                self._codes, self._cardinalities, self._MOST_STATES[level]
            )
        return packs

    def _cheapest_level(self, n_base: int) -> int:
        n_rows = self._codes.shape[1]
        costs = [
            n_packs * n_rows * self._ROW + n_states * n_base * self._CELL
            for n_packs, n_states in self._sizes
        ]
        return costs.index(min(costs))
