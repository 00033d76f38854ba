"""The refusal of missing cells: all columns that have some, and what to do about them."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Gap(NamedTuple):
    """The missing cells of a column: how many, the row of the first, and a cure by pandas.

    Columns of one `kind` have the same cure.
    """

    label: Any
    count: int
    first: int
    kind: str
    cure: str


class MissingCellsError(ValueError):
    """Columns have missing cells where that is not allowed.

    Parameters
    ----------
    gaps : sequence of Gap
        Those of a class have the kind "class": a class cannot be filled or made up.
    """

    def __init__(self, gaps: Sequence[Gap]) -> None:
        self.gaps = list(gaps)
        found = ", ".join(
            f"Column {gap.label!r} has {gap.count} missing value(s) (NaN, None or null), the first "
            f"in row {gap.first}" if place == 0 else
            f"column {gap.label!r} has {gap.count}, the first in row {gap.first}"
            for place, gap in enumerate(self.gaps)
        )
        # A line of each kind is enough: the same is done to the other columns.
        cures: dict[str, str] = {}
        for gap in self.gaps:
            cures.setdefault(gap.kind, gap.cure)
        of_class = cures.pop("class", None)
        advice = [f"{found} (counted from 0)."]
        if cures:
            which = "Fill them" if of_class is None else "Fill those of X"
            advice.append(
                f"{which}, drop their rows, or make them a category of their own: with "
                "handle_missing='category' in the estimators, or in the table, for example with "
                f"{'; '.join(cures.values())}."
            )
        if of_class is not None:
            advice.append(f"A class must be known: leave out the rows without one, {of_class}.")
        super().__init__(" ".join(advice))

    def __reduce__(self):
        # Errors are sent from other processes with what they were made of.
        return MissingCellsError, (self.gaps,)
