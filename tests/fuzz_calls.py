"""The kinds of calls, and how often each is made."""

import warnings

from fuzz_estimators import EstimatorCall
from fuzz_paths import PathCall
from fuzz_posteriors import PosteriorCall
from fuzz_scores import GraphCall
from fuzz_searches import SearchCVCall
from fuzz_theory import TheoryCall

# In a round of cases; every kind comes in each.
ROUND = {
    EstimatorCall: 20, GraphCall: 8, PathCall: 2, SearchCVCall: 2, PosteriorCall: 3, TheoryCall: 2,
}
_DEALT = sorted(
    ((k + 0.5) / share, kind.__name__, kind) for kind, share in ROUND.items() for k in range(share)
)


def kind_of_call(number):
    """The kind of a case: all kinds come, spread evenly, in as many cases as a round has."""
    return _DEALT[number % len(_DEALT)][2]


def draw_call(rng, kind):
    """One call with everything that it needs."""
    with warnings.catch_warnings():
        # What makes the tables may warn; what reads them may not.
        warnings.simplefilter("ignore")
        return kind(rng)
