"""Calls of the methods of a network that answer questions."""

import itertools
import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping

import numpy as np
import pandas as pd
import polars as pl
from checks import close, require
from networks import KnownNetwork
from problem import pick

NO_COLUMN = ["no such column", 99, None, math.nan, ("a", 99), b"v0", 1.5]
NO_STATE = ["no such state", -77, 0.25, ["no"], {"a": 1}, math.inf, b"yes", ("no",)]


class Known:
    """What is known of a network's columns: codes with gaps, and how they are told."""

    def __init__(self, rng, known, *, forms, flaws):
        self.form = pick(rng, forms)
        if "mixed" in known and self.form != "none":
            # Columns of several types can be no column of a table.
            self.form = "dict"
        elif self.form == "polars" and ("dates" in known or not all(
            isinstance(x, str) for x in known.labels
        )):
            self.form = "pandas"
        gaps = pick(rng, [0.0, 0.3, 0.7, 1.0])
        n_rows = 1 if self.form in ("dict", "none") else int(pick(rng, [0, 1, 1, 3, 8, 40]))
        self.places = list(range(known.n))
        if self.form in ("pandas", "polars", "columns"):
            self.places = [int(j) for j in rng.permutation(known.n)]
            if rng.random() < 0.4:
                del self.places[int(rng.integers(1, known.n + 1)) :]
        self.codes = np.array(
            [known.draw_codes(rng, gaps) for _ in range(n_rows)], dtype=int
        ).reshape(n_rows, known.n)
        absent = sorted(set(range(known.n)) - set(self.places))
        self.codes[:, absent] = -1
        if self.form == "none":
            self.codes[:] = -1
        for j, states in enumerate(known.states):
            # An empty cell is then that state, unless the column is left out.
            if None in states and self.form != "dict" and j in self.places and self.form != "none":
                self.codes[self.codes[:, j] < 0, j] = len(states) - 1
        if n_rows == 0:
            flaws.append("?no rows")
        self.told = self._tell(rng, known)
        if rng.random() < 0.15:
            self._spoil(rng, known, flaws)

    def _columns(self, known):
        return {
            known.labels[j]: [None if code < 0 else known.states[j][code]
                              for code in self.codes[:, j].tolist()]
            for j in self.places
        }

    def _tell(self, rng, known):
        if self.form == "none":
            return None
        columns = self._columns(known)
        if self.form == "dict":
            told = {label: values[0] for label, values in columns.items()}
            for j, label in enumerate(known.labels):
                if self.codes[0, j] < 0 and (rng.random() < 0.7 or None in known.states[j]):
                    del told[label]
            return told
        if self.form == "columns":
            return {label: pd.Series(values, dtype=object) if rng.random() < 0.2 else values
                    for label, values in columns.items()}
        if self.form == "polars":
            return pl.DataFrame({
                label: pl.Series(label, values, dtype=None if any(
                    value is not None for value in values) else pl.String, strict=False)
                for label, values in columns.items()
            })
        frame = pd.DataFrame(
            dict(enumerate(columns.values())), index=range(len(self.codes)), dtype=object)
        frame.columns = pd.Index(list(columns), tupleize_cols=False)
        if self.form == "pandas":
            frame.index = rng.permutation(len(frame)) + 5
            return frame
        array = np.empty(self.codes.shape, dtype=object)
        for j, values in enumerate(columns.values()):
            array[:, j] = values
        return array if self.form == "array" or not len(array) else array.tolist()

    def _spoil(self, rng, known, flaws):
        ways = {
            "dict": ["column", "state"], "columns": ["column", "length", "scalar"],
            "pandas": ["column", "twice", "state"], "polars": ["column"],
            "array": ["narrow", "flat"], "lists": ["narrow", "ragged"],
        }.get(self.form, ["form"])
        way = pick(rng, [*ways, "form"])
        label = known.labels[self.places[0]]
        if way == "form":
            flaws.append("!evidence")
            self.told = pick(rng, ["text", 3, b"bytes", 1.5, True, object(), iter([]), {1, 2}, int])
        elif way == "column":
            flaws.append("!evidence")
            name = pick(rng, NO_COLUMN)
            if self.form == "dict":
                self.told[name] = known.states[0][0]
            elif self.form == "columns":
                self.told[name] = [1] * len(self.codes)
            elif self.form == "polars":
                self.told = self.told.with_columns(pl.lit(1).alias("no such column"))
            else:
                self.told[name] = [1] * len(self.codes)
        elif way == "state" and self.form == "dict":
            self.told[label] = pick(rng, NO_STATE)
            # A list alone is a table of one column.
            alone = isinstance(self.told[label], list) and len(self.told) == 1
            flaws.append("?evidence" if alone else "!evidence")
        elif way == "state":
            if len(self.told):
                flaws.append("!evidence")
                self.told.iat[0, 0] = pick(rng, [*NO_STATE[:3], math.inf, b"yes"])
        elif way == "twice":
            flaws.append("!evidence")
            self.told = pd.concat([self.told, self.told.iloc[:, :1]], axis=1)
        elif way == "length":
            flaws.append("!evidence" if known.n > 1 and len(self.told) > 1 else "?evidence")
            self.told[label] = [*self.told[label], None, None]
            self.told[label] = list(self.told[label])
        elif way == "scalar":
            flaws.append("!evidence" if len(self.told) > 1 else "?evidence")
            self.told[label] = known.states[0][0]
        elif way == "narrow":
            flaws.append("!evidence")
            self.told = pick(rng, [np.zeros((2, known.n + 1)), np.zeros((1, known.n, 1)),
                                   [[None] * (known.n + 1)]])
        elif way == "flat":
            flaws.append("!evidence")
            self.told = np.zeros(known.n)
        else:
            flaws.append("!evidence")
            self.told = [[None] * known.n, [None] * (known.n + 1)]

    @property
    def is_row(self):
        return self.form in ("dict", "none")


