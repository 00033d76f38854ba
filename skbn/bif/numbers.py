"""The probabilities in a BIF file."""

import math
import re
from decimal import Context, Decimal

import numpy as np

from skbn.bif.tokens import BIFTokens
from skbn.messages import brief

_SMALLEST_NORMAL = np.finfo(np.float64).tiny
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?", re.ASCII)
_LONGEST_NUMBER = 100
# Zeros and smaller numbers need care.
_SHORT_WAY = 1e-300
# Sums of rounded probabilities: taken as they are, divided by, or refused.
_EXACT, _ROUNDED = 1e-9, 0.0101


def read_numbers(tokens: BIFTokens, limit: int, start: int) -> list[float]:
    """`limit` numbers up to the semicolon, and it: see `_probability_or_log`."""
    values = []
    while not tokens.at_sign(";"):
        if tokens.at_sign(","):
            tokens.advance()
            continue
        word = tokens.token
        if tokens.is_sign or len(word) > _LONGEST_NUMBER or not _NUMBER.fullmatch(word):
            raise tokens.error(f"a probability is expected, but here is {tokens.shown()}")
        values.append(_probability_or_log(word))
        if not values[-1] <= 1.0 + _ROUNDED:
            raise tokens.error(f"{brief(word)} is no probability")
        if len(values) > limit:
            break
        tokens.advance()
    if len(values) != limit:
        found = f"{len(values):,}" if len(values) < limit else "more"
        raise tokens.error(f"{limit:,} probabilities are expected, but here are {found}", start)
    tokens.advance()
    return values


def read_distribution(tokens: BIFTokens, r: int, start: int) -> list[float]:
    """The logarithms of `r` probabilities up to the semicolon, and it."""
    return logarithms(tokens, read_numbers(tokens, r, start), start)


def logarithms(tokens: BIFTokens, values: list[float], start: int) -> list[float]:
    """Logarithms of a distribution whose sum is near 1."""
    total = math.fsum(value for value in values if value > 0)
    if abs(total - 1) > _ROUNDED:
        raise tokens.error(f"these probabilities have the sum {total:.6g}, not 1", start)
    scale = total if abs(total - 1) > _EXACT else 1.0
    return [float(np.log(value / scale)) if value > 0 else value for value in values]


def read_plain_row(
    tokens: BIFTokens, places: list[dict[str, int]], r: int, rows: dict[int, list[float]]
) -> bool:
    """Read a row the short way, if all is right with it; else it is read word by word."""
    row = tokens.plain_row()
    if row is None:
        return False
    names, numbers, end = row
    if len(names) != len(places) or len(numbers) != r:
        return False
    key = 0
    for name, place in zip(names, places, strict=True):
        code = place.get(name)
        if code is None:
            return False
        key = key * len(place) + code
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        return False
    if key in rows or not all(_SHORT_WAY <= value <= 1.0 for value in values):
        return False
    if abs(math.fsum(values) - 1.0) > _EXACT:
        return False
    rows[key] = np.log(values).tolist()
    tokens.jump(end)
    return True


def _probability_or_log(word: str) -> float:
    """A probability, or its logarithm where it is 0 or too small for a float to keep its digits.

    Logarithms are at most 0 and those probabilities above it; numbers below 0 give NaN.
    """
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
