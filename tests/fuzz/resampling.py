"""Calls of `bootstrap_edges` and `compare_estimators`."""

import math

import numpy as np
from checks import close, require
from parameters import draw_parameters
from problem import Problem, pick
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline

from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    bootstrap_edges,
    compare_estimators,
)


def table_with_target(rng, problem):
    """The table of a problem, and a y beside it that is of no use or of some."""
    y = (problem.codes[:, 0] % 2) ^ (rng.random(problem.n_rows) < 0.3)
    return problem.X, np.where(y, "yes", "no")


class BootstrapCall:
    """`bootstrap_edges` and its result."""

    name = "bootstrap_edges"

    def __init__(self, rng):
        self.problem = problem = Problem(rng, largest_columns=5, largest_rows=200)
        problem.weights = None
        self.flaws = problem.flaws
        if "!weights" in self.flaws:
            self.flaws.remove("!weights")
        self.parameters = draw_parameters(rng, problem, problem.names)
        self.parameters.pop("n_jobs", None)
        # Names, levels and rows of a resample may be other than those of the table.
        self.flaws[:] = ["?" + flaw[1:] for flaw in self.flaws]
        self.y, kind = None, BayesNetStructureEstimator
        if rng.random() < 0.3:
            _, self.y = table_with_target(rng, problem)
            kind = pick(rng, [kind, BayesNetClassifier])
            if self.parameters.get("init") is not None:
                self.flaws.append("?init")
        self.estimator = kind(**self.parameters)
        if rng.random() < 0.15:
            steps = pick(rng, [[], [("nothing", "passthrough")]])
            self.estimator = Pipeline([*steps, ("bn", self.estimator)])
            if steps:
                # scikit-learn takes rows of fewer kinds of tables.
                self.flaws.append("?table")
        self.options = {"n_resamples": int(pick(rng, [1, 2, 5]))}
        if rng.random() < 0.7:
            self.options["random_state"] = pick(rng, [0, 3, np.random.RandomState(1)])
        if rng.random() < 0.1:
            self.options["n_jobs"] = pick(rng, [1, 1, 1, None, None, 2])
        if rng.random() < 0.1:
            name, values = pick(rng, [
                ("n_resamples", [0, -1, 1.5, "two", None]), ("n_jobs", [1.5, "two", 0]),
                ("random_state", ["seed", -1, 1.5, 2**40]),
                ("estimator", [None, 3, BayesNetStructureEstimator, BayesNetAverager(),
                               LogisticRegression(), GridSearchCV(BayesNetStructureEstimator(),
                               {"ess": [1]}), Pipeline([("lr", LogisticRegression())])]),
                ("y", [3, "y", [1], np.ones((problem.n_rows, 2))]),
            ])
            value = pick(rng, values)
            if name in ("estimator", "y"):
                setattr(self, name, value)
            else:
                self.options[name] = value
            # A row alone may be called y of one row.
            self.flaws.append("?y" if name == "y" and problem.n_rows == 1 else "!" + name)

    def run(self):
        self.result = bootstrap_edges(self.estimator, self.problem.X, self.y, **self.options)

    def check(self, rng):
        found, n = self.result, self.options["n_resamples"]
        size = len(found.labels)
        require(found.n_resamples == n, "n_resamples", found.n_resamples)
        if "?levels" not in self.flaws:
            names = [*self.problem.names, *["y"] * (self.y is not None)]
            require(list(found.labels) == names, "labels", found.labels, names)
        for name in ("directed", "compelled", "strength"):
            shares = getattr(found, name)
            require(shares.shape == (size, size), name, "has shape", shares.shape)
            require(np.allclose(shares * n, np.round(shares * n), atol=1e-9), name, shares)
            require((shares >= 0).all() and (shares <= 1 + 1e-12).all(), name, shares)
            require(not shares.diagonal().any(), "an edge from a column to itself", name)
            require(np.array_equal(found.to_frame(name).to_numpy(), shares), "to_frame", name)
        require((found.compelled <= found.directed).all(), "compelled above directed")
        require((found.strength == found.strength.T).all(), "strength")
        place = {label: k for k, label in enumerate(found.labels)}
        for name, share in (("required_edges", 1.0), ("forbidden_edges", 0.0)):
            for a, b in self.parameters.get(name) or []:
                require(found.directed[place[a], place[b]] == share, name, found.directed)
        limit = self.parameters.get("max_parents")
        if limit is not None:
            require((found.directed.sum(axis=0) <= limit + 1e-9).all(), "max_parents")
        for wrong in ("edges", None, 3):
            try:
                found.to_frame(wrong)
            except (ValueError, TypeError):
                continue
            require(False, "to_frame takes", wrong)
        require(str(size) in repr(found), repr(found))
        if isinstance(self.options.get("random_state"), int) and rng.random() < 0.3:
            options = {**self.options, "n_jobs": 1}
            again = bootstrap_edges(self.estimator, self.problem.X, self.y, **options)
            require(np.array_equal(again.directed, found.directed), "the same seed gives others")

    def __str__(self):
        return (f"bootstrap_edges flaws {self.flaws} {self.options} {self.estimator!r} "
                f"y {self.y is not None}\n{self.parameters}\n{self.problem}")


