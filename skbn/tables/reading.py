"""A table, its target and its weights, read into codes with their names and levels."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from skbn.counting.data import CategoricalData
from skbn.messages import brief, first_few, warn_user
from skbn.tables.column_codes import declares_levels, open_series, refuse_odd_array, require_rows
from skbn.tables.columns import apply_column, apply_with_gaps, are_no_categories, learn_column
from skbn.tables.unusable import UnusableColumnsError
from skbn.tables.values import array_of_levels


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was looked at, but not read.

    Attributes
    ----------
    native : data frame as it came, or ndarray
    labels : list, or None for arrays
    shape : (n_rows, n_columns)
    columns : list of pandas or narwhals Series or ndarray of shape (n_rows,)
    known : dict
        What was read by known levels, see `apply_categories_with_gaps`: a table that is held may
        be asked for many times, by models with the same levels.
    """

    native: Any
    labels: list | None
    shape: tuple[int, int]
    columns: list
    known: dict = field(default_factory=dict, repr=False)

    @property
    def names(self) -> list:
        """The labels, or "x0", "x1", ... for the columns of an array."""
        return [f"x{j}" for j in range(self.shape[1])] if self.labels is None else self.labels

    @property
    def index(self) -> Any:
        """What pandas calls the rows; None for the tables of others."""
        return next((column.index for column in self.columns if hasattr(column, "iloc")), None)


def only_columns(
    table: Table, categories: Any, wanted: Collection[Any]
) -> tuple[Table, dict[Any, Any]]:
    """The columns that are asked about, and what `categories` says of them.

    Parameters
    ----------
    table : Table
    categories : "auto", list or dict
        As for `learn_categories`, of all columns.
    wanted : collection of labels
        Others than the table's are passed over.
    """
    entries = zip(table.names, table.columns, entries_by_column(categories, table.names),
                  strict=True)
    kept = [(name, column, entry) for name, column, entry in entries if name in wanted]
    names, columns = [name for name, _, _ in kept], [column for _, column, _ in kept]
    shape = (table.shape[0], len(kept))
    return (replace(table, labels=names, shape=shape, columns=columns, known={}),
            {name: entry for name, _, entry in kept})


def table_labels(X: Any) -> list | None:
    """The column labels of a data frame in order, None for anything without labels.

    Raises
    ------
    ValueError
        If two columns have the same label.
    TypeError
        For a lazy frame, which has no rows yet.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbn.tables.reading import table_labels
    >>> table_labels(pd.DataFrame({"rain": [0, 1], "wet": [0, 1]}))
    ['rain', 'wet']
    """
    frame = open_frame(X)
    return None if frame is None else list(frame.columns)


