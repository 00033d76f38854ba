import json
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from skbn import BayesNetStructureEstimator, edge_posteriors, structure_score
from skbn.counting.data import CategoricalData
from skbn.scores.bayesian import BDeu
from skbn.scores.by_name import SCORES, as_score
from skbn.scores.local_scores import LocalScores
from skbn.scores.score import Family, Score, is_set_score, terms_of

NAMES = ("bdeu", "loglik", "bic", "aic", "mdl", "k2")


def by_tables(data):
    assert data.has_whole_weights
    return data


def by_counts(data):
    """The same table, but with float weights, which are not summed from tables of terms."""
    weights = np.ones(data.n_rows) if data.weights is None else data.weights.astype(float)
    return replace(data, weights=weights)


def test_every_score_has_a_name():
    assert tuple(SCORES) == (*NAMES, "bds", "bdj", "fnml", "qnml")


# Reference values.


@pytest.fixture(scope="module")
def reference(shared):
    return json.loads(shared("reference/reference.json").read_text())


def split(key):
    """Score and ESS of a key like "bic" or "bdeu_10"."""
    name, _, ess = key.partition("_")
    return name, float(ess) if ess and name in NAMES else 1.0


@pytest.mark.parametrize("path", [by_tables, by_counts])
def test_toy_reference(reference, read_graph, path):
    toy = reference["toy"]
    codes = np.array(toy["rows_A_B_C_D"]).T
    data = path(CategoricalData.from_codes(codes, toy["cardinalities"]))
    for graph, values in toy["graphs"].items():
        parents = read_graph(["A", "B", "C", "D"], graph)
        for key, value in values.items():
            name, ess = split(key)
            found = LocalScores(data, SCORES[name], ess).total(parents)
            assert found == pytest.approx(value, rel=1e-9), (graph, key)


@pytest.mark.parametrize("path", [by_tables, by_counts])
@pytest.mark.parametrize("name", ["learning_test", "asia"])
def test_fixed_graph_reference(reference, read_codes, read_graph, name, path):
    values = reference["fixed_graphs"][name]
    header, codes, cardinalities = read_codes(f"data/bnlearn/{name}.csv")
    parents = read_graph(header, values["graph"])
    data = path(CategoricalData.from_codes(codes, cardinalities))
    assert data.n_samples == values["n_samples"]
    checked = [key for key in values if split(key)[0] in NAMES]
    assert len(checked) == 9
    for key in checked:
        score, ess = split(key)
        found = LocalScores(data, SCORES[score], ess).total(parents)
        assert found == pytest.approx(values[key], rel=1e-9), key


# Against the plain twin.


@st.composite
def tables(draw, weights=("none", "whole", "fractional", "large", "huge", "tiny")):
    """Codes, cardinalities and weights, with constant columns and levels that do not occur."""
    cardinalities = draw(st.lists(st.sampled_from([1, 2, 3, 5, 300]), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.sampled_from([1, 2, 10, 60]))
    codes = np.array([rng.integers(0, rng.integers(1, c + 1), n_rows) for c in cardinalities])
    kind = draw(st.sampled_from(weights))
    scale = {"fractional": 3.0, "huge": 1e250, "tiny": 1e-250}
    if kind == "none":
        return codes, cardinalities, None
    if kind in scale:
        return codes, cardinalities, rng.uniform(0.1, 1.0, n_rows) * scale[kind]
    return codes, cardinalities, rng.integers(1, 4 if kind == "whole" else 10**7, n_rows)


@pytest.mark.parametrize("path", [by_tables, by_counts])
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(tables(weights=("none", "whole", "large")), st.sampled_from([1e-3, 1.0, 1e4]), st.data())
def test_every_score_equals_its_definition(twin, name, path, table, ess, data):
    slow = twin(*table)
    scores = LocalScores(path(CategoricalData.from_codes(*table)), SCORES[name], ess)
    child, *parents = data.draw(
        st.lists(st.sampled_from(range(len(table[1]))), unique=True, min_size=1)
    )
    expected, size = slow.local(name, child, parents, ess)
    assert scores.local(child, parents) == pytest.approx(expected, rel=1e-9, abs=1e-13 * size)
    row = scores.toggled(child, parents)
    for changed in range(len(table[1])):
        given = set(parents) if changed == child else set(parents) ^ {changed}
        expected, size = slow.local(name, child, sorted(given), ess)
        assert row[changed] == pytest.approx(expected, rel=1e-9, abs=1e-13 * size)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(tables(weights=("fractional", "huge", "tiny")), st.sampled_from([1e-3, 1.0, 1e4]), st.data())
def test_every_score_with_weights_that_are_not_whole(twin, name, table, ess, data):
    slow = twin(*table)
    if name in ("bic", "mdl") and slow.n_samples <= 1.0:
        with pytest.raises(ValueError, match=r"the sum of sample_weight, which must be more than"):
            LocalScores(CategoricalData.from_codes(*table), SCORES[name], ess)
        return
    scores = LocalScores(CategoricalData.from_codes(*table), SCORES[name], ess)
    child, *parents = data.draw(
        st.lists(st.sampled_from(range(len(table[1]))), unique=True, min_size=1)
    )
    expected, size = slow.local(name, child, parents, ess)
    # The twin subtracts whole log-gammas, which for tiny weights leaves it no digits.
    floor = 1e-12 * len(table[0][0])
    found = scores.local(child, parents)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-13 * size + floor)


