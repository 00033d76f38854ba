import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skbn.counting.data import CategoricalData
from skbn.scores.by_name import SCORES
from skbn.scores.gamma import log_rising_factorial
from skbn.scores.local_scores import LocalScores
from skbn.scores.score import Score

NAMES = tuple(name for name, score in SCORES.items() if not score.needs_whole_counts)


@dataclass(frozen=True)
class OwnBDeu(Score):
    """BDeu written down anew, one family at a time."""

    seen: list = field(default_factory=list, compare=False)

    def cell_terms(self, counts, family):
        self.seen.append(family)
        r, q = family.cardinality, family.n_parent_states
        return log_rising_factorial(counts, math.log(family.ess / (r * q)))

    def parent_terms(self, counts, family):
        return log_rising_factorial(counts, math.log(family.ess / family.n_parent_states))

    def constant(self, family):
        return 0.0


@dataclass(frozen=True)
class OwnTabulatedBDeu(OwnBDeu):
    tabulated = True


class OwnBIC(Score):
    def cell_terms(self, counts, family):
        return counts * np.log(counts)

    parent_terms = cell_terms

    def constant(self, family):
        n_free = (family.cardinality - 1) * family.n_parent_states
        return -0.5 * math.log(family.n_samples) * n_free


class OwnTabulatedBIC(OwnBIC):
    tabulated = True


class OwnBDs(Score):
    """A prior that only parent configurations that occur share; see Scutari (2016)."""

    def cell_terms(self, counts, family):
        alpha = family.ess / (family.cardinality * family.n_observed_parent_states)
        return log_rising_factorial(counts, math.log(alpha))

    def parent_terms(self, counts, family):
        alpha = family.ess / family.n_observed_parent_states
        return log_rising_factorial(counts, math.log(alpha))

    def constant(self, family):
        return 0.0


@st.composite
def tables(draw, weights=("none", "whole", "fractional")):
    n_variables = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cardinalities = rng.integers(1, 5, n_variables)
    n_rows = draw(st.sampled_from([1, 3, 20, 80]))
    codes = np.array([rng.integers(0, rng.integers(1, c + 1), n_rows) for c in cardinalities])
    kind = draw(st.sampled_from(weights))
    drawn = {
        "none": None, "whole": rng.integers(1, 4, n_rows), "fractional": rng.uniform(0.1, 2, n_rows)
    }[kind]
    return codes, cardinalities, drawn


def scores_for(data):
    """The scores that take the weights, and one of our own; BIC and MDL want more than a row."""
    names = set(NAMES) - ({"bic", "mdl"} if data.is_at_most_a_row else set())
    return [*(SCORES[name] for name in sorted(names)), OwnBDs()]


def random_parents(rng, n_variables, child):
    others = np.delete(np.arange(n_variables), child)
    return tuple(int(p) for p in others[rng.random(len(others)) < 0.4])


def toggled_one_by_one(scores, child, parents):
    n_variables = scores.data.n_variables
    return [
        scores.local(child, parents if j == child else set(parents) ^ {j})
        for j in range(n_variables)
    ]


def every_answer(scores):
    """Toggles of every child from no parents and from all others."""
    n = scores.data.n_variables
    return np.array(
        [
            scores.toggled(child, parents)
            for child in range(n)
            for parents in ((), [j for j in range(n) if j != child])
        ]
    )


# One answer, however it is asked for.


def log_prior(child, parents):
    assert parents == tuple(sorted(parents))
    return -0.7 * len(parents) - 0.01 * child + 0.001 * sum(parents)


@settings(max_examples=60)
@given(tables(), st.sampled_from([*NAMES, "own"]), st.booleans(), st.integers(0, 2**32 - 1))
def test_toggled_is_local_of_every_toggle(table, name, with_prior, seed):
    data = CategoricalData.from_codes(*table)
    rng = np.random.default_rng(seed)
    score = OwnBDs() if name == "own" else SCORES[name]
    prior = log_prior if with_prior else None
    child = int(rng.integers(data.n_variables))
    parents = random_parents(rng, data.n_variables, child)
    row = LocalScores(data, score, 2.0, prior).toggled(child, parents)
    # Bit by bit, from an object that has not been asked before.
    assert row.tolist() == toggled_one_by_one(LocalScores(data, score, 2.0, prior), child, parents)
    plain = LocalScores(data, score, 2.0)
    for j, value in enumerate(row.tolist()):
        given = set(parents) if j == child else set(parents) ^ {j}
        expected = plain.local(child, given)
        if with_prior:
            expected += log_prior(child, tuple(sorted(given)))
        assert value == pytest.approx(expected, rel=1e-14, abs=1e-14)


