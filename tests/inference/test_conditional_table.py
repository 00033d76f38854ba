import math
import pickle
from collections import defaultdict
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skbn.counting.data import CategoricalData
from skbn.inference import conditional_table
from skbn.inference.conditional_table import (
    ConditionalTable,
    fit_table,
    fit_tables,
    readable_count,
    smoothed_log_probabilities,
)
from skbn.inference.configurations import EveryConfiguration, ObservedConfigurations


def log_probabilities_by_dictionary(codes, cardinalities, weights, child, parents, ess):
    """Slow twin of Eq. 3 in 60 digits: a function of the child's state and a configuration."""
    cells, totals = defaultdict(Decimal), defaultdict(Decimal)
    for row, weight in zip(codes.T.tolist(), weights, strict=True):
        configuration = tuple(row[parent] for parent in parents)
        cells[row[child], configuration] += Decimal(float(weight))
        totals[configuration] += Decimal(float(weight))
    r = int(cardinalities[child])
    q = math.prod(int(cardinalities[parent]) for parent in parents)

    def log_probability(state, configuration):
        with localcontext() as context:
            context.prec, context.Emin, context.Emax = 60, -(10**6), 10**6
            a = Decimal(ess)
            return float(
                (cells[state, configuration] + a / (r * q)).ln()
                - (totals[configuration] + a / q).ln()
            )

    return log_probability


def smoothed(counts, q, ess):
    """`smoothed_log_probabilities` of one configuration, from the counts of all states."""
    counts = np.array(counts)
    log_p = np.empty(len(counts))
    seen = counts > 0
    log_p[seen], log_p[~seen] = smoothed_log_probabilities(
        np.zeros(seen.sum(), dtype=np.int64), counts[seen], 1, len(counts), q, ess
    )
    return log_p


def random_codes(cardinalities, n_rows, rng):
    return np.stack([rng.integers(r, size=n_rows, dtype=np.uint16) for r in cardinalities])


@pytest.fixture(params=["places for states", "states searched for"])
def form(request, monkeypatch):
    """Both ways to find a state in a table."""
    if request.param == "states searched for":
        monkeypatch.setattr(conditional_table, "_FEW_ENTRIES", 0)
        monkeypatch.setattr(conditional_table, "_FEW_STATES_TIMES", 0)
    return request.param


@pytest.mark.parametrize("ess", [1e-300, 1e-3, 1.0, 1e4, 1e300])
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize(
    ("cardinalities", "parents"),
    [
        ([3, 2, 4], ()),
        ([3, 2, 4], (2, 1)),  # permuted parents
        ([3, 1, 4, 1], (1, 2, 3)),
        ([1, 2, 4], (1, 2)),  # a constant child
        ([3, *[20] * 6], (1, 2, 3, 4, 5, 6)),  # searched for, not indexed
        ([2, *[20] * 50], tuple(range(1, 51))),  # q = 20^50
        ([2, *[20] * 300], tuple(range(1, 301))),  # q = 20^300 exceeds every float
    ],
)
def test_tables_against_a_dictionary(form, cardinalities, parents, fractional, ess):
    rng = np.random.default_rng(5)
    codes = random_codes(cardinalities, 40, rng)
    codes[:, 20:] = codes[:, :20]  # repeated configurations,
    codes[0, 20:30] = random_codes(cardinalities[:1], 10, rng)[0]  # with other states
    weights = rng.uniform(0.1, 3.0, 40) if fractional else np.ones(40)
    data = CategoricalData.from_codes(codes, cardinalities, weights)
    expected = log_probabilities_by_dictionary(
        codes, cardinalities, weights, 0, sorted(parents), ess
    )

    table = fit_table(data, 0, parents, ess)
    assert (table._keys is None) == (form == "places for states")
    unseen = random_codes(cardinalities, 40, rng)
    for rows in (codes, unseen):
        got, each = table.log_prob(rows), table.log_prob_each(rows, 0)
        assert each.shape == (40, cardinalities[0])
        for t, row in enumerate(rows.T):
            configuration = tuple(row[sorted(parents)].tolist())
            for state in range(cardinalities[0]):
                log_p = expected(state, configuration)
                assert each[t, state] == pytest.approx(log_p, rel=1e-13, abs=1e-13)
            assert got[t] == each[t, row[0]]
    assert np.isfinite(table.log_probabilities).all()
    np.testing.assert_allclose(np.exp(table.log_probabilities).sum(axis=1), 1.0, atol=1e-13)


