"""What is known of the columns of a network, by name: one row as a dictionary, or a table."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from skbn.counting.data import smallest_code_type
from skbn.messages import brief, first_few
from skbn.tables.column_codes import read_factor
from skbn.tables.columns import kind_of, levels_as_written, position_of
from skbn.tables.reading import (
    Table,
    apply_categories_with_gaps,
    open_frame,
    open_table,
    read_columns,
)
from skbn.tables.templates import ColumnTemplate, TableTemplate
from skbn.tables.values import has_missing_level, is_missing

_MOST_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows of codes with gaps, and what they were read from.

    Attributes
    ----------
    codes : ndarray of shape (n_variables, n_rows), unsigned integers
    missing : ndarray of shape (n_variables, n_rows), bool
    table : Table or None
        None if it was a dictionary.
    places : list of int
        The variables that the columns of the table, or the entries of the dictionary, are.
    levels : list of ndarray
        Their levels, as the columns of a table have them; none for a dictionary.
    """

    codes: np.ndarray
    missing: np.ndarray
    table: Table | None
    places: list[int]
    levels: Sequence[np.ndarray] = ()


def read_evidence(
    evidence: Any, labels: Sequence[Hashable], categories: Sequence[np.ndarray]
) -> Evidence:
    """Read what is known.

    Parameters
    ----------
    evidence : dict, data frame, array-like of shape (n_rows, n_variables) or None
        - A dictionary from column to state, or anything else with ``items``, is one row.
        - A dictionary from column to list or array is a table, as a data frame is. Columns are
          found by name: they may come in any order, and those that are left out are missing.
        - An array has all columns in the order of the labels.

        Cells that are missing (NaN, None, null) are not known, unless missing is a level of the
        column. States are found by value; where no type is common, by what is written, see
        `skbn.tables.columns.levels_as_written`.
    labels : sequence of hashable
    categories : sequence of ndarray

    Raises
    ------
    ValueError, TypeError
        For unknown columns and states, and for what is no table.
    """
    if isinstance(evidence, nw.DataFrame):
        evidence = evidence.to_native()
    if evidence is not None and open_frame(evidence) is None and hasattr(evidence, "items"):
        evidence = dict(evidence.items())
        if any(_is_column(value) for value in evidence.values()):
            return _read_table(_table_of(evidence), labels, categories)
    if evidence is None or isinstance(evidence, Mapping):
        return _read_row(evidence or {}, labels, categories)
    if isinstance(evidence, (str, bytes, Number)):
        raise TypeError(
            "What is known must be a dictionary from column to state, a data frame or an array of "
            f"shape (n_rows, n_variables), got {brief(evidence)}."
        )
    return _read_table(open_table(evidence), labels, categories)


def fill(evidence: Evidence, codes: np.ndarray) -> Any:
    """The kind of table that the evidence came as, with these codes."""
    table, levels = evidence.table, evidence.levels
    codes = codes[evidence.places]
    if not isinstance(table.native, dict):
        return _with_index(TableTemplate.of(table.native).build(codes, levels), table.native)
    return {
        label: _with_index(ColumnTemplate.of(column).build(row, names), column)
        for (label, column), row, names in zip(table.native.items(), codes, levels, strict=True)
    }


def _with_index(filled: Any, native: Any) -> Any:
    """A frame or Series with the index of the one that it was made like, if that has one."""
    if hasattr(filled, "iloc") and hasattr(native, "iloc"):
        filled.index = native.index
    return filled


def states_of(codes: np.ndarray, categories: Sequence[np.ndarray]) -> list:
    """The names of the states of one row, as Python has them."""
    return [levels[code : code + 1].tolist()[0]
            for code, levels in zip(codes.tolist(), categories, strict=True)]


def _is_column(value: Any) -> bool:
    # Single dates of pandas become arrays as well, but have no length.
    return (isinstance(value, (list, np.ndarray)) and np.ndim(value) == 1) or (
        hasattr(value, "to_numpy") and hasattr(value, "__len__")
    )


