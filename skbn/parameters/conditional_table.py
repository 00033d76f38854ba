"""Conditional probability tables: the regularised parameters of a network."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from skbn.counting.counts import count_configurations
from skbn.counting.data import CategoricalData
from skbn.parameters.configurations import EveryConfiguration, ObservedConfigurations

# A row is kept for every configuration, seen or not, where that takes at most so many entries or
# so many times the observed ones: reading it is then one multiplication per parent.
_FEW_ENTRIES = 8192
_FEW_TIMES = 4
_LARGEST_DENSE = 2**24
_SMALLEST_NORMAL = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """Table of ln p(child | parents), kept for the observed parent configurations only.

    Every other configuration has the prior mean 1/r. Memory grows with what was observed,
    never with the number q of configurations.

    Parameters
    ----------
    child : int
        Index of the variable.
    parents : tuple of int
        Indices of its parents, increasing.
    cardinality : int
        Number r of states of the child.
    parent_cardinalities : tuple of int
        Numbers of states of the parents.
    configurations : ndarray of shape (n_observed, n_parents), unsigned integers
        Codes of the observed parent configurations, in lexicographic order; read-only.
    log_probabilities : ndarray of shape (n_observed, r), float64
        In nats, one row per observed configuration; read-only.

    See Also
    --------
    skbn.parameters.cpt.CPT : The same by name, to read.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn.parameters.conditional_table import ConditionalTable
    >>> table = ConditionalTable(
    ...     child=1, parents=(0,), cardinality=2, parent_cardinalities=(3,),
    ...     configurations=np.array([[0], [2]]),
    ...     log_probabilities=np.log([[0.75, 0.25], [0.1, 0.9]]),
    ... )
    >>> table.dense().round(2)
    array([[0.75, 0.25],
           [0.5 , 0.5 ],
           [0.1 , 0.9 ]])
    """

    child: int
    parents: tuple[int, ...]
    cardinality: int
    parent_cardinalities: tuple[int, ...]
    configurations: np.ndarray = field(repr=False)
    log_probabilities: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        n_observed, r = self.log_probabilities.shape
        few = self.n_configurations <= max(_FEW_ENTRIES // r, _FEW_TIMES * n_observed)
        if few:
            index = EveryConfiguration(self.parent_cardinalities)
        else:
            index = ObservedConfigurations(self.parent_cardinalities, self.configurations)
        rows = np.full((index.n_numbers, r), -math.log(r))
        rows[index.locate(self.configurations.T, n_observed)] = self.log_probabilities
        # Without a row per configuration the observed ones come first: no second copy is kept.
        kept = self.log_probabilities.view() if few else rows[:n_observed]
        configurations = self.configurations.view()
        configurations.flags.writeable = kept.flags.writeable = rows.flags.writeable = False
        object.__setattr__(self, "configurations", configurations)
        object.__setattr__(self, "log_probabilities", kept)
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_rows", rows)

    def __reduce__(self) -> tuple:
        # What the constructor derives is derived anew, so pickles stay small and arrays read-only.
        values = (self.child, self.parents, self.cardinality, self.parent_cardinalities)
        return ConditionalTable, (*values, self.configurations, self.log_probabilities)

    @property
    def n_configurations(self) -> int:
        """Number q of parent configurations, seen or not, as an exact integer."""
        return math.prod(self.parent_cardinalities)

    def log_prob(self, codes: np.ndarray) -> np.ndarray:
        """Look up ln p(child | parents) of the states in each row.

        Parameters
        ----------
        codes : ndarray of shape (n_variables, n_rows), unsigned integers
            The rows of the child and of its parents are read.

        Returns
        -------
        ndarray of shape (n_rows,)
            In nats.
        """
        cells = self._locate(codes)
        cells *= self.cardinality
        cells += codes[self.child]
        return self._rows.ravel().take(cells)

    def log_prob_each(self, codes: np.ndarray, variable: int) -> np.ndarray:
        """Look up ln p(child | parents) for each state of `variable`, the child or a parent.

        Parameters
        ----------
        codes : ndarray of shape (n_variables, n_rows), unsigned integers
            Row `variable` is not read.
        variable : int
            Index of the child, for its whole distribution, or of a parent.

        Returns
        -------
        ndarray of shape (n_rows, cardinality of `variable`)
            In nats. Fortran-contiguous: sums over the states are the fast ones.
        """
        if variable == self.child:
            cells = self._locate(codes) * self.cardinality
            cells = cells + np.arange(self.cardinality)[:, None]
        else:
            place = self.parents.index(variable)
            cells = self._index.locate_each(self._columns(codes), codes.shape[1], place)
            cells *= self.cardinality
            cells += codes[self.child]
        return self._rows.ravel().take(cells).T

    @property
    def log_values(self) -> np.ndarray:
        """All ln p that the table holds, in one row; `cells` says where. Read-only."""
        return self._rows.reshape(-1)

    def cells(self, codes: np.ndarray, free: Collection[int]) -> np.ndarray:
        """Find where `log_values` has ln p(child | parents), for all states of some members.

        Parameters
        ----------
        codes : ndarray of shape (n_variables, n_rows), unsigned integers
            The rows of `free` are not read.
        free : collection of int
            Those of the child and the parents that take each of their states.

        Returns
        -------
        ndarray of shape (cardinality of each free member in increasing order, n_rows), intp
            The last axis has length 1 where all members are free.
        """
        cardinality = dict(zip(self.parents, self.parent_cardinalities, strict=True))
        cardinality[self.child] = self.cardinality
        members = [member for member in sorted(cardinality) if member in free]
        n_rows = codes.shape[1] if len(members) < len(cardinality) else 1

        def column(member: int) -> np.ndarray:
            if member not in free:
                return codes[member]
            after = len(members) - members.index(member)
            return np.arange(cardinality[member]).reshape(-1, *(1,) * after)

        # The child's axis is of length 1 while the parents are located.
        shape = [1 if member == self.child else cardinality[member] for member in members]
        parents = [column(parent) for parent in self.parents]
        cells = self._index.locate_grid(parents, (*shape, n_rows)) * self.cardinality
        cells = cells + column(self.child)
        full = (*(cardinality[member] for member in members), n_rows)
        return np.broadcast_to(cells, full)

    def draw(self, codes: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Draw states of the child given the parents' codes, by inversion of `uniforms`.

        Parameters
        ----------
        codes : ndarray of shape (n_variables, n_rows), unsigned integers
            Only the parents' rows are read.
        uniforms : ndarray of shape (n_rows,)
            Random numbers in [0, 1), one per row.

        Returns
        -------
        ndarray of shape (n_rows,), intp
            Codes of the child's states.
        """
        ladder = np.exp(self.log_prob_each(codes, self.child)).cumsum(axis=1)
        # Divided by the last rung, so that rounding never lets a last state of probability 0 in.
        return (uniforms[:, None] * ladder[:, -1:] >= ladder[:, :-1]).sum(axis=1)

    def dense(self, max_entries: int = _LARGEST_DENSE) -> np.ndarray:
        """List the probabilities of every parent configuration, seen or not.

        Parameters
        ----------
        max_entries : int, default=2**24
            Largest number of entries to allocate.

        Returns
        -------
        ndarray of shape (q, r)
            Configurations in lexicographic order: the last parent changes fastest.

        Raises
        ------
        ValueError
            If the table has more than `max_entries` entries.
        """
        q = self.n_configurations
        if q * self.cardinality > max_entries:
            raise ValueError(
                f"The dense table has {readable_count(q * self.cardinality)} entries, more than "
                f"max_entries={max_entries}. Read the observed configurations instead "
                "(configurations and log_probabilities; every other one is uniform), or raise "
                "max_entries."
            )
        probabilities = np.full((q, self.cardinality), 1.0 / self.cardinality)
        numbers = EveryConfiguration(self.parent_cardinalities).locate(
            self.configurations.T, len(self.configurations)
        )
        probabilities[numbers] = np.exp(self.log_probabilities)
        return probabilities

    def _columns(self, codes: np.ndarray) -> list[np.ndarray]:
        return [codes[parent] for parent in self.parents]

    def _locate(self, codes: np.ndarray) -> np.ndarray:
        return self._index.locate(self._columns(codes), codes.shape[1])


