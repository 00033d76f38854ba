"""Probabilities of columns given evidence, to read: names in place of codes."""

import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skbn.messages import brief, first_few
from skbn.parameters.cpt import aligned, escaped, html_row, readable_probability
from skbn.tables.columns import position_of

if TYPE_CHECKING:
    import pandas

_MOST_ROWS = 30
_MOST_STATES = 12
_MOST_EVIDENCE = 6


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
    >>> from skbn.inference.posterior import Posterior
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