class QuestionCall:
    """`log_prob`, `posterior`, `most_probable` and `sample` of a network."""

    def __init__(self, rng):
        self.flaws = []
        self.known = known = KnownNetwork(rng)
        self.name = pick(rng, ["log_prob", "posterior", "posterior", "most_probable", "sample"])
        forms = ["dict", "dict", "pandas", "polars", "columns", "array", "lists", "none"]
        if self.name == "sample":
            forms = ["dict", "dict", "none"] if rng.random() < 0.95 else ["pandas", "array"]
        self.evidence = Known(rng, known, forms=forms, flaws=self.flaws)
        if self.name == "sample" and not self.evidence.is_row:
            self.flaws.append("!evidence")
        if self.name == "log_prob" and self.evidence.told is None:
            self.evidence.told = {}
        codes = self.evidence.codes
        if known.joint is None:
            self.flaws.append("?impossible")
            self.possible = None
        else:
            self.possible = np.array([known.is_possible(row) for row in codes], dtype=bool)
            # A table of evidence may still hold the columns asked for, which are not read.
            if self.name != "log_prob" and not self.possible.all():
                # What was spoiled and still is evidence has other states.
                certain = self.name != "posterior" and "?evidence" not in self.flaws
                self.flaws.append("!impossible" if certain else "?impossible")
        self.given = {}
        if self.name == "posterior":
            self._draw_columns(rng)
        if self.name == "sample":
            self._draw_sample(rng)

    def _draw_columns(self, rng):
        known = self.known
        k = int(min(known.n, rng.integers(1, 4)))
        self.asked = [int(j) for j in rng.choice(known.n, k, replace=False)]
        if rng.random() < 0.05:
            self.asked = list(range(known.n))
        if self.evidence.form == "dict" and self.flaws.count("!evidence") == 0:
            if rng.random() < 0.9:
                for j in self.asked:
                    self.evidence.told.pop(known.labels[j], None)
                    self.evidence.codes[:, j] = -1
            elif any(self.evidence.codes[0, j] >= 0 for j in self.asked):
                self.flaws.append("!asked and given")
            if known.joint is not None and "?impossible" in self.flaws:
                self.flaws.remove("?impossible")
        elif "?impossible" in self.flaws and known.joint is not None:
            self.flaws.remove("?impossible")
        codes = self.evidence.codes.copy()
        codes[:, self.asked] = -1
        self.given_codes = codes
        if known.joint is not None and not all(known.is_possible(row) for row in codes):
            self.flaws.append("!impossible")
        columns = [known.labels[j] for j in self.asked]
        if len(columns) == 1 and rng.random() < 0.5:
            columns = columns[0]
        elif rng.random() < 0.3:
            columns = pick(rng, [tuple, np.array if all(
                isinstance(x, str) and "\0" not in x for x in columns) else list])(columns)
        if rng.random() < 0.06:
            self.flaws.append("!columns")
            columns = pick(rng, [[], None, 99, "no such column", [known.labels[0]] * 2, [[1]], {},
                                 ["no such column"], math.nan, object()])
        self.columns = columns

    def _draw_sample(self, rng):
        self.given = {"n_samples": int(pick(rng, [1, 2, 30, 400]))}
        self.given["random_state"] = pick(rng, [0, 7, np.random.RandomState(3), None])
        if rng.random() < 0.08:
            name, values = pick(rng, [
                ("n_samples", [0, -1, 1.5, "two", None, math.nan]),
                ("random_state", ["seed", -1, 1.5, 2**40]),
            ])
            self.given[name] = pick(rng, values)
            self.flaws.append("!" + name)

    def run(self):
        network, told = self.known.network, self.evidence.told
        if self.name == "log_prob":
            self.result = network.log_prob(told)
        elif self.name == "posterior":
            self.result = network.posterior(self.columns, told)
        elif self.name == "most_probable":
            self.result = network.most_probable(told)
        else:
            self.result = network.sample(evidence=told, **self.given)

    def check(self, rng):
        if "?evidence" in self.flaws:
            return
        getattr(self, "_check_" + self.name)(rng)

    def _check_log_prob(self, rng):
        known, codes = self.known, self.evidence.codes
        told = np.atleast_1d(self.result)
        require(isinstance(self.result, float) == self.evidence.is_row, "log_prob", self.result)
        require(told.shape == (len(codes),), "log_prob has shape", told.shape)
        require(not np.isnan(told).any() and (told <= 1e-9).all(), "log_prob", told)
        if known.joint is None:
            return
        for row, value in zip(codes, told.tolist(), strict=True):
            expected = known.probability(row)
            if expected < 1e-290:  # brute force underflows; what is possible is told below
                continue
            require(close(value, math.log(expected)), "log_prob", value, "and by hand",
                    math.log(expected), row)

    def _check_posterior(self, rng):
        known, result, codes = self.known, self.result, self.given_codes
        sizes = [known.sizes[j] for j in self.asked]
        rows = result.probabilities if not self.evidence.is_row else result.probabilities[None]
        require(rows.shape == (len(codes), *sizes), "posterior has shape", rows.shape)
        require((rows >= 0).all() and np.allclose(rows.reshape(len(codes), -1).sum(axis=1), 1.0),
                "posterior sums to", rows)
        require(result.columns == tuple(known.labels[j] for j in self.asked), result.columns)
        for cell in list(itertools.product(*map(range, sizes)))[:3]:
            names = tuple(known.states[j][c] for j, c in zip(self.asked, cell, strict=True))
            told = result[names if len(names) > 1 else names[0]]
            require(np.array_equal(told, result.probabilities[(..., *cell)]), "posterior[...]")
        frame = result.to_frame()
        require(frame.to_numpy().size == result.probabilities.size, "to_frame")
        if isinstance(self.evidence.told, pd.DataFrame):
            n_each = math.prod(sizes[:-1])
            index = frame.index.get_level_values(0).tolist()
            require(index == self.evidence.told.index.repeat(n_each).tolist(), "index", index)
        well_formed(result._repr_html_())
        require(str(result).startswith("P("), "str")
        if known.joint is None:
            return
        others = [j for j in range(known.n) if j not in self.asked]
        for row, told in zip(codes, rows, strict=True):
            place = tuple(slice(None) if code < 0 else slice(code, code + 1) for code in row)
            part = known.joint[place].sum(axis=tuple(others))
            part = np.transpose(part, np.argsort(np.argsort(self.asked)))
            if part.sum() < 1e-250:
                continue
            require(np.allclose(told, part / part.sum(), atol=1e-9), "posterior", told,
                    "and by hand", part / part.sum())

    def _check_most_probable(self, rng):
        known, codes = self.known, self.evidence.codes
        if self.evidence.is_row:
            require(isinstance(self.result, dict) and list(self.result) == known.labels,
                    "most_probable", self.result)
            filled = [[self.result[x]] for x in known.labels]
            places = list(range(known.n))
        else:
            places = self.evidence.places
            require(type(self.result) is type(self.evidence.told)
                    or not isinstance(self.evidence.told, (Mapping, pd.DataFrame, pl.DataFrame)),
                    "most_probable gives", type(self.result))
            if isinstance(self.result, (Mapping, pd.DataFrame, pl.DataFrame)):
                filled = [list(self.result[known.labels[j]]) for j in places]
            else:
                filled = np.asarray(self.result, dtype=object).T.tolist() if len(codes) else [
                    []] * known.n
        if isinstance(self.result, pd.DataFrame):
            require(list(self.result.index) == list(self.evidence.told.index), "index")
        found = np.full(codes.shape, -1)
        for j, column in zip(places, filled, strict=True):
            missing = None in known.states[j]
            found[:, j] = [
                len(known.states[j]) - 1 if missing and (x is None or x != x)
                else known.states[j].index(x) for x in column
            ]
        require(((found == codes) | (codes < 0)).all(), "most_probable changes", codes, found)
        if known.joint is None:
            return
        for row, completed in zip(codes, found, strict=True):
            best, reached = (
                known.joint[tuple(slice(None) if code < 0 else code for code in one)].max()
                for one in (row, completed)
            )
            require(best < 1e-290 or close(math.log(best), math.log(reached)), "most_probable",
                    completed, "has", reached, "and the best is", best)

    def _check_sample(self, rng):
        known, codes = self.known, self.evidence.codes[0]
        require(list(self.result) == known.labels, "sample", list(self.result))
        n = self.given["n_samples"]
        drawn = np.array([
            [known.states[j].index(x) for x in self.result[label].tolist()]
            for j, label in enumerate(known.labels)
        ]).T
        require(drawn.shape == (n, known.n), "sample has shape", drawn.shape)
        require(((drawn == codes) | (codes < 0)).all(), "sample changes what is known")
        if known.joint is None:
            return
        require(all(map(known.is_possible, drawn)), "impossible rows are drawn")
        whole = known.probability(codes)
        if n < 400 or whole < 1e-200:
            return
        for j in range(known.n):
            if codes[j] >= 0:
                continue
            one = codes.copy()
            for state in range(known.sizes[j]):
                one[j] = state
                p = min(known.probability(one) / whole, 1.0)
                share = float((drawn[:, j] == state).mean())
                require(abs(share - p) <= 7 * math.sqrt(p * (1 - p) / n) + 8 / n, "a share of",
                        share, "for a probability of", p)

    def __str__(self):
        return (f"{self.name} flaws {self.flaws} {self.given} columns "
                f"{getattr(self, 'columns', None)!r} evidence {self.evidence.form}\n"
                f"{self.evidence.told!r}\n{self.known}")


