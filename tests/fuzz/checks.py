"""What must hold of whatever the fuzzer gets back."""

import io
import itertools
import linecache
import math
import pickle
import traceback
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import gammaln

from skbn import read_bif

MARKS = "{}()|;,0 -.e9\0\"x\n"
TWINS = ("bdeu", "k2", "bdj", "bds", "loglik", "bic", "aic")


class Violation(AssertionError):
    """Something that must not be."""


def require(fact, *words):
    if not fact:
        raise Violation(" ".join(map(str, words)))


def require_refusal(method, *arguments, **options):
    """An exception that was raised on purpose, and says why."""
    told = f"{method.__qualname__} of {arguments!r} {options!r}"
    try:
        method(*arguments, **options)
    except (ValueError, TypeError) as error:
        where = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
        require(raised_by_us(error) or "sklearn" in where.parts, told, "raises", repr(error))
        require(str(error).strip(), told, "raises without a word")
    else:
        require(False, told, "is accepted")


def close(a, b, scale=0.0, tolerance=1e-9):
    """Equal but for rounding, beside numbers as large as `scale`."""
    return a == b or abs(a - b) <= tolerance * max(abs(a), abs(b), scale, 1.0)


def log_rising(counts, log_alpha):
    """Sum of ln G(n + alpha) - ln G(alpha); whole counts term by term, so that nothing cancels."""
    alpha = math.exp(min(log_alpha, 700.0))
    total = 0.0
    for n in counts:
        if n == int(n) and n <= 6000:
            terms = np.log(alpha + np.arange(1, int(n)))
            total += log_alpha + math.fsum(terms.tolist())
        else:
            total += float(gammaln(n + alpha) - gammaln(alpha))
    return total


def twin_score(name, codes, sizes, weights, parents, ess):
    """The score of a graph from dictionaries of counts; also how large its terms are."""
    rows = codes.tolist()
    weights = [1.0] * len(rows) if weights is None else [float(w) for w in weights]
    n = math.fsum(weights)
    total, scale = 0.0, 0.0
    for child, given in enumerate(parents):
        cells, sums = defaultdict(float), defaultdict(float)
        for row, weight in zip(rows, weights, strict=True):
            if weight > 0:
                state = tuple(row[p] for p in given)
                cells[state, row[child]] += weight
                sums[state] += weight
        r = sizes[child]
        log_q = math.fsum(math.log(sizes[p]) for p in given)
        if name in ("bdeu", "k2", "bdj", "bds"):
            log_cell = {
                "bdeu": math.log(ess) - math.log(r) - log_q, "k2": 0.0, "bdj": math.log(0.5),
                "bds": math.log(ess) - math.log(r) - math.log(max(len(sums), 1)),
            }[name]
            up = log_rising(cells.values(), log_cell)
            down = log_rising(sums.values(), log_cell + math.log(r))
        else:
            up = math.fsum(w * math.log(w) for w in cells.values())
            down = math.fsum(w * math.log(w) for w in sums.values())
            price = {"loglik": 0.0, "aic": 1.0, "bic": math.log(n) / 2}[name]
            cost = price * (r - 1) * math.exp(log_q)
            total -= cost
            scale += abs(cost)
        total += up - down
        scale += abs(up) + abs(down)
    return total, scale


def acyclic(parents):
    try:
        list(TopologicalSorter(dict(enumerate(parents))).static_order())
    except ValueError:
        return False
    return True


def all_parent_sets(n):
    """Every DAG of n nodes."""
    subsets = [
        [tuple(c for k, c in enumerate([*range(i), *range(i + 1, n)]) if mask >> k & 1)
         for mask in range(2 ** (n - 1))]
        for i in range(n)
    ]
    return [graph for graph in itertools.product(*subsets) if acyclic(graph)]


def parents_of(edges, labels):
    place = {label: k for k, label in enumerate(labels)}
    parents = [[] for _ in labels]
    for a, b in edges:
        parents[place[b]].append(place[a])
    return [tuple(sorted(given)) for given in parents]


