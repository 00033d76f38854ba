import itertools
import math
import os
import subprocess
import sys
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from skbn.counting import _counting
from skbn.counting.counts import (
    count_configurations,
    count_family,
    count_joint_states,
    label_rows,
)
from skbn.counting.data import CategoricalData, smallest_code_type
from skbn.counting.packs import Packs
from skbn.scores.by_name import SCORES
from skbn.scores.local_scores import LocalScores

CODE_TYPES = (np.uint8, np.uint16, np.uint32)
WEIGHTS = {
    "none": None,
    "whole": lambda rng, n: rng.integers(0, 5, n),
    "fractional": lambda rng, n: rng.random(n) * 3,
    "huge": lambda rng, n: rng.random(n) * 1e290,
    "tiny": lambda rng, n: rng.random(n) * 1e-300,
    "of all sizes": lambda rng, n: 10.0 ** rng.uniform(-300, 290, n),
}


def draw_weights(kind, rng, n_rows):
    if WEIGHTS[kind] is None:
        return None
    weights = np.asarray(WEIGHTS[kind](rng, n_rows), dtype=float)
    weights[rng.random(n_rows) < 0.1] = 0.0
    weights[rng.integers(n_rows)] = 1.0
    return weights


@st.composite
def tables(draw, kinds=tuple(WEIGHTS), sizes=(1, 2, 3, 5, 200, 300, 1000, 70_000), max_variables=6):
    """Codes, cardinalities and weights, with constant columns and levels that do not occur."""
    cardinalities = draw(st.lists(st.sampled_from(sizes), min_size=1, max_size=max_variables))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.sampled_from([1, 2, 7, 40, 90]))
    used = [rng.integers(1, cardinality + 1) for cardinality in cardinalities]
    codes = np.array([rng.integers(0, n, n_rows) for n in used])
    smallest = smallest_code_type(max(cardinalities))
    code_type = draw(
        st.sampled_from([kind for kind in CODE_TYPES if np.can_cast(smallest, kind, "safe")])
    )
    weights = draw_weights(draw(st.sampled_from(kinds)), rng, n_rows)
    return codes.astype(code_type), cardinalities, weights


@given(tables(), st.data())
def test_joint_counts_are_those_of_a_dictionary(twin, table, data):
    codes, cardinalities, weights = table
    variables = data.draw(st.lists(st.sampled_from(range(len(codes))), unique=True))
    expected = twin(codes, cardinalities, weights).counts(variables)
    encoded = CategoricalData.from_codes(codes, cardinalities, weights)
    joint = count_joint_states(encoded, variables)
    states = list(map(tuple, joint.states.tolist()))
    assert states == sorted(expected)
    assert joint.counts.dtype == np.float64
    for state, count in zip(states, joint.counts.tolist(), strict=True):
        if encoded.has_whole_weights:
            assert count == expected[state]
        else:
            assert count == pytest.approx(expected[state], rel=1e-13)


@given(tables(), st.data())
def test_labels_tell_apart_exactly_the_rows_that_differ(table, data):
    codes, cardinalities, weights = table
    variables = data.draw(st.lists(st.sampled_from(range(len(codes))), unique=True))
    encoded = CategoricalData.from_codes(codes, cardinalities, weights)
    labels, n_observed = label_rows(encoded, variables)
    numbers = {}
    expected = [
        numbers.setdefault(state, len(numbers))
        for state in map(tuple, encoded.codes[variables].T.tolist())
    ]
    # Numbered by first occurrence.
    assert labels.tolist() == expected
    assert n_observed == len(numbers)


@given(tables(), st.data())
def test_family_counts_are_those_of_a_dictionary(twin, table, data):
    codes, cardinalities, weights = table
    child, *parents = data.draw(
        st.lists(st.sampled_from(range(len(codes))), unique=True, min_size=1)
    )
    slow = twin(codes, cardinalities, weights)
    cells, totals = count_family(
        CategoricalData.from_codes(codes, cardinalities, weights), child, parents
    )
    for found, variables in ((cells, [*parents, child]), (totals, parents)):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, np.sort(found))
        expected = sorted(slow.counts(variables).values())
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)


@given(tables(), st.data())
def test_configurations_and_their_counts_are_those_of_a_dictionary(twin, table, data):
    codes, cardinalities, weights = table
    child, *parents = data.draw(
        st.lists(st.sampled_from(range(len(codes))), unique=True, min_size=1)
    )
    encoded = CategoricalData.from_codes(codes, cardinalities, weights)
    configurations, cells, counts = count_configurations(encoded, child, parents)
    event(f"many states: {math.prod(cardinalities[v] for v in (child, *parents)) > 4200}")
    expected = twin(codes, cardinalities, weights).counts([*parents, child])
    assert counts.dtype == np.float64
    found = list(map(tuple, configurations.tolist()))
    assert found == sorted({state[:-1] for state in expected})
    places, states = (part.tolist() for part in np.divmod(cells, cardinalities[child]))
    listed = [(*found[place], state) for place, state in zip(places, states, strict=True)]
    assert listed == sorted(expected)
    exact = [expected[state] for state in listed]
    np.testing.assert_allclose(counts, exact, rtol=1e-13, atol=0)