def test_the_order_of_parents_does_not_matter():
    rng = np.random.default_rng(0)
    data = CategoricalData.from_codes(rng.integers(0, 3, (6, 50)), [3] * 6)
    for score in (*(SCORES[name] for name in NAMES), OwnBDs()):
        a, b = (LocalScores(data, score, 1.0) for _ in range(2))
        assert a.local(0, [1, 2, 5]) == b.local(0, (p for p in (5, 1, 2)))
        np.testing.assert_array_equal(a.toggled(0, [5, 1, 2]), b.toggled(0, (1, 2, 5)))


def test_rows_of_answers_are_read_only_and_remembered():
    data = CategoricalData.from_codes([[0, 1, 1], [0, 0, 1]], [2, 2])
    scores = LocalScores(data, SCORES["bic"], 1.0)
    row = scores.toggled(0, ())
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 1.0
    assert scores.n_evaluations == 2
    assert scores.toggled(0, []) is row
    assert scores.local(0, ()) == row[0]
    assert scores.n_evaluations == 2
    scores.local(0, (1,))
    scores.local(0, (1,))
    assert scores.n_evaluations == 3


def test_a_prior_may_forbid():
    data = CategoricalData.from_codes([[0, 1, 1], [0, 0, 1], [1, 0, 0]], [2, 2, 2])
    scores = LocalScores(
        data, SCORES["bic"], 1.0, lambda child, parents: -math.inf if 1 in parents else 0.0
    )
    row = scores.toggled(0, ())
    assert row[1] == -math.inf
    assert np.isfinite(row[[0, 2]]).all()


# What must not change a score.


@settings(max_examples=60)
@given(tables(), st.integers(0, 2**32 - 1))
def test_order_of_rows_and_names_of_states_do_not_change_a_bit(table, seed):
    codes, cardinalities, weights = table
    rng = np.random.default_rng(seed)
    order = rng.permutation(codes.shape[1])
    renamed = np.array(
        [rng.permutation(c)[column] for c, column in zip(cardinalities, codes, strict=True)]
    )
    data = CategoricalData.from_codes(codes, cardinalities, weights)
    again = CategoricalData.from_codes(
        renamed[:, order], cardinalities, None if weights is None else weights[order]
    )
    for score in scores_for(data):
        a, b = (every_answer(LocalScores(table, score, 3.0)) for table in (data, again))
        np.testing.assert_array_equal(a, b)


@settings(max_examples=60)
@given(tables(), st.integers(0, 2**32 - 1))
def test_order_of_columns_does_not_change_a_bit(table, seed):
    codes, cardinalities, weights = table
    rng = np.random.default_rng(seed)
    n_variables = len(codes)
    order = rng.permutation(n_variables)
    place = np.argsort(order)
    data = CategoricalData.from_codes(codes, cardinalities, weights)
    again = CategoricalData.from_codes(codes[order], cardinalities[order], weights)
    # Parents of an acyclic graph, as `total` is given.
    parents = [tuple(p for p in range(child) if rng.random() < 0.5) for child in range(n_variables)]
    moved = [tuple(place[list(parents[order[i]])].tolist()) for i in range(n_variables)]
    for score in scores_for(data):
        a, b = (LocalScores(table, score, 3.0) for table in (data, again))
        for child in range(n_variables):
            assert a.local(child, parents[child]) == b.local(place[child], moved[place[child]])
            np.testing.assert_array_equal(
                a.toggled(child, parents[child])[order],
                b.toggled(int(place[child]), moved[place[child]]),
            )
        assert a.total(parents) == b.total(moved)
        assert a.total(parents) == math.fsum(map(a.local, range(n_variables), parents))


