"""One column as it came: a number per row, and the value that each number stands for."""

from dataclasses import dataclass
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import column_or_1d

from skbn.messages import first_few
from skbn.tables.unusable import Unusable, UnusableColumnsError
from skbn.tables.values import (
    array_of_levels,
    ascending,
    is_infinite,
    is_missing,
    is_number_type,
    keys_of,
    may_be_missing,
)

# An integer column is numbered through a lookup table up to this many entries per row.
_LOOKUP_PER_ROW = 4
# Which kind of column the dtypes of data frames make that hold no levels.
_KINDS = (
    ((nw.Date, nw.Datetime), "dates"), (nw.Time, "times of day"), (nw.Duration, "durations"),
    (nw.Binary, "bytes"), ((nw.List, nw.Array), "lists"), (nw.Struct, "records"),
)


@dataclass(frozen=True, eq=False)
class Factor:
    """A column as it came: a number per row, -1 where missing, and what the numbers stand for.

    `declared` says that the levels come from a categorical dtype, in its order, seen or not;
    otherwise they are the sorted distinct values. `gap` is what stood in the first missing cell of
    a column of Python objects.
    """

    codes: np.ndarray
    levels: np.ndarray
    declared: bool = False
    gap: Any = None


class _Unreadable(Exception):
    """Values cannot be read as levels: `what` they are, and what was found.

    Raised in the depths, where neither the name of the column is known nor whose table it is of.
    """

    def __init__(self, what: str, found: str) -> None:
        super().__init__(what, found)
        self.what, self.found = what, found


def read_factor(values: Any, label: Any, rows: np.ndarray | None = None) -> Factor:
    """Number the values of one column by what they are, missing ones by -1.

    Parameters
    ----------
    values : pandas or polars Series, pyarrow ChunkedArray, or array-like of shape (n_rows,)
    label : object
        What messages call the column.
    rows : ndarray of shape (n_rows,), bool, optional
        Rows that are False are dropped before anything is read.

    Raises
    ------
    UnusableColumnsError
        For infinite values, for values or dtypes that cannot be levels, and for columns that mix
        types.
    ValueError
        For columns without rows.
    """
    try:
        return _read(values, rows)
    except _Unreadable as error:
        refuse_column(values, label, error.what, error.found, error.__cause__)


def refuse_column(
    values: Any, label: Any, what: str, found: str, cause: Exception | None = None
) -> NoReturn:
    """Refuse a column as it came; see `skbn.tables.unusable.Unusable`."""
    raise UnusableColumnsError([Unusable(label, what, found, library_of(values))]) from cause


def library_of(values: Any) -> str:
    """In whose words a user works on such a column."""
    column = open_series(values)
    if column is None:
        has_own_type = isinstance(values, np.ndarray) and values.dtype.kind not in "OT"
        return "numpy" if has_own_type else "objects"
    library = column.implementation
    return "pandas" if library.is_pandas_like() else str(library.value)


def _read(values: Any, rows: np.ndarray | None) -> Factor:
    categorical = _read_categorical(values, rows)
    if categorical is not None:
        return categorical
    column = open_series(values)
    if column is None:
        refuse_odd_array(values)
        if isinstance(values, (list, tuple)):
            # numpy would turn [1, "a"] into text and [True, 2] into integers.
            values = np.asarray(values, dtype=object)
        column = column_or_1d(values, warn=True)
    if rows is not None:
        column = column[np.flatnonzero(rows)]
    require_rows((len(column),))
    return _read_array(column) if isinstance(column, np.ndarray) else _read_series(column)


def _read_categorical(values: Any, rows: np.ndarray | None) -> Factor | None:
    """Read a pandas categorical, the most common column; None for anything else."""
    pandas = nw.dependencies.get_pandas()
    if pandas is None or not isinstance(values, pandas.Series):
        return None
    array = values.array
    if not isinstance(array, pandas.Categorical):
        return None
    codes = array.codes if rows is None else array.codes[rows]
    require_rows((len(codes),))
    return _merged(codes, array_of_levels(list(array.categories)))


