import csv
import gzip
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints, EdgePenalty
from skbn.scores.bayesian import K2, BDeu
from skbn.scores.by_name import SCORES
from skbn.scores.gamma import log_rising_factorial, log_rising_factorials
from skbn.scores.likelihood import AIC, BIC, LogLikelihood
from skbn.scores.local_scores import LocalScores
from skbn.scores.score import Score
from skbn.search import exact
from skbn.search.exact import _best_sinks
from skbn.subsets.all_families import AllFamilies
from skbn.subsets.set_sums import Layer, SubsetSums
from skbn.subsets.subset_scores import fill_layers

SHARED = Path(os.environ.get("SKBN_SHARED", Path(__file__).resolve().parents[3] / "shared"))
REFERENCE = SHARED / "reference" / "reference.json"
NAMES = (
    "balance", "iris", "liver", "diabetes", "post_op", "shuttle", "tictac", "bc_wisc",
    "heart_cl", "heart_st", "wine", "adult",
)


def exact_searches(scores, *, max_parents=None, allowed=None, required=None, **options):
    """The best networks by matrices of what edges may and must be."""
    if not scores:
        return exact.exact_searches([], None)
    data = scores[0].data
    n = data.n_variables
    allowed = np.ones((n, n), dtype=bool) if allowed is None else np.array(allowed, dtype=bool)
    np.fill_diagonal(allowed, False)
    required = np.zeros((n, n), dtype=bool) if required is None else required
    constraints = Constraints(required, allowed, n - 1 if max_parents is None else max_parents)
    return exact.exact_searches(scores, AllFamilies(data, constraints), **options)


def exact_search(scores, **rules):
    return exact_searches([scores], **rules)[0]


class UserBDeu(Score):
    """BDeu as a user's own score would come: scored family by family."""

    def cell_terms(self, counts, family):
        return BDeu().cell_terms(counts, family)

    def parent_terms(self, counts, family):
        return BDeu().parent_terms(counts, family)


@dataclass(frozen=True)
class TabulatedBDeu(BDeu):
    """Tabulated, with cell terms that differ by the child's cardinality, and constants."""

    def cell_terms(self, counts, family):
        return super().cell_terms(counts, family) * (1 + 0.01 * family.cardinality)

    def constant(self, family):
        return -0.3 * family.n_parents * family.cardinality


@dataclass(frozen=True)
class LopsidedLikelihood(LogLikelihood):
    """Differences of one function of sets, but constants that are not such differences."""

    def constant(self, family):
        return -0.7 * family.n_parents * family.cardinality


@dataclass(frozen=True)
class Tempered(BDeu):
    """Changes terms but says nothing of the set terms that it inherits."""

    def cell_terms(self, counts, family):
        return 0.9 * super().cell_terms(counts, family)


OWN_SCORES = [Tempered(), UserBDeu(), TabulatedBDeu(), LopsidedLikelihood()]


@cache
def read_uci(name):
    with open(SHARED / "data" / "uci" / f"{name}.levels.tsv", newline="") as file:
        arities = [int(row["arity"]) for row in csv.DictReader(file, delimiter="\t")]
    path = SHARED / "data" / "uci" / f"{name}.csv"
    opener = open if path.exists() else gzip.open
    path = path if path.exists() else path.with_suffix(".csv.gz")
    with opener(path, "rt") as file:
        next(file)
        codes = np.loadtxt(file, delimiter=",", dtype=np.int64).T
    return CategoricalData.from_codes(codes, arities)


@cache
def all_dags(n):
    """Parents of each variable, as numbers with a bit per variable, of every DAG."""
    graphs = []
    for parents in itertools.product(range(2**n), repeat=n):
        placed = 0
        for _ in range(n):
            for child in range(n):
                if not placed >> child & 1 and parents[child] & ~placed == 0:
                    placed |= 1 << child
        if placed == 2**n - 1:
            graphs.append(parents)
    return np.array(graphs)


def members_of(number):
    return tuple(b for b in range(number.bit_length()) if number >> b & 1)


