import itertools
import math
from collections import Counter, deque

import numpy as np
import pytest
from scipy.stats import chisquare

from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints
from skbn.graphs.graph import DAG
from skbn.scores.bayesian import BDeu
from skbn.scores.by_name import SCORES
from skbn.scores.likelihood import BIC
from skbn.scores.local_scores import LocalScores
from skbn.search import climbing
from skbn.search.climbing import climb_first_ascent, climb_greedily, climb_with_tabu
from skbn.search.starts import empty_start, full_start, random_start

CLIMBS = {
    "greedy": climb_greedily, "first_ascent": climb_first_ascent, "tabu": climb_with_tabu
}
KINDS = ["plain", "constant", "duplicated", "unseen", "fractional", "whole+constant+duplicated"]
every_climb = pytest.mark.parametrize("climb", CLIMBS.values(), ids=CLIMBS)

# The scores that the plain twin knows.
TWINNED = ("bdeu", "loglik", "bic", "aic", "mdl", "k2")


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def problem(make_table, twins):
    """Local scores of a random table, and their slow twin."""

    def make(seed, n, n_rows, kind="plain", score="bdeu", log_prior=None):
        codes, cardinalities, weights = make_table(rng(seed), n, n_rows, kind)
        data = CategoricalData.from_codes(codes, cardinalities, weights)
        return (
            LocalScores(data, SCORES[score], 1.0, log_prior),
            twins.PlainScorer(codes, cardinalities, score, 1.0, weights, log_prior),
        )

    return make


def graphs_on_the_way(start, history, twins):
    graph = frozenset(start.edges)
    for step in history:
        yield graph, step
        graph = twins.changed(graph, step.move)


def assert_history(result, start, constraints, twin, twins):
    """Every step is a valid move and leads to the score it says, and the last is the result."""
    assert result.start_score == pytest.approx(twin.total(frozenset(start.edges)), rel=1e-9)
    graph = frozenset(start.edges)
    for move, score in result.history:
        assert move in twins.valid_moves(graph, constraints)
        graph = twins.changed(graph, move)
        assert score == pytest.approx(twin.total(graph), rel=1e-9)
    assert twins.graph_of(result.parents) == graph
    assert result.score == (result.history[-1].score if result.history else result.start_score)


def assert_drawn_from(draws, expected):
    """Chi-square of drawn graphs against exact probabilities; the rare ones count together."""
    assert set(draws) <= set(expected)
    n, seen = len(draws), Counter(draws)
    common = [graph for graph, p in expected.items() if n * p >= 5]
    observed = [seen[graph] for graph in common]
    wanted = [n * expected[graph] for graph in common]
    if n - sum(wanted) > 1e-6:
        observed.append(n - sum(observed))
        wanted.append(n - sum(wanted))
    if len(observed) == 1:
        assert observed == pytest.approx(wanted)
    else:
        assert chisquare(observed, wanted).pvalue > 1e-3


# Greedy


@pytest.mark.parametrize("score", TWINNED)
@pytest.mark.parametrize("kind", KINDS)
def test_every_greedy_step_is_the_best_move(kind, score, problem, twins):
    scores, twin = problem(3, 5, 60, kind, score)
    constraints = Constraints.none(5)
    start = random_start(constraints, rng(1))
    result = climb_greedily(scores, start, constraints, rng())
    assert_history(result, start, constraints, twin, twins)
    for graph, step in graphs_on_the_way(start, result.history, twins):
        gains = twins.move_gains(twin, graph, constraints)
        now = twin.total(graph)
        assert gains[step.move] >= max(gains.values()) - 2 * twins.TIE * abs(now)
        assert step.score > now
    assert twins.is_local_optimum(twin, twins.graph_of(result.parents), constraints)


@pytest.mark.parametrize(
    ("seed", "kind", "score"),
    [(0, "plain", "bdeu"), (1, "duplicated", "bic"), (2, "constant", "k2"), (7, "unseen", "aic")],
)
def test_greedy_results_have_the_distribution_of_the_slow_twin(seed, kind, score, problem, twins):
    scores, twin = problem(seed, 4, 40, kind, score)
    constraints = Constraints.none(4)
    expected = twins.outcomes(lambda graph: twins.best_moves(twin, graph, constraints), ())
    draws = [
        twins.graph_of(
            climb_greedily(scores, empty_start(constraints), constraints, rng(i)).parents
        )
        for i in range(500)
    ]
    assert_drawn_from(draws, expected)


