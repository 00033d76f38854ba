"""Conditional probability tables: the regularised parameters of a network."""

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from skbn.counting.counts import count_configurations
from skbn.counting.data import CategoricalData
from skbn.inference.configurations import EveryConfiguration, ObservedConfigurations
from skbn.messages import brief
from skbn.resources import refuse_array

# There is a place for every configuration, seen or not, where that takes at most so many entries or
# so many times the observed ones: reading it is then one multiplication per parent.
_FEW_ENTRIES = 8192
_FEW_TIMES = 4
# And one for every state, where that takes at most so many times the values that differ.
_FEW_STATES_TIMES = 16
_LARGEST_DENSE = 2**24
_SMALLEST_NORMAL = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """Table of ln p(child | parents), kept for what was observed only.

    In an observed parent configuration the states that were observed are listed, and every other
    state has one value; every other configuration has the prior mean 1/r. Memory grows with the
    cells that were observed, never with the number q of configurations or r of states.

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
    listed : ndarray of shape (n_listed,), integers
        The cells with a value of their own: place of the configuration times r, plus the state;
        increasing.
    log_listed : ndarray of shape (n_listed,), float64
        The logarithm of the probability of each, in nats.
    log_others : ndarray of shape (n_observed,), float64
        The logarithm of the probability of each state that is not listed, by configuration, in
        nats.

    See Also
    --------
    skbn.networks.probability_table.CPT : The same by name, to read.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn.inference.conditional_table import ConditionalTable
    >>> table = ConditionalTable.from_rows(
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
    listed: np.ndarray = field(repr=False)
    log_listed: np.ndarray = field(repr=False)
    log_others: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        n_observed, r = len(self.configurations), self.cardinality
        if self.n_configurations <= max(_FEW_ENTRIES // r, _FEW_TIMES * n_observed):
            index = EveryConfiguration(self.parent_cardinalities)
        else:
            index = ObservedConfigurations(self.parent_cardinalities, self.configurations)
        numbers = index.locate(self.configurations.T, n_observed)
        others = np.full(index.n_numbers, -math.log(r))
        others[numbers] = self.log_others
        places, states = np.divmod(self.listed.astype(np.int64), r)
        cells = numbers[places] * r + states
        n_entries = index.n_numbers * r
        if n_entries <= max(_FEW_ENTRIES, _FEW_STATES_TIMES * (len(cells) + n_observed)):
            keys, values = None, np.repeat(others, r)
            values[cells] = self.log_listed
        else:
            # Whatever is searched for, there is a key that is not below it.
            keys = np.append(cells, np.iinfo(np.int64).max)
            values = np.concatenate([self.log_listed, others])
        kept = {"_index": index, "_keys": keys, "_values": values}
        for name in ("configurations", "listed", "log_listed", "log_others"):
            kept[name] = getattr(self, name).view()
            kept[name].flags.writeable = False
        values.flags.writeable = False
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_rows(
        cls, child: int, parents: tuple[int, ...], cardinality: int,
        parent_cardinalities: tuple[int, ...], configurations: np.ndarray,
        log_probabilities: np.ndarray,
    ) -> "ConditionalTable":
        """Make a table that lists every state of the configurations it has.

        Parameters
        ----------
        child : int
            As above.
        parents : tuple of int
            As above.
        cardinality : int
            As above.
        parent_cardinalities : tuple of int
            As above.
        configurations : ndarray of shape (n_observed, n_parents), unsigned integers
            As above.
        log_probabilities : ndarray of shape (n_observed, r), float64
            In nats, one row per configuration.

        Returns
        -------
        ConditionalTable
            With all of these as listed cells.
        """
        listed = np.arange(log_probabilities.size)
        others = np.zeros(len(log_probabilities))
        return cls(
            child, parents, cardinality, parent_cardinalities, configurations, listed,
            log_probabilities.ravel(), others,
        )

    def __reduce__(self) -> tuple:
        # What the constructor derives is derived anew, so pickles stay small and arrays read-only.
        return ConditionalTable, tuple(getattr(self, part.name) for part in fields(self))

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
        return self._values.take(self._cells(self._locate(codes), codes[self.child]))

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
            cells = self._cells(self._locate(codes), np.arange(self.cardinality)[:, None])
        else:
            place = self.parents.index(variable)
            numbers = self._index.locate_each(self._columns(codes), codes.shape[1], place)
            cells = self._cells(numbers, codes[self.child])
        return self._values.take(cells).T

    @property
    def log_probabilities(self) -> np.ndarray:
        """Every ln p(state | observed configuration), (n_observed, r), in nats."""
        return self.log_rows(f"variable {self.child}")

    def log_rows(self, label: Hashable, room: int = 2) -> np.ndarray:
        """List ln p of every state in each observed configuration.

        Parameters
        ----------
        label : hashable
            What a message calls the child.
        room : int, default=2
            For how many floats in place of each there must be room, with what is made of them.

        Returns
        -------
        ndarray of shape (n_observed, r)
            In nats.

        Raises
        ------
        MemoryError
            If there is no room for it.
        """
        n_observed, r = len(self.configurations), self.cardinality
        refuse_array(
            room * n_observed * r,
            f"The table of {brief(label)} has {n_observed:,} observed configurations of its "
            f"parents and {r:,} states, and to list all takes",
            "Leave out columns that are different in nearly every row, such as identifiers.",
        )
        return self.first_log_rows(n_observed, r)

    def first_log_rows(self, n_rows: int, n_states: int) -> np.ndarray:
        """List ln p of the first states in the first observed configurations.

        Parameters
        ----------
        n_rows, n_states : int
            How many at most.

        Returns
        -------
        ndarray of shape (n_rows, n_states)
            In nats; smaller where there are fewer.
        """
        n_states = min(n_states, self.cardinality)
        rows = np.repeat(self.log_others[:n_rows, None], n_states, axis=1)
        # In its own type, since numpy would compare large integers of two types as floats.
        end = self.listed.dtype.type(len(rows) * self.cardinality)
        n_listed = np.searchsorted(self.listed, end)
        places, states = np.divmod(self.listed[:n_listed].astype(np.int64), self.cardinality)
        shown = states < n_states
        rows[places[shown], states[shown]] = self.log_listed[:n_listed][shown]
        return rows

    @property
    def log_values(self) -> np.ndarray:
        """All ln p that the table holds, in one row; `cells` says where. Read-only."""
        return self._values

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
        numbers = self._index.locate_grid(parents, (*shape, n_rows))
        cells = self._cells(numbers, column(self.child))
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

    def _cells(self, numbers: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Where `log_values` has these states in configurations of these numbers, which may go."""
        # In place where that can be: reading rows spends its time here.
        cells = numbers if self._keys is None else numbers.copy()
        cells *= self.cardinality
        cells = np.add(cells, states, out=cells if cells.shape == np.shape(states) else None)
        if self._keys is None:
            return cells
        found = np.searchsorted(self._keys, cells)
        listed = self._keys.take(found) == cells
        return np.where(listed, found, len(self._keys) - 1 + numbers)

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
    """The observed configurations of the parents, ascending, and the counts of their cells.

    As `skbn.counting.counts.count_configurations` returns them.
    """
    return count_configurations(data, child, sorted(parents))


