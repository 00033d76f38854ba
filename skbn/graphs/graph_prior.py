"""Prior beliefs about graphs, as sums over families."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from skbn.messages import brief, first_few

LogPrior = Callable[[int, tuple[int, ...]], float]


@dataclass(frozen=True)
class EdgePenalty:
    """The log prior -per_edge * (number of edges), family by family.

    Attributes
    ----------
    per_edge : float
        In nats.
    """

    per_edge: float

    def __call__(self, child: int, parents: tuple[int, ...]) -> float:
        return -self.per_edge * len(parents)


def read_graph_prior(
    graph_prior: "float | Callable | None", labels: Sequence[Hashable]
) -> LogPrior | None:
    """The log prior of a family by variable numbers.

    Parameters
    ----------
    graph_prior : float, callable or None
        - None: uniform over graphs;
        - a number >= 0: every edge costs that many nats;
        - ``graph_prior(variable, parents)``: the log prior of a variable, by name, with a tuple of
          parents, by name and in column order. -inf forbids.
    labels : sequence
        Column names, in column order.
    """
    if graph_prior is None:
        return None
    if isinstance(graph_prior, Real):
        penalty = float(graph_prior)
        if not 0 <= penalty < math.inf:
            raise ValueError(
                f"graph_prior, as the cost of an edge in nats, must be a number >= 0 and finite, "
                f"got {brief(graph_prior)}. Forbid edges with forbidden_edges or max_parents."
            )
        return EdgePenalty(penalty)

    def log_prior(child: int, parents: tuple[int, ...]) -> float:
        came = graph_prior(labels[child], tuple(labels[p] for p in parents))
        is_number = isinstance(came, Real) or (isinstance(came, np.ndarray) and came.ndim == 0)
        value = float(came) if is_number else math.nan
        if not value < math.inf:
            raise ValueError(
                f"graph_prior gave {value if is_number else brief(came)} for "
                f"{brief(labels[child])} with parents [{first_few([labels[p] for p in parents])}]. "
                "It must return a number of nats or -inf."
            )
        return value

    return log_prior
