"""The levels of one column: learned, or given, and its values numbered by them."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from skbn.counting.counts import FEW_KINDS, hardly_repeat
from skbn.counting.data import smallest_code_type
from skbn.messages import brief, first_few
from skbn.tables.column_codes import Factor, library_of, read_factor, refuse_column
from skbn.tables.unusable import gaps_found
from skbn.tables.values import (
    add_missing_level,
    array_of_levels,
    has_missing_level,
    is_infinite,
    is_missing,
    is_number_type,
    keys_of,
)

# Whole numbers with fewer rows than this to each, on average, are measurements.
_ROWS_PER_NUMBER = 30
_UNKNOWN, _MISSING = -1, -2
# As pandas, polars and R write them.
_TRUTH_VALUES = {name: name in ("True", "true", "TRUE")
                 for name in ("True", "true", "TRUE", "False", "false", "FALSE")}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_LONGEST_NUMBER = 40
_DECLARE = "Every level must be declared at fit: {}list them with categories=."
_DTYPES = {
    "pandas": "give the whole table a categorical dtype before it is split, X = "
              "X.astype('category'), or ",
    "polars": "give the columns of the whole table the type polars.Enum before it is split, or ",
    "pyarrow": "encode the columns of the whole table as dictionaries before it is split, or ",
}
_ENCODED = (
    "OrdinalEncoder writes -1 for a category that it did not see at fit: let "
    "handle_unknown='missing' take such cells for missing."
)
_RENAME = (
    "Replace the column's values by the levels that they mean; a table that is read as text has "
    "what its file says."
)
_LENIENT = "Or let handle_unknown='missing' take such cells for missing."


def learn_column(
    values: Any,
    label: Any,
    levels: Any = "auto",
    rows: np.ndarray | None = None,
    missing: str = "error",
) -> tuple[np.ndarray, np.ndarray]:
    """Find the levels of one column and number its values.

    Parameters
    ----------
    values : pandas or polars Series, pyarrow ChunkedArray, or array-like of shape (n_rows,)
    label : object
        What messages call the column.
    levels : "auto" or array-like
        The levels in the order of their codes. "auto" takes those that a categorical dtype
        declares, in its order and seen or not, else the sorted distinct values.
    rows : ndarray of shape (n_rows,), bool, optional
        Rows that are False are dropped before anything is read.
    missing : {"error", "category"}
        What missing cells are: refused, or of a level of their own, the last. It is NaN among
        floats, else as it came in a column of Python objects, else None. Levels given by hand may
        have it as their last.

    Returns
    -------
    codes : ndarray of shape (n_kept_rows,), uint8, uint16 or uint32
    levels : ndarray of shape (n_levels,)

    Raises
    ------
    UnusableColumnsError
        For missing, infinite or real values, for values or dtypes that cannot be levels, and for
        columns that mix types.
    ValueError, TypeError
        For values that are not among `levels`, and `levels` that are empty, repeated, missing or
        infinite.

    Examples
    --------
    >>> from skbn.tables.columns import learn_column
    >>> codes, levels = learn_column(["low", "high", "low"], "risk")
    >>> codes.tolist(), levels.tolist()
    ([1, 0, 1], ['high', 'low'])
    >>> learn_column([3, 5, 3], "size", levels=[5, 4, 3])[0].tolist()
    [2, 0, 2]
    """
    factor = read_factor(values, label, rows)
    if not isinstance(levels, str) or levels != "auto":
        levels = _levels_by_hand(levels, label, missing)
        if missing == "category" and not has_missing_level(levels) and (factor.codes < 0).any():
            levels = add_missing_level(levels, factor.gap)
        return _find(values, factor, levels, label, rows), levels
    gone = factor.codes < 0
    if missing == "error":
        _refuse_missing(values, factor, gone, label, rows)
    if _any_infinite(factor.levels):
        found = "contains infinity (inf) among its levels."
        refuse_column(values, label, "infinity, declared", found)
    if not factor.declared and not _is_whole(factor.levels):
        refuse_column(
            values, label, "real values, some missing" if gone.any() else "real values",
            f"is real-valued: {len(factor.levels)} distinct values such as "
            f"{first_few(factor.levels[:6])}, and levels must be countable.",
        )
    if not gone.any():
        return _compact(factor.codes, len(factor.levels)), factor.levels
    levels = add_missing_level(factor.levels, factor.gap)
    return _compact(np.where(gone, len(factor.levels), factor.codes), len(levels)), levels


def apply_column(values: Any, label: Any, levels: np.ndarray) -> np.ndarray:
    """Number the values of one column by levels that are known.

    Values are compared by value, not dtype: 1 is 1.0, but neither is "1" nor True. Two floating
    types are compared at the precision of the narrower. Missing cells are of the last level if
    that is a missing value.

    Parameters
    ----------
    values : pandas or polars Series, pyarrow ChunkedArray, or array-like of shape (n_rows,)
    label : object
        What messages call the column.
    levels : ndarray of shape (n_levels,)
        As `learn_column` returns them.

    Returns
    -------
    ndarray of shape (n_rows,), uint8, uint16 or uint32

    Raises
    ------
    UnusableColumnsError
        For missing or infinite values, for values or dtypes that cannot be levels, and for columns
        that mix types.
    ValueError
        For values that are not among `levels`.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn.tables.columns import apply_column
    >>> apply_column([2.0, 7.0], "size", np.array([7, 2])).tolist()
    [1, 0]
    """
    return _find(values, read_factor(values, label), levels, label)


def apply_with_gaps(
    values: Any,
    label: Any,
    levels: np.ndarray,
    unknown: str = "error",
    cure: str | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """As `apply_column`, for columns in which cells may be missing.

    Parameters
    ----------
    values, label, levels
        As for `apply_column`. A column that was read already may come as its Factor.
    unknown : {"error", "missing"}
        What values that are not among the levels are: refused, or as if the cell were missing. A
        column of which every value has another type than the levels is refused all the same.
    cure : str, optional
        What a refusal advises where the types are right; by default, what an estimator's user can
        do.

    Returns
    -------
    codes : ndarray of shape (n_rows,), uint8, uint16 or uint32
        0 where the cell is missing.
    gaps : ndarray of shape (n_rows,), bool, or None
        Where it is; None if no cell is.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn.tables.columns import apply_with_gaps
    >>> codes, gaps = apply_with_gaps([2, None, 3], "size", np.array([7, 2]), unknown="missing")
    >>> codes.tolist(), gaps.tolist()
    ([1, 0, 0], [False, True, True])
    """
    factor = values if isinstance(values, Factor) else read_factor(values, label)
    codes = _number(factor, levels)
    differ = _kinds_differ(factor.levels, levels)
    if unknown == "error" or differ:
        more = f" {_LENIENT}" if cure is None and not differ else ""
        cure = _RENAME if cure is not None and differ else cure
        unknown = codes == _UNKNOWN
        if cure is None and _is_encoded(factor, unknown, levels):
            cure, more = _ENCODED, ""
        if not differ and _may_identify(factor, unknown, levels):
            more += f" If {brief(label)} identifies rows, drop it."
        _refuse_unknown(values, factor, unknown, levels, label, None, cure, more)
    elif has_missing_level(levels):
        codes[codes == _UNKNOWN] = len(levels) - 1
    gaps = codes < 0
    if not gaps.any():
        return _compact(codes, len(levels)), None
    codes[gaps] = 0
    return _compact(codes, len(levels)), gaps


def are_no_categories(levels: np.ndarray, n_rows: float) -> bool:
    """Whether levels that nobody declared look like measurements, or like names of rows.

    Beyond a few levels: whole numbers with fewer than 30 rows to each, others with fewer than two.
    """
    if len(levels) > FEW_KINDS and is_number_type(type(levels[0])):
        return n_rows < _ROWS_PER_NUMBER * len(levels)
    return hardly_repeat(len(levels), n_rows)


def positions_among(values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """For each value its position in `levels`, -1 where it is not there."""
    narrow = min(values.dtype, levels.dtype, key=lambda dtype: dtype.itemsize)
    if values.dtype.kind == levels.dtype.kind == "f" and values.dtype != levels.dtype:
        # 0.1 in a float32 column is the level 0.1 of a list. Whole numbers are compared exactly.
        rounded = [_round_fractions(array, narrow) for array in (values, levels)]
        if len(np.unique(rounded[1])) == len(levels):
            values, levels = rounded
    position = {key: index for index, key in enumerate(keys_of(levels))}
    return np.array([position.get(key, -1) for key in keys_of(values)], dtype=np.intp)


def levels_as_written(levels: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The levels as `values` have them, where the two have no type in common.

    A file says "1" and "True" of what the reader of a table makes numbers and truth values. So text
    and numbers are the same level where the text says that number, text and truth values likewise,
    and everything else where it reads the same. Numbers and truth values never are.

    Parameters
    ----------
    levels, values : ndarray
        All different; `values` are those that a column has, or a single one.

    Returns
    -------
    ndarray of shape (n_levels,)
        `levels` themselves where a type is common, and where two of them would become one.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn.tables.columns import levels_as_written
    >>> levels_as_written(np.array(["0", "1", "2"]), np.array([1, 0])).tolist()
    [0, 1, 2]
    """
    kinds = {kind_of(value) for value in values.tolist() if not is_missing(value)}
    known = {kind_of(level) for level in levels.tolist() if not is_missing(level)}
    if not kinds or not known or kinds & known:
        return levels
    # Of several values that say the same, as "1" and "1.0" do, the first is taken.
    same = dict(zip(reversed(_keys_as_read(values)), reversed(values.tolist()), strict=True))
    found = []
    for level, key in zip(levels.tolist(), _keys_as_read(levels), strict=True):
        read = _as_read(level)
        if key in same:
            found.append(same[key])
        elif kind_of(read) in kinds:
            found.append(read)
        else:
            found.append(str(level) if kinds == {"text"} and not is_missing(level) else level)
    array = array_of_levels(found)
    return array if len(set(keys_of(array))) == len(array) else levels


