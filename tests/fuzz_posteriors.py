"""Calls of `edge_posteriors` and `BayesNetAverager`."""

import math

import numpy as np
from fuzz_checks import all_parent_sets, close, require
from fuzz_parameters import ILLEGAL, draw_parameters
from fuzz_problem import Problem, pick

from skbn import BayesNetAverager, edge_posteriors, structure_score


class PosteriorCall:
    """`edge_posteriors` and `BayesNetAverager`."""

    def __init__(self, rng):
        self.problem = problem = Problem(rng, largest_columns=5, largest_rows=200)
        self.flaws = problem.flaws
        drawn = draw_parameters(rng, problem, problem.names, policies=False)
        self.averages = rng.random() < 0.4
        self.name = "BayesNetAverager" if self.averages else "edge_posteriors"
        known = ["score_type", "ess", "max_parents", "required_edges", "forbidden_edges", "tiers",
                 "graph_prior", "categories", "n_jobs"]
        known += ["parameter_ess", "random_state", "handle_missing"] * self.averages
        self.parameters = {name: drawn[name] for name in known if name in drawn}
        self.flaws[:] = [
            flaw for flaw in self.flaws
            if flaw[1:] not in ILLEGAL or flaw[1:] in known
            # Those of the search are gone.
        ]
        self.flaws[:] = [
            "?" + flaw[1:] if flaw in ("!starts", "!memory") else flaw for flaw in self.flaws]
        if not self.averages:
            self.flaws[:] = ["?labels" if f == "!mixed labels" else f for f in self.flaws]
            self.parameters["prior"] = pick(rng, ["graphs", "graphs", "orders"])
        if "!weights" not in self.flaws and problem.weights is not None:
            if np.sum(np.asarray(problem.weights, dtype=float)) > 1e10:
                # Scores of a table of so many rows are too large to be summed.
                self.flaws.append("?large")
        if not self.averages:
            if rng.random() < 0.03:
                self.parameters["prior"] = pick(rng, ["flat", None, 3])
                self.flaws.append("!prior")
        else:
            self.parameters["n_graphs"] = 5

    def run(self):
        p = self.problem
        if self.averages:
            self.result = BayesNetAverager(**self.parameters).fit(p.X, sample_weight=p.weights)
        else:
            self.result = edge_posteriors(p.X, sample_weight=p.weights, **self.parameters)

    def check(self, rng):
        p = self.problem
        if "?levels" in self.flaws:
            return
        if self.averages:
            drawn = self.result.sample(3, random_state=0)
            require(np.isfinite(self.result.score_samples(drawn)).all(), "score of a sample")
            for proba in self.result.predict_proba(drawn):
                require(np.allclose(proba.sum(axis=1), 1.0, atol=1e-9), "predict_proba", proba)
            require(close(self.result.weights_.sum(), 1.0), "weights_", self.result.weights_)
            return
        edges = self.result.edges
        require(np.isfinite(edges).all() and (edges >= 0).all() and (edges <= 1).all(), edges)
        require((self.result.adjacent <= 1).all(), "adjacent", self.result.adjacent)
        if len(self.flaws) or p.n_columns > 3 or self.parameters["prior"] != "graphs":
            return
        # By all graphs one by one; columns of one state get no edges.
        sizes = [len(np.unique(column)) for column in p.codes.T]
        if any(p.dress.declares) or p.categories != "auto" or p.weights is not None or min(
            sizes
        ) < 2 or any("enum" in style or "dict" in style for style in p.dress.styles):
            return
        name, limit = self.parameters.get("score_type", "bdeu"), self.parameters.get("max_parents")
        prior = self.parameters.get("graph_prior")
        graphs, scores = [], []
        for parents in all_parent_sets(p.n_columns):
            if limit is not None and max(map(len, parents)) > limit:
                continue
            chosen = [(p.names[a], p.names[c]) for c, given in enumerate(parents) for a in given]
            extra = 0.0
            if callable(prior):
                extra = math.fsum(map(prior, p.names, parents))
            elif prior is not None:
                extra = -prior * len(chosen)
            scores.append(extra + structure_score(
                p.X, chosen, score_type=name, ess=self.parameters.get("ess", 1.0)))
            graphs.append(parents)
        shares = np.exp(np.array(scores) - max(scores))
        shares /= shares.sum()
        expected = np.zeros_like(edges)
        for parents, share in zip(graphs, shares, strict=True):
            for child, given in enumerate(parents):
                expected[list(given), child] += share
        require(np.allclose(edges, expected, atol=1e-6), "edges", edges, "and by hand", expected)

    def __str__(self):
        return f"{self.name} flaws {self.flaws}\n{self.parameters}\n{self.problem}"
