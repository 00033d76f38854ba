"""Calls of `ESSSearchCV`."""

import math

import numpy as np
from checks import close, require
from parameters import draw_parameters
from problem import Problem, draw_graph, pick
from sklearn.base import clone
from sklearn.model_selection import KFold
from tables import take_rows

from skbn import BayesNetStructureEstimator, ESSSearchCV


class SearchCVCall:
    """`ESSSearchCV`."""

    name = "ESSSearchCV"

    def __init__(self, rng):
        self.problem = problem = Problem(rng, largest_columns=5, largest_rows=200)
        self.flaws = problem.flaws
        parameters = draw_parameters(rng, problem, problem.names, policies=False)
        self.grid = pick(rng, [[1.0], [0.5, 5], [1, 10, 100], (2.5,)])
        self.options = {"refit": pick(rng, [True, "cv", "analytic", "map", False])}
        self.options["cv"] = pick(rng, [2, 3, KFold(2, shuffle=True, random_state=0)])
        if problem.n_rows < 3:
            self.flaws.append("?rows")
        if rng.random() < 0.2:
            self.options["graph"] = draw_graph(rng, problem.names, self.flaws)
            if self.options["graph"] is None:
                self.flaws.remove("!graph")
            self.flaws += ["?constraints", "?starts"]
        if rng.random() < 0.2:
            self.options["n_jobs"] = pick(rng, [1, None])
        if rng.random() < 0.2:
            self.options["scoring"] = pick(rng, [None, lambda bn, X, y=None: bn.score(X)])
        if rng.random() < 0.1:
            self.options["all_graphs"] = True
            self.flaws.append("?all_graphs")
        self.estimator = None
        self.options["error_score"] = pick(rng, ["raise", np.nan])
        if rng.random() < 0.1:
            name, values = pick(rng, [
                ("ess", [[], 3.0, "ess", [0.0], [math.nan], [[1]], None]),
                ("cv", [1, "folds", 1000, 1.5]), ("refit", ["best", 3]), ("scoring", ["best", 3]),
                ("n_jobs", ["two", 1.5]), ("error_score", ["ignore", None]),
                ("verbose", ["loud", -1]), ("all_graphs", ["some", 3]),
                ("estimator", [None, 3, KFold(2), BayesNetStructureEstimator]),
            ])
            if name == "ess":
                self.grid = pick(rng, values)
            elif name == "estimator":
                self.estimator = [pick(rng, values)]
            else:
                self.options[name] = pick(rng, values)
            self.flaws.append("!" + name)
        # With error_score=nan what a fold says is a warning, and weights may all be in one fold.
        if self.flaws or self.problem.weights is not None:
            self.flaws = ["?" + flaw[1:] if flaw[1:] in {
                "memory", "starts", "graph", "weights", *(name for name in parameters),
            } else flaw for flaw in self.flaws] + ["?folds"]
        self.search = ESSSearchCV(
            *(self.estimator or [BayesNetStructureEstimator(**parameters)]), self.grid,
            **self.options)

    def run(self):
        self.search.fit(self.problem.X, sample_weight=self.problem.weights)

    def check(self, rng):
        search = self.search
        results, n = search.cv_results_, len(self.grid)
        require(all(len(column) == n for column in results.values()), "cv_results_")
        if search.refit in (True, "cv", False):
            require(search.best_params_ == results["params"][search.best_index_], "best_params_")
            mean = results["mean_test_score"]
            if np.isfinite(mean).all():
                require(search.best_score_ == mean.max(), "best_score_", search.best_score_, mean)
        if search.refit:
            best = search.best_estimator_
            require(math.isfinite(best.score(best.sample(3, random_state=0))), "score of a sample")
        if self.flaws:
            return
        # The first fold by hand: levels from the whole table, parameters from its own part.
        cv = search.cv if not isinstance(search.cv, int) else KFold(search.cv)
        train, test = next(cv.split(np.zeros(self.problem.n_rows)))
        whole = clone(search.estimator).set_params(search="greedy", init="empty", n_restarts=0,
                                                   max_iter=0, required_edges=None)
        levels = whole.fit(self.problem.X).categories_
        ess = self.grid[0]
        model = clone(search.estimator).set_params(ess=ess, categories=levels)
        model.fit(take_rows(self.problem.X, train.tolist()))
        score = model.score(take_rows(self.problem.X, test.tolist()))
        told = results["split0_test_score"][0]
        require(close(score, told), "split0_test_score is", told, "and by hand", score)

    def __str__(self):
        return (f"ESSSearchCV flaws {self.flaws} grid {self.grid} {self.options}\n"
                f"{self.search.estimator!r}\n{self.problem}")
