"""What users are told: the class of warnings about their tables, and long lists cut short."""

import reprlib
from collections.abc import Sequence
from typing import Any


class DataWarning(UserWarning):
    """A table is legal, but says less than a user may think.

    Of columns that look like identifiers or measurements, families of variables that the data
    cannot speak about, and weights that are shares rather than numbers of rows. The message names
    the columns and the cure.

    Examples
    --------
    >>> import warnings
    >>> from skbn import DataWarning
    >>> warnings.simplefilter("ignore", DataWarning)  # for a program that knows its table
    >>> warnings.simplefilter("default", DataWarning)
    """


def first_few(items: Sequence[Any], most: int = 6) -> str:
    """The first items as Python writes them, long ones shortened, and how many more there are."""
    shown = ", ".join(map(reprlib.repr, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"
