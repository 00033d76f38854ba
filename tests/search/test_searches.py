import itertools
import math
import re
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints, read_graph_prior
from skbn.graphs.graph import DAG
from skbn.scores.bayesian import BDeu
from skbn.scores.by_name import SCORES
from skbn.scores.local_scores import LocalScores
from skbn.search.climbing import SearchResult
from skbn.search.runs import SearchRuns, draw_seeds, run_search
from skbn.search.searches import SEARCHES, GreedySearch, Search, TabuSearch
from skbn.search.starts import make_start

LABELS = ["a", "b", "c", "d", "e", "f"]
every_search = pytest.mark.parametrize("name", SEARCHES)


def rng(seed=0):
    return np.random.default_rng(seed)


def state(seed=0):
    return np.random.RandomState(seed)


@pytest.fixture
def problem(make_table, twins):
    """Local scores of a random table of six columns, and their slow twin."""

    def make(seed, kind="plain", score="bdeu", log_prior=None, n_rows=50):
        codes, cardinalities, weights = make_table(rng(seed), 6, n_rows, kind)
        data = CategoricalData.from_codes(codes, cardinalities, weights)
        return (
            LocalScores(data, SCORES[score], 1.0, log_prior),
            twins.PlainScorer(codes, cardinalities, score, 1.0, weights, log_prior),
        )

    return make


def run(search, scores, constraints=None, init="empty", seed=0, **more):
    constraints = Constraints.none(6) if constraints is None else constraints
    search = SEARCHES[search] if isinstance(search, str) else search
    seeds = draw_seeds(state(seed), more.pop("n_restarts", 0))
    return run_search(search, scores, constraints, init, LABELS, seeds, **more)


def outcome(runs):
    return [(run.parents, run.score, run.start_score, run.history) for run in runs.runs]


# Runs and restarts


@every_search
@pytest.mark.parametrize("init", ["empty", "full", "random", "bic", "tree", [("a", "b")]])
def test_the_first_run_is_the_same_with_and_without_restarts(name, init, problem):
    scores, _ = problem(0)
    alone = outcome(run(name, scores, init=init))
    assert len(alone) == 1
    several = outcome(run(name, scores, init=init, n_restarts=4))
    assert several[:1] == alone
    assert several == outcome(run(name, scores, init=init, n_restarts=6))[:5]


def test_restarts_begin_with_random_graphs(problem):
    scores, _ = problem(0)
    runs = run("greedy", scores, n_restarts=5, max_iter=0).runs
    assert runs[0].parents == [()] * 6
    assert [sum(map(len, run.parents)) for run in runs[1:]] == [6] * 5
    assert len({tuple(run.parents) for run in runs}) > 3


@every_search
def test_random_state_decides_all(name, problem):
    scores, _ = problem(1, "duplicated")
    fresh, _ = problem(1, "duplicated")
    first = outcome(run(name, scores, init="random", seed=3, n_restarts=2))
    assert first == outcome(run(name, scores, init="random", seed=3, n_restarts=2))
    # Neither does what was counted before.
    assert first == outcome(run(name, fresh, init="random", seed=3, n_restarts=2))
    assert first != outcome(run(name, scores, init="random", seed=4, n_restarts=2))


@every_search
@pytest.mark.parametrize(("backend", "n_jobs"), [("threading", 2), ("threading", 4), ("loky", 2)])
def test_threads_and_processes_change_nothing(name, backend, n_jobs, problem):
    prior = read_graph_prior(lambda variable, parents: -0.3 * len(parents), LABELS)
    alone, _ = problem(2, "duplicated", log_prior=prior)
    together, _ = problem(2, "duplicated", log_prior=prior)
    expected = outcome(run(name, alone, n_restarts=5))
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        assert outcome(run(name, together, n_restarts=5)) == expected
    assert outcome(run(name, together, n_restarts=5, n_jobs=2)) == expected


