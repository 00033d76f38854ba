"""The fuzzer for a while; by hand it runs longer: python tests/fuzz.py --seconds 3600 --seed 1."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import skbn

HERE = Path(__file__).resolve().parent
SECONDS = os.environ.get("SKBN_FUZZ_SECONDS", "8")
SEED = os.environ.get("SKBN_FUZZ_SEED", "0")


def fuzz(*arguments):
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    environment = dict(os.environ, PYTHONPATH=str(Path(skbn.__file__).parents[1]))
    return subprocess.run(
        [sys.executable, str(HERE / "fuzz.py"), *arguments],
        capture_output=True, text=True, env=environment, check=False,
    )


def test_random_calls_give_a_right_result_or_a_documented_exception():
    done = fuzz("--seconds", SECONDS, "--seed", SEED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"seed {SEED}: " in done.stdout


def test_a_case_can_be_replayed():
    done = fuzz("--replay", "0:3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": " in done.stdout
