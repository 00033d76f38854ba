"""Rows with gaps against brute force over all completions."""

import itertools
import math
import time
from functools import partial

import numpy as np
import pytest

from skbn.counting.data import CategoricalData, smallest_code_type
from skbn.inference import contraction, inference, row_groups
from skbn.inference.conditional_table import ConditionalTable
from skbn.networks.network import BayesianNetwork

LABELS = [f"v{i}" for i in range(60)]


def named(tables):
    return BayesianNetwork(
        LABELS[: len(tables)] if len(tables) <= 60 else list(range(len(tables))),
        [np.arange(table.cardinality) for table in tables],
        tables,
    )


def random_parents(rng, n, most):
    order = rng.permutation(n)
    parents = [()] * n
    for place, v in enumerate(order):
        count = min(place, int(rng.integers(0, most + 1)))
        parents[v] = tuple(sorted(rng.choice(order[:place], count, replace=False).tolist()))
    return parents


def fitted(rng, n, most=3, n_rows=60, ess=1.0, largest=3):
    """A random graph with parameters of a random table."""
    cardinalities = rng.integers(1, largest + 1, n)
    codes = np.array([rng.integers(0, r, n_rows) for r in cardinalities])
    data = CategoricalData.from_codes(codes, cardinalities)
    parents = random_parents(rng, n, most)
    return BayesianNetwork.from_data(
        data, parents, ess, labels=LABELS[:n], categories=[np.arange(r) for r in cardinalities]
    )


def with_zeros(rng, n, most=3):
    """A random graph whose tables have every configuration, and zeros, as files have."""
    cardinalities = rng.integers(2, 4, n)
    tables = []
    for child, parents in enumerate(random_parents(rng, n, most)):
        sizes = [int(cardinalities[p]) for p in parents]
        states = list(itertools.product(*map(range, sizes)))
        configurations = np.array(states, dtype=np.uint8).reshape(len(states), len(parents))
        p = rng.random((len(states), cardinalities[child])) * (
            rng.random((len(states), cardinalities[child])) < 0.6)
        p[p.sum(axis=1) == 0, 0] = 1.0
        with np.errstate(divide="ignore"):
            log_p = np.log(p / p.sum(axis=1, keepdims=True))
        tables.append(ConditionalTable.from_rows(
            child, parents, int(cardinalities[child]), tuple(sizes), configurations, log_p))
    return named(tables)


class BruteForce:
    """Every row of the joint table, and its probability."""

    def __init__(self, network):
        sizes = [table.cardinality for table in network.tables]
        self.rows = np.array(list(itertools.product(*map(range, sizes)))).T.astype(np.uint8)
        self.p = np.exp(sum(table.log_prob(self.rows) for table in network.tables))
        self.sizes = sizes

    def matches(self, codes, missing):
        return ((self.rows == codes[:, None]) | missing[:, None]).all(axis=0)

    def prob(self, codes, missing):
        return math.fsum(self.p[self.matches(codes, missing)])

    def posterior(self, codes, missing, variables):
        missing = missing.copy()
        missing[variables] = True
        fits = self.matches(codes, missing)
        table = np.zeros([self.sizes[v] for v in variables])
        np.add.at(table, tuple(self.rows[variables][:, fits]), self.p[fits])
        return table / table.sum() if table.sum() else np.full(table.shape, 1 / table.size)


def rows_with_gaps(rng, network, n_rows):
    codes = np.array([rng.integers(0, t.cardinality, n_rows) for t in network.tables])
    missing = rng.random(codes.shape) < rng.choice([0.1, 0.3, 0.6, 1.0])
    if rng.random() < 0.3:
        missing[:] = missing[:, :1]
    return codes.astype(np.uint8), missing


def check(network, codes, missing, variables):
    brute = BruteForce(network)
    got = network.log_prob_codes(codes, missing)
    engine = network.inference
    posterior = engine.posterior(codes, missing, variables)
    completed = engine.most_probable(codes, missing)
    np.testing.assert_array_equal(completed[~missing], codes[~missing])
    best = np.exp(network.log_prob_codes(completed))
    for row in range(codes.shape[1]):
        one = codes[:, row], missing[:, row]
        assert np.exp(got[row]) == pytest.approx(brute.prob(*one), rel=1e-12, abs=0)
        if brute.prob(*one) > 0:
            np.testing.assert_allclose(
                posterior[row], brute.posterior(*one, variables), rtol=1e-12, atol=1e-300)
        assert posterior[row].sum() == pytest.approx(1)
        most = brute.p[brute.matches(*one)].max()
        assert best[row] == pytest.approx(most, rel=1e-12, abs=0)