def table_of_counts(
    data: CategoricalData, child: int, parents: Sequence[int], configurations: np.ndarray,
    cells: np.ndarray, counts: np.ndarray, ess: float,
) -> ConditionalTable:
    """The regularised parameters of one variable from what `count_table` counted."""
    parents = tuple(sorted(int(parent) for parent in parents))
    parent_cardinalities = tuple(int(data.cardinalities[parent]) for parent in parents)
    n_observed, r = len(configurations), int(data.cardinalities[child])
    log_probabilities = smoothed_log_probabilities(
        cells // r, counts, n_observed, r, math.prod(parent_cardinalities), ess
    )
    return ConditionalTable(
        child, parents, r, parent_cardinalities, configurations,
        cells.astype(np.min_scalar_type(r * n_observed)), *log_probabilities,
    )


def smoothed_log_probabilities(
    places: np.ndarray, counts: np.ndarray, n_observed: int, cardinality: int,
    n_configurations: int, ess: float,
) -> tuple[np.ndarray, np.ndarray]:
    """ln of (N_k + a/(r q)) / (sum of N_k + a/q), finite for every a > 0 and every q.

    Parameters
    ----------
    places : ndarray of shape (n_cells,), integers
        The configuration of each observed cell; every one has a cell.
    counts : ndarray of shape (n_cells,), float64
        N_k, above zero.
    n_observed : int
        Number of observed configurations.
    cardinality : int
        r.
    n_configurations : int
        q, which may exceed every float.
    ess : float
        a, above zero.

    Returns
    -------
    log_cells : ndarray of shape (n_cells,)
        Of the observed cells, in nats.
    log_others : ndarray of shape (n_observed,)
        Of each state that was not observed, by configuration, in nats.
    """
    n_cells = cardinality * n_configurations
    # Quotients of integers, rounded once; 0 where they are smaller than every float.
    ess_numerator, ess_denominator = float(ess).as_integer_ratio()
    cell_prior = ess_numerator / (ess_denominator * n_cells)
    # Ascending, so that the sums of fractional counts do not depend on the order of the states.
    order = np.argsort(counts)
    totals = np.bincount(places[order], weights=counts[order], minlength=n_observed)
    totals += ess_numerator / (ess_denominator * n_configurations)
    # A cell more in each configuration stands for all those that were not observed.
    seen = np.arange(len(counts) + n_observed) < len(counts)
    totals = totals[np.concatenate([places, np.arange(n_observed)])]
    numerators = np.concatenate([counts, np.zeros(n_observed)]) + cell_prior
    ratios = numerators / totals
    # The ratio keeps the most digits, unless the prior's share in it is rounded away or it
    # is itself too small: then the logarithms are taken apart.
    exact = ratios >= _SMALLEST_NORMAL
    if cell_prior < _SMALLEST_NORMAL:
        exact &= seen
    log_numerators = np.log(numerators, where=seen, out=np.empty_like(totals))
    log_numerators[~seen] = math.log(ess) - math.log(n_cells)
    apart = log_numerators - np.log(totals)
    log_probabilities = np.log(ratios, where=exact, out=apart)
    return log_probabilities[: len(counts)], log_probabilities[len(counts) :]


def readable_count(count: int) -> str:
    """A count for a message: in full, or as a power of ten where nobody would read the digits."""
    return f"{count:,}" if count < 10**15 else f"about 10^{math.log10(count):.0f}"
