"""Calls of the estimators."""

import math
import pprint

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from checks import (
    TWINS,
    all_parent_sets,
    check_copies,
    check_files,
    check_gaps,
    check_graph,
    check_history,
    check_predictions,
    check_questions,
    check_refusals,
    check_tables,
    close,
    require,
    twin_score,
)
from parameters import draw_parameters
from problem import Problem, pick
from sklearn.base import clone
from tables import take_rows
from told import check_columns, check_families, check_weights

from skbn import BayesNetClassifier, BayesNetStructureEstimator, ExactSearch, structure_score


class EstimatorCall:
    """`fit` of an estimator, and its predictions."""

    def __init__(self, rng):
        self.problem = problem = Problem(rng)
        self.is_classifier = rng.random() < 0.3
        self.name = "classifier" if self.is_classifier else "estimator"
        self.has_y = problem.n_columns > 1 and (self.is_classifier or rng.random() < 0.2)
        self.flaws = problem.flaws
        self.names = problem.names
        self.y = None
        self.table = problem.X
        if self.has_y:
            self._split(rng)
        elif self.is_classifier:
            self.flaws.append("!no y")
        self.parameters = draw_parameters(rng, problem, self.names)
        if self.parameters.get("handle_missing") == "category":
            # Then y may be missing as well, everywhere even.
            self.flaws[:] = ["?y" if flaw == "!y" else flaw for flaw in self.flaws]
        kind = BayesNetClassifier if self.is_classifier else BayesNetStructureEstimator
        self.estimator = kind(**self.parameters)

    def _split(self, rng):
        """The last column becomes y."""
        problem = self.problem
        last = problem.n_columns - 1
        values = problem.dress.values(problem.codes, last)
        kind = problem.dress.kinds[last]
        if not any(flaw.startswith(("!", "?levels", "?missing")) for flaw in self.flaws):
            X = problem.X
            if isinstance(X, list):
                self.table = [row[:-1] for row in X]
            elif isinstance(X, np.ndarray):
                self.table = X[:, :-1]
            elif isinstance(X, pd.DataFrame):
                self.table = X.iloc[:, :-1]
            else:
                self.table = X.select(problem.names[:-1])
        else:
            self.flaws.append("?y")
        form = pick(rng, ["list", "array", "series", "categorical", "ordered", "polars", "Enum",
                          "dictionary", "frame", "column"])
        if kind == "real" and self.is_classifier:
            self.flaws.append("?continuous")
        levels = [problem.dress.pools[last][k] for k in problem.dress.declared[last]]
        if kind == "real" or form in ("categorical", "ordered", "frame"):
            dtype = pd.CategoricalDtype(levels, ordered=form == "ordered")
            self.y = pd.Series(pd.Categorical(values, dtype=dtype), name="target")
            if form == "frame":
                self.y = self.y.to_frame()
        elif form == "Enum" and kind == "text":
            self.y = pl.Series("target", values, dtype=pl.Enum(levels))
        elif form == "dictionary" and kind == "text":
            codes = pa.array([levels.index(value) for value in values])
            self.y = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(levels))])
        elif form == "array" and kind in ("small", "sparse", "text", "bool", "large"):
            self.y = np.array(values)
        elif form == "polars" and kind in ("small", "sparse", "text", "bool"):
            self.y = pl.Series("target", values)
        elif form == "series":
            self.y = pd.Series(values, name="target")
        else:
            self.y = values
        if self.is_classifier and kind in ("date", "decimal", "fraction"):
            # Not among the kinds of targets that scikit-learn knows.
            self.flaws.append("?target")
        self.declares_y = kind == "real" or form in ("categorical", "ordered", "frame") or (
            kind == "text" and form in ("Enum", "dictionary"))
        self.label = "target" if form == "frame" else getattr(self.y, "name", None) or "y"
        self.names = [*problem.names[:-1], self.label]
        if isinstance(problem.categories, dict) and problem.names[-1] in problem.categories:
            # Text stands for the values of some columns, but not of y.
            of_y = problem.categories.pop(problem.names[-1])
            if problem.dress.styles[last] not in ("enum", "text enum", "dictionary",
                                                  "real dictionary"):
                problem.categories[self.label] = of_y
        elif isinstance(problem.categories, list):
            problem.categories = problem.categories[: last]
        if rng.random() < 0.03:
            self.flaws.append("!y")
            self.y = pick(rng, [values[:-1], values + values, "y", 3, np.ones((len(values), 2)),
                                [None] * len(values), [math.nan] * len(values)])

    def run(self):
        self.before = dict(vars(self.estimator))
        try:
            self.estimator.fit(self.table, self.y, self.problem.weights)
        except Exception:
            # Nothing half fitted is left behind.
            left = set(vars(self.estimator)) ^ set(self.before)
            require(not left, "a failed fit leaves", left)
            raise

    def check(self, rng):
        bn, problem = self.estimator, self.problem
        require(all(vars(bn)[name] is value for name, value in self.before.items()),
                "fit changes a parameter")
        if "?levels" in self.flaws or "?y" in self.flaws:
            return
        parents = check_graph(bn, self.names, self.parameters)
        self._check_told(parents)
        check_history(bn, self.parameters)
        check_tables(bn)
        self._check_score(bn, parents)
        seen = self.table
        if problem.weights is not None:
            # A row of weight zero may hold a level that no other has.
            kept = np.flatnonzero(np.asarray(problem.weights, dtype=float) > 0).tolist()
            seen = take_rows(self.table, kept)
        check_predictions(rng, bn, seen, self.has_y, problem.is_array)
        if rng.random() < 0.3:
            check_gaps(rng, bn, bn.n_features_in_, problem.is_array)
        if rng.random() < 0.2:
            check_refusals(rng, bn, seen, self.has_y)
        if rng.random() < 0.3:
            check_questions(rng, bn)
        if rng.random() < 0.2:
            check_files(rng, bn)
        what = rng.random()
        if what < 0.15:
            check_copies(rng, bn, seen)
        elif what < 0.3:
            self._check_rows(rng)
        elif what < 0.4:
            self._check_repetition(rng)
        elif what < 0.45:
            again = clone(bn).set_params(n_jobs=2).fit(self.table, self.y, problem.weights)
            self._require_same(again, "with n_jobs=2")
        if problem.n_columns <= 3 and not self.has_y and rng.random() < 0.5:
            self._check_optimum(bn)

    def _check_told(self, parents):
        problem = self.problem
        # A class is none of the columns, nor is a y that declares its levels.
        y = self.label if self.has_y and not self.is_classifier and not self.declares_y else None
        check_columns(self.told, problem, problem.levels_given, y, self.has_y)
        check_families(self.told, problem, parents)
        check_weights(self.told, problem, self.parameters.get("score_type"))

    def _prior(self, parents):
        prior = self.parameters.get("graph_prior")
        if prior is None:
            return 0.0
        if callable(prior):
            return math.fsum(prior(name, given) for name, given in zip(
                self.names, parents, strict=True))
        return -prior * sum(map(len, parents))

    def _check_score(self, bn, parents):
        """By `structure_score` without y, and by a twin where the table is small."""
        problem = self.problem
        name = self.parameters.get("score_type", "bdeu")
        prior = self._prior(parents)
        if not self.has_y:
            score = structure_score(
                self.table, bn, score_type=name, ess=bn.ess_,
                categories=problem.categories, sample_weight=problem.weights)
            require(close(score + prior, bn.structure_score_), "structure_score_ is",
                    bn.structure_score_, "and structure_score", score, "prior", prior)
        if name not in TWINS or problem.codes.size > 4000:
            return
        sizes = [len(levels) for levels in bn.categories_]
        fractional = not problem.whole
        if fractional and not 1e-6 < bn.ess_ < 1e6:
            return
        weights = None if problem.weights is None else np.asarray(problem.weights, dtype=float)
        if weights is not None and (weights.sum() > 6000 or weights.sum() < 1e-3):
            return
        score, scale = twin_score(name, problem.codes, sizes, weights, parents, bn.ess_)
        require(close(score + prior, bn.structure_score_, scale), "structure_score_ is",
                bn.structure_score_, "and a twin says", score, "prior", prior, "of", name)

    def _require_same(self, other, how):
        bn = self.estimator
        require(other.edges_ == bn.edges_, "another graph", how, bn.edges_, other.edges_)
        require(other.structure_score_ == bn.structure_score_, "another score", how,
                bn.structure_score_, other.structure_score_)
        require(other.ess_ == bn.ess_ or (math.isnan(other.ess_) and math.isnan(bn.ess_)),
                "another ess", how, bn.ess_, other.ess_)

    def _check_rows(self, rng):
        order = rng.permutation(self.problem.n_rows).tolist()
        weights = self.problem.weights
        weights = None if weights is None else np.asarray(weights, dtype=float)[order]
        y = self.y
        if y is not None:
            if isinstance(y, list):
                y = [y[t] for t in order]
            elif isinstance(y, pa.ChunkedArray):
                y = y.take(pa.array(order))
            else:
                y = y.iloc[order] if hasattr(y, "iloc") else y[order]
        again = clone(self.estimator).fit(take_rows(self.table, order), y, weights)
        self._require_same(again, "with the rows permuted")

    def _check_repetition(self, rng):
        if self.has_y:
            return
        counts = rng.integers(0, 4, self.problem.n_rows)
        counts[rng.integers(len(counts))] += 1
        rows = np.repeat(np.arange(len(counts)), counts).tolist()
        weighted = clone(self.estimator).fit(self.table, None, counts)
        repeated = clone(self.estimator).fit(take_rows(self.table, rows))
        require(weighted.edges_ == repeated.edges_
                and weighted.structure_score_ == repeated.structure_score_,
                "weights and repeated rows differ", weighted.structure_score_,
                repeated.structure_score_, weighted.edges_, repeated.edges_)

    def _check_optimum(self, bn):
        """No search beats the best of all graphs, and the exact one reaches it."""
        if "?constraints" in self.flaws or "max_parents" in self.parameters:
            return
        problem, name = self.problem, self.parameters.get("score_type", "bdeu")
        best, scale = -math.inf, 1.0
        for parents in all_parent_sets(problem.n_columns):
            edges = [(self.names[p], self.names[c]) for c, given in enumerate(parents)
                     for p in given]
            score = structure_score(
                self.table, edges, score_type=name, ess=bn.ess_, categories=problem.categories,
                sample_weight=problem.weights) + self._prior(parents)
            best = max(best, score)
            scale = max(scale, abs(score)) if not edges else scale
        require(bn.structure_score_ <= best or close(bn.structure_score_, best, scale),
                "the score found", bn.structure_score_, "is above that of every graph", best)
        search = self.parameters.get("search")
        if (search == "exact" or isinstance(search, ExactSearch)) and not isinstance(
            self.parameters.get("ess"), str
        ):
            require(close(bn.structure_score_, best, scale), "an exact search found",
                    bn.structure_score_, "and there is", best)

    def __str__(self):
        shown = {k: v for k, v in self.parameters.items() if k != "categories"}
        y = f" y {type(self.y).__name__} {str(self.y)[:200]}" if self.has_y else ""
        return (f"{self.name} flaws {self.flaws}\n{pprint.pformat(shown)[:2000]}\n"
                f"{self.problem}{y}")