def check_graph(bn, labels, parameters):
    """The graph is acyclic, is the same wherever it is told, and keeps the constraints."""
    edges = list(bn.edges_)
    require(len(set(edges)) == len(edges), "edges repeat", edges)
    parents = parents_of(edges, labels)
    require(acyclic(parents), "a cycle in", edges)
    adjacency = np.zeros((len(labels), len(labels)), dtype=bool)
    for child, given in enumerate(parents):
        adjacency[list(given), child] = True
    require((adjacency == bn.adjacency_).all(), "adjacency_ and edges_ differ")
    require(bn.network_.edges == edges, "network_.edges and edges_ differ")
    required, forbidden = parameters.get("required_edges"), parameters.get("forbidden_edges")
    require(not required or set(required) <= set(edges), "required edges are missing")
    require(not forbidden or not set(forbidden) & set(edges), "forbidden edges are there")
    limit = parameters.get("max_parents")
    require(limit is None or max(map(len, parents)) <= limit, "more than max_parents")
    tier = {x: k for k, group in enumerate(parameters.get("tiers") or []) for x in group}
    require(all(tier[a] <= tier[b] for a, b in edges if a in tier and b in tier),
            "an edge leads to an earlier tier")
    return parents


def check_history(bn, parameters):
    """Moves lead from the start to the graph; greedy ones never downhill."""
    require(len(bn.restart_scores_) == 1 + parameters.get("n_restarts", 0)
            or isinstance(parameters.get("ess"), str), "restart_scores_ has the wrong length")
    limit = parameters.get("max_iter")
    require(limit is None or bn.n_iter_ <= max(limit, 1), "more moves than max_iter")
    if parameters.get("search", "greedy") in ("greedy", "first_ascent") and len(bn.history_) > 1:
        scores = [step.score for step in bn.history_]
        scale = max(map(abs, scores))
        if math.isfinite(scale):
            require(all(b > a - 1e-9 * scale for a, b in itertools.pairwise(scores)),
                    "a move downhill", scores)


def check_tables(bn):
    """Every conditional probability table is one."""
    for label in bn.network_.labels[:20]:
        table = np.asarray(bn.network_.cpt(label).probabilities)
        require(np.isfinite(table).all() and (table >= 0).all(), "probabilities of", label)
        require(np.allclose(table.sum(axis=1), 1.0, atol=1e-9), "probabilities of", label, "sum to",
                table.sum(axis=1))


def plain_table(bn, codes, n_features, is_array):
    """Codes as a table of the levels themselves."""
    columns = [bn.categories_[j].tolist() for j in range(n_features)]
    frame = pd.DataFrame({
        j: pd.Series([columns[j][code] for code in codes[:, j]], dtype=object)
        for j in range(n_features)
    })
    if is_array:
        return frame.to_numpy(dtype=object).copy()
    frame.columns = pd.Index(list(bn.network_.labels[:n_features]), tupleize_cols=False)
    return frame


def check_predictions(rng, bn, X, has_y, is_array):
    """Probabilities sum to one and fit each other, on the table and on rows drawn at random."""
    n_rows = 7
    sizes = [len(levels) for levels in bn.categories_]
    n_features = bn.n_features_in_
    codes = np.column_stack([rng.integers(0, r, n_rows) for r in sizes])
    drawn = plain_table(bn, codes, n_features, is_array)
    for table in (X, drawn):
        logs = bn.score_samples(table)
        require(np.isfinite(logs).all(), "score_samples gives", logs[~np.isfinite(logs)][:3])
        require((logs <= 1e-9).all(), "score_samples above 0")
    if has_y:
        proba = bn.predict_proba(drawn)
        require(proba.shape == (n_rows, sizes[-1]), "predict_proba has shape", proba.shape)
        levels, joint = bn.classes_, None
        require(levels.tolist() == sorted(bn.categories_[-1].tolist()), "classes_", levels)
        # Fractions among the levels of a class are refused, unless no row had one.
        if sizes[-1] <= 12 and not (levels.dtype.kind == "f" and (levels % 1).any()):
            joint = np.column_stack([
                bn.score_samples(drawn, np.array([level] * n_rows, dtype=levels.dtype))
                for level in levels.tolist()
            ])
        check_proba(proba, joint, logs)
        predicted = bn.predict(drawn)
        require(predicted.shape == (n_rows,), "predict has shape", predicted.shape)
        return
    if n_features > 20:
        return
    probas = bn.predict_proba(drawn)
    require([p.shape for p in probas] == [(n_rows, r) for r in sizes], "shapes of predict_proba")
    predicted = bn.predict(drawn)
    require(predicted.shape == (n_rows, n_features), "predict has shape", predicted.shape)
    column = int(rng.integers(n_features))
    joint = None
    if sizes[column] <= 12:
        joint = np.empty((n_rows, sizes[column]))
        for state in range(sizes[column]):
            changed = codes.copy()
            changed[:, column] = state
            joint[:, state] = bn.score_samples(plain_table(bn, changed, n_features, is_array))
    for j, proba in enumerate(probas):
        check_proba(proba, joint if j == column else None, None)


