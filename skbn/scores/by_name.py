"""Scores by the names that users give them, and scores of their own."""

from typing import Any

from skbn.messages import brief, first_few
from skbn.scores.bayesian import BDJ, K2, BDeu, BDs
from skbn.scores.likelihood import AIC, BIC, MDL, LogLikelihood
from skbn.scores.nml import FNML, QNML
from skbn.scores.score import Score

SCORES: dict[str, Score] = {
    "bdeu": BDeu(),
    "loglik": LogLikelihood(),
    "bic": BIC(),
    "aic": AIC(),
    "mdl": MDL(),
    "k2": K2(),
    "bds": BDs(),
    "bdj": BDJ(),
    "fnml": FNML(),
    "qnml": QNML(),
}


class OwnScore(Score):
    """A user's score of a class that is not derived from `Score`, with what it leaves out."""

    cell_terms = parent_terms = constant = None  # those of the object itself

    def __init__(self, score: Any) -> None:
        self._own = score
        for name in Score.METHODS:
            setattr(self, name, getattr(score, name))
        for name in ("tabulated", "needs_whole_counts", "uses_ess"):
            setattr(self, name, getattr(score, name, getattr(Score, name)))

    def __repr__(self) -> str:
        return repr(self._own)


def as_score(score_type: "str | Score") -> Score:
    """The score that a name stands for, or that a user brings."""
    if isinstance(score_type, str):
        if score_type not in SCORES:
            raise ValueError(
                f"score_type must be one of {first_few(list(SCORES), 10)} or a score object, "
                f"got {brief(score_type)}."
            )
        return SCORES[score_type]
    missing = [
        name for name in Score.METHODS if not callable(getattr(score_type, name, None))
    ]
    if missing or isinstance(score_type, type):
        what = "a class, not an object" if isinstance(score_type, type) else brief(score_type)
        raise TypeError(
            "score_type must be the name of a score or an object with the methods cell_terms, "
            f"parent_terms and constant, got {what}"
            + (f" without {', '.join(missing)}." if missing else "; call it.")
        )
    return score_type if Score in type(score_type).__mro__ else OwnScore(score_type)
