"""What becomes of calls that would need more memory than the shell's ulimit grants."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import skbn

PROGRAM = """
import json, resource, sys
import numpy as np
from skbn import BayesNetAverager, BayesNetStructureEstimator, edge_posteriors, ess_path
rng = np.random.default_rng(0)
wide = rng.integers(0, 2, (100, 27))
# So many rows that what a search copies of them does not fit.
tall = rng.integers(0, 200, (4_000_000, 6), dtype=np.uint8)
with open("/proc/self/statm") as file:
    taken = int(file.read().split()[0]) * resource.getpagesize()
told = {}
for name, room, call in (
    ("exact", 1_000, BayesNetStructureEstimator(search="exact")),
    ("averager", 1_000, BayesNetAverager()),
    ("ess_path", 1_000, lambda X: ess_path(X, [1.0])),
    ("edge_posteriors", 1_000, edge_posteriors),
    ("greedy", 40, BayesNetStructureEstimator()),
    ("order", 40, BayesNetStructureEstimator(search="order", ess="analytic")),
):
    resource.setrlimit(resource.RLIMIT_AS, (taken + room * 2**20, resource.RLIM_INFINITY))
    fitted = vars(call).copy() if hasattr(call, "fit") else {}
    try:
        getattr(call, "fit", call)(tall if room < 100 else wide)
    except MemoryError as error:
        told[name] = [str(error), not hasattr(call, "fit") or vars(call) == fitted]
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(json.dumps(told))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_a_limit_of_the_shell():
    environment = dict(
        os.environ, PYTHONPATH=str(Path(skbn.__file__).parents[1]), OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True,
        env=environment, check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert set(told) == {"exact", "averager", "ess_path", "edge_posteriors", "greedy", "order"}
    for name, (message, unfitted) in told.items():
        assert unfitted, name
        if name not in ("greedy", "order"):
            # Before anything is allocated, with an estimate.
            assert "27 variables take" in message, (name, message)
            assert "more than the limit of" in message, (name, message)
