import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skbn.inference.configurations import EveryConfiguration, ObservedConfigurations


def numbered_by_dictionary(observed, rows):
    """Slow twin: position among the observed configurations, their number for any other."""
    numbers = {tuple(row): number for number, row in enumerate(observed.tolist())}
    return [numbers.get(tuple(row), len(observed)) for row in rows.tolist()]


def draw(cardinalities, n_rows, rng):
    columns = [rng.integers(r, size=n_rows, dtype=np.uint32) for r in cardinalities]
    return np.stack(columns, axis=1)


@settings(max_examples=60, deadline=None)
@given(
    cardinalities=st.lists(st.sampled_from([1, 2, 3, 20, 70_000, 2**31]), min_size=1, max_size=30),
    seed=st.integers(0, 2**32 - 1),
)
def test_observed_configurations_against_a_dictionary(cardinalities, seed):
    rng = np.random.default_rng(seed)
    # Few distinct states, so that prefixes are shared and near misses occur.
    pool = draw(np.minimum(cardinalities, 3), 12, rng)
    pool[::2] = draw(cardinalities, 6, rng)
    observed = np.unique(pool[:8], axis=0)
    rows = np.concatenate([pool, draw(np.minimum(cardinalities, 3), 20, rng)])
    index = ObservedConfigurations(cardinalities, observed)

    assert index.n_numbers == len(observed) + 1
    assert index.locate(rows.T, len(rows)).tolist() == numbered_by_dictionary(observed, rows)


def test_a_long_chain_has_several_links_and_finds_what_differs_in_one_parent_only():
    rng = np.random.default_rng(0)
    observed = np.unique(draw([20] * 200, 50, rng), axis=0)
    index = ObservedConfigurations([20] * 200, observed)
    assert len(index._links) > 10
    for place in (0, 13, 100, 199):
        rows = observed.copy()
        rows[:, place] = (rows[:, place] + 1) % 20
        assert (index.locate(rows.T, 50) == 50).all()
        each = index.locate_each(observed.T, 50, place)
        assert each.shape == (20, 50)
        assert (each[observed[:, place], np.arange(50)] == np.arange(50)).all()
        assert (each == 50).sum() == 19 * 50


@pytest.mark.parametrize("cardinalities", [[], [1], [3], [2, 1, 4], [3, 2, 5]])
def test_every_configuration_is_numbered_in_lexicographic_order(cardinalities):
    rows = np.array(list(np.ndindex(*cardinalities)), dtype=np.uint8)
    n_rows = math.prod(cardinalities)
    index = EveryConfiguration(cardinalities)
    assert index.n_numbers == n_rows
    assert index.locate(rows.T, n_rows).tolist() == list(range(n_rows))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_state_of_a_parent_in_both_numberings(place):
    cardinalities = [3, 2, 4]
    rows = np.array(list(np.ndindex(*cardinalities)), dtype=np.uint8)
    columns = list(rows.T)
    for index in (EveryConfiguration(cardinalities), ObservedConfigurations(cardinalities, rows)):
        each = index.locate_each(columns, 24, place)
        for state in range(cardinalities[place]):
            replaced = columns.copy()
            replaced[place] = np.full(24, state, dtype=np.uint8)
            assert each[state].tolist() == index.locate(replaced, 24).tolist()