def test_a_prior_below_the_smallest_float_is_exact_in_the_logarithm():
    q, a = 20**200, 1e-300
    log_p = smoothed([3.0, 0.0], q, a)
    expected = math.log(a) - math.log(2) - 200 * math.log(20) - math.log(3.0)
    assert log_p[1] == pytest.approx(expected, rel=1e-15)
    assert log_p[0] == 0.0


@pytest.mark.parametrize(
    ("counts", "q", "ess"),
    [
        ([1e-300, 0.0, 1e20], 1, 1e-300),  # ratios below the smallest normal float
        ([1e-20, 0.0, 0.0], 10**20, 1e-300),  # a/(r q) below it, but not its ratio
    ],
)
def test_tiny_weights_beside_a_tiny_prior(counts, q, ess):
    with localcontext() as context:
        context.prec = 40
        cells = [Decimal(count) + Decimal(ess) / (3 * q) for count in counts]
        expected = [float(cell.ln() - sum(cells).ln()) for cell in cells]
    log_p = smoothed(counts, q, ess)
    np.testing.assert_allclose(log_p, expected, rtol=1e-14, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.floats(0, 1e9), min_size=1, max_size=6).filter(any),
    q=st.integers(1, 10**400),
    log10_ess=st.floats(-300, 300),
)
def test_probabilities_sum_to_one_whatever_the_prior(counts, q, log10_ess):
    log_p = smoothed(counts, q, 10.0**log10_ess)
    assert np.isfinite(log_p).all()
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("n_rows", "index"), [(10, ObservedConfigurations), (4000, EveryConfiguration)]
)
def test_each_state_of_a_parent(form, n_rows, index):
    cardinalities = [3, 20, 20, 20]
    rng = np.random.default_rng(2)
    codes = random_codes(cardinalities, n_rows, rng)
    table = fit_table(CategoricalData.from_codes(codes, cardinalities), 0, (1, 2, 3), 1.0)
    assert isinstance(table._index, index)
    for parent in (1, 2, 3):
        each = table.log_prob_each(codes[:, :10], parent)
        assert each.shape == (10, 20)
        for state in range(20):
            replaced = codes[:, :10].copy()
            replaced[parent] = state
            np.testing.assert_array_equal(each[:, state], table.log_prob(replaced))


@pytest.mark.parametrize("n_configurations", [1, 5, 400])
@pytest.mark.parametrize("r", [1, 2, 3, 300])
def test_every_way_to_read_a_table_finds_the_same(form, r, n_configurations):
    rng = np.random.default_rng(r)
    cardinalities = [r, 20, 20]
    every = np.array(list(np.ndindex(20, 20)), dtype=np.uint16)
    kept = every[np.sort(rng.choice(400, n_configurations, replace=False))]
    rows = rng.dirichlet(np.ones(r), n_configurations)
    table = ConditionalTable.from_rows(0, (1, 2), r, (20, 20), kept, np.log(rows))
    expected = np.full((20, 20, r), 1 / r)
    expected[tuple(kept.T)] = rows
    np.testing.assert_allclose(table.dense().reshape(expected.shape), expected, rtol=1e-14)
    np.testing.assert_allclose(np.exp(table.log_probabilities), rows, rtol=1e-14)
    np.testing.assert_array_equal(
        table.first_log_rows(3, 2), table.log_probabilities[:3, :2]
    )
    codes = random_codes(cardinalities, 50, rng)
    found = np.exp(table.log_prob(codes))
    np.testing.assert_allclose(found, expected[tuple(codes[[1, 2, 0]])], rtol=1e-14)
    values = np.exp(table.log_values)
    for free, grid in (
        ((0,), np.moveaxis(expected[tuple(codes[[1, 2]])], -1, 0)),
        ((1,), expected[:, codes[2], codes[0]]),
        ((0, 2), expected.transpose(2, 1, 0)[:, :, codes[1]]),
        ((0, 1, 2), expected.transpose(2, 0, 1)[..., None]),
    ):
        np.testing.assert_allclose(values[table.cells(codes, free)], grid, rtol=1e-14)


