"""How often edges are found again when the rows are drawn anew."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state, check_scalar, indexable
from sklearn.utils.validation import _num_samples

from skbn.estimators.estimator import BayesNetStructureEstimator
from skbn.graphs.equivalence import cpdag_of
from skbn.messages import brief, first_few
from skbn.scores.saturated import SaturatedFamilies
from skbn.tables.reading import open_table, warn_of_columns

if TYPE_CHECKING:
    import pandas

_LARGEST_SEED = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapEdges:
    """The result of `bootstrap_edges`.

    Parameters
    ----------
    labels : list
        Names of the variables.
    n_resamples : int
        How many graphs were learned.
    directed : ndarray of shape (n_variables, n_variables)
        Share of the graphs that have the edge row -> column.
    compelled : ndarray of shape (n_variables, n_variables)
        Share of the graphs in whose equivalence class all graphs have the edge row -> column. The
        other part of `directed` is a direction that the data cannot tell.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import BootstrapEdges
    >>> found = BootstrapEdges(
    ...     ["a", "b"], 10, np.array([[0.0, 0.5], [0.4, 0.0]]), np.zeros((2, 2))
    ... )
    >>> found.strength
    array([[0. , 0.9],
           [0.9, 0. ]])
    >>> float(found.to_frame().loc["a", "b"])
    0.5
    """

    labels: list[Hashable]
    n_resamples: int
    directed: np.ndarray
    compelled: np.ndarray

    @property
    def strength(self) -> np.ndarray:
        """Share of the graphs that join two variables in either direction; symmetric."""
        return self.directed + self.directed.T

    def to_frame(self, what: str = "directed") -> "pandas.DataFrame":
        """A matrix as a data frame with the variables down and across.

        Parameters
        ----------
        what : {"directed", "compelled", "strength"}, default="directed"
            Which of the matrices.

        Returns
        -------
        pandas.DataFrame of shape (n_variables, n_variables)
            Shares from 0 to 1, parents down and children across.

        Raises
        ------
        ValueError
            For another name of a matrix.
        ImportError
            Without pandas.
        """
        import pandas as pd

        if what not in ("directed", "compelled", "strength"):
            raise ValueError(
                f"what must be 'directed', 'compelled' or 'strength', got {brief(what)}."
            )
        index = pd.Index(self.labels, tupleize_cols=False)
        return pd.DataFrame(getattr(self, what), index=index, columns=index)

    def __repr__(self) -> str:
        n = len(self.labels)
        return f"BootstrapEdges({n} variable{'s' * (n != 1)}, {self.n_resamples} resamples)"


def bootstrap_edges(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_resamples: int = 100,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> BootstrapEdges:
    """Learn graphs of resampled rows, and count in how many each edge is.

    Each resample has as many rows as the table, drawn with replacement (Friedman, Goldszmidt and
    Wyner, 1999). Levels are those of the whole table in every resample.

    Parameters
    ----------
    estimator : BayesNetStructureEstimator, BayesNetClassifier or Pipeline that ends in one
        Cloned for each resample; it is not fitted itself. The other steps of a pipeline are fitted
        anew on the rows of each resample, and must make the same columns every time.
    X : array-like or data frame of shape (n_samples, n_features)
        As `fit` of the estimator takes it.
    y : array-like of shape (n_samples,), default=None
        The target, where the estimator is to be fitted with one; a variable of the graphs.
    n_resamples : int, default=100
        How many graphs are learned.
    n_jobs : int, default=None
        Resamples at a time, by joblib.
    random_state : int, RandomState instance or None, default=None
        Draws the rows, and a seed for the search in each resample.

    Returns
    -------
    BootstrapEdges
        The share of the graphs with each edge, and with each edge compelled.

    Raises
    ------
    ValueError, TypeError
        As `fit` of the estimator; for an estimator of another kind, a search among them; and for
        a pipeline whose steps make other columns of other rows.

    Warns
    -----
    DataWarning
        As `fit` of the estimator, but once for all resamples.

    See Also
    --------
    NetworkDisplay : Draws frequencies as widths of edges.

    References
    ----------
    N. Friedman, M. Goldszmidt, A. Wyner. Data Analysis with Bayesian Networks: A Bootstrap
    Approach. UAI 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import BayesNetStructureEstimator, bootstrap_edges
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(200) < 0.3
    >>> wet = np.where(rng.random(200) < 0.9, rain, ~rain)
    >>> X = np.column_stack([rain, wet, rng.random(200) < 0.5])
    >>> found = bootstrap_edges(BayesNetStructureEstimator(), X, n_resamples=20, random_state=0)
    >>> found
    BootstrapEdges(3 variables, 20 resamples)
    >>> bool(found.strength[0, 1] == 1), bool(found.compelled.max() < 0.5)
    (True, True)
    """
    check_scalar(n_resamples, "n_resamples", Integral, min_val=1)
    if n_jobs is not None:
        check_scalar(n_jobs, "n_jobs", Integral)
    rng = check_random_state(random_state)
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(final, BayesNetStructureEstimator):
        raise TypeError(
            "bootstrap_edges takes a BayesNetStructureEstimator, a BayesNetClassifier or a "
            f"Pipeline that ends in one, got {type(estimator).__name__}"
            + (f" that ends in {type(final).__name__}" if final is not estimator else "")
            + ". Of a search pass best_estimator_."
        )
    if final is estimator or len(estimator) == 1:
        before, levels, n_rows = None, final._levels(X, y, warn=True), open_table(X).shape[0]
    else:
        if isinstance(X, Mapping):
            raise TypeError("X must be an array or a data frame, got a dictionary.")
        X, y = indexable(X, y)
        before, levels, n_rows = estimator[:-1], None, _num_samples(X)
    seeds = rng.randint(_LARGEST_SEED, size=(n_resamples, 2))
    found = Parallel(n_jobs=n_jobs)(
        delayed(_resample)(before, final, X, y, n_rows, levels, *pair) for pair in seeds.tolist()
    )
    labels, directed, compelled, saturated, no_categories = zip(*found, strict=True)
    other = next((names for names in labels if names != labels[0]), None)
    if other is not None:
        one, other = (
            [label for label in names if label not in others] or names
            for names, others in ((labels[0], other), (other, labels[0]))
        )
        raise ValueError(
            f"The steps before the last make columns {first_few(one)} of one resample and "
            f"{first_few(other)} of another, so that edges cannot be counted. Fix the columns, or "
            "pass the last step and the table: bootstrap_edges(pipe[-1], "
            "pipe[:-1].fit_transform(X, y), y)."
        )
    # One word for all resamples, that of the first which has something to say.
    warn_of_columns(next(filter(None, no_categories), []), n_rows)
    told = [one for one in saturated if one.families]
    if told:
        told[0].warn(f"{len(told):,} of {n_resamples:,} resampled graphs have, as one of them,")
    return BootstrapEdges(
        labels[0], int(n_resamples), np.mean(directed, axis=0), np.mean(compelled, axis=0)
    )


def _resample(
    before: Pipeline | None, estimator: Any, X: Any, y: Any, n_rows: int, levels: dict | None,
    row_seed: int, search_seed: int,
) -> tuple[list[Hashable], np.ndarray, np.ndarray, SaturatedFamilies, list]:
    """Labels, the edges of the graph learned, those of them that are compelled, and doubts.

    The doubts are of families, and of columns where the steps of a pipeline make them.
    """
    no_categories = []
    drawn = np.random.default_rng(row_seed).integers(n_rows, size=n_rows)
    if before is not None:
        # The steps see the rows that were drawn, as often as they were. The whole table then goes
        # through them, for the levels that the rows left out have.
        y_drawn = None if y is None else _safe_indexing(y, drawn)
        X = clone(before).fit(_safe_indexing(X, drawn), y_drawn).transform(X)
    if levels is None:
        reading = clone(estimator)._read(X, y, None)[2]
        levels = dict(zip(reading.labels, reading.categories, strict=True))
        no_categories = reading.no_categories
    # Rows that are not drawn have weight zero.
    weights = np.bincount(drawn, minlength=n_rows).astype(np.float64)
    copy = clone(estimator).set_params(categories=levels, random_state=search_seed)
    saturated = copy._fit(X, y, weights)
    adjacency = copy.adjacency_
    either_way = cpdag_of(adjacency)
    return list(levels), adjacency, either_way & ~either_way.T, saturated, no_categories
