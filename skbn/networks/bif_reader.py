"""Reading a network from a BIF file, whoever wrote it."""

import math
from dataclasses import dataclass, field
from typing import Any

from skbn.bif.files import read_text
from skbn.bif.names import read_spelling
from skbn.bif.numbers import logarithms, read_distribution, read_numbers, read_plain_row
from skbn.bif.tables import conditional_table
from skbn.bif.tokens import BIFTokens
from skbn.bif.writer import NAME_PROPERTY, STATES_PROPERTY
from skbn.graphs.graph import CycleError
from skbn.messages import brief
from skbn.networks.network import BayesianNetwork
from skbn.parameters.conditional_table import readable_count
from skbn.tables.values import array_of_levels

# Matrices of variables by variables must stay small.
_MOST_VARIABLES = 10_000
# Of all rows that only a default gives.
_MOST_DEFAULT_ENTRIES, _SMALL_TABLE = 2**22, 2**13


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
        than `max_bytes` or 10,000 variables, and for the text itself in place of a path: wrap it,
        ``io.StringIO(text)``.
    OSError
        If the file cannot be opened.

    See Also
    --------
    BayesianNetwork.to_bif : Writes such files.

    Notes
    -----
    Properties and comments are skipped. Commas may separate states, parents and probabilities, or
    white space alone. A "table" for a variable with parents gives all probabilities of the
    variable's first state before those of its second, and the last parent changes fastest.

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
    return _Reader(BIFTokens(text, source)).read()


@dataclass
class _Variable:
    """What the file says of one variable: its declaration, then its probabilities."""

    position: int
    states: list[str] = field(default_factory=list)
    label: Any = None
    levels: list | None = None
    table_position: int | None = None
    parents: list[str] = field(default_factory=list)
    rows: dict[int, list[float]] = field(default_factory=dict)
    default: list[float] | None = None