@pytest.mark.parametrize("seed", range(200))
def test_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    make = with_zeros if seed % 4 == 0 else fitted
    network = make(rng, n)
    codes, missing = rows_with_gaps(rng, network, int(rng.integers(1, 20)))
    variables = rng.permutation(n)[: rng.integers(1, min(n, 3) + 1)].tolist()
    check(network, codes, missing, variables)


@pytest.mark.parametrize("divisions", [0, 10])
@pytest.mark.parametrize("worth", [0.1, 4, 1e9])
def test_brute_force_however_rows_are_grouped(monkeypatch, worth, divisions):
    monkeypatch.setattr(row_groups, "_WORTH", worth)
    monkeypatch.setattr(row_groups, "_MOST_DIVISIONS", divisions)
    monkeypatch.setattr(inference, "_CHUNK", 37)
    monkeypatch.setattr(inference, "_BLOCK", 400)
    rng = np.random.default_rng(int(worth * 10) + divisions)
    for make in (fitted, with_zeros):
        network = make(rng, 9)
        codes, missing = rows_with_gaps(rng, network, 120)
        missing[:] = rng.random(missing.shape) < 0.4
        check(network, codes, missing, [3, 0])


def test_rows_of_many_patterns_share_plans_and_rows_of_one_do_not_ask_for_evidence():
    rng = np.random.default_rng(0)
    network = fitted(rng, 12, largest=2)
    missing = rng.random((12, 3000)) < 0.3
    found, _ = row_groups.group_rows(network.inference.families, missing)
    n_patterns = len(np.unique(missing, axis=1).T)
    assert len(found) < n_patterns / 10
    assert any(job.evidence for job in found)
    missing[:] = missing[:, :1]
    missing[3, :] = True
    found, _ = row_groups.group_rows(network.inference.families, missing)
    assert not any(job.evidence for job in found)


def test_rows_that_are_too_wide_together_are_worked_on_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    cardinalities = [3] * 10
    codes = np.array([rng.integers(0, 3, 60) for _ in range(10)])
    codes[9] = codes[:9].sum(axis=0) % 3
    # All others are parents of the last: a row with k gaps among them takes a table of 3**k.
    parents = [()] * 9 + [tuple(range(9))]
    network = BayesianNetwork.from_data(
        CategoricalData.from_codes(codes, cardinalities), parents, 1.0, labels=LABELS[:10],
        categories=[np.arange(3)] * 10)
    rows = np.array([rng.integers(0, 3, 40) for _ in range(10)]).astype(np.uint8)
    missing = np.zeros((10, 40), dtype=bool)
    for row in range(40):
        missing[rng.choice(9, 2, replace=False), row] = True
    # Shared plans are wished for, but of 9 free variables they would pass the limit.
    monkeypatch.setattr(row_groups, "_COST_OF_JOB", 10**9)
    together, _ = row_groups.group_rows(network.inference.families, missing)
    assert max(job.plan.largest for job in together) == 3**9
    grouped = partial(row_groups.group_rows, limit=3**4)
    monkeypatch.setattr(inference, "group_rows", grouped)
    alone, _ = grouped(network.inference.families, missing)
    assert max(job.plan.largest for job in alone) <= 3**4
    check(network, rows, missing, [9])


def test_all_missing_rows_have_probability_1_and_give_the_marginals():
    rng = np.random.default_rng(1)
    network = fitted(rng, 8)
    brute = BruteForce(network)
    codes, missing = np.zeros((8, 3), dtype=np.uint8), np.ones((8, 3), dtype=bool)
    np.testing.assert_array_equal(network.log_prob_codes(codes, missing), 0.0)
    for v in range(8):
        marginal = np.array([
            math.fsum(brute.p[brute.rows[v] == s]) for s in range(brute.sizes[v])])
        for got in (network.conditional_codes(codes, v, missing),
                    network.inference.posterior(codes, missing, [v])):
            np.testing.assert_allclose(got, np.tile(marginal, (3, 1)), rtol=1e-12)