def check_refusals(rng, bn, X, has_y):
    """What predictions cannot be of."""
    wrong = [None, 3, "table", np.zeros((2, 999)), np.zeros(3), np.zeros((1, 1, 1)),
             np.zeros((0, max(bn.n_features_in_, 1))), [[1j] * bn.n_features_in_]]
    methods = [bn.predict, bn.predict_proba, bn.score_samples]
    methods += [] if has_y else [bn.score]
    require_refusal(
        methods[int(rng.integers(len(methods)))], wrong[int(rng.integers(len(wrong)))])
    for n_samples in (0, -1, 1.5, "two", None):
        require_refusal(bn.sample, n_samples)
    require_refusal(bn.sample, 1, random_state="seed")
    require_refusal(bn.score_samples, X, 3)
    require_refusal(bn.score, X, 3)
    if not has_y:
        require_refusal(bn.score, X, sample_weight=[-1.0])


def check_files(rng, bn):
    """A BIF file gives the network back; a damaged one is refused, or another network."""
    network = bn.network_
    states = [state for levels in network.categories for state in levels.tolist()]
    if not all(
        name is None or isinstance(name, (str, int, float)) for name in [*network.labels, *states]
    ):
        return
    try:
        text = network.to_bif()
    except ValueError as error:
        require("probabilities" in str(error), "to_bif:", error)
        return
    again = read_bif(io.StringIO(text))
    require(list(again.labels) == list(network.labels), "labels of the file", again.labels)
    require(again.edges == network.edges, "edges of the file", again.edges)
    for ours, theirs in zip(network.categories, again.categories, strict=True):
        require(ours.tolist() == theirs.tolist(), "states of the file", ours, theirs)
    for ours, theirs in zip(network.tables, again.tables, strict=True):
        require(np.allclose(ours.dense(), theirs.dense(), rtol=1e-9, atol=1e-300),
                "probabilities of the file", ours.dense(), theirs.dense())
    damaged = list(text)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(damaged)))
        how = rng.integers(3)
        if how == 0:
            del damaged[place : place + int(rng.integers(1, 20))]
        else:
            new = MARKS[int(rng.integers(len(MARKS)))]
            damaged[place : place + int(how == 1)] = [new]
    try:
        other = read_bif(io.StringIO("".join(damaged)))
    except ValueError as error:
        require(str(error).strip() and raised_by_us(error), "a damaged file:", repr(error))
    else:
        for table in other.tables:
            require(np.allclose(np.exp(table.log_probabilities).sum(axis=1), 1.0, atol=1e-8),
                    "a damaged file gives probabilities", table.log_probabilities)