def brute_force(scores, prior, max_parents, allowed, required):
    """The best score over all DAGs and the fewest edges that reach it; None if there is none."""
    n = scores.data.n_variables
    local = np.full((n, 2**n), -np.inf)
    for child in range(n):
        for number in range(2**n):
            parents = members_of(number)
            if (
                child not in parents
                and len(parents) <= max_parents
                and all(allowed[p, child] for p in parents)
                and all(p in parents for p in np.flatnonzero(required[:, child]))
            ):
                local[child, number] = scores.local(child, parents) + prior(child, parents)
    graphs = all_dags(n)
    totals = sum(local[child, graphs[:, child]] for child in range(n))
    best = totals.max()
    if best == -np.inf:
        return None
    tied = graphs[totals >= best - 1e-10 * (1 + abs(best))]
    n_edges = sum((tied >> b & 1).sum(axis=1) for b in range(n))
    return best, n_edges.min()


def random_table(rng, n, max_rows=60):
    cardinalities = rng.integers(1, 5, size=n)
    n_rows = int(rng.integers(1, max_rows))
    codes = rng.integers(0, cardinalities[:, None], size=(n, n_rows))
    for child in range(1, n):
        copied = rng.random(n_rows) < rng.random()
        codes[child, copied] = codes[rng.integers(child), copied] % cardinalities[child]
    return codes, cardinalities


def no_prior(child, parents):
    return 0.0


@pytest.mark.parametrize("name", NAMES)
def test_reference_optima(name):
    if not REFERENCE.exists():
        pytest.skip("reference.json is not beside the repository")
    reference = json.loads(REFERENCE.read_text())["exact"][name]
    data = read_uci(name)
    assert data.cardinalities.tolist() == reference["cardinalities"]
    cases = [(SCORES[kind], 1.0, reference[kind]) for kind in ("bic", "aic")]
    cases += [(BDeu(), float(ess), expected) for ess, expected in reference["bdeu"].items()]
    for score, ess, expected in cases:
        scores = LocalScores(data, score, ess)
        found = exact_search(scores)
        assert found.score == pytest.approx(expected["score"], rel=1e-8)
        assert sum(map(len, found.parents)) == expected["edges"]
        assert scores.total(found.parents) == pytest.approx(found.score, rel=1e-12)


def test_twenty_columns():
    path = SHARED / "data" / "alarm25_1000.csv"
    if not path.exists():
        pytest.skip("alarm25_1000.csv is not beside the repository")
    codes = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64).T[:20]
    codes = np.array([np.unique(row, return_inverse=True)[1] for row in codes])
    data = CategoricalData.from_codes(codes, codes.max(axis=1) + 1)
    found = exact_search(LocalScores(data, BDeu(), 10.0))
    assert found.score == pytest.approx(-6961.87778279, abs=1e-8)
    assert exact_search(LocalScores(data, BDeu(), 10.0), n_jobs=2) == found


@pytest.mark.parametrize("score", [*SCORES.values(), *OWN_SCORES], ids=lambda s: type(s).__name__)
def test_against_all_dags(score):
    rng = np.random.default_rng(7)
    for trial in range(25):
        n = int(rng.integers(1, 5))
        codes, cardinalities = random_table(rng, n)
        weights = None
        if trial % 3 == 1:
            weights = rng.integers(1, 5, size=codes.shape[1])
        if trial % 3 == 2:
            weights = rng.integers(1, 9, size=codes.shape[1]) / 4
            if score.needs_whole_counts:
                weights *= 4
        data = CategoricalData.from_codes(codes, cardinalities, weights)
        ess = float(rng.choice([0.01, 1.0, 50.0]))
        allowed = rng.random((n, n)) < rng.choice([0.5, 0.8, 1.0])
        required = (rng.random((n, n)) < rng.choice([0.0, 0.0, 0.2])) & ~np.eye(n, dtype=bool)
        max_parents = int(rng.integers(0, n + 1))
        bonus = np.round(rng.normal(size=(n, 2**n)), 2)
        log_prior, prior = [
            (None, no_prior),
            (EdgePenalty(0.8), lambda child, parents: -0.8 * len(parents)),
            (lambda child, parents, b=bonus: b[child, sum(1 << p for p in parents)],) * 2,
        ][int(rng.integers(3))]
        scores = LocalScores(data, score, ess, log_prior)
        expected = brute_force(LocalScores(data, score, ess), prior, max_parents, allowed, required)
        if expected is None:
            with pytest.raises(ValueError, match="No acyclic graph meets the constraints"):
                exact_search(scores, max_parents=max_parents, allowed=allowed,
                             required=required)
            continue
        found = exact_search(scores, max_parents=max_parents, allowed=allowed,
                             required=required)
        best, n_edges = expected
        assert found.score == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert sum(map(len, found.parents)) == n_edges
        for child, parents in enumerate(found.parents):
            assert len(parents) <= max_parents
            assert all(allowed[p, child] for p in parents)
            assert set(np.flatnonzero(required[:, child])) <= set(parents)


