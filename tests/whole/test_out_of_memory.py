"""Every allocation of every kernel fails once: a MemoryError, nothing lost, nothing broken."""

import ctypes
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from skbn.counting import counts
from skbn.counting.data import CategoricalData
from skbn.graphs import _moves
from skbn.graphs import graph as graphs
from skbn.graphs.constraints import Constraints
from skbn.graphs.graph import DAG, Move
from skbn.scores import local_scores
from skbn.scores.by_name import SCORES
from skbn.scores.local_scores import LocalScores
from skbn.search import exact
from skbn.search.exact import exact_searches
from skbn.subsets import set_sums
from skbn.subsets.all_families import AllFamilies

compiler = shutil.which("cc")
pytestmark = pytest.mark.skipif(
    compiler is None or os.name == "nt" or sys.implementation.name != "cpython",
    reason="needs a C compiler called cc, and the allocators of CPython",
)

# In C, for the interpreter allocates where no Python may run. For the thread that asks alone.
SOURCE = """
#include <stddef.h>

typedef struct {
    void *ctx;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
} Functions;  /* PyMemAllocatorEx */

enum { ROOM = 10000 };
static Functions plain;
static __thread long n = -1, failing;
static __thread void *held[ROOM];
static __thread long n_held;

static int fails(void) { return n >= 0 && n++ == failing; }

static void *hold(void *pointer) {
    if (n >= 0 && pointer && n_held < ROOM) held[n_held++] = pointer;
    return pointer;
}

static void let_go(void *pointer) {
    for (long k = n_held - 1; k >= 0; k--)
        if (held[k] == pointer) { held[k] = held[--n_held]; return; }
}

static void *my_malloc(void *ctx, size_t size) {
    return fails() ? NULL : hold(plain.malloc(ctx, size));
}

static void *my_calloc(void *ctx, size_t many, size_t size) {
    return fails() ? NULL : hold(plain.calloc(ctx, many, size));
}

static void *my_realloc(void *ctx, void *old, size_t size) {
    void *found = fails() ? NULL : plain.realloc(ctx, old, size);
    if (found) { let_go(old); hold(found); }
    return found;
}

static void my_free(void *ctx, void *pointer) { let_go(pointer); plain.free(ctx, pointer); }

void wrap(Functions *functions) {
    plain = *functions;
    functions->malloc = my_malloc;
    functions->calloc = my_calloc;
    functions->realloc = my_realloc;
    functions->free = my_free;
}

void begin(long which) { failing = which; n_held = 0; n = 0; }

long end(long *left) { long counted = n; n = -1; *left = n_held; return counted; }
"""
RAW = 0


class Allocator:
    """Counts what this thread allocates, has one allocation fail, counts what is not freed."""

    def __init__(self, library):
        self._library = library
        self._plain, self._mine = (ctypes.c_void_p * 5)(), (ctypes.c_void_p * 5)()
        ctypes.pythonapi.PyMem_GetAllocator(RAW, self._plain)
        ctypes.pythonapi.PyMem_GetAllocator(RAW, self._mine)
        library.wrap(self._mine)

    def run(self, kernel, arguments, failing=-1):
        """How many allocations there were, how many are not freed, and what the error says."""
        said, left = None, ctypes.c_long()
        ctypes.pythonapi.PyMem_SetAllocator(RAW, self._mine)
        self._library.begin(failing)
        try:
            kernel(*arguments)
        except MemoryError as error:
            said = str(error)
        except SystemError:
            # What traces the lines of the kernels allocates too.
            if sys.gettrace() is None:
                raise
            said = ""
        finally:
            n = self._library.end(ctypes.byref(left))
            ctypes.pythonapi.PyMem_SetAllocator(RAW, self._plain)
        return n, left.value, said


@pytest.fixture(scope="module")
def allocator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("allocator")
    (folder / "allocator.c").write_text(SOURCE)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", "allocator.so", "allocator.c"], cwd=folder,
        check=True,
    )
    library = ctypes.PyDLL(str(folder / "allocator.so"))
    library.begin.argtypes, library.end.restype = [ctypes.c_long], ctypes.c_long
    return Allocator(library)


def copied(arguments):
    return [
        a.copy() if isinstance(a, np.ndarray) and a.flags.writeable else a for a in arguments
    ]


def arrays(arguments):
    return [a for a in arguments if isinstance(a, np.ndarray)]


def recorded(monkeypatch, module, name, run):
    """The arguments of the calls of a kernel while something runs."""
    kernel, calls = getattr(module, name), []

    def record(*arguments):
        calls.append(copied(arguments))
        return kernel(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, record)
        run()
    assert calls
    return kernel, calls


