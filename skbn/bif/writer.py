"""Networks written as BIF files, with names that every reader takes."""

import itertools
import math
import re
import unicodedata
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import numpy as np

from skbn.inference.conditional_table import ConditionalTable, readable_count
from skbn.messages import brief
from skbn.resources import refuse_array

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
NAME_PROPERTY, STATES_PROPERTY = "skbn_name", "skbn_states"
_MOST_ENTRIES = 2**22
# Floats that the text of one probability takes the room of, with what it is made from.
_FLOATS_OF_TEXT = 12


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


def bif_text(
    labels: Sequence[Hashable],
    categories: Sequence[np.ndarray],
    tables: Sequence[ConditionalTable],
    file_states: Sequence[Sequence[str]] | None = None,
    *,
    default_rows: bool,
    portable: bool,
) -> str:
    """The BIF text of a network given by its parts.

    Parameters
    ----------
    labels, categories, tables, file_states
        Those of a `BayesianNetwork`.
    default_rows : bool
        Write observed parent configurations and one default for all others, in place of a row for
        every configuration.
    portable : bool
        Leave out variables of one state, and do without `file_states`.

    Raises
    ------
    ValueError
        For tables of more than four million probabilities, unless `default_rows`; if no variable is
        left.
    MemoryError
        With `default_rows`, for tables that there is no room to write.
    TypeError
        For names that are neither text, number, truth value, None nor interval.
    """
    kept = [place for place, levels in enumerate(categories) if len(levels) > 1 or not portable]
    if not kept:
        raise ValueError(
            "All variables have one state, and a portable file leaves those out. Leave portable at "
            "False."
        )
    tables = [_without(tables[place], kept) for place in kept]
    _refuse_large(labels, tables, default_rows)
    names = variable_identifiers(labels)
    in_file = [None] * len(labels) if portable or file_states is None else file_states
    states = [
        state_identifiers(levels.tolist(), written)
        for levels, written in zip(categories, in_file, strict=True)
    ]
    lines = ["network unknown {", "}"]
    for place in kept:
        label, levels, name, known = labels[place], categories[place], names[place], states[place]
        lines += [
            f"variable {name} {{",
            f"  type discrete [ {len(known)} ] {{ {', '.join(known)} }};",
            *_properties(label, levels.tolist(), name, known),
            "}",
        ]
    for table in tables:
        given = ", ".join(names[parent] for parent in table.parents)
        lines.append(f"probability ( {names[table.child]}{' | ' * bool(given)}{given} ) {{")
        lines += _rows(table, states, default_rows)
        lines.append("}")
    return "\n".join(lines) + "\n"


def _without(table: ConditionalTable, kept: Sequence[int]) -> ConditionalTable:
    """The table without those parents that are not kept, which have one state each."""
    columns = [column for column, parent in enumerate(table.parents) if parent in kept]
    if len(columns) == len(table.parents):
        return table
    return replace(
        table,
        parents=tuple(table.parents[column] for column in columns),
        parent_cardinalities=tuple(table.parent_cardinalities[column] for column in columns),
        configurations=np.ascontiguousarray(table.configurations[:, columns]),
    )


def _properties(label: Any, levels: list, name: str, known: list[str]) -> Iterator[str]:
    # A property is needed also for a number, which its digits alone would make text.
    if label != name:
        yield f"  property {NAME_PROPERTY} = {spell([label], 'the names')};"
    if levels != known:
        yield f"  property {STATES_PROPERTY} = {spell(levels, f'the states of {brief(label)}')};"


def _rows(
    table: ConditionalTable, states: list[list[str]], default_rows: bool
) -> Iterator[str]:
    observed = zip(table.configurations.tolist(), table.log_probabilities.tolist(), strict=True)
    if not table.parents:
        row = next((row for _, row in observed), None) or _uniform(table.cardinality)
        yield f"  table {_numbers(row)};"
        return
    known = [states[parent] for parent in table.parents]
    uniform = _numbers(_uniform(table.cardinality))
    if default_rows:
        if len(table.configurations) < table.n_configurations:
            yield f"  default {uniform};"
        rows = ((configuration, _numbers(row)) for configuration, row in observed)
    else:
        seen = {tuple(configuration): row for configuration, row in observed}
        every = itertools.product(*map(range, table.parent_cardinalities))
        rows = (
            (configuration, _numbers(seen[configuration]) if configuration in seen else uniform)
            for configuration in every
        )
    for configuration, numbers in rows:
        named = ", ".join(names[code] for names, code in zip(known, configuration, strict=True))
        yield f"  ({named}) {numbers};"


def _uniform(cardinality: int) -> list[float]:
    return [-math.log(cardinality)] * cardinality


def _numbers(log_probabilities: Sequence[float]) -> str:
    return ", ".join(map(_number, log_probabilities))


def _number(log_probability: float) -> str:
    """The shortest decimal whose logarithm is this one, or the nearest probability."""
    probability = float(np.exp(log_probability))
    if probability < np.finfo(np.float64).tiny and log_probability > -math.inf:
        # Possible, but smaller than every float: digits and exponent are found apart.
        exponent = math.floor(log_probability / math.log(10))
        return f"{math.exp(log_probability - exponent * math.log(10)):.15g}e{exponent}"
    for digits in (15, 16):
        shorter = f"{probability:.{digits}g}"
        if float(shorter) > 0 and np.log(float(shorter)) == log_probability:
            return _with_point(shorter)
    return repr(probability)


def _with_point(number: str) -> str:
    return number if "." in number or "e" in number else f"{number}.0"


def _refuse_large(
    labels: Sequence[Hashable], tables: Sequence[ConditionalTable], default_rows: bool
) -> None:
    sizes = [
        table.cardinality
        * (len(table.configurations) if default_rows else table.n_configurations)
        for table in tables
    ]
    widest = brief(labels[tables[max(range(len(sizes)), key=sizes.__getitem__)].child])
    if default_rows:
        refuse_array(
            _FLOATS_OF_TEXT * sum(sizes),
            f"A BIF file with {sum(sizes):,} probabilities, {max(sizes):,} of them in the table "
            f"of {widest}, takes",
            "Leave out columns that are different in nearly every row, such as identifiers.",
        )
        return
    if sum(sizes) <= _MOST_ENTRIES:
        return
    raise ValueError(
        f"A BIF file with a row for every parent configuration would hold "
        f"{readable_count(sum(sizes))} probabilities, {readable_count(max(sizes))} of them in "
        f"the table of {widest}; {_MOST_ENTRIES:,} are the most. Pass "
        "default_rows=True for a row per observed configuration and one default for all others "
        "(pgmpy and bnlearn cannot read that), or learn with max_parents."
    )