@pytest.mark.parametrize("n_variables", [200, 500])
def test_states_whose_number_no_float_can_hold(twin, n_variables):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, (n_variables, 300), dtype=np.uint8)
    codes[:, 200:] = codes[:, :100]
    codes[-1, 250:] = 19 - codes[-1, 250:]
    cardinalities = [20] * n_variables
    data = CategoricalData.from_codes(codes, cardinalities)
    expected = twin(codes, cardinalities).counts(range(n_variables))
    joint = count_joint_states(data, range(n_variables))
    states = map(tuple, joint.states.tolist())
    assert dict(zip(states, joint.counts.tolist(), strict=True)) == expected
    assert sorted(joint.counts.tolist()) == [1.0] * 200 + [2.0] * 50
    cells, totals = count_family(data, n_variables - 1, range(n_variables - 1))
    assert sorted(cells.tolist()) == [1.0] * 200 + [2.0] * 50
    assert sorted(totals.tolist()) == [1.0] * 100 + [2.0] * 100


# The kernel.

KNOWN, LENGTH = 6, 40
# Joint states of a pack of variables that are counted in one pass.
PACKS = (1, 6, 27, 256)


def call_kernel(data, child, parents, rng, known=KNOWN, length=LENGTH):
    """Sums by the kernel and by a dictionary for every toggle, with random tables of terms."""
    joining = [v for v in range(data.n_variables) if v != child and v not in parents]
    candidates = [*rng.permutation(joining).tolist(), *rng.permutation([child, *parents]).tolist()]
    f, g = rng.integers(-(2**40), 2**40, (2, len(candidates), length))
    for table in (f, g):
        table[:, 0] = 0
        # Some counts are tabulated beyond the known ones, some not yet.
        table[:, known:][rng.random((len(candidates), length - known)) < 0.5] = 0
    totals = np.full(len(candidates), 77, dtype=np.int64)
    room = 2 * len(candidates) * min(data.n_rows, int(data.n_samples // known))
    owners, counts = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int64)
    addresses = [[a.ctypes.data, b.ctypes.data] for a, b in zip(f, g, strict=True)]
    most_states = int(rng.choice(PACKS))
    packs = Packs.up_to(data.codes, data.cardinalities, most_states)
    n_unknown = _counting.sum_families(
        data.codes, data.cardinalities, data.weights,
        packs.codes, packs.cardinalities, packs.starts,
        child, np.array(parents, dtype=np.int32), np.array(candidates, dtype=np.int32),
        np.array(addresses, dtype=np.uintp), known, length, totals, owners, counts,
    )
    assert n_unknown <= room
    weights = [1] * data.n_rows if data.weights is None else data.weights.tolist()
    expected, unknown = [], Counter()
    for k, candidate in enumerate(candidates):
        given = set(parents) ^ {candidate} if candidate != child else set(parents)
        total = 0
        for sign, table, variables, owner in (
            (1, f[k], [*given, child], 2 * k),
            (-1, g[k], [*given], 2 * k + 1),
        ):
            joint = Counter()
            columns = data.codes[variables].tolist()
            for state, weight in zip(
                zip(*columns, strict=True) if columns else itertools.repeat(()),
                weights,
                strict=bool(columns),
            ):
                joint[state] += weight
            for count in joint.values():
                if count < known or (count < length and table[count] != 0):
                    total += sign * int(table[count])
                else:
                    unknown[owner, count] += 1
        expected.append(total)
    found = Counter(zip(owners[:n_unknown].tolist(), counts[:n_unknown].tolist(), strict=True))
    return totals.tolist(), expected, found, unknown


@settings(max_examples=250)
@given(
    tables(("none", "whole"), (1, 2, 3, 4, 20, 300, 1000, 70_000), max_variables=11), st.data()
)
def test_kernel_sums_what_a_dictionary_sums(table, data):
    codes, cardinalities, weights = table
    encoded = CategoricalData.from_codes(codes, cardinalities, weights)
    child, *parents = data.draw(
        st.lists(st.sampled_from(range(len(codes))), unique=True, min_size=1)
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    totals, expected, found, unknown = call_kernel(encoded, child, parents, rng)
    event(f"unknown counts: {bool(unknown)}")
    assert totals == expected
    assert found == unknown


# Tables have at most max(65536, 4 rows) cells; configurations are numbered in plain mixed radix up
# to max(256, rows / 32) of them. Each case names the way through the kernel that it takes.
CASES = {
    "direct, plain": (500, [3] * 12, 0, [1, 2]),
    "direct, no parents, groups of four and three over": (500, [2] * 12, 5, []),
    "direct, nothing joins": (500, [2, 3, 4], 1, [0, 2]),
    "direct, one of 9 candidates too wide": (500, [2] * 5 + [70_000] + [2] * 5, 0, [1]),
    "direct, the last candidate too wide": (500, [2] * 8 + [40_000], 0, [1]),
    "direct, only too wide candidates": (500, [9, 9, 9000, 70_000], 0, [1]),
    "direct, one parent too wide to leave the others plain": (500, [2, 3, 300, 2, 4], 0, [1, 2, 3]),
    "direct, exactly as many cells as fit": (50, [16, 256, 16, 17, 2], 0, [1]),
    "direct, exactly as many plain configurations as fit": (50, [2, 16, 16, 2, 3], 0, [1, 2]),
    "direct, one configuration more than that": (50, [2, 257, 1, 2, 3], 0, [1, 2]),
    "refined: many parents": (500, [3] * 14, 0, [*range(1, 11)]),
    "refined, then plain again": (400, [2, 300, 1, 1, 2, 2], 0, [1, 2, 3, 4]),
    "numbered: wide child": (500, [70_000, 3, 4, 2, 2], 0, [1, 2]),
    "numbered: wide child, no parents": (500, [70_000, 3, 4, 2, 2], 0, []),
    "numbered: wide child, wide parents": (300, [70_000, 70_000, 1000, 2, 70_000], 0, [1, 2]),
    "numbered: a child of 300 below refined parents": (400, [300, 9, 9, 9, 2, 2], 0, [1, 2, 3]),
    "plain up to rows / 32": (20_000, [2, 25, 25, 2, 3, 40], 0, [1, 2]),
    "tables up to 4 rows": (20_000, [8, 100, 100, 101, 2], 0, [1]),
    "one row": (1, [2, 3, 70_000, 1, 5], 0, [1, 3]),
    "constant columns": (30, [1, 1, 1, 2, 1, 1], 0, [1, 2]),
}


@pytest.mark.parametrize(
    ("case", "code_type", "weighted"),
    [
        (case, code_type, weighted)
        for case, (n_rows, cardinalities, _, _) in CASES.items()
        for code_type in CODE_TYPES
        for weighted in (False, True)
        if max(cardinalities) <= np.iinfo(code_type).max + 1
        # The twin is slow.
        if n_rows < 1000 or (code_type == np.uint8 and not weighted)
    ],
)
def test_kernel_on_every_path(case, code_type, weighted):
    n_rows, cardinalities, child, parents = CASES[case]
    rng = np.random.default_rng(len(case))
    codes = np.array([rng.integers(0, c, n_rows) for c in cardinalities]).astype(code_type)
    codes[0, 0], codes[:, -1] = cardinalities[0] - 1, np.array(cardinalities) - 1
    weights = rng.integers(1, 9, n_rows).astype(np.int32) if weighted else None
    n_samples = float(n_rows if weights is None else weights.sum())
    # As it is, so that rows are not merged.
    data = CategoricalData(codes, np.array(cardinalities), weights, n_samples)
    totals, expected, found, unknown = call_kernel(data, child, parents, rng)
    assert totals == expected
    assert found == unknown


@pytest.mark.parametrize("n_joining", range(10))
def test_kernel_with_every_number_of_candidates(n_joining):
    rng = np.random.default_rng(n_joining)
    codes = rng.integers(0, 3, (n_joining + 2, 60), dtype=np.uint8)
    data = CategoricalData.from_codes(codes, [3] * len(codes))
    totals, expected, found, unknown = call_kernel(data, 1, [0], rng)
    assert totals == expected
    assert found == unknown


def test_kernel_with_counts_up_to_the_largest_integer():
    weights = np.array([2**30, 2**30 - 2, 1, 0], dtype=np.int32)
    codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]], dtype=np.uint8)
    data = CategoricalData(codes, np.array([2, 2, 1]), weights, 2.0**31 - 1)
    totals, expected, found, unknown = call_kernel(data, 0, [1], np.random.default_rng(0))
    assert totals == expected
    assert found == unknown
    assert any(count == 2**31 - 1 for _, count in unknown)


