"""From the rows of a BIF file to the table of a network."""

from collections.abc import Sequence

import numpy as np

from skbn.bif.numbers import logarithms
from skbn.counting.data import smallest_code_type
from skbn.parameters.conditional_table import ConditionalTable


def conditional_table(
    child: int,
    parents: Sequence[int],
    cardinalities: Sequence[int],
    rows: dict[int, list[float]],
) -> ConditionalTable:
    """A table from the rows of a file, given the parents in any order.

    Parameters
    ----------
    child : int
    parents, cardinalities : sequence of int
        Indices of the parents, and how many states each has.
    rows : dict of int to list of float
        Those of `read_distributions`, by the number of the configuration in lexicographic order;
        at least one. Configurations that are not there are uniform.
    """
    log_probabilities = logarithms(list(rows.values()))
    codes = smallest_code_type(max(cardinalities, default=1))
    configurations = np.empty((len(rows), len(parents)), dtype=codes)
    keys = list(rows)
    for place in reversed(range(len(parents))):
        size = cardinalities[place]
        configurations[:, place] = [key % size for key in keys]
        keys = [key // size for key in keys]
    # By increasing index of the parents, in lexicographic order.
    places = sorted(range(len(parents)), key=parents.__getitem__)
    configurations = configurations[:, places]
    if parents:
        order = np.lexsort(configurations.T[::-1])
        configurations, log_probabilities = configurations[order], log_probabilities[order]
    return ConditionalTable.from_rows(
        child,
        tuple(parents[place] for place in places),
        log_probabilities.shape[1],
        tuple(cardinalities[place] for place in places),
        np.ascontiguousarray(configurations),
        log_probabilities,
    )