@settings(max_examples=60)
@given(tables(weights=("whole",)), st.sampled_from([1, 2**-3, 2**27]))
def test_weights_are_repetitions_to_the_last_bit(table, unit):
    codes, cardinalities, weights = table
    repeated = np.repeat(codes, weights, axis=1)
    # Fractions of two and weights beyond two billion add up without rounding, too.
    data = CategoricalData.from_codes(codes, cardinalities, weights * unit)
    again = CategoricalData.from_codes(
        repeated, cardinalities, None if unit == 1 else np.full(repeated.shape[1], unit)
    )
    for score in scores_for(data):
        a, b = (every_answer(LocalScores(table, score, 3.0)) for table in (data, again))
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_weight_zero_and_their_order_are_as_if_absent(name):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (4, 60))
    for weights in (rng.integers(0, 3, 60), rng.choice([0.0, 0.3, 1.7], 60)):
        kept = weights > 0
        a, b = (
            every_answer(LocalScores(CategoricalData.from_codes(c, [3] * 4, w), SCORES[name], 1.0))
            for c, w in ((codes, weights), (codes[:, kept], weights[kept]))
        )
        np.testing.assert_array_equal(a, b)


# A user's own score.


@pytest.mark.parametrize(
    ("own", "name"),
    [
        (OwnBDeu(), "bdeu"),
        (OwnTabulatedBDeu(), "bdeu"),
        (OwnBIC(), "bic"),
        (OwnTabulatedBIC(), "bic"),
    ],
    ids=["BDeu", "tabulated BDeu", "BIC", "tabulated BIC"],
)
@settings(max_examples=40)
@given(table=tables())
def test_own_score_equals_the_built_in(own, name, table):
    data = CategoricalData.from_codes(*table)
    if SCORES[name] not in scores_for(data):
        return
    found = every_answer(LocalScores(data, own, 3.0))
    expected = every_answer(LocalScores(data, SCORES[name], 3.0))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@given(tables(), st.integers(0, 2**32 - 1))
def test_own_score_is_told_the_family(twin, table, seed):
    data = CategoricalData.from_codes(*table)
    rng = np.random.default_rng(seed)
    child = int(rng.integers(data.n_variables))
    parents = random_parents(rng, data.n_variables, child)
    own = OwnBDeu()
    LocalScores(data, own, 3.0).local(child, parents)
    (family,) = own.seen
    assert family.cardinality == table[1][child]
    assert family.n_parent_states == math.prod(int(table[1][p]) for p in parents)
    assert family.n_parents == len(parents)
    assert family.n_variables == data.n_variables
    assert family.n_samples == data.n_samples
    assert family.ess == 3.0
    assert family.n_observed_parent_states == len(twin(*table).counts(parents))


def test_tabulated_score_is_not_told_what_occurs():
    own = OwnTabulatedBDeu()
    data = CategoricalData.from_codes([[0, 1, 1], [0, 0, 1]], [2, 2])
    LocalScores(data, own, 3.0).local(0, (1,))
    assert own.seen
    assert {family.n_observed_parent_states for family in own.seen} == {None}


def test_own_score_that_needs_what_occurs(twin):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 4, (3, 9)), [4, 4, 4]
    data = CategoricalData.from_codes(*table)
    n_observed = len(twin(*table).counts((1, 2)))
    assert n_observed < 16
    # BDs is BDeu as if the parents had just so many states.
    bdeu = LocalScores(data, SCORES["bdeu"], 16 / n_observed)
    found = LocalScores(data, OwnBDs(), 1.0).local(0, (1, 2))
    assert found == pytest.approx(bdeu.local(0, (1, 2)), rel=1e-12)


class OwnTerms(Score):
    """Terms and constant as given; n_samples of the tables below is a million and more."""

    def __init__(self, f, g, tabulated):
        self.f, self.g, self.tabulated = f, g, tabulated

    def cell_terms(self, counts, family):
        return self.f(counts)

    def parent_terms(self, counts, family):
        return self.g(counts)

    def constant(self, family):
        return 0.25


TERMS = {
    "huge": (lambda n: 1e290 * n, lambda n: 0.5e290 * n),
    "beyond the sums of 64-bit integers": (lambda n: 1e300 * n**0.5, lambda n: 0 * n),
    "sums beyond the largest float": (lambda n: np.where(n > 1e5, 1e306, n), lambda n: n),
    "tiny": (lambda n: 1e-300 * n, lambda n: 3e-300 * n),
    "a peak between the known counts and N": (
        lambda n: np.where((n > 1600) & (n < 1700), 1e6 * n**2, n), lambda n: 2 * n
    ),
    "a peak in the terms of parents": (
        lambda n: n, lambda n: np.where((n > 1600) & (n < 1700), -1e12 * n**2, n)
    ),
    "minus infinity": (lambda n: np.where(n > 1690, -np.inf, n), lambda n: 0 * n),
    "minus infinity above what is known, but for N": (
        lambda n: np.where((n > 600) & (n < 20_000), -np.inf, n), lambda n: 0 * n
    ),
    "one number for all counts": (lambda n: 1, lambda n: 2.5),
    "nothing": (lambda n: 0 * n, lambda n: 0 * n),
}


