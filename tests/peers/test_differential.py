"""Other ways to the same numbers: all graphs one by one, and other people's programs."""

import itertools
import math
import shutil
import subprocess

import numpy as np
import pytest

from skbn import BayesNetStructureEstimator, ess_path, read_bif, structure_score
from skbn.counting.data import CategoricalData
from skbn.scores.by_name import SCORES
from skbn.scores.local_scores import LocalScores

SEARCHES = ["greedy", "first_ascent", "tabu", "order", "exact"]


@pytest.fixture(scope="module")
def every_dag(all_dags):
    """The parent sets of every DAG, listed once."""
    known = {}

    def listed(n):
        if n not in known:
            known[n] = list(all_dags(n))
        return known[n]

    return listed


@pytest.mark.parametrize("score_type", SCORES)
@pytest.mark.parametrize(("n", "kind"), [
    (1, "plain"), (2, "constant"), (3, "duplicated+unseen"), (4, "plain"), (4, "whole+unseen")])
def test_the_best_of_all_graphs(make_table, every_dag, score_type, n, kind):
    """No search beats it, and the exact one reaches it."""
    codes, cardinalities, weights = make_table(np.random.default_rng(n), n, 60, kind)
    scores = LocalScores(
        CategoricalData.from_codes(codes, cardinalities, weights), SCORES[score_type], 2.0)
    best = max(scores.total(parents) for parents in every_dag(n))
    noise = 1e-9 * abs(best)
    categories = [list(range(r)) for r in cardinalities]
    for search in SEARCHES:
        model = BayesNetStructureEstimator(
            search=search, score_type=score_type, ess=2.0, categories=categories, random_state=0,
        ).fit(codes.T, sample_weight=weights)
        assert model.structure_score_ <= best + noise, search
        score = structure_score(
            codes.T, model, score_type=score_type, ess=2.0, categories=categories,
            sample_weight=weights)
        assert model.structure_score_ == pytest.approx(score, rel=1e-12)
    assert model.structure_score_ == pytest.approx(best, rel=1e-9)  # exact comes last


def test_the_best_of_all_graphs_for_every_ess(make_table, every_dag):
    codes, cardinalities, _ = make_table(np.random.default_rng(7), 4, 40, "unseen")
    grid = [1e-3, 0.1, 1.0, 10.0, 1e3, 1e6]
    data = CategoricalData.from_codes(codes, cardinalities)
    path = ess_path(codes.T, grid, categories=[list(range(r)) for r in cardinalities])
    for ess, score in zip(grid, path.scores, strict=True):
        scores = LocalScores(data, SCORES["bdeu"], ess)
        best = max(scores.total(parents) for parents in every_dag(4))
        assert score == pytest.approx(best, rel=1e-9)


def frame_of(make_table, seed):
    pd = pytest.importorskip("pandas")
    codes, cardinalities, _ = make_table(np.random.default_rng(seed), 5, 80)
    # Every level occurs: others know those that they see.
    codes = np.column_stack([codes, np.arange(3) % np.array(cardinalities)[:, None]])
    return pd.DataFrame(codes.T.astype(str), columns=list("abcde"))


def local(table, child, parents, **options):
    """The local score of a child from scores of two graphs of the package."""
    edges = [(parent, child) for parent in parents]
    others = table.drop(columns=child)
    return structure_score(table, edges, **options) - structure_score(others, [], **options)


FAMILIES = [
    (child, parents) for size in range(4)
    for child, *parents in itertools.permutations("abcde", size + 1) if parents == sorted(parents)
][::7]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("seed", range(2))
def test_local_scores_of_pgmpy(make_table, seed):
    theirs = pytest.importorskip("pgmpy.structure_score")
    table = frame_of(make_table, seed)
    for child, parents in FAMILIES:
        for score, options in (
            (theirs.BDeu(table, equivalent_sample_size=5), {"score_type": "bdeu", "ess": 5.0}),
            (theirs.BIC(table), {"score_type": "bic"}), (theirs.K2(table), {"score_type": "k2"}),
        ):
            n_seen = len(table[parents].drop_duplicates()) if parents else 1
            if options["score_type"] == "k2" and n_seen < math.prod(table[parents].nunique()):
                continue  # theirs adds ln G(r) for every configuration that does not occur
            assert local(table, child, parents, **options) == pytest.approx(
                score.local_score(child, tuple(parents)), rel=1e-9), (child, parents, options)


