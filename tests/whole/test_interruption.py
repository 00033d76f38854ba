"""Ctrl-C ends every search within a second and leaves nothing behind; lost workers are told."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import skbn

HERE = Path(__file__).resolve().parents[1]
psutil = pytest.importorskip("psutil")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")

SEARCHES = [
    "greedy", "first_ascent", "tabu", "order", "exact", "exact in threads", "analytic",
    "restarts in threads", "restarts in processes",
]


@contextlib.contextmanager
def searches(*names):
    """A process that runs these searches one after another."""
    environment = dict(os.environ, PYTHONPATH=str(Path(skbn.__file__).parents[1]))
    # In a group of its own, as a command in a terminal is, where Ctrl-C reaches the workers too.
    process = subprocess.Popen(
        [sys.executable, "-W", "error", str(HERE / "interrupted.py"), *names],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def hear(process):
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return json.loads(line)


def workers_of(process):
    return [
        child for child in psutil.Process(process.pid).children(recursive=True)
        if "resource_tracker" not in " ".join(child.cmdline())
    ]


def wait_for_workers(process):
    """Two workers that have begun to work."""
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        found = workers_of(process)
        if len(found) >= 2 and sum(sum(w.cpu_times()[:2]) > 1.0 for w in found) >= 2:
            return found
        time.sleep(0.1)
    raise AssertionError("no workers came")


def test_ctrl_c():
    took = {}
    with searches(*SEARCHES) as process:
        for name in SEARCHES:
            assert hear(process) == {"begins": name}
            if name.endswith("processes"):
                wait_for_workers(process)
            time.sleep(0.4)
            sent = time.time()
            os.killpg(process.pid, signal.SIGINT)
            told = hear(process)
            assert told["ended"].startswith("KeyboardInterrupt"), (name, told)
            assert told["same"], f"{name}: the estimator is another one"
            assert told["predicts"], name
            assert told["threads"] == [], (name, told)
            assert told["processes"] == [], (name, told)
            took[name] = told["at"] - sent
        assert process.wait(30) == 0, process.stderr.read()
    # Within a second; a busy machine gets a little more for single ones.
    assert sorted(took.values())[len(took) // 2] < 1.0, took
    assert max(took.values()) < 3.0, took
    print(took)


def test_a_worker_that_is_killed():
    with searches("restarts in processes") as process:
        assert hear(process) == {"begins": "restarts in processes"}
        wait_for_workers(process)[0].kill()
        told = hear(process)
        assert told["ended"].startswith("TerminatedWorkerError"), told
        assert "was unexpectedly terminated" in told["ended"]
        assert told["same"]
        assert told["predicts"]
        assert told["processes"] == []
        assert process.wait(30) == 0, process.stderr.read()