def open_series(values: Any) -> nw.Series | None:
    """The narwhals view of a Series or another column of a data frame library; else None."""
    pandas, pyarrow = nw.dependencies.get_pandas(), nw.dependencies.get_pyarrow()
    # As arrays these would lose the levels that a categorical dtype declares.
    if pandas is not None and isinstance(
        values, (pandas.Index, pandas.api.extensions.ExtensionArray)
    ):
        values = pandas.Series(values)
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])
    is_series = nw.dependencies.is_into_series(values)
    return nw.from_native(values, series_only=True) if is_series else None


def declares_levels(values: Any) -> bool:
    """Whether a column, as it came, has a categorical dtype, whatever the library calls it."""
    column = open_series(values)
    return column is not None and isinstance(column.dtype, (nw.Categorical, nw.Enum))


def has_missing_cells(values: Any) -> bool:
    """Whether a column, as it came, has missing cells; infinity is none."""
    column = open_series(values)
    if column is None:
        column = np.asarray(values)
        if column.dtype.kind == "f":
            return bool(np.isnan(column).any())
        return column.dtype.kind == "O" and _any_missing(column.ravel().tolist())
    if isinstance(column.dtype, (nw.Object, nw.Float32, nw.Float64)):
        return _any_missing(column.to_list())
    return bool(column.is_null().any())


def _any_missing(values: list) -> bool:
    return any(map(may_be_missing, set(map(type, values)))) and any(map(is_missing, values))


def _read_series(series: nw.Series) -> Factor:
    native, dtype = series.to_native(), series.dtype
    if isinstance(dtype, (nw.Categorical, nw.Enum, nw.String)):
        return _read_declared(series)
    if isinstance(dtype, (nw.Object, nw.Int128, nw.UInt128)):
        return _read_objects(series.to_list())
    if isinstance(dtype, nw.Boolean) or (dtype.is_numeric() and not dtype.is_decimal()):
        missing = series.is_null().to_numpy()
        present = series[np.flatnonzero(~missing)] if missing.any() else series
        return _spread(_read_array(present.to_numpy()), missing)
    if isinstance(dtype, nw.Unknown) and series.is_null().all():
        return _all_missing(series)
    name = str(getattr(native, "dtype", getattr(native, "type", dtype)))
    what = next((kind for types, kind in _KINDS if isinstance(dtype, types)), "other types")
    if name.startswith("period"):
        what = "dates"
    _refuse_dtype(name, "other types, sparse" if name.startswith("Sparse") else what)


def _read_declared(series: nw.Series) -> Factor:
    """Read text and categorical columns through the library's own codes."""
    native, is_text = series.to_native(), isinstance(series.dtype, nw.String)
    dtype = getattr(native, "dtype", None)
    if is_text and (isinstance(dtype, np.dtype) or getattr(dtype, "storage", None) == "python"):
        # pandas 2 factorizes Python strings up to their first null character only.
        return _read_objects(native.tolist())
    if series.implementation.is_polars():
        if not isinstance(series.dtype, nw.Enum):
            # A Categorical shares its levels with every other one, so only those seen count.
            series, is_text = series.cast(nw.String), True
            levels = series.drop_nulls().unique().sort().to_list()
            if not levels:
                return _all_missing(series)
            native = series.cast(nw.Enum(levels)).to_native()
        else:
            levels = list(series.dtype.categories)
        codes = nw.from_native(native.to_physical(), series_only=True)
        codes = codes.cast(nw.Int64).fill_null(-1).to_numpy()
    elif series.implementation.is_pyarrow():
        codes, levels = _read_arrow(native)
    elif is_text:
        codes, levels = native.factorize()
    elif hasattr(native, "cat"):
        codes, levels = native.cat.codes.to_numpy(), native.cat.categories
    else:  # a pyarrow dictionary inside pandas
        codes, levels = _read_arrow(native.array.__arrow_array__())
    levels = array_of_levels(list(levels))
    return _sorted(Factor(codes, levels)) if is_text else _merged(codes, levels)


