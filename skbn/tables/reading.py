"""A table, its target and its weights, read into codes with their names and levels."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight

from skbn.counting.data import CategoricalData
from skbn.messages import brief, first_few, warn_user
from skbn.tables.columns import are_no_categories, learn_column
from skbn.tables.encoding import (
    entries_by_column,
    learn_categories,
    only_columns,
    open_table,
    table_labels,
)
from skbn.tables.factors import declares_levels, open_series, refuse_odd_array
from skbn.tables.unusable import UnusableColumnsError
from skbn.tables.values import array_of_levels


@dataclass(frozen=True, eq=False)
class Reading:
    """What a table was read into.

    Attributes
    ----------
    labels : list
        Names of the variables: the columns, then y if there was one.
    categories : list of ndarray
        Levels of the variables.
    data : CategoricalData
    n_rows : int
        How many rows of weight above zero there were, before equal ones were merged.
    no_categories : list of (label, int)
        Columns that look like measurements or identifiers, and their numbers of levels.
    """

    labels: list[Hashable]
    categories: list[np.ndarray]
    data: CategoricalData
    n_rows: int
    no_categories: list[tuple[Hashable, int]]

    def warn_of_columns(self) -> None:
        """Warn of columns that look like measurements or identifiers, all at once."""
        warn_of_columns(self.no_categories, self.n_rows)

    def warn_of_weights(self) -> None:
        """Warn of weights that are shares, and so next to no rows.

        They sum to 1 at most, to 1 % of the rows, or to less than 3 and half of the rows: of less
        than e rows BIC takes ever more edges the fewer they are.
        """
        total = self.data.n_samples
        if not self.data.is_at_most_a_row and total >= max(
            min(3.0, self.n_rows / 2), self.n_rows / 100
        ):
            return
        warn_user(
            f"sample_weight sums to {total:.6g} over {self.n_rows:,} row(s). A weight says how "
            f"often its row counts, so together these say no more than {total:.6g} rows would: "
            "next to nothing. If the weights are shares, scale them to a mean of 1: "
            "sample_weight / numpy.mean(sample_weight)."
        )


def warn_of_columns(no_categories: list[tuple[Hashable, int]], n_rows: int) -> None:
    """Warn of columns, by name and number of levels, that look like none of categories."""
    if no_categories:
        labels, numbers = zip(*no_categories, strict=True)
        found = f"{first_few(labels)} with {first_few(numbers)} levels in {n_rows:,} rows"
        warn_user(
            "Columns that look like measurements or identifiers came where categories are wanted: "
            f"{found}. Every value is a level of its own, and most have too few rows to learn "
            'from. Cut measurements into bins with KBinsDiscretizer(encode="ordinal"), and drop '
            "identifiers. Values that really are categories are declared by a categorical dtype "
            "or categories=."
        )


def read_table(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    categories: Any = "auto",
    missing: str = "error",
    y_missing: str | None = None,
    y_label: Hashable = None,
    only: Collection[Hashable] | None = None,
) -> Reading:
    """Read a table, with y as its last variable if given.

    Parameters
    ----------
    X : data frame, array-like or Table
    y : Series or array-like of shape (n_rows,), optional
    sample_weight : array-like of shape (n_rows,), optional
        Rows of weight zero are dropped before anything is read from the table.
    categories : "auto", list or dict
        Levels by hand: one entry per column of X, or a dict from name, that of y included.
    missing : {"error", "category"}
        What missing cells are; see `skbn.tables.columns.learn_column`.
    y_missing : {"error", "category"}, optional
        What those of y are, if not the same.
    y_label : hashable, optional
        What y is called, if not as `label_of_target` has it.
    only : collection of hashable, optional
        Columns of X that are not among these are not read.

    Raises
    ------
    UnusableColumnsError
        Of all columns that cannot be read, y included.
    ValueError, TypeError
        As `skbn.tables.encoding.learn_categories`; for weights that are negative, all zero or of
        the wrong shape; and if y has the name of a column.
    """
    table = open_table(X)
    labels = table.names
    weights, rows = _read_weights(sample_weight, table.shape[0])
    entry = "auto"
    if y is not None:
        label = label_of_target(y) if y_label is None else y_label
        if label in labels:
            raise ValueError(
                f"y joins the network as a variable called {brief(label)}, but a column of X has "
                "that name. Rename one of them, or leave y out."
            )
        if isinstance(categories, dict) and label in categories:
            entry = categories[label]
            categories = {name: given for name, given in categories.items() if name != label}
    if only is not None:
        table, categories = only_columns(table, categories, only)
        labels = table.names
    if y is None:
        codes, levels = learn_categories(table, labels, categories, rows, missing)
    else:
        unusable = []
        try:
            codes, levels = learn_categories(table, labels, categories, rows, missing)
        except UnusableColumnsError as error:
            unusable += error.found
        try:
            y_codes, y_levels = learn_column(y, label, entry, rows, y_missing or missing)
        except UnusableColumnsError as error:
            unusable += [column.of_y(is_class=y_missing == "error") for column in error.found]
        except (TypeError, ValueError):
            if not unusable:
                raise
        if unusable:
            raise UnusableColumnsError(unusable)
        labels, levels = [*labels, label], [*levels, y_levels]
        codes = append_variable(codes, y_codes)
    data = CategoricalData.from_codes(codes, [len(states) for states in levels], weights)
    n_rows = codes.shape[1]
    columns = [*table.columns, *([] if y is None else [y])]
    # The values of a class are what is to be told apart, however many.
    of_y = [] if y is None else [None if y_missing == "error" else entry]
    entries = [*entries_by_column(categories, table.names), *of_y]
    no_categories = [
        (label, len(states))
        for label, states, column, entry in zip(labels, levels, columns, entries, strict=True)
        if are_no_categories(states, max(n_rows, data.n_samples))
        and isinstance(entry, str) and not declares_levels(column)
    ]
    return Reading(labels, levels, data, n_rows, no_categories)


def open_target(y: Any, n_rows: int) -> Any:
    """y as one column without reading it: a data frame library's, else a one-dimensional array.

    A data frame of one column is that column.

    Raises
    ------
    ValueError, TypeError
        For what is no single column of so many rows.
    """
    if len(table_labels(y) or ()) == 1:
        [y] = open_table(y).columns
    series = open_series(y)
    if series is not None:
        y = series.to_native()
    else:
        refuse_odd_array(y)
        if isinstance(y, (list, tuple)) and not {list, tuple, np.ndarray} & set(map(type, y)):
            # numpy would make text of [1, "a"] and integers of [True, 2].
            y = array_of_levels(y)
        else:
            y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(y)}.")
    return y


def label_of_target(y: Any) -> Hashable:
    """The name under which y, as it came, joins the network: its own, else "y".

    That of a Series, or of the column of a data frame that has one.
    """
    labels = table_labels(y) or ()
    name = labels[0] if len(labels) == 1 else getattr(y, "name", None)
    # Polars calls a Series without a name "".
    return "y" if name is None or (isinstance(name, str) and not name) else name


def append_variable(codes: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Codes (n_variables, n_rows) with one more variable at the end."""
    return np.concatenate([codes, row[None].astype(np.promote_types(codes.dtype, row.dtype))])


def _read_weights(
    sample_weight: Any, n_rows: int
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Weights above zero, and the mask of their rows; None where all rows are meant."""
    if sample_weight is None:
        return None, None
    weights = check_weights(sample_weight, n_rows)
    rows = weights > 0
    return (weights, None) if rows.all() else (weights[rows], rows)


def check_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Weights as floats of which none is negative or infinite, nor their sum, nor all zero."""
    weights = _check_sample_weight(
        sample_weight, np.empty(n_rows), dtype=np.float64, ensure_non_negative=True
    )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if np.isinf(total):
        raise ValueError("The sum of sample_weight is too large for a float. Divide the weights.")
    return weights
