"""Random calls of the public functions and estimators, and what must hold of their results."""

import math
import pprint
import warnings

import numpy as np
import pandas as pd
import polars as pl
from fuzz_checks import (
    TWINS,
    all_parent_sets,
    check_copies,
    check_files,
    check_gaps,
    check_graph,
    check_history,
    check_predictions,
    check_questions,
    check_tables,
    close,
    parents_of,
    require,
    twin_score,
)
from fuzz_tables import Dress, draw_codes, draw_weights, spoiled_table, take_rows
from sklearn.base import clone
from sklearn.model_selection import KFold

import skbn
from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    ESSSearchCV,
    ExactSearch,
    FirstAscentSearch,
    GreedySearch,
    OrderSearch,
    TabuSearch,
    analytic_ess,
    edge_posteriors,
    edge_report,
    ess_path,
    structure_score,
)

SCORES = ["bdeu", "loglik", "bic", "aic", "mdl", "k2", "bds", "bdj", "fnml", "qnml"]
NEED_WHOLE = ("fnml", "qnml")
SEARCHES = ["greedy", "first_ascent", "tabu", "order", "exact"]
LARGEST_EXACT = 8


class OwnScore:
    """A user's score: BIC with half its price."""

    def cell_terms(self, counts, family):
        return counts * np.log(counts)

    cell_terms_too = cell_terms

    def parent_terms(self, counts, family):
        return counts * np.log(counts)

    def constant(self, family):
        price = math.log(max(family.n_samples, 2.0)) / 4
        states = (family.cardinality - 1) * family.n_parent_states
        return -price * float(min(states, 10**300))


def own_prior(variable, parents):
    """A user's graph prior."""
    return -0.3 * len(parents) ** 2


def pick(rng, choices):
    """One of a list of anything."""
    return choices[int(rng.integers(len(choices)))]


class Problem:
    """A table with names, levels and weights."""

    def __init__(self, rng, largest_columns=None, largest_rows=None):
        self.flaws = []
        shape = rng.random()
        n_columns = int(rng.integers(1, 7))
        largest = 6
        if shape > 0.985:
            n_columns, largest = int(rng.integers(13, 301)), 3
        elif shape > 0.9:
            n_columns = int(rng.integers(7, 13))
        elif shape > 0.8:
            largest = 300
        n_columns = min(n_columns, largest_columns or n_columns)
        n_rows = int(pick(rng, [1, 2, 3, 8, 20, 20, 60, 60, 200, 500]))
        if shape < 0.03:
            n_rows = int(rng.integers(1000, 5001))
        if n_columns > 12:
            n_rows = min(n_rows, 100)
        n_rows = min(n_rows, largest_rows or n_rows)
        self.codes, self.sizes = draw_codes(rng, n_rows, n_columns, largest)
        self.dress = Dress(rng, self.sizes)
        self.names = self.dress.labels()
        self.X = self.dress.table(self.codes)
        self.weights, flaw = draw_weights(rng, n_rows)
        if flaw and rng.random() < 0.7:
            self.weights, flaw = None, None
        self.flaws += [flaw] if flaw else []
        self.categories = self._categories(rng)
        if rng.random() < 0.08:
            self.X, flaw = spoiled_table(rng, self.codes, self.names)
            if self.weights is not None and "!weights" not in self.flaws:
                # The spoiled cell may be in a row of weight zero.
                cells = ("!inf", "!real", "!mixed", "!truth", "!lists", "!bytes", "!masked")
                flaw = "?" + flaw[1:] if flaw in cells else flaw
            self.flaws.append(flaw)
            # Its levels need not be the table's, nor its names.
            self.flaws.append("?levels")

    @property
    def is_array(self):
        return self.dress.names is None

    @property
    def n_columns(self):
        return len(self.sizes)

    @property
    def n_rows(self):
        return len(self.codes)

    @property
    def whole(self):
        if self.weights is None or "!weights" in self.flaws:
            return True
        weights = np.asarray(self.weights, dtype=float)
        return bool((weights == np.floor(weights)).all())

    @property
    def countable(self):
        """Whether the weights can be counts."""
        return self.whole and (
            self.weights is None or "!weights" in self.flaws
            or float(np.sum(np.asarray(self.weights, dtype=float))) < 2**53
        )

    def _categories(self, rng):
        how = rng.random()
        if how < 0.75:
            return "auto"
        if how < 0.8:
            self.flaws.append("!categories")
            wrong = ["levels", None, 3, {"no such column": [1]}, [[1]] * (self.n_columns + 1),
                     {self.names[0]: []}, {self.names[0]: 3}, {self.names[0]: [1, 1]},
                     {self.names[0]: [None, *self.dress.pools[0]]},
                     {self.names[0]: [*self.dress.pools[0], math.inf]}]
            return pick(rng, wrong)
        entries = {}
        for name, pool, style in zip(
            self.names, self.dress.pools, self.dress.styles, strict=True
        ):
            levels = [pool[k] for k in rng.permutation(len(pool))]
            if "enum" in style or "dictionary" in style:
                levels = list(map(str, levels))
            entries[name] = levels
        if how < 0.83:
            seen = np.unique(self.codes[:, 0])
            levels = entries[self.names[0]]
            entries[self.names[0]] = levels[:-1] or levels
            self.flaws.append("?levels")
            del seen
        if how < 0.92:
            return entries
        return [entries[name] for name in self.names]

    def permuted(self, rng):
        """The same rows in another order."""
        order = rng.permutation(self.n_rows).tolist()
        weights = None if self.weights is None else np.asarray(self.weights, dtype=float)[order]
        return take_rows(self.X, order), weights, order

    def __str__(self):
        return (f"{self.dress.family} {self.n_rows} x {self.n_columns}, styles "
                f"{self.dress.styles[:8]}, kinds {self.dress.kinds[:8]}, sizes {self.sizes[:12]}, "
                f"weights {type(self.weights).__name__} {np.asarray(self.weights).ravel()[:5]}, "
                f"categories {str(self.categories)[:200]}")


