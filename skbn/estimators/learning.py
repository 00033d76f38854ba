"""What an estimator learns from encoded data: a graph, and the ESS if it is to be chosen too."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from skbn.counting.data import CategoricalData
from skbn.ess.coordinate_ascent import Ascent, ascend, fixed_graph_ess
from skbn.graphs.constraints import Constraints, LogPrior
from skbn.inference.conditional_table import ConditionalTable, count_table, table_of_counts
from skbn.scores.by_name import SCORES
from skbn.scores.local_scores import LocalScores
from skbn.scores.saturated import SaturatedFamilies
from skbn.scores.score import Score
from skbn.search.runs import FitProgress, SearchRuns, run_search, run_search_grid
from skbn.search.searches import ExactSearch, Search
from skbn.subsets.all_families import AllFamilies

# Bytes that the local scores of one ESS of a grid may remember: they are held all at once.
_GRID_MEMORY = 2**21


@dataclass(eq=False)
class Learning:
    """Everything that a search needs but the equivalent sample size.

    Attributes
    ----------
    data : CategoricalData
    labels : list
        Names of the variables.
    score : Score
    search : Search
    constraints : Constraints
    log_prior : callable or None
    init : str or graph
    seeds : list of int
        One per run: the first from `init`, the others from random graphs.
    max_iter, n_jobs
        As in the estimator.
    progress : FitProgress or None
        Told of every search and its runs.
    n_evaluations : int
        Families counted so far.
    """

    data: CategoricalData
    labels: Sequence[Hashable]
    score: Score
    search: Search
    constraints: Constraints
    log_prior: LogPrior | None
    init: object
    seeds: list[int]
    max_iter: int | None = None
    n_jobs: int | None = None
    progress: FitProgress | None = None
    n_evaluations: int = 0
    _found: dict[tuple[int, float | None], SearchRuns] = field(default_factory=dict)
    _counted: dict[tuple[int, tuple[int, ...]], tuple] = field(default_factory=dict)

    @property
    def is_exact(self) -> bool:
        """Whether the search looks at all graphs."""
        return isinstance(self.search, ExactSearch)

    @cached_property
    def families(self) -> AllFamilies:
        """What all graphs are made of, for the exact search and for sums over graphs."""
        # Edges at a column of one state change no score.
        constraints = self.constraints.isolating(self.data.cardinalities == 1)
        return AllFamilies(self.data, constraints)

    def expect(self, ess_values: Sequence[float]) -> None:
        """Search for several equivalent sample sizes at once if the search can."""
        if not (len(ess_values) > 1 and self.score.uses_ess and self.is_exact):
            return
        scores = [
            LocalScores(self.data, self.score, ess, self.log_prior, memory=_GRID_MEMORY)
            for ess in ess_values
        ]
        runs = run_search_grid(self.search, scores, self.constraints, self.families)
        for ess, found in zip(ess_values, runs, strict=True):
            self._found[id(self.score), ess] = found
        self.n_evaluations += sum(one.n_evaluations for one in scores)

    def graph(self, ess: float, score: Score | None = None) -> SearchRuns:
        """The best graph for one equivalent sample size."""
        score = self.score if score is None else score
        key = (id(score), ess if score.uses_ess else None)
        if key in self._found:
            return self._found[key]
        scores = LocalScores(self.data, score, ess, self.log_prior)
        run = partial(
            run_search,
            self.search,
            scores,
            self.constraints,
            self.init,
            self.labels,
            self.seeds,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            families=self.families if self.is_exact else None,
        )
        if self.progress is None:
            runs = run()
        else:
            with self.progress.search(ess, len(self.seeds), self.search) as of_search:
                runs = run(progress=of_search.runs)
        self.n_evaluations += scores.n_evaluations
        self._found[key] = runs
        return runs

    def saturated(self, runs: Sequence[SearchRuns]) -> SaturatedFamilies:
        """The families of the graphs found that the data can say next to nothing about."""
        families = {family for one in runs for family in enumerate(map(tuple, one.best.parents))}
        return SaturatedFamilies.among(sorted(families), self.data, self.labels)

    def score_of(self, parents: Sequence[Sequence[int]], ess: float) -> float:
        """The score of one graph, log prior included."""
        return LocalScores(self.data, self.score, ess, self.log_prior).total(parents)

    def tables(self, parents: Sequence[Sequence[int]], ess: float) -> list[ConditionalTable]:
        """The parameters of one graph, Equation 3; families are counted once for all `ess`."""
        tables = []
        for child, given in enumerate(parents):
            key = child, tuple(given)
            if key not in self._counted:
                self._counted[key] = count_table(self.data, child, given)
            tables.append(table_of_counts(self.data, child, given, *self._counted[key], ess))
        return tables

    def log_marginal_likelihoods(self, ess_values: Sequence[float]) -> np.ndarray:
        """ln p(D | ess) summed over all graphs, for each equivalent sample size."""
        # Sums over all graphs are imported when they are asked for.
        from skbn.posteriors.marginal_likelihood import log_marginal_likelihoods

        differ = self.score.uses_ess
        scores = [
            LocalScores(self.data, self.score, ess, self.log_prior)
            for ess in (ess_values if differ else ess_values[:1])
        ]
        sums = log_marginal_likelihoods(
            scores, self.constraints, families=self.families, n_jobs=self.n_jobs
        )
        return sums if differ else np.repeat(sums, len(ess_values))

    def learn(self, ess: float | str) -> Ascent:
        """The graph for a given ESS, or the graph and the ESS that a policy chooses."""
        if not isinstance(ess, str):
            return Ascent(float(ess), self.graph(float(ess)), [float(ess)])
        if not self.score.uses_ess:
            return fixed_graph_ess(self.data, ess, self.graph(1.0))
        return ascend(self.data, ess, lambda: self.graph(1.0, SCORES["bic"]), self.graph)