def position_of(state: Any, levels: np.ndarray) -> int:
    """The position of a state among the levels, by value or as written; -1 where it is not."""
    if getattr(state, "__hash__", None) is None:
        return -1
    values = array_of_levels([state])
    return int(positions_among(values, levels_as_written(levels, values))[0])


def _keys_as_read(values: np.ndarray) -> list:
    return keys_of(np.fromiter(map(_as_read, values.tolist()), dtype=object, count=len(values)))


def _as_read(value: Any) -> Any:
    """What readers of tables make of this value where a file has it; text if they keep that."""
    if is_missing(value) or kind_of(value) in ("numbers", "truth values"):
        return value
    text = str(value)
    if text in _TRUTH_VALUES:
        return _TRUTH_VALUES[text]
    if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text):
        return float(text) if set(text) & set(".eE") else int(text)
    return text


def _levels_by_hand(levels: Any, label: Any, missing: str) -> np.ndarray:
    if isinstance(levels, (str, bytes, dict, set, frozenset)) or not isinstance(levels, Iterable):
        raise TypeError(f"The levels of column {brief(label)} must be 'auto' or a list in the "
                        f"order of their codes, got {brief(levels)}.")
    levels = levels.to_pylist() if hasattr(levels, "to_pylist") else list(levels)
    if not levels:
        raise ValueError(f"Column {brief(label)} is given no levels. List at least one, or say "
                         "'auto'.")
    if missing == "category" and is_missing(levels[-1]):
        *levels, gap = levels
        if any(map(is_missing, levels)):
            raise ValueError(f"The levels of column {brief(label)} contain several missing values "
                             "(NaN, None). List one, as the last level.")
        return add_missing_level(_check_levels(levels, label), gap)
    if any(map(is_missing, levels)):
        raise ValueError(f"The levels of column {brief(label)} contain a missing value (NaN, "
                         "None). Name that level, for example 'missing', in the levels and the "
                         "column; with handle_missing='category' it may be listed, as the last "
                         "level.")
    return _check_levels(levels, label)