def _table_of(columns: dict) -> Table:
    plain = [label for label, value in columns.items() if not _is_column(value)]
    if plain:
        raise TypeError(
            f"A dictionary is one row, of states, or a table, of lists; column {brief(plain[0])} "
            f"has {brief(columns[plain[0]])}, others have lists. Repeat it once per row."
        )
    lengths = {label: len(value) for label, value in columns.items()}
    if len(set(lengths.values())) > 1:
        (one, n_rows), *others = lengths.items()
        other = next(label for label, length in others if length != n_rows)
        raise ValueError(
            f"The columns of a table are equally long, but {brief(one)} has {n_rows} rows and "
            f"{brief(other)} has {lengths[other]}."
        )
    shape = (next(iter(lengths.values())), len(columns))
    table = Table(columns, list(columns), shape, list(columns.values()))
    for label, column in columns.items():
        if hasattr(column, "iloc") and not column.index.equals(table.index):
            raise ValueError(
                f"The columns of a table have the same rows, but the index of {brief(label)} "
                "differs from that of a column before it. Let pandas bring the rows together: "
                "pandas.DataFrame(columns)."
            )
    return table


def _read_row(
    evidence: Mapping, labels: Sequence[Hashable], categories: Sequence[np.ndarray]
) -> Evidence:
    places = find_columns(list(evidence), labels)
    largest = max((len(levels) for levels in categories), default=1)
    codes = np.zeros((len(labels), 1), dtype=smallest_code_type(largest))
    missing = np.ones((len(labels), 1), dtype=bool)
    for place, state in zip(places, evidence.values(), strict=True):
        levels = categories[place]
        if is_missing(state) and not has_missing_level(levels):
            continue
        code = position_of(state, levels)
        if code < 0:
            raise ValueError(
                f"Column {brief(labels[place])} has no state {brief(state)}. Its states are "
                f"{first_few(levels, _MOST_SHOWN)}." + _differs_in_type(state, levels)
            )
        codes[place], missing[place] = code, False
    return Evidence(codes, missing, None, places)


def _differs_in_type(state: Any, levels: np.ndarray) -> str:
    """A sentence if a level is written as the state is and is of another type, else nothing."""
    alike = [level for level in levels.tolist() if str(level) == str(state)]
    if not alike:
        return ""
    return (
        f" The types differ: {kind_of(state)} came, and the state is {brief(alike[0])}, of type "
        f"{type(alike[0]).__name__}."
    )


def _read_table(
    table: Table, labels: Sequence[Hashable], categories: Sequence[np.ndarray]
) -> Evidence:
    if table.labels is None:
        if table.shape[1] != len(labels):
            raise ValueError(
                f"An array has a column for each of the {len(labels)} of the network, in their "
                f"order; this one has {table.shape[1]}. A data frame may have fewer."
            )
        places, names = list(range(len(labels))), list(labels)
    else:
        names = table.labels
        places = find_columns(names, labels)
    columns = read_columns(read_factor, table.columns, names, [None] * len(names))
    levels = [
        levels_as_written(categories[place], column.levels)
        for place, column in zip(places, columns, strict=True)
    ]
    known, gaps = apply_categories_with_gaps(
        replace(table, columns=columns, known={}),
        names,
        levels,
        cure="Correct these cells, or empty them to have them summed out.",
    )
    codes = np.zeros((len(labels), table.shape[0]), dtype=known.dtype)
    missing = np.ones(codes.shape, dtype=bool)
    codes[places] = known
    missing[places] = False if gaps is None else gaps
    return Evidence(codes, missing, table, places, levels)


def find_columns(names: Sequence[Hashable], labels: Sequence[Hashable]) -> list[int]:
    """The place of each name among the labels.

    Raises
    ------
    ValueError
        If one is not there.
    """
    place = {label: index for index, label in enumerate(labels)}
    # What is not hashable is no label either.
    unknown = [name for name in names
               if getattr(name, "__hash__", None) is None or name not in place]
    if unknown:
        raise ValueError(
            f"No column is called {first_few(unknown)}. The network has "
            f"{first_few(labels, _MOST_SHOWN)}."
        )
    return [place[name] for name in names]