def draw_edges(rng, names, probability):
    """Edges of a random DAG."""
    order = rng.permutation(len(names))
    return [(names[order[i]], names[order[j]]) for i in range(len(names))
            for j in range(i + 1, len(names)) if rng.random() < probability]


def draw_graph(rng, names, flaws):
    """A graph in one of its forms, or something that is none."""
    edges = draw_edges(rng, names, pick(rng, [0.1, 0.5, 1.0]) if len(names) < 10 else 0.05)
    form = rng.random()
    if form < 0.1:
        flaws.append("!graph")
        a = names[0]
        return pick(rng, [None, 5, "graph", [(a, a)], [(a, "no such column")], [a], [(a,)],
                          np.zeros((2, 5)), np.full((len(names), len(names)), 0.5),
                          BayesNetStructureEstimator()])
    matrix = np.zeros((len(names), len(names)), dtype=pick(rng, [bool, int, float]))
    for a, b in edges:
        matrix[names.index(a), names.index(b)] = 1
    if form < 0.3:
        return matrix
    if form < 0.4:
        place = rng.permutation(len(names))
        labels = pd.Index([names[k] for k in place], tupleize_cols=False)
        return pd.DataFrame(matrix[np.ix_(place, place)], index=labels, columns=labels)
    if form < 0.5 and not any(isinstance(name, tuple) for name in names):
        import networkx as nx

        return nx.DiGraph(edges)
    return edges


def edges_of(graph, names):
    """The edges of a graph in any of its forms."""
    if isinstance(graph, np.ndarray):
        return [(names[a], names[b]) for a, b in np.argwhere(graph)]
    if isinstance(graph, pd.DataFrame):
        labels = list(graph.columns)
        return [(labels[a], labels[b]) for a, b in np.argwhere(graph.to_numpy())]
    if hasattr(graph, "edges"):
        return list(graph.edges)
    return list(graph)


