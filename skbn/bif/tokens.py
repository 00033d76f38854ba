"""The words and signs of a BIF file, in one pass from front to back."""

import re
from collections.abc import Iterator

from skbn.messages import brief

# No alternative can begin where another does, and the repetitions are possessive: every character
# is looked at once, whatever the text.
_TOKEN = re.compile(
    r"""
    (?P<space> \s++ | //[^\n]*+ | /\*(?:[^*]|\*(?!/))*+\*/ )
  | (?P<sign> [{}()\[\],;|] )
  | (?P<word> (?:[^\s{}()\[\],;|"/]|/(?![/*]))++ )
  | (?P<quoted> "[^"\n]*+" )
  | (?P<bad> . )
    """,
    re.VERBOSE | re.DOTALL,
)
# A row of probabilities without quotes and comments, which is nearly every row there is.
_ROW = re.compile(r"""\( ([^(){}\[\];|"/]*+) \) \s*+ ([0-9.eE+\-,\s]*+) ;""", re.VERBOSE | re.ASCII)
_SHOWN = 40
END = ""


class BIFTokens:
    """A reader of tokens with one token in sight.

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
        The token in sight: a sign, a word, or the inside of quotes; `END` where there is none.
    is_sign : bool
        Whether it is one of ``{}()[],;|``.
    is_quoted : bool
    position : int
        Where it begins.
    """

    def __init__(self, text: str, source: str, position: int = 0) -> None:
        self.text = text
        self.source = source
        self._matches: Iterator[re.Match]
        self.jump(position)

    def jump(self, position: int) -> None:
        """Bring the first token from `position` on in sight."""
        self._matches = _TOKEN.finditer(self.text, position)
        self.advance()

    def advance(self) -> None:
        """Bring the next token in sight."""
        for match in self._matches:
            kind = match.lastgroup
            if kind == "space":
                continue
            self.position = match.start()
            self.is_sign, self.is_quoted = kind == "sign", kind == "quoted"
            self.token = match[0][1:-1] if self.is_quoted else match[0]
            if kind == "bad":
                what = "quoted name" if match[0] == '"' else "comment"
                raise self.error(f"this {what} does not end")
            return
        self.position = len(self.text)
        self.is_sign = self.is_quoted = False
        self.token = END

    @property
    def at_end(self) -> bool:
        return self.position == len(self.text)

    def at_sign(self, signs: str) -> bool:
        """Whether one of `signs` is in sight."""
        return self.is_sign and self.token in signs

    def at_word(self, word: str) -> bool:
        """Whether the keyword `word` is in sight, in any case."""
        return not self.is_sign and not self.is_quoted and self.token.lower() == word

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

    def take_words(self, stop: str, what: str) -> list[str]:
        """The words up to one of the signs `stop`, which stays in sight."""
        words = []
        while not self.at_sign(stop):
            if self.is_sign or self.at_end:
                raise self.error(f"{what} ends with {self.shown()} in place of {brief(stop[-1])}")
            words.append(self.token)
            self.advance()
        return words

    def take_list(self, stop: str, what: str) -> list[str]:
        """Items up to the sign `stop`, and that sign.

        Commas separate items, which may then be several words; without commas every word is one.
        """
        items: list[list[str]] = [[]]
        while not self.at_sign(stop):
            items[-1] += self.take_words("," + stop, what)
            if self.at_sign(","):
                items.append([])
                self.advance()
        self.advance()
        if len(items) == 1:
            return items[0]
        if not items[-1]:  # a comma after the last item
            items.pop()
        if not all(items):
            raise self.error(f"{what} has nothing between two commas")
        return [" ".join(words) for words in items]

    def skip_block(self, what: str) -> None:
        """Step over everything to the brace that closes the one in sight."""
        start, depth = self.position, 0
        end = self.text.find("}", start)
        if end >= 0 and all(self.text.find(sign, start + 1, end) < 0 for sign in '{"/'):
            self.jump(end + 1)
            return
        while True:
            if self.at_end:
                raise self.error(f"{what} does not end with '}}'", start)
            depth += self.at_sign("{") - self.at_sign("}")
            self.advance()
            if depth == 0:
                return

    def plain_row(self) -> tuple[list[str], list[str], int] | None:
        """The names and the numbers of the row in sight, and where it ends; None if it is odd.

        A short way for rows with commas and nothing else in them; it steps over nothing.
        """
        match = _ROW.match(self.text, self.position)
        if match is None:
            return None
        names = [name.strip() for name in match[1].split(",")]
        return names, match[2].split(","), match.end()

    def shown(self) -> str:
        """The token in sight, for a message."""
        if self.at_end:
            return "the end of the file"
        return repr(self.token[:_SHOWN] + ("..." if len(self.token) > _SHOWN else ""))

    def error(self, reason: str, position: int | None = None) -> ValueError:
        """The error for what is in sight, or at another place."""
        position = self.position if position is None else position
        line = self.text.count("\n", 0, position) + 1
        return ValueError(f"{self.source}, line {line}: {reason}.")