class _Reader:
    def __init__(self, tokens: BIFTokens) -> None:
        self.tokens = tokens
        self.variables: dict[str, _Variable] = {}
        self.default_entries = 0

    def read(self) -> BayesianNetwork:
        tokens = self.tokens
        if not tokens.at_word("network"):
            raise tokens.error(f"a BIF file begins with 'network', but here is {tokens.shown()}")
        tokens.take_words("{", "the network's name")
        tokens.skip_block("the block of the network")
        # Probabilities are read when all variables are known.
        postponed = []
        while not tokens.at_end:
            if tokens.at_word("variable"):
                self._read_variable()
            elif tokens.at_word("probability"):
                postponed.append(tokens.position)
                while not tokens.at_sign("{"):
                    if tokens.at_end:
                        raise tokens.error("the file ends within the head of a probability")
                    tokens.advance()
                tokens.skip_block("this block of probabilities")
            else:
                raise tokens.error(
                    f"'variable' or 'probability' is expected, but here is {tokens.shown()}"
                )
        if not self.variables:
            raise tokens.error("there are no variables")
        for position in postponed:
            self.tokens = BIFTokens(tokens.text, tokens.source, position)
            self._read_probability()
        return self._network()

    def _read_variable(self) -> None:
        tokens, start = self.tokens, self.tokens.position
        tokens.advance()
        name = " ".join(tokens.take_words("{", "the variable's name"))
        if not name:
            raise tokens.error("this variable has no name")
        if name in self.variables:
            raise tokens.error(f"variable {_short(name)} is declared a second time", start)
        if len(self.variables) == _MOST_VARIABLES:
            raise tokens.error(f"there are more than {_MOST_VARIABLES:,} variables")
        tokens.advance()
        variable = self.variables[name] = _Variable(start, label=name)
        while not tokens.at_sign("}"):
            if tokens.at_word("type"):
                if variable.states:
                    raise tokens.error(f"variable {_short(name)} has a second type")
                variable.states = self._read_type(name)
            elif tokens.at_word("property"):
                self._read_property(variable)
            else:
                raise tokens.error(
                    f"'type' or 'property' is expected in variable {_short(name)}, but here is "
                    f"{tokens.shown()}"
                )
        tokens.advance()
        if not variable.states:
            raise tokens.error(f"variable {_short(name)} has no type", start)
        if variable.levels is not None and len(variable.levels) != len(variable.states):
            raise tokens.error(
                f"{STATES_PROPERTY} of {_short(name)} names {len(variable.levels)} states of "
                f"{len(variable.states)}", start,
            )

    def _read_type(self, name: str) -> list[str]:
        tokens = self.tokens
        start = tokens.position
        tokens.advance()
        if not tokens.at_word("discrete"):
            raise tokens.error(
                f"variable {_short(name)} is not of type discrete, but {tokens.shown()}"
            )
        tokens.advance()
        tokens.take_sign("[", "'discrete'")
        declared = tokens.token
        tokens.advance()
        tokens.take_sign("]", "the number of states")
        tokens.take_sign("{", "the number of states")
        states = tokens.take_list("}", f"the list of states of {_short(name)}")
        if declared == "1":
            states = _of_number(1, states)
        if tokens.at_sign(";"):
            tokens.advance()
        if declared != str(len(states)):
            raise tokens.error(
                f"variable {_short(name)} declares {brief(declared[:20])} states and lists "
                f"{len(states):,}", start,
            )
        if not states:
            raise tokens.error(f"variable {_short(name)} has no states", start)
        if len(set(states)) < len(states):
            first = {state: place for place, state in reversed(list(enumerate(states)))}
            twice = next(state for place, state in enumerate(states) if first[state] < place)
            raise tokens.error(
                f"variable {_short(name)} has two states called {_short(twice)}", start
            )
        return states

    def _read_property(self, variable: _Variable | None = None) -> None:
        tokens, start = self.tokens, self.tokens.position
        tokens.advance()
        words = []
        while not tokens.at_sign(";"):
            if tokens.at_end:
                raise tokens.error("this property does not end with ';'", start)
            words.append(tokens.token)
            tokens.advance()
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
            variable.levels = values
        elif len(values) == 1:
            variable.label = values[0]
        else:
            raise tokens.error(f"{NAME_PROPERTY} has {len(values)} names in place of 1", start)

    def _read_probability(self) -> None:
        tokens, start = self.tokens, self.tokens.position
        tokens.advance()
        tokens.take_sign("(", "'probability'")
        child, parents = self._read_family()
        variable = self._known(child, start)
        if variable.table_position is not None:
            raise tokens.error(f"the probabilities of {_short(child)} come a second time", start)
        for parent in parents:
            self._known(parent, start)
        if len({child, *parents}) < 1 + len(parents):
            raise tokens.error(f"a name occurs twice in the family of {_short(child)}", start)
        variable.table_position, variable.parents = start, parents
        tokens.take_sign("{", "the family")
        places = [
            {state: code for code, state in enumerate(self.variables[parent].states)}
            for parent in parents
        ]
        r = len(variable.states)
        while not tokens.at_sign("}"):
            line = tokens.position
            if tokens.at_sign("("):
                if read_plain_row(tokens, places, r, variable.rows):
                    continue
                tokens.advance()
                key = self._read_configuration(places, parents)
                if key in variable.rows:
                    raise tokens.error(f"this configuration of {_short(child)} comes twice", line)
                variable.rows[key] = read_distribution(tokens, r, line)
            elif tokens.at_word("table"):
                tokens.advance()
                if variable.rows:
                    raise tokens.error(f"{_short(child)} has rows of its table already", line)
                self._read_table(variable, [len(place) for place in places])
            elif tokens.at_word("default"):
                tokens.advance()
                if variable.default is not None:
                    raise tokens.error(f"{_short(child)} has a second default", line)
                variable.default = read_distribution(tokens, r, line)
            elif tokens.at_word("property"):
                self._read_property()
            else:
                raise tokens.error(
                    f"'table', 'default' or the parents' states in parentheses are expected in the "
                    f"probabilities of {_short(child)}, but here is {tokens.shown()}"
                )

    def _read_family(self) -> tuple[str, list[str]]:
        tokens = self.tokens
        head = tokens.take_words("|,)", "the family")
        if tokens.at_sign("|"):
            tokens.advance()
            parents = tokens.take_list(")", "the list of parents")
            only = " ".join(parents)
            return " ".join(head), [only] if only in self.variables else parents
        if tokens.at_sign(","):
            tokens.advance()
            return " ".join(head), tokens.take_list(")", "the list of parents")
        tokens.advance()
        # Without a bar the child is followed by its parents, unless a name is of several words.
        name = " ".join(head)
        return (name, []) if name in self.variables or not head else (head[0], head[1:])

    def _known(self, name: str, start: int) -> _Variable:
        if name not in self.variables:
            raise self.tokens.error(f"no variable is called {_short(name)}", start)
        return self.variables[name]

    def _read_configuration(self, places: list[dict[str, int]], parents: list[str]) -> int:
        """The number of a configuration in lexicographic order."""
        tokens, start = self.tokens, self.tokens.position
        names = _of_number(len(places), tokens.take_list(")", "the list of the parents' states"))
        if len(names) != len(places):
            raise tokens.error(
                f"{len(names)} states are given for {len(places)} parents", start
            )
        key = 0
        for name, place, parent in zip(names, places, parents, strict=True):
            if name not in place:
                raise tokens.error(f"{_short(parent)} has no state {_short(name)}", start)
            key = key * len(place) + place[name]
        return key

    def _read_table(self, variable: _Variable, cardinalities: list[int]) -> None:
        start = self.tokens.position
        r, q = len(variable.states), math.prod(cardinalities)
        values = read_numbers(self.tokens, r * q, start)
        for key in range(q):
            variable.rows[key] = logarithms(self.tokens, values[key::q], start)

    def _complete(self, variable: _Variable, cardinalities: list[int]) -> None:
        """Add the rows of the default.

        Where it is uniform they are left out: they are in a network's table too.
        """
        rows, q, default = variable.rows, math.prod(cardinalities), variable.default
        missing = q - len(rows)
        if not missing:
            return
        if default is None:
            raise self.tokens.error(
                f"the probabilities of {readable_count(missing)} of {readable_count(q)} parent "
                "configurations are missing, and there is no default", variable.table_position,
            )
        uniform = len(set(default)) == 1
        # Small tables have all their rows in memory, uniform or not.
        entries = missing * len(default)
        self.default_entries += min(entries, _SMALL_TABLE) if uniform else entries
        if self.default_entries > _MOST_DEFAULT_ENTRIES:
            raise self.tokens.error(
                f"the default stands for {readable_count(missing)} parent configurations, with "
                f"{readable_count(self.default_entries)} probabilities up to here; "
                f"{_MOST_DEFAULT_ENTRIES:,} are the most", variable.table_position,
            )
        if uniform:
            # A table has at least one row.
            variable.rows = rows or {0: default}
        else:
            variable.rows = {key: rows.get(key, default) for key in range(q)}

    def _network(self) -> BayesianNetwork:
        tokens = self.tokens
        places = {name: place for place, name in enumerate(self.variables)}
        tables = []
        for place, (name, variable) in enumerate(self.variables.items()):
            if variable.table_position is None:
                raise tokens.error(
                    f"variable {_short(name)} has no probabilities", variable.position
                )
            parents = [places[parent] for parent in variable.parents]
            cardinalities = [len(self.variables[parent].states) for parent in variable.parents]
            self._complete(variable, cardinalities)
            tables.append(conditional_table(place, parents, cardinalities, variable.rows))
        categories = [
            array_of_levels(variable.states if variable.levels is None else variable.levels)
            for variable in self.variables.values()
        ]
        labels = [variable.label for variable in self.variables.values()]
        try:
            return BayesianNetwork(labels, categories, tables)
        except CycleError as error:
            child = list(self.variables.values())[error.cycle[-1]]
            raise tokens.error(str(error).rstrip("."), child.table_position) from None
        except ValueError as error:
            raise ValueError(f"{tokens.source}: {error}") from None


def _of_number(n: int, words: list[str]) -> list[str]:
    """Words of which there are to be `n`: where that is 1, several are one name."""
    return [" ".join(words)] if n == 1 and len(words) > 1 else words


def _short(name: str) -> str:
    return repr(name[:60] + "..." if len(name) > 60 else name)
