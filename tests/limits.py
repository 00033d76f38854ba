"""What large tables take: time and memory, printed; by hand, since it takes minutes.

    python tests/limits.py            # all
    python tests/limits.py tall       # those named
"""

import resource
import subprocess
import sys
import time

import numpy as np

from skbn import BayesNetStructureEstimator, structure_score


def dependent(rng, n_rows, n_columns, n_states):
    """Codes of columns each of which mostly repeats one before it."""
    codes = rng.integers(0, n_states, (n_rows, n_columns), dtype=np.uint8)
    for j in range(1, n_columns):
        copied = rng.random(n_rows) < 0.6
        codes[copied, j] = codes[copied, rng.integers(0, j)]
    return codes


def tall(rng):
    """10 million rows x 20 columns."""
    X = dependent(rng, 10_000_000, 20, 3)
    yield "greedy", lambda: BayesNetStructureEstimator(random_state=0).fit(X)


def wide(rng):
    """2,000 columns x 1,000 rows."""
    X = dependent(rng, 1_000, 2_000, 3)
    yield "greedy", lambda: BayesNetStructureEstimator(random_state=0).fit(X)
    yield "greedy, three moves", lambda: BayesNetStructureEstimator(
        max_iter=3, random_state=0).fit(X)


def parents(rng):
    """50 parents of one column, 100,000 rows."""
    X = dependent(rng, 100_000, 51, 4)
    edges = [(f"x{j}", "x50") for j in range(50)]
    yield "structure_score", lambda: structure_score(X, edges)


def levels(rng):
    """A column that declares 10 million levels, 300 others, 1,000 rows."""
    X = dependent(rng, 1_000, 301, 3).astype(np.int64)
    categories = [np.arange(10_000_000), *[[0, 1, 2]] * 300]
    yield "greedy", lambda: BayesNetStructureEstimator(
        categories=categories, random_state=0).fit(X)


def states(rng):
    """A column of 1,000,000 states, each in one row."""
    X = np.column_stack([rng.permutation(1_000_000), rng.integers(0, 2, (1_000_000, 3))])
    yield "greedy", lambda: BayesNetStructureEstimator(random_state=0).fit(X)


CASES = {case.__name__: case for case in (tall, wide, parents, levels, states)}


def peak():
    """Largest resident size so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(name):
    print(f"{name}: {CASES[name].__doc__}", flush=True)
    for what, call in CASES[name](np.random.default_rng(0)):
        before, began, worked = peak(), time.perf_counter(), time.process_time()
        call()
        print(
            f"  {what}: {time.perf_counter() - began:.1f} s, {time.process_time() - worked:.1f} s "
            f"of processor time, {peak() - before:.0f} MB more than the {before:.0f} MB before",
            flush=True,
        )


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] in CASES:
        run(sys.argv[1])
    else:
        # Each in a process of its own, since memory that was taken once counts for good.
        for name in sys.argv[1:] or CASES:
            subprocess.run([sys.executable, __file__, name], check=True)