ILLEGAL = {
    "score_type": ["bde", None, 3, OwnScore, object()],
    "ess": [0, -1.0, math.nan, math.inf, "three", None, [1.0], 1j],
    "search": ["fast", None, 3, GreedySearch, object(), TabuSearch(tabu_length=-1),
               TabuSearch(patience=1.5)],
    "init": ["start", None, 3, [("x0", "no such column")], np.zeros((1, 9))],
    "n_restarts": [-1, 1.5, "two", None],
    "max_parents": [-1, 1.5, "two"],
    "required_edges": [3, "ab", [3], [("no such column", "x0")]],
    "forbidden_edges": [3, "ab", [3], [("no such column", "x0")]],
    "tiers": [3, "ab", ["ab"], [3], [["no such column"]]],
    "graph_prior": [-1.0, math.nan, math.inf, "flat", [1.0]],
    "max_iter": [-1, 1.5, "two"],
    "parameter_ess": [0, -1.0, math.nan, math.inf, "three"],
    "n_jobs": [1.5, "two"],
    "random_state": ["seed", -1, 1.5, 2**40],
    "verbose": ["loud", -1],
    "handle_missing": ["drop", None, 3],
    "handle_unknown": ["drop", None, 3],
}


def draw_parameters(rng, problem, names, *, policies=True):
    """Parameters of an estimator; what is wrong with them goes to the problem's flaws."""
    flaws, n = problem.flaws, len(names)
    chosen = {"random_state": int(rng.integers(2**31)), "categories": problem.categories}

    def sometimes(name, probability, draw):
        if rng.random() < probability:
            chosen[name] = draw()

    sometimes("score_type", 0.6, lambda: pick(rng, [*SCORES, OwnScore()]))
    if chosen.get("score_type") in NEED_WHOLE and not problem.countable:
        flaws.append("?fractional")
    sometimes("ess", 0.7, lambda: pick(rng, [
        1, 10.0 ** rng.uniform(-3, 3), np.float32(2.5), 1e-300, 1e300, 1e-12, 1e12,
        *(["analytic", "marginal_likelihood"] * policies),
    ]))
    sometimes("search", 0.7, lambda: pick(rng, [
        *SEARCHES, TabuSearch(tabu_length=int(rng.integers(5)), patience=int(rng.integers(5))),
        GreedySearch(), FirstAscentSearch(), OrderSearch(), ExactSearch(),
        ExactSearch(n_jobs=2), ExactSearch(max_memory=int(10 ** rng.uniform(0, 9))),
    ]))
    search = chosen.get("search")
    exact = search == "exact" or isinstance(search, ExactSearch)
    if exact and n > LARGEST_EXACT:
        if n < 40:
            chosen["search"], exact = "greedy", False
        else:
            flaws.append("!memory")
    if exact and getattr(search, "max_memory", None) is not None:
        flaws.append("?memory")
    sometimes("init", 0.4, lambda: pick(
        rng, ["empty", "full", "random", "bic", "tree", draw_edges(rng, names, 0.2)]))
    sometimes("n_restarts", 0.3, lambda: int(rng.integers(1, 4)))
    sometimes("max_parents", 0.3, lambda: int(rng.integers(0, 4)))
    sometimes("max_iter", 0.2, lambda: int(rng.integers(0, 5)))
    if isinstance(chosen.get("init"), list) and "max_parents" in chosen:
        flaws.append("?init")
    if n > 40:
        # Dense graphs of so many columns take too long for this.
        chosen["max_iter"] = int(rng.integers(0, 4))
        chosen.pop("n_restarts", None)
        if chosen.get("init") in ("full", "bic", "tree", "random"):
            del chosen["init"]
        if chosen.get("search") in ("order", "first_ascent"):
            del chosen["search"]
    if n > 12 and chosen.get("init") == "full":
        chosen["max_iter"] = 2
    if exact and any(chosen.get(name, value) != value for name, value in (
        ("init", "empty"), ("n_restarts", 0), ("max_iter", None)
    )):
        if rng.random() < 0.2:
            flaws.append("!starts")
        else:
            for name in ("init", "n_restarts", "max_iter"):
                chosen.pop(name, None)
    if rng.random() < 0.2 and n > 1:
        _constrain(rng, chosen, names, flaws)
    sometimes("graph_prior", 0.15, lambda: pick(rng, [0.0, 0.5, 3, own_prior]))
    sometimes("parameter_ess", 0.2, lambda: pick(rng, [1, 0.5, 1e-300, 1e300, 7.0]))
    sometimes("n_jobs", 0.2, lambda: pick(rng, [1, 2, -1]))
    sometimes("handle_missing", 0.1, lambda: pick(rng, ["error", "category"]))
    sometimes("handle_unknown", 0.1, lambda: pick(rng, ["error", "missing"]))
    if rng.random() < 0.1:
        name = pick(rng, list(ILLEGAL))
        chosen[name] = pick(rng, ILLEGAL[name])
        flaws.append("!" + name)
        if exact and name == "search":
            flaws.append("?starts")
    return chosen


