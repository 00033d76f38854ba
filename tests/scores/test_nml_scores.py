"""BDs, BDJ, fNML and qNML: published examples, reference graphs, slow twins, equivalence."""

import itertools
import json
import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

from skbn import BayesNetStructureEstimator, structure_score
from skbn.counting.data import CategoricalData
from skbn.scores.by_name import SCORES
from skbn.scores.local_scores import LocalScores
from skbn.scores.score import Family
from skbn.search.searches import SEARCHES

SHARED = Path(os.environ.get("SKBN_SHARED", Path(__file__).resolve().parents[3] / "shared"))
NAMES = ["bds", "bdj", "fnml", "qnml"]
GRAPHS = {
    "learning_test": [("A", "B"), ("A", "D"), ("C", "D"), ("B", "E"), ("F", "E")],
    "asia": [
        ("A", "T"), ("S", "L"), ("S", "B"), ("B", "D"), ("E", "D"), ("T", "E"), ("L", "E"),
        ("E", "X"),
    ],
}  # fmt: skip


def shared(path):
    path = SHARED / path
    if not path.exists():
        pytest.skip(f"needs {path.name} in {path.parent}")
    return path


def shared_table(name):
    return pd.read_csv(shared(f"data/bnlearn/{name}.csv"), dtype=str)


@pytest.mark.parametrize(
    "name, score_type, expected, rel",
    [
        ("learning_test", "fnml", -23968.6100050068, 1e-9),
        ("asia", "fnml", -11097.8529678587, 1e-9),
        ("learning_test", "qnml", -23964.1430486837, 1e-10),
        ("asia", "qnml", -11101.3022423526, 1e-10),
        ("learning_test", "bdj", -23967.5265253794, 1e-9),
        ("asia", "bdj", -11098.6743924314, 1e-9),
    ],
)
def test_reference_graphs(name, score_type, expected, rel):
    value = structure_score(shared_table(name), GRAPHS[name], score_type=score_type)
    assert value == pytest.approx(expected, rel=rel)


@pytest.mark.parametrize("name", GRAPHS)
def test_bds_of_reference_graphs(name):
    reference = json.loads(shared("reference/reference.json").read_text())["fixed_graphs"][name]
    value = structure_score(shared_table(name), GRAPHS[name], score_type="bds", ess=1.0)
    assert value == pytest.approx(reference["bds_1"], rel=1e-9)


def test_example_of_scutari():
    # Scutari (2016): Y adds no information on X, and BDs, unlike BDeu, does not prefer it.
    columns = ["000111111000", "000000000111", "000000111111", "000111000111"]
    x, y, z, w = range(4)
    data = CategoricalData.from_codes(
        np.array([[int(c) for c in column] for column in columns], dtype=np.uint8), [2] * 4
    )
    bds, bdeu = (LocalScores(data, SCORES[name], 1.0) for name in ("bds", "bdeu"))
    assert bds.local(x, [w, z]) == pytest.approx(-3.4226644402, abs=1e-10)
    assert bds.local(x, [w, z, y]) == pytest.approx(-3.4226644402, abs=1e-10)
    assert bdeu.local(x, [w, z]) == pytest.approx(-3.4226644402, abs=1e-10)
    assert bdeu.local(x, [w, z, y]) == pytest.approx(-3.1206342302, abs=1e-10)


def regret(n, n_states):
    """C(n, K) by the textbook sum and recurrence, in plain floats."""
    two = math.fsum(
        math.comb(n, h) * (h / n) ** h * ((n - h) / n) ** (n - h) for h in range(n + 1)
    )
    values = [1.0, two]
    for k in range(1, n_states - 1):
        values.append(values[-1] + n / k * values[-2])
    return values[n_states - 1]


def twin(name, rows, cardinalities, child, parents, ess):
    """The local score of a table of rows, cell by cell, observed or not where it matters."""
    cells = Counter((tuple(row[p] for p in parents), row[child]) for row in rows)
    totals = Counter(tuple(row[p] for p in parents) for row in rows)
    r, q = cardinalities[child], math.prod(cardinalities[p] for p in parents)
    loglik = math.fsum(n * math.log(n / totals[j]) for (j, _), n in cells.items())
    if name == "fnml":
        return loglik - math.fsum(math.log(regret(n, r)) for n in totals.values())
    if name == "qnml":
        n = len(rows)
        return loglik - math.log(regret(n, r * q)) + math.log(regret(n, q))
    alpha = ess / (r * len(totals)) if name == "bds" else 0.5
    total = 0.0
    for j in totals:
        total += gammaln(r * alpha) - gammaln(totals[j] + r * alpha)
        for k in range(r):
            total += gammaln(cells[j, k] + alpha) - gammaln(alpha)
    return total


