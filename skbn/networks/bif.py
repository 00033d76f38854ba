"""Reading a network from a BIF file, whoever wrote it."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbn.bif.files import read_text, refuse_other_formats
from skbn.bif.reader import (
    FAMILY,
    NAME,
    PROPERTY,
    ROW,
    STATES,
    BIFTokens,
    conditional_table,
    read_distributions,
)
from skbn.bif.writer import NAME_PROPERTY, STATES_PROPERTY, read_spelling
from skbn.graphs.graph import CycleError
from skbn.inference.conditional_table import readable_count
from skbn.messages import DataWarning, brief, first_few
from skbn.networks.network import BayesianNetwork
from skbn.tables.values import array_of_levels

# Matrices of variables by variables must stay small.
_MOST_VARIABLES = 10_000
# Of all rows that a default or a "*" gives.
_MOST_IMPLIED_ENTRIES, _SMALL_TABLE = 2**22, 2**13


def read_bif(path_or_file: Any, *, max_bytes: int = 2**27) -> BayesianNetwork:
    """Read a Bayesian network from a BIF file.

    Parameters
    ----------
    path_or_file : str, path or file object
        UTF-8 text, or such text compressed with gzip, whatever the file is called. File objects
        may be of text or bytes.
    max_bytes : int, default=2**27
        Largest size of the text, in bytes; for compressed files, after decompression.

    Returns
    -------
    BayesianNetwork
        Variables and states in the file's order. States are text, unless the file was written by
        `BayesianNetwork.to_bif` from a network with others. Probabilities are those of the file,
        divided by their sum where that is off 1 by more than 1e-9.

    Raises
    ------
    ValueError
        For what is no BIF file of a discrete network: cut off, contradicting itself,
        probabilities below 0 or with a sum off 1 by more than 0.01, parent configurations without
        probabilities, cycles. The message has the line and the reason. Also for files of more
        than `max_bytes` or 10,000 variables, for other formats, which the message names, and for
        the text itself in place of a path: wrap it, ``io.StringIO(text)``.
    OSError
        If the file cannot be opened.

    Warns
    -----
    DataWarning
        For rows of NaN, as R's bnlearn writes them where its data have no such rows. They are
        read as unobserved, which is uniform.

    See Also
    --------
    BayesianNetwork.to_bif : Writes such files.

    Notes
    -----
    Properties and comments (``//``, ``/* */``, ``#``) are skipped, and the block of the network may
    be missing. Commas may separate states, parents and probabilities, or white space alone. Within
    the braces of a type and the parentheses of a row every sign that separates nothing is part of a
    name, as in ``[0_1]``, ``a|b``, ``<5``. A "table" for a variable with parents gives all
    probabilities of the variable's first state before those of its second, and the last parent
    changes fastest. In a row, ``*`` stands for every state of a parent; later rows may be more
    precise.

    Examples
    --------
    >>> import io
    >>> from skbn import read_bif
    >>> network = read_bif(io.StringIO('''
    ... network example {
    ... }
    ... variable rain {
    ...   type discrete [ 2 ] { no, yes };
    ... }
    ... variable wet {
    ...   type discrete [ 2 ] { no, yes };
    ... }
    ... probability ( rain ) {
    ...   table 0.8, 0.2;
    ... }
    ... probability ( wet | rain ) {
    ...   (yes) 0.1, 0.9;
    ...   (no) 1, 0;
    ... }
    ... '''))
    >>> network.cpt("wet")
    P(wet | rain)
    rain      no     yes
    no    1.0000  0.0000
    yes   0.1000  0.9000
    """
    text, source = read_text(path_or_file, max_bytes)
    reader = _Reader(BIFTokens(text, source))
    network = reader.read()
    if unknown := reader.unknown_rows():
        warnings.warn(unknown, DataWarning, stacklevel=2)
    return network


@dataclass
class _Variable:
    """What the file says of one variable: its declaration, then its probabilities.

    `rows` are those of `read_distributions` by the number of the configuration; those in `by_star`
    came from a row with "*".
    """

    name: str
    position: int
    label: Any
    states: list[str] = field(default_factory=list)
    levels: np.ndarray | None = None
    table_position: int | None = None
    parents: list[str] = field(default_factory=list)
    rows: dict[int, list[float] | None] = field(default_factory=dict)
    by_star: set[int] = field(default_factory=set)
    default: list[float] | None = None
    n_unknown: int = 0


class _Reader:
    def __init__(self, tokens: BIFTokens) -> None:
        self.tokens = tokens
        self.variables: dict[str, _Variable] = {}
        self.implied_entries = 0

    def read(self) -> BayesianNetwork:
        tokens = self.tokens
        if not tokens.at_word("network", "variable"):
            refuse_other_formats(tokens.text, tokens.source)
            raise tokens.error(f"a BIF file begins with 'network', but here is {tokens.shown()}")
        if tokens.at_word("network"):
            tokens.skip_block("the block of the network")
        # Probabilities are read when all variables are known.
        postponed = []
        while not tokens.at_end:
            if tokens.at_word("variable"):
                self._read_variable()
            elif tokens.at_word("probability"):
                postponed.append(tokens.position)
                tokens.skip_block("this block of probabilities")
            else:
                raise tokens.error(
                    f"'variable' or 'probability' is expected, but here is {tokens.shown()}"
                )
        if not self.variables:
            raise tokens.error("there are no variables")
        for position in postponed:
            tokens.jump(position)
            self._read_probability()
        return self._network()

    def unknown_rows(self) -> str:
        """A sentence about rows without probabilities; empty if there are none."""
        counts = {x.label: x.n_unknown for x in self.variables.values() if x.n_unknown}
        if not counts:
            return ""
        return (
            f"{self.tokens.source}: {sum(counts.values()):,} row(s) of probabilities are NaN, in "
            f"the tables of {first_few(list(counts))}, and are read as uniform. R's bnlearn writes "
            "NaN for what its data do not have; bn.fit(..., method = 'bayes') estimates that too."
        )

    def _read_variable(self) -> None:
        tokens, start = self.tokens, self.tokens.position
        name = " ".join(tokens.take_list(NAME, "the variable's name"))
        if not name:
            raise tokens.error("this variable has no name")
        if name in self.variables:
            raise tokens.error(f"variable {brief(name)} is declared a second time", start)
        if len(self.variables) == _MOST_VARIABLES:
            raise tokens.error(f"there are more than {_MOST_VARIABLES:,} variables")
        tokens.advance()
        variable = self.variables[name] = _Variable(name, start, label=name)
        while not tokens.at_sign("}"):
            if tokens.at_word("type"):
                if variable.states:
                    raise tokens.error(f"variable {brief(name)} has a second type")
                variable.states = self._read_type(name)
            elif tokens.at_word("property"):
                self._read_property(variable)
            else:
                raise tokens.error(
                    f"'type' or 'property' is expected in variable {brief(name)}, but here is "
                    f"{tokens.shown()}"
                )
        tokens.advance()
        if not variable.states:
            raise tokens.error(f"variable {brief(name)} has no type", start)
        if variable.levels is None:
            variable.levels = array_of_levels(variable.states)
        if len(variable.levels) != len(variable.states):
            raise tokens.error(
                f"{STATES_PROPERTY} of {brief(name)} names {len(variable.levels)} states of "
                f"{len(variable.states)}", start,
            )

    def _read_type(self, name: str) -> list[str]:
        tokens = self.tokens
        start = tokens.position
        tokens.advance()
        if not tokens.at_word("discrete"):
            raise tokens.error(
                f"variable {brief(name)} is not of type discrete, but {tokens.shown()}"
            )
        tokens.advance()
        tokens.take_sign("[", "'discrete'")
        declared = tokens.token
        tokens.advance()
        tokens.take_sign("]", "the number of states")
        if not tokens.at_sign("{"):
            raise tokens.error(f"'{{' must follow the number of states, but {tokens.shown()} does")
        states = tokens.take_list(STATES, f"the list of states of {brief(name)}")
        tokens.advance()
        if declared == "1":
            states = _of_number(1, states)
        if tokens.at_sign(";"):
            tokens.advance()
        if declared != str(len(states)):
            raise tokens.error(
                f"variable {brief(name)} declares {brief(declared)} states and lists "
                f"{len(states):,}", start,
            )
        if not states:
            raise tokens.error(f"variable {brief(name)} has no states", start)
        seen: set[str] = set()
        for state in states:
            if state in seen:
                raise tokens.error(
                    f"variable {brief(name)} has two states called {brief(state)}", start
                )
            seen.add(state)
        return states

    def _read_property(self, variable: _Variable | None = None) -> None:
        tokens, start = self.tokens, self.tokens.position
        words = tokens.take_pieces(PROPERTY, "this property")
        if tokens.at_sign(";"):
            tokens.advance()
        if variable is None or len(words) < 2 or words[1] != "=":
            return
        if words[0] not in (NAME_PROPERTY, STATES_PROPERTY):
            return
        try:
            values = read_spelling(words[2:])
        except ValueError as error:
            raise tokens.error(f"{words[0]} cannot be read: {error}", start) from None
        if words[0] == STATES_PROPERTY:
            variable.levels = array_of_levels(values)
        elif len(values) == 1:
            variable.label = values[0]
        else:
            raise tokens.error(f"{NAME_PROPERTY} has {len(values)} names in place of 1", start)

    def _read_probability(self) -> None:
        tokens, start = self.tokens, self.tokens.position
        tokens.advance()
        if not tokens.at_sign("("):
            raise tokens.error(f"'(' must follow 'probability', but {tokens.shown()} does")
        child, parents = self._read_family()
        variable = self._known(child, start)
        if variable.table_position is not None:
            raise tokens.error(
                f"the probabilities of {brief(child)} come a second time", start
            )
        for parent in parents:
            self._known(parent, start)
        if len({child, *parents}) < 1 + len(parents):
            raise tokens.error(
                f"a name occurs twice in the family of {brief(child)}", start
            )
        variable.table_position, variable.parents = start, parents
        tokens.advance()
        tokens.take_sign("{", "the family")
        places = [
            {state: code for code, state in enumerate(self.variables[parent].states)}
            for parent in parents
        ]
        r = len(variable.states)
        while not tokens.at_sign("}"):
            line = tokens.position
            if tokens.at_sign("("):
                self._read_row(variable, places)
            elif tokens.at_word("table"):
                if variable.rows:
                    raise tokens.error(f"{brief(child)} has rows of its table already", line)
                q = math.prod(map(len, places))
                variable.rows = dict(enumerate(read_distributions(tokens, r, q, line)))
            elif tokens.at_word("default"):
                if variable.default is not None:
                    raise tokens.error(f"{brief(child)} has a second default", line)
                row = read_distributions(tokens, r, 1, line)[0]
                variable.default = [1.0 / r] * r if row is None else row
            elif tokens.at_word("property"):
                self._read_property()
            else:
                raise tokens.error(
                    f"'table', 'default' or the parents' states in parentheses are expected in the "
                    f"probabilities of {brief(child)}, but here is {tokens.shown()}"
                )

    def _read_family(self) -> tuple[str, list[str]]:
        tokens, what = self.tokens, "the family"
        pieces = tokens.take_pieces(FAMILY, what)
        end = next((i for i, piece in enumerate(pieces) if piece in (",", "|")), len(pieces))
        head = tokens.names_of(pieces[:end], what)
        name = " ".join(head)
        if end < len(pieces):
            parents = tokens.names_of(pieces[end + 1 :], "the list of parents")
            only = " ".join(parents)
            return name, [only] if only in self.variables else parents
        # Without a bar the child is followed by its parents, unless a name is of several words.
        return (name, []) if name in self.variables or not head else (head[0], head[1:])

    def _known(self, name: str, start: int) -> _Variable:
        if name not in self.variables:
            raise self.tokens.error(f"no variable is called {brief(name)}", start)
        return self.variables[name]

    def _read_row(self, variable: _Variable, places: list[dict[str, int]]) -> None:
        tokens, start = self.tokens, self.tokens.position
        names = _of_number(len(places), tokens.take_list(ROW, "the list of the parents' states"))
        if len(names) != len(places):
            raise tokens.error(
                f"{len(names)} states are given for {len(places)} parents", start
            )
        if "*" in names:
            n_meant = math.prod(
                len(place) for name, place in zip(names, places, strict=True) if name not in place
            )
            self._imply(n_meant, n_meant * len(variable.states), "this row", start)
        keys: Sequence[int] = [0]
        for name, place, parent in zip(names, places, variable.parents, strict=True):
            if name in place:
                meant: Sequence[int] = (place[name],)
            elif name == "*":
                meant = range(len(place))
            else:
                raise tokens.error(
                    f"{brief(parent)} has no state {brief(name)}", start
                )
            keys = [key * len(place) + code for key in keys for code in meant]
        row = read_distributions(tokens, len(variable.states), 1, start)[0]
        for key in keys:
            if key in variable.rows and key not in variable.by_star:
                raise tokens.error(
                    f"this configuration of {brief(variable.name)} comes twice"
                    + ("; put rows with '*' before the others" if len(keys) > 1 else ""), start,
                )
            variable.rows[key] = row
        # What "*" gave may be given again by a later row.
        if len(keys) > 1:
            variable.by_star.update(keys)
        else:
            variable.by_star.discard(keys[0])

    def _imply(self, n_meant: int, entries: int, what: str, position: int) -> None:
        """Refuse a short text that stands for more than memory holds."""
        self.implied_entries += entries
        if self.implied_entries > _MOST_IMPLIED_ENTRIES:
            raise self.tokens.error(
                f"{what} stands for {readable_count(n_meant)} parent configurations, with "
                f"{readable_count(self.implied_entries)} probabilities up to here; "
                f"{_MOST_IMPLIED_ENTRIES:,} are the most", position,
            )

    def _complete(self, variable: _Variable, cardinalities: list[int]) -> None:
        """Add the rows of the default.

        Where it is uniform they are left out, as unknown rows are: a network's table has them too.
        """
        rows, q, default = variable.rows, math.prod(cardinalities), variable.default
        missing, r = q - len(rows), len(variable.states)
        if missing and default is None:
            raise self.tokens.error(
                f"the probabilities of {readable_count(missing)} of {readable_count(q)} parent "
                "configurations are missing, and there is no default", variable.table_position,
            )
        if missing:
            uniform = len(set(default)) == 1
            # Small tables have all their rows in memory, uniform or not.
            entries = min(missing * r, _SMALL_TABLE) if uniform else missing * r
            self._imply(missing, entries, "the default", variable.table_position)
            if not uniform:
                rows = {key: rows.get(key, default) for key in range(q)}
        variable.n_unknown = sum(row is None for row in rows.values())
        if variable.n_unknown:
            rows = {key: row for key, row in rows.items() if row is not None}
        # A table has at least one row.
        variable.rows = rows or {0: default or [1.0 / r] * r}

    def _network(self) -> BayesianNetwork:
        tokens = self.tokens
        places = {name: place for place, name in enumerate(self.variables)}
        tables = []
        for place, (name, variable) in enumerate(self.variables.items()):
            if variable.table_position is None:
                raise tokens.error(
                    f"variable {brief(name)} has no probabilities", variable.position
                )
            parents = [places[parent] for parent in variable.parents]
            cardinalities = [len(self.variables[parent].states) for parent in variable.parents]
            self._complete(variable, cardinalities)
            tables.append(conditional_table(place, parents, cardinalities, variable.rows))
        known = list(self.variables.values())
        labels, categories = [x.label for x in known], [x.levels for x in known]
        try:
            return BayesianNetwork(labels, categories, tables, [x.states for x in known])
        except CycleError as error:
            child = known[error.cycle[-1]]
            raise tokens.error(str(error).rstrip("."), child.table_position) from None
        except ValueError as error:
            raise ValueError(f"{tokens.source}: {error}") from None


def _of_number(n: int, words: list[str]) -> list[str]:
    """Words of which there are to be `n`: where that is 1, several are one name."""
    return [" ".join(words)] if n == 1 and len(words) > 1 else words

