"""Structure learning of discrete Bayesian networks, for scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING

# Before our own modules: in its own order it takes a tenth of a second less.
import sklearn.base  # noqa: F401

try:
    from skbn import _counting, _dag_sums, _moves, _set_counts, _subsets  # noqa: F401
except ImportError as error:
    raise ImportError(
        "The compiled part of skbn cannot be imported. In a source tree build it with\n\n"
        "    pip install -e .\n\n"
        "and start Python again. If skbn is installed elsewhere, this source tree hides it: start\n"
        f"Python in another folder. The original error was: {error}"
    ) from error

from skbn.analytic_ess import AnalyticESS, analytic_ess
from skbn.bayes_factor import (
    large_ess_favours_edge,
    large_ess_log_bayes_factor,
    log_bayes_factor,
)
from skbn.classifier import BayesNetClassifier
from skbn.contingency import Contingency, contingency_table
from skbn.edge_posteriors import edge_posteriors
from skbn.edge_report import edge_report
from skbn.equivalence import structural_hamming_distance
from skbn.ess_changes import ess_sign_changes, ess_threshold
from skbn.ess_path import ESSPath, ess_path
from skbn.estimator import BayesNetStructureEstimator
from skbn.model_selection import ESSSearchCV
from skbn.scores import Family, Score
from skbn.search import (
    ExactSearch,
    FirstAscentSearch,
    GreedySearch,
    OrderSearch,
    TabuSearch,
)
from skbn.starts import full_graph
from skbn.structure_score import structure_score
from skbn.uniformity import uniformity

if TYPE_CHECKING:
    from skbn.averaging import BayesNetAverager
    from skbn.bif_reader import read_bif
    from skbn.bootstrap import BootstrapEdges, bootstrap_edges
    from skbn.estimator_comparison import compare_estimators
    from skbn.graph_comparison import GraphComparison, compare_graphs
    from skbn.graph_posterior import EdgePosteriors
    from skbn.network_display import NetworkDisplay
    from skbn.networkx_reader import from_networkx
    from skbn.plotting import ESSCurveDisplay, ESSPathDisplay
    from skbn.posterior_display import EdgePosteriorDisplay

# Drawing, files and comparisons are imported when they are first asked for: most programs never do.
_WHEN_ASKED_FOR = {
    "BayesNetAverager": "averaging",
    "read_bif": "bif_reader",
    "BootstrapEdges": "bootstrap",
    "bootstrap_edges": "bootstrap",
    "compare_estimators": "estimator_comparison",
    "GraphComparison": "graph_comparison",
    "compare_graphs": "graph_comparison",
    "EdgePosteriors": "graph_posterior",
    "NetworkDisplay": "network_display",
    "from_networkx": "networkx_reader",
    "ESSCurveDisplay": "plotting",
    "ESSPathDisplay": "plotting",
    "EdgePosteriorDisplay": "posterior_display",
}

__version__ = "0.1.0.dev0"

__all__ = [
    "AnalyticESS",
    "BayesNetAverager",
    "BayesNetClassifier",
    "BayesNetStructureEstimator",
    "BootstrapEdges",
    "Contingency",
    "ESSCurveDisplay",
    "ESSPath",
    "ESSPathDisplay",
    "ESSSearchCV",
    "EdgePosteriorDisplay",
    "EdgePosteriors",
    "ExactSearch",
    "Family",
    "FirstAscentSearch",
    "GraphComparison",
    "GreedySearch",
    "NetworkDisplay",
    "OrderSearch",
    "Score",
    "TabuSearch",
    "analytic_ess",
    "bootstrap_edges",
    "compare_estimators",
    "compare_graphs",
    "contingency_table",
    "edge_posteriors",
    "edge_report",
    "ess_path",
    "ess_sign_changes",
    "ess_threshold",
    "from_networkx",
    "full_graph",
    "large_ess_favours_edge",
    "large_ess_log_bayes_factor",
    "log_bayes_factor",
    "read_bif",
    "structural_hamming_distance",
    "structure_score",
    "uniformity",
]


def __getattr__(name: str) -> object:
    if name in _WHEN_ASKED_FOR:
        globals()[name] = getattr(import_module(f"skbn.{_WHEN_ASKED_FOR[name]}"), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