def first_among(graphs):
    """Of equally good graphs, the parents that the documentation of the search promises."""
    left = list(range(graphs.shape[1]))
    while left:
        for last in reversed(left):
            others = [child for child in left if child != last]
            childless = (graphs[:, others] >> last & 1 == 0).all(axis=1)
            if childless.any():
                break
        graphs = graphs[childless]
        left.remove(last)
    return graphs.min(axis=0).tolist()


@pytest.mark.parametrize("name", ["bdeu", "bic"])
def test_which_of_equally_good_networks_is_found(name):
    rng = np.random.default_rng(11)
    n_tied = 0
    for _ in range(40):
        n = int(rng.integers(2, 5))
        codes, cardinalities = random_table(rng, n, 40)
        scores = LocalScores(CategoricalData.from_codes(codes, cardinalities), SCORES[name], 1.0)
        order = sorted(range(n), key=lambda variable: cardinalities[variable])
        graphs = all_dags(n)
        totals = np.array([
            math.fsum(
                scores.local(order[child], tuple(order[b] for b in members_of(parents)))
                for child, parents in enumerate(graph)
            )
            for graph in graphs.tolist()
        ])
        sizes = np.bitwise_count(graphs).sum(axis=1)
        good = totals >= totals.max() - 1e-10 * abs(totals.max())
        tied = graphs[good & (sizes == sizes[good].min())]
        n_tied += len(tied) > 1
        found = exact_search(scores).parents
        assert [sum(1 << order.index(p) for p in found[v]) for v in order] == first_among(tied)
    assert n_tied > 10


def sums_of(data, score, ess, **attributes):
    counting = SubsetSums(data)
    vars(counting).update(attributes)
    counting.prepare()
    sums = np.empty((1, 2**data.n_variables))

    def terms_of(signature):
        n_states = counting.signatures.states[signature]
        return lambda counts: score.set_terms(counts, n_states, ess)

    layer = Layer(terms_of, np.zeros(counting.signatures.n))
    for _, group in counting.tasks([layer], data.n_variables, sums):
        for call in group.calls:
            call()
    return sums[0]


def sums_by_numpy(codes, cardinalities, weights, score, ess):
    """The slow obvious twin."""
    n = len(cardinalities)
    sums = np.empty(2**n)
    for number in range(2**n):
        members = list(members_of(number))
        n_states = math.prod(int(cardinalities[b]) for b in members)
        labels = np.zeros(codes.shape[1], dtype=np.int64)
        if members:
            labels = np.unique(codes[members], axis=1, return_inverse=True)[1].ravel()
        counts = np.bincount(labels, weights)
        sums[number] = np.sum(score.set_terms(counts, n_states, ess))
    return sums


@pytest.mark.parametrize("table_length", [None, 2, 5])
@pytest.mark.parametrize("score", [BDeu(), LogLikelihood()], ids=lambda s: type(s).__name__)
def test_set_sums_against_numpy(score, table_length):
    rng = np.random.default_rng(11)
    for trial in range(12):
        n = 9 if trial > 9 else int(rng.integers(1, 8))
        codes, cardinalities = random_table(rng, n, 300)
        weights = rng.integers(1, 4, size=codes.shape[1]) if trial % 2 else np.ones(
            codes.shape[1], dtype=np.int64
        )
        data = CategoricalData.from_codes(codes, cardinalities, weights)
        attributes = {"n_tail": int(rng.integers(0, n + 1))}
        if table_length is not None:
            attributes["table_length"] = min(table_length, int(data.n_samples) + 1)
            attributes["max_large"] = min(
                data.n_rows, int(data.n_samples // attributes["table_length"])
            )
        found = sums_of(data, score, 2.5, **attributes)
        expected = sums_by_numpy(codes, cardinalities, weights, score, 2.5)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)


