"""Sets of parents as numbers, against sets of Python."""

import itertools

import numpy as np
import pytest

from skbn.posteriors.family_weights import possible_families, take_out
from skbn.subsets.parent_sets import ParentRules, as_set, bits


def possible(rules, child, n):
    """Slow twin: every set of the other variables, one by one."""
    others = [variable for variable in range(n) if variable != child]
    allowed, required = (
        {b for b in others if sets[child] >> b & 1} for sets in (rules.allowed, rules.required)
    )
    return [
        set(members) for size in range(n) for members in itertools.combinations(others, size)
        if required <= set(members) <= allowed and size <= rules.max_parents
    ]


@pytest.mark.parametrize("seed", range(30))
def test_families(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    chances = rng.random((2, n, n)) < [[[rng.choice([0.6, 1.0])]], [[rng.choice([0.0, 0.3])]]]
    allowed, required = chances & ~np.eye(n, dtype=bool)
    if seed % 3:  # otherwise some may be required and not allowed
        required &= allowed
    rules = ParentRules(
        [as_set(np.flatnonzero(row)) for row in allowed],
        [as_set(np.flatnonzero(row)) for row in required], int(rng.integers(0, n)),
    )
    expected = [possible(rules, child, n) for child in range(n)]
    assert rules.n_families() == sum(map(len, expected))
    matrix = possible_families(rules, n)
    for child, sets in enumerate(expected):
        found = list(rules.families(child))
        assert len(set(found)) == len(found)
        assert sorted(found) == sorted(map(as_set, sets))
        assert [set(bits(members)) for members in map(as_set, sets)] == sets
        places = {take_out(as_set(members), child) for members in sets}
        assert set(np.flatnonzero(matrix[child]).tolist()) == places
