"""Calls of `edge_posteriors` and `BayesNetAverager`."""

import math

import numpy as np
from checks import (
    acyclic,
    all_parent_sets,
    close,
    parents_of,
    require,
    require_refusal,
)
from parameters import ILLEGAL, draw_parameters
from problem import Problem, pick
from told import check_columns, check_weights

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
        known += ["parameter_ess", "random_state", "handle_missing", "handle_unknown"] * (
            self.averages)
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
            if rng.random() < 0.06:
                self.parameters["n_graphs"] = pick(rng, [0, -1, 1.5, "two", None])
                self.flaws.append("!n_graphs")
        if not self.averages and rng.random() < 0.1:
            self.parameters["max_memory"] = pick(rng, [10**9, int(10 ** rng.uniform(0, 6))])
            self.flaws.append("?memory")
        elif not self.averages and rng.random() < 0.05:
            self.parameters["max_memory"] = pick(rng, [0, -1, 1.5, "much"])
            self.flaws.append("!max_memory")

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
        check_columns(self.told, p, p.levels_given)
        check_weights(self.told, p, self.parameters.get("score_type"))
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
        if self.parameters["prior"] == "graphs":
            self._check_methods(rng)
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

    def _check_methods(self, rng):
        found = self.result
        labels = list(found.labels)
        x = labels[int(rng.integers(len(labels)))]
        sets = found.parent_sets(x, 10**6)
        require(close(sum(one.probability for one in sets), 1.0, 0, 1e-8), "parent_sets", sets)
        for label, share in zip(labels, found.edges[:, labels.index(x)].tolist(), strict=True):
            told = sum(one.probability for one in sets if label in one.parents)
            require(close(told, share, 1.0, 1e-8), "parent_sets say", told, "and edges", share)
        require(close(found.probability(lambda child, parents: True), 1.0, 0, 1e-8), "probability")
        blanket = found.markov_blanket()
        require(np.array_equal(blanket[labels.index(x)], found.markov_blanket(x)), "markov_blanket")
        require((blanket <= 1).all() and (blanket >= found.adjacent - 1e-8).all(), "blanket")
        for edges in found.sample(2, random_state=0):
            parents = parents_of(edges, labels)
            require(acyclic(parents), "a sample has a cycle", edges)
        for what in ("edges", "adjacent"):
            require(np.array_equal(found.to_frame(what).to_numpy(), getattr(found, what)), what)
        for method, wrong in (
            (found.parent_sets, {"x": "no such column"}), (found.parent_sets, {"x": x, "n": 0}),
            (found.parent_sets, {"x": [x]}), (found.probability, {"holds": 3}),
            (found.markov_blanket, {"x": "no such column"}), (found.sample, {"n_samples": 0}),
            (found.sample, {"n_samples": 1.5}), (found.sample, {"random_state": "seed"}),
            (found.to_frame, {"what": "edge"}), (found.to_frame, {"what": None}),
        ):
            require_refusal(method, **wrong)

    def __str__(self):
        return f"{self.name} flaws {self.flaws}\n{self.parameters}\n{self.problem}"