def _all_missing(series: nw.Series) -> Factor:
    return Factor(np.full(len(series), -1), np.empty(0, dtype=object))


def _merged(codes: np.ndarray, levels: np.ndarray) -> Factor:
    """Declared levels, each once and none missing, which a pyarrow dictionary does not ensure."""
    types = set(map(type, levels.tolist()))
    if types == {str} and len(set(levels.tolist())) == len(levels):
        return Factor(codes, levels, declared=True)
    kinds = {kind.__name__ for kind in types}
    if kinds & {"list", "dict"}:
        _refuse_dtype(f"dictionary of {' and '.join(sorted(kinds))}", "other types")
    position: dict = {}
    kept, merged = [], []
    for index, key in enumerate(keys_of(levels)):
        if is_missing(key):
            merged.append(-1)
            continue
        if key not in position:
            position[key] = len(position)
            kept.append(index)
        merged.append(position[key])
    levels = array_of_levels([levels[index] for index in kept])
    return Factor(np.array([*merged, -1])[codes], levels, declared=True)


def _read_arrow(chunked: Any) -> tuple[np.ndarray, list]:
    if not hasattr(chunked.type, "value_type"):
        chunked = chunked.dictionary_encode()
    encoded = chunked.unify_dictionaries().combine_chunks()
    codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return codes, encoded.dictionary.to_pylist()


def _sorted(factor: Factor) -> Factor:
    """The same column as undeclared levels in ascending order."""
    order = ascending(factor.levels)
    ranks = np.full(len(order) + 1, -1)
    ranks[order] = np.arange(len(order))
    return Factor(ranks[factor.codes], factor.levels[order])


def _spread(factor: Factor, missing: np.ndarray, gap: Any = None) -> Factor:
    """Put the codes of the present rows back between the missing ones."""
    if not missing.any():
        return factor
    codes = np.full(len(missing), -1)
    codes[~missing] = factor.codes
    return Factor(codes, factor.levels, factor.declared, gap)


def _read_array(values: np.ndarray) -> Factor:
    match values.dtype.kind:
        case "b":
            factor = _read_integers(values.view(np.uint8))
            return Factor(factor.codes, factor.levels.astype(bool))
        case "i" | "u":
            return _read_integers(values)
        case "f":
            return _read_floats(values)
        case "U":
            factor = _read_objects(values.tolist())
            return Factor(factor.codes, factor.levels.astype(values.dtype))
        case "O" | "T":
            return _read_objects(values.tolist())
    kinds = {"M": "dates", "m": "durations", "S": "bytes"}
    _refuse_dtype(values.dtype, kinds.get(values.dtype.kind, "other types"))


def _read_integers(values: np.ndarray) -> Factor:
    dtype = values.dtype
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    span = high - low + 1
    if span > _LOOKUP_PER_ROW * (len(values) + 256):
        levels, codes = np.unique(values, return_inverse=True)
        return Factor(codes, levels)
    if dtype.kind == "i":
        values = values.astype(np.int64)
    offsets = values - values.dtype.type(low)
    seen = np.zeros(span, dtype=bool)
    seen[offsets] = True
    # Integer arrays wrap around, so that adding `low` in the column's own dtype is exact.
    levels = np.flatnonzero(seen).astype(dtype) + np.array(low, dtype=dtype)
    return Factor((np.cumsum(seen) - 1)[offsets], levels.astype(dtype, copy=False))