def _constrain(rng, chosen, names, flaws):
    """Constraints; given starts and required edges may contradict each other."""
    edges = draw_edges(rng, names, min(1.0, 3 / len(names)))
    half = int(rng.integers(len(edges) + 1))
    if rng.random() < 0.6:
        chosen["required_edges"] = edges[:half]
    if rng.random() < 0.6:
        chosen["forbidden_edges"] = edges[half:] + [(b, a) for a, b in edges[:half]]
    if rng.random() < 0.4:
        cut = int(rng.integers(len(names) + 1))
        order = [names[k] for k in rng.permutation(len(names))]
        chosen["tiers"] = [order[:cut], order[cut:]]
    if rng.random() < 0.1 and edges:
        chosen["required_edges"] = [edges[0], edges[0][::-1]]
    flaws.append("?constraints")


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
        form = pick(rng, ["list", "array", "series", "categorical", "polars", "column"])
        if kind == "real" and self.is_classifier:
            self.flaws.append("?continuous")
        if kind == "real" or form == "categorical":
            levels = [problem.dress.pools[last][k] for k in problem.dress.declared[last]]
            self.y = pd.Series(pd.Categorical(values, categories=levels), name="target")
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
        self.label = getattr(self.y, "name", None) or "y"
        self.names = [*problem.names[:-1], self.label]
        if isinstance(problem.categories, dict):
            problem.categories = {
                name: levels for name, levels in problem.categories.items()
                if name != problem.names[-1]
            }
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
            y = [y[t] for t in order] if isinstance(y, list) else (
                y.iloc[order] if isinstance(y, pd.Series) else y[order])
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
            if rng.random() < 0.05:
                self.score_type = pick(rng, ["bde", None, 3, OwnScore])
                self.flaws.append("!score_type")
        if self.name != "analytic_ess" and rng.random() < 0.05:
            # None asks a fitted estimator.
            self.ess = pick(rng, [0, -1, math.nan, math.inf, "one", [1], None])
            self.flaws.append("!ess")

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
                self.graph, p.X, ess=self.ess, absent=self.absent, categories=p.categories,
                sample_weight=p.weights)

    def check(self, rng):
        p = self.problem
        if "?levels" in self.flaws:
            return
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
            others = [e for e in edges if e != edge]
            with_edge, without = (
                structure_score(p.X, graph, ess=self.ess, categories=p.categories,
                                sample_weight=p.weights)
                for graph in ([*others, edge], others)
            )
            told = float(report["log_bayes_factor"][row])
            # n ln(alpha) of every count cancels in the end, with the digits below it.
            n = self.problem.n_rows if p.weights is None else float(np.sum(np.asarray(p.weights)))
            require(close(told, with_edge - without, 1000 * n, 1e-12)
                    or close(told, with_edge - without, max(abs(with_edge), abs(without))),
                    "log_bayes_factor of", edge, "is", told, "and scores say", with_edge, without)
        require(not np.isnan(report["uniformity"]).any() and (report["uniformity"] >= 0).all(),
                "uniformity is", report["uniformity"])

    def __str__(self):
        return (f"{self.name} flaws {self.flaws} score_type {self.score_type!r} ess {self.ess!r} "
                f"absent {self.absent}\ngraph {str(self.graph)[:600]}\n{self.problem}")


