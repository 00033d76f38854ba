"""The same seed gives the same result to the last bit: jobs, backends, processes, order of rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

import skbn

HERE = Path(__file__).resolve().parents[1]

# Fixed by definition: scores of one graph, checked against the twin below, and the scores of the
# best of all graphs. To 12 digits, since logarithms differ in the last between platforms.
GOLDEN = {
    "structure_score bdeu": -1571.2166483888855,
    "structure_score loglik": -1430.440147254067,
    "structure_score bic": -1551.0142035675908,
    "structure_score aic": -1474.440147254067,
    "structure_score mdl": -1574.6164397845355,
    "structure_score k2": -1505.5760218792125,
    "structure_score bds": -1571.2166483888855,
    "structure_score bdj": -1514.9739523077305,
    "structure_score fnml": -1517.8172836820759,
    "structure_score qnml": -1510.15433371968,
    "structure_score weighted": -642.8613461203004,
    "exact bdeu": -1345.572574769377,
    "exact bic": -1333.118785240667,
    "exact bds": -1345.5725747693768,
}


@pytest.fixture(scope="module")
def expected(golden):
    return golden.results()


def test_the_golden_table(expected):
    for name, value in GOLDEN.items():
        told = expected[name]
        found = float.fromhex(told if isinstance(told, str) else told[1])
        assert found == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize("name", ["bdeu", "loglik", "bic", "aic", "mdl", "k2"])
def test_the_golden_scores_are_those_of_the_twin(golden, twin, name):
    codes = golden.table()
    parents = [[] for _ in range(codes.shape[1])]
    for a, b in golden.GRAPH:
        parents[int(b[1:])].append(int(a[1:]))
    of_twin = twin(codes.T, [len(np.unique(column)) for column in codes.T])
    total = sum(of_twin.local(name, child, given)[0] for child, given in enumerate(parents))
    assert GOLDEN[f"structure_score {name}"] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_jobs_in_threads(golden, expected, n_jobs):
    assert golden.results(n_jobs) == expected


def test_jobs_in_processes(golden, expected):
    with parallel_config(backend="loky"):
        assert golden.results(2) == expected


def test_permuted_rows(golden, expected):
    order = np.random.default_rng(1).permutation(len(golden.table()))
    told = golden.results(1, order)
    assert told == {name: expected[name] for name in told}


@pytest.mark.parametrize(("seed", "arguments"), [("1", ["1"]), ("31", ["2", "threading"])])
def test_fresh_processes(expected, seed, arguments):
    environment = dict(
        os.environ, PYTHONHASHSEED=seed, PYTHONPATH=str(Path(skbn.__file__).parents[1]))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(HERE / "golden.py"), *arguments],
        capture_output=True, text=True, env=environment, check=True,
    )
    assert json.loads(done.stdout) == expected
