"""What is measured: tables, programs, and what skbn is held to."""

import ast
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from networks import read_bif, read_text_table, sample, sparse_network

SEED = 20_260_101


@dataclass(frozen=True)
class Program:
    """One row of the table: what is run, and the bounds it is held to.

    Bounds: "seconds", "MB" (at most); "score" (at most this relative loss against the reference
    search), "ratio" (at most this multiple of the fastest other program), "over" (at most so many
    seconds more than it, run by run); for the other programs "times", how many times as fast
    skbn is at least.
    """

    label: str
    job: dict
    is_ours: bool = False
    bounds: dict[str, float] = field(default_factory=dict)
    skipped: str | None = None

    @property
    def library(self) -> str:
        return self.job["program"].split("_")[0]


@dataclass(frozen=True)
class Workload:
    """A table, made by `make` (None for none), and the programs that work on it."""

    name: str
    programs: tuple[Program, ...]
    make: Callable[[], pd.DataFrame] | None = None
    ess: float = 10.0
    score: str = "bdeu"


def list_workloads(data: Path) -> list[Workload]:
    def sampled(network: str, n_rows: int) -> Callable[[], pd.DataFrame]:
        return lambda: sample(read_bif(data / "bif" / f"{network}.bif.gz"), n_rows, SEED)

    def first_of_alarm25(n_columns: int) -> Callable[[], pd.DataFrame]:
        return lambda: read_text_table(data / "alarm25_1000.csv", n_columns)

    found = []
    for n_rows, times, table_bound in (
        (1_000, {"pybnesian": 1.0}, {}),
        (10_000, {"pybnesian": 2.0}, {}),
        (100_000, {"pybnesian": 4.0, "bnlearn": 20.0, "pyagrum": 40.0}, {}),
        (1_000_000, {"pybnesian": 6.0}, {"MB": 4 * 37.0}),
    ):
        skipped = {}
        if n_rows > 10_000:
            skipped["pgmpy"] = "a run takes over a minute"
        if n_rows > 100_000:
            skipped["pyagrum"] = "a run takes over a minute"
        for score in ("bdeu", "bic"):
            programs = _greedy(score, 10.0, times, table_bound, skipped)
            make = sampled("alarm", n_rows)
            found.append(Workload(f"alarm {n_rows} {score}", programs, make, score=score))

    programs = _greedy("bdeu", 10.0, {"pybnesian": 4.0}, {}, {"pgmpy": "a run takes over a minute"})
    found.append(Workload("andes 10000 bdeu", programs, sampled("andes", 10_000)))

    alone = _skbn("skbn", {"seconds": 60.0, "MB": 2_000.0}, score="bdeu", ess=1.0)
    found.append(
        Workload(
            "sparse 1000 columns x 5000 bdeu(1)",
            (alone,),
            lambda: sample(sparse_network(1_000, SEED), 5_000, SEED),
            ess=1.0,
        )
    )
    for n_columns, bounds in ((20, {"seconds": 2.0}), (25, {"seconds": 90.0, "MB": 4_000.0})):
        exact = _skbn("skbn, 2 threads", bounds, search="exact", score="bdeu", ess=10.0, threads=2)
        name = f"exact {n_columns} columns x 1000 bdeu"
        found.append(Workload(name, (exact,), first_of_alarm25(n_columns)))

    many = {"score": "bdeu", "ess": 10.0, "restarts": 50, "threads": 2}
    restarts = _skbn("skbn, 50 restarts, 2 threads", {"ratio": 25.0}, **many)
    one_climb = Program("skbn, one climb, 1 thread", _job("skbn_fit", score="bdeu", ess=10.0))
    found.append(Workload("restarts alarm 10000", (restarts, one_climb), sampled("alarm", 10_000)))

    logl = Program("pybnesian", _job("pybnesian_score_samples", ess=10.0))
    ours = Program("skbn", _job("skbn_score_samples", ess=10.0), True, {"seconds": 0.15})
    found.append(Workload("score_samples alarm 100000", (ours, logl), sampled("alarm", 100_000)))
    # The column with the most variables in its Markov blanket.
    job = _job("skbn_predict_proba", ess=10.0, target="HR")
    ours = Program("skbn", job, True, {"seconds": 0.30})
    found.append(Workload("predict_proba alarm 100000", (ours,), sampled("alarm", 100_000)))

    # What skbn needs comes first, in the same order: the order alone can cost a tenth of a second.
    with_ours = _job("imports", statements=[*_needed(), "import skbn"])
    ours = Program("the same and skbn", with_ours, True, {"over": 0.05})
    needed = Program("what it imports of sklearn", _job("imports", statements=_needed()))
    found.append(Workload("import", (ours, needed)))
    return found


def _greedy(
    score: str, ess: float, times: dict[str, float], ours: dict[str, float], skipped: dict[str, str]
) -> tuple[Program, ...]:
    """The same greedy search by every library."""
    peers = tuple(
        Program(
            peer,
            _job(f"{peer}_fit", score=score, ess=ess),
            bounds={"times": times[peer]} if peer in times else {},
            skipped=skipped.get(peer),
        )
        for peer in ("pybnesian", "pyagrum", "pgmpy", "bnlearn")
    )
    return (_skbn("skbn", {"score": 2e-3, **ours}, score=score, ess=ess), *peers)


def _skbn(label: str, bounds: dict[str, float], **job: object) -> Program:
    return Program(label, _job("skbn_fit", **job), True, bounds)


def _job(program: str, **job: object) -> dict:
    return {"program": program, "threads": 1, **job}


def _needed() -> list[str]:
    """The imports from scikit-learn that importing skbn makes."""
    statements = set()
    for path in Path(importlib.util.find_spec("skbn").origin).parent.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            from_sklearn = isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn")
            if from_sklearn or (isinstance(node, ast.Import) and "sklearn" in ast.unparse(node)):
                statements.add(ast.unparse(node))
    return sorted(statements)