@pytest.mark.parametrize("what", TERMS)
def test_tabulated_score_with_values_of_any_size(what):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (5, 40))
    data = CategoricalData.from_codes(codes, [3] * 5, rng.choice([1, 30, 1650, 10**6], 40))
    tabulated, counted = (
        LocalScores(data, OwnTerms(*TERMS[what], tabulated), 1.0) for tabulated in (True, False)
    )
    for child, parents in ((0, ()), (1, (0,)), (2, (0, 1, 3, 4))):
        found, expected = (scores.toggled(child, parents) for scores in (tabulated, counted))
        # What N terms of the size of the largest could sum to limits the digits.
        atol = 1e-10 if what.startswith("one number") else 0.0
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=atol)
        # The same to the last bit however it is asked for, and again.
        again = LocalScores(data, OwnTerms(*TERMS[what], True), 1.0)
        assert found.tolist() == toggled_one_by_one(again, child, parents)
        assert found.tolist() == again.toggled(child, parents).tolist()


def test_a_score_that_is_not_a_number_is_refused():
    data = CategoricalData.from_codes([[0, 1, 1], [0, 0, 1]], [2, 2])
    for tabulated in (False, True):
        scores = LocalScores(data, OwnTerms(lambda n: n * np.nan, lambda n: n, tabulated), 1.0)
        with pytest.raises(ValueError, match=r"gave nan for variable 0"):
            scores.toggled(0, ())


# Accuracy of sums in fixed point.


def exact_bdeu(data, child, parents, ess):
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    with mpmath.workdps(60 + max(0, round(math.log10(ess)))):
        total = mpmath.mpf(0)
        for sign, variables in ((1, [*parents, child]), (-1, [*parents])):
            joint = {}
            for column, weight in zip(data.codes[variables].T.tolist(), weights, strict=True):
                joint[tuple(column)] = joint.get(tuple(column), 0) + int(weight)
            alpha = mpmath.mpf(ess) / math.prod(data.cardinalities[variables].tolist())
            for count in joint.values():
                total += sign * (mpmath.loggamma(alpha + count) - mpmath.loggamma(alpha))
        return float(total)


@pytest.mark.parametrize("n_samples", [10**6, 10**9, 2**31 - 1])
@pytest.mark.parametrize("ess", [1e-300, 1.0, 1e6, 1e300])
def test_bdeu_of_large_counts(n_samples, ess):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, (4, 30))
    weights = rng.random(30) ** 4
    weights = np.ceil(weights / weights.sum() * (n_samples - 30))
    weights[0] += n_samples - weights.sum()
    data = CategoricalData.from_codes(codes, [3, 3, 3, 4], weights)
    assert data.has_whole_weights
    assert data.n_samples == n_samples
    scores = LocalScores(data, SCORES["bdeu"], ess)
    for child, parents in ((0, ()), (0, (1,)), (2, (0, 1, 3))):
        expected = exact_bdeu(data, child, parents, ess)
        assert scores.local(child, parents) == pytest.approx(expected, rel=1e-12)


@pytest.fixture(scope="module")
def many_rows():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 300, (4, 200_000), dtype=np.uint16)
    data = CategoricalData.from_codes(codes, [300, 300, 300, 400])
    assert data.n_rows == 200_000
    return data


@pytest.mark.parametrize(
    ("name", "ess"),
    [
        *(("bdeu", ess) for ess in (1e-300, 1e-3, 1.0, 1e6, 1e300)),
        *((name, 1.0) for name in ("loglik", "bic", "k2")),
    ],
)
def test_many_rows_in_fixed_point(many_rows, name, ess):
    in_fixed_point = LocalScores(many_rows, SCORES[name], ess)
    in_floats = LocalScores(
        replace(many_rows, weights=np.ones(many_rows.n_rows)), SCORES[name], ess
    )
    for parents in ((), (1,), (1, 3)):
        found, expected = (scores.local(0, parents) for scores in (in_fixed_point, in_floats))
        assert found == pytest.approx(expected, rel=1e-12)


