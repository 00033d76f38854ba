"""Calls of `contingency_table`, and of `Contingency.from_array`."""

import itertools
import math
from collections import Counter

import numpy as np
from checks import close, require
from problem import Problem, pick

import skbn
from skbn import Contingency, contingency_table

# Flaws that one column has.
OF_A_COLUMN = ("!inf", "!real", "!mixed", "!truth", "!dates", "!lists", "!bytes", "!categories")


class ContingencyCall:
    """`contingency_table` of a table."""

    name = "contingency_table"

    def __init__(self, rng):
        self.problem = problem = Problem(rng, largest_columns=8)
        self.flaws = problem.flaws
        # Only estimators refuse names of several types, which others then read.
        self.flaws[:] = ["?labels" if flaw == "!mixed labels" else flaw for flaw in self.flaws]
        n = problem.n_columns
        order = rng.permutation(n).tolist()
        self.places = order[: int(rng.integers(2, 6))]
        named = [problem.names[j] for j in self.places]
        if n < 2:
            named, self.places = named * 2, self.places * 2
            self.flaws.append("!columns")
        if len(set(self.places)) < n:
            # It may be a column that is not asked about, and is not read then.
            self.flaws[:] = ["?column" if flaw in OF_A_COLUMN else flaw for flaw in self.flaws]
        self.arguments = {"a": named[0], "b": named[1]}
        if named[2:] or rng.random() < 0.5:
            self.arguments["given"] = pick(rng, [list, tuple])(named[2:])
        if rng.random() < 0.1:
            name = pick(rng, ["a", "b", "given"])
            wrong = ["no such column", None, 99, [1], {}, math.nan]
            if name == "given":
                wrong = ["no such column", 3, ["no such column"], [named[0]], [None], [[1]], None,
                         [named[2]] * 2 if named[2:] else [named[1]], 1.5]
            self.arguments[name] = pick(rng, wrong)
            self.flaws.append("!" + name)

    def run(self):
        p = self.problem
        self.result = contingency_table(
            p.X, categories=p.categories, sample_weight=p.weights, **self.arguments)

    def check(self, rng):
        p, table = self.problem, self.result
        if "?levels" in self.flaws:
            return
        a, b, *given = self.places
        given = sorted(given)
        weights = [1.0] * p.n_rows if p.weights is None else np.asarray(
            p.weights, dtype=float).tolist()
        cells, rows = Counter(), {}
        for row, weight in zip(p.codes.tolist(), weights, strict=True):
            if weight > 0:
                key = tuple(row[j] for j in given), row[a], row[b]
                rows.setdefault(key, []).append(weight)
        for key, parts in rows.items():
            cells[key] = math.fsum(parts)
        require(sorted(cells.values()) == sorted(map(float, table.counts.tolist()))
                or np.allclose(sorted(cells.values()), np.sort(table.counts), rtol=1e-12, atol=0),
                "counts", sorted(cells.values()), table.counts)
        require(close(table.n_samples, math.fsum(cells.values()), 0, 1e-12), "N", table.n_samples)
        sizes = table.set_sizes
        require(sizes[0] * sizes[3] == sizes[1] * sizes[2], "set_sizes", sizes)
        require(len(np.unique(table.states_parents)) == len({key[0] for key in cells}), "parents")
        array = table.to_array()
        require(array.shape[:2] == (table.cardinality_a, table.cardinality_b), array.shape)
        require(sorted(array[array > 0].tolist()) == sorted(table.counts.tolist()), "to_array")
        again = Contingency.from_array(array, n_parent_states=table.n_parent_states)
        if table.n_samples < 1e200:
            self._check_figures(table, again)
            self._check_information(cells, table)

    def _check_figures(self, table, again):
        for name in ("uniformity", "ess_threshold", "large_ess_favours_edge"):
            function = getattr(skbn, name)
            one, other = function(table), function(again)
            require(one == other or (math.isnan(one) and math.isnan(other)), name, "of a table",
                    one, "and of its array", other)

    def _check_information(self, cells, table):
        sums = [Counter() for _ in range(3)]
        for (state, a, b), n in cells.items():
            sums[0][state] += n
            sums[1][state, a] += n
            sums[2][state, b] += n
        terms = [n * (math.log(n) + math.log(sums[0][state]) - math.log(sums[1][state, a])
                      - math.log(sums[2][state, b])) for (state, a, b), n in cells.items()]
        expected = math.fsum(terms) / table.n_samples
        require(table.mutual_information >= 0, table.mutual_information)
        require(close(table.mutual_information, expected, 1.0, 1e-9), "mutual_information",
                table.mutual_information, "by hand", expected)

    def __str__(self):
        return f"contingency_table flaws {self.flaws} {self.arguments!r}\n{self.problem}"


