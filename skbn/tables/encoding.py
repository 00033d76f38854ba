"""A table as codes: one small unsigned integer per cell, and the levels of every column."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import check_array

from skbn.messages import brief, first_few
from skbn.tables.columns import apply_column, apply_with_gaps, learn_column
from skbn.tables.factors import refuse_odd_array, require_rows
from skbn.tables.unusable import UnusableColumnsError


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
    >>> from skbn.tables.encoding import table_labels
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
    >>> from skbn.tables.encoding import learn_categories
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
