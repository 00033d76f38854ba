"""Patterns of missing cells against sets and loops."""

import numpy as np
import pytest

from skbn.inference.row_groups import bits, distinct_columns, mask_of, masks_of


@pytest.mark.parametrize("n_rows", [1, 7, 8, 63, 64, 65, 130, 200])
def test_distinct_columns(n_rows):
    rng = np.random.default_rng(n_rows)
    for n_different in (0, 1, 3):
        # Columns that differ in a few cells, far apart.
        matrix = np.repeat(rng.random((n_rows, 1)) < 0.5, 50, axis=1)
        for row in rng.integers(n_rows, size=n_different):
            matrix[row] ^= rng.random(50) < 0.5
        expected = {}
        for place, column in enumerate(map(tuple, matrix.T.tolist())):
            expected.setdefault(column, []).append(place)
        found = [places.tolist() for places in distinct_columns(matrix)]
        assert sorted(map(sorted, found)) == sorted(expected.values())


def test_masks():
    matrix = np.random.default_rng(0).random((70, 9)) < 0.3
    expected = [sum(1 << int(row) for row in np.flatnonzero(column)) for column in matrix.T]
    assert masks_of(matrix) == expected
    for mask, column in zip(expected, matrix.T, strict=True):
        assert list(bits(mask)) == np.flatnonzero(column).tolist()
        assert mask_of(bits(mask)) == mask
