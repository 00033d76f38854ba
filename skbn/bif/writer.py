"""A network as the text of a BIF file."""

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skbn.bif.names import spell, state_identifiers, variable_identifiers
from skbn.counting.memory import refuse_array
from skbn.messages import brief
from skbn.parameters.conditional_table import ConditionalTable, readable_count

NAME_PROPERTY, STATES_PROPERTY = "skbn_name", "skbn_states"
_MOST_ENTRIES = 2**22
# Floats that the text of one probability takes the room of, with what it is made from.
_FLOATS_OF_TEXT = 12


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