def test_greedy_final_scores_differ_by_ties_alone_as_the_twins_do(problem, twins):
    # A table whose ties lead to local optima of different scores.
    scores, twin = problem(11, 5, 25, "duplicated")
    constraints = Constraints.none(5)
    expected = twins.outcomes(lambda graph: twins.best_moves(twin, graph, constraints), ())
    start = empty_start(constraints)
    draws = [
        twins.graph_of(climb_greedily(scores, start, constraints, rng(i)).parents)
        for i in range(600)
    ]
    by_score = Counter()
    for graph, p in expected.items():
        by_score[round(twin.total(graph), 6)] += p
    assert len(by_score) > 1
    assert_drawn_from([round(twin.total(graph), 6) for graph in draws], by_score)


def test_two_equal_edges_are_drawn_equally_often():
    # Two dependent columns: one edge, whose two directions tie.
    data = CategoricalData.from_codes(np.array([[0, 1] * 10, [0, 1] * 10]), [2, 2])
    scores, constraints = LocalScores(data, BDeu(), 1.0), Constraints.none(2)
    drawn = [
        climb_greedily(scores, DAG(2), constraints, rng(seed)).parents == [(), (0,)]
        for seed in range(400)
    ]
    assert chisquare([sum(drawn), 400 - sum(drawn)]).pvalue > 1e-3


# First ascent


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("score", ["bdeu", "bic"])
def test_first_ascent_increases_and_ends_in_a_local_optimum(kind, score, problem, twins):
    scores, twin = problem(4, 5, 60, kind, score)
    constraints = Constraints.none(5)
    start = full_start(constraints)
    result = climb_first_ascent(scores, start, constraints, rng())
    assert_history(result, start, constraints, twin, twins)
    assert all(
        later > earlier
        for earlier, later in itertools.pairwise(
            [result.start_score, *(step.score for step in result.history)]
        )
    )
    assert twins.is_local_optimum(twin, twins.graph_of(result.parents), constraints)


@pytest.mark.parametrize(
    ("seed", "kind", "score"), [(0, "plain", "bdeu"), (1, "duplicated", "bic")]
)
def test_first_ascent_results_have_the_distribution_of_the_slow_twin(
    seed, kind, score, problem, twins
):
    scores, twin = problem(seed, 4, 40, kind, score)
    constraints = Constraints.none(4)
    expected = twins.outcomes(lambda graph: twins.improving_moves(twin, graph, constraints), ())
    draws = [
        twins.graph_of(climb_first_ascent(scores, DAG(4), constraints, rng(i)).parents)
        for i in range(500)
    ]
    assert_drawn_from(draws, expected)


def test_first_ascent_looks_at_no_move_beyond_the_first_that_improves(
    problem, twins, monkeypatch
):
    looked_at = []
    shuffle = climbing._shuffled_moves

    def watched(*arguments):
        looked_at.append([])
        for move in shuffle(*arguments):
            looked_at[-1].append(move)
            yield move

    monkeypatch.setattr(climbing, "_shuffled_moves", watched)
    scores, twin = problem(5, 5, 60)
    monkeypatch.setattr(scores, "toggled", None)  # would score moves that nobody asked about
    constraints = Constraints.none(5)
    result = climb_first_ascent(scores, DAG(5), constraints, rng(2))
    assert len(looked_at) == len(result.history) + 1
    steps = [*graphs_on_the_way(DAG(5), result.history, twins)]
    for (graph, step), moves in zip(steps, looked_at, strict=False):
        improving = twins.improving_moves(twin, graph, constraints)
        assert moves[-1] == step.move
        assert [move for move in moves if move in improving] == [step.move]
    final = twins.graph_of(result.parents)
    assert sorted(looked_at[-1]) == sorted(twins.valid_moves(final, constraints))
    assert scores.n_evaluations <= 5 + 2 * sum(map(len, looked_at))


def test_first_ascent_looks_at_moves_in_random_order():
    dag, constraints = DAG.from_parents([(), (0,), ()]), Constraints.none(3)
    firsts = Counter(
        next(iter(climbing._shuffled_moves(dag, constraints, rng(seed)))) for seed in range(1200)
    )
    assert len(firsts) == 6  # four edges to add, one to delete or reverse
    assert chisquare([*firsts.values()]).pvalue > 1e-3


# Tabu


def watch_tabu(monkeypatch):
    """All moves that a tabu climb makes, those after the best graph included."""
    made = []
    make = climbing._Climb.make

    def watched(self, move):
        made.append(move)
        make(self, move)

    monkeypatch.setattr(climbing._Climb, "make", watched)
    return made


def undoing(move):
    kind, a, b = move
    if kind == "reverse":
        return ("reverse", b, a)
    return ("delete" if kind == "add" else "add", a, b)


