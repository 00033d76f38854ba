"""Structure learning of discrete Bayesian networks, for scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING

# Before our own modules: in its own order it takes a tenth of a second less.
import sklearn.base  # noqa: F401

try:
    from skbn.counting import _counting  # noqa: F401
    from skbn.graphs import _moves  # noqa: F401
    from skbn.posteriors import _dag_sums  # noqa: F401
    from skbn.search import _exact  # noqa: F401
    from skbn.subsets import _set_counts  # noqa: F401
except ImportError as error:
    import sys
    from pathlib import Path

    here = Path(__file__).resolve().parents[1]
    others = [
        place
        for place in map(Path, sys.path)
        if (place / "skbn/__init__.py").is_file() and place.resolve() != here
    ]
    raise ImportError(
        f"Python found skbn in {here}, and no compiled part of it for this Python: {error}. "
        "If that is a source tree, build it there with\n\n    pip install -e .\n\n"
        "and start Python again. If it is not, install skbn again."
        + (f" Or use the skbn in {others[0]}: start Python in another folder." if others else "")
    ) from error

from skbn.analysis.analytic_ess import analytic_ess
from skbn.analysis.contingency_table import contingency_table
from skbn.analysis.edge_posteriors import edge_posteriors
from skbn.analysis.edge_report import edge_report
from skbn.analysis.ess_path import ESSPath, ess_path
from skbn.analysis.structure_score import structure_score
from skbn.ess.analytic_ess import AnalyticESS
from skbn.estimators.classifier import BayesNetClassifier
from skbn.estimators.ess_search import ESSSearchCV
from skbn.estimators.estimator import BayesNetStructureEstimator
from skbn.graphs.equivalence import structural_hamming_distance
from skbn.messages import DataWarning
from skbn.scores.score import Family, Score
from skbn.search.climbing import SearchResult
from skbn.search.searches import (
    ExactSearch,
    FirstAscentSearch,
    GreedySearch,
    OrderSearch,
    TabuSearch,
)
from skbn.search.starts import full_graph
from skbn.tables.unusable import UnusableColumnsError
from skbn.theory.bayes_factor import (
    large_ess_favours_edge,
    large_ess_log_bayes_factor,
    log_bayes_factor,
    uniformity,
)
from skbn.theory.contingency import Contingency
from skbn.theory.ess_changes import ess_sign_changes, ess_threshold

if TYPE_CHECKING:
    from skbn.analysis.bootstrap import BootstrapEdges, bootstrap_edges
    from skbn.analysis.compare_estimators import compare_estimators
    from skbn.analysis.compare_graphs import GraphComparison, compare_graphs
    from skbn.displays.ess_displays import ESSCurveDisplay, ESSPathDisplay
    from skbn.displays.network_display import NetworkDisplay
    from skbn.displays.posterior_display import EdgePosteriorDisplay
    from skbn.estimators.averaging import BayesNetAverager
    from skbn.networks.bif import read_bif
    from skbn.networks.networkx import from_networkx
    from skbn.posteriors.edge_posteriors import EdgePosteriors

# Drawing, files and comparisons are imported when they are first asked for: most programs never do.
_WHEN_ASKED_FOR = {
    "BayesNetAverager": "estimators.averaging",
    "read_bif": "networks.bif",
    "BootstrapEdges": "analysis.bootstrap",
    "bootstrap_edges": "analysis.bootstrap",
    "compare_estimators": "analysis.compare_estimators",
    "GraphComparison": "analysis.compare_graphs",
    "compare_graphs": "analysis.compare_graphs",
    "EdgePosteriors": "posteriors.edge_posteriors",
    "NetworkDisplay": "displays.network_display",
    "from_networkx": "networks.networkx",
    "ESSCurveDisplay": "displays.ess_displays",
    "ESSPathDisplay": "displays.ess_displays",
    "EdgePosteriorDisplay": "displays.posterior_display",
}

__version__ = "0.1.0.dev0"

__all__ = [
    "AnalyticESS",
    "BayesNetAverager",
    "BayesNetClassifier",
    "BayesNetStructureEstimator",
    "BootstrapEdges",
    "Contingency",
    "DataWarning",
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
    "SearchResult",
    "TabuSearch",
    "UnusableColumnsError",
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
