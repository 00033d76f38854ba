"""How often a search starts, and the best of its runs."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skbn.graphs.constraints import Constraints
from skbn.scores.local_scores import LocalScores
from skbn.search.climbing import TIE, SearchResult
from skbn.search.progress import RunProgress
from skbn.search.searches import ExactSearch, Search
from skbn.search.starts import make_start, random_start
from skbn.subsets.all_families import AllFamilies


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