def test_set_sums_of_columns_with_many_states():
    rng = np.random.default_rng(12)
    codes = rng.integers(0, 300, size=(5, 2000))
    codes[1] = codes[0] // 2
    codes[2:4] %= 2
    data = CategoricalData.from_codes(codes, [300, 2**20, 2, 2, 300])
    expected = sums_by_numpy(codes, data.cardinalities, np.ones(2000), BDeu(), 1.0)
    np.testing.assert_allclose(sums_of(data, BDeu(), 1.0), expected, rtol=1e-12)


@pytest.mark.parametrize("n_states", [255, 256, 257, 258])
def test_set_sums_about_the_states_of_a_byte(n_states):
    rng = np.random.default_rng(n_states)
    codes = np.array([rng.permutation(n_states) for _ in range(6)])
    # Pairs of rows that a carry from the first column to the second would make one.
    pairs = [[one, other, 7, 7, k, k] for k in range(20)
             for one, other in ((n_states - 1, 0), (0, 1))]
    codes = np.hstack([codes, np.array(pairs).T])
    data = CategoricalData.from_codes(codes, [n_states] * 6)
    expected = sums_by_numpy(codes, data.cardinalities, np.ones(codes.shape[1]), BDeu(), 1.0)
    np.testing.assert_allclose(sums_of(data, BDeu(), 1.0), expected, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(1, 6), (6, 1), (2, 4)])
def test_a_table_is_searched_again_with_another_largest_size(sizes):
    codes = np.random.default_rng(3).integers(3, size=(7, 300))
    codes[6] = codes[:4].sum(axis=0) % 3
    data = CategoricalData.from_codes(codes, [3] * 7)
    for most in sizes:
        found = exact_search(LocalScores(data, AIC(), 1.0), max_parents=most)
        again = LocalScores(CategoricalData.from_codes(codes, [3] * 7), AIC(), 1.0)
        assert found == exact_search(again, max_parents=most)
        assert most < 4 or max(map(len, found.parents)) >= 4


def test_the_search_found_what_it_reports(monkeypatch):
    best = []

    def note_best(*arguments):
        sinks, score = _best_sinks(*arguments)
        best.append(score)
        return sinks, score

    monkeypatch.setattr("skbn.search.exact._best_sinks", note_best)
    rng = np.random.default_rng(13)
    codes, cardinalities = random_table(rng, 10, 300)
    for score in [*SCORES.values(), UserBDeu()]:
        data = CategoricalData.from_codes(codes, cardinalities)
        found = exact_search(LocalScores(data, score, 1.0, EdgePenalty(0.1)), max_parents=2)
        n_edges = sum(map(len, found.parents))
        without = LocalScores(data, score, 1.0).total(found.parents)
        assert without - 0.1 * n_edges == pytest.approx(found.score, rel=1e-14)
        assert best.pop() == pytest.approx(found.score, rel=1e-9)


def test_results_do_not_depend_on_rows_names_weights_and_threads():
    rng = np.random.default_rng(3)
    codes, cardinalities = random_table(rng, 9, 500)
    repeats = rng.integers(1, 4, size=codes.shape[1])
    data = CategoricalData.from_codes(codes, cardinalities, repeats)
    expected = sums_of(data, BDeu(), 3.0)
    network = exact_search(LocalScores(data, BDeu(), 3.0))

    repeated = np.repeat(codes, repeats, axis=1)
    repeated = repeated[:, rng.permutation(repeated.shape[1])]
    renamed = np.array([
        rng.permutation(r)[row] for r, row in zip(cardinalities, repeated, strict=True)
    ])
    for variant in (repeated, renamed):
        other = CategoricalData.from_codes(variant, cardinalities)
        np.testing.assert_array_equal(sums_of(other, BDeu(), 3.0), expected)
        assert exact_search(LocalScores(other, BDeu(), 3.0), n_jobs=2) == network

    order = rng.permutation(9)
    moved = CategoricalData.from_codes(codes[order], cardinalities[order], repeats)
    found = exact_search(LocalScores(moved, BDeu(), 3.0))
    assert found.score == pytest.approx(network.score, rel=1e-13)