@pytest.mark.parametrize("path", [by_tables, by_counts])
@pytest.mark.parametrize("name", NAMES)
def test_one_row(twin, name, path):
    table = np.array([[1], [0], [2]]), [2, 1, 3]
    scores = LocalScores(path(CategoricalData.from_codes(*table)), SCORES[name], 2.5)
    slow = twin(*table)
    for child, parents in ((0, ()), (0, (1,)), (0, (1, 2)), (1, (0, 2)), (2, ())):
        expected, _ = slow.local(name, child, parents, 2.5)
        assert scores.local(child, parents) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("path", [by_tables, by_counts])
@pytest.mark.parametrize("name", ["bdeu", "loglik", "bic", "aic", "k2"])
def test_constant_columns_change_nothing(name, path):
    rng = np.random.default_rng(3)
    codes = np.vstack([rng.integers(0, 3, (2, 90)), np.zeros((1, 90), dtype=int)])
    scores = LocalScores(
        path(CategoricalData.from_codes(codes, [3, 3, 1])), SCORES[name], 2.0
    )
    assert scores.local(2, ()) == scores.local(2, (0,)) == scores.local(2, (0, 1)) == 0.0
    assert scores.local(0, (2,)) == scores.local(0, ())
    assert scores.local(0, (1, 2)) == scores.local(0, (1,))


@given(tables(weights=("none", "whole")), st.sampled_from([0.1, 1.0, 30.0]))
def test_bdeu_is_equation_2_with_every_cell(table, ess):
    codes, cardinalities, weights = table
    r, *others = cardinalities
    parents = [p for p, c in enumerate(others, 1) if c < 300][:3]
    shape = [cardinalities[p] for p in parents]
    cells = np.zeros([*shape, r])
    np.add.at(cells, tuple(codes[[*parents, 0]]), 1.0 if weights is None else weights)
    cells = cells.reshape(-1, r)
    a_ijk, a_ij = ess / cells.size, ess / len(cells)
    expected = np.sum(gammaln(a_ij) - gammaln(a_ij + cells.sum(axis=1))) + np.sum(
        gammaln(a_ijk + cells) - gammaln(a_ijk)
    )
    scores = LocalScores(CategoricalData.from_codes(*table), SCORES["bdeu"], ess)
    assert scores.local(0, parents) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("path", [by_tables, by_counts])
def test_mdl_is_bic_and_the_price_of_the_parent_list(path):
    rng = np.random.default_rng(5)
    n = 9
    data = path(CategoricalData.from_codes(rng.integers(0, 2, (n, 50)), [2] * n))
    mdl, bic = (LocalScores(data, SCORES[name], 1.0) for name in ("mdl", "bic"))
    for p in range(n):
        price = math.log(n) + math.log(math.comb(n, p))
        found = mdl.local(0, range(1, p + 1))
        assert found == pytest.approx(bic.local(0, range(1, p + 1)) - price, rel=1e-12)
        expected = [
            bic.toggled(0, range(1, p + 1))[j]
            - math.log(n)
            - math.log(math.comb(n, p if j == 0 else p - 1 if j <= p else p + 1))
            for j in range(n)
        ]
        np.testing.assert_allclose(mdl.toggled(0, range(1, p + 1)), expected, rtol=1e-12)


# Equivalent graphs.


def pattern(parents):
    """Skeleton and v-structures: what equivalent graphs have in common (Verma and Pearl)."""
    skeleton = {frozenset((i, p)) for i, given in enumerate(parents) for p in given}
    colliders = {
        (child, frozenset((a, b)))
        for child, given in enumerate(parents)
        for a in given
        for b in given
        if a < b and frozenset((a, b)) not in skeleton
    }
    return frozenset(skeleton), frozenset(colliders)


