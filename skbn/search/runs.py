"""How often a search starts, what it tells meanwhile, and the best of its runs."""

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.callback import CallbackContext
from sklearn.utils.parallel import Parallel, delayed

from skbn.graphs.constraints import Constraints
from skbn.messages import brief
from skbn.scores.local_scores import LocalScores
from skbn.search.climbing import TIE, SearchResult
from skbn.search.searches import ExactSearch, Search
from skbn.search.starts import make_start, random_start
from skbn.subsets.all_families import AllFamilies

# Parts of a run that knows how far it is.
_STEPS = 20


@dataclass(eq=False)
class RunProgress:
    """One run of a search; may be sent to another process.

    Attributes
    ----------
    estimator : the estimator that is fitted
    context : CallbackContext
        Task of this run.
    ess : float
    number : int
    labels : sequence of hashable
        Names of the variables.
    verbose : int
        1 prints a line when the run ends and after each of its sweeps, 2 its moves too.
    """

    estimator: Any
    context: CallbackContext
    ess: float
    number: int
    labels: Sequence[Hashable]
    verbose: int
    _n_steps: int = 0
    _began: float = 0.0

    def begin(self) -> None:
        self._began = time.perf_counter()
        self.context.call_on_fit_task_begin(estimator=self.estimator)

    def advance(self, fraction: float) -> None:
        """So much of the run is done; for runs that know."""
        while self._n_steps < min(_STEPS, int(_STEPS * fraction + 1e-9)):
            self._n_steps += 1
            self._tell("part")

    def sweep(self, number: int, score: float, n_evaluations: int) -> None:
        """So many sweeps are done; 0 is the order that the run starts from."""
        if number:
            self._tell("sweep")
        if self.verbose:
            done = f"sweep {number}" if number else "first order"
            seconds = time.perf_counter() - self._began
            # Sweeps may take minutes: nobody should wait for a buffer to be full.
            print(
                f"{self._name}{done}, score {score:.4f}, {n_evaluations:,} families counted, "
                f"{seconds:.1f} s",
                flush=True,
            )

    def _tell(self, task: str) -> None:
        step = self.context.subcontext(task_name=task)
        step.call_on_fit_task_begin(estimator=self.estimator)
        step.call_on_fit_task_end(estimator=self.estimator)

    def end(self, result: SearchResult) -> bool:
        """Whether a callback asks for no further runs."""
        if self.verbose:
            self._print(result)
        return self.context.call_on_fit_task_end(estimator=self.estimator)

    @property
    def _name(self) -> str:
        return f"ess {self.ess:.4g}, run {self.number}: "

    def _print(self, result: SearchResult) -> None:
        if self.verbose > 1:
            for move, score in result.history:
                parent, child = self.labels[move.parent], self.labels[move.child]
                print(
                    f"{self._name}{move.kind} {brief(parent)} -> {brief(child)}, score {score:.4f}"
                )
        unit = "moves" if result.n_rounds is None else "rounds"
        print(f"{self._name}score {result.score:.4f} after {result.n_iter} {unit}")


class FitProgress:
    """The searches of one fit."""

    def __init__(
        self, estimator: Any, context: CallbackContext, labels: Sequence[Hashable], verbose: int
    ) -> None:
        self._estimator = estimator
        self._context = context
        self._labels = labels
        self._verbose = int(verbose)

    def search(self, ess: float, n_runs: int, search: Search) -> "SearchProgress":
        """The runs of one search, which may tell how much is done, or sweeps."""
        n_parts = None if getattr(search, "tells_sweeps", False) else 0
        if getattr(search, "tells_progress", False):
            n_parts = _STEPS
        context = self._context.subcontext(
            task_name=f"search (ess={ess:.4g})", max_subtasks=n_runs, sequential_subtasks=False
        )
        # Made ahead of the runs, which may be in threads or in other processes.
        runs = [
            RunProgress(
                self._estimator,
                context.subcontext("run", number, max_subtasks=n_parts),
                ess, number, self._labels, self._verbose,
            )
            for number in range(n_runs)
        ]
        return SearchProgress(self._estimator, context, runs)