def fit_tables(
    data: CategoricalData, parents: Sequence[Sequence[int]], ess: float
) -> list[ConditionalTable]:
    """The regularised parameters of a graph, Equation 3 of Steck (2008).

    Parameters
    ----------
    data : CategoricalData
    parents : sequence of (sequence of int)
        Indices of the parents of each variable, in any order.
    ess : float
        Equivalent sample size a of the parameters' prior, above zero.

    Returns
    -------
    list of ConditionalTable
        One per variable: p(x | pi) = (N_x,pi + a/(r q)) / (N_pi + a/q).
    """
    return [fit_table(data, child, family, ess) for child, family in enumerate(parents)]


def fit_table(
    data: CategoricalData, child: int, parents: Sequence[int], ess: float
) -> ConditionalTable:
    """The regularised parameters of one variable given its parents; see `fit_tables`."""
    return table_of_counts(data, child, parents, *count_table(data, child, parents), ess)


def count_table(
    data: CategoricalData, child: int, parents: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """The observed configurations of the parents, and the counts of the child's states in each.

    Returns
    -------
    configurations : ndarray of shape (n_observed, n_parents), unsigned integers
        Of the parents in ascending order; lexicographically.
    counts : ndarray of shape (n_observed, r), float64
    """
    return count_configurations(data, child, sorted(parents))


def table_of_counts(
    data: CategoricalData, child: int, parents: Sequence[int], configurations: np.ndarray,
    counts: np.ndarray, ess: float,
) -> ConditionalTable:
    """The regularised parameters of one variable from what `count_table` counted."""
    parents = tuple(sorted(int(parent) for parent in parents))
    parent_cardinalities = tuple(int(data.cardinalities[parent]) for parent in parents)
    return ConditionalTable(
        child,
        parents,
        int(data.cardinalities[child]),
        parent_cardinalities,
        configurations,
        smoothed_log_probabilities(counts, math.prod(parent_cardinalities), ess),
    )


def smoothed_log_probabilities(
    counts: np.ndarray, n_configurations: int, ess: float
) -> np.ndarray:
    """ln of (N_k + a/(r q)) / (sum of N_k + a/q), finite for every a > 0 and every q.

    Parameters
    ----------
    counts : ndarray of shape (n_observed, r), float64
        N_k of each configuration; every row has a count above zero.
    n_configurations : int
        q, which may exceed every float.
    ess : float
        a, above zero.

    Returns
    -------
    ndarray of shape (n_observed, r)
        In nats.
    """
    n_cells = counts.shape[1] * n_configurations
    # Quotients of integers, rounded once; 0 where they are smaller than every float.
    ess_numerator, ess_denominator = float(ess).as_integer_ratio()
    cell_prior = ess_numerator / (ess_denominator * n_cells)
    numerators = counts + cell_prior
    # Sorted, so that the sums of fractional counts do not depend on the order of the states.
    totals = np.sort(counts, axis=1).sum(axis=1, keepdims=True)
    totals += ess_numerator / (ess_denominator * n_configurations)
    ratios = numerators / totals
    # The ratio keeps the most digits, unless the prior's share in it is rounded away or it
    # is itself too small: then the logarithms are taken apart.
    exact = ratios >= _SMALLEST_NORMAL
    if cell_prior < _SMALLEST_NORMAL:
        exact &= counts > 0
    seen = counts > 0
    log_numerators = np.log(numerators, where=seen, out=np.empty_like(counts))
    log_numerators[~seen] = math.log(ess) - math.log(n_cells)
    apart = log_numerators - np.log(totals)
    return np.log(ratios, where=exact, out=apart)


def readable_count(count: int) -> str:
    """A count for a message: in full, or as a power of ten where nobody would read the digits."""
    return f"{count:,}" if count < 10**15 else f"about 10^{math.log10(count):.0f}"
