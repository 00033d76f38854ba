"""The kinds of calls, and how often each is made."""

import warnings

from contingency import ArrayCall, ContingencyCall
from displays import CurveDisplayCall, NetworkDisplayCall
from estimators import EstimatorCall
from files import ReadCall, WriteCall
from graphs import ComparisonCall
from paths import PathCall
from posteriors import PosteriorCall
from questions import QuestionCall, StructureCall
from resampling import BootstrapCall, EstimatorsCall
from scores import GraphCall
from searches import SearchCVCall
from theory import TheoryCall

# In a round of cases; every kind comes in each.
ROUND = {
    EstimatorCall: 20, GraphCall: 8, PathCall: 2, SearchCVCall: 2, PosteriorCall: 3, TheoryCall: 2,
    QuestionCall: 8, StructureCall: 2,
    ReadCall: 4, WriteCall: 4, ComparisonCall: 4, ContingencyCall: 4,
    ArrayCall: 2, BootstrapCall: 2, EstimatorsCall: 2,
    NetworkDisplayCall: 2, CurveDisplayCall: 1,
}
_DEALT = sorted(
    ((k + 0.5) / share, kind.__name__, kind) for kind, share in ROUND.items() for k in range(share)
)


def kind_of_call(number, only=None):
    """The kind of a case: all kinds come, spread evenly, in as many cases as a round has."""
    if only is not None:
        return next(kind for kind in ROUND if kind.__name__ == only)
    return _DEALT[number % len(_DEALT)][2]


def draw_call(rng, kind):
    """One call with everything that it needs."""
    with warnings.catch_warnings():
        # What makes the tables may warn; what reads them may not.
        warnings.simplefilter("ignore")
        return kind(rng)
