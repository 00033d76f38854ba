"""Calls of the functions of a contingency array."""

import math

import numpy as np
from checks import close, require
from problem import pick

import skbn


class TheoryCall:
    """The functions of a contingency array."""

    name = "theory"

    def __init__(self, rng):
        self.flaws = []
        a, b, c = (int(k) for k in rng.integers(1, 5, 3))
        self.counts = rng.integers(0, pick(rng, [2, 5, 1000]), (a, b, c)).astype(
            pick(rng, [int, float]))
        self.ess = pick(rng, [1.0, 1e-300, 1e300, 10.0 ** rng.uniform(-3, 3)])
        if rng.random() < 0.1:
            # Several values at a time give an array.
            self.ess = pick(rng, [[1.0, 2.5], np.array([[1.0], [1e300]]), np.array([])])
        self.n_states = pick(rng, [None, None, c, c + 3, 1e300])
        if self.counts.sum() == 0:
            self.flaws.append("?empty")
        if rng.random() < 0.1:
            self.flaws.append("!counts")
            self.counts = pick(rng, [None, 3, "counts", -np.ones((2, 2)), np.full((2, 2), np.nan),
                                     np.full((2, 2), np.inf), np.ones((2, 2, 2, 2)),
                                     np.empty((0, 2, 1)), np.zeros((2, 2))])
        elif rng.random() < 0.1:
            self.flaws.append("!ess")
            self.ess = pick(rng, [0, -1.0, math.nan, math.inf, "one", None])
        elif rng.random() < 0.1:
            self.flaws.append("!n_parent_states")
            self.n_states = pick(rng, [0, -1, 0.5, math.nan, math.inf, "one"])

    def run(self):
        # All of them, and the one that takes the ess first: each must refuse by itself.
        self.factor = skbn.log_bayes_factor(
            self.counts, ess=self.ess, n_parent_states=self.n_states)
        self.large = skbn.large_ess_log_bayes_factor(
            self.counts, ess=self.ess, n_parent_states=self.n_states)
        self.uniformity = skbn.uniformity(self.counts, n_parent_states=self.n_states)
        self.favours = skbn.large_ess_favours_edge(
            self.counts, n_parent_states=self.n_states)
        self.changes = skbn.ess_sign_changes(self.counts, n_parent_states=self.n_states)
        self.threshold = skbn.ess_threshold(self.counts, n_parent_states=self.n_states)

    def check(self, rng):
        require(self.uniformity >= 0, "uniformity", self.uniformity)
        if np.ndim(self.ess):
            one_by_one = [skbn.log_bayes_factor(self.counts, ess=float(ess),
                                                n_parent_states=self.n_states)
                          for ess in np.ravel(self.ess)]
            require(np.shape(self.factor) == np.shape(self.ess), "shape", self.factor)
            require(np.ravel(self.factor).tolist() == one_by_one, self.factor, one_by_one)
            return
        require(not math.isnan(self.factor), "log_bayes_factor is NaN")
        other = self.counts.transpose(1, 0, 2)
        swapped = skbn.log_bayes_factor(other, ess=self.ess, n_parent_states=self.n_states)
        scale = float(self.counts.sum()) * 700
        require(close(self.factor, swapped, scale, 1e-12), "not symmetric", self.factor, swapped)
        if self.threshold < 1e12 and self.favours:
            above = skbn.log_bayes_factor(
                self.counts, ess=self.threshold * 2 + 1, n_parent_states=self.n_states)
            require(above > 0, "not favoured above the threshold", self.threshold, above)

    def __str__(self):
        return (f"theory flaws {self.flaws} ess {self.ess!r} n_parent_states {self.n_states!r}\n"
                f"{self.counts!r}")
