"""Starts measured runs: which interpreter, on which processors, with how many threads."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = ("pybnesian", "pyagrum", "pgmpy")
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "ARROW_IO_THREADS",
)


class RunFailed(Exception):
    """Why a run has no result, in a few words."""


def run_python(python: Path | str, job: dict, limit: float | None = None) -> dict:
    """The result of one run of `one_run.py`."""
    return _run([str(python), str(HERE / "one_run.py"), json.dumps(job)], job["threads"], limit)


def run_r(job: dict, limit: float | None = None) -> dict:
    """The result of one run of `one_run.R`."""
    command = ["Rscript", str(HERE / "one_run.R"), job["csv"], job["score"], str(job["ess"])]
    return _run(command, job["threads"], limit)


def _run(command: list[str], threads: int, limit: float | None) -> dict:
    environment = dict(os.environ, PYTHONHASHSEED="0", **dict.fromkeys(_THREADS, str(threads)))
    # An installed package is compiled once; without this, one from a checkout would be every time.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if shutil.which("taskset"):
        processors = sorted(os.sched_getaffinity(0))[-threads:]
        command = ["taskset", "--cpu-list", ",".join(map(str, processors)), *command]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(f"stopped after {limit:g} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RunFailed(f"failed: {lines[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def peers_python() -> Path:
    """The interpreter of the peers' virtual environment, which is made if it is not there."""
    folder = HERE / ".venv"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"making {folder.relative_to(HERE.parent)} for the peers", file=sys.stderr)
        venv.create(folder, with_pip=True)
    lacking = [peer for peer in PEERS if version(python, peer) is None]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if lacking and subprocess.run([*pip, *PEERS, "pandas", "pyarrow"]).returncode:
        # One that does not install here should not cost the others.
        for peer in lacking:
            subprocess.run([*pip, peer, "pandas", "pyarrow"])
    return python


def version(python: Path | str, package: str) -> str | None:
    """The installed version, or None."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def bnlearn_version() -> str | None:
    """The version of R's bnlearn, or None."""
    if not shutil.which("Rscript"):
        return None
    code = "cat(as.character(packageVersion('bnlearn')))"
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None