@pytest.mark.parametrize("name", ["bdeu", "loglik", "bic", "aic"])
@settings(max_examples=15)
@given(st.data())
def test_equivalent_graphs_score_the_same(all_dags, name, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ess = 10.0 ** data.draw(st.floats(-6, 6))
    cardinalities = rng.integers(1, 5, 4)
    n_rows = data.draw(st.sampled_from([1, 5, 40, 300]))
    codes = np.array([rng.integers(0, rng.integers(1, c + 1), n_rows) for c in cardinalities])
    weights = data.draw(
        # More than one row in all, which BIC asks for.
        st.sampled_from([None, rng.integers(1, 5, n_rows), rng.random(n_rows) + 1.1])
    )
    scores = LocalScores(
        CategoricalData.from_codes(codes, cardinalities, weights), SCORES[name], ess
    )
    found = {}
    n_graphs = 0
    for parents in all_dags(4):
        n_graphs += 1
        found.setdefault(pattern(parents), []).append(scores.total(parents))
    assert (n_graphs, len(found)) == (543, 185)
    for values in found.values():
        assert max(values) - min(values) <= 1e-9 * max(abs(values[0]), 1e-3)


# Extremes.


def exact_bdeu(twin, table, child, parents, ess):
    slow = twin(*table)
    cells, totals = slow.counts([*parents, child]), slow.counts(parents)
    q = math.prod(table[1][parent] for parent in parents)
    with mpmath.workdps(60 + max(0, round(math.log10(ess)))):
        a_ij = mpmath.mpf(ess) / q
        a_ijk = a_ij / table[1][child]
        return float(
            sum(mpmath.loggamma(a_ijk + n) - mpmath.loggamma(a_ijk) for n in cells.values())
            - sum(mpmath.loggamma(a_ij + n) - mpmath.loggamma(a_ij) for n in totals.values())
        )


@pytest.mark.parametrize("weighting", ["none", "whole", "fractional"])
@pytest.mark.parametrize("ess", [1e-300, 1e-9, 0.3, 31.9, 96.0, 1e6, 1e15, 1e300])
def test_bdeu_for_any_ess(twin, ess, weighting):
    rng = np.random.default_rng(11)
    codes = rng.integers(0, 3, (4, 12))
    codes[3] = codes[0]
    weights = {
        "none": None, "whole": rng.integers(1, 2000, 12), "fractional": rng.random(12) + 0.01
    }[weighting]
    table = codes, [3, 3, 4, 3], weights
    scores = LocalScores(CategoricalData.from_codes(*table), SCORES["bdeu"], ess)
    for child, parents in ((0, ()), (0, (3,)), (1, (0, 2, 3)), (2, (0,))):
        expected = exact_bdeu(twin, table, child, parents, ess)
        assert scores.local(child, parents) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("path", [by_tables, by_counts])
def test_more_parent_states_than_any_float_can_hold(path):
    n = 1100
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (n, 40), dtype=np.uint8)
    codes[0] = codes[1]
    data = path(CategoricalData.from_codes(codes, [2] * n))
    parents = range(1, n - 1)
    for name in ("bic", "aic", "mdl"):
        assert LocalScores(data, SCORES[name], 1.0).local(0, parents) == -math.inf
    assert (LocalScores(data, SCORES["bic"], 1.0).toggled(0, parents) == -math.inf).all()
    assert LocalScores(data, SCORES["loglik"], 1.0).local(0, parents) == 0.0
    # Every row has a parent configuration of its own: N times ln (1 / 2), whatever the ESS.
    for ess in (1e-300, 1.0, 1e300):
        scores = LocalScores(data, SCORES["bdeu"], ess)
        assert scores.local(0, parents) == pytest.approx(-40 * math.log(2), rel=1e-11)
    if path is by_tables:
        np.testing.assert_allclose(scores.toggled(0, parents), -40 * math.log(2), rtol=1e-11)
    k2 = LocalScores(data, SCORES["k2"], 1.0)
    assert k2.local(0, parents) == pytest.approx(-40 * math.log(2), rel=1e-12)


@pytest.mark.parametrize("path", [by_tables, by_counts])
@pytest.mark.parametrize("name", ["bic", "mdl"])
def test_one_row_makes_parameters_free_however_many(name, path):
    n = 1100
    data = path(CategoricalData.from_codes(np.zeros((n, 1), dtype=np.uint8), [2] * n))
    scores = LocalScores(data, SCORES[name], 1.0)
    price = 0.0 if name == "bic" else math.log(n) + math.log(math.comb(n, n - 1))
    assert scores.local(0, range(1, n)) == pytest.approx(-price, rel=1e-12)