@every_search
def test_forgetting_scores_changes_nothing(name, make_table):
    codes, cardinalities, weights = make_table(rng(6), 6, 60, "whole")
    data = CategoricalData.from_codes(codes, cardinalities, weights)
    found = [
        outcome(run(name, LocalScores(data, BDeu(), 1.0, memory=memory), n_restarts=3, n_jobs=2))
        for memory in (2**20, 2000, 0)
    ]
    assert found[0] == found[1] == found[2]


def test_the_best_run_has_the_highest_score(problem):
    scores, _ = problem(4, n_rows=200)
    runs = run("first_ascent", scores, n_restarts=12)
    assert len({round(run.score, 6) for run in runs.runs}) > 1
    assert runs.best.score == max(run.score for run in runs.runs)
    assert any(runs.best is run for run in runs.runs)


def test_the_earliest_of_equal_runs_is_the_best():
    def result(score):
        return SearchResult([()], score, score)

    noise = 1e-10
    for scores, best in (
        ([-100.0, -100.0 + noise, -101.0], 0),
        ([-101.0, -100.0, -100.0 + noise], 1),
        ([-math.inf, -math.inf], 0),
        ([-math.inf, -5.0], 1),
    ):
        runs = SearchRuns([result(score) for score in scores])
        assert runs.best is runs.runs[best]


class Follower:
    """Notes what it is told of a run."""

    def __init__(self, stops=False):
        self.events, self.stops, self.result = [], stops, None

    def begin(self):
        self.events.append("begin")

    def advance(self, fraction):
        self.events.append(fraction)

    def end(self, result):
        self.events.append("end")
        self.result = result
        return self.stops


def test_every_run_is_reported_once(problem):
    scores, _ = problem(0)
    followed = [Follower() for _ in range(4)]
    runs = run("greedy", scores, n_restarts=3, progress=followed)
    assert all(follower.events == ["begin", "end"] for follower in followed)
    assert [follower.result for follower in followed] == runs.runs


def test_no_run_begins_after_one_that_asks_to_stop(problem):
    scores, _ = problem(0)
    followed = [Follower(), Follower(stops=True), Follower()]
    runs = run("greedy", scores, n_restarts=2, progress=followed)
    assert [follower.events for follower in followed] == [["begin", "end"]] * 2 + [[]]
    assert len(runs.runs) == 2


def test_an_exact_run_tells_how_much_is_done(problem):
    scores, _ = problem(0)
    follower = Follower()
    run("exact", scores, progress=[follower])
    assert follower.events[0] == "begin" and follower.events[-1] == "end"
    fractions = follower.events[1:-1]
    assert fractions == sorted(fractions) and fractions[-1] == pytest.approx(1)


@every_search
def test_max_iter_reaches_every_run(name, problem):
    scores, _ = problem(0)
    for result in run(name, scores, init="bic", n_restarts=2, max_iter=1).runs:
        assert len(result.history) <= 1


def test_a_search_of_ones_own_takes_the_place_of_a_name(problem, twins):
    class AddOnce(BaseEstimator):
        """Adds its favourite edge if it may."""

        def __init__(self, edge=(0, 1)):
            self.edge = edge

        def search(self, scores, start, constraints, rng, max_iter=None):
            dag = start.copy()
            if constraints.additions(dag)[self.edge]:
                parents = dag.all_parents()
                parents[self.edge[1]] += (self.edge[0],)
                dag = DAG.from_parents(parents)
            start_score = scores.total(start.all_parents())
            return SearchResult(dag.all_parents(), scores.total(dag.all_parents()), start_score)

    scores, twin = problem(0)
    own = clone(AddOnce(edge=(3, 5)))
    assert isinstance(own, Search)
    runs = run(own, scores, n_restarts=2)
    assert runs.runs[0].parents == [(), (), (), (), (), (3,)]
    assert runs.runs[0].score == pytest.approx(twin.total(frozenset([(3, 5)])), rel=1e-9)
    # Its own optimum of BIC is where it starts from with init="bic".
    assert run(own, scores, init="bic").best.start_score == runs.runs[0].score


