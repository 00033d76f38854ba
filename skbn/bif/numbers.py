"""The probabilities in a BIF file."""

import math
import re
from decimal import Context, Decimal

import numpy as np

from skbn.bif.tokens import NUMBERS, BIFTokens
from skbn.messages import brief
from skbn.parameters.conditional_table import readable_count

_SMALLEST_NORMAL = np.finfo(np.float64).tiny
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?", re.ASCII)
_LONGEST_NUMBER = 100
# How programs write that a configuration was not observed.
_UNKNOWN = ("nan", "na")
# Sums of rounded probabilities: taken as they are, divided by, or refused.
_EXACT, _ROUNDED = 1e-9, 0.0101


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