def test_a_child_of_one_state_never_pays():
    n = 1100
    codes = np.zeros((n, 3), dtype=np.uint8)
    codes[1:, 1] = 1
    data = CategoricalData.from_codes(codes, [1] + [2] * (n - 1))
    for name in ("bdeu", "loglik", "bic", "aic", "k2"):
        assert LocalScores(data, SCORES[name], 1.0).local(0, range(1, n)) == 0.0


# The protocol.


def test_scores_are_values():
    assert BDeu() == SCORES["bdeu"]
    assert hash(BDeu()) == hash(SCORES["bdeu"])
    assert BDeu() != SCORES["k2"]
    assert SCORES["bic"] != SCORES["aic"]


def test_set_functions_are_the_terms_of_both_counts():
    family = Family(3, 8, 2, 5, 40.0, 2.0)
    counts = np.arange(1.0, 9.0)
    for name, score in SCORES.items():
        assert isinstance(score, Score)
        assert score.tabulated == (name != "bds")
        assert is_set_score(score) == (name not in ("k2", "bds", "bdj", "fnml"))
        if is_set_score(score):
            for found, n_states in (
                (score.cell_terms(counts, family), 24), (score.parent_terms(counts, family), 8)
            ):
                np.testing.assert_array_equal(found, score.set_terms(counts, n_states, 2.0))


def test_a_set_score_with_terms_of_its_own_is_none():
    class Tempered(BDeu):
        def cell_terms(self, counts, family):
            return 0.9 * super().cell_terms(counts, family)

    class Penalised(BDeu):
        def constant(self, family):
            return -1.0

    assert not is_set_score(Tempered())
    assert is_set_score(Penalised())


def test_a_name_stands_for_its_score():
    for name in NAMES:
        assert as_score(name) is SCORES[name]


class OwnScore:
    def cell_terms(self, counts, family):
        return counts

    def parent_terms(self, counts, family):
        return counts

    def constant(self, family):
        return 0.0


class NoTerms:
    cell_terms = None

    def constant(self, family):
        return 0.0

    def __repr__(self):
        return "NoTerms()"


def test_a_score_object_stands_for_itself():
    own = OwnScore()
    assert isinstance(own, Score)
    counts, family = np.array([1.0, 2.0]), Family(2, 3, 1, 4, 10.0, 1.0)
    found = as_score(own)
    assert repr(found) == repr(own)
    np.testing.assert_array_equal(found.cell_terms(counts, family), counts)
    np.testing.assert_array_equal(found.parent_terms(counts, family), counts)
    assert found.constant(family) == 0.0
    assert (found.tabulated, found.needs_whole_counts, found.uses_ess) == (False, False, True)


def test_a_derived_score_object_is_taken_as_it_is():
    class Derived(Score):
        uses_ess = False

        def cell_terms(self, counts, family):
            return counts

        parent_terms = cell_terms

    own = Derived()
    assert as_score(own) is own
    assert own.constant(Family(2, 3, 1, 4, 10.0, 1.0)) == 0.0


def test_flags_of_a_score_of_ones_own_are_kept():
    class Flagged(OwnScore):
        tabulated = needs_whole_counts = True
        uses_ess = False

    found = as_score(Flagged())
    assert (found.tabulated, found.needs_whole_counts, found.uses_ess) == (True, True, False)


@pytest.mark.parametrize("name", ["BDeu", "", "bde"])
def test_an_unknown_name_is_refused_with_all_that_are_known(name):
    with pytest.raises(ValueError) as error:
        as_score(name)
    assert str(error.value) == (
        "score_type must be one of 'bdeu', 'loglik', 'bic', 'aic', 'mdl', 'k2', 'bds', 'bdj', "
        f"'fnml', 'qnml' or a score object, got {name!r}."
    )


@pytest.mark.parametrize(
    ("what", "got"),
    [
        (NoTerms(), "NoTerms() without cell_terms, parent_terms."),
        (None, "None without cell_terms, parent_terms, constant."),
        (1.5, "1.5 without cell_terms, parent_terms, constant."),
        (OwnScore, "a class, not an object; call it."),
        (NoTerms, "a class, not an object without cell_terms, parent_terms."),
    ],
)
def test_what_is_no_score_is_refused_with_what_it_lacks(what, got):
    with pytest.raises(TypeError) as error:
        as_score(what)
    assert str(error.value) == (
        "score_type must be the name of a score or an object with the methods cell_terms, "
        f"parent_terms and constant, got {got}"
    )


