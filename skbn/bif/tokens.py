"""The words, signs and lists of a BIF file, from front to back."""

import itertools
import re
import sys
from typing import NamedTuple

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

