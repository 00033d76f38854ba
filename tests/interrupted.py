"""Long searches, one after another, that wait to be interrupted; run by test_interruption.py.

For each a line of JSON says that it begins, and another one what was left of it.
"""

import contextlib
import json
import signal
import sys
import threading
import time

import numpy as np
from joblib import parallel_config

from skbn import BayesNetStructureEstimator

RNG = np.random.default_rng(0)
WIDE = RNG.integers(0, 3, (400, 400))
WIDE[:, 1:] = np.where(RNG.random((400, 399)) < 0.5, WIDE[:, :-1], WIDE[:, 1:])
NARROW = WIDE[:, :25]
SMALL = RNG.integers(0, 2, (20, 3))

CASES = {
    "greedy": (WIDE, {"search": "greedy", "n_restarts": 10**6}),
    "first_ascent": (WIDE, {"search": "first_ascent"}),
    "tabu": (WIDE, {"search": "tabu", "n_restarts": 10**6}),
    "order": (WIDE, {"search": "order", "n_restarts": 10**6}),
    "exact": (NARROW, {"search": "exact"}),
    "exact in threads": (NARROW, {"search": "exact", "n_jobs": 2}),
    "analytic": (WIDE, {"ess": "analytic", "n_restarts": 10**6}),
    "restarts in threads": (WIDE, {"n_restarts": 10**6, "n_jobs": 2}),
    "restarts in processes": (WIDE, {"n_restarts": 10**6}),
}


def processes():
    """Commands of the processes that this one started, but for those that only keep a record."""
    import psutil

    return [
        " ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)
        if "resource_tracker" not in " ".join(child.cmdline())
        and child.status() != psutil.STATUS_ZOMBIE
    ]


def say(**what):
    print(json.dumps(what), flush=True)


def threads(known):
    """Names of the threads that came, but for one of joblib's that waits without work."""
    return [
        thread.name for thread in set(threading.enumerate()) - known
        if thread.name != "QueueFeederThread"
    ]


def run(name):
    X, parameters = CASES[name]
    estimator = BayesNetStructureEstimator(random_state=0, **parameters)
    estimator.set_params(n_restarts=0, search="greedy", ess=1.0).fit(SMALL)
    estimator.set_params(**parameters)
    before = dict(vars(estimator))
    known = set(threading.enumerate())
    backend = contextlib.nullcontext()
    if name.endswith("processes"):
        backend = parallel_config(backend="loky", n_jobs=2)
    say(begins=name)
    try:
        with backend:
            estimator.fit(X)
        ended = "a result"
    except BaseException as error:
        ended = f"{type(error).__name__}: {error}"
    caught = time.time()
    after = dict(vars(estimator))
    same = before.keys() == after.keys() and all(before[k] is after[k] for k in before)
    patience = time.monotonic() + 5
    while time.monotonic() < patience and (threads(known) or processes()):
        time.sleep(0.05)
    say(
        ended=ended, at=caught, same=same, processes=processes(), threads=threads(known),
        predicts=bool(np.isfinite(estimator.score(SMALL))),
    )


if __name__ == "__main__":
    # Processes in the background of a shell ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in sys.argv[1:]:
        run(name)