def test_terms_are_one_float_per_count():
    counts = np.array([1.0, 2.0, 4.0])
    own = OwnScore()
    family = Family(2, 1, 0, 1, 7.0, 1.0)
    np.testing.assert_array_equal(terms_of(own.cell_terms, counts, family), counts)
    np.testing.assert_array_equal(terms_of(lambda n, _: 1, counts, family), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(terms_of(lambda n, _: n.tolist(), counts, family), counts)
    with pytest.raises(ValueError, match=r"got 3 count\(s\) and returned .* shape \(2,\)"):
        terms_of(lambda n, _: n[1:], counts, family)


class Wrong:
    """Half the log-likelihood, but for one method that returns something else."""

    def __init__(self, method, wrong, tabulated):
        self.wrong, self.tabulated = {method: wrong}, tabulated

    def cell_terms(self, counts, family):
        return self.wrong.get("cell_terms", lambda n: n * np.log(n) / 2)(counts)

    def parent_terms(self, counts, family):
        return self.wrong.get("parent_terms", lambda n: n * np.log(n) / 2)(counts)

    def constant(self, family):
        return self.wrong.get("constant", lambda _: -1.0)(family)


def fit(score, search):
    return BayesNetStructureEstimator(score_type=score, search=search).fit(TABLE)


TABLE = np.random.default_rng(0).integers(0, 3, (60, 4))
DOORS = {
    "greedy": lambda score: fit(score, "greedy"),
    "order": lambda score: fit(score, "order"),
    "exact": lambda score: fit(score, "exact"),
    "structure_score": lambda score: structure_score(TABLE, [("x0", "x1")], score_type=score),
    "edge_posteriors": lambda score: edge_posteriors(TABLE, score_type=score),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("tabulated", [False, True])
@pytest.mark.parametrize("method", ["cell_terms", "parent_terms"])
@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda n: n[:-1], "an array of shape ("),
        (lambda n: n[:, None], "an array of shape ("),
        (lambda n: n * 1j, "type complex128"),
        (lambda n: None, "None"),
        (lambda n: "much", "'much'"),
        (lambda n: [1.0, [2.0, 3.0]], "[1.0, [2.0, 3.0]]"),
        (lambda n: [], "[]"),
    ],
    ids=["short", "column", "complex", "None", "text", "ragged", "empty"],
)
def test_terms_of_another_shape_are_refused_by_method(door, method, tabulated, wrong, what):
    with pytest.raises(ValueError, match=rf"Wrong\.{method} got \d+ count\(s\) and ret") as caught:
        door(Wrong(method, wrong, tabulated))
    assert what in str(caught.value)
    assert "Return one real number per count, in nats, or one for all of them." in str(caught.value)


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("tabulated", [False, True])
@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (None, "None"), ("much", "'much'"), ([1.0], "[1.0]"), (1j, "1j"),
        (np.ones(1), "an array of shape (1,) and type float64"),
        (np.ones(3), "an array of shape (3,) and type float64"),
    ],
    ids=["None", "text", "list", "complex", "one", "array"],
)
def test_a_constant_is_one_real_number(door, tabulated, wrong, what):
    with pytest.raises(ValueError, match="Return one real number, in nats, or -inf") as caught:
        door(Wrong("constant", lambda _: wrong, tabulated))
    assert f"Wrong.constant returned {what}." in str(caught.value)


@pytest.mark.parametrize("door", [DOORS["greedy"], DOORS["exact"], DOORS["edge_posteriors"]])
@pytest.mark.parametrize("tabulated", [False, True])
@pytest.mark.parametrize("constant", [math.nan, math.inf])
@pytest.mark.parametrize("n_parents", [0, 1])
def test_a_constant_that_is_no_score_is_told_by_family(door, tabulated, constant, n_parents):
    score = Wrong(
        "constant", lambda family: constant if family.n_parents == n_parents else 0.0, tabulated
    )
    with pytest.raises(ValueError, match=rf"gave .*{constant} for .*a number of nats, or -inf"):
        door(score)


@pytest.mark.parametrize("constant", [-1, np.float32(-1), np.int64(-1), np.array(-1.0)])
def test_a_constant_of_any_type_of_number(constant):
    given = DOORS["structure_score"](Wrong("constant", lambda _: constant, True))
    assert given == DOORS["structure_score"](Wrong("constant", lambda _: -1.0, True))