# Memory, processes, threads.


@pytest.mark.parametrize("memory", [0, 1, 2000, 100_000])
@pytest.mark.parametrize("score", [SCORES["bdeu"], OwnBDs()], ids=["bdeu", "own"])
def test_bounded_memory_forgets_and_answers_the_same(memory, score):
    rng = np.random.default_rng(0)
    data = CategoricalData.from_codes(rng.integers(0, 3, (8, 700)), [3, 3, 3, 3, 3, 3, 3, 4])
    bounded, free = LocalScores(data, score, 2.0, memory=memory), LocalScores(data, score, 2.0)
    questions = [
        (child, random_parents(rng, 8, child)) for child in rng.integers(0, 8, 60).tolist()
    ]
    for child, parents in questions * 2:
        np.testing.assert_array_equal(
            bounded.toggled(child, parents), free.toggled(child, parents)
        )
        assert bounded.local(child, parents) == free.local(child, parents)
    assert free.n_evaluations == 8 * len(set(questions))
    if memory < 10_000:
        assert bounded.n_evaluations > 1.5 * free.n_evaluations


def test_bounded_memory_stays_bounded():
    rng = np.random.default_rng(0)
    data = CategoricalData.from_codes(rng.integers(0, 2, (12, 100)), [2] * 12)
    scores = LocalScores(data, SCORES["bdeu"], 2.0, memory=20_000)
    for number in range(2**11):
        scores.local(11, [j for j in range(11) if number >> j & 1])
    # 20,000 bytes hold a hundred families, not two thousand.
    assert len(scores._families._known) <= 20_000 / 200
    assert scores.n_evaluations == 2**11
    scores.local(11, ())
    assert scores.n_evaluations == 2**11 + 1


def test_pickling_leaves_memory_behind():
    rng = np.random.default_rng(0)
    data = CategoricalData.from_codes(rng.integers(0, 3, (8, 100)), [3] * 8)
    scores = LocalScores(data, SCORES["bdeu"], 2.0)
    before = len(pickle.dumps(scores))
    expected = every_answer(scores)
    assert len(pickle.dumps(scores)) <= before + 10
    again = pickle.loads(pickle.dumps(scores))
    n_evaluations = again.n_evaluations
    np.testing.assert_array_equal(every_answer(again), expected)
    assert again.n_evaluations == 2 * n_evaluations
    # The copy works on tables of its own.
    del scores
    assert again.local(0, (1, 2)) == LocalScores(data, SCORES["bdeu"], 2.0).local(0, (1, 2))


@pytest.mark.parametrize("memory", [3000, 2**28])
@pytest.mark.parametrize(
    "score", [SCORES["bdeu"], SCORES["mdl"], OwnBDs()], ids=["bdeu", "mdl", "own"]
)
def test_many_threads_get_the_same_answers(score, memory):
    rng = np.random.default_rng(0)
    # Counts beyond what is known at first, so that tables are filled while others read them.
    codes = rng.choice(3, (10, 3000), p=[0.8, 0.15, 0.05])
    data = CategoricalData.from_codes(codes, [3] * 10)
    questions = [
        (child, random_parents(rng, 10, child)) for child in rng.integers(0, 10, 150).tolist()
    ]
    alone = LocalScores(data, score, 2.0)
    expected = [alone.toggled(*question) for question in questions]
    shared = LocalScores(data, score, 2.0, memory=memory)

    def ask(seed):
        order = np.random.default_rng(seed % 3).permutation(len(questions)).tolist()
        wrong = 0
        for k in order:
            child, parents = questions[k]
            if seed % 2:
                wrong += shared.local(child, parents) != expected[k][child]
            wrong += shared.toggled(child, parents).tolist() != expected[k].tolist()
        return wrong

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(8))) == 0


def test_scores_that_are_stopped_answer_what_they_know_and_refuse_the_rest():
    data = CategoricalData.from_codes(np.array([[0, 1, 1], [0, 1, 0]], dtype=np.uint8), [2, 2])
    scores = LocalScores(data, SCORES["bdeu"], 1.0)
    known = scores.local(0, ())
    scores.stop()
    assert scores.local(0, ()) == known
    with pytest.raises(RuntimeError, match="stopped"):
        scores.toggled(1, ())
