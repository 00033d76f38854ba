"""Searches as objects, and by the names that users give them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval

from skbn.graphs.constraints import Constraints
from skbn.graphs.graph import DAG
from skbn.messages import kept_short
from skbn.scores.local_scores import LocalScores
from skbn.search.climbing import (
    SearchResult,
    climb_first_ascent,
    climb_greedily,
    climb_with_tabu,
)
from skbn.search.exact import exact_searches
from skbn.search.order import search_orders
from skbn.subsets.all_families import AllFamilies


@runtime_checkable
class Search(Protocol):
    """What a search is: from one graph to a better one.

    An object of a class with this method, and with scikit-learn's `get_params` and `set_params`
    if its parameters are to be tuned, is accepted as ``search`` wherever a name is.

    Examples
    --------
    A search that is content with where it starts:

    >>> from skbn import BayesNetStructureEstimator, SearchResult
    >>> class NoSearch:
    ...     def search(self, scores, start, constraints, rng, max_iter=None):
    ...         score = scores.total(start.all_parents())
    ...         return SearchResult(start.all_parents(), score, score)
    >>> BayesNetStructureEstimator(search=NoSearch(), init="tree").fit([[0, 0], [1, 1]] * 9).edges_
    [('x0', 'x1')]
    """

    def search(
        self,
        scores: LocalScores,
        start: DAG,
        constraints: Constraints,
        rng: np.random.Generator,
        max_iter: int | None,
    ) -> SearchResult:
        """Search from one graph.

        Parameters
        ----------
        scores : LocalScores
            What to maximise: the local scores of a table, log graph prior included.
        start : DAG
            The graph that the search starts from, which keeps the constraints.
        constraints : Constraints
            Required and permitted edges, and the largest number of parents; every graph on the way
            keeps them.
        rng : numpy.random.Generator
            The source of everything random, so that a seed decides the result.
        max_iter : int or None
            Largest number of steps, whatever a step of the search is; None for no limit.

        Returns
        -------
        SearchResult
            The best graph found: its parents, its score in nats and how it was reached.
        """


class GreedySearch(BaseEstimator):
    """Make the best valid move (add, delete or reverse an edge) until none improves the score.

    Moves within 1e-9 of the score of the best are ties, of which one is drawn at random.
    ``max_iter`` limits the moves.

    Examples
    --------
    >>> from skbn import BayesNetStructureEstimator, GreedySearch
    >>> X = [["a", 0]] * 6 + [["b", 1]] * 2
    >>> bn = BayesNetStructureEstimator(search=GreedySearch(), init=[("x1", "x0")]).fit(X)
    >>> bn.history_, round(bn.structure_score_, 3)  # no move is better than none
    ([], -7.836)
    """

    def search(self, scores, start, constraints, rng, max_iter=None):
        """Climb greedily from one graph.

        Parameters
        ----------
        scores : LocalScores
            What to maximise: the local scores of a table, log graph prior included.
        start : DAG
            The graph that the climb starts from.
        constraints : Constraints
            Required and permitted edges, and the largest number of parents; every graph on the way
            keeps them.
        rng : numpy.random.Generator
            Draws one of the moves that tie.
        max_iter : int or None, default=None
            Largest number of moves; None for no limit.

        Returns
        -------
        SearchResult
            The graph that no move improves, or that of the last move, with the moves made.
        """
        return climb_greedily(scores, start, constraints, rng, max_iter)


class FirstAscentSearch(BaseEstimator):
    """Look at the valid moves in random order and make the first that improves the score.

    ``max_iter`` limits the moves.

    Examples
    --------
    >>> from skbn import BayesNetStructureEstimator, FirstAscentSearch
    >>> X = [["a", 0]] * 6 + [["b", 1]] * 2
    >>> bn = BayesNetStructureEstimator(search=FirstAscentSearch(), random_state=0).fit(X)
    >>> [step.kind for step in bn.history_], round(bn.structure_score_, 3)
    (['add'], -7.836)
    """

    def search(self, scores, start, constraints, rng, max_iter=None):
        """Climb from one graph by the first move that improves.

        Parameters
        ----------
        scores : LocalScores
            What to maximise: the local scores of a table, log graph prior included.
        start : DAG
            The graph that the climb starts from.
        constraints : Constraints
            Required and permitted edges, and the largest number of parents; every graph on the way
            keeps them.
        rng : numpy.random.Generator
            Puts the moves in order.
        max_iter : int or None, default=None
            Largest number of moves; None for no limit.

        Returns
        -------
        SearchResult
            The graph that no move improves, or that of the last move, with the moves made.
        """
        return climb_first_ascent(scores, start, constraints, rng, max_iter)


class TabuSearch(BaseEstimator):
    """Greedy search that goes on downhill for a while and keeps the best graph that it met.

    ``max_iter`` limits the moves.

    Parameters
    ----------
    tabu_length : int, default=10
        How many of the last moves may not be undone, unless that leads to the best graph so far.
    patience : int, default=10
        The search ends after this many moves without a new best graph.

    Examples
    --------
    >>> from skbn import BayesNetStructureEstimator, TabuSearch
    >>> X = [["a", 0]] * 6 + [["b", 1]] * 2
    >>> bn = BayesNetStructureEstimator(search=TabuSearch(tabu_length=2), random_state=0)
    >>> round(bn.fit(X).structure_score_, 3)
    -7.836
    >>> bn.set_params(search__patience=50).search  # as GridSearchCV would
    TabuSearch(patience=50, tabu_length=2)
    """

    _parameter_constraints: ClassVar[dict] = {
        "tabu_length": [Interval(Integral, 0, None, closed="left")],
        "patience": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, tabu_length=10, patience=10):
        self.tabu_length = tabu_length
        self.patience = patience

    def search(self, scores, start, constraints, rng, max_iter=None):
        """Climb from one graph, downhill too where nothing leads up.

        Parameters
        ----------
        scores : LocalScores
            What to maximise: the local scores of a table, log graph prior included.
        start : DAG
            The graph that the climb starts from.
        constraints : Constraints
            Required and permitted edges, and the largest number of parents; every graph on the way
            keeps them.
        rng : numpy.random.Generator
            Draws one of the moves that tie.
        max_iter : int or None, default=None
            Largest number of moves; None for no limit.

        Returns
        -------
        SearchResult
            The best graph met, which need not be that of the last move, with the moves that led
            to it.
        """
        with kept_short():
            self._validate_params()
        return climb_with_tabu(
            scores, start, constraints, rng, max_iter, self.tabu_length, self.patience
        )


class OrderSearch(BaseEstimator):
    """Best order score search: put one variable after another at its best place in an order.

    Every variable's parents are grown and shrunk among its predecessors. This leaves the plateaus
    of equal scores on which single moves of edges get stuck. The first order is random but for
    the edges of the start, which point forward. ``max_iter`` limits the sweeps over all variables.

    Every parent set that growing meets is scored with each other variable in turn, so the time
    grows with the square of the number of variables and with the number of parents. Where columns
    have many states, most of it goes into large parent sets; ``max_parents`` of the estimator cuts
    them off.

    Attributes
    ----------
    tells_sweeps : bool
        That `search` takes ``progress``, a function of the number of sweeps, the score and the
        number of families counted.

    References
    ----------
    B. Andrews et al. Fast Scalable and Accurate Discovery of DAGs Using the Best Order Score
    Search and Grow-Shrink Trees. NeurIPS 2023.

    Examples
    --------
    >>> from skbn import BayesNetStructureEstimator, OrderSearch
    >>> X = [["a", 0]] * 6 + [["b", 1]] * 2
    >>> bn = BayesNetStructureEstimator(search=OrderSearch(), random_state=0).fit(X)
    >>> bn.n_iter_, round(bn.structure_score_, 3)  # one sweep, which changed nothing
    (1, -7.836)
    """

    tells_sweeps: ClassVar[bool] = True

    def search(self, scores, start, constraints, rng, max_iter=None, progress=None):
        """Search orders, from one in which the edges of a graph point forward.

        Parameters
        ----------
        scores : LocalScores
            What to maximise: the local scores of a table, log graph prior included.
        start : DAG
            Decides nothing but the first order.
        constraints : Constraints
            Required and permitted edges, and the largest number of parents; every graph on the way
            keeps them.
        rng : numpy.random.Generator
            Draws the first order, the order of the variables in a sweep, and one of the places
            that tie.
        max_iter : int or None, default=None
            Largest number of sweeps over all variables; None for no limit.
        progress : callable, default=None
            Called with the number of sweeps, the score and the number of families counted so far:
            with the first order, and after every sweep.

        Returns
        -------
        SearchResult
            The graph of the last order, with the number of sweeps in place of moves.
        """
        return search_orders(scores, start, constraints, rng, max_iter, progress)


class ExactSearch(BaseEstimator):
    """The best of all graphs, proven, by dynamic programming over subsets of the variables.

    Time and memory double with every column; up to 25 columns are comfortable. Starts, restarts
    and ``max_iter`` mean nothing to it. Where graphs tie, one with the fewest edges is returned.

    Parameters
    ----------
    max_memory : int, default=None
        Bytes that the search may take; None for the memory that is available. A search that would
        take more is refused before it starts.
    n_jobs : int, default=None
        Threads; the result does not depend on it.
    verbose : int, default=0
        1 prints how much is done, every 10 %.

    Attributes
    ----------
    tells_progress : bool
        That `search` takes ``progress``, a function of the fraction that is done.

    References
    ----------
    T. Silander, P. Myllymaki. A Simple Approach for Finding the Globally Optimal Bayesian Network
    Structure. UAI 2006.

    Examples
    --------
    >>> from skbn import BayesNetStructureEstimator, ExactSearch
    >>> X = [["a", 0]] * 6 + [["b", 1]] * 2
    >>> bn = BayesNetStructureEstimator(search=ExactSearch(max_memory=10**8)).fit(X)
    >>> len(bn.edges_), round(bn.structure_score_, 3)
    (1, -7.836)
    """

    _parameter_constraints: ClassVar[dict] = {
        "max_memory": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }
    tells_progress: ClassVar[bool] = True

    def __init__(self, max_memory=None, n_jobs=None, verbose=0):
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def search(self, scores, start, constraints, rng, max_iter=None, progress=None, families=None):
        """Find the best graph of all.

        Parameters
        ----------
        scores : LocalScores
            What to maximise: the local scores of a table, log graph prior included.
        start : DAG
            Read for `start_score` only.
        constraints : Constraints
            Required and permitted edges, and the largest number of parents.
        rng : numpy.random.Generator
            Not used: nothing is random.
        max_iter : int or None, default=None
            Not used, since there are no moves.
        progress : callable, default=None
            Called with the fraction that is done, from 0 to 1.
        families : AllFamilies, default=None
            Those of this table and these constraints, if others ask for them too.

        Returns
        -------
        SearchResult
            The best graph, of those that tie one with the fewest edges.

        Raises
        ------
        MemoryError
            If the search would take more than `max_memory`; before it starts.
        """
        (result,) = self.search_grid([scores], constraints, progress, families)
        return replace(result, start_score=scores.total(start.all_parents()))

    def search_grid(self, scores, constraints, progress=None, families=None):
        """Find the best graph for several equivalent sample sizes at once.

        All sets of variables are counted once for the whole grid. There is no start.

        Parameters
        ----------
        scores : sequence of LocalScores
            Of one table; they differ in nothing but their ess.
        constraints : Constraints
            Required and permitted edges, and the largest number of parents.
        progress : callable, default=None
            Called with the fraction that is done, from 0 to 1.
        families : AllFamilies, default=None
            Those of this table and these constraints, if others ask for them too.

        Returns
        -------
        list of SearchResult
            The best graph for each of `scores`.

        Raises
        ------
        MemoryError
            If the search would take more than `max_memory`; before it starts.
        """
        with kept_short():
            self._validate_params()
        told = [_Progress()] if self.verbose else []
        told += [] if progress is None else [progress]
        networks = exact_searches(
            scores,
            families or AllFamilies(scores[0].data, constraints),
            max_memory=self.max_memory,
            n_jobs=self.n_jobs,
            progress=partial(_tell, told) if told else None,
        )
        return [
            SearchResult(found.parents, found.score, found.score, n_rounds=1) for found in networks
        ]


class _Progress:
    """Prints the share that is done, every 10 %."""

    def __init__(self) -> None:
        self._printed = 0

    def __call__(self, fraction: float) -> None:
        tenths = int(10 * fraction + 1e-9)
        if tenths > self._printed:
            self._printed = tenths
            print(f"exact search: {10 * tenths} % done")


def _tell(functions: list[Callable[[float], None]], fraction: float) -> None:
    for function in functions:
        function(fraction)


SEARCHES: dict[str, Search] = {
    "greedy": GreedySearch(),
    "first_ascent": FirstAscentSearch(),
    "tabu": TabuSearch(),
    "order": OrderSearch(),
    "exact": ExactSearch(),
}


def as_search(search: "str | Search") -> Search:
    """The search object that a name stands for, or `search` itself if it is one."""
    if isinstance(search, type):
        raise TypeError(f"search must be a name or an object, got the class {search.__name__}. "
                        f"Call it: {search.__name__}().")
    return SEARCHES[search] if isinstance(search, str) else search