class EstimatorsCall:
    """`compare_estimators`."""

    name = "compare_estimators"

    def __init__(self, rng):
        self.problem = problem = Problem(rng, largest_columns=4, largest_rows=200)
        problem.weights = None
        self.flaws = problem.flaws
        if "!weights" in self.flaws:
            self.flaws.remove("!weights")
        self.classify = rng.random() < 0.4
        _, y = table_with_target(rng, problem)
        self.y = y if self.classify else None
        estimators = {}
        for k in range(int(rng.integers(1, 4))):
            parameters = draw_parameters(rng, problem, problem.names, policies=False)
            for name in ("n_jobs", "init"):
                parameters.pop(name, None)
            kind = BayesNetClassifier if self.classify else BayesNetStructureEstimator
            estimators[f"number {k}"] = kind(**parameters)
        # Folds may lack what the whole table has, and an estimator may refuse some of them.
        self.flaws[:] = ["?" + flaw[1:] for flaw in self.flaws]
        if not self.classify and rng.random() < 0.2:
            estimators["average"] = BayesNetAverager(n_graphs=3, random_state=0)
            self.flaws += ["?levels"] * (problem.categories != "auto")
        if rng.random() < 0.1:
            estimators["pipe"] = Pipeline([("bn", next(iter(estimators.values())))])
            self.flaws.append("?levels")
        self.estimators = estimators
        if rng.random() < 0.3:
            self.estimators = pick(rng, [list, tuple])(estimators.values())
            self.flaws.append("?alike")
        self.cv = pick(rng, [2, 3, KFold(2, shuffle=True, random_state=0), None])
        if problem.n_rows < 20 or self.classify:
            self.flaws.append("?rows")
        self.n_jobs = pick(rng, [None, None, 1])
        if rng.random() < 0.15:
            name, values = pick(rng, [
                ("estimators", [{}, [], None, 3, BayesNetStructureEstimator(), "estimator",
                                {"a": 3}, {"a": None}, [BayesNetStructureEstimator()] * 2,
                                [BayesNetStructureEstimator(), BayesNetClassifier()],
                                {"a": BayesNetStructureEstimator}]),
                ("cv", [1, "folds", 10_000, 1.5, 0, -1]), ("n_jobs", ["two", 1.5]),
            ])
            setattr(self, name, pick(rng, values))
            self.flaws.append("!" + name)

    def run(self):
        self.result = compare_estimators(
            self.estimators, self.problem.X, self.y, cv=self.cv, n_jobs=self.n_jobs)

    def check(self, rng):
        found, n = self.result, len(self.estimators)
        require(all(len(column) == n for column in found.values()), "columns", found)
        if isinstance(self.estimators, dict):
            require(sorted(found["estimator"]) == sorted(self.estimators), found["estimator"])
        loss = found["log_loss"]
        require(np.isnan(loss).any() or (loss == np.sort(loss)).all(), "not sorted", loss)
        # A class that no row of a fold has costs all there is.
        if not np.isfinite(loss).all():
            return
        require(found["difference"][0] == 0 and np.allclose(
            found["difference"], loss - loss[0], atol=1e-9), "difference", found)
        require((found["log_loss_std"] >= 0).all() and (found["fit_seconds"] >= 0).all(), found)
        require((found["n_edges"][np.isfinite(found["n_edges"])] >= 0).all(), found["n_edges"])
        if self.classify or self.flaws or not isinstance(self.estimators, dict):
            return
        name = found["estimator"][0]
        model = clone(self.estimators[name])
        if not isinstance(model, BayesNetStructureEstimator):
            return
        if isinstance(model.categories, str):
            whole = BayesNetStructureEstimator(
                max_parents=0, handle_missing=model.handle_missing).fit(self.problem.X)
            model.set_params(categories=whole.categories_)
        scores = cross_val_score(model, self.problem.X, cv=self.cv)
        require(close(-float(scores.mean()), float(loss[0])), "the loss is", loss[0], "by hand",
                -scores.mean())
        require(math.isfinite(loss[0]), loss)

    def __str__(self):
        return (f"compare_estimators flaws {self.flaws} cv {self.cv} n_jobs {self.n_jobs} "
                f"y {self.y is not None}\n{self.estimators!r}\n{self.problem}")
