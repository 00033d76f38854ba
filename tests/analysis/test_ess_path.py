import csv
import gzip
import json
import os
import warnings
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skbn import (
    BayesNetStructureEstimator,
    ExactSearch,
    TabuSearch,
    edge_posteriors,
    ess_path,
    structure_score,
)
from skbn.counting.data import CategoricalData
from skbn.ess.ess_likelihood import EssLikelihood

SHARED = Path(os.environ.get("SKBN_SHARED", Path(__file__).resolve().parents[3] / "shared"))
FAST = (
    "balance", "iris", "thyroid", "liver", "ecoli", "abalone", "diabetes", "post_op", "yeast",
    "cancer", "shuttle", "tictac", "bc_wisc", "glass", "page",
)


@cache
def read_uci(name):
    """A table and the levels of its columns."""
    folder = SHARED / "data" / "uci"
    if not folder.exists():
        pytest.skip(f"{folder} is absent")
    with open(folder / f"{name}.levels.tsv", newline="") as file:
        levels = [np.arange(int(row["arity"])) for row in csv.DictReader(file, delimiter="\t")]
    path = folder / f"{name}.csv"
    opener = open if path.exists() else gzip.open
    with opener(path if path.exists() else path.with_suffix(".csv.gz"), "rt") as file:
        next(file)
        return np.loadtxt(file, delimiter=",", dtype=np.int64), levels


def table_of_the_paper():
    path = SHARED / "reference" / "reference.json"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return json.loads(path.read_text(encoding="utf-8"))["table1_of_the_paper"]


def make_table(seed=0, n_rows=150):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, size=n_rows), rng.integers(0, 2, size=n_rows)
    c = np.where(rng.random(n_rows) < 0.7, (a + b) % 3, rng.integers(0, 3, size=n_rows))
    d = np.where(rng.random(n_rows) < 0.6, b, rng.integers(0, 2, size=n_rows))
    return np.column_stack([a, b, c, d, rng.integers(0, 2, size=n_rows)])


@pytest.mark.parametrize("name", FAST)
def test_exact_columns_of_table_1(name):
    table, levels = read_uci(name)
    row = table_of_the_paper()[name]
    path = ess_path(table, range(1, 101), categories=levels)
    assert table.shape == (row["N"], row["n"])
    assert path.map_ess == row["M"]
    # Symmetric boards tie below 51.
    assert path.map_interval == ((47, 62) if name == "tictac" else tuple(row["I"]))


def test_the_best_graph_of_tictac_stays_so_up_to_62():
    table, levels = read_uci("tictac")
    path = ess_path(table, [51, 62, 63], categories=levels)
    at_62, at_63 = (
        structure_score(table, path.graphs[0], ess=ess, categories=levels) for ess in (62, 63)
    )
    assert at_62 == pytest.approx(path.scores[1], rel=1e-9)
    assert at_63 < path.scores[2] - 1e-6


SEARCHES = ["exact", "greedy", "first_ascent", "tabu", "order", ExactSearch(), TabuSearch(5)]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
@pytest.mark.parametrize("score_type", ["bdeu", "k2"])
def test_the_path_is_what_estimators_find(search, score_type):
    table = make_table()
    grid = [0.5, 2.0, 8.0, 40.0]
    rules = {
        "max_parents": 2, "required_edges": [("x0", "x4")], "forbidden_edges": [("x1", "x2")],
        "tiers": [["x1", "x0"], ["x3"]], "graph_prior": 0.2, "random_state": 3,
        "score_type": score_type, "search": search,
    }
    path = ess_path(table, grid, **rules)
    for k, ess in enumerate(grid):
        model = BayesNetStructureEstimator(ess=ess, **rules).fit(table)
        assert path.graphs[k] == model.edges_
        assert path.scores[k] == model.structure_score_
        assert path.n_edges[k] == len(model.edges_)
    assert path.ess.tolist() == grid
    assert path.map_ess == grid[int(np.argmax(path.scores))]