def _check_levels(levels: list, label: Any) -> np.ndarray:
    array = array_of_levels(levels)
    if _any_infinite(array):
        raise ValueError(f"The levels of column {brief(label)} contain infinity (inf). Remove it.")
    try:
        first: set = set()
        repeated = [key for key in keys_of(array) if key in first or first.add(key)]
    except TypeError as error:
        raise TypeError(f"The levels of column {brief(label)} must be hashable: "
                        f"{error}.") from error
    if repeated:
        raise ValueError(f"The levels of column {brief(label)} repeat {brief(repeated[0])}. "
                         "List each level once.")
    return array


def _number(factor: Factor, levels: np.ndarray) -> np.ndarray:
    """The level of every cell, or that it is missing or unknown."""
    missing = len(levels) - 1 if has_missing_level(levels) else _MISSING
    return np.append(positions_among(factor.levels, levels), missing)[factor.codes]


def _find(
    values: Any,
    factor: Factor,
    levels: np.ndarray,
    label: Any,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """The level of every cell; each must have one."""
    codes = _number(factor, levels)
    _refuse_missing(values, factor, codes == _MISSING, label, rows)
    _refuse_unknown(values, factor, codes == _UNKNOWN, levels, label, rows)
    return _compact(codes, len(levels))


def _refuse_unknown(
    values: Any,
    factor: Factor,
    unknown: np.ndarray,
    levels: np.ndarray,
    label: Any,
    rows: np.ndarray | None,
    cure: str | None = None,
    more: str = "",
) -> None:
    if unknown.any():
        strange = factor.levels[np.unique(factor.codes[unknown])]
        differ = _kinds_differ(strange, levels)
        raise ValueError(
            f"Column {brief(label)} has values that are not among its levels: "
            f"{first_few(strange)}, in {int(unknown.sum())} row(s), the first in row "
            f"{_first(unknown, rows)} (counted from 0). Its levels are "
            f"{first_few(levels)}.{differ} "
            f"{cure or _declare(values) + _whole_range(strange, levels, label)}{more}"
        )


def _declare(values: Any) -> str:
    """What makes values known, in the words of the table's library."""
    return _DECLARE.format(_DTYPES.get(library_of(values), ""))


def _is_encoded(factor: Factor, unknown: np.ndarray, levels: np.ndarray) -> bool:
    """Whether -1 is the one unknown value of a column of codes."""
    known = array_of_levels([level for level in levels.tolist() if not is_missing(level)])
    return (
        known.dtype.kind in "iuf" and bool((known >= 0).all()) and _is_whole(known)
        and factor.levels[np.unique(factor.codes[unknown])].tolist() == [-1]
    )


def _whole_range(strange: np.ndarray, levels: np.ndarray, label: Any) -> str:
    """A sentence with all whole numbers from the least to the largest, if most of them are here."""
    values = [value for value in [*strange.tolist(), *levels.tolist()] if not is_missing(value)]
    if not all(is_number_type(type(value)) and value == int(value) for value in values):
        return ""
    low, high = int(min(values)), int(max(values))
    if high - low > 2 * len(values):
        return ""
    return (
        " Whole numbers may have holes, as where no row of a training part falls into a bin. List "
        f"all of them, in every such column: categories={{{brief(label)}: "
        f"range({low}, {high + 1})}}."
    )


def _may_identify(factor: Factor, unknown: np.ndarray, levels: np.ndarray) -> bool:
    """Whether most cells are unknown and most of those differ, in a column of many levels."""
    n_unknown = int(unknown.sum())
    if len(levels) <= FEW_KINDS or 2 * n_unknown <= len(unknown):
        return False
    return 2 * len(np.unique(factor.codes[unknown])) > n_unknown


def _kinds_differ(values: np.ndarray, levels: np.ndarray) -> str:
    """A sentence if none of the values is of the type of any level, else nothing."""
    kinds = [
        {kind_of(value) for value in array.tolist() if not is_missing(value)}
        for array in (values, levels)
    ]
    if not all(kinds) or kinds[0] & kinds[1]:
        return ""
    found, known = (" and ".join(sorted(names)) for names in kinds)
    return f" The types differ: {found} in the column, {known} in the levels."


def kind_of(value: Any) -> str:
    """What messages call the type of a value."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "truth values"
    return "numbers" if is_number_type(type(value)) else type(value).__name__


def _first(mask: np.ndarray, rows: np.ndarray | None) -> int:
    """The first True row, numbered from 0 as the caller's table has it."""
    row = int(np.argmax(mask))
    return row if rows is None else int(np.flatnonzero(rows)[row])


def _refuse_missing(
    values: Any, factor: Factor, missing: np.ndarray, label: Any, rows: np.ndarray | None
) -> None:
    if not missing.any():
        return
    case = "declared" if factor.declared else "whole" if _is_whole(factor.levels) else "real"
    found = gaps_found(int(missing.sum()), _first(missing, rows))
    refuse_column(values, label, f"missing cells, {case}", found)


def _any_infinite(levels: np.ndarray) -> bool:
    if levels.dtype.kind not in "fO" or set(map(type, levels.tolist())) == {str}:
        return False
    return any(is_infinite(level) for level in levels.tolist() if is_number_type(type(level)))


def _is_whole(levels: np.ndarray) -> bool:
    if levels.dtype.kind == "f":
        return bool((levels == np.floor(levels)).all())
    return levels.dtype.kind != "O" or all(
        value == int(value) for value in levels.tolist() if is_number_type(type(value))
    )


def _round_fractions(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.where(values == np.floor(values), values, values.astype(dtype))


def _compact(codes: np.ndarray, n_levels: int) -> np.ndarray:
    return codes.astype(smallest_code_type(n_levels))
