"""Counts of the observed joint states of sets of variables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skbn.counting._counting import joint_cells, joint_labels
from skbn.counting.data import CategoricalData

# So many joint states and one more per row are tabulated, whether they occur or not.
_SMALL = 4096
# So few kinds of rows are nothing to speak of, however few rows there are.
FEW_KINDS = 20


@dataclass(frozen=True, eq=False)
class JointCounts:
    """The observed joint states of a set of variables and how often each occurs.

    Attributes
    ----------
    states : ndarray of shape (n_observed, n_set), unsigned integers
        One row of codes per observed joint state, in lexicographic order.
    counts : ndarray of shape (n_observed,), float64
        Sum of the weights of the rows in that state; above zero.
    """

    states: np.ndarray
    counts: np.ndarray


def count_joint_states(data: CategoricalData, variables: Sequence[int]) -> JointCounts:
    """Count every observed joint state of `variables`; memory grows with the rows alone.

    Of any set, the empty one included: it has one state.
    """
    variables = np.asarray(variables, dtype=np.int32)
    cardinalities = data.cardinalities[variables].tolist()
    table = _count_all(data, variables, math.prod(cardinalities))
    if table is not None:
        observed = np.flatnonzero(table)
        states = _states_of(observed, cardinalities, data.codes.dtype)
        return JointCounts(states, table[observed].astype(np.float64))
    labels, n_observed = label_rows(data, variables)
    counts = np.bincount(labels, weights=data.weights, minlength=n_observed).astype(np.float64)
    first = np.empty(n_observed, dtype=np.int64)
    first[labels[::-1]] = np.arange(data.n_rows - 1, -1, -1)
    states = data.codes[np.ix_(variables, first)].T
    order = np.lexsort(states.T[::-1])
    states, counts = states[order], counts[order]
    return JointCounts(states, counts)


def count_configurations(
    data: CategoricalData, child: int, parents: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The observed configurations of `parents`, and how often the child's states occur in each.

    Memory grows with the rows alone, whatever the number of states.

    Configurations, of shape (n_observed, n_parents), are in lexicographic order. A cell is the
    place of its configuration times the cardinality of `child`, plus the state; the observed ones
    are increasing, and each has a count above 0.
    """
    variables = np.array([*parents, child], dtype=np.int32)
    *cardinalities, r = data.cardinalities[variables].tolist()
    table = _count_all(data, variables, r * math.prod(cardinalities))
    if table is not None:
        table = table.reshape(-1, r)
        observed = np.flatnonzero(table.any(axis=1))
        table = table[observed].ravel()
        cells = np.flatnonzero(table)
        configurations = _states_of(observed, cardinalities, data.codes.dtype)
        return configurations, cells, table[cells].astype(np.float64)
    joint = count_joint_states(data, variables)
    configurations = joint.states[:, :-1]
    # The cells are in lexicographic order, so those of one configuration stand together.
    starts = np.ones(len(configurations), dtype=bool)
    starts[1:] = (configurations[1:] != configurations[:-1]).any(axis=1)
    cells = (np.cumsum(starts) - 1) * r + joint.states[:, -1]
    return np.ascontiguousarray(configurations[starts]), cells, joint.counts


def _count_all(
    data: CategoricalData, variables: np.ndarray, n_states: int
) -> np.ndarray | None:
    """Counts of all joint states in lexicographic order; None where they are too many to list."""
    if n_states > _SMALL + data.n_rows:
        return None
    cells = np.empty(data.n_rows, dtype=np.int32)
    joint_cells(data.codes, data.cardinalities, variables, cells)
    return np.bincount(cells, weights=data.weights, minlength=n_states)


def _states_of(numbers: np.ndarray, cardinalities: list[int], dtype: np.dtype) -> np.ndarray:
    """Joint states by their places in lexicographic order, one row each."""
    states = np.empty((len(numbers), len(cardinalities)), dtype=dtype)
    for place in reversed(range(len(cardinalities))):
        numbers, states[:, place] = np.divmod(numbers, cardinalities[place])
    return states


def label_rows(data: CategoricalData, variables: Sequence[int]) -> tuple[np.ndarray, int]:
    """Number the observed joint states of `variables`; one number per row, and how many."""
    labels = np.empty(data.n_rows, dtype=np.int32)
    variables = np.asarray(variables, dtype=np.int32)
    n_observed = joint_labels(data.codes, data.cardinalities, variables, labels)
    return labels, n_observed


def count_family(
    data: CategoricalData, child: int, parents: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Counts N_jk of the observed cells and N_j of the observed parent configurations, sorted.

    Sorted, so that sums over them do not depend on the order of rows or states.
    """
    labels, n_parents = label_rows(data, parents)
    parent_counts = np.bincount(labels, weights=data.weights, minlength=n_parents)
    cells, n_cells = label_rows(data, [*parents, child])
    cell_counts = np.bincount(cells, weights=data.weights, minlength=n_cells)
    return np.sort(cell_counts.astype(np.float64)), np.sort(parent_counts.astype(np.float64))


def hardly_repeat(n_kinds: int, n_rows: float) -> bool:
    """Whether so many kinds of rows have fewer than two rows each, and are more than a few.

    A row that is alone of its kind says nothing of its kind: there is none to compare it with.
    """
    return n_kinds > FEW_KINDS and n_rows < 2 * n_kinds
