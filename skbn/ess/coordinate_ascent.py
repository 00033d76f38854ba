"""Equivalent sample size and graph chosen together, one after the other in turn (Sec. 4.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning

from skbn.counting.data import CategoricalData
from skbn.ess.analytic_ess import estimate_ess
from skbn.ess.ess_likelihood import HIGHEST, LOWEST, EssLikelihood
from skbn.messages import first_few, warn_user
from skbn.search.runs import SearchRuns

# The ascent ends when a step changes the equivalent sample size by less than this.
TOLERANCE = 0.1
_ADVICE = "Compare it with other values by ESSSearchCV."
# To which the maximum of p(D | ess, G) is known.
_PRECISION = 1e-6


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where a coordinate ascent ended.

    Attributes
    ----------
    ess : float
    runs : SearchRuns
        The search that found the graph.
    history : list of float
        Every equivalent sample size on the way, that of the BIC optimum first.
    """

    ess: float
    runs: SearchRuns
    history: list[float]


@dataclass(frozen=True, eq=False)
class _Step:
    ess: float
    runs: SearchRuns
    problem: str | None = None


def ascend(
    data: CategoricalData,
    policy: str,
    start: Callable[[], SearchRuns],
    search: Callable[[float], SearchRuns],
) -> Ascent:
    """Alternate between the best graph for an ESS and the best ESS for a graph.

    From the optimum of BIC, that `start` finds; `policy` names the ESS of a graph: "analytic", by
    Equation 18, or "marginal_likelihood". Warns if the sequence comes back to a graph that it left
    (the member of the cycle with the highest marginal likelihood is kept), if Equation 18 gives no
    usable value (the last usable one is, 1.0 if there was none), and if the maximum of p(D | ess,
    G) is at a bound or does not exist (the bound is, or the ESS at hand).
    """
    choose = _analytic if policy == "analytic" else _most_likely
    runs = start()
    ess, problem = choose(data, runs, 1.0)
    if problem is not None:
        _warn(f"For the BIC optimum {problem}; the ascent starts at ess={ess:g}.")
    steps: list[_Step] = []
    history = [ess]
    while True:
        runs = search(ess)
        new, problem = choose(data, runs, ess)
        step = _Step(new, runs, problem)
        graph = runs.best.parents
        repeated = [k for k, old in enumerate(steps) if old.runs.best.parents == graph]
        steps.append(step)
        history.append(new)
        if abs(new - ess) < TOLERANCE:
            break
        if repeated:
            step = _best_of_cycle(data, steps[repeated[0] + 1 :])
            break
        ess = new
    if step.problem is not None:
        _warn(f"For the last graph {step.problem}; ess={step.ess:g} is kept. {_ADVICE}")
    return Ascent(step.ess, step.runs, history)


def go_on_to_joint_optimum(
    data: CategoricalData, runs: SearchRuns, ess: float, search: Callable[[float], SearchRuns]
) -> Ascent:
    """From a graph that is best for an ESS to where graph and ESS are best for each other.

    In turn the ESS of highest p(D | ess, G) for the graph, to 1e-6 relative, and the best graph
    for the ESS, until the graph stays (Eq. 11).
    """
    steps: list[_Step] = []
    history = [ess]
    while True:
        ess, problem = _most_likely(data, runs, ess)
        step = _Step(ess, runs, problem)
        has_moved = abs(ess - history[-1]) > _PRECISION * ess or not steps
        steps.append(step)
        history.append(ess)
        if problem is not None or not has_moved:
            break
        runs = search(ess)
        graphs = [old.runs.best.parents for old in steps]
        if runs.best.parents == graphs[-1]:
            break
        if runs.best.parents in graphs:
            step = _best_of_cycle(data, steps[graphs.index(runs.best.parents) :])
            break
    if step.problem is not None:
        _warn(f"For the last graph {step.problem}; ess={step.ess:g} is kept.")
    return Ascent(step.ess, step.runs, history)


def _analytic(data: CategoricalData, runs: SearchRuns, current: float) -> tuple[float, str | None]:
    estimate = estimate_ess(data, runs.best.parents)
    if estimate.usable:
        return estimate.ess, None
    return current, f"the estimate of Eq. 18 is {estimate.ess:g}, which is not usable"


def _most_likely(
    data: CategoricalData, runs: SearchRuns, current: float
) -> tuple[float, str | None]:
    optimum = EssLikelihood(data, runs.best.parents).maximise()
    if optimum.where == "flat":
        return current, "the marginal likelihood does not depend on the ess"
    if optimum.where == "inside":
        return optimum.ess, None
    end = "rises" if optimum.where == "upper" else "falls"
    return optimum.ess, f"the marginal likelihood {end} over all of [{LOWEST:g}, {HIGHEST:g}]"


def _best_of_cycle(data: CategoricalData, cycle: Sequence[_Step]) -> _Step:
    likelihoods = [
        EssLikelihood(data, step.runs.best.parents).value(step.ess) for step in cycle
    ]
    best = cycle[max(range(len(cycle)), key=likelihoods.__getitem__)]
    _warn(
        f"The coordinate ascent cycles between the equivalent sample sizes "
        f"{first_few([step.ess for step in cycle], write='{:.4g}'.format)}; "
        f"{best.ess:.4g}, of highest marginal likelihood, is kept. {_ADVICE}"
    )
    return best


def _warn(message: str) -> None:
    warn_user(message, ConvergenceWarning)


def fixed_graph_ess(data: CategoricalData, policy: str, runs: SearchRuns) -> Ascent:
    """The ESS for the one graph of a score that does not depend on it (step 2 alone)."""
    choose = _analytic if policy == "analytic" else _most_likely
    ess, problem = choose(data, runs, 1.0)
    if problem is not None:
        _warn(f"For the graph found {problem}; ess={ess:g} is kept. {_ADVICE}")
    return Ascent(ess, runs, [ess])