@dataclass(eq=False)
class SearchProgress:
    """The runs of one search; a context manager."""

    _estimator: Any
    _context: CallbackContext
    runs: list[RunProgress]

    def __enter__(self) -> "SearchProgress":
        self._context.call_on_fit_task_begin(estimator=self._estimator)
        return self

    def __exit__(self, kind: type | None, *exception: object) -> None:
        if kind is None:
            self._context.call_on_fit_task_end(estimator=self._estimator)


@dataclass(frozen=True, eq=False)
class SearchRuns:
    """All runs of a search, the one from the initial graph first.

    Attributes
    ----------
    runs : list of SearchResult
    best : SearchResult
        The run with the highest score, the earliest of those within 1e-9 of it.
    """

    runs: list[SearchResult]

    @property
    def best(self) -> SearchResult:
        highest = max(run.score for run in self.runs)
        return next(r for r in self.runs if r.score >= highest - TIE * abs(highest))


def run_search(
    search: Search,
    scores: LocalScores,
    constraints: Constraints,
    init: "str | object",
    labels: Sequence[Hashable],
    seeds: Sequence[int],
    *,
    max_iter: int | None = None,
    n_jobs: int | None = None,
    progress: Sequence[RunProgress] | None = None,
    families: AllFamilies | None = None,
) -> SearchRuns:
    """Search from the initial graph, then from random graphs, one run for each of `seeds`.

    Each run has a random generator of its own, so that the runs do not depend on each other, on
    `n_jobs` or on the backend. Runs in threads share what they have counted. Constant columns get
    no edges but those required or given by `init`. Where the end of a run (one of `progress`) asks
    to stop, runs that have not begun are left out, unless they are in other processes. A search
    that looks at all graphs takes the `families`, which others ask for too.
    """
    # Edges at a column of one state change no score, so nothing else would keep a search off them.
    given, constraints = constraints, constraints.isolating(scores.data.cardinalities == 1)

    run = partial(
        _run, search, scores, given, constraints, init, labels, seeds, max_iter, families, [],
    )
    followed = [None] * len(seeds) if progress is None else progress
    if len(seeds) == 1:
        return SearchRuns([run(followed[0], 0)])
    try:
        runs = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(run)(followed[number], number) for number in range(len(seeds))
        )
    except BaseException:  # an interrupt, too: joblib does not wait for its threads
        scores.stop()
        raise
    return SearchRuns([result for result in runs if result is not None])


def _run(
    search: Search,
    scores: LocalScores,
    given: Constraints,
    constraints: Constraints,
    init: "str | object",
    labels: Sequence[Hashable],
    seeds: Sequence[int],
    max_iter: int | None,
    families: AllFamilies | None,
    stops: list[bool],
    progress: RunProgress | None,
    number: int,
) -> SearchResult | None:
    """One run, a function of its own so that every backend of joblib can send it elsewhere."""
    if stops:
        return None
    if progress is not None:
        progress.begin()
    rng = np.random.default_rng(seeds[number])
    if number == 0:
        kept = constraints if isinstance(init, str) else given
        start = make_start(init, search, scores, kept, labels, rng, max_iter)
    else:
        start = random_start(constraints, rng)
    told = {}
    if progress is not None and getattr(search, "tells_progress", False):
        told["progress"] = progress.advance
    elif progress is not None and getattr(search, "tells_sweeps", False):
        told["progress"] = progress.sweep
    if families is not None:
        told["families"] = families
    result = search.search(scores, start, constraints, rng, max_iter, **told)
    if progress is not None and progress.end(result):
        stops.append(True)
    return result


def run_search_grid(
    search: ExactSearch, scores: Sequence[LocalScores], constraints: Constraints,
    families: AllFamilies,
) -> list[SearchRuns]:
    """The runs for each of `scores`, which differ in their ess."""
    found = search.search_grid(scores, constraints, families=families)
    return [SearchRuns([result]) for result in found]


def draw_seeds(random_state: np.random.RandomState, n_restarts: int) -> list[int]:
    """Seeds of the runs; the first does not depend on how many there are."""
    return random_state.randint(np.iinfo(np.int32).max, size=1 + n_restarts).tolist()
