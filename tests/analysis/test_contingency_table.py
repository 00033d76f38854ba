import math

import numpy as np
import pandas as pd
import pytest

from skbn import Contingency, contingency_table, uniformity


def table_by_loop(X, a, b, given, cardinalities, weights):
    """Slow twin: counts by a dictionary, in the order of the parents' observed states."""
    seen = sorted({tuple(row[g] for g in given) for row in X.tolist()})
    counts = np.zeros((cardinalities[a], cardinalities[b], len(seen)))
    for row, weight in zip(X.tolist(), weights, strict=True):
        counts[row[a], row[b], seen.index(tuple(row[g] for g in given))] += weight
    return counts


def sorted_slabs(array):
    """The parent states in an order of their own: theirs says nothing."""
    slabs = np.moveaxis(array, 2, 0)
    return slabs[np.lexsort(slabs.reshape(len(slabs), -1).T)]


@pytest.mark.parametrize("given", [[], [2], [2, 3], [2, 3, 4]])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_a_table(given, weighted):
    rng = np.random.default_rng(0)
    cardinalities = [3, 2, 4, 2, 3]
    X = np.stack([rng.integers(r, size=60) for r in cardinalities], axis=1)
    weights = rng.integers(1, 9, 60) / 8 if weighted else np.ones(60)
    table = contingency_table(
        X, "x0", "x1", [f"x{g}" for g in given],
        categories=[range(r) for r in cardinalities],
        sample_weight=weights if weighted else None,
    )
    expected = table_by_loop(X, 0, 1, given, cardinalities, weights)
    np.testing.assert_array_equal(sorted_slabs(table.to_array()), sorted_slabs(expected))
    assert table.n_parent_states == math.prod(cardinalities[g] for g in given)
    assert table.n_samples == weights.sum()
    assert table.degrees_of_freedom == 2 * 1 * table.n_parent_states
    again = Contingency.from_array(expected, table.n_parent_states)
    assert uniformity(again) == uniformity(table)
    for one, other in zip(again.margins, table.margins, strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_array_equal(one.multiplicities, other.multiplicities)


def test_mutual_information():
    rng = np.random.default_rng(1)
    counts = rng.poisson(3.0, (3, 4, 5)) * rng.integers(1, 5, (3, 4, 5)) / 4
    p = counts / counts.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = p * p.sum((0, 1)) / (p.sum(1, keepdims=True) * p.sum(0, keepdims=True))
        expected = np.nansum(p * np.log(ratio))
    table = Contingency.from_array(counts)
    assert table.mutual_information == pytest.approx(expected, rel=1e-13)
    independent = np.outer([3, 5, 1], [2, 2, 7])
    assert Contingency.from_array(independent).mutual_information == 0.0
    assert Contingency.from_array(independent / 8).mutual_information == 0.0


def test_declared_levels_and_weights_of_zero():
    X = pd.DataFrame({
        "a": pd.Categorical(["u", "v", "u"], categories=["t", "u", "v"]),
        "b": [1, 2, 9],
        "c": pd.Categorical(["k", "k", "k"], categories=["k", "l"]),
    })
    table = contingency_table(X, "a", "b", ["c"], sample_weight=[1, 2, 0])
    assert (table.cardinality_a, table.cardinality_b, table.n_parent_states) == (3, 2, 2)
    assert table.to_array()[:, :, 0].tolist() == [[0, 0], [1, 0], [0, 2]]


def test_a_large_array_is_not_made():
    n = 20_000
    table = contingency_table(np.arange(2 * n).reshape(n, 2), "x0", "x1")
    with pytest.raises(ValueError, match=r"\(20000, 20000, 1\) is too large"):
        table.to_array()
    assert uniformity(table) == pytest.approx(n - 1)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2, 3], "must have shape"),
        (np.ones((2, 2, 2, 2)), "must have shape"),
        (np.ones((2, 0)), "must have shape"),
        ([[1, -1], [2, 3]], "must not be negative, got -1"),
        ([[1, math.nan], [2, 3]], "must be finite"),
        ([[1, math.inf], [2, 3]], "must be finite"),
        ([[0, 0], [0, 0]], "all zero"),
    ],
)
def test_counts_that_are_none_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        uniformity(counts)


@pytest.mark.parametrize("counts", [[["a", "b"]], [[1j, 2]], [[{}, 1]]])
def test_counts_that_are_no_numbers_are_refused(counts):
    with pytest.raises(TypeError, match="counts must be numbers"):
        uniformity(counts)


@pytest.mark.parametrize(
    ("n_parent_states", "error", "message"),
    [
        (1, ValueError, "less than the 2 parent states"),
        (2.5, ValueError, "must be a whole number"),
        (math.inf, ValueError, "must be a whole number"),
        (math.nan, ValueError, "must be a whole number"),
        ("9", TypeError, "must be a number"),
        (True, TypeError, "must be a number"),
    ],
)
def test_numbers_of_parent_states_that_are_none_are_refused(n_parent_states, error, message):
    with pytest.raises(error, match=message):
        uniformity(np.ones((2, 2, 2)), n_parent_states=n_parent_states)


def test_a_contingency_knows_its_parent_states():
    table = contingency_table([[0, 1], [1, 0]], "x0", "x1")
    with pytest.raises(ValueError, match="Leave it out"):
        uniformity(table, n_parent_states=4)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("x0", "x9", []), "names 'x9', which is not a column"),
        (("x0", "x0", []), "must name different columns"),
        (("x0", "x1", ["x1"]), "must name different columns"),
        (("x0", "x1", "x2"), "must be a list of column names"),
    ],
)
def test_column_names_that_do_not_fit_are_refused(names, message):
    with pytest.raises(ValueError, match=message):
        contingency_table(np.eye(3, dtype=int), *names)


def test_kinds_of_arrays():
    plain = [[3, 1], [0, 4]]
    for counts in (
        np.array(plain, dtype=np.uint8), np.array(plain, dtype=np.float32),
        np.array(plain, dtype=object), pd.DataFrame(plain), np.array(plain, dtype=np.uint64),
    ):
        assert uniformity(counts) == uniformity(plain)
    assert uniformity(np.eye(2, dtype=bool)) == 1.0


def test_given_that_is_no_list_and_rows_of_several_lengths_are_refused():
    with pytest.raises(TypeError, match="given must be a list of column names, got 3"):
        contingency_table([[0, 1], [1, 0]], "x0", "x1", given=3)
    with pytest.raises(ValueError, match="its rows are not equally long"):
        Contingency.from_array([[1], [1, 2]])
    names = iter(["x2"])
    table = contingency_table([[0, 1, 0], [1, 0, 1]], "x0", "x1", given=names)
    assert table.n_parent_states == 2


def test_columns_that_are_not_asked_about_are_not_read():
    table = pd.DataFrame(
        {"size": [0.5, 1.5, 2.5], "a": [0, 1, 1], "day": [None] * 3, "b": [1, 0, 0]})
    counts = contingency_table(table, "b", "a").to_array()[:, :, 0]
    assert counts.tolist() == [[0, 2], [1, 0]]
    by_hand = contingency_table(table, "b", "a", categories=["auto", [1, 0], "auto", [0, 1, 2]])
    assert by_hand.to_array()[:, :, 0].tolist() == [[2, 0], [0, 1], [0, 0]]
    with pytest.raises(ValueError, match="Column 'size' is real-valued"):
        contingency_table(table, "a", "size")
    with pytest.raises(ValueError, match="2 entries for 4 columns"):
        contingency_table(table, "a", "b", categories=["auto", "auto"])