@pytest.mark.parametrize("score", [BDeu(), K2(), BIC(), UserBDeu()], ids=lambda s: type(s).__name__)
def test_blocks_do_not_change_the_result(score, monkeypatch):
    rng = np.random.default_rng(5)
    codes, cardinalities = random_table(rng, 7, 200)
    allowed = rng.random((7, 7)) < 0.8
    scores = LocalScores(CategoricalData.from_codes(codes, cardinalities), score, 1.0)
    expected = [exact_search(scores), exact_search(scores, allowed=allowed, max_parents=2)]
    for n_tail in (1, 3, 6):
        monkeypatch.setattr("skbn.search.exact._tail", lambda n, n_tail=n_tail: n_tail)
        monkeypatch.setattr("skbn.search.exact._CALL_SETS", 3)
        for n_bits in (12, 2):
            monkeypatch.setattr("skbn.search.exact._SETTLED_SETS_BITS", n_bits)
            assert exact_search(scores, n_jobs=2) == expected[0]
            assert exact_search(scores, allowed=allowed, max_parents=2) == expected[1]


def test_how_many_counts_are_known_at_a_time_does_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(6)
    codes, cardinalities = random_table(rng, 7, 300)
    data = CategoricalData.from_codes(codes, cardinalities)
    expected = [sums_of(data, score, 2.0) for score in (BDeu(), BIC())]
    for places in (1, 40, 500):
        monkeypatch.setattr("skbn.subsets.set_sums._PLACES", places)
        for score, sums in zip((BDeu(), BIC()), expected, strict=True):
            np.testing.assert_array_equal(sums_of(data, score, 2.0), sums)


def test_small_and_constant_tables():
    one = CategoricalData.from_codes(np.array([[0, 1, 1]]), [2])
    assert exact_search(LocalScores(one, BDeu(), 1.0)).parents == [()]
    two = CategoricalData.from_codes(np.array([[0, 1] * 20, [0, 1] * 20]), [2, 2])
    assert sum(map(len, exact_search(LocalScores(two, BDeu(), 1.0)).parents)) == 1
    row = CategoricalData.from_codes(np.zeros((3, 1), dtype=int), [1, 1, 1])
    for score in SCORES.values():
        assert exact_search(LocalScores(row, score, 1.0)).parents == [(), (), ()]


def test_constant_column_stays_isolated():
    rng = np.random.default_rng(2)
    codes, cardinalities = random_table(rng, 5, 200)
    codes[2], cardinalities[2] = 0, 1
    for score in (BDeu(), BIC(), AIC(), K2(), LogLikelihood()):
        scores = LocalScores(CategoricalData.from_codes(codes, cardinalities), score, 10.0)
        parents = exact_search(scores).parents
        assert parents[2] == ()
        assert all(2 not in given for given in parents)


def test_product_of_cardinalities_beyond_every_integer():
    # |S| passes 2^129, ess/|S| is far below the spacing of floats around 1.
    rng = np.random.default_rng(1)
    base = rng.integers(0, 2, size=50)
    codes = np.array([np.where(rng.random(50) < 0.05, 1 - base, base) for _ in range(12)])
    cardinalities = [2**20] * 6 + [3] * 6
    data = CategoricalData.from_codes(codes, cardinalities)
    found = sums_of(data, BDeu(), 1.0)
    _, labels = np.unique(codes, axis=1, return_inverse=True)
    counts = np.bincount(labels.ravel())
    log_alpha = -math.log(math.prod(cardinalities))
    assert found[-1] == pytest.approx(np.sum(log_rising_factorial(counts, log_alpha)), rel=1e-13)
    for score in (BDeu(), BIC(), K2()):
        scores = LocalScores(data, score, 1.0)
        assert math.isfinite(exact_search(scores).score)


def test_too_large_is_refused_before_it_starts():
    codes = np.zeros((40, 4), dtype=int)
    codes[:, :2] = 1
    scores = LocalScores(CategoricalData.from_codes(codes, [2] * 40), BDeu(), 1.0)
    start = time.perf_counter()
    with pytest.raises(MemoryError, match=r"over 40 variables takes about \d+ bytes .* columns"):
        exact_search(scores)
    assert time.perf_counter() - start < 1
    few = LocalScores(CategoricalData.from_codes(codes[:10], [2] * 10), BDeu(), 1.0)
    with pytest.raises(MemoryError, match="limit of 1000 "):
        exact_search(few, max_memory=1000)
    many = CategoricalData.from_codes(codes[:20], [2] * 20)
    with pytest.raises(ValueError, match="families to look at one by one"):
        exact_search(LocalScores(many, UserBDeu(), 1.0))
    with pytest.raises(ValueError, match="families to look at one by one"):
        exact_search(LocalScores(many, BDeu(), 1.0, no_prior))