def _read_floats(values: np.ndarray) -> Factor:
    _refuse_infinite(int(np.isinf(values).sum()))
    missing = np.isnan(values)
    present = (values[~missing] if missing.any() else values) + values.dtype.type(0)  # no -0.0
    if (present == np.floor(present)).all() and float(np.abs(present).max(initial=0)) < 2.0**63:
        factor = _read_integers(present.astype(np.int64))
        levels, codes = factor.levels.astype(values.dtype), factor.codes
    else:
        levels, codes = np.unique(present, return_inverse=True)
    return _spread(Factor(codes, levels), missing)


def _read_objects(values: list) -> Factor:
    types = set(map(type, values))
    if any(map(may_be_missing, types)):
        missing = np.fromiter(map(is_missing, values), dtype=bool, count=len(values))
        present = [value for value, gone in zip(values, missing, strict=True) if not gone]
        if missing.any():
            gap = values[int(np.argmax(missing))]
            return _spread(_read_objects(present), missing, gap)
    if types and all(issubclass(kind, (bool, np.bool_)) for kind in types):
        return _read_array(np.array(values, dtype=bool))
    if not all(issubclass(kind, str) for kind in types):
        _judge_objects(values, types)
    try:
        levels = sorted(set(values))
    except TypeError as error:
        _refuse_objects(error, types)
    code = {level: index for index, level in enumerate(levels)}
    codes = np.fromiter(map(code.__getitem__, values), dtype=np.intp, count=len(values))
    return Factor(codes, array_of_levels(levels))


def _judge_objects(values: list, types: set[type]) -> None:
    """Let pass uniform numbers and whatever scikit-learn's own encoder takes."""
    names = sorted(kind.__name__ for kind in types)
    if all(map(is_number_type, types)):
        _refuse_infinite(sum(map(is_infinite, values)))
    elif any(issubclass(kind, (complex, np.complexfloating, bytes)) for kind in types):
        all_bytes = all(issubclass(kind, bytes) for kind in types)
        _refuse_dtype(" and ".join(names), "bytes" if all_bytes else "other types")
    elif (any(issubclass(kind, (bool, np.bool_)) for kind in types)
          and any(map(is_number_type, types))):
        # True == 1, so the encoder would see one level.
        raise _Unreadable("mixed types, truth values", f"mixes truth values with numbers: {names}.")
    else:
        column = np.fromiter(values, dtype=object, count=len(values)).reshape(-1, 1)
        try:
            OrdinalEncoder().fit(column)
        except (TypeError, ValueError) as error:
            _refuse_objects(error, types)


def refuse_odd_array(values: Any) -> None:
    """Refuse the arrays of which numpy would drop a part: masked cells, names of fields."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise ValueError(
            f"A masked array with {int(np.ma.getmaskarray(values).sum())} masked cells came, and "
            "missing values are not accepted. Fill them: X.filled(value)."
        )
    if getattr(getattr(values, "dtype", None), "names", None):
        raise TypeError(
            f"A structured array with fields {first_few(values.dtype.names)} came; columns of "
            "several types are read from data frames. Make one of it: pandas.DataFrame(X)."
        )


def require_rows(shape: tuple[int, ...]) -> None:
    """Refuse a table without rows or columns, in scikit-learn's words."""
    for length, noun in zip(shape, ("sample", "feature"), strict=False):
        if length == 0:
            raise ValueError(f"Found array with 0 {noun}(s) (shape={shape}) while a minimum of 1 "
                             "is required.")


def _refuse_infinite(count: int) -> None:
    if count:
        raise _Unreadable("infinity", f"contains infinity (inf) in {count} row(s).")


def _refuse_dtype(dtype: Any, what: str) -> NoReturn:
    raise _Unreadable(what, f"has dtype {dtype}, whose values cannot be levels.")


def _refuse_objects(error: Exception, types: set[type]) -> NoReturn:
    what = "mixed types"
    if all(issubclass(kind, (list, set, np.ndarray)) for kind in types):
        what = "lists"
    elif all(issubclass(kind, dict) for kind in types):
        what = "records"
    raise _Unreadable(what, f"cannot be read as levels: {error}.") from error
