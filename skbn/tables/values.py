"""Single values: which are numbers, missing or infinite, and when two are the same level."""

import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np


def array_of_levels(values: Sequence[Any]) -> np.ndarray:
    """A one-dimensional array of these values, numeric only where that changes none of them."""
    types = set(map(type, values))
    if types == {str}:
        return np.array(values, dtype=object)
    if types and all(issubclass(kind, (bool, np.bool_)) for kind in types):
        return np.array(values, dtype=bool)
    if types and all(map(is_number_type, types)):
        if all(issubclass(kind, np.generic) for kind in types):
            numeric = [np.result_type(*types)]
        elif all(issubclass(kind, numbers.Integral) for kind in types):
            numeric = [np.dtype(np.int64), np.dtype(np.uint64)]
        else:
            numeric = [np.dtype(np.float64)]
        for dtype in numeric:
            try:
                array = np.array(values, dtype=dtype)
            except OverflowError:
                continue
            if all(a == b for a, b in zip(array.tolist(), values, strict=True)):
                return array
    plain = (value.item() if isinstance(value, np.str_) else value for value in values)
    return np.fromiter(plain, dtype=object, count=len(values))


def keys_of(levels: np.ndarray) -> list:
    """One dictionary key per level: equal keys are the same level.

    All missing values have one key, None.
    """
    # True == 1 in Python, but a truth value is not the level 1; and NaN is not even NaN.
    return [("bool", bool(value)) if isinstance(value, (bool, np.bool_))
            else None if is_missing(value) else value
            for value in levels.tolist()]


def has_missing_level(levels: np.ndarray) -> bool:
    """Whether the last of these levels stands for missing cells; no other one may."""
    return len(levels) > 0 and is_missing(levels[-1])


def add_missing_level(levels: np.ndarray, value: Any) -> np.ndarray:
    """The levels with a missing value as their last: NaN among floats, else as it came."""
    if levels.dtype.kind == "f":
        return np.append(levels, levels.dtype.type(np.nan))
    return np.fromiter([*levels.tolist(), value], dtype=object, count=len(levels) + 1)


def ascending(levels: np.ndarray) -> np.ndarray:
    """The places of the levels in ascending order, as `numpy.unique` sorts, a missing one last.

    Levels that cannot be compared, such as text beside numbers, stay in their order.
    """
    known = range(len(levels) - has_missing_level(levels))
    values = levels.tolist()
    try:
        order = sorted(known, key=values.__getitem__)
    except TypeError:
        order = known
    return np.array([*order, *range(len(known), len(levels))], dtype=np.intp)


def is_number_type(kind: type) -> bool:
    """Whether its values are real numbers; truth values are not."""
    # numpy counts its time differences among the integers.
    return issubclass(kind, (numbers.Real, Decimal)) and not issubclass(
        kind, (bool, np.timedelta64)
    )


def may_be_missing(kind: type) -> bool:
    """Whether a value of this type can stand for a missing cell."""
    return (issubclass(kind, (float, np.floating, Decimal, np.datetime64, np.timedelta64))
            or kind.__name__ in ("NoneType", "NAType", "NaTType"))


def is_missing(value: Any) -> bool:
    """Whether this is None, NaN, NaT or pandas' NA, without importing pandas."""
    if not may_be_missing(type(value)):
        return False
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, (float, np.generic)):
        return bool(value != value)
    return True


def is_infinite(value: Any) -> bool:
    """Whether this number is positive or negative infinity."""
    return not isinstance(value, numbers.Rational) and value in (float("inf"), float("-inf"))
