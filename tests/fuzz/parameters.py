"""Random parameters of the estimators and of what learns as they do."""

import math

import numpy as np
from problem import draw_edges, pick

from skbn import ExactSearch, FirstAscentSearch, GreedySearch, OrderSearch, TabuSearch

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


ILLEGAL = {
    "score_type": ["bde", None, 3, OwnScore, object()],
    "ess": [0, -1.0, math.nan, math.inf, "three", None, [1.0], 1j],
    "search": ["fast", None, 3, GreedySearch, object(), TabuSearch(tabu_length=-1),
               TabuSearch(patience=1.5), ExactSearch(max_memory=-1), ExactSearch(n_jobs="two"),
               ExactSearch(verbose="loud")],
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
        ExactSearch(n_jobs=2), ExactSearch(verbose=0),
        ExactSearch(max_memory=int(10 ** rng.uniform(0, 9))),
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
    if problem.is_less_than_a_row and (
        chosen.get("score_type") in ("bic", "mdl") or chosen.get("init") == "bic"
        or isinstance(chosen.get("ess"), str)
    ):
        flaws.append("?shares")
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
