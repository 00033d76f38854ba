"""Probabilities as readable tables: conditional ones, and answers to questions."""

import html
import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skbn.inference.conditional_table import ConditionalTable, readable_count
from skbn.messages import brief, first_few
from skbn.tables.columns import position_of

if TYPE_CHECKING:
    import pandas

_MOST_ROWS = 30
_MOST_STATES = 12
_MOST_EVIDENCE = 6


@dataclass(frozen=True, eq=False, repr=False)
class CPT:
    """P(variable | parents) by name, for the parent configurations that occur in the data.

    Parameters
    ----------
    variable : hashable
        Label of the variable.
    states : ndarray of shape (r,)
        Names of its states.
    parents : tuple of hashable
        Labels of its parents, in column order.
    configurations : list of tuple
        Names of the parents' states, one tuple per observed configuration.
    table : ConditionalTable
        The same by numbers.

    Examples
    --------
    >>> from skbn import BayesNetStructureEstimator
    >>> X = [["dry", "bus"]] * 6 + [["dry", "foot"]] * 3 + [["wet", "bus"]] * 3
    >>> network = BayesNetStructureEstimator(init=[("x0", "x1")], max_iter=0).fit(X).network_
    >>> table = network.cpt("x1")
    >>> table
    P(x1 | x0)
    x0      bus    foot
    dry  0.6579  0.3421
    wet  0.9286  0.0714
    >>> table.configurations
    [('dry',), ('wet',)]
    """

    variable: Hashable
    states: np.ndarray
    parents: tuple[Hashable, ...]
    configurations: list[tuple]
    table: ConditionalTable

    @property
    def n_configurations(self) -> int:
        """Number of parent configurations, seen or not; those not seen are uniform."""
        return self.table.n_configurations

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Probabilities of all states, (n_observed, r), one row per observed configuration.

        Rows sum to 1. A MemoryError says how large it would be where there is no room for it.
        """
        log_rows = self.table.log_rows(self.variable)
        return np.exp(log_rows, out=log_rows)

    def to_frame(self) -> "pandas.DataFrame":
        """Make a data frame of the table: observed configurations down, states across.

        Returns
        -------
        pandas.DataFrame of shape (n_observed, r)
            Indexed by the parents' states; one row numbered 0 without parents.

        Raises
        ------
        MemoryError
            If there is no room for it, as with a column of very many states.
        """
        import pandas as pd

        columns = pd.Index(self.states, name=self.variable, tupleize_cols=False)
        index = None
        if len(self.parents) == 1:
            names = [configuration[0] for configuration in self.configurations]
            index = pd.Index(names, name=self.parents[0], tupleize_cols=False)
        elif self.parents:
            levels = list(zip(*self.configurations, strict=True))
            index = pd.MultiIndex.from_arrays(levels, names=self.parents)
        return pd.DataFrame(self.probabilities, index=index, columns=columns)

    def _repr_html_(self) -> str:
        """The table that notebooks show."""
        given = f" | {', '.join(map(str, self.parents))}" if self.parents else ""
        header = [*map(str, self.parents), *map(str, self.states)]
        rows = self._first_rows()
        shown = rows.shape[1]
        header = header[: len(self.parents) + shown]
        more = ["…"] if shown < len(self.states) else []
        lines = [
            f"<table><caption>{escaped(f'P({self.variable}{given})')}</caption>",
            html_row([*header, *more], len(header) + 1),
        ]
        for names, row in zip(self.configurations, rows, strict=False):
            cells = [*map(str, names), *map(readable_probability, row), *more]
            lines.append(html_row(cells, len(names)))
        lines.append("</table>")
        lines += [f"<p>{escaped(note)}</p>" for note in self._notes()]
        return "".join(lines)

    def __str__(self) -> str:
        given = f" | {', '.join(map(str, self.parents))}" if self.parents else ""
        lines = [f"P({self.variable}{given})"]
        rows = self._first_rows()
        shown = rows.shape[1]
        more_states = ["..."] if shown < len(self.states) else []
        header = [*map(str, self.parents), *map(str, self.states[:shown]), *more_states]
        body = [
            [*map(str, names), *map(readable_probability, row), *more_states]
            for names, row in zip(self.configurations, rows, strict=False)
        ]
        lines += aligned([header, *body], len(self.parents))
        lines += self._notes()
        return "\n".join(lines)

    __repr__ = __str__

    def _first_rows(self) -> np.ndarray:
        """The probabilities that are shown."""
        return np.exp(self.table.first_log_rows(_MOST_ROWS, _MOST_STATES))

    def _notes(self) -> list[str]:
        """What the rows that are shown leave out."""
        lines = []
        hidden = len(self.configurations) - _MOST_ROWS
        if hidden > 0:
            lines.append(f"... {hidden:,} more observed configurations; to_frame() has them all")
        unseen = self.n_configurations - len(self.configurations)
        if unseen:
            lines.append(
                f"{readable_count(unseen)} of {readable_count(self.n_configurations)} "
                f"configurations were not observed: each state has probability "
                f"{readable_probability(1 / len(self.states))} there"
            )
        return lines


def readable_probability(value: float) -> str:
    """Four decimals, but never 0.0000 for what is possible."""
    return f"{value:.4f}" if value >= 0.0001 or value == 0 else f"{value:.0e}"


def html_row(cells: Sequence[str], n_names: int) -> str:
    """A row of a table whose first cells are names."""
    return "<tr>" + "".join(
        f"<th>{escaped(cell)}</th>" if place < n_names else f"<td>{escaped(cell)}</td>"
        for place, cell in enumerate(cells)
    ) + "</tr>"


def escaped(text: str) -> str:
    return html.escape(text).encode("utf-8", "replace").decode()


def aligned(table: Sequence[Sequence[str]], n_names: int) -> list[str]:
    """Lines of text with names flush left and numbers flush right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < n_names else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """P(columns | evidence), by the names of the states.

    Parameters
    ----------
    columns : tuple of hashable
        The columns asked for.
    states : tuple of ndarray
        The names of the states of each.
    evidence : dict or None
        States by column; None where every row of a table was evidence.
    probabilities : ndarray of shape (r_1, ..., r_k), or (n_rows, r_1, ..., r_k) for a table
        An axis per column; they sum to 1.
    index : pandas Index or None
        What the rows of the table are called, if it was one of pandas.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn.networks.probability_table import Posterior
    >>> answer = Posterior(("rain",), (np.array(["no", "yes"]),), {}, np.array([0.75, 0.25]))
    >>> answer
    P(rain)
        no     yes
    0.7500  0.2500
    >>> answer["yes"]
    0.25
    """

    columns: tuple[Hashable, ...]
    states: tuple[np.ndarray, ...]
    evidence: Mapping[Hashable, Any] | None
    probabilities: np.ndarray
    index: Any = None

    def __getitem__(self, states: Any) -> Any:
        """The probability of a state, or of one state per column; an array for a table.

        Raises
        ------
        KeyError
            For what is no state.
        """
        if len(self.columns) == 1:
            states = (states,)
        if not isinstance(states, tuple) or len(states) != len(self.columns):
            raise KeyError(
                f"Give one state for each of {first_few(self.columns)}, got {brief(states)}."
            )
        place = []
        for column, levels, state in zip(self.columns, self.states, states, strict=True):
            found = position_of(state, levels)
            if found < 0:
                raise KeyError(
                    f"Column {brief(column)} has no state {brief(state)}. Its states are "
                    f"{first_few(levels)}."
                )
            place.append(found)
        found = self.probabilities[(..., *place)]
        return float(found) if np.ndim(found) == 0 else found

    def to_frame(self) -> "pandas.DataFrame":
        """Make a data frame: states of the last column across, the rest down.

        Returns
        -------
        pandas.DataFrame
            Indexed by the rows of a table, as its own index has them, else by numbers; then by the
            states of all columns but the last.
        """
        import pandas as pd

        across = pd.Index(self.states[-1], name=self.columns[-1], tupleize_cols=False)
        names = list(self.columns[:-1])
        down = [pd.Index(states.tolist(), tupleize_cols=False) for states in self.states[:-1]]
        if self.evidence is None:
            rows = pd.RangeIndex(len(self.probabilities), name="row")
            rows = rows if self.index is None else self.index
            if names and rows.nlevels == 1 and rows.name is None:
                rows = rows.rename("row")
            names, down = [*rows.names, *names], [rows, *down]
        if len(down) > 1:
            down = [part if part.nlevels > 1 else pd.MultiIndex.from_arrays([part])
                    for part in down]
            places = np.indices(tuple(map(len, down))).reshape(len(down), -1)
            index = pd.MultiIndex(
                levels=[level for part in down for level in part.levels],
                codes=[codes[place] for part, place in zip(down, places, strict=True)
                       for codes in part.codes],
                names=names,
            )
        else:
            index = down[0].set_names(names) if down else None
        return pd.DataFrame(self._flat(), index=index, columns=across)

    def _repr_html_(self) -> str:
        """The table that notebooks show."""
        title, n_names, table, note = self._shown("…")
        lines = [
            f"<table><caption>{escaped(title)}</caption>",
            html_row(table[0], len(table[0])),
            *(html_row(row, n_names) for row in table[1:]),
            "</table>",
        ]
        return "".join(lines + [f"<p>{escaped(note)}</p>"] * bool(note))

    def __str__(self) -> str:
        title, n_names, table, note = self._shown("...")
        return "\n".join([title, *aligned(table, n_names), *[note] * bool(note)])

    __repr__ = __str__

    def _shown(self, ellipsis: str) -> tuple[str, int, list[list[str]], str]:
        """Title, number of names that begin a row, rows with the header first, what is left out."""
        asked = ", ".join(map(str, self.columns))
        given = " | rows of a table" if self.evidence is None else ""
        if self.evidence:
            known = [f"{column}={state}" for column, state in self.evidence.items()]
            given = " | " + first_few(known, _MOST_EVIDENCE, write=str)
        shown = min(len(self.states[-1]), _MOST_STATES)
        more_states = [ellipsis] if shown < len(self.states[-1]) else []
        names = [*map(str, self.columns[:-1])]
        levels = [states.tolist() for states in self.states[:-1]]
        rows = [()]
        if self.evidence is None:
            index = range(len(self.probabilities)) if self.index is None else self.index
            of_rows = getattr(index, "names", [None])
            names = ["row" if name is None else str(name) for name in of_rows] + names
            rows = list(index[:_MOST_ROWS])
            rows = rows if len(of_rows) > 1 else [(row,) for row in rows]
        table = [[*names, *map(str, self.states[-1][:shown]), *more_states]]
        flat = self._flat()
        for (row, *states), shares in zip(
            itertools.product(rows, *levels), flat[:_MOST_ROWS], strict=False
        ):
            table.append([
                *map(str, [*row, *states]), *map(readable_probability, shares[:shown]), *more_states
            ])
        hidden = len(flat) - _MOST_ROWS
        note = f"... {hidden:,} more rows; to_frame() has them all" if hidden > 0 else ""
        return f"P({asked}{given})", len(names), table, note

    def _flat(self) -> np.ndarray:
        return self.probabilities.reshape(-1, len(self.states[-1]))