def test_complete_rows_are_answered_as_without_a_mask_of_gaps():
    rng = np.random.default_rng(2)
    network = fitted(rng, 7)
    codes, missing = rows_with_gaps(rng, network, 50)
    missing[:, ::2] = False
    complete = network.log_prob_codes(codes)
    np.testing.assert_array_equal(network.log_prob_codes(codes, missing)[::2], complete[::2])
    np.testing.assert_array_equal(network.log_prob_codes(codes, np.zeros_like(missing)), complete)
    for v in range(7):
        np.testing.assert_array_equal(
            network.conditional_codes(codes, v, missing)[::2],
            network.conditional_codes(codes, v)[::2],
        )


def test_codes_of_missing_cells_are_not_read():
    rng = np.random.default_rng(3)
    network = fitted(rng, 8)
    codes, missing = rows_with_gaps(rng, network, 40)
    other = np.where(missing, 255, codes).astype(np.uint8)
    np.testing.assert_array_equal(
        network.inference.log_prob(codes, missing), network.inference.log_prob(other, missing))
    for one, two in zip(*(
        [network.inference.posterior(c, missing, [2]), network.inference.most_probable(c, missing)]
        for c in (codes, other)
    ), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n_states", [255, 256, 257, 400])
def test_columns_of_many_states_are_completed(n_states):
    rng = np.random.default_rng(n_states)
    p = [rng.random((1, n_states)), rng.random((n_states, 3))]
    p[0][0, -1] = 9.0  # the most probable by far, unless the second says otherwise
    p[1][-1] = [1.0, 1.0, 1e-9]
    log_tables = [np.log(rows / rows.sum(axis=1, keepdims=True)) for rows in p]
    codes = np.array([[0, 0, 0], [0, 1, 2]], dtype=np.uint16)
    missing = np.array([[True] * 3, [False] * 3])
    found = chain(log_tables).inference.most_probable(codes, missing)
    joint = log_tables[0].T + log_tables[1]
    np.testing.assert_array_equal(found[0], joint.argmax(axis=0))
    assert n_states - 1 in found[0]


# Numbers below the smallest float.


def chain(log_tables):
    """A chain in which the table of the first is (1, r) and those of the others (r, r)."""
    tables = []
    for child, log_p in enumerate(log_tables):
        parents = (child - 1,) if child else ()
        sizes = (len(log_p),) if child else ()
        configurations = np.arange(len(log_p), dtype=smallest_code_type(len(log_p)))
        configurations = configurations[:, None][:, : len(parents)]
        tables.append(ConditionalTable.from_rows(
            child, parents, log_p.shape[1], sizes, configurations, log_p))
    return named(tables)


def forward(log_tables, codes, missing):
    """ln p of one row, by the forward algorithm in logarithms."""
    message = np.zeros(1)
    for log_p, code, gone in zip(log_tables, codes, missing, strict=True):
        message = np.logaddexp.reduce(message[:, None] + log_p, axis=0)
        if not gone:
            message = np.where(np.arange(len(message)) == code, message, -np.inf)
    return np.logaddexp.reduce(message)


@pytest.mark.parametrize("scale", [3.0, 30.0, 400.0])
def test_long_chains_do_not_underflow(scale):
    rng = np.random.default_rng(4)
    log_tables = []
    for child in range(600):
        terms = rng.normal(size=(3 if child else 1, 3)) * scale
        log_tables.append(terms - np.logaddexp.reduce(terms, axis=1, keepdims=True))
    network = chain(log_tables)
    codes = rng.integers(0, 3, (600, 4)).astype(np.uint8)
    missing = rng.random((600, 4)) < 0.5
    missing[:, 3] = missing[:, 2]
    expected = [forward(log_tables, codes[:, t], missing[:, t]) for t in range(4)]
    assert min(expected) < -600
    np.testing.assert_allclose(network.log_prob_codes(codes, missing), expected, rtol=1e-12)


def test_what_contradicts_itself_beyond_the_floats_is_exact_too():
    # Each side alone all but rules out what the other needs.
    tiny = -1000.0
    log_tables = [
        np.log([[0.5, 0.5]]), np.array([[0.0, tiny], [tiny, 0.0]]), np.log([[0.5, 0.5]] * 2),
    ]
    tables = list(chain(log_tables).tables)
    configurations = np.array([[0], [1]], dtype=np.uint8)
    tables[2] = ConditionalTable.from_rows(2, (0,), 2, (2,), configurations, log_tables[1])
    network = named(tables)
    codes = np.array([[0], [0], [1]], dtype=np.uint8)
    missing = np.array([[True], [False], [False]])
    assert contraction._LOST > 0
    np.testing.assert_allclose(network.log_prob_codes(codes, missing), [tiny], rtol=1e-12)
    np.testing.assert_allclose(
        network.inference.posterior(codes, missing, [0]), [[0.5, 0.5]], rtol=1e-12)


def test_what_is_impossible_has_probability_0():
    rng = np.random.default_rng(5)
    impossible = 0
    for _ in range(20):
        network = with_zeros(rng, 6)
        codes, missing = rows_with_gaps(rng, network, 30)
        brute = BruteForce(network)
        got = network.log_prob_codes(codes, missing)
        for row in range(30):
            p = brute.prob(codes[:, row], missing[:, row])
            assert (got[row] == -np.inf) == (p == 0)
            impossible += p == 0
    assert impossible > 20


# Width.


def star(n_parents, cardinality, n_rows=30):
    rng = np.random.default_rng(6)
    codes = rng.integers(0, cardinality, (n_parents + 1, n_rows))
    data = CategoricalData.from_codes(codes, [cardinality] * (n_parents + 1))
    parents = [()] * n_parents + [tuple(range(n_parents))]
    network = BayesianNetwork.from_data(
        data, parents, 1.0, labels=LABELS[: n_parents + 1],
        categories=[np.arange(cardinality)] * (n_parents + 1),
    )
    return network, codes.astype(np.uint8)


def test_known_parents_cost_nothing_however_many_configurations_they_have():
    network, codes = star(59, 40)
    assert network.tables[-1].n_configurations > 10**90
    missing = np.zeros(codes.shape, dtype=bool)
    missing[[3, 17]] = True
    got = network.log_prob_codes(codes, missing)
    completions = np.repeat(codes[:, :5], 1600, axis=1)
    completions[3] = np.tile(np.repeat(np.arange(40), 40), 5)
    completions[17] = np.tile(np.arange(40), 200)
    p = np.exp(network.log_prob_codes(completions) + 200).reshape(5, -1).sum(axis=1)
    np.testing.assert_allclose(got[:5], np.log(p) - 200, rtol=1e-12)
    # The child missing as well: it sums to 1, and what is left is a product.
    missing[-1] = True
    direct = sum(t.log_prob(codes) for i, t in enumerate(network.tables[:-1]) if i not in (3, 17))
    np.testing.assert_allclose(network.log_prob_codes(codes, missing), direct, rtol=1e-12)


def test_a_pattern_that_is_too_wide_is_refused_before_anything_is_allocated():
    import tracemalloc

    network, codes = star(40, 10)
    missing = np.ones(codes.shape, dtype=bool)
    missing[-1] = False
    tracemalloc.start()
    for call in (
        lambda: network.log_prob_codes(codes, missing),
        lambda: network.inference.most_probable(codes, missing),
        lambda: network.inference.posterior(codes, missing, [0, 1]),
        lambda: network.inference.sample(
            codes[:, :1], missing[:, :1], 10, np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match=r"The 40 columns 'v0', .* and 20 more must") as caught:
            call()
        assert "about 10^40 entries" in str(caught.value)
        assert "Give the states of some of these columns" in str(caught.value)
    with pytest.raises(ValueError, match=r"about 10\^39 entries"):
        network.inference.posterior(codes, missing, list(range(39)))
    with pytest.raises(ValueError, match="1,000,000 entries for each of 300 rows"):
        network.inference.posterior(np.tile(codes, 10), np.tile(missing, 10), list(range(6)))
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()
    # Without the child nothing links them.
    missing[-1] = True
    np.testing.assert_array_equal(network.log_prob_codes(codes, missing), 0.0)


# Draws.


@pytest.mark.parametrize("seed", range(6))
def test_draws_given_evidence_have_the_posterior_frequencies(seed):
    rng = np.random.default_rng(seed)
    network = (with_zeros if seed % 2 else fitted)(rng, 6)
    brute = BruteForce(network)
    while True:
        codes, missing = rows_with_gaps(rng, network, 1)
        missing[:, 0] = np.arange(6) % 3 != seed % 3
        if brute.prob(codes[:, 0], missing[:, 0]) > 0:
            break
    n = 40_000
    draws = network.inference.sample(codes, missing, n, rng)
    assert (draws[~missing[:, 0]] == codes[~missing[:, 0]]).all()
    free = np.flatnonzero(missing[:, 0]).tolist()
    exact = brute.posterior(codes[:, 0], missing[:, 0], free)
    counts = np.zeros(exact.shape)
    np.add.at(counts, tuple(draws[free]), 1)
    assert (counts[exact == 0] == 0).all()
    # Pearson's statistic is about its degrees of freedom; states expected rarely are one.
    rare = n * exact < 5
    seen = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(n * exact[~rare], n * exact[rare].sum())
    statistic = ((seen - expected) ** 2 / np.maximum(expected, 1e-9))[expected > 0].sum()
    freedom = (expected > 0).sum() - 1
    assert statistic < freedom + 5 * np.sqrt(2 * freedom) + 1


def test_draws_without_evidence_are_those_of_sample_codes():
    network = fitted(np.random.default_rng(7), 8)
    codes, missing = np.zeros((8, 1), dtype=np.uint8), np.ones((8, 1), dtype=bool)
    draws = network.inference.sample(codes, missing, 500, np.random.default_rng(0))
    np.testing.assert_array_equal(draws, network.sample_codes(500, np.random.default_rng(0)))


# Speed.


def test_alarm_with_a_third_of_the_cells_missing(alarm):
    data = CategoricalData.from_codes(alarm.codes, alarm.cardinalities)
    rng = np.random.default_rng(0)
    parents = random_parents(np.random.default_rng(3), data.n_variables, 2)
    network = BayesianNetwork.from_data(
        data, parents, 1.0, labels=LABELS[: data.n_variables],
        categories=[np.arange(r) for r in data.cardinalities],
    )
    codes = alarm.codes[:, :10_000]
    missing = rng.random(codes.shape) < 0.3
    started = time.process_time()
    got = network.log_prob_codes(codes, missing)
    assert time.process_time() - started < 20
    # Whatever it is grouped with, a row has its own number.
    alone = [network.log_prob_codes(codes[:, [t]], missing[:, [t]])[0] for t in range(20)]
    np.testing.assert_allclose(got[:20], alone, rtol=1e-12)


def many_constants(n_constant=90):
    """v0 -> v1, with columns of a single state as further parents and as children of v0."""
    codes = np.zeros((n_constant + 2, 40), dtype=np.uint8)
    codes[0], codes[1] = np.arange(40) % 2, np.arange(40) // 3 % 3
    half = n_constant // 2
    parents = [(), (0, *range(2, 2 + half)), *[()] * half, *[(0,)] * (n_constant - half)]
    data = CategoricalData.from_codes(codes, [2, 3, *[1] * n_constant])
    with_constants = BayesianNetwork.from_data(
        data, parents, 1.0, labels=list(range(len(parents))),
        categories=[np.arange(r) for r in data.cardinalities])
    without = BayesianNetwork.from_data(
        CategoricalData.from_codes(codes[:2], [2, 3]), [(), (0,)], 1.0, labels=[0, 1],
        categories=[np.arange(2), np.arange(3)])
    return with_constants, without


def test_columns_of_a_single_state_tell_nothing_and_take_no_axis():
    wide, narrow = many_constants()
    few = np.array([[0, 0, 1, 9, 9, 9], [1, 9, 9, 2, 0, 9]], dtype=np.uint8)
    missing = np.zeros((92, 6), dtype=bool)
    missing[:2] = few == 9
    missing[2:, 3:] = True
    codes = np.full((92, 6), 7, dtype=np.uint8)
    codes[:2] = few
    codes[2:][~missing[2:]] = 0
    gaps = few == 9
    np.testing.assert_allclose(
        wide.log_prob_codes(codes, missing), narrow.log_prob_codes(few, gaps), rtol=1e-13)
    np.testing.assert_allclose(
        wide.inference.posterior(codes, missing, [1, 50, 0]),
        narrow.inference.posterior(few, gaps, [1, 0])[:, :, None, :], rtol=1e-13)
    completed = wide.inference.most_probable(codes, missing)
    np.testing.assert_array_equal(completed[:2], narrow.inference.most_probable(few, gaps))
    assert not completed[2:].any()
    drawn = wide.inference.sample(codes[:, 5:], missing[:, 5:], 50, np.random.default_rng(0))
    assert not drawn[2:].any() and set(drawn[1]) == {0, 1, 2}


def test_posteriors_of_columns_of_a_single_state_are_one():
    wide, _ = many_constants()
    assert wide.posterior(5)[0] == 1.0
    assert wide.posterior([7, 5], {0: 1}).probabilities.tolist() == [[1.0]]
    with pytest.raises(ValueError, match=r"70 columns was asked for.*63 at most"):
        wide.posterior(list(range(5, 75)))
