import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skbn.counting.data import CategoricalData, smallest_code_type


def rows_of(data):
    """Every distinct row and the weights it stands for."""
    found = Counter()
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    for row, weight in zip(data.codes.T.tolist(), weights.tolist(), strict=True):
        found[tuple(row)] += weight
    return found


@st.composite
def tables(draw):
    n_variables, n_rows = draw(st.integers(1, 5)), draw(st.integers(1, 30))
    n_states = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(0, n_states, (n_variables, n_rows))


@pytest.mark.parametrize(
    ("n_states", "expected"),
    [
        (1, np.uint8), (256, np.uint8), (257, np.uint16), (65536, np.uint16),
        (65537, np.uint32), (2**32, np.uint32),
    ],
)
def test_smallest_code_type(n_states, expected):
    assert smallest_code_type(n_states) == expected


def test_more_states_than_codes_can_number_are_refused():
    with pytest.raises(ValueError, match=r"A column has 4294967297 states, more than the 2\*\*32"):
        smallest_code_type(2**32 + 1)


@given(tables(), st.sampled_from([np.int64, np.int8, np.uint8, np.uint16, np.uint32, np.uint64]))
def test_rows_are_kept_or_merged_when_that_leaves_at_most_half(codes, code_type):
    data = CategoricalData.from_codes(codes.astype(code_type), [3] * len(codes))
    expected = Counter(map(tuple, codes.T.tolist()))
    n_rows = codes.shape[1]
    assert rows_of(data) == expected
    assert data.n_samples == n_rows
    assert data.n_rows == (len(expected) if len(expected) <= n_rows // 2 else n_rows)
    assert (data.weights is None) == (data.n_rows == n_rows)
    assert data.has_whole_weights
    assert data.codes.flags.c_contiguous
    assert data.codes.dtype in (np.uint8, np.uint16, np.uint32)
    assert data.n_variables == len(codes)


@given(tables(), st.integers(0, 2**32 - 1))
def test_whole_weights_count_as_often_as_repeated_rows(codes, seed):
    weights = np.random.default_rng(seed).integers(0, 4, codes.shape[1])
    weights[0] = 2
    data = CategoricalData.from_codes(codes, [3] * len(codes), weights)
    again = CategoricalData.from_codes(np.repeat(codes, weights, axis=1), [3] * len(codes))
    assert rows_of(data) == rows_of(again)
    assert data.n_samples == again.n_samples == weights.sum()
    assert data.has_whole_weights
    assert data.weights is None or data.weights.dtype == np.int32


@given(tables(), st.integers(0, 2**32 - 1))
def test_fractional_weights_are_sorted_and_do_not_depend_on_the_order_of_rows(codes, seed):
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.1, 0.7, 1e-9, 3.3, 0.0], codes.shape[1])
    weights[0] = 0.3
    order = rng.permutation(codes.shape[1])
    data = CategoricalData.from_codes(codes, [3] * len(codes), weights)
    again = CategoricalData.from_codes(codes[:, order], [3] * len(codes), weights[order])
    assert not data.has_whole_weights
    assert data.weights.dtype == np.float64
    np.testing.assert_array_equal(data.weights, np.sort(data.weights))
    np.testing.assert_array_equal(data.weights, again.weights)
    assert data.n_samples == again.n_samples == pytest.approx(weights.sum(), rel=1e-15)
    kept = weights > 0
    expected = rows_of(CategoricalData(codes[:, kept], None, weights[kept], 0.0))
    assert rows_of(data) == pytest.approx(expected, rel=1e-14)


@given(tables())
@example(np.array([[0, 1], [1, 1]]))
def test_rows_of_weight_zero_are_dropped(codes):
    n_rows = codes.shape[1]
    twice = np.concatenate([codes, codes], axis=1)
    weights = np.repeat([1.0, 0.0], n_rows)
    data = CategoricalData.from_codes(twice, [3] * len(codes), weights)
    again = CategoricalData.from_codes(codes, [3] * len(codes))
    np.testing.assert_array_equal(data.codes, again.codes)
    np.testing.assert_array_equal(data.weights, again.weights)
    assert data.n_samples == again.n_samples


def test_weights_that_are_all_one_are_no_weights():
    data = CategoricalData.from_codes([[0, 1, 1]], [2], [1.0, 0.0, 1.0])
    assert data.weights is None
    assert data.n_samples == 2.0


@pytest.mark.parametrize(
    ("weights", "whole"),
    [
        ([2**31 - 2, 1], True),
        ([2**31 - 1, 1], False),
        ([2**40, 2**40], False),
        ([2.0, 1.5], False),
        ([1e-320, 1.0], False),
    ],
)
def test_whole_weights_are_integers_below_two_billion(weights, whole):
    data = CategoricalData.from_codes([[0, 1], [1, 0]], [2, 2], weights)
    assert data.has_whole_weights == whole
    assert data.weights.dtype == (np.int32 if whole else np.float64)
    assert rows_of(data) == {(0, 1): weights[0], (1, 0): weights[1]}
    assert data.n_samples == math.fsum(weights)


def test_merged_weights_that_reach_the_limit_only_together():
    codes = np.zeros((3, 8), dtype=np.uint8)
    data = CategoricalData.from_codes(codes, [1, 1, 1], [2**28] * 8)
    assert rows_of(data) == {(0, 0, 0): 2**31}
    assert not data.has_whole_weights
    below = CategoricalData.from_codes(codes, [1, 1, 1], [2**28] * 7 + [2**28 - 1])
    assert below.has_whole_weights
    assert rows_of(below) == {(0, 0, 0): 2**31 - 1}


def test_the_caller_keeps_his_arrays():
    codes = np.array([[1, 0, 1, 0], [0, 0, 0, 0]], dtype=np.uint8)
    weights = np.array([0.5, 0.0, 0.25, 1.5])
    codes.flags.writeable = weights.flags.writeable = False
    data = CategoricalData.from_codes(codes, [2, 1], weights)
    assert rows_of(data) == {(1, 0): 0.75, (0, 0): 1.5}


def test_columns_that_are_not_contiguous():
    rows = np.array([[0, 1, 2], [2, 1, 0], [1, 1, 1], [0, 0, 2]], dtype=np.uint8)
    data = CategoricalData.from_codes(rows.T[::-1], [3, 3, 3])
    assert rows_of(data) == Counter(map(tuple, rows[:, ::-1].tolist()))


@pytest.mark.parametrize(
    ("codes", "weights"),
    [
        (np.zeros((3, 4), dtype=np.uint8), np.zeros(4)),
        (np.zeros((3, 0), dtype=np.uint8), None),
        (np.zeros((1, 2), dtype=np.int64), [0.0, -0.0]),
    ],
)
def test_nothing_to_count_is_refused(codes, weights):
    with pytest.raises(ValueError, match="There is nothing to count: no row, or none whose weight"):
        CategoricalData.from_codes(codes, [2] * len(codes), weights)


@pytest.mark.parametrize(
    ("weights", "total"), [([1e308, 1.7e308], "inf"), ([9e299, 2e299], r"1\.1e\+300")]
)
def test_a_sum_of_weights_too_large_for_scores_is_refused(weights, total):
    message = rf"sample_weight sums to {total}, and at most 1e\+300 can be counted\. Divide"
    with pytest.raises(ValueError, match=message):
        CategoricalData.from_codes([[0, 1]], [2], weights)


def test_too_many_rows_are_refused():
    codes = np.empty((0, 2**31), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"2147483648 rows: at most 2\*\*31 - 1 can be counted"):
        CategoricalData.from_codes(codes, [])