# Memory.

LIMITED = """
import resource
import numpy as np
from skbn.counting.counts import count_family, count_joint_states
from skbn.counting.data import CategoricalData
from skbn.scores.local_scores import LocalScores
from skbn.scores.by_name import SCORES

n_rows, n_variables = 20_000, 60
codes = np.random.default_rng(0).integers(0, 1000, (n_variables, n_rows)).astype(np.uint16)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 64 * 2**20, -1))
data = CategoricalData.from_codes(codes, [1000] * n_variables)
assert len(count_joint_states(data, range(n_variables)).counts) == n_rows
assert len(count_family(data, 0, range(1, n_variables))[0]) == n_rows
scores = LocalScores(data, SCORES["bdeu"], 10.0)
for n_parents in (0, 1, 2, 40):
    assert np.isfinite(scores.toggled(0, range(1, 1 + n_parents))).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_memory_does_not_grow_with_the_number_of_states():
    # 20,000 rows, 60 variables of 1,000 states each and 64 MB to spare.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 0, run.stderr


def test_memory_does_not_grow_with_the_weights():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (100, 50), dtype=np.uint8)
    data = CategoricalData.from_codes(codes, [3] * 100, rng.integers(1, 4 * 10**7, 50))
    assert data.has_whole_weights
    scores = LocalScores(data, SCORES["bic"], 1.0)
    tracemalloc.start()
    try:
        scores.toggled(0, (1, 2))
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()
