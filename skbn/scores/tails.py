"""Terms of large counts as one formula, so that the kernels need no table of them."""

import math
from typing import NamedTuple

# Beyond this alpha ln G(alpha) is so large that a difference of two gamma terms loses digits.
_LARGEST_ALPHA = 1024.0


class Tail(NamedTuple):
    """f(n) = (x - half) ln x + constant + linear n + series R(x), with x = n + shift, n >= 1024.

    R(x) = 1 / (12 x) - 1 / (360 x^3) + 1 / (1260 x^5) is the remainder of Stirling's series, from
    1024 on to the last digit.
    """

    shift: float
    half: float
    constant: float
    linear: float
    series: float


# n ln n
ENTROPY = Tail(0.0, 0.0, 0.0, 0.0, 0.0)


def rising_tail(log_alpha: float) -> Tail | None:
    """The tail of ln G(n + alpha) - ln G(alpha); None where alpha is too large for it.

    Examples
    --------
    >>> import math
    >>> tail = rising_tail(math.log(2.0))
    >>> x = 5000 + tail.shift
    >>> value = (x - tail.half) * math.log(x) + tail.constant + tail.linear * 5000
    >>> round(value + tail.series / (12 * x) - (math.lgamma(5002.0) - math.lgamma(2.0)), 9)
    0.0
    """
    if log_alpha > math.log(_LARGEST_ALPHA):
        return None
    alpha = math.exp(log_alpha)
    # ln G(alpha) = ln G(1 + alpha) - ln alpha has no pole, and alpha may have underflown to 0.
    start = math.lgamma(1.0 + alpha) - log_alpha
    return Tail(alpha, 0.5, 0.5 * math.log(2.0 * math.pi) - alpha - start, -1.0, 1.0)
