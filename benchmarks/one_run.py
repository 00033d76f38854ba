"""One measured run of one program, in a process of its own.

    python one_run.py JOB

JOB is a JSON object; the result is one line of JSON. The interpreter is that of the library under
test, so this file needs nothing but pandas (and not even that for measuring an import).
"""

import ctypes
import gc
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable

# A program takes the job and imports its library; what it returns takes a table and does what is
# not timed; what that returns is timed.
Timed = Callable[[], list | None]
Ready = Callable[..., Timed]


def skbn_fit(job: dict) -> Ready:
    from skbn import BayesNetStructureEstimator, ExactSearch

    exact = job.get("search") == "exact"
    model = BayesNetStructureEstimator(
        score_type=job["score"],
        ess=job["ess"],
        search=ExactSearch(n_jobs=job["threads"]) if exact else "greedy",
        n_restarts=job.get("restarts", 0),
        n_jobs=job["threads"],
        random_state=job["seed"],
    )
    return lambda table: lambda: model.fit(table).edges_


def skbn_score_samples(job: dict) -> Ready:
    from skbn import BayesNetStructureEstimator

    def ready(table):
        model = BayesNetStructureEstimator(ess=job["ess"], random_state=job["seed"]).fit(table)

        def timed() -> None:
            model.score_samples(table)

        return timed

    return ready


def skbn_predict_proba(job: dict) -> Ready:
    from skbn import BayesNetClassifier

    def ready(table):
        X, y = table.drop(columns=job["target"]), table[job["target"]]
        model = BayesNetClassifier(ess=job["ess"], random_state=job["seed"]).fit(X, y)

        def timed() -> None:
            model.predict_proba(X)

        return timed

    return ready


def skbn_ess_path(job: dict) -> Ready:
    from skbn import ess_path

    def ready(table):
        def timed() -> None:
            ess_path(table, job["grid"], search="exact")

        return timed

    return ready


def pybnesian_fit(job: dict) -> Ready:
    import pybnesian as pb

    def ready(table):
        def timed() -> list:
            score = pb.BDe(table, iss=job["ess"]) if job["score"] == "bdeu" else pb.BIC(table)
            start = pb.DiscreteBN(list(table.columns))
            return pb.GreedyHillClimbing().estimate(pb.ArcOperatorSet(), score, start).arcs()

        return timed

    return ready


def pybnesian_score_samples(job: dict) -> Ready:
    import pybnesian as pb

    def ready(table):
        # Its parameters, unlike its scores, refuse the text type that pandas 3 gives to levels.
        table = table.apply(lambda x: x.cat.rename_categories(x.cat.categories.astype(object)))
        start = pb.DiscreteBN(list(table.columns))
        score = pb.BDe(table, iss=job["ess"])
        model = pb.GreedyHillClimbing().estimate(pb.ArcOperatorSet(), score, start)
        model.fit(table)

        def timed() -> None:
            model.logl(table)

        return timed

    return ready


def pyagrum_fit(job: dict) -> Ready:
    import pyagrum

    def ready(table):
        def timed() -> list:
            learner = pyagrum.BNLearner(table)
            learner.setNumberOfThreads(job["threads"])
            learner.useGreedyHillClimbing()
            if job["score"] == "bdeu":
                # Its BDeu score has an equivalent sample size of 1 of its own, to which the prior
                # is added; the BD score takes the prior as it is.
                learner.useScoreBD()
                learner.useBDeuPrior(job["ess"])
            else:
                learner.useScoreBIC()
                learner.useNoPrior()
            names = learner.names()
            return [(names[parent], names[child]) for parent, child in learner.learnDAG().arcs()]

        return timed

    return ready


def pgmpy_fit(job: dict) -> Ready:
    from pgmpy.causal_discovery import HillClimbSearch
    from pgmpy.structure_score import BIC, BDeu

    def ready(table):
        def timed() -> list:
            if job["score"] == "bdeu":
                score = BDeu(table, equivalent_sample_size=job["ess"])
            else:
                score = BIC(table)
            search = HillClimbSearch(scoring_method=score, return_type="dag", show_progress=False)
            return list(search.fit(table).causal_graph_.edges())

        return timed

    return ready


def imports(job: dict) -> Ready:
    code = compile("\n".join(job["statements"]), "<imports>", "exec")
    return lambda table: lambda: exec(code, {})


PROGRAMS = {
    program.__name__: program
    for program in (
        skbn_fit,
        skbn_score_samples,
        skbn_predict_proba,
        skbn_ess_path,
        pybnesian_fit,
        pybnesian_score_samples,
        pyagrum_fit,
        pgmpy_fit,
        imports,
    )
}


def measure(timed: Timed) -> dict:
    """Seconds, bytes that the peak of memory rose by, and the edges found."""
    gc.collect()
    before = _start_of_memory()
    started = time.perf_counter()
    edges = timed()
    seconds = time.perf_counter() - started
    memory = _peak_memory() - before
    if edges is not None:
        edges = [(str(parent), str(child)) for parent, child in edges]
    return {"seconds": seconds, "memory": memory, "edges": edges}


def _start_of_memory() -> int:
    """Bytes in use now, free ones given back, from which the peak is then counted anew."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return _status("VmRSS")
    except (OSError, AttributeError, TypeError):
        # Not Linux: the peak so far, above which the run may or may not rise.
        return _peak_memory()


def _peak_memory() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(field: str) -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def main() -> None:
    job = json.loads(sys.argv[1])
    ready = PROGRAMS[job["program"]](job)
    table = None
    if "table" in job:
        warnings.simplefilter("ignore")
        import pandas as pd

        table = pd.read_feather(job["table"])
        # What a library imports or sets up at its first call is not timed.
        columns = [name for name in table if name != job.get("target")][:3]
        columns += [job["target"]] if "target" in job else []
        ready(table.loc[:999, columns])()
    print(json.dumps(measure(ready(table))))


if __name__ == "__main__":
    main()