def learn_categories(
    X: Any,
    labels: Sequence[Any],
    categories: Any = "auto",
    rows: np.ndarray | None = None,
    missing: str = "error",
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Find the levels of every column of a table and number its cells.

    Parameters
    ----------
    X : data frame or array-like of shape (n_rows, n_columns), or Table
    labels : sequence of n_columns labels
        What messages, and the keys of `categories`, call the columns.
    categories : "auto", list or dict
        One entry per column, or a dict from label to entry for some of them. An entry is "auto"
        or the levels in the order of their codes.
    rows : ndarray of shape (n_rows,), bool, optional
        Rows that are False are dropped before anything is read, levels included.
    missing : {"error", "category"}
        As for `skbn.tables.columns.learn_column`.

    Returns
    -------
    codes : ndarray of shape (n_columns, n_kept_rows), uint8, uint16 or uint32
        C-contiguous, in the smallest of these types that holds every column.
    categories : list of n_columns ndarrays

    Raises
    ------
    UnusableColumnsError
        Of all columns that cannot be read, as `skbn.tables.columns.learn_column`.
    ValueError, TypeError
        For tables without rows or columns, and for `categories` that do not fit the columns.

    Examples
    --------
    >>> from skbn.tables.reading import learn_categories
    >>> codes, categories = learn_categories([["a", 1], ["b", 1], ["a", 7]], ["x0", "x1"])
    >>> codes.tolist()
    [[0, 1, 0], [0, 0, 1]]
    >>> [levels.tolist() for levels in categories]
    [['a', 'b'], [1, 7]]
    """
    table = open_table(X)
    if rows is not None:
        if len(rows) != table.shape[0]:
            raise ValueError(
                f"The mask of rows has {len(rows)} entries, the table {table.shape[0]} rows."
            )
        require_rows((int(np.count_nonzero(rows)), table.shape[1]))
    entries = entries_by_column(categories, labels)
    read = partial(learn_column, rows=rows, missing=missing)
    learned = read_columns(read, table.columns, labels, entries)
    return _stack([codes for codes, _ in learned]), [levels for _, levels in learned]


def apply_categories(
    X: Any, labels: Sequence[Any], categories: Sequence[np.ndarray]
) -> np.ndarray:
    """Number the cells of a table by levels that are known; none may be missing.

    Parameters
    ----------
    X : data frame or array-like of shape (n_rows, n_columns)
        Its columns in the order of `categories`; they may have another dtype than at fit.
    labels : sequence of n_columns labels
    categories : sequence of n_columns ndarrays
        As `learn_categories` returns them.

    Returns
    -------
    ndarray of shape (n_columns, n_rows), uint8, uint16 or uint32

    Raises
    ------
    ValueError, TypeError
        As `skbn.tables.columns.apply_column`, and for tables without rows or columns.
    """
    return _stack(read_columns(apply_column, open_table(X).columns, labels, categories))


def apply_categories_with_gaps(
    X: Any,
    labels: Sequence[Any],
    categories: Sequence[np.ndarray],
    unknown: str = "error",
    cure: str | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """As `apply_categories`, for tables in which cells may be missing.

    Parameters
    ----------
    X, labels, categories
        As for `apply_categories`.
    unknown, cure
        As for `skbn.tables.columns.apply_with_gaps`.

    Returns
    -------
    codes : ndarray of shape (n_columns, n_rows), uint8, uint16 or uint32
        0 where the cell is missing.
    missing : ndarray of shape (n_columns, n_rows), bool, or None
        Where it is; None if no cell is.
    """
    table = open_table(X)
    # The levels are kept beside what is read, so that no other array gets their identity.
    key = (unknown, *map(id, categories))
    if key in table.known:
        return table.known[key][0]
    apply = partial(apply_with_gaps, unknown=unknown, cure=cure)
    read = read_columns(apply, table.columns, labels, categories)
    missing = None
    if any(gaps is not None for _, gaps in read):
        missing = np.zeros((len(read), table.shape[0]), dtype=bool)
        for row, (_, gaps) in zip(missing, read, strict=True):
            if gaps is not None:
                row[:] = gaps
    codes = _stack([codes for codes, _ in read])
    table.known[key] = (codes, missing), list(categories)
    return codes, missing


def open_frame(X: Any) -> nw.DataFrame | None:
    """The narwhals view of a data frame; None for anything else."""
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    if nw.dependencies.is_into_dataframe(X):
        native_labels = X.column_names if hasattr(X, "column_names") else X.columns
        repeated = []
        if not getattr(native_labels, "is_unique", False):
            repeated = [label for label, count in Counter(native_labels).items() if count > 1]
        if repeated:
            raise ValueError(
                f"Column labels must differ, but {first_few(repeated)} occur(s) more than once. "
                "Rename or drop the repeated columns."
            )
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"A lazy table came ({type(X).__module__}.{type(X).__name__}), and its rows are "
            "needed. Collect it first: X.collect() in polars, X.compute() in dask."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def open_table(X: Any) -> Table:
    """Look at a table's columns without reading them; a Table is returned as it is.

    Raises
    ------
    ValueError, TypeError
        For what is no table, has no rows or columns, or repeats a label.
    """
    if isinstance(X, Table):
        return X
    frame = open_frame(X)
    if frame is not None:
        require_rows(frame.shape)
        native = frame.to_native()
        if nw.dependencies.is_pandas_dataframe(native):
            columns = [column for _, column in native.items()]
        else:
            columns = list(frame.iter_columns())
        return Table(X, list(frame.columns), frame.shape, columns)
    refuse_odd_array(X)
    # numpy would make text of [["a", 1]] and integers of [[True, 2]].
    dtype = object if isinstance(X, (list, tuple)) else None
    array = check_array(X, dtype=dtype, ensure_all_finite=False)
    return Table(array, None, array.shape, list(array.T))


def read_columns(read: Callable, columns: Sequence, labels: Sequence, levels: Sequence) -> list:
    """What `read` makes of each column; all that it cannot read are refused at once."""
    done, unusable = [], []
    for column, label, given in zip(columns, labels, levels, strict=True):
        try:
            done.append(read(column, label, given))
        except UnusableColumnsError as error:
            unusable += error.found
        except (TypeError, ValueError):
            # What was found already is told first, for all columns at once.
            if not unusable:
                raise
    if unusable:
        raise UnusableColumnsError(unusable)
    return done


def _stack(codes: list[np.ndarray]) -> np.ndarray:
    widest = max((column.dtype for column in codes), key=lambda dtype: dtype.itemsize)
    return np.stack(codes, dtype=widest, casting="safe")


def entries_by_column(categories: Any, labels: Sequence[Any]) -> list:
    """One "auto" or list of levels for each column."""
    if isinstance(categories, str) and categories == "auto":
        return ["auto"] * len(labels)
    if isinstance(categories, Mapping):
        unknown = [label for label in categories if label not in labels]
        if unknown:
            raise ValueError(
                f"categories names {first_few(unknown)}, which is no column. The columns are "
                f"{first_few(labels)}."
            )
        return [categories.get(label, "auto") for label in labels]
    if isinstance(categories, (str, bytes)) or not isinstance(categories, (Sequence, np.ndarray)):
        raise TypeError(
            "categories must be 'auto', a list with one entry per column, or a dict from column "
            f"label to levels, got {brief(categories)}."
        )
    if len(categories) != len(labels):
        raise ValueError(
            f"categories has {len(categories)} entries for {len(labels)} columns. Give one per "
            "column, 'auto' where the levels are to be found, or a dict from label to levels."
        )
    return list(categories)


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
        As `skbn.tables.reading.learn_categories`; for weights that are negative, all zero or of
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
