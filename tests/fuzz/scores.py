"""Calls of the functions of a table and a graph."""

import math

import numpy as np
from checks import TWINS, close, parents_of, require, twin_score
from parameters import NEED_WHOLE, SCORES, OwnScore
from problem import Problem, draw_graph, edges_of, pick
from told import COLUMNS, FAMILIES, check_weights

from skbn import analytic_ess, edge_report, structure_score


class GraphCall:
    """`structure_score`, `analytic_ess` and `edge_report` of a given graph."""

    def __init__(self, rng):
        self.problem = Problem(rng, largest_columns=40)
        self.flaws = self.problem.flaws
        # Only estimators refuse names of several types, which others then read.
        self.flaws[:] = ["?labels" if flaw == "!mixed labels" else flaw for flaw in self.flaws]
        self.graph = draw_graph(rng, self.problem.names, self.flaws)
        self.name = pick(rng, ["structure_score", "analytic_ess", "edge_report"])
        self.score_type = pick(rng, [*SCORES, OwnScore()])
        self.ess = pick(rng, [1, 1.0, 10.0 ** rng.uniform(-3, 3), 1e-300, 1e300])
        self.absent = self.problem.n_columns < 7 and rng.random() < 0.3
        if self.name == "structure_score":
            if self.score_type in NEED_WHOLE and not self.problem.countable:
                self.flaws.append("?fractional")
            if self.score_type in ("bic", "mdl") and self.problem.is_less_than_a_row:
                self.flaws.append("?shares")
            if rng.random() < 0.05:
                self.score_type = pick(rng, ["bde", None, 3, OwnScore])
                self.flaws.append("!score_type")
        if self.name != "analytic_ess" and rng.random() < 0.05:
            # None asks a fitted estimator.
            self.ess = pick(rng, [0, -1, math.nan, math.inf, "one", [1], None])
            self.flaws.append("!ess")
        self.y = None
        if self.name == "edge_report" and rng.random() < 0.1:
            # No graph that is drawn was fitted with it; or it is another column.
            self.y = [0] * self.problem.n_rows if rng.random() < 0.5 else pick(rng, [3, "y", [1]])
            self.flaws.append("?y")

    def run(self):
        p = self.problem
        if self.name == "structure_score":
            self.result = structure_score(
                p.X, self.graph, score_type=self.score_type, ess=self.ess,
                categories=p.categories, sample_weight=p.weights)
        elif self.name == "analytic_ess":
            self.result = analytic_ess(
                p.X, self.graph, categories=p.categories, sample_weight=p.weights)
        else:
            self.result = edge_report(
                self.graph, p.X, self.y, ess=self.ess, absent=self.absent, categories=p.categories,
                sample_weight=p.weights)

    def check(self, rng):
        p = self.problem
        if "?levels" in self.flaws:
            return
        require(not any(COLUMNS in text or FAMILIES in text for text in self.told), self.told)
        of_score = self.score_type if self.name == "structure_score" else None
        check_weights(self.told, p, of_score)
        edges = edges_of(self.graph, p.names)
        rows, weights, _ = p.permuted(rng)
        if self.name == "structure_score":
            require(not math.isnan(self.result), "the score is NaN")
            options = {"score_type": self.score_type, "ess": self.ess, "categories": p.categories}
            again = structure_score(rows, edges, sample_weight=weights, **options)
            require(again == self.result, "permuted rows score", again, "not", self.result)
            self._check_twin(edges)
        elif self.name == "analytic_ess":
            again = analytic_ess(rows, edges, categories=p.categories, sample_weight=weights)
            same = again == self.result or (math.isnan(again.ess) and math.isnan(self.result.ess))
            require(same, "permuted rows give", again, "not", self.result)
            require(self.result.usable == (0 < self.result.ess < math.inf), "usable", self.result)
        else:
            self._check_report(edges)

    def _check_twin(self, edges):
        p = self.problem
        if self.score_type not in TWINS or p.codes.size > 4000 or p.categories != "auto":
            return
        if any(p.dress.declares) or not p.whole or any("dict" in s for s in p.dress.styles):
            return
        if any("enum" in style for style in p.dress.styles):
            return
        weights = None if p.weights is None else np.asarray(p.weights, dtype=float)
        if weights is not None and weights.sum() > 6000:
            return
        kept = slice(None) if weights is None else weights > 0
        sizes = [len(np.unique(column)) for column in p.codes[kept].T]
        score, scale = twin_score(
            self.score_type, p.codes, sizes, weights, parents_of(edges, p.names), self.ess)
        require(close(score, self.result, scale), "a twin scores", score, "not", self.result)

    def _check_report(self, edges):
        p, report = self.problem, self.result
        n = len(report["parent"])
        require(all(len(column) == n for column in report.values()), "columns of the report")
        require(self.absent or n == len(edges), "the report has", n, "rows for", len(edges))
        for row in range(min(n, 3)):
            edge = report["parent"][row], report["child"][row]
            if not set(edge) <= set(p.names):
                continue  # y, which the table of `structure_score` lacks
            others = [e for e in edges if e != edge]
            with_edge, without = (
                structure_score(p.X, graph, ess=self.ess, categories=p.categories,
                                sample_weight=p.weights)
                for graph in ([*others, edge], others)
            )
            told = float(report["log_bayes_factor"][row])
            # n ln(alpha) of every count cancels in the end, with the digits below it.
            total = p.n_rows if p.weights is None else float(np.sum(np.asarray(p.weights)))
            require(close(told, with_edge - without, 1000 * total, 1e-12)
                    or close(told, with_edge - without, max(abs(with_edge), abs(without))),
                    "log_bayes_factor of", edge, "is", told, "and scores say", with_edge, without)
        require(not np.isnan(report["uniformity"]).any() and (report["uniformity"] >= 0).all(),
                "uniformity is", report["uniformity"])

    def __str__(self):
        return (f"{self.name} flaws {self.flaws} score_type {self.score_type!r} ess {self.ess!r} "
                f"absent {self.absent}\ngraph {str(self.graph)[:600]}\n{self.problem}")
