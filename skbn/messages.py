"""What users are told: warnings, their class where they are about tables, and what is long cut."""

import re
import reprlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# Letters of a value in a message, since names that people give are shorter, and of a message.
_LONGEST, _LONGEST_MESSAGE = 60, 1800
_writer = reprlib.Repr()
_writer.maxstring = _writer.maxother = 10 * _LONGEST
# A warning points at the first line outside these: that of the user.
_INSIDE = {"skbn", "sklearn", "joblib"}


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


def cut(text: str, longest: int = _LONGEST) -> str:
    """A text without its middle where it is long: beginnings alone are often alike."""
    half = (longest - 3) // 2
    return text if len(text) <= longest else f"{text[:half]}...{text[-half:]}"


def brief(value: Any) -> str:
    """A value as Python writes it, on one line that is not long, whatever it is."""
    return cut(re.sub(r"\s*\n\s*", " ", _writer.repr(value)))


def first_few(
    items: Sequence[Any],
    most: int = 6,
    between: str = ", ",
    write: Callable[[Any], str] = brief,
) -> str:
    """The first items as Python writes them, long ones shortened, and how many more there are."""
    shown = items[:most]
    # numpy would write its own numbers with their types.
    shown = between.join(map(write, shown.tolist() if hasattr(shown, "tolist") else shown))
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"


def warn_user(message: str, category: type[Warning] = DataWarning) -> None:
    """Warn, as if by the line of the user's that led here."""
    level, frame = 1, sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def kept_short() -> Iterator[None]:
    """What scikit-learn says of a user's objects without its middle where it is long."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if len(str(error)) > _LONGEST_MESSAGE:
            error.args = (cut(str(error), _LONGEST_MESSAGE),)
        raise