def test_searches_are_estimators_with_parameters():
    search = clone(TabuSearch(tabu_length=3)).set_params(patience=2)
    assert search.get_params() == {"tabu_length": 3, "patience": 2}
    assert repr(search) == "TabuSearch(patience=2, tabu_length=3)"
    assert all(isinstance(search, Search) for search in SEARCHES.values())
    assert not isinstance(object(), Search)


def test_tabu_parameters_reach_the_search(problem):
    scores, _ = problem(3)
    short = run(TabuSearch(patience=0), scores).best
    assert short.history == []
    assert run(TabuSearch(patience=1), scores).best.score <= run("tabu", scores).best.score


# Initial graphs


def start(init, scores, constraints=None, search=None, labels=LABELS):
    constraints = Constraints.none(len(labels)) if constraints is None else constraints
    return make_start(init, search or GreedySearch(), scores, constraints, labels, rng())


def test_initial_graphs_by_name(problem):
    scores, _ = problem(0, n_rows=300)
    assert start("empty", scores).edges == []
    assert start("full", scores).edges == list(itertools.combinations(range(6), 2))
    assert len(start("random", scores).edges) == 6
    assert 0 < len(start("tree", scores).edges) <= 5
    assert start([("f", "a"), ("a", "c")], scores).edges == [(0, 2), (5, 0)]


@every_search
def test_the_bic_start_is_the_bic_optimum_of_the_same_search(name, problem, twins):
    prior = read_graph_prior(6.0, LABELS)
    scores, _ = problem(5, "plain", "bdeu", prior, n_rows=200)
    bic, twin = problem(5, "plain", "bic", prior, n_rows=200)
    constraints = Constraints.from_names(
        LABELS, required_edges=[("f", "a")], forbidden_edges=[("a", "b")], max_parents=2
    )
    dag = start("bic", scores, constraints, SEARCHES[name])
    graph = frozenset(dag.edges)
    assert twins.keeps(graph, constraints)
    # The order search ends in an optimum over orders, not one over moves.
    if name != "order":
        assert twins.is_local_optimum(twin, graph, constraints)
    found = SEARCHES[name].search(
        bic, DAG.from_adjacency(constraints.required), constraints, rng(), None
    )
    assert found.parents == dag.all_parents()
    assert len(graph) > 1


def test_greedy_search_for_bic_makes_no_move_from_its_own_optimum(problem):
    scores, _ = problem(5, score="bic")
    result = run("greedy", scores, init="bic").best
    assert result.history == []
    assert result.score == result.start_score


def test_an_unknown_initial_graph_is_refused_with_the_names_known(problem):
    scores, _ = problem(0)
    message = (
        "init must be one of 'empty', 'full', 'random', 'bic', 'tree' or a graph, got 'chow-liu'."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        start("chow-liu", scores)


def test_a_given_graph_that_breaks_a_constraint_is_refused(problem):
    scores, _ = problem(0)
    constraints = Constraints.from_names(LABELS, required_edges=[("a", "b")], max_parents=1)
    for graph, message in (
        ([("b", "a")], r"^init lacks the required edges \('a', 'b'\)"),
        ([("a", "b"), ("c", "b")], r"^init gives 'b' 2 parents, more than max_parents=1"),
        ([("a", "b"), ("b", "c"), ("c", "a")], r"'a' -> 'b' -> 'c' -> 'a'"),
    ):
        with pytest.raises(ValueError, match=message):
            start(graph, scores, constraints)


# Graph priors


def test_a_number_is_the_cost_of_an_edge():
    prior = read_graph_prior(0.5, LABELS)
    assert prior(0, ()) == 0.0
    assert prior(0, (1, 2, 5)) == -1.5
    assert read_graph_prior(None, LABELS) is None


def test_a_function_gets_names_in_column_order():
    asked = []
    prior = read_graph_prior(lambda *family: asked.append(family) or -2, LABELS)
    assert prior(5, (0, 3)) == -2.0
    assert asked == [("f", ("a", "d"))]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, -1.0])