def random_tables():
    rng = np.random.default_rng(7)
    for n_rows in (1, 2, 5, 40, 400):
        for kind in ("plain", "constant", "unseen", "weighted"):
            codes = rng.integers(0, [2, 3, 4, 2], size=(n_rows, 4)).T.astype(np.uint8)
            codes[1] = np.where(rng.random(n_rows) < 0.6, codes[0], codes[1])
            cardinalities = [2, 3, 4, 2]
            if kind == "constant":
                codes[2], cardinalities[2] = 0, 1
            if kind == "unseen":
                cardinalities = [3, 5, 40, 2]
            weights = rng.integers(0, 4, size=n_rows) if kind == "weighted" else None
            if weights is not None and not weights.any():
                weights[0] = 2
            yield codes, cardinalities, weights


@pytest.mark.parametrize("name", NAMES)
def test_slow_twin(name):
    for codes, cardinalities, weights in random_tables():
        data = CategoricalData.from_codes(codes, cardinalities, weights)
        rows = np.repeat(codes.T, 1 if weights is None else weights, axis=0).tolist()
        for ess in (0.3, 20.0) if name == "bds" else (1.0,):
            scores = LocalScores(data, SCORES[name], ess)
            for child in range(4):
                others = [i for i in range(4) if i != child]
                for size in range(4):
                    for parents in itertools.combinations(others, size):
                        expected = twin(name, rows, cardinalities, child, parents, ess)
                        assert scores.local(child, parents) == pytest.approx(
                            expected, rel=1e-10, abs=1e-10
                        )
                fresh = LocalScores(data, SCORES[name], ess)
                toggled = fresh.toggled(child, others[:1])
                for j in range(4):
                    parents = {others[0]} ^ ({j} - {child})
                    np.testing.assert_allclose(toggled[j], scores.local(child, parents), 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_terms_from_tables_and_from_counts_agree(name):
    # Counts beyond what is tabulated from the start, and beyond what is kept.
    rng = np.random.default_rng(0)
    codes = (rng.random((4, 60_000)) < [[0.5], [0.1], [0.01], [0.9]]).astype(np.uint8)
    codes[1] ^= codes[0] & (rng.random(60_000) < 0.3)
    data = CategoricalData.from_codes(codes, [2, 2, 2, 300])
    scores = LocalScores(data, SCORES[name], 3.0)
    for child, parents in [(1, (0,)), (0, (1, 2)), (3, (0, 1)), (2, (0, 1, 3))]:
        by_counts = scores._evaluate_counts(child, parents)
        assert scores.local(child, parents) == pytest.approx(by_counts, rel=1e-12)


def all_dags(n):
    pairs = list(itertools.combinations(range(n), 2))
    for choice in itertools.product((None, False, True), repeat=len(pairs)):
        parents = [set() for _ in range(n)]
        for (a, b), turned in zip(pairs, choice, strict=True):
            if turned is not None:
                parents[a if turned else b].add(b if turned else a)
        left = set(range(n))
        while sources := {i for i in left if not parents[i] & left}:
            left -= sources
        if not left:
            yield [frozenset(p) for p in parents]


def class_key(parents):
    """Skeleton and v-structures (Verma and Pearl, 1990)."""
    skeleton = frozenset(frozenset((i, p)) for i, given in enumerate(parents) for p in given)
    v_structures = frozenset(
        (frozenset(pair), i)
        for i, given in enumerate(parents)
        for pair in itertools.combinations(sorted(given), 2)
        if frozenset(pair) not in skeleton
    )
    return skeleton, v_structures


def spread_within_classes(name, data):
    """The largest difference of score within an equivalence class, and the number of classes."""
    scores = LocalScores(data, SCORES[name], 1.0)
    classes = {}
    for parents in all_dags(data.n_variables):
        classes.setdefault(class_key(parents), []).append(scores.total(parents))
    return max(max(values) - min(values) for values in classes.values()), len(classes)


def random_codes(seed, cardinalities, n_rows):
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, r, n_rows) for r in cardinalities], dtype=np.uint8)
    codes[1] = np.where(rng.random(n_rows) < 0.5, codes[0] % cardinalities[1], codes[1])
    codes[3] = np.where(rng.random(n_rows) < 0.7, codes[2] % cardinalities[3], codes[3])
    return codes


def random_data(seed, cardinalities, n_rows):
    codes = random_codes(seed, cardinalities, n_rows)
    return CategoricalData.from_codes(codes, cardinalities)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cardinalities", [(2, 3, 2, 4), (30, 20, 9, 200), (1, 3, 5, 2)])
def test_qnml_is_score_equivalent(seed, cardinalities):
    data = random_data(seed, cardinalities, 100)
    spread, n_classes = spread_within_classes("qnml", data)
    assert n_classes == 185
    # The local scores that cancel are far larger than the total where states are many.
    assert spread < 1e-9


@pytest.mark.parametrize("name", ["bds", "bdj", "fnml"])
def test_the_others_are_not_score_equivalent(name):
    spread, _ = spread_within_classes(name, random_data(0, (2, 3, 2, 4), 30))
    assert spread > 0.01


