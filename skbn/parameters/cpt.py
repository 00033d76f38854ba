"""A conditional probability table to read: names in place of codes."""

import html
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from skbn.parameters.conditional_table import ConditionalTable, readable_count

if TYPE_CHECKING:
    import pandas

_MOST_ROWS = 30
_MOST_STATES = 12


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
