"""Exact posterior probabilities of the edges between the columns of a table."""

from numbers import Integral, Real
from typing import TYPE_CHECKING

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from skbn.graphs.constraints import Constraints, read_graph_prior
from skbn.messages import kept_short
from skbn.scores.by_name import SCORES, as_score
from skbn.scores.local_scores import LocalScores
from skbn.tables.reading import read_table

if TYPE_CHECKING:
    from skbn.posteriors.edge_posteriors import EdgePosteriors

_PARAMETERS = {
    "prior": [StrOptions({"graphs", "orders"})],
    "score_type": [
        StrOptions(set(SCORES)), HasMethods(["cell_terms", "parent_terms", "constant"])
    ],
    "ess": [Interval(Real, 0, None, closed="neither")],
    "max_parents": [Interval(Integral, 0, None, closed="left"), None],
    "graph_prior": [Interval(Real, None, None, closed="neither"), callable, None],
    "categories": [StrOptions({"auto"}), list, tuple, dict],
    "max_memory": [Interval(Real, 0, None, closed="neither"), None],
    "n_jobs": [Integral, None],
}


def edge_posteriors(
    X,
    *,
    prior="graphs",
    score_type="bdeu",
    ess=1.0,
    max_parents=None,
    required_edges=None,
    forbidden_edges=None,
    tiers=None,
    graph_prior=None,
    categories="auto",
    sample_weight=None,
    max_memory=None,
    n_jobs=None,
) -> "EdgePosteriors":
    """Sum the probability of every edge, given a table, over all directed acyclic graphs.

    The sum is exact: no graph is left out and none is drawn.

    The best graph is one of many that explain a table almost as well. What they agree on is what
    the data say; and the equivalent sample size bends the posterior as much as it bends the best
    graph (Steck 2008, Sec. 6), which a look at several of them shows.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_variables)
        Categories, without missing cells. The columns of an array are called "x0", "x1", ...
    prior : {"graphs", "orders"}, default="graphs"
        What is uniform before the data, where `graph_prior` is None: "graphs", all directed
        acyclic graphs that meet the constraints; "orders", all pairs of an order of the variables
        and a graph that agrees with it (Koivisto & Sood 2004). The second takes seconds where the
        first takes a minute, but favours graphs that many orders agree with, those of few and
        scattered edges, and treats equivalent graphs differently.
    score_type : str or score object, default="bdeu"
        As in `BayesNetStructureEstimator`. A graph weighs exp(score).
    ess : float, default=1.0
        Equivalent sample size, in rows, for the scores that use one.
    max_parents : int, default=None
        Largest number of parents of a variable. Columns of one state get none but required ones.
    required_edges : iterable of (parent, child) names, default=None
        Edges that every graph has.
    forbidden_edges : iterable of (parent, child) names, default=None
        Edges that no graph has.
    tiers : iterable of groups of names, default=None
        No edge leads from a later group to an earlier one.
    graph_prior : float or callable, default=None
        Log prior of graphs, in nats: a penalty per edge, or a function of a variable and its
        parents, by name. None leaves it to `prior`.
    categories : "auto", list or dict, default="auto"
        The levels of the columns, as in `BayesNetStructureEstimator`.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts; rows of weight zero are dropped, levels included. Weights that
        are shares make next to no rows, which a `DataWarning` tells; BIC and MDL refuse those that
        sum to 1 or less.
    max_memory : int, default=None
        Bytes that this may take; None for the memory that is available.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.

    Returns
    -------
    EdgePosteriors
        Its `edges` is the matrix P(row -> column | data); its methods answer further questions.

    Raises
    ------
    MemoryError
        Before it starts, if it would not fit into memory.
    ValueError
        If no graph meets the constraints, or families have to be scored one by one and are too
        many.

    Warns
    -----
    DataWarning
        If columns look like measurements or identifiers, if the weights look like shares, and if
        more than a tenth of the posterior of a variable's parents is on families that the rows say
        next to nothing about; see the page on searching.

    Notes
    -----
    Time triples with every column: below a second for 15 columns, about a minute for 20 that are
    hardly dependent, less where they depend on each other. Memory doubles: 0.5 GB for 20. See
    `skbn.posteriors.graph_sums` for the method and its accuracy. Constraints on edges, and priors
    that are functions, take a second sum for the normalisation of the prior.

    References
    ----------
    J. Tian, R. He. Computing Posterior Probabilities of Structural Features in Bayesian Networks.
    UAI 2009. M. Koivisto, K. Sood. Exact Bayesian Structure Discovery in Bayesian Networks. JMLR
    5, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import edge_posteriors
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(200) < 0.3
    >>> wet = np.where(rng.random(200) < 0.8, rain, ~rain)
    >>> X = np.column_stack([rain, wet, rng.random(200) < 0.4])
    >>> posterior = edge_posteriors(X, ess=1.0)
    >>> posterior.adjacent.round(2)
    array([[0.  , 1.  , 0.07],
           [1.  , 0.  , 0.06],
           [0.07, 0.06, 0.  ]])
    >>> posterior.parent_sets("x1", n=2)[0].parents
    ('x0',)
    """
    parameters = {
        "prior": prior, "score_type": score_type, "ess": ess, "max_parents": max_parents,
        "graph_prior": graph_prior, "categories": categories, "max_memory": max_memory,
        "n_jobs": n_jobs,
    }
    with kept_short():
        validate_parameter_constraints(_PARAMETERS, parameters, caller_name="edge_posteriors")
    reading = read_table(X, None, sample_weight, categories)
    reading.warn_of_columns()
    labels = reading.labels
    scores = LocalScores(
        reading.data, as_score(score_type), ess, read_graph_prior(graph_prior, labels)
    )
    constraints = Constraints.from_names(
        labels, required_edges=required_edges, forbidden_edges=forbidden_edges, tiers=tiers,
        max_parents=max_parents,
    )
    # Sums over all graphs are imported when they are asked for.
    from skbn.posteriors.marginal_likelihood import posterior_of

    reading.warn_of_weights()
    return posterior_of(
        scores, labels, constraints, prior=prior, max_memory=max_memory, n_jobs=n_jobs
    )