@pytest.mark.parametrize("seed", range(2))
def test_local_scores_of_pyagrum(make_table, seed):
    gum = pytest.importorskip("pyagrum")
    table = frame_of(make_table, seed)
    for name, method in (
        ("loglik", "useScoreLog2Likelihood"), ("bic", "useScoreBIC"), ("k2", "useScoreK2"),
    ):
        learner = gum.BNLearner(table)
        learner.useNoPrior()
        getattr(learner, method)()
        for child, parents in FAMILIES:
            # Theirs are in bits, and their logarithms of factorials to 7 digits.
            told = learner.score(child, parents) * math.log(2)
            assert local(table, child, parents, score_type=name) == pytest.approx(
                told, rel=1e-6, abs=1e-5), (child, parents, name)


@pytest.mark.parametrize("name", ["asia", "cancer", "sachs", "alarm", "insurance", "child"])
def test_posteriors_of_pyagrum(shared, tmp_path, name):
    gum = pytest.importorskip("pyagrum")
    network = read_bif(shared(f"data/bif/{name}.bif.gz"))
    # Written in full by us: their reader keeps single precision, hence the tolerance.
    network.to_bif(tmp_path / "network.bif", portable=True)
    theirs = gum.loadBN(str(tmp_path / "network.bif"))
    rng = np.random.default_rng(0)
    labels = list(network.labels)
    # States by number, since a file may spell them otherwise.
    number = {
        label: {state: k for k, state in enumerate(states.tolist())}
        for label, states in zip(labels, network.categories, strict=True)
    }
    for _ in range(15):
        row = {label: states.tolist()[0] for label, states in network.sample(
            1, random_state=int(rng.integers(2**31))).items()}
        chosen = rng.permutation(labels)[: int(rng.integers(1, 4))].tolist()
        evidence = {label: row[label] for label in chosen}
        engine = gum.LazyPropagation(theirs)
        engine.setEvidence({label: number[label][state] for label, state in evidence.items()})
        engine.makeInference()
        assert network.log_prob(evidence) == pytest.approx(
            math.log(engine.evidenceProbability()), rel=1e-4, abs=1e-4)
        for target in rng.permutation([x for x in labels if x not in evidence])[:4].tolist():
            np.testing.assert_allclose(
                network.posterior(target, evidence).probabilities,
                engine.posterior(target).tolist(), atol=2e-5)


# Prints what bnlearn makes of one graph: a line per score, NA for those that its version lacks.
R_SCRIPT = """
suppressMessages(library(bnlearn))
given <- commandArgs(trailingOnly = TRUE)
data <- read.csv(given[1], colClasses = "factor")
graph <- model2network(given[2])
for (type in c("loglik", "aic", "bic", "bde", "bds", "bdj", "k2", "fnml", "qnml")) {
  options <- list(graph, data, type = type)
  if (type %in% c("bde", "bds")) options$iss <- 5
  value <- tryCatch(do.call(score, options), error = function(problem) NA)
  cat(type, format(value, digits = 17), "\\n")
}
"""


@pytest.mark.parametrize("seed", range(2))
def test_scores_of_bnlearn(make_table, tmp_path, seed):
    rscript = shutil.which("Rscript")
    if rscript is None or subprocess.run(
        [rscript, "-e", "library(bnlearn)"], capture_output=True, check=False
    ).returncode:
        pytest.skip("needs R with bnlearn")
    table = frame_of(make_table, seed)
    table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "scores.R").write_text(R_SCRIPT)
    graph = "[a][b|a][c|a:b][d][e|c:d]"
    done = subprocess.run(
        [rscript, str(tmp_path / "scores.R"), str(tmp_path / "table.csv"), graph],
        capture_output=True, text=True, check=True,
    )
    edges = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "e"), ("d", "e")]
    told = dict(line.split() for line in done.stdout.splitlines())
    assert told.keys() == {"loglik", "aic", "bic", "bde", "bds", "bdj", "k2", "fnml", "qnml"}
    assert "NA" not in {told[name] for name in ("loglik", "aic", "bic", "bde", "bds", "k2")}
    for name, value in told.items():
        if value == "NA":
            continue
        ours = structure_score(
            table, edges, score_type="bdeu" if name == "bde" else name, ess=5.0)
        assert ours == pytest.approx(float(value), rel=1e-9), name
