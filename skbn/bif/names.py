"""Names in BIF files: identifiers that every reader takes, and a property that holds the original.

Readers of BIF disagree about which names they take: some refuse quotes, dots, non-ASCII letters or
a leading digit. So the file uses plain identifiers everywhere, but for states that a file named
before: those who read that file want the same names. Where an identifier differs from the name, or
the name is no text, a property beside it, which other readers skip, spells the name out.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import numpy as np

from skbn.messages import brief

# What bnlearn, pgmpy and pyAgrum read alike. Whole numbers are states, but not variables.
_PLAIN_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLAIN_STATE = re.compile(r"-?[0-9]+|[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
# What bnlearn and pgmpy read alike, in the states of a file.
_WORD = r"""(?:[^\s"(){},;/\x00-\x1f\x7f]|/(?![/*]))+"""
_STATE_OF_FILE = re.compile(rf"(?!#(?:\s|$)){_WORD}(?: {_WORD})*")
_KEYWORDS = frozenset(
    ("network", "variable", "probability", "property", "type", "discrete", "default", "table")
)
# pgmpy takes the letters of these keywords for the keyword where a number could follow.
_MISREAD = re.compile(r"(table|default)(?=[0-9eE.+-])")
_SPOKEN = {"<=": "le", ">=": "ge", "<": "lt", ">": "gt", "+": "plus", "%": "pct", "&": "and"}
_NUMBER_KINDS = {"int": int, "float": float}
_INTERVAL = re.compile(r"([\[(])(\S+), (\S+)([\])])")
_CLOSED = {"[]": "both", "[)": "left", "(]": "right", "()": "neither"}


def variable_identifiers(labels: Sequence[Any]) -> list[str]:
    """An identifier per variable; they differ even where case is ignored, as pgmpy does."""
    return _identifiers(labels, _PLAIN_VARIABLE, str.lower)


def state_identifiers(states: Sequence[Any], in_file: Sequence[str] | None = None) -> list[str]:
    """An identifier per state of one variable.

    Parameters
    ----------
    states : sequence
    in_file : sequence of str, optional
        What the file that the states are from called them: kept where bnlearn and pgmpy read it.
    """
    if in_file is None:
        return _identifiers(states, _PLAIN_STATE, str)
    return _identifiers(in_file, _STATE_OF_FILE, str)


def spell(values: Sequence[Any], what: str) -> str:
    """Text from which `read_spelling` gets the values back, types included.

    Parameters
    ----------
    values : sequence of str, int, float, bool, None or pandas.Interval
    what : str
        What messages call them.

    Raises
    ------
    TypeError
        For values of other types.

    Examples
    --------
    >>> spell(["< 5", 5], "the states of 'dose'")
    'str:%3C%205 int:5'
    >>> read_spelling(['str:%3C%205', 'int:5'])
    ['< 5', 5]
    """
    return " ".join(_spell_one(value, what) for value in values)


def read_spelling(words: Sequence[str]) -> list[Any]:
    """The values that `spell` wrote, from its words.

    Raises
    ------
    ValueError
        For words that it does not write.
    """
    return [_read_one(word) for word in words]


def read_interval(text: str) -> Any:
    """The interval of pandas that is written so; the text where pandas or the numbers are missing.

    That is no loss: tables are matched by text where types differ.
    """
    try:
        import pandas as pd

        opens, *ends, closes = _INTERVAL.fullmatch(text).groups()
        numbers = [int(end) if end.lstrip("-").isdecimal() else float(end) for end in ends]
        return pd.Interval(*numbers, closed=_CLOSED[opens + closes])
    except (ImportError, AttributeError, ValueError):
        return text


def _spell_one(value: Any, what: str) -> str:
    if isinstance(value, str):
        # Surrogates stand for bytes that are no text: they are kept as they are.
        return "str:" + quote(value.encode("utf-8", "surrogatepass"), safe="")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return "none:"
    for kind in (bool, int, float):
        if type(value) is kind:
            return f"{kind.__name__}:{value!r}"
    if type(value).__name__ == "Interval" and hasattr(value, "closed"):
        return "interval:" + quote(str(value), safe="")
    raise TypeError(
        f"A BIF file holds text, numbers, True, False, None and intervals, but {what} include "
        f"{brief(value)} of type {type(value).__name__}. Turn them into text first: the states of "
        "a column of pandas with .cat.rename_categories(str), before the network is fitted."
    )


def _read_one(word: str) -> Any:
    kind, colon, text = word.partition(":")
    if colon and kind == "str":
        return unquote_to_bytes(text).decode("utf-8", "surrogatepass")
    if colon and kind == "interval":
        return read_interval(unquote_to_bytes(text).decode("utf-8"))
    if colon and kind in _NUMBER_KINDS and len(text) <= 400 and "_" not in text:
        return _NUMBER_KINDS[kind](text)
    fixed = {"none:": None, "bool:True": True, "bool:False": False}
    if word not in fixed:
        raise ValueError(f"{brief(word)} is no name of a type that is known here")
    return fixed[word]


def _identifiers(names: Sequence[Any], plain: re.Pattern, key) -> list[str]:
    texts = [str(name) for name in names]
    # Names that are identifiers already come first, so that no other takes their place.
    taken: set[str] = set()
    kept: list[str | None] = []
    for text in texts:
        keep = (
            plain.fullmatch(text) is not None
            and text.lower() not in _KEYWORDS
            and not _MISREAD.search(text)
            and key(text) not in taken
        )
        kept.append(text if keep else None)
        if keep:
            taken.add(key(text))
    counters: dict[str, int] = {}
    for place, text in enumerate(texts):
        if kept[place] is None:
            kept[place] = _unused(_near_identifier(text), taken, counters, key)
    return kept


def _unused(base: str, taken: set[str], counters: dict[str, int], key) -> str:
    found = base
    while key(found) in taken or found.lower() in _KEYWORDS:
        counters[base] = counters.get(base, 1) + 1
        found = f"{base}_{counters[base]}"
    taken.add(key(found))
    return found


def _near_identifier(text: str) -> str:
    """Letters, digits and underscores that look like `text`."""
    for sign, spoken in _SPOKEN.items():
        text = text.replace(sign, spoken)
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    text = re.sub(r"[^A-Za-z0-9_]+", "_", text)[:60].strip("_")
    text = _MISREAD.sub(r"\1_", text)
    return text if text and not text[0].isdigit() else f"x{text}"