def fail_one_by_one(allocator, kernel, arguments, message):
    """How many allocations there are, each of which has failed."""
    plain = copied(arguments)
    result = kernel(*plain)
    for _ in range(2):
        # The first time leaves behind what the interpreter keeps.
        n, left, said = allocator.run(kernel, copied(arguments))
    assert (left, said) == (0, None)
    told = []
    for failing in range(n):
        for _ in range(2):
            _, left, said = allocator.run(kernel, copied(arguments), failing)
        assert said is not None, f"allocation {failing} may fail without an error"
        assert left == 0, f"allocation {failing} fails, and others are not freed"
        told.append(said)
    again = copied(arguments)
    assert kernel(*again) == result
    for one, other in zip(arrays(plain), arrays(again), strict=True):
        np.testing.assert_array_equal(one, other)
    # Those of the interpreter itself, for a long list, say nothing.
    told = [said for said in told if said]
    assert all(message in said for said in told), told
    return len(told)


def table(n_rows, cardinalities, weights=None):
    rng = np.random.default_rng(len(cardinalities))
    codes = np.array([rng.integers(0, r, n_rows) for r in cardinalities])
    return CategoricalData.from_codes(codes, cardinalities, weights)


@pytest.mark.parametrize(
    ("cardinalities", "n_allocations"), [([3, 4], 2), ([50_000, 3, 50_000], 6)],
    ids=["table", "stamps"],
)
def test_joint_states(allocator, monkeypatch, cardinalities, n_allocations):
    data = table(200, cardinalities)
    kernel, calls = recorded(
        monkeypatch, counts, "joint_labels",
        lambda: counts.label_rows(data, range(len(cardinalities))),
    )
    for arguments in calls:
        assert fail_one_by_one(allocator, kernel, arguments, "joint states of ") == n_allocations


@pytest.mark.parametrize(
    ("cardinalities", "parents"),
    [
        ([2, 3, 3, 3, 3, 3, 2], [1, 2]),
        ([2, 9, 9, 9, 9, 2], [1, 2, 3, 4]),
        ([70_000, 3, 4, 2], [1, 2]),
        ([2, 70_000, 3, 70_000], [1]),
    ],
    ids=["plain", "refined", "wide child", "wide parents"],
)
def test_families(allocator, monkeypatch, cardinalities, parents):
    data = table(300, cardinalities)
    scores = LocalScores(data, SCORES["bdeu"], 1.0)
    kernel, calls = recorded(
        monkeypatch, local_scores, "sum_families", lambda: scores.toggled(0, parents)
    )
    for arguments in calls:
        assert fail_one_by_one(allocator, kernel, arguments, "families of variable 0 over") >= 4


def best_moves(dag, gains):
    constraints = Constraints.none(len(gains))
    relations = dag.adjacency, dag.ancestors, constraints.allowed, constraints.required
    return [gains, *(one.view(np.uint8) for one in relations), constraints.max_parents, 0.0]


@pytest.mark.parametrize("gain", [0.0, 1.0], ids=["edges to toggle tie", "edges to reverse tie"])
def test_moves(allocator, gain):
    n = 40
    dag = DAG.from_parents([range(child) for child in range(n)])
    arguments = best_moves(dag, np.full((n, n), gain))
    assert fail_one_by_one(allocator, _moves.best_moves, arguments, "best move between 40") >= 6


def test_an_edge_that_leaves(allocator, monkeypatch):
    dag = DAG.from_parents([(), (0,), (1,), (2, 0)])
    kernel, calls = recorded(
        monkeypatch, graphs, "part_ancestors", lambda: dag.apply(Move("delete", 1, 2))
    )
    for arguments in calls:
        assert fail_one_by_one(allocator, kernel, arguments, "a graph of 4 variables") == 1


@pytest.mark.parametrize(
    ("module", "name", "message", "n_allocations"),
    [
        (set_sums, "count_sets", "all sets of 5 columns", 13),
        (set_sums, "sum_layers", "sums of one set", 1),
        (exact, "fill_pieces", "pointers", 1),
    ],
)
def test_exact_search(allocator, monkeypatch, module, name, message, n_allocations):
    data = table(100, [2, 3, 4, 5, 6])
    families = AllFamilies(data, Constraints.none(5))
    scores = [LocalScores(data, SCORES["bdeu"], 1.0)]
    kernel, calls = recorded(
        monkeypatch, module, name, lambda: exact_searches(scores, families)
    )
    for arguments in calls:
        assert fail_one_by_one(allocator, kernel, arguments, message) == n_allocations
