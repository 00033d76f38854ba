"""What a fit tells while it runs: scikit-learn's callbacks, and printed lines."""

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.callback import CallbackContext

from skbn.messages import brief
from skbn.search.climbing import SearchResult
from skbn.search.searches import Search

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
