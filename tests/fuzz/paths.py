"""Calls of `ess_path`."""

import math

import numpy as np
from checks import close, parents_of, require
from parameters import draw_parameters
from problem import Problem, pick
from told import check_columns, check_weights

from skbn import ess_path, structure_score


class PathCall:
    """`ess_path`."""

    name = "ess_path"

    def __init__(self, rng):
        self.problem = problem = Problem(rng, largest_columns=7, largest_rows=500)
        self.flaws = problem.flaws
        # Only estimators refuse names of several types, which others then read.
        self.flaws[:] = ["?labels" if flaw == "!mixed labels" else flaw for flaw in self.flaws]
        self.parameters = draw_parameters(rng, problem, problem.names)
        for name in ("ess", "parameter_ess", "verbose", "handle_missing", "handle_unknown"):
            self.parameters.pop(name, None)
            if "!" + name in self.flaws:
                self.flaws.remove("!" + name)
        if "search" not in self.parameters:
            for name in ("init", "n_restarts", "max_iter"):
                if f"!{name}" not in self.flaws:
                    self.parameters.pop(name, None)
        self.grid = pick(
            rng, [[1.0], [3, 1, 3], np.logspace(-2, 3, 6), range(1, 5), [1e-300, 1e300]])
        if rng.random() < 0.3:
            # Sums over all graphs are of other scores, searches and tables refused.
            self.parameters["all_graphs"] = bool(rng.random() < 0.7)
            self.flaws += ["?all_graphs"] * self.parameters["all_graphs"]
        if rng.random() < 0.05:
            self.grid = pick(rng, [[], 3, "ess", [0.0], [-1], [math.nan], [[1]], None])
            self.flaws.append("!grid")

    def run(self):
        self.result = ess_path(
            self.problem.X, self.grid, sample_weight=self.problem.weights, **self.parameters)

    def check(self, rng):
        p, path = self.problem, self.result
        if "?levels" in self.flaws:
            return
        check_columns(self.told, p, p.levels_given)
        check_weights(self.told, p, self.parameters.get("score_type"))
        require(path.ess.tolist() == sorted({float(value) for value in self.grid}), "ess", path.ess)
        require(path.n_edges.tolist() == [len(edges) for edges in path.graphs], "n_edges")
        prior = self.parameters.get("graph_prior")
        for ess, score, edges in zip(path.ess.tolist(), path.scores, path.graphs, strict=True):
            parents = parents_of(edges, p.names)
            extra = 0.0
            if callable(prior):
                extra = math.fsum(
                    prior(name, given) for name, given in zip(p.names, parents, strict=True))
            elif prior is not None:
                extra = -prior * len(edges)
            options = {"score_type": self.parameters.get("score_type", "bdeu"), "ess": ess,
                       "categories": p.categories, "sample_weight": p.weights}
            expected = structure_score(p.X, edges, **options) + extra
            require(close(score, expected), "the path scores", score, "and structure_score",
                    expected)
        require(path.map_ess == path.ess[int(np.argmax(path.scores))], "map_ess", path)
        if self.parameters.get("all_graphs"):
            sums = path.log_marginal_likelihoods
            require(sums.shape == path.ess.shape and path.all_graphs_ess > 0, "sums", path)
        low, high = path.map_interval
        require(low <= path.map_ess <= high, "map_interval", path)

    def __str__(self):
        return f"ess_path flaws {self.flaws} grid {self.grid}\n{self.parameters}\n{self.problem}"