def test_a_cost_must_be_finite_and_not_negative(value):
    with pytest.raises(ValueError, match=r"^graph_prior, as the cost of an edge .* got"):
        read_graph_prior(value, LABELS)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_function_must_return_numbers(value, problem):
    prior = read_graph_prior(
        lambda variable, parents: value if parents == ("a", "b") else 0.0, LABELS
    )
    scores, _ = problem(0, log_prior=prior)
    with pytest.raises(ValueError, match=rf"gave {value} for '[c-f]' with parents \['a', 'b'\]"):
        run("greedy", scores, init="full")


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "None"), ("much", "'much'"), ([0.0], r"\[0\.0\]"),
        (np.ones(2), r"array\(\[1\., 1\.\]\)"),
    ],
)
def test_what_is_no_number_is_refused_by_family(value, what, problem):
    prior = read_graph_prior(lambda variable, parents: value, LABELS)
    with pytest.raises(ValueError, match=f"gave {what} for 'a' with parents .* a number of nats"):
        prior(0, (1, 2))
    assert read_graph_prior(lambda variable, parents: np.array(-2), LABELS)(0, ()) == -2.0


@every_search
def test_costly_edges_are_few(name, problem):
    n_edges = []
    for penalty in (0.0, 3.0, 1e6):
        scores, _ = problem(0, n_rows=200, log_prior=read_graph_prior(penalty, LABELS))
        n_edges.append(sum(map(len, run(name, scores).best.parents)))
    assert n_edges[0] > n_edges[2] == 0
    assert n_edges[0] >= n_edges[1]


@every_search
@pytest.mark.parametrize("init", ["empty", "full", "random", "tree", "bic"])
def test_families_of_prior_zero_are_never_chosen(name, init, problem, twins):
    def prior(variable, parents):
        return -math.inf if "c" in parents or (variable == "b" and len(parents) > 1) else -0.1

    by_number = read_graph_prior(prior, LABELS)
    for seed in range(3):
        scores, twin = problem(seed, log_prior=by_number, n_rows=150)
        runs = run(name, scores, init=init, seed=seed, n_restarts=2)
        for result in runs.runs:
            graph = twins.graph_of(result.parents)
            assert not any(parent == 2 for parent, _ in graph)
            assert len(result.parents[1]) <= 1
            assert result.score == pytest.approx(twin.total(graph), rel=1e-8)


# Everything with everything


KINDS = [
    "plain", "constant", "duplicated", "unseen", "fractional", "constant+duplicated+unseen",
    "duplicated+fractional", "whole+unseen",
]


def random_problem(seed, make_table):
    """A table, constraints that can be kept, and a way to search, all by chance."""
    draw = rng(seed)
    n = int(draw.integers(1, 7))
    n_rows = int(draw.choice([1, 2, 10, 60]))
    codes, cardinalities, weights = make_table(draw, n, n_rows, str(draw.choice(KINDS)))
    score = str(draw.choice(["bdeu", "loglik", "bic", "aic", "mdl", "k2"]))
    prior = [None, None, 0.7, lambda child, parents: -math.inf if 0 in parents else 0.2][
        draw.integers(4)
    ]
    labels = list(range(n))
    order = draw.permutation(n)
    later = order.argsort()[:, None] < order.argsort()[None, :]
    given = later & (draw.random((n, n)) < draw.choice([0.0, 0.4]))
    required = given & (draw.random((n, n)) < 0.3)
    forbidden = ~given & (draw.random((n, n)) < draw.choice([0.0, 0.5])) & ~np.eye(n, dtype=bool)
    split = int(draw.integers(n + 1))
    most = draw.choice([0, 1, 2, n])
    constraints = Constraints.from_names(
        labels,
        required_edges=np.argwhere(required).tolist(),
        forbidden_edges=np.argwhere(forbidden).tolist(),
        tiers=[order[:split].tolist(), order[split:].tolist()] if draw.random() < 0.3 else None,
        max_parents=None if draw.random() < 0.4 else max(most, *given.sum(axis=0).tolist(), 0),
    )
    init = ["empty", "full", "random", "bic", "tree", given][draw.integers(6)]
    search = SEARCHES[str(draw.choice([*SEARCHES]))]
    return (codes, cardinalities, weights), score, prior, constraints, init, search, labels