def test_starts_restarts_and_moves():
    table = make_table(1)
    rules = {"search": "greedy", "init": "random", "n_restarts": 3, "random_state": 0}
    path = ess_path(table, [1, 10], **rules, max_iter=4)
    for k, ess in enumerate((1, 10)):
        model = BayesNetStructureEstimator(ess=ess, **rules, max_iter=4).fit(table)
        assert path.graphs[k] == model.edges_
    threads = ess_path(table, [1, 10], **rules, max_iter=4, n_jobs=2)
    assert threads.graphs == path.graphs


def test_weights_count_as_repetitions_and_levels_as_declared():
    table = make_table(2, 80)
    weights = np.arange(80) % 4
    levels = [np.arange(3)] * 5
    path = ess_path(table, [1, 5, 20], sample_weight=weights, categories=levels)
    other = ess_path(np.repeat(table, weights, axis=0), [1, 5, 20], categories=levels, n_jobs=2)
    np.testing.assert_array_equal(path.scores, other.scores)
    assert path.graphs == other.graphs
    assert path.continuous_map_ess == pytest.approx(other.continuous_map_ess, rel=1e-6)
    assert ess_path(table, [1], sample_weight=weights).scores[0] != path.scores[0]


def test_the_interval_ends_where_the_graph_is_beaten():
    table = make_table(3, 60)
    grid = np.geomspace(0.1, 300, 40)
    path = ess_path(table, grid)
    k = int(np.flatnonzero(path.ess == path.map_ess)[0])
    scores = [structure_score(table, path.graphs[k], ess=ess) for ess in path.ess]
    stays = scores >= path.scores - 1e-9 * np.abs(path.scores)
    inside = (path.ess >= path.map_interval[0]) & (path.ess <= path.map_interval[1])
    assert stays[inside].all()
    first, last = np.flatnonzero(inside)[[0, -1]]
    assert first == 0 or not stays[first - 1]
    assert last == len(grid) - 1 or not stays[last + 1]
    assert inside.sum() > 1 and not inside.all()


def all_graphs(n):
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    for chosen in product([False, True], repeat=len(pairs)):
        edges = [pair for pair, is_in in zip(pairs, chosen, strict=True) if is_in]
        left = set(range(n))
        while roots := {v for v in left if not any(b == v and a in left for a, b in edges)}:
            left -= roots
        if not left:
            yield [tuple(a for a, b in edges if b == child) for child in range(n)]


def test_the_continuous_optimum_is_joint():
    table = make_table(4, 70)[:, :3]
    path = ess_path(table, range(1, 60))
    data = CategoricalData.from_codes(table.T, [3, 2, 3])
    best = max(
        (likelihood.value(ess), ess)
        for likelihood in (EssLikelihood(data, parents) for parents in all_graphs(3))
        for ess in [likelihood.maximise().ess]
        if np.isfinite(ess)
    )
    assert path.continuous_map_ess == pytest.approx(best[1], rel=1e-6)
    assert path.scores.max() <= best[0]


def test_the_grid_is_sorted_and_each_value_taken_once():
    table = make_table()
    path = ess_path(table, (10, 1, 10.0, 3))
    assert path.ess.tolist() == [1.0, 3.0, 10.0]
    expected = ess_path(table, [1, 3, 10])
    np.testing.assert_array_equal(path.scores, expected.scores)
    assert path.map_interval == expected.map_interval


def test_a_score_without_ess_has_one_graph():
    path = ess_path(make_table(), [1, 10, 100], score_type="bic")
    assert path.graphs[0] == path.graphs[1] == path.graphs[2]
    assert len(set(path.scores)) == 1
    assert path.map_interval == (1.0, 100.0)
    assert path.continuous_map_ess > 0


@pytest.mark.parametrize(
    ("table", "ess", "message"),
    [
        ([[0], [1]] * 20, 1e8, "rises over all"),
        ([[0, 0]] * 20, 3.0, "does not depend on the ess"),
    ],
)
def test_no_maximum_inside(table, ess, message):
    with pytest.warns(ConvergenceWarning, match=message):
        path = ess_path(table, [3.0])
    assert path.continuous_map_ess == pytest.approx(ess)


