"""Calls of `ESSSearchCV`."""

import math

import numpy as np
import pandas as pd
from checks import close, require
from parameters import draw_parameters
from problem import Problem, draw_graph, pick
from sklearn.base import clone
from sklearn.model_selection import KFold
from tables import take_rows

from skbn import BayesNetClassifier, BayesNetStructureEstimator, ESSSearchCV


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
        self.estimator, self.y = None, None
        if rng.random() < 0.2:
            # Classes so rare that parts lack some.
            rare = rng.choice(3, problem.n_rows, p=[0.6, 0.35, 0.05])
            self.y = pd.Series(pd.Categorical(np.array(["v", "u", "w"])[rare], ["v", "u", "w"]))
            self.options["scoring"] = "neg_log_loss"
            self.options["cv"] = pick(rng, [KFold(2), KFold(3)])
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
        kind = BayesNetStructureEstimator if self.y is None else BayesNetClassifier
        self.search = ESSSearchCV(
            *(self.estimator or [kind(**parameters)]), self.grid, **self.options)

    def run(self):
        self.search.fit(self.problem.X, self.y, sample_weight=self.problem.weights)

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
            drawn = best.sample(3, random_state=0)
            drawn = drawn if isinstance(drawn, tuple) else (drawn,)
            require(math.isfinite(best.score(*drawn)), "score of a sample")
        if self.flaws:
            return
        # The first fold by hand: levels from the whole table, parameters from its own part.
        cv = search.cv if not isinstance(search.cv, int) else KFold(search.cv)
        train, test = next(cv.split(np.zeros(self.problem.n_rows)))
        whole = clone(search.estimator).set_params(search="greedy", init="empty", n_restarts=0,
                                                   max_iter=0, required_edges=None)
        whole = whole.fit(self.problem.X, self.y)
        levels = dict(zip(whole.network_.labels, whole.categories_, strict=True))
        ess = self.grid[0]
        model = clone(search.estimator).set_params(ess=ess, categories=levels)
        learned, judged = (take_rows(self.problem.X, part.tolist()) for part in (train, test))
        if self.y is None:
            score = model.fit(learned).score(judged)
        else:
            model.fit(learned, self.y.iloc[train])
            proba = model.predict_proba(judged)
            own = [model.classes_.tolist().index(c) for c in self.y.iloc[test]]
            score = float(np.log(proba[np.arange(len(own)), own]).mean())
        told = results["split0_test_score"][0]
        require(close(score, told), "split0_test_score is", told, "and by hand", score)

    def __str__(self):
        return (f"ESSSearchCV flaws {self.flaws} grid {self.grid} {self.options}\n"
                f"{self.search.estimator!r}\n{self.problem}")
