"""Structure learning by skbn and by its peers, on the same tables, in one table.

    python benchmarks/peers.py --data DIR

DIR holds bif/*.bif.gz and alarm25_1000.csv. See benchmarks/README.md for what is measured.
"""

import argparse
import os
import platform
import re
import statistics
import sys
import tempfile
from pathlib import Path

import launch
from graph_score import GraphScorer
from workloads import Program, Workload, list_workloads

_HEADER = (
    f"{'workload':<35} {'program':<29} {'runs':>4} {'seconds':>9} {'MB':>7} {'BDeu(10)':>15} "
    f"{'BIC':>15} {'edges':>5} {'ratio':>7} {'/skbn':>7}  bound"
)


class Runs:
    """What the runs of one program gave; `note` says why there are none, or no more."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.note = f"skipped: {program.skipped}" if program.skipped else ""
        self.results: list[dict] = []
        self.scores: list[tuple[float, float]] = []

    @property
    def seconds(self) -> float:
        return statistics.median(result["seconds"] for result in self.results)

    @property
    def megabytes(self) -> float | None:
        if any(result["memory"] is None for result in self.results):
            return None
        return max(result["memory"] for result in self.results) / 1e6

    @property
    def n_edges(self) -> int:
        return statistics.median_low(len(result["edges"]) for result in self.results)

    def score(self, which: str) -> float:
        return statistics.median_low(pair[which == "bic"] for pair in self.scores)


def run_workload(
    workload: Workload, pythons: dict[str, str], folder: Path, arguments: argparse.Namespace
) -> list[Runs]:
    """Run all programs in turn, as often as asked."""
    files, scorer = {}, None
    if workload.make is not None:
        table = workload.make()
        files["table"] = str(folder / "table.feather")
        table.to_feather(files["table"])
        if "bnlearn" in pythons:
            files["csv"] = str(folder / "table.csv")
            table.to_csv(files["csv"], index=False)
        scorer = GraphScorer(table)
    every = [Runs(program) for program in workload.programs]
    for runs in every:
        if not runs.note and runs.program.library not in pythons:
            runs.note = "skipped: not installed"
    for number in range(arguments.runs):
        for runs in every:
            if runs.note:
                continue
            print(f"{workload.name}: {runs.program.label}, run {number + 1}", file=sys.stderr)
            job = {**runs.program.job, **files, "seed": number}
            library = runs.program.library
            try:
                if library == "bnlearn":
                    result = launch.run_r(job, arguments.limit)
                else:
                    result = launch.run_python(pythons[library], job, arguments.limit)
                if result["edges"] is not None:
                    runs.scores.append(scorer.score(result["edges"], 10.0))
            except (launch.RunFailed, ValueError) as error:
                runs.note = str(error)
                continue
            runs.results.append(result)
            if library != "skbn" and result["seconds"] > arguments.patience:
                runs.note = "slow: run once"
    return every


def check_bounds(
    workload: Workload, runs: Runs, ours: Runs, fastest: Runs | None, reference: Runs | None
) -> str:
    """Each bound with what was measured and whether it holds."""
    said = []
    for kind, bound in runs.program.bounds.items():
        if kind == "seconds":
            value, text = runs.seconds, f"at most {bound:g} s"
        elif kind == "MB":
            value, text = runs.megabytes, f"at most {bound:g} MB"
        elif kind == "score":
            if reference is None:
                continue
            found, aim = runs.score(workload.score), reference.score(workload.score)
            value = (aim - found) / abs(aim)
            text = f"score {value:+.1e} below {reference.program.label}, at most {bound:g}"
        elif kind == "times":
            # Turned round, so that "at most" holds for all.
            value, bound = -runs.seconds / ours.seconds, -bound
            text = f"skbn at least {-bound:g}x as fast"
        elif fastest is None:
            continue
        elif kind == "ratio":
            value, text = runs.seconds / fastest.seconds, f"at most {bound:g}x"
        else:
            pairs = zip(runs.results, fastest.results, strict=False)
            value = statistics.median(one["seconds"] - other["seconds"] for one, other in pairs)
            text = f"{1000 * value:.0f} ms more, at most {1000 * bound:g}"
        if value is not None:
            said.append(f"{text}: {'holds' if value <= bound else 'FAILS'}")
    return "; ".join(said)


def print_rows(workload: Workload, every: list[Runs]) -> None:
    done = [runs for runs in every if runs.results]
    ours = next((runs for runs in done if runs.program.is_ours), None)
    others = [runs for runs in done if not runs.program.is_ours]
    fastest = min(others, key=lambda runs: runs.seconds, default=None)
    by_library = {runs.program.library: runs for runs in others}
    reference = by_library.get("bnlearn", by_library.get("pybnesian"))
    name = workload.name
    for runs in every:
        cells = [f"{name:<35} {runs.program.label:<29} {len(runs.results):>4}"]
        name = ""
        said = []
        if runs.results:
            memory = "" if runs.megabytes is None else f"{runs.megabytes:.1f}"
            cells.append(f"{runs.seconds:>9.4f} {memory:>7}")
            if runs.scores:
                bdeu, bic = runs.score("bdeu"), runs.score("bic")
                cells.append(f"{bdeu:>15.4f} {bic:>15.4f} {runs.n_edges:>5}")
            else:
                cells.append(" " * 37)
            cells.append(_ratio(runs, fastest) + " " + _ratio(runs, ours) + " ")
            if ours is not None:
                said.append(check_bounds(workload, runs, ours, fastest, reference))
        said.append(runs.note)
        print(" ".join([*cells, "; ".join(filter(None, said))]).rstrip(), flush=True)


def _ratio(runs: Runs, base: Runs | None) -> str:
    return f"{'' if base is None else f'{runs.seconds / base.seconds:.2f}':>7}"


def describe(pythons: dict[str, str]) -> str:
    """The machine and the versions."""
    processor = platform.processor()
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text()
        processor = re.search(r"model name\s*:\s*(.*)", cpuinfo)[1]
    except (OSError, TypeError):
        pass
    known = [f"skbn {launch.version(sys.executable, 'skbn')}"]
    for library in (*launch.PEERS, "bnlearn"):
        if library == "bnlearn":
            found = launch.bnlearn_version()
        else:
            found = launch.version(pythons[library], library) if library in pythons else None
        known.append(f"{library} {found or 'not installed'}")
    machine = f"{processor or platform.machine()}, {os.cpu_count()} processors"
    return f"{machine}; Python {platform.python_version()}; {', '.join(known)}"


def find_pythons(peers_python: str | None) -> dict[str, str]:
    """The interpreter of each library that can be run; for R's bnlearn, Rscript."""
    pythons = {"skbn": sys.executable, "imports": sys.executable}
    python = peers_python or str(launch.peers_python())
    for peer in launch.PEERS:
        if launch.version(python, peer):
            pythons[peer] = python
    if launch.bnlearn_version():
        pythons["bnlearn"] = "Rscript"
    return pythons


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--only", default="", help="workloads whose name has this pattern (regex)")
    parser.add_argument("--list", action="store_true", help="print the workloads' names and stop")
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds a run may take (1200)")
    parser.add_argument(
        "--patience", type=float, default=60.0, help="a peer slower than this runs once (60 s)"
    )
    parser.add_argument(
        "--peers-python", help="interpreter that has the peers (default: benchmarks/.venv, made)"
    )
    arguments = parser.parse_args()
    workloads = [w for w in list_workloads(arguments.data) if re.search(arguments.only, w.name)]
    if arguments.list or not workloads:
        print("\n".join(w.name for w in workloads or list_workloads(arguments.data)))
        return
    pythons = find_pythons(arguments.peers_python)
    print(describe(pythons))
    print(_HEADER)
    for workload in workloads:
        with tempfile.TemporaryDirectory() as folder:
            print_rows(workload, run_workload(workload, pythons, Path(folder), arguments))


if __name__ == "__main__":
    main()
