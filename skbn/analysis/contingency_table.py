"""The counts of two columns of a table, given others."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from skbn.graphs.constraints import position
from skbn.messages import brief
from skbn.tables.reading import open_table, read_table
from skbn.theory.contingency import Contingency


def contingency_table(
    X: Any,
    a: Hashable,
    b: Hashable,
    given: Sequence[Hashable] = (),
    *,
    categories: Any = "auto",
    sample_weight: Any = None,
) -> Contingency:
    """Count two columns of a table together, for every observed state of other columns.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_variables)
        Categories, without missing cells, in the columns that are named; others are not read.
    a, b : column names
        The two columns. Those of an array are called "x0", "x1", ...
    given : sequence of column names, default=()
        The other columns, the parents of the edge that is judged.
    categories : "auto", list or dict, default="auto"
        The levels of the columns, as in `BayesNetStructureEstimator`. Levels that do not occur
        count in |A|, |B| and |P|.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts; rows of weight zero are dropped, levels included.

    Returns
    -------
    Contingency
        What `uniformity`, `log_bayes_factor`, `large_ess_log_bayes_factor`,
        `large_ess_favours_edge`, `ess_threshold` and `ess_sign_changes` take.

    Raises
    ------
    ValueError, TypeError
        For what is no table of categories, for unknown columns and for one that is named twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbn import contingency_table, uniformity
    >>> table = pd.DataFrame({
    ...     "rain": list("nnnnyyyy"), "wet": list("nnnyyyyy"), "wind": list("nynynyny"),
    ... })
    >>> contingency_table(table, "rain", "wet").to_array()[:, :, 0]
    array([[3, 1],
           [0, 4]])
    >>> uniformity(contingency_table(table, "rain", "wet", given=["wind"]))
    0.625
    """
    table = open_table(X)
    index = {label: place for place, label in enumerate(table.names)}
    if isinstance(given, str):
        raise ValueError(f"given must be a list of column names. Write [{brief(given)}].")
    if not isinstance(given, Iterable):
        raise TypeError(f"given must be a list of column names, got {brief(given)}.")
    given = list(given)
    places = [position(label, index, "contingency_table") for label in (a, b, *given)]
    if len(set(places)) < len(places):
        raise ValueError(
            f"a, b and given must name different columns, got {brief(a)}, {brief(b)} and "
            f"{brief(given)}."
        )
    reading = read_table(table, None, sample_weight, categories, only={a, b, *given})
    a, b, *given = (reading.labels.index(label) for label in (a, b, *given))
    return Contingency.from_data(reading.data, a, b, sorted(given))