@pytest.mark.parametrize("block", range(10))
def test_any_search_of_any_table_under_any_constraints(block, make_table, twins):
    for seed in range(50 * block, 50 * block + 50):
        table, score, prior, constraints, init, search, labels = random_problem(seed, make_table)
        codes, cardinalities, weights = table
        log_prior = read_graph_prior(prior, labels)
        data = CategoricalData.from_codes(codes, cardinalities, weights)
        if data.n_samples < 1 and {"bic", "mdl"} & {score, str(init)}:
            with pytest.raises(ValueError, match="the sum of sample_weight, which must be more"):
                scores = LocalScores(data, SCORES[score], 1.5, log_prior)
                run_search(search, scores, constraints, init, labels, draw_seeds(state(seed), 0))
            continue
        scores = LocalScores(data, SCORES[score], 1.5, log_prior)
        twin = twins.PlainScorer(codes, cardinalities, score, 1.5, weights, log_prior)
        if search is SEARCHES["exact"] and callable(prior) and constraints.required[0].any():
            with pytest.raises(ValueError, match="No acyclic graph meets the constraints"):
                run_search(search, scores, constraints, init, labels, draw_seeds(state(seed), 0))
            continue
        runs = run_search(
            search, scores, constraints, init, labels, draw_seeds(state(seed), seed % 2)
        )
        for result in runs.runs:
            graph = twins.graph_of(result.parents)
            assert twins.is_acyclic(graph), seed
            assert twins.keeps(graph, constraints), seed
            assert result.score == scores.total(result.parents), seed
            expected = twin.total(graph) if result.score > -math.inf else -math.inf
            assert result.score == pytest.approx(expected, rel=1e-8, abs=1e-9), seed
            climbed = [result.start_score, *(step.score for step in result.history)]
            if search in (SEARCHES["greedy"], SEARCHES["first_ascent"]):
                assert all(b > a or a == -math.inf for a, b in itertools.pairwise(climbed)), seed
                assert twins.is_local_optimum(twin, graph, constraints), seed
            # Equivalent graphs differ in the last bits.
            noise = 1e-12 * abs(result.score)
            assert result.score >= result.start_score - noise, seed
        assert runs.best.score >= max(run.score for run in runs.runs) - 1e-6, seed


def test_restarts_in_processes_that_are_forked(problem):
    scores, _ = problem(1)
    seeds = draw_seeds(state(), 3)
    arguments = (SEARCHES["greedy"], scores, Constraints.none(6), "empty", LABELS, seeds)
    plain = run_search(*arguments, n_jobs=1)
    with joblib.parallel_config(backend="multiprocessing"), warnings.catch_warnings():
        # Of Python itself, where other tests left threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        forked = run_search(*arguments, n_jobs=2)
    assert outcome(forked) == outcome(plain)


@every_search
def test_one_column_one_row(name):
    scores = LocalScores(CategoricalData.from_codes(np.array([[0]]), [3]), BDeu(), 1.0)
    for init in ("empty", "full", "random", "bic", "tree", [], np.zeros((1, 1))):
        runs = run_search(
            SEARCHES[name], scores, Constraints.none(1), init, ["a"], draw_seeds(state(), 1)
        )
        assert [run.parents for run in runs.runs] == [[()], [()]]
        assert runs.best.score == pytest.approx(-math.log(3))
