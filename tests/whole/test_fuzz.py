"""The fuzzer for a while; by hand longer: python tests/fuzz/run.py --seconds 3600 --seed 1."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import skbn

HERE = Path(__file__).resolve().parents[1]
SECONDS = os.environ.get("SKBN_FUZZ_SECONDS", "8")
LIBRARIES = ("pandas", "polars", "pyarrow", "networkx", "matplotlib")
SEED = os.environ.get("SKBN_FUZZ_SEED", "0")


def fuzz(*arguments):
    for library in LIBRARIES:
        pytest.importorskip(library)
    environment = dict(os.environ, PYTHONPATH=str(Path(skbn.__file__).parents[1]))
    return subprocess.run(
        [sys.executable, str(HERE / "fuzz" / "run.py"), *arguments],
        capture_output=True, text=True, env=environment, check=False,
    )


def test_random_calls_give_a_right_result_or_a_documented_exception():
    done = fuzz("--seconds", SECONDS, "--seed", SEED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"seed {SEED}: " in done.stdout


def test_a_case_can_be_replayed():
    done = fuzz("--replay", "0:3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": " in done.stdout


# What the cases draw, at legal and at illegal values; beside it stands what they make themselves.
DRAWN = {
    "ESSSearchCV": "estimator ess scoring graph cv refit n_jobs error_score verbose all_graphs",
    "analytic_ess": "X graph categories sample_weight",
    "bootstrap_edges": "estimator X y n_resamples n_jobs random_state",
    "compare_estimators": "estimators X y cv n_jobs",
    "compare_graphs": "learned reference labels",
    "contingency_table": "X a b given categories sample_weight",
    "edge_posteriors": "X prior score_type ess max_parents required_edges forbidden_edges tiers "
                       "graph_prior categories sample_weight max_memory n_jobs",
    "edge_report": "graph X y ess absent categories sample_weight",
    "ess_path": "X ess_values search score_type init n_restarts max_parents required_edges "
                "forbidden_edges tiers graph_prior max_iter categories sample_weight n_jobs "
                "random_state all_graphs",
    "ess_sign_changes": "counts n_parent_states",
    "ess_threshold": "counts n_parent_states",
    "from_networkx": "graph",
    "full_graph": "order",
    "large_ess_favours_edge": "counts n_parent_states",
    "large_ess_log_bayes_factor": "counts ess n_parent_states",
    "log_bayes_factor": "counts ess n_parent_states",
    "read_bif": "path_or_file max_bytes",
    "structural_hamming_distance": "first second cpdag labels",
    "structure_score": "X graph score_type ess categories sample_weight",
    "uniformity": "counts n_parent_states",
    "NetworkDisplay": "labels edges target edge_width width_name kinds",
    "ExactSearch": "max_memory n_jobs verbose",
    "TabuSearch": "tabu_length patience",
}
# The rest holds results, is a protocol, or has no parameters.
MADE = {
    "AnalyticESS", "BootstrapEdges", "Contingency", "DataWarning", "ESSCurveDisplay", "ESSPath",
    "ESSPathDisplay", "EdgePosteriorDisplay", "EdgePosteriors", "Family", "FirstAscentSearch",
    "GraphComparison", "GreedySearch", "OrderSearch", "Score", "SearchResult",
    "UnusableColumnsError",
}


def test_every_parameter_is_drawn(monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(HERE / "fuzz")
    from parameters import ILLEGAL

    estimator = {*ILLEGAL, "categories"}
    averager = estimator - {"search", "init", "n_restarts", "max_iter", "verbose"} | {"n_graphs"}
    drawn = {name: set(parameters.split()) for name, parameters in DRAWN.items()}
    drawn |= {"BayesNetStructureEstimator": estimator, "BayesNetClassifier": estimator,
              "BayesNetAverager": averager}
    assert drawn.keys() | MADE == set(skbn.__all__) and not drawn.keys() & MADE
    for name, parameters in drawn.items():
        assert parameters == set(inspect.signature(getattr(skbn, name)).parameters), name


def test_every_kind_of_call_comes_in_a_short_run(monkeypatch):
    for library in LIBRARIES:
        pytest.importorskip(library)
    monkeypatch.syspath_prepend(HERE / "fuzz")
    from calls import ROUND, kind_of_call

    length = sum(ROUND.values())
    assert length <= 100
    assert {kind_of_call(number) for number in range(1000, 1000 + length)} == set(ROUND)