def test_limited_parents_make_slow_scores_possible():
    rng = np.random.default_rng(4)
    codes, cardinalities = random_table(rng, 10, 100)
    data = CategoricalData.from_codes(codes, cardinalities)
    slow = exact_search(LocalScores(data, UserBDeu(), 1.0), max_parents=1)
    fast = exact_search(LocalScores(data, BDeu(), 1.0), max_parents=1)
    assert slow.score == pytest.approx(fast.score, rel=1e-12)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_prior_without_a_value(value):
    def prior(child, parents):
        return value if child == 0 and parents else 0.0

    data = CategoricalData.from_codes([[0, 1], [0, 1]], [3, 2])
    with pytest.raises(ValueError, match=r"The score of variable 0 given the parents \[1\] is"):
        exact_search(LocalScores(data, BDeu(), 1.0, prior))


def test_prior_may_forbid():
    def prior(child, parents):
        return 0.0 if child == 1 or not parents else -math.inf

    data = CategoricalData.from_codes(np.array([[0, 1] * 20] * 3), [2, 2, 2])
    found = exact_search(LocalScores(data, BDeu(), 1.0, prior))
    assert found.parents[0] == found.parents[2] == ()
    assert found.parents[1] == (0, 2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress(n_jobs):
    rng = np.random.default_rng(6)
    codes, cardinalities = random_table(rng, 12, 500)
    seen = []
    exact_search(
        LocalScores(CategoricalData.from_codes(codes, cardinalities), BDeu(), 1.0),
        n_jobs=n_jobs, progress=seen.append,
    )
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


@pytest.mark.skipif(sys.platform == "win32", reason="no signal to send")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt(n_jobs):
    script = textwrap.dedent(f"""
        import signal
        import sys
        import numpy as np
        from skbn.counting.data import CategoricalData
        from skbn.graphs.constraints import Constraints
        from skbn.scores.bayesian import BDeu
        from skbn.scores.local_scores import LocalScores
        from skbn.search.exact import exact_searches
        from skbn.subsets.all_families import AllFamilies
        codes = np.random.default_rng(0).integers(0, 3, size=(23, 20000))
        scores = LocalScores(CategoricalData.from_codes(codes, [3] * 23), BDeu(), 1.0)
        # Processes in the background of a shell ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("started", flush=True)
        try:
            families = AllFamilies(scores.data, Constraints.none(23))
            exact_searches([scores], families, n_jobs={n_jobs})
        except KeyboardInterrupt:
            sys.exit(3)
    """)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline().strip() == b"started"
        time.sleep(0.7)
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 3
        assert time.perf_counter() - start < 3


GRID = [1e-3, 0.7, 3.0, 10.0, 60.0, 1e3, 1e6]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", ["counted", "weighted", "prior"])
@pytest.mark.parametrize(
    "score", [*SCORES.values(), *OWN_SCORES], ids=lambda score: type(score).__name__
)
def test_a_grid_finds_what_single_searches_find(score, kind, n_jobs):
    rng = np.random.default_rng(21)
    codes, cardinalities = random_table(rng, 7, 300)
    weights = rng.integers(1, 9, size=codes.shape[1]) / 4 if kind == "weighted" else None
    if kind == "weighted" and score.needs_whole_counts:
        weights *= 4
    data = CategoricalData.from_codes(codes, cardinalities, weights)
    bonus = np.round(rng.normal(size=(7, 2**7)), 2)
    log_prior = {
        "counted": None,
        "weighted": EdgePenalty(0.3),
        "prior": lambda child, parents: bonus[child, sum(1 << p for p in parents)],
    }[kind]
    rules = {
        "counted": {},
        "weighted": {"max_parents": 2},
        "prior": {"allowed": rng.random((7, 7)) < 0.8, "max_parents": 3},
    }[kind]
    scores = [LocalScores(data, score, ess, log_prior) for ess in GRID]
    found = exact_searches(scores, n_jobs=n_jobs, **rules)
    assert found == [exact_search(one, **rules) for one in scores]


def numbers_of(data, grid, monkeypatch):
    """The numbers of all sets of a search over a grid."""
    seen = []

    def note(subsets, *arguments):
        seen.append([numbers.copy() for numbers in subsets.numbers])
        return _best_sinks(subsets, *arguments)

    monkeypatch.setattr("skbn.search.exact._best_sinks", note)
    networks = exact_searches([LocalScores(data, BDeu(), ess) for ess in grid], n_jobs=2)
    return seen, networks


def test_sums_do_not_depend_on_what_else_is_summed(monkeypatch):
    rng = np.random.default_rng(22)
    codes, cardinalities = random_table(rng, 9, 900)
    data = CategoricalData.from_codes(codes, cardinalities)
    alone = [numbers_of(data, [ess], monkeypatch) for ess in GRID]
    for name, value in (("_LAYERS_ENTRIES", 2**25), ("_LAYERS_ENTRIES", 1), ("_CALL_COUNTS", 200)):
        monkeypatch.setattr(f"skbn.subsets.set_sums.{name}", value)
        together, networks = numbers_of(data, GRID, monkeypatch)
        assert networks == [network for _, (network,) in alone]
        for mine, (other, _) in zip(together, alone, strict=True):
            np.testing.assert_array_equal(mine, other[0])


def test_a_grid_in_little_memory(monkeypatch):
    rng = np.random.default_rng(23)
    codes, cardinalities = random_table(rng, 11, 200)
    data = CategoricalData.from_codes(codes, cardinalities)
    scores = [LocalScores(data, BDeu(), ess) for ess in GRID]
    expected = exact_searches(scores)
    seen = []

    def note(plans, *arguments):
        seen.append(len(plans))
        return fill_layers(plans, *arguments)

    monkeypatch.setattr("skbn.subsets.all_families.fill_layers", note)
    monkeypatch.setattr("skbn.subsets.all_families._GRID_MEMORY", 0)
    assert exact_searches(scores) == expected
    assert seen == [1] * len(GRID)
    seen.clear()
    monkeypatch.undo()
    monkeypatch.setattr("skbn.subsets.all_families.fill_layers", note)
    with pytest.raises(MemoryError, match="limit of 1000 "):
        exact_searches(scores, max_memory=1000)
    assert seen == []


def test_a_grid_is_of_one_table_and_one_score():
    data, other = (CategoricalData.from_codes([[0, 1], [0, 1]], [2, 2]) for _ in range(2))
    assert exact_searches([]) == []
    for second in (LocalScores(other, BDeu(), 2.0), LocalScores(data, BIC(), 2.0)):
        with pytest.raises(ValueError, match="must be of the same table"):
            exact_searches([LocalScores(data, BDeu(), 1.0), second])


def test_many_rising_factorials_at_once():
    rng = np.random.default_rng(24)
    log_alphas = np.array([-800.0, -3.0, 0.0, 3.4, 3.5, 20.0, 300.0])
    which = rng.integers(0, len(log_alphas), size=500)
    counts = rng.integers(1, 5000, size=500).astype(float)
    found = log_rising_factorials(counts, which, log_alphas)
    for value, count, k in zip(found, counts, which, strict=True):
        expected = log_rising_factorial(np.array([count]), log_alphas[k])[0]
        assert value == pytest.approx(expected, rel=1e-14)
    assert len(log_rising_factorials(np.empty(0), np.empty(0, dtype=int), log_alphas)) == 0


@dataclass(frozen=True)
class Endless(BDeu):
    """Has terms that no table can hold."""

    def set_terms(self, counts, n_states, ess):
        return np.where(counts == 2, np.inf, 0.0)


def test_terms_that_cannot_be_tabulated():
    data = CategoricalData.from_codes([[0, 0, 1, 1, 1], [0, 0, 1, 0, 1]], [2, 2])
    with pytest.raises(ValueError, match="terms cannot be tabulated: that of the count 2 is inf"):
        sums_of(data, Endless(), 1.0)


def test_many_rows_of_small_weight_are_absorbed():
    # More rows in small cells than 16 bits count.
    rng = np.random.default_rng(25)
    codes = np.array([*rng.integers(0, 2, size=(7, 90000)), np.arange(90000) // 2])
    data = CategoricalData.from_codes(codes, [2] * 7 + [45000])
    found = sums_of(data, BDeu(), 10.0)
    for number in range(2**7 + 1, 2**8, 9):
        members = list(members_of(number))
        labels = np.ravel_multi_index(codes[members], data.cardinalities[members])
        counts = np.unique(labels, return_counts=True)[1]
        n_states = math.prod(data.cardinalities[members].tolist())
        expected = np.sum(BDeu().set_terms(counts, n_states, 10.0))
        assert found[number] == pytest.approx(expected, rel=1e-12)