def test_one_row():
    codes = np.array([[1], [0]], dtype=np.uint8)
    child, parent = fit_tables(CategoricalData.from_codes(codes, [2, 3]), [(1,), ()], 6.0)
    np.testing.assert_allclose(np.exp(child.log_probabilities), [[1 / 3, 2 / 3]])
    np.testing.assert_allclose(np.exp(parent.log_probabilities), [[3 / 7, 2 / 7, 2 / 7]])
    np.testing.assert_allclose(child.dense(), [[1 / 3, 2 / 3], [0.5, 0.5], [0.5, 0.5]])


def test_only_observed_configurations_are_kept_in_lexicographic_order():
    codes = np.array([[0, 1, 0, 1], [2, 0, 2, 0], [1, 1, 0, 1]], dtype=np.uint8)
    data = CategoricalData.from_codes(codes, [2, 3, 2])
    table = fit_table(data, 0, (2, 1), 1.0)
    assert table.parents == (1, 2)
    assert table.parent_cardinalities == (3, 2)
    assert table.configurations.tolist() == [[0, 1], [2, 0], [2, 1]]
    assert table.log_probabilities.shape == (3, 2)


def test_memory_follows_what_was_observed():
    cardinalities = [2, *[20] * 200]
    codes = random_codes(cardinalities, 100, np.random.default_rng(0))
    table = fit_table(
        CategoricalData.from_codes(codes, cardinalities), 0, range(1, 201), 1.0
    )
    assert table.n_configurations == 20**200
    assert len(table.listed) == len(table.log_others) == 100
    assert len(table.log_values) == 101 * 2


def test_dense_agrees_with_reading_every_configuration():
    cardinalities = [3, 2, 4]
    codes = random_codes(cardinalities, 6, np.random.default_rng(1))
    table = fit_table(CategoricalData.from_codes(codes, cardinalities), 0, (1, 2), 2.0)
    every = np.array([(0, *c) for c in np.ndindex(2, 4)], dtype=np.uint8).T
    np.testing.assert_allclose(table.dense(), np.exp(table.log_prob_each(every, 0)), rtol=1e-15)


def test_dense_with_more_parents_than_numpy_has_dimensions():
    codes = np.zeros((80, 3), dtype=np.uint8)
    codes[0] = [0, 1, 1]
    data = CategoricalData.from_codes(codes, [2, *[1] * 79])
    np.testing.assert_allclose(fit_table(data, 0, range(1, 80), 1.0).dense(), [[1.5 / 4, 2.5 / 4]])


def test_dense_is_refused_when_too_large():
    cardinalities = [2, *[20] * 200]
    codes = random_codes(cardinalities, 5, np.random.default_rng(0))
    data = CategoricalData.from_codes(codes, cardinalities)
    with pytest.raises(ValueError, match=r"about 10\^261 entries, .* max_entries=16777216\. Read"):
        fit_table(data, 0, range(1, 201), 1.0).dense()
    with pytest.raises(ValueError, match="has 800 entries, more than max_entries=799"):
        fit_table(data, 0, (1, 2), 1.0).dense(max_entries=799)
    assert fit_table(data, 0, (1, 2), 1.0).dense(max_entries=800).shape == (400, 2)


