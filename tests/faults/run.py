"""Faults planted on purpose, one at a time, to see whether the tests notice.

    python tests/faults/run.py                # all of `faults.py`, in a copy of the tree
    python tests/faults/run.py cycle bic      # those whose name or file holds one of these words
    python tests/faults/run.py --jobs 2       # two at a time, in a copy each
    python tests/faults/run.py --list

Each is a change of one place of the sources, which is made in a copy and, in a compiled file,
built there; then the test files that should catch it run until the first failure. They all run
once before, as they are: what fails anyway catches nothing (--unchecked leaves that out). A fault
whose old text is not there, or there more than once, is an error: the list follows the code.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from faults import FAULTS

ROOT = Path(__file__).resolve().parents[2]
# A search that no longer ends is a fault that is noticed.
LONGEST = 600


def find(fault, package):
    """The file of a fault and its text, which must hold the old text once."""
    path = package / fault.file
    text = path.read_text(encoding="utf-8")
    times = text.count(fault.old)
    if times == 0:
        raise SystemExit(f"{fault.name}: the old text is not in {fault.file}; bring it up to date")
    if times > 1:
        raise SystemExit(f"{fault.name}: the old text is in {fault.file} {times} times")
    return path, text


def plant(fault, package):
    """Change the text; returns what undoes it."""
    path, text = find(fault, package)
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    return lambda: path.write_text(text, encoding="utf-8")


def build(tree):
    """Compile what has changed."""
    done = subprocess.run(
        [sys.executable, "-c", "from setuptools import setup; setup()", "build_ext", "--inplace"],
        cwd=tree, capture_output=True, text=True, check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


def run_tests(names, tree):
    """What pytest returns, its output, and the first failure, at which it ends."""
    files = [f"tests/{name.replace('/', '/test_')}.py" for name in names]
    environment = dict(os.environ, PYTHONPATH=str(tree), PYTHONDONTWRITEBYTECODE="1")
    environment.setdefault("SKBN_SHARED", str(ROOT.parent / "shared"))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
               "--numprocesses=0", *files]
    try:
        done = subprocess.run(
            command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment, timeout=LONGEST, check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, "", f"no end within {LONGEST} s"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, done.stdout, failed[0] if failed else ""


def require_clean(names, tree):
    """Refuse tests that fail without a fault."""
    code, output, failed = run_tests(names, tree)
    if code:
        raise SystemExit(f"Without a fault pytest ends with {code}. {failed}\n{output}")


def is_caught(fault, tree):
    """Whether a test fails, and which."""
    code, output, failed = run_tests(fault.tests.split(), tree)
    if code < 0:
        return True, f"the interpreter ended with signal {-code}"
    if code not in (0, 1, 2) or (code == 2 and not failed):
        raise SystemExit(f"{fault.name}: pytest ended with {code}\n{output}")
    return code != 0, failed


def try_out(fault, trees):
    """Plant a fault in the next free tree, say whether it is caught, and undo it."""
    tree = trees.get()
    started = time.monotonic()
    undo = plant(fault, tree / "skbn")
    try:
        if fault.file.endswith(".pyx"):
            build(tree)
        caught, by = is_caught(fault, tree)
    finally:
        undo()
        trees.put(tree)
    words = "caught  " if caught else "SURVIVED"
    print(f"{words} {time.monotonic() - started:5.0f} s  {fault.name}  {by[:100]}", flush=True)
    return caught


def make_trees(n_trees, work):
    """Copies of the tree, built; without optimisation that takes a fraction of the time."""
    first, *others = trees = [Path(work) / f"tree{number}" for number in range(n_trees)]
    shutil.copytree(
        ROOT, first, ignore=shutil.ignore_patterns(".git", "build", "*.so", "__pycache__"))
    project = first / "pyproject.toml"
    project.write_text(project.read_text(encoding="utf-8").replace("-O3", "-O0"),
                       encoding="utf-8")
    build(first)
    for other in others:
        shutil.copytree(first, other)
    return trees


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--jobs", type=int, default=1, help="faults at a time")
    parser.add_argument("--unchecked", action="store_true", help="the tests are known to pass")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args(arguments)
    chosen = [
        f for f in FAULTS
        if not given.words or any(word in f.name or word in f.file for word in given.words)
    ]
    for fault in chosen:
        find(fault, ROOT / "skbn")
    if given.list:
        for fault in chosen:
            print(f"{fault.file}: {fault.name}")
        return 0
    # Those in compiled files come last, file by file: what undoes one is built with the next, and
    # no other is tried out in that tree before.
    chosen.sort(key=lambda fault: fault.file if fault.file.endswith(".pyx") else "")
    names = sorted({name for fault in chosen for name in fault.tests.split()})
    with (
        tempfile.TemporaryDirectory(prefix="faults-") as work,
        ThreadPoolExecutor(given.jobs) as pool,
    ):
        trees = make_trees(given.jobs, work)
        if not given.unchecked:
            shares = [(names[start :: given.jobs], tree) for start, tree in enumerate(trees)]
            list(pool.map(lambda share: share[0] and require_clean(*share), shares))
        free = SimpleQueue()
        for tree in trees:
            free.put(tree)
        caught = list(pool.map(lambda fault: try_out(fault, free), chosen))
    survivors = [fault.name for fault, was in zip(chosen, caught, strict=True) if not was]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} faults caught")
    for name in survivors:
        print("survived:", name)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