class ArrayCall:
    """`Contingency.from_array`."""

    name = "from_array"

    def __init__(self, rng):
        self.flaws = []
        shape = tuple(int(k) for k in rng.integers(1, 5, int(pick(rng, [2, 3]))))
        self.counts = rng.integers(0, pick(rng, [2, 4, 50]), shape)
        self.counts.flat[int(rng.integers(self.counts.size))] += 1
        n = shape[2] if len(shape) == 3 else 1
        self.n_states = pick(rng, [None, n, n + 3, float(n), 1e300, 2**70])
        self.array = pick(rng, [
            self.counts, self.counts.tolist(), self.counts.astype(float),
            self.counts.astype(np.uint64), self.counts.astype(object), self.counts * 0.25,
            self.counts.astype(np.float32), self.counts.astype(object) * 10**30,
        ])
        if rng.random() < 0.15:
            self.flaws.append("!counts")
            self.array = pick(rng, [
                None, 3, "counts", -self.counts, np.full(shape, np.nan), np.full(shape, np.inf),
                np.ones((2, 2, 2, 2)), np.ones(3), np.empty((0, 2)), np.zeros((2, 2)),
                self.counts.astype(str), self.counts * 1j, [["a", "b"]], [[1], [1, 2]], [[None]],
            ])
        elif rng.random() < 0.1:
            self.flaws.append("!n_parent_states")
            self.n_states = pick(rng, [0, -1, n + 0.5, math.nan, math.inf, "one", True, [1], 1j])

    def run(self):
        self.result = Contingency.from_array(self.array, n_parent_states=self.n_states)

    def check(self, rng):
        table = self.result
        array = np.asarray(self.array)
        whole = array if array.ndim == 3 else array[:, :, None]
        kept = [k for k in range(whole.shape[2]) if whole[:, :, k].any()]
        require((table.to_array() == whole[:, :, kept]).all(), "to_array", table.to_array())
        require(table.n_samples == float(whole.sum()), "n_samples", table.n_samples)
        n = whole.shape[2] if self.n_states is None else int(self.n_states)
        sizes = whole.shape[0] * whole.shape[1] * n, whole.shape[0] * n, whole.shape[1] * n, n
        require(table.set_sizes == sizes, "set_sizes", table.set_sizes)
        degrees = n * (whole.shape[0] - 1) * (whole.shape[1] - 1)
        require(table.degrees_of_freedom == degrees, table.degrees_of_freedom)
        for margin, axes in zip(table.margins, ((), (1,), (0,), (0, 1)), strict=True):
            sums = whole.sum(axis=axes) if axes else whole
            counts, times = np.unique(sums[sums > 0].astype(float), return_counts=True)
            require((margin.counts == counts).all() and (margin.multiplicities == times).all(),
                    "margin", margin, "by hand", counts, times)
            require(margin.n_states == int(times.sum()), "n_states")
        for order in itertools.permutations(range(whole.shape[2])):
            other = skbn.uniformity(whole[:, :, list(order)], n_parent_states=self.n_states)
            require(other == skbn.uniformity(table), "uniformity depends on the order")
            break

    def __str__(self):
        return f"from_array flaws {self.flaws} n_parent_states {self.n_states!r}\n{self.array!r}"