def raised_by_us(error):
    """Whether an exception was raised on purpose, in the package."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = Path(frame.filename)
    line = linecache.getline(frame.filename, frame.lineno).strip()
    return "skbn" in where.parts and (where.suffix != ".py" or line.startswith("raise"))


def check_gaps(rng, bn, n_features, is_array):
    """Missing cells are summed out: by all completions of a row, where they are few."""
    sizes = [len(levels) for levels in bn.categories_[:n_features]]
    if any(None in levels.tolist() for levels in bn.categories_):
        return  # then missing is a level
    codes = np.array([[int(rng.integers(r)) for r in sizes]])
    gaps = [j for j in range(n_features) if rng.random() < 0.4]
    if not gaps or math.prod(sizes[j] for j in gaps) > 300:
        return
    states = list(itertools.product(*(range(sizes[j]) for j in gaps)))
    every = np.repeat(codes, len(states), axis=0)
    every[:, gaps] = states
    logs = bn.score_samples(plain_table(bn, every, n_features, is_array))
    expected = logs.max() + math.log(np.exp(logs - logs.max()).sum())
    table = plain_table(bn, codes, n_features, is_array)
    if is_array:
        table[0, gaps] = None
    else:
        for j in gaps:
            table.iat[0, j] = None if rng.random() < 0.5 else np.nan
    found = float(bn.score_samples(table)[0])
    require(close(found, expected, 0.0, 1e-8), "with gaps in", gaps, "score_samples gives", found,
            "and all completions", expected)
    probas = bn.predict_proba(table)
    for proba in probas if isinstance(probas, list) else [probas]:
        check_proba(proba, None, None)


def check_questions(rng, bn):
    """What a network says by name fits together."""
    network = bn.network_
    labels = list(network.labels)
    sizes = [len(levels) for levels in network.categories]
    if any(None in levels.tolist() for levels in network.categories) or len(labels) > 12:
        return
    target = int(rng.integers(len(labels)))
    evidence = {
        label: network.categories[j].tolist()[int(rng.integers(sizes[j]))]
        for j, label in enumerate(labels) if j != target and rng.random() < 0.4
    }
    try:
        posterior = np.asarray(network.posterior(labels[target], evidence).probabilities)
        known = network.log_prob(evidence) if evidence else 0.0
        best = network.most_probable(evidence)
        drawn = network.sample(3, evidence, random_state=0)
    except ValueError as error:
        require("entries" in str(error), "a question is refused:", error)
        return
    check_proba(posterior[None], None, None)
    for state in range(min(sizes[target], 5)):
        whole = {**evidence, labels[target]: network.categories[target].tolist()[state]}
        told = network.log_prob(whole) - known
        require(posterior[state] < 1e-200 or close(told, math.log(posterior[state]), 1.0, 1e-7),
                "posterior", posterior, "and log_prob", told, "of", whole)
    require(set(best) == set(labels), "most_probable lacks columns", best)
    top = network.log_prob(best)
    for row in range(3):
        one = {label: column.tolist()[row] for label, column in drawn.items()}
        require(all(one[label] == state for label, state in evidence.items()), "sample", one)
        require(network.log_prob(one) <= top + 1e-9 * abs(top), "a sample is more probable than",
                "the most probable", one, best)


def check_proba(proba, joint, marginal):
    require(np.isfinite(proba).all() and (proba >= 0).all(), "predict_proba", proba)
    require(np.allclose(proba.sum(axis=1), 1.0, atol=1e-9), "predict_proba sums to",
            proba.sum(axis=1))
    if joint is None:
        return
    top = joint.max(axis=1, keepdims=True)
    sums = np.exp(joint - top).sum(axis=1, keepdims=True)
    expected = np.exp(joint - top) / sums
    require(np.allclose(proba, expected, atol=1e-7), "predict_proba is", proba,
            "and score_samples says", expected)
    if marginal is not None:
        require(np.allclose(marginal, (top + np.log(sums))[:, 0], rtol=1e-9, atol=1e-7),
                "score_samples without y does not sum y out")


def check_copies(rng, bn, X):
    """A pickle predicts the same, and samples are rows that the network knows."""
    again = pickle.loads(pickle.dumps(bn))
    require((again.score_samples(X) == bn.score_samples(X)).all(), "a pickle predicts otherwise")
    drawn = bn.sample(3, random_state=int(rng.integers(1000)))
    if isinstance(drawn, tuple):
        levels = bn.classes_
        if levels.dtype.kind == "f" and (levels % 1).any():
            return  # classifiers refuse fractions among the classes, once a row has one
        require(np.isfinite(bn.score_samples(*drawn)).all(), "samples have no probability")
    else:
        require(np.isfinite(bn.score_samples(drawn)).all(), "samples have no probability")