def test_equal_rows_have_the_lower_bound():
    with pytest.warns(ConvergenceWarning, match="falls over all"):
        path = ess_path([[0, 1]] * 20, [0.5, 3.0], categories=[[0, 1], [0, 1]])
    assert path.continuous_map_ess == pytest.approx(1e-6)
    assert path.map_ess == 0.5


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([], ValueError, r"at least one .* array of shape \(0,\)"),
        (3.0, ValueError, r"array of shape \(\)"),
        ([[1, 2]], ValueError, r"array of shape \(1, 2\)"),
        ([1, 0], ValueError, r"ess_values\[1\] is 0: an equivalent sample size"),
        ([1, 2, -3.5], ValueError, r"ess_values\[2\] is -3.5"),
        ([np.inf], ValueError, r"ess_values\[0\] is inf"),
        ([1, np.nan], ValueError, r"ess_values\[1\] is nan"),
        ("analytic", TypeError, "must be numbers above zero, such as range"),
    ],
)
def test_grids_that_are_none(values, error, message):
    with pytest.raises(error, match=message):
        ess_path(make_table(), values)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"search": "best"}, "The 'search' parameter of ess_path must be"),
        ({"max_parents": -1}, "The 'max_parents' parameter of ess_path must be"),
        ({"score_type": "bde"}, "The 'score_type' parameter of ess_path must be"),
        ({"init": "tree"}, "leave init at 'empty', got 'tree'"),
        ({"init": [("x0", "x1")], "search": ExactSearch()}, "leave init at 'empty'"),
        ({"n_restarts": 2}, "leave n_restarts at 0, got 2"),
        ({"required_edges": [("x0", "x9")]}, "names 'x9', which is not a column"),
    ],
)
def test_parameters_that_mean_nothing(parameters, message):
    with pytest.raises(ValueError, match=message):
        ess_path(make_table(), [1.0], **parameters)


def test_too_little_memory_is_said_before():
    with pytest.raises(MemoryError, match="limit of 1000 "):
        ess_path(make_table(), [1.0, 2.0], search=ExactSearch(max_memory=1000))


def test_results_are_read_only_names_and_numbers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(make_table(), columns=["a", "b", "c", "d", "e"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = ess_path(frame, [1, 10])
    assert {name for edges in path.graphs for edge in edges for name in edge} <= set("abcde")
    with pytest.raises(AttributeError):
        path.map_ess = 3.0


def test_the_sum_over_all_graphs():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(80, 4))
    X[:50, 1] = X[:50, 0]
    grid = [0.5, 3.0, 40.0]
    assert ess_path(X, grid).log_marginal_likelihoods is None
    path = ess_path(X, grid, max_parents=2, all_graphs=True)
    expected = [
        edge_posteriors(X, ess=ess, max_parents=2).log_marginal_likelihood for ess in grid
    ]
    np.testing.assert_allclose(path.log_marginal_likelihoods, expected, rtol=1e-13)
    assert path.all_graphs_ess == grid[int(np.argmax(expected))]
    flat = ess_path(X, grid, score_type="bic", all_graphs=True)
    assert len(set(flat.log_marginal_likelihoods)) == 1
    assert len(flat.log_marginal_likelihoods) == 3


def test_a_path_is_written_in_a_line():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(40, 3))
    X[:30, 1] = X[:30, 0] = 0
    path = ess_path(X, [0.1, 1.0, 1000.0])
    said = repr(path)
    assert said.startswith("ESSPath(3 ESS values from 0.1 to 1000, best at ")
    assert said.endswith(f"{path.n_edges.min()} to {path.n_edges.max()} edges)")
    assert len(said) < 120 and repr(ess_path(X, [1.0])).startswith("ESSPath(1 ESS value from 1 to")