def test_qnml_beyond_every_float():
    qnml = SCORES["qnml"]
    n, r = 1000.0, 3
    previous = -math.inf
    for exponent in (0, 3, 7, 8, 9, 100, 300, 310, 5000):
        family = Family(r, 10**exponent, exponent, exponent + 1, n, 1.0)
        cost = -qnml.constant(family)
        assert previous < cost < n * math.log(r) * (1 + 1e-12) + 1e-9
        previous = cost - 1e-9 * n
    assert cost == pytest.approx(n * math.log(r), rel=1e-11)
    codes = np.tile(random_codes(0, [250] * 4, 50), (40, 1))
    scores = LocalScores(CategoricalData.from_codes(codes, [250] * 160), qnml, 1.0)
    local = scores.local(0, range(1, 160))
    # Every parent configuration determines the child; all that is left is the regret.
    assert local == pytest.approx(-50 * math.log(250), rel=1e-12)


@pytest.mark.parametrize("name", ["fnml", "qnml"])
def test_fractional_weights_are_refused(name):
    X = pd.DataFrame({"a": list("uvuvw"), "b": list("xxyyx")})
    weights = [1.0, 2.0, 0.5, 1.0, 1.0]
    message = r"needs whole counts.*counts 0\.5 times.*whole weights"
    with pytest.raises(ValueError, match=message):
        structure_score(X, [("a", "b")], score_type=name, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        BayesNetStructureEstimator(score_type=name).fit(X, sample_weight=weights)


@pytest.mark.parametrize("name", ["bds", "bdj"])
def test_fractional_weights_where_they_are_legal(name):
    cardinalities = [2, 3, 2, 4]
    codes = random_codes(0, cardinalities, 60)
    data = CategoricalData.from_codes(codes, cardinalities)
    halves = CategoricalData.from_codes(np.tile(codes, 2), cardinalities, np.full(120, 0.5))
    thirds = CategoricalData.from_codes(codes, cardinalities, np.full(60, 1 / 3))
    first, second, third = (LocalScores(d, SCORES[name], 1.0) for d in (data, halves, thirds))
    for parents in [(), (0,), (0, 2)]:
        assert second.local(1, parents) == pytest.approx(first.local(1, parents), rel=1e-12)
        assert first.local(1, parents) < third.local(1, parents) < 0


@pytest.mark.parametrize("name", NAMES)
def test_whole_weights_of_any_size(name):
    cardinalities = [2, 3, 2, 4]
    codes, weights = random_codes(0, cardinalities, 60), np.arange(1.0, 61.0)
    repeated = CategoricalData.from_codes(
        np.repeat(codes, weights.astype(int), axis=1), cardinalities
    )
    weighted = CategoricalData.from_codes(codes, cardinalities, weights)
    first, second = (LocalScores(d, SCORES[name], 1.0) for d in (repeated, weighted))
    for parents in [(), (0,), (0, 2)]:
        assert first.local(1, parents) == pytest.approx(second.local(1, parents), rel=1e-13)
    # A total beyond 2^31 is counted in floats, and whole all the same.
    huge = CategoricalData.from_codes(codes, cardinalities, weights * 10.0**8)
    assert not huge.has_whole_weights
    value = LocalScores(huge, SCORES[name], 1.0).local(1, (0,))
    loglik = LocalScores(huge, SCORES["loglik"], 1.0).local(1, (0,))
    assert 1 < loglik - value < 200


@pytest.mark.parametrize("search", sorted(SEARCHES))
@pytest.mark.parametrize("name", NAMES)
def test_searches_find_what_is_there(name, search):
    rng = np.random.default_rng(0)
    a, c, free = rng.integers(0, [[3], [2], [4]], size=(3, 2000))
    b = np.where(rng.random(2000) < 0.8, a, rng.integers(0, 3, 2000))
    d = np.where(rng.random(2000) < 0.9, (b > 0) & (c > 0), rng.integers(0, 2, 2000))
    X = np.column_stack([a, b, c, d, free])
    bn = BayesNetStructureEstimator(score_type=name, search=search, random_state=0).fit(X)
    adjacent = {frozenset(edge) for edge in bn.edges_}
    assert {frozenset(("x0", "x1")), frozenset(("x1", "x3")), frozenset(("x2", "x3"))} <= adjacent
    assert not any("x4" in pair for pair in adjacent)
    assert bn.structure_score_ == pytest.approx(
        structure_score(X, bn.edges_, score_type=name), rel=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_scores_do_not_depend_on_the_order_of_rows_and_states(name):
    cardinalities = [2, 3, 2, 4]
    codes = random_codes(1, cardinalities, 500)
    rng = np.random.default_rng(0)
    other = np.array([rng.permutation(r)[c] for r, c in zip(cardinalities, codes, strict=True)])
    other = other[:, rng.permutation(500)]
    first, second = (
        LocalScores(CategoricalData.from_codes(c, cardinalities), SCORES[name], 1.0)
        for c in (codes, other)
    )
    for child, parents in [(0, ()), (1, (0,)), (3, (0, 2)), (2, (0, 1, 3))]:
        assert first.local(child, parents) == second.local(child, parents)