@pytest.mark.parametrize(
    ("seed", "kind", "tabu_length", "patience"),
    [
        (0, "plain", 10, 10), (1, "duplicated", 3, 25), (2, "constant", 1, 8), (3, "plain", 0, 4),
        (4, "fractional", 40, 30), (5, "unseen", 6, 60), (6, "whole", 100, 40), (7, "plain", 5, 1),
    ],
)
def test_tabu_does_what_it_says(seed, kind, tabu_length, patience, problem, twins, monkeypatch):
    made = watch_tabu(monkeypatch)
    scores, twin = problem(seed, 4, 40, kind)
    constraints = Constraints.none(4)
    start = random_start(constraints, rng(seed))
    result = climb_with_tabu(
        scores, start, constraints, rng(seed), tabu_length=tabu_length, patience=patience
    )

    graph = best = frozenset(start.edges)
    best_at = 0
    undo = deque(maxlen=tabu_length)

    def admissible(graph):
        now, record = twin.total(graph), twin.total(best)
        record += twins.TIE * abs(record)
        return {
            move: gain
            for move, gain in twins.move_gains(twin, graph, constraints).items()
            if move not in undo or now + gain > record
        }

    for number, move in enumerate(made, 1):
        assert number - 1 - best_at < patience
        gains = admissible(graph)
        assert gains[move] >= max(gains.values()) - 2 * twins.TIE * abs(twin.total(graph))
        graph = twins.changed(graph, move)
        undo.append(undoing(move))
        if twin.total(graph) > twin.total(best) + twins.TIE * abs(twin.total(best)):
            best, best_at = graph, number
    assert len(made) - best_at == patience or not admissible(graph)
    assert twins.graph_of(result.parents) == best
    assert [step.move for step in result.history] == made[:best_at]
    assert_history(result, start, constraints, twin, twins)


def test_tabu_climbs_at_least_as_high_as_greedy_on_the_same_way(problem):
    # With the same draws both make the same moves until greedy ends.
    for seed in range(20):
        scores, _ = problem(seed, 5, 40)
        constraints = Constraints.none(5)
        start = random_start(constraints, rng(seed))
        greedy = climb_greedily(scores, start, constraints, rng(seed))
        tabu = climb_with_tabu(scores, start, constraints, rng(seed))
        assert tabu.score >= greedy.score
        assert tabu.history[: len(greedy.history)] == greedy.history


def test_adding_is_not_tabu_because_deleting_is(problem, twins, monkeypatch):
    # add a -> b, reverse it, delete b -> a: to add a -> b again undoes none of the three.
    made = watch_tabu(monkeypatch)
    scores, _ = problem(0, 2, 30)
    constraints = Constraints.none(2)
    climb_with_tabu(scores, DAG(2), constraints, rng(0), tabu_length=3, patience=8)
    assert [move.kind for move in made[:3]] == ["add", "reverse", "delete"]
    assert made[3] == made[0]


# What all climbs share


@every_climb
@pytest.mark.parametrize("most", [0, 1, 2])
def test_max_parents_is_kept(climb, most, problem):
    scores, _ = problem(0, 6, 80)
    constraints = Constraints.none(6, max_parents=most)
    for start in (empty_start(constraints), full_start(constraints)):
        result = climb(scores, start, constraints, rng())
        assert max(map(len, result.parents)) <= most


@every_climb
@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_max_iter_limits_the_moves(climb, max_iter, problem):
    scores, _ = problem(0, 6, 80)
    constraints = Constraints.none(6)
    whole = climb(scores, DAG(6), constraints, rng())
    cut = climb(scores, DAG(6), constraints, rng(), max_iter)
    assert len(whole.history) > 3
    assert cut.history == whole.history[:max_iter]


@every_climb
def test_the_start_is_left_as_it_was(climb, problem):
    scores, _ = problem(0, 5, 80)
    constraints = Constraints.none(5)
    start = random_start(constraints, rng())
    before = start.edges
    climb(scores, start, constraints, rng())
    assert start.edges == before


@every_climb
def test_one_variable_makes_no_move(climb):
    data = CategoricalData.from_codes(np.array([[0, 1, 1]]), [2])
    result = climb(LocalScores(data, BDeu(), 1.0), DAG(1), Constraints.none(1), rng())
    assert result.parents == [()]
    assert result.history == []
    assert result.score == result.start_score == pytest.approx(math.log(1 / 16))