def well_formed(markup):
    """HTML of our own making is XML, too."""
    try:
        return ET.fromstring(f"<div>{markup}</div>")
    except ET.ParseError as error:
        require(False, "not well formed:", error, markup[:500])


class StructureCall:
    """What a network says of its graph: families, separation, tables and classes."""

    name = "structure"

    def __init__(self, rng):
        self.flaws = []
        self.known = known = KnownNetwork(rng)
        self.place = int(rng.integers(known.n))
        self.x = known.labels[self.place]
        if rng.random() < 0.1:
            self.x = pick(rng, [*NO_COLUMN, [self.x], np.array([1, 2]), {}])
            self.flaws.append("!x")
        sides = rng.integers(0, 4, known.n)
        sides[self.place] = 1
        self.sides = {name: [j for j in range(known.n) if sides[j] == k]
                      for k, name in ((1, "x"), (2, "y"), (3, "given"))}
        named = {name: [known.labels[j] for j in places] for name, places in self.sides.items()}
        if not named["y"]:
            self.flaws.append("!y" if known.n else "?y")
        if rng.random() < 0.1:
            name = pick(rng, ["x", "y", "given"])
            wrong = [["no such column"], 99, None, math.nan, [[1]], object()]
            wrong += [[]] if name != "given" else []
            if name != "x":
                wrong.append([known.labels[self.place]])
            named[name] = pick(rng, wrong)
            self.flaws.append("!sides")
        for name, value in named.items():
            if isinstance(value, list) and len(value) == 1 and rng.random() < 0.3:
                named[name] = value[0]
            elif isinstance(value, list) and rng.random() < 0.2 and value:
                try:
                    named[name] = pick(rng, [tuple, set, iter])(value)
                except TypeError:
                    continue
        self.named = named

    def run(self):
        # All are asked first, since each must refuse by itself.
        known, errors = self.known, []
        network = known.network
        self.found = {}
        for name in ("parents", "children", "markov_blanket", "cpt"):
            try:
                self.found[name] = getattr(network, name)(self.x)
            except Exception as error:
                errors.append(error)
        require(len(errors) == 4 * ("!x" in self.flaws), "some accept", repr(self.x), errors)
        self.separated = network.d_separated(**self.named)
        if errors:
            raise errors[0]

    def check(self, rng):
        known = self.known
        own, edges = self.place, known.edges
        named = {name: [known.labels.index(x) for x in self.found[name]]
                 for name in ("parents", "children", "markov_blanket")}
        children = [c for p, c in edges if p == own]
        blanket = {*known.parents[own], *children, *(p for p, c in edges if c in children)} - {own}
        require(named["parents"] == list(known.parents[own]), "parents", named)
        require(named["children"] == sorted(children), "children", named)
        require(named["markov_blanket"] == sorted(blanket), "markov_blanket", named)
        cpt = self.found["cpt"]
        table = known.dense[own]
        for configuration, row in zip(cpt.configurations, cpt.probabilities, strict=True):
            codes = [known.states[p].index(x)
                     for p, x in zip(known.parents[own], configuration, strict=True)]
            require(np.allclose(row, table[tuple(codes)], atol=1e-12), "cpt", row)
        require(cpt.to_frame().shape == cpt.probabilities.shape, "to_frame of a CPT")
        require(str(cpt).startswith("P("), str(cpt))
        well_formed(cpt._repr_html_())
        require(self.separated == separated_by_hand(known, **self.sides), "d_separated says",
                self.separated)
        swapped = known.network.d_separated(
            *([known.labels[j] for j in self.sides[side]] for side in ("y", "x", "given")))
        require(swapped == self.separated, "d_separated is not symmetric")

    def __str__(self):
        return f"structure flaws {self.flaws} x {self.x!r} sides {self.named!r}\n{self.known}"


def separated_by_hand(known, x, y, given):
    """In the moral graph of the ancestors, without `given`, no path leads from x to y."""
    kept = {*x, *y, *given}
    while more := {p for c in kept for p in known.parents[c]} - kept:
        kept |= more
    joined = {frozenset((p, c)) for p, c in known.edges if c in kept}
    for c in kept:
        joined |= {frozenset(pair) for pair in itertools.combinations(known.parents[c], 2)}
    reached = set(x)
    while more := {
        j for pair in joined if pair & reached for j in pair
    } - reached - set(given):
        reached |= more
    return not reached & set(y)
