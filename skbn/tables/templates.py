"""Tables like the one that was fitted, made of codes, without its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from skbn.tables.column_codes import open_series
from skbn.tables.columns import apply_column, positions_among
from skbn.tables.reading import open_frame
from skbn.tables.values import has_missing_level


@dataclass(frozen=True, eq=False)
class ColumnTemplate:
    """What kind of column came: a data frame library's, with its dtype and name, or an array.

    Attributes
    ----------
    empty : native Series or pyarrow ChunkedArray of length 0, or None
    dtype : numpy dtype, or None
        That of an array; None for lists and for what only converts to an array.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn.tables.templates import ColumnTemplate
    >>> template = ColumnTemplate.of(np.array([2, 7, 7], dtype=np.int8))
    >>> template.build(np.array([1, 0]), np.array([2, 7], dtype=np.int8))
    array([7, 2], dtype=int8)
    """

    empty: Any = None
    dtype: np.dtype | None = None

    @classmethod
    def of(cls, values: Any) -> "ColumnTemplate":
        """The template of a Series, ChunkedArray or array-like."""
        series = open_series(values)
        if series is None:
            return cls(dtype=_array_type(values))
        native, library = series.to_native(), nw.get_native_namespace(series)
        # A slice of length 0 would keep the rows alive, and pyarrow would even pickle them.
        if series.implementation.is_polars():
            return cls(native.clear())
        if series.implementation.is_pyarrow():
            return cls(library.chunked_array([], type=native.type))
        return cls(library.Series([], dtype=native.dtype, name=native.name))

    def build(self, codes: np.ndarray, levels: np.ndarray) -> Any:
        """The column whose row t holds ``levels[codes[t]]``.

        It has the template's dtype unless `levels` holds values that this dtype cannot, as levels
        given by hand may.
        """
        if self.empty is None:
            return levels.astype(common_type(self.dtype, [levels]))[codes]
        rows = nw.from_native(self._native_levels(levels), series_only=True)
        native = rows[np.asarray(codes, dtype=np.int64)].to_native()
        return native.reset_index(drop=True) if hasattr(native, "reset_index") else native

    def _native_levels(self, levels: np.ndarray) -> Any:
        """The levels in the template's dtype, or in the library's choice where they do not fit."""
        series, values = nw.from_native(self.empty, series_only=True), levels.tolist()
        library, native = nw.get_native_namespace(series), self.empty
        missing = has_missing_level(levels)
        if missing and not isinstance(getattr(native, "dtype", None), np.dtype):
            # Libraries with a null of their own take None for it.
            values[-1] = None
        known = values[: len(values) - missing]
        if series.implementation.is_pyarrow():
            dtype = native.type
        elif hasattr(native, "cat") and not series.implementation.is_polars():
            # pandas makes missing values of what is not declared.
            fits = set(known) <= set(native.cat.categories)
            dtype = (native if fits else native.cat.set_categories(known)).dtype
        elif isinstance(series.dtype, nw.Enum):
            fits = set(known) <= set(series.dtype.categories)
            dtype = native.dtype if fits else library.Enum(known)
        else:
            dtype = native.dtype
        try:
            column = _make_column(series, values, dtype)
            if np.array_equal(apply_column(column, "", levels), np.arange(len(levels))):
                return column
        except (TypeError, ValueError, OverflowError):
            pass
        return _make_column(series, values, None)


@dataclass(frozen=True, eq=False)
class TableTemplate:
    """What kind of table came: a frame's library, labels and dtypes, or an array's dtype.

    Attributes
    ----------
    empty : native data frame of 0 rows, or None
        None for arrays.
    dtype : numpy dtype, or None

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skbn.tables.templates import TableTemplate
    >>> template = TableTemplate.of(pd.DataFrame({"rain": [True], "risk": ["high"]}))
    >>> categories = [np.array([False, True]), np.array(["high", "low"], dtype=object)]
    >>> template.build(np.array([[1, 0], [0, 1]]), categories)
        rain  risk
    0   True  high
    1  False   low
    """

    empty: Any = None
    dtype: np.dtype | None = None

    @classmethod
    def of(cls, X: Any) -> "TableTemplate":
        """The template of a data frame or array-like."""
        frame = open_frame(X)
        if frame is None:
            return cls(dtype=_array_type(X))
        native = frame.to_native()
        # Not a slice of length 0, which would keep the rows alive.
        if frame.implementation.is_polars():
            return cls(native.clear())
        if frame.implementation.is_pyarrow():
            return cls(native.schema.empty_table())
        return cls(native.iloc[:0].copy())

    def build(self, codes: np.ndarray, categories: Sequence[np.ndarray]) -> Any:
        """The table whose cell (t, i) holds ``categories[i][codes[i, t]]``.

        Parameters
        ----------
        codes : ndarray of shape (n_columns, n_rows)
        categories : sequence of n_columns ndarrays

        Returns
        -------
        data frame, or ndarray of shape (n_rows, n_columns)
        """
        if self.empty is None:
            dtype = common_type(self.dtype, categories)
            columns = [levels.astype(dtype)[row]
                       for row, levels in zip(codes, categories, strict=True)]
            return np.stack(columns, axis=1)
        frame = open_frame(self.empty)
        columns = [
            ColumnTemplate.of(column).build(row, levels)
            for column, row, levels in zip(frame.iter_columns(), codes, categories, strict=True)
        ]
        first = nw.from_native(columns[0], series_only=True)
        library = nw.get_native_namespace(first)
        if first.implementation.is_pyarrow():
            return library.table(columns, names=list(frame.columns))
        table = library.DataFrame(dict(enumerate(columns)) if hasattr(columns[0], "iloc")
                                  else columns)
        table.columns = self.empty.columns
        return table


def _make_column(like: nw.Series, values: list, dtype: Any) -> Any:
    library = nw.get_native_namespace(like)
    if like.implementation.is_pyarrow():
        if hasattr(dtype, "index_type"):
            known = [value for value in values if value is not None]
            index = [None if value is None else place for place, value in enumerate(values)]
            array = library.DictionaryArray.from_arrays(
                library.array(index, type=dtype.index_type),
                library.array(known, type=dtype.value_type),
                ordered=dtype.ordered,
            )
        else:
            array = library.array(values, type=dtype)
        return library.chunked_array([array])
    if like.implementation.is_polars():
        return library.Series(like.name, values, dtype=dtype)
    return library.Series(values, dtype=dtype, name=like.to_native().name)


def _array_type(values: Any) -> np.dtype | None:
    dtype = getattr(values, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else None


def common_type(dtype: np.dtype | None, categories: Sequence[np.ndarray]) -> np.dtype:
    """`dtype` if it holds all these levels, else the narrowest that does, else object."""
    if dtype is not None and dtype.kind == "U":
        widest = [levels.astype(str).dtype for levels in categories]
        dtype = np.result_type(dtype, *widest)
    kinds = {levels.dtype.kind for levels in categories}
    candidates = [dtype] if dtype is not None else []
    if kinds <= set("iuf") or kinds == {"b"}:
        candidates.append(np.result_type(*categories))
    for candidate in candidates:
        if all(_holds(candidate, levels) for levels in categories):
            return candidate
    return np.dtype(object)


def _holds(dtype: np.dtype, levels: np.ndarray) -> bool:
    if dtype.kind == "O":
        return True
    try:
        with np.errstate(all="ignore"):
            cast = levels.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return False
    return np.array_equal(positions_among(cast, levels), np.arange(len(levels)))