class PathCall:
    """`ess_path`."""

    name = "ess_path"

    def __init__(self, rng):
        self.problem = problem = Problem(rng, largest_columns=7, largest_rows=500)
        self.flaws = problem.flaws
        # Only estimators refuse names of several types, which others then read.
        self.flaws[:] = ["?labels" if flaw == "!mixed labels" else flaw for flaw in self.flaws]
        self.parameters = draw_parameters(rng, problem, problem.names)
        for name in ("ess", "parameter_ess", "verbose", "handle_missing", "handle_unknown"):
            self.parameters.pop(name, None)
            if "!" + name in self.flaws:
                self.flaws.remove("!" + name)
        if "search" not in self.parameters:
            for name in ("init", "n_restarts", "max_iter"):
                if f"!{name}" not in self.flaws:
                    self.parameters.pop(name, None)
        self.grid = pick(
            rng, [[1.0], [3, 1, 3], np.logspace(-2, 3, 6), range(1, 5), [1e-300, 1e300]])
        if rng.random() < 0.05:
            self.grid = pick(rng, [[], 3, "ess", [0.0], [-1], [math.nan], [[1]], None])
            self.flaws.append("!grid")

    def run(self):
        self.result = ess_path(
            self.problem.X, self.grid, sample_weight=self.problem.weights, **self.parameters)

    def check(self, rng):
        p, path = self.problem, self.result
        if "?levels" in self.flaws:
            return
        require(path.ess.tolist() == sorted({float(value) for value in self.grid}), "ess", path.ess)
        require(path.n_edges.tolist() == [len(edges) for edges in path.graphs], "n_edges")
        prior = self.parameters.get("graph_prior")
        for ess, score, edges in zip(path.ess.tolist(), path.scores, path.graphs, strict=True):
            parents = parents_of(edges, p.names)
            extra = 0.0
            if callable(prior):
                extra = math.fsum(
                    prior(name, given) for name, given in zip(p.names, parents, strict=True))
            elif prior is not None:
                extra = -prior * len(edges)
            options = {"score_type": self.parameters.get("score_type", "bdeu"), "ess": ess,
                       "categories": p.categories, "sample_weight": p.weights}
            expected = structure_score(p.X, edges, **options) + extra
            require(close(score, expected), "the path scores", score, "and structure_score",
                    expected)
        require(path.map_ess == path.ess[int(np.argmax(path.scores))], "map_ess", path)
        low, high = path.map_interval
        require(low <= path.map_ess <= high, "map_interval", path)

    def __str__(self):
        return f"ess_path flaws {self.flaws} grid {self.grid}\n{self.parameters}\n{self.problem}"


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
        self.options["error_score"] = pick(rng, ["raise", np.nan])
        if rng.random() < 0.1:
            name, values = pick(rng, [
                ("ess", [[], 3.0, "ess", [0.0], [math.nan], [[1]], None]),
                ("cv", [1, "folds", 1000, 1.5]), ("refit", ["best", 3]), ("scoring", ["best", 3]),
                ("n_jobs", ["two", 1.5]), ("error_score", ["ignore", None]),
            ])
            if name == "ess":
                self.grid = pick(rng, values)
            else:
                self.options[name] = pick(rng, values)
            self.flaws.append("!" + name)
        # With error_score=nan what a fold says is a warning, and weights may all be in one fold.
        if self.flaws or self.problem.weights is not None:
            self.flaws = ["?" + flaw[1:] if flaw[1:] in {
                "memory", "starts", "graph", "weights", *(name for name in parameters),
            } else flaw for flaw in self.flaws] + ["?folds"]
        self.search = ESSSearchCV(
            BayesNetStructureEstimator(**parameters), self.grid, **self.options)

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
                f"{self.search.estimator.get_params()}\n{self.problem}")


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


class TheoryCall:
    """The functions of a contingency array."""

    name = "theory"

    def __init__(self, rng):
        self.flaws = []
        a, b, c = (int(k) for k in rng.integers(1, 5, 3))
        self.counts = rng.integers(0, pick(rng, [2, 5, 1000]), (a, b, c)).astype(
            pick(rng, [int, float]))
        self.ess = pick(rng, [1.0, 1e-300, 1e300, 10.0 ** rng.uniform(-3, 3)])
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


CALLS = [(EstimatorCall, 0.57), (GraphCall, 0.2), (PathCall, 0.06), (SearchCVCall, 0.04),
         (PosteriorCall, 0.06), (TheoryCall, 0.07)]


def draw_call(rng):
    """One call with everything that it needs."""
    kinds, shares = zip(*CALLS, strict=True)
    with warnings.catch_warnings():
        # What makes the tables may warn; what reads them may not.
        warnings.simplefilter("ignore")
        return kinds[int(rng.choice(len(kinds), p=shares))](rng)
