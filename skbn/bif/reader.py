"""BIF files read: words, numbers and rows, whoever wrote them."""

import itertools
import math
import re
import sys
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import NamedTuple

import numpy as np

from skbn.counting.data import smallest_code_type
from skbn.inference.conditional_table import ConditionalTable, readable_count
from skbn.messages import brief

# No alternative can begin where another does, and the repetitions are possessive: every character
# is looked at a few times at most, whatever the text.
_COMMENT = r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/"
_QUOTED = r'"[^"\n]*+"'
_TOKEN = re.compile(
    rf"""
    (?: \s++ | \#[^\n]*+ | {_COMMENT} )*+
    (?: (?P<sign> [{{}}()\[\],;|] )
      | (?P<word> (?:[^\s{{}}()\[\],;|"/]++|/(?![/*]))++ )
      | (?P<quoted> {_QUOTED} )
      | (?P<bad> . )
      | (?P<end> \Z )
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_SMALLEST_NORMAL = np.finfo(np.float64).tiny
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?", re.ASCII)
_LONGEST_NUMBER = 100
# How programs write that a configuration was not observed.
_UNKNOWN = ("nan", "na")
# Sums of rounded probabilities: taken as they are, divided by, or refused.
_EXACT, _ROUNDED = 1e-9, 0.0101


class ListKind(NamedTuple):
    """A kind of list: where one ends, and its pieces; those of comments are empty."""

    stops: str
    whole: re.Pattern
    piece: re.Pattern


def _list(stops: str, word: str, *, separator: str = "(?!)", ignored: str = r"\n") -> ListKind:
    # A name may begin with "#": there it is a comment on a line of its own, or before a blank.
    comment = rf"\n[^\S\n]*+\#[^\n]*+|\#(?!\S)[^\n]*+|{_COMMENT}"
    piece = rf"{_QUOTED}|(?:{word}|/(?![/*]))++|{separator}"
    return ListKind(
        stops,
        re.compile(rf"(?:{comment}|{piece}|[^\S\n]++|{ignored})*+"),
        re.compile(rf"{comment}|({piece})"),
    )

# A word is what can be nothing else at its place: in the names of states that is nearly anything.
NAME = _list("{", r'[^\s{}(),;|"/]++')

STATES = _list("}", r'[^\s{},;"/]++', separator=",")

FAMILY = _list(")", r'[^\s{}(),;|"/]++', separator="[,|]")

ROW = _list(")", r'[^\s{}),;"/]++', separator=",")

NUMBERS = _list(";}", r'[^\s{}(),;"/]++', ignored=r"[\n,]")

PROPERTY = _list(";}", r'[^\s{};"/]++|\{[^{}"]*+\}')

_BLOCK = _list("{}", r'[^\s{}"/]++')


class BIFTokens:
    """A reader with one token in sight.

    Parameters
    ----------
    text : str
    source : str
        What messages call the file.
    position : int
        Where to begin.

    Attributes
    ----------
    token : str
        The token in sight: a sign, a word, or the inside of quotes; empty at the end.
    is_sign : bool
        Whether it is one of ``{}()[],;|``.
    is_quoted : bool
    position, end : int
        Where it begins, and where it ends.
    """

    def __init__(self, text: str, source: str, position: int = 0) -> None:
        self.text = text
        self.source = source
        self.jump(position)

    def jump(self, position: int) -> None:
        """Bring the first token from `position` on in sight."""
        match = _TOKEN.match(self.text, position)
        kind = match.lastgroup
        self.token = match[kind]
        self.position, self.end = match.span(kind)
        self.is_sign, self.is_quoted = kind == "sign", kind == "quoted"
        if self.is_quoted:
            self.token = self.token[1:-1]
        if kind == "bad":
            what = "quoted name" if self.token == '"' else "comment"
            raise self.error(f"this {what} does not end")

    def advance(self) -> None:
        """Bring the next token in sight."""
        self.jump(self.end)

    @property
    def at_end(self) -> bool:
        return self.position == len(self.text)

    def at_sign(self, signs: str) -> bool:
        """Whether one of `signs` is in sight."""
        return self.is_sign and self.token in signs

    def at_word(self, *words: str) -> bool:
        """Whether one of these keywords is in sight, in any case."""
        return not self.is_sign and not self.is_quoted and self.token.lower() in words

    def take_sign(self, sign: str, after: str) -> None:
        """Step over `sign`.

        Raises
        ------
        ValueError
            If something else is in sight.
        """
        if not self.at_sign(sign):
            raise self.error(f"{brief(sign)} must follow {after}, but {self.shown()} does")
        self.advance()

    def take_pieces(self, kind: ListKind, what: str, most: int = sys.maxsize) -> list[str]:
        """Words, quoted words and separators after the token in sight, the first `most` of them.

        The sign that ends the list is then in sight.
        """
        start = self.end
        end = kind.whole.match(self.text, start).end()
        self.jump(end)
        if self.at_end:
            raise self.error(f"{what} does not end with {brief(kind.stops[0])}", start)
        if not self.at_sign(kind.stops):
            raise self.error(f"{what} ends with {self.shown()} in place of {brief(kind.stops[0])}")
        pieces = (match[1] for match in kind.piece.finditer(self.text, start, end) if match[1])
        return list(itertools.islice(pieces, most))

    def take_list(self, kind: ListKind, what: str) -> list[str]:
        """The names after the token in sight, as `take_pieces`; see `names_of`."""
        return self.names_of(self.take_pieces(kind, what), what)

    def names_of(self, pieces: list[str], what: str) -> list[str]:
        """Commas separate names, which may then be several words; else every word is one."""
        items: list[list[str]] = [[]]
        for piece in pieces:
            if piece == ",":
                items.append([])
            else:
                items[-1].append(piece[1:-1] if piece[0] == '"' else piece)
        if len(items) == 1:
            return items[0]
        if not items[-1]:  # a comma after the last item
            items.pop()
        if not all(items):
            raise self.error(f"{what} has nothing between two commas")
        return [" ".join(words) for words in items]

    def skip_block(self, what: str) -> None:
        """Step over the next block in braces."""
        start, depth = self.position, 0
        while True:
            self.jump(_BLOCK.whole.match(self.text, self.end).end())
            if self.at_end:
                raise self.error(f"{what} does not end with '}}'", start)
            depth += 1 if self.at_sign("{") else -1
            if depth <= 0:
                self.advance()
                return

    def shown(self) -> str:
        """The token in sight, for a message."""
        return "the end of the file" if self.at_end else brief(self.token)

    def error(self, reason: str, position: int | None = None) -> ValueError:
        """The error for what is in sight, or at another place."""
        position = self.position if position is None else position
        line = self.text.count("\n", 0, position) + 1
        return ValueError(f"{self.source}, line {line}: {reason}.")


def read_distributions(
    tokens: BIFTokens, r: int, q: int, start: int
) -> list[list[float] | None]:
    """`q` distributions of `r` probabilities up to the semicolon, and it.

    The file has those of one state before those of the next; see `_value`. A distribution is None
    where it is unknown.
    """
    begin = tokens.end
    # Not all that a long file has, where a few are to be there.
    most = min(r * q + 1, len(tokens.text))
    words = tokens.take_pieces(NUMBERS, "a row of probabilities", most)
    if len(words) != r * q:
        found = f"{len(words):,}" if len(words) < r * q else "more"
        raise tokens.error(
            f"{readable_count(r * q)} probabilities are expected, but here are {found}", start
        )
    values = [_value(word) for word in words]
    rows: list[list[float] | None] = []
    for first in range(q):
        row = values[first::q]
        if None in row:
            if row.count(None) < r:
                raise _refusal(tokens, begin, start)
            rows.append(None)
            continue
        # NaN is among neither, and makes the sum NaN.
        total = math.fsum(row if min(row) > 0 else (x for x in row if not x <= 0))
        if not abs(total - 1) <= _ROUNDED:
            raise _refusal(tokens, begin, start, total)
        if abs(total - 1) > _EXACT:
            row = [value / total if value > 0 else value for value in row]
        rows.append(row)
    if tokens.at_sign(";"):  # the last of a block may be missing
        tokens.advance()
    return rows


def logarithms(rows: list[list[float]]) -> np.ndarray:
    """The logarithms of distributions, see `_value`."""
    values = np.array(rows, dtype=np.float64)
    return np.log(values, out=values, where=values > 0)


def _value(word: str) -> float | None:
    """A probability, or its logarithm where it is 0 or too small for a float to keep its digits.

    Logarithms are at most 0 and those probabilities above it. What is no number gives NaN, as
    numbers below 0 do; what says that nothing is known gives None.
    """
    if not _NUMBER.fullmatch(word) or len(word) > _LONGEST_NUMBER:
        return None if word.lower() in _UNKNOWN else math.nan
    value = float(word)
    if value >= _SMALLEST_NORMAL:
        return value
    try:
        number = Decimal(word)
        if number < 0:
            return math.nan
        return float(Context(prec=20).ln(number)) if number else -math.inf
    except ArithmeticError:  # an exponent of more digits than anyone means
        return -math.inf


def _refusal(tokens: BIFTokens, begin: int, start: int, total: float = math.nan) -> ValueError:
    """The error for the first word since `begin` that is no probability, else for the sum."""
    for match in NUMBERS.piece.finditer(tokens.text, begin, tokens.position):
        word = match[1] or "0"
        value = _value(word)
        if value is None or not value <= 1.0 + _ROUNDED:
            reason = f"a probability is expected, but here is {brief(word)}"
            if len(word) <= _LONGEST_NUMBER and _NUMBER.fullmatch(word):
                reason = f"{brief(word)} is no probability"
            return tokens.error(reason, match.start())
    return tokens.error(f"these probabilities have the sum {total:.6g}, not 1", start)


def conditional_table(
    child: int,
    parents: Sequence[int],
    cardinalities: Sequence[int],
    rows: dict[int, list[float]],
) -> ConditionalTable:
    """A table from the rows of a file, given the parents in any order.

    Parameters
    ----------
    child : int
    parents, cardinalities : sequence of int
        Indices of the parents, and how many states each has.
    rows : dict of int to list of float
        Those of `read_distributions`, by the number of the configuration in lexicographic order;
        at least one. Configurations that are not there are uniform.
    """
    log_probabilities = logarithms(list(rows.values()))
    codes = smallest_code_type(max(cardinalities, default=1))
    configurations = np.empty((len(rows), len(parents)), dtype=codes)
    keys = list(rows)
    for place in reversed(range(len(parents))):
        size = cardinalities[place]
        configurations[:, place] = [key % size for key in keys]
        keys = [key // size for key in keys]
    # By increasing index of the parents, in lexicographic order.
    places = sorted(range(len(parents)), key=parents.__getitem__)
    configurations = configurations[:, places]
    if parents:
        order = np.lexsort(configurations.T[::-1])
        configurations, log_probabilities = configurations[order], log_probabilities[order]
    return ConditionalTable.from_rows(
        child,
        tuple(parents[place] for place in places),
        log_probabilities.shape[1],
        tuple(cardinalities[place] for place in places),
        np.ascontiguousarray(configurations),
        log_probabilities,
    )
