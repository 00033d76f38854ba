"""A bounded random driver: tables and parameters of all kinds, and what must come of them.

    python tests/fuzz/run.py --seconds 60 --seed 0      # or --cases 1000
    python tests/fuzz/run.py --replay 0:17              # one case again, with its traceback

A case ends in a result that keeps what ``checks`` asks for, or in a documented exception
that we or scikit-learn raise ourselves. Cases run in a process of their own, so that a crash of
the interpreter or a case that hangs is told with its number, too.
"""

import argparse
import faulthandler
import multiprocessing
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from calls import draw_call, kind_of_call
from checks import Violation, raised_by_us
from joblib.externals.loky import get_reusable_executor
from resampling import EstimatorsCall
from sklearn.exceptions import FitFailedWarning, NotFittedError
from told import check_lengths

from skbn import DataWarning

SECONDS_PER_CASE = 120
SECONDS_TO_END = 60
ALLOWED = (ValueError, TypeError, MemoryError, NotFittedError)


def run_case(seed, number, only=None):
    """A word for what happened; raises `Violation`."""
    kind = kind_of_call(number, only)
    rng = np.random.default_rng([seed, number])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # ConvergenceWarning is one of the first kind; those of numpy are errors.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", FitFailedWarning)
        call = draw_call(rng, kind)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", DataWarning)
                call.run()
        except Violation as problem:
            raise Violation(f"{problem}\n{call}") from problem
        except Exception as error:
            judge(call, error)
            return f"{call.name}: {type(error).__name__}"
        call.told = [str(one.message) for one in caught if issubclass(one.category, DataWarning)]
        if any(flaw.startswith("!") for flaw in call.flaws):
            raise Violation(f"accepted in spite of {call.flaws}\n{call}")
        try:
            if not isinstance(call, EstimatorsCall):  # whose folds are fitted by scikit-learn
                check_lengths(call.told)
            call.check(rng)
        except MemoryError:
            # What the checks fit again may need more than the little that was granted.
            if "?memory" not in call.flaws:
                raise
        except Violation as problem:
            raise Violation(f"{problem}\n{call}") from problem
        except Exception as error:
            trace = "".join(traceback.format_exception(error)[-6:])
            raise Violation(f"while it was checked: {trace}\n{call}") from error
    return f"{call.name}: result"


def judge(call, error):
    """Refuse exceptions that nobody raised on purpose."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    told = f"{type(error).__name__}: {error}\n{call}"
    where = Path(frame.filename)
    if not isinstance(error, ALLOWED) or isinstance(error, (UnicodeError, np.exceptions.AxisError)):
        raise Violation(told) from error
    if not str(error).strip():
        raise Violation(f"no message: {told}") from error
    # Workers of other processes send no frames.
    sent = "joblib" in where.parts and getattr(error, "__cause__", None) is not None
    # scikit-learn leaves seeds that are none to numpy.
    seed = "!random_state" in call.flaws and where.suffix == ".pyx" and "random" in where.parts
    # As it does numbers of jobs to joblib; and matplotlib knows its maps of colours.
    others = any(flaw in call.flaws and library in where.parts
                 for flaw, library in (("!n_jobs", "joblib"), ("!cmap", "matplotlib")))
    if not (raised_by_us(error) or sent or seed or others or "sklearn" in where.parts):
        raise Violation(f"not raised on purpose: {told}") from error
    if not call.flaws:
        raise Violation(f"refused for nothing: {told}") from error


def work(*arguments):
    """As `run_cases`, and send joblib's workers home: they would keep the process for minutes."""
    faulthandler.enable()
    try:
        run_cases(*arguments)
    finally:
        get_reusable_executor().shutdown(kill_workers=True)


def run_cases(seed, start, stop, seconds, only, place, results):
    """Run cases and put what they came to into a queue."""
    ends = time.monotonic() + seconds
    found = Counter()
    for number in range(start, stop):
        if time.monotonic() > ends:
            break
        place.value = number
        faulthandler.dump_traceback_later(SECONDS_PER_CASE, exit=True)
        began = time.process_time()
        try:
            found[run_case(seed, number, only)] += 1
        except Exception as problem:
            told = str(problem) if isinstance(problem, Violation) else traceback.format_exc()
            # A pipe holds 64 kB before somebody reads it.
            results.put(("violation", number, told[:10_000], found))
            return
        finally:
            faulthandler.cancel_dump_traceback_later()
        took = time.process_time() - began
        if took > 20:
            print(f"case {seed}:{number} took {took:.0f} s of processor time", flush=True)
    results.put(("done", place.value + 1, "", found))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--cases", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", metavar="SEED:CASE", default=None)
    parser.add_argument("--only", metavar="KIND", help="a class of calls, such as TheoryCall")
    parser.add_argument("--go-on", action="store_true", help="do not stop at a violation")
    given = parser.parse_args(arguments)
    if given.replay:
        seed, number = map(int, given.replay.split(":"))
        print(run_case(seed, number, given.only))
        return 0
    if given.cases is None and given.seconds == float("inf"):
        given.seconds = 60.0
    stop = sys.maxsize if given.cases is None else given.cases
    ends, start, found, failed = time.monotonic() + given.seconds, 0, Counter(), []
    while start < stop and time.monotonic() < ends:
        kind, start, told, counts = watch(
            given.seed, start, stop, ends - time.monotonic(), given.only)
        found += counts
        if kind == "done":
            break
        failed.append(start)
        print(told)
        only = f" --only {given.only}" if given.only else ""
        replay = f"--replay {given.seed}:{start}{only}"
        print(f"violation; replay with: python tests/fuzz/run.py {replay}")
        start += 1
        if not given.go_on:
            break
    print(f"seed {given.seed}: {start} cases" + f", {len(failed)} violations" * bool(failed))
    for outcome, count in sorted(found.items()):
        print(f"  {outcome:42s} {count}")
    if failed:
        print("replay:", *(f"{given.seed}:{number}" for number in failed))
    return 1 if failed else 0


def watch(seed, start, stop, seconds, only):
    """Cases from `start` on in a process of their own, until its end."""
    context = multiprocessing.get_context("spawn")
    place, results = context.Value("q", start), context.SimpleQueue()
    child = context.Process(target=work, args=(seed, start, stop, seconds, only, place, results))
    child.start()
    while child.is_alive() and results.empty():
        child.join(0.2)
    child.join(SECONDS_TO_END)
    if child.is_alive():
        child.kill()
        told = f"the process did not end within {SECONDS_TO_END} s of its last case"
        return "violation", place.value, told, Counter()
    if results.empty():
        told = f"the process ended with exit code {child.exitcode}"
        return "violation", place.value, told, Counter()
    return results.get()


if __name__ == "__main__":
    sys.exit(main())