@every_climb
@pytest.mark.parametrize("score", TWINNED)
def test_columns_that_never_vary_and_single_rows_make_no_edges(climb, score):
    for data in (
        CategoricalData.from_codes(np.zeros((4, 9), np.uint8), [1] * 4),
        CategoricalData.from_codes(np.array([[0], [1], [2]]), [2, 3, 3]),
    ):
        n = data.n_variables
        result = climb(LocalScores(data, SCORES[score], 1.0), DAG(n), Constraints.none(n), rng())
        assert result.parents == [()] * n


@every_climb
def test_nothing_is_tried_where_nothing_is_allowed(climb, problem):
    scores, _ = problem(0, 4, 50)
    nothing = np.zeros((4, 4), dtype=bool)
    result = climb(scores, DAG(4), Constraints(nothing, nothing, 3), rng())
    assert result.history == []
    assert result.score == result.start_score == scores.total([()] * 4)


@every_climb
@pytest.mark.parametrize(("gain", "edges"), [(1.1e-7, [(0,)]), (0.9e-7, [()])])
def test_gains_count_from_a_billionth_of_the_score(climb, gain, edges):
    # Two columns that say nothing, a graph prior that gives -100 in all, and one dearer edge.
    scores = LocalScores(
        CategoricalData.from_codes(np.zeros((2, 5), np.uint8), [1, 1]), BDeu(), 1.0,
        lambda child, parents: gain * (child == 1 and parents == (0,)) - 50.0,
    )
    assert climb(scores, DAG(2), Constraints.none(2), rng()).parents[1:] == edges


# Forbidden graphs


def needs_company(child, parents):
    """Variable 2 must have a parent, and 0 none."""
    forbidden = (child == 2 and not parents) or (child == 0 and parents)
    return -math.inf if forbidden else 0.0


@every_climb
@pytest.mark.parametrize("seed", range(6))
def test_a_climb_leaves_forbidden_graphs_and_does_not_come_back(climb, seed, problem, twins):
    scores, twin = problem(seed, 4, 40, log_prior=needs_company)
    constraints = Constraints.none(4)
    start = DAG.from_parents([(3,), (0,), (), ()])
    result = climb(scores, start, constraints, rng(seed))
    assert result.start_score == -math.inf
    climbed = [step.score for step in result.history]
    assert math.isfinite(result.score)
    assert climbed == sorted(climbed, key=lambda score: score != -math.inf)
    assert not result.parents[0]
    assert result.parents[2]
    assert result.score == pytest.approx(twin.total(twins.graph_of(result.parents)), rel=1e-9)
    assert twins.is_local_optimum(twin, twins.graph_of(result.parents), constraints)


@every_climb
def test_a_graph_that_must_stay_forbidden_has_no_score(climb, problem):
    scores, _ = problem(0, 3, 40, log_prior=lambda child, parents: -math.inf)
    result = climb(scores, DAG(3), Constraints.none(3), rng())
    assert result.score == -math.inf
    assert result.history == []


def test_tabu_ends_rather_than_enter_a_forbidden_graph(problem, monkeypatch):
    made = watch_tabu(monkeypatch)
    scores, _ = problem(
        0, 3, 40, log_prior=lambda child, parents: 0.0 if parents in ((), (0,)) else -math.inf
    )
    result = climb_with_tabu(scores, DAG(3), Constraints.none(3), rng(), patience=50)
    assert made
    assert all(step.move.parent == 0 for step in result.history)
    assert {move.parent for move in made} == {0}


@every_climb
def test_infinite_penalties_do_not_stop_a_climb(climb):
    # 70 columns of 60,000 declared states: the parents of the last have more states than floats go.
    n = 70
    data = CategoricalData.from_codes(rng().integers(2, size=(n, 20)), [60_000] * n)
    scores, constraints = LocalScores(data, BIC(), 1.0), Constraints.none(n)
    start = DAG.from_parents([()] * (n - 1) + [range(n - 1)])
    result = climb(scores, start, constraints, rng(), max_iter=2)
    assert result.start_score == -math.inf
    # With one parent fewer q is still infinite, so nothing helps but to turn an edge away.
    assert result.score == -math.inf


@every_climb
def test_a_score_of_nan_is_refused_by_name(climb):
    class Careless(BDeu):
        def constant(self, family):
            return math.nan if family.n_parents else 0.0

    data = CategoricalData.from_codes(np.array([[0, 1, 1], [1, 0, 1]]), [2, 2])
    scores = LocalScores(data, Careless(), 1.0)
    with pytest.raises(ValueError, match=r"gave nan for variable [01] with parents \[[01]\]"):
        climb(scores, DAG(2), Constraints.none(2), rng())