def test_memory_follows_the_cells_that_were_observed():
    # As many states as rows on either side: 10^8 cells, of which 10,000 were observed.
    n, a = 10_000, 2.0
    codes = np.tile(np.arange(n, dtype=np.uint16), (2, 1))
    codes[1] = codes[1, ::-1]
    table = fit_table(CategoricalData.from_codes(codes, [n, n]), 0, (1,), a)
    assert len(table.log_values) == 2 * n
    assert len(pickle.dumps(table)) < 30 * n
    # Equation 3: 1 in the cell that was observed of N_pi = 1, 0 in every other.
    seen = np.log((1 + a / n**2) / (1 + a / n))
    other = np.log((a / n**2) / (1 + a / n))
    np.testing.assert_allclose(table.log_prob(codes), seen, rtol=1e-14)
    np.testing.assert_allclose(table.log_prob(codes[:, ::-1]), seen, rtol=1e-14)
    np.testing.assert_allclose(table.log_prob(codes[::-1] // 2), other, rtol=1e-14)
    for variable in (0, 1):
        each = table.log_prob_each(codes[:, :3], variable)
        expected = np.full((3, n), other)
        expected[np.arange(3), codes[variable, :3]] = seen
        np.testing.assert_allclose(each, expected, rtol=1e-14)
    np.testing.assert_array_equal(table.draw(codes[:, :4], np.full(4, 0.5)), codes[0, :4])
    assert table.first_log_rows(2, n)[:, -2:].round(6).tolist() == [
        [round(other, 6), round(seen, 6)], [round(seen, 6), round(other, 6)]
    ]


@pytest.mark.parametrize("n_parents", [1, 50])
def test_pickles_stay_small_and_read_only(n_parents):
    cardinalities = [2, *[20] * n_parents]
    codes = random_codes(cardinalities, 30, np.random.default_rng(3))
    data = CategoricalData.from_codes(codes, cardinalities)
    table = fit_table(data, 0, range(1, n_parents + 1), 1.0)
    pickled = pickle.dumps(table)
    kept = (table.configurations, table.listed, table.log_listed, table.log_others)
    assert len(pickled) < sum(array.nbytes for array in kept) + 4 * n_parents + 1000
    copy = pickle.loads(pickled)
    np.testing.assert_array_equal(copy.log_prob(codes), table.log_prob(codes))
    for array in (copy.listed, copy.configurations, table.log_listed, table.log_others):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_states_of_probability_zero_are_never_drawn():
    log_p = np.array([[-np.inf, math.log(0.3), math.log(0.7), -np.inf]])
    table = ConditionalTable.from_rows(0, (), 4, (), np.empty((1, 0), dtype=np.uint8), log_p)
    uniforms = np.array([0.0, 0.1, 0.2999, 0.3001, np.nextafter(1.0, 0.0)])
    assert table.draw(np.empty((1, 5), dtype=np.uint8), uniforms).tolist() == [1, 1, 1, 2, 2]


def test_rounding_lets_no_state_of_probability_zero_in():
    last = np.array([np.nextafter(1.0, 0.0)])
    sums = []
    for n in range(2, 60):
        log_p = np.array([[*[-math.log(n)] * n, -np.inf]])
        none = np.empty((1, 0), dtype=np.uint8)
        table = ConditionalTable.from_rows(0, (), n + 1, (), none, log_p)
        assert table.draw(np.empty((1, 1), dtype=np.uint8), last).tolist() == [n - 1]
        sums.append(np.exp(log_p).cumsum()[-1])
    assert min(sums) < 1.0 < max(sums)


def test_configurations_not_observed_draw_uniformly():
    codes = np.array([[3, 3, 3], [0, 0, 0]], dtype=np.uint8)
    table = fit_table(CategoricalData.from_codes(codes, [4, 2]), 0, (1,), 1e-6)
    rows = np.ones((2, 8), dtype=np.uint8)
    assert table.draw(rows, np.arange(8) / 8).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("count", "text"), [(7, "7"), (65536, "65,536"), (20**200, "about 10^260")]
)
def test_counts_in_messages(count, text):
    assert readable_count(count) == text
