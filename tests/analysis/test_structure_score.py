"""Scores of given graphs: against bnlearn's figures, and every form a graph may have."""

import json
import math
import os
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from skbn import BayesNetStructureEstimator, Score, structure_score
from skbn.scores.bayesian import BDeu

SHARED = Path(os.environ.get("SKBN_SHARED", Path(__file__).resolve().parents[3] / "shared"))
NAMES = ["loglik", "bic", "aic", "k2"]


def bracketed(text):
    """Edges of a graph written as [A][B|A][C|A:B]."""
    edges = []
    for node in text.strip("[]").split("]["):
        child, _, parents = node.partition("|")
        edges += [(parent, child) for parent in parents.split(":") if parent]
    return edges


def shared(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path.name} is not in {path.parent}")
    return path


def figures(entry):
    """Pairs of options and expected score for the figures that are scores we have."""
    for key, value in entry.items():
        name, _, ess = key.partition("_")
        if key in NAMES:
            yield {"score_type": key}, value
        elif name == "bdeu" and ess.replace(".", "").isdigit():
            yield {"score_type": "bdeu", "ess": float(ess)}, value


@pytest.mark.parametrize("name", ["learning_test", "asia"])
def test_fixed_graphs_of_the_reference(name):
    entry = json.loads(shared("reference/reference.json").read_text())["fixed_graphs"][name]
    X = pd.read_csv(shared(f"data/bnlearn/{name}.csv"), dtype=str)
    assert len(X) == entry["n_samples"]
    edges = bracketed(entry["graph"])
    checked = 0
    for options, expected in figures(entry):
        assert structure_score(X, edges, **options) == pytest.approx(expected, rel=1e-9)
        estimator = BayesNetStructureEstimator(init=edges, max_iter=0, **options).fit(X)
        assert estimator.structure_score_ == structure_score(X, edges, **options)
        checked += 1
    assert checked >= 5


def test_toy_of_the_reference():
    toy = json.loads(shared("reference/reference.json").read_text())["toy"]
    X = pd.DataFrame(toy["rows_A_B_C_D"], columns=list("ABCD"))
    categories = [list(range(r)) for r in toy["cardinalities"]]
    for text, entry in toy["graphs"].items():
        found = list(figures(entry))
        assert len(found) >= 4
        for options, expected in found:
            score = structure_score(X, bracketed(text), categories=categories, **options)
            assert score == pytest.approx(expected, rel=1e-9)


def test_bdeu_by_hand():
    # One binary column, N = (3, 1), ess = 2: G(2)/G(6) * G(4)/G(1) * G(2)/G(1) = 6/120.
    X = np.array([[0], [0], [0], [1]])
    assert structure_score(X, [], ess=2.0) == pytest.approx(math.log(6 / 120), rel=1e-12)


EDGES = [("a", "c"), ("b", "c"), ("c", "d")]


def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(80, 4))
    X[:, 2] = (X[:, 0] + X[:, 1]) % 3
    return pd.DataFrame(X, columns=list("abcd"))


def matrix():
    adjacency = np.zeros((4, 4), dtype=int)
    for parent, child in EDGES:
        adjacency["abcd".index(parent), "abcd".index(child)] = 1
    return adjacency


def labelled():
    frame = pd.DataFrame(matrix(), index=list("abcd"), columns=list("abcd"))
    return frame.loc[list("dbca"), list("cabd")]


def fitted():
    return BayesNetStructureEstimator(init=EDGES, max_iter=0).fit(table())


FORMS = {
    "edges": lambda: EDGES,
    "edges in another order": lambda: [list(edge) for edge in EDGES[::-1]],
    "an iterator": lambda: iter(EDGES),
    "a set": lambda: set(EDGES),
    "integers": matrix,
    "bools": lambda: matrix().astype(bool),
    "floats": lambda: matrix().astype(float),
    "a labelled frame": labelled,
    "networkx": lambda: nx.DiGraph(EDGES),
    "an estimator": fitted,
    "its network": lambda: fitted().network_,
    "its edges": lambda: fitted().edges_,
    "its adjacency": lambda: fitted().adjacency_,
}


@pytest.mark.parametrize("make", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("score_type", ["bdeu", "k2"])
def test_every_form_of_a_graph(make, score_type):
    X = table()
    expected = structure_score(X, EDGES, score_type=score_type)
    assert expected > structure_score(X, [], score_type=score_type)
    assert structure_score(X, make(), score_type=score_type) == expected


@pytest.mark.parametrize("make", [form for name, form in FORMS.items() if name != "an iterator"],
                         ids=[name for name in FORMS if name != "an iterator"])
def test_every_form_of_a_graph_as_init(make):
    estimator = BayesNetStructureEstimator(init=make(), max_iter=0).fit(table())
    assert estimator.edges_ == sorted(EDGES)
    assert estimator.structure_score_ == structure_score(table(), EDGES)


def test_edges_of_an_array_by_name_and_by_matrix():
    X = table().to_numpy()
    edges = [(f"x{'abcd'.index(a)}", f"x{'abcd'.index(b)}") for a, b in EDGES]
    expected = structure_score(table(), EDGES)
    assert structure_score(X, edges) == structure_score(X, matrix()) == expected
    assert structure_score(X.tolist(), edges) == expected


def test_integer_labels_are_names_not_positions():
    X = table().set_axis([3, 2, 1, 0], axis=1)
    edges = [(3 - "abcd".index(a), 3 - "abcd".index(b)) for a, b in EDGES]
    assert structure_score(X, edges) == structure_score(table(), EDGES)


def test_equivalent_graphs_score_the_same():
    X = table()
    chains = [[("a", "b"), ("b", "c")], [("b", "a"), ("b", "c")], [("c", "b"), ("b", "a")]]
    for options in ({"score_type": "bic"}, {"score_type": "aic"}, {"score_type": "loglik"},
                    {"ess": 0.3}, {"ess": 7}):
        first, *others = [structure_score(X, chain, **options) for chain in chains]
        assert others == pytest.approx([first, first], rel=1e-12)
        assert structure_score(X, [("a", "b"), ("c", "b")], **options) != pytest.approx(first)


def test_weights_and_levels():
    X = table()
    weights = np.arange(len(X)) % 4
    repeated = X.loc[X.index.repeat(weights)]
    assert structure_score(X, EDGES, sample_weight=weights) == structure_score(repeated, EDGES)
    # A level that is declared and not seen changes every cell's share of the prior.
    declared = structure_score(X, EDGES, categories={"a": [0, 1, 2, 3]})
    assert declared != structure_score(X, EDGES)
    dtype = pd.CategoricalDtype([3, 2, 1, 0])
    assert structure_score(X.astype({"a": dtype}), EDGES) == declared


@pytest.mark.parametrize("n_columns", [40, 345, 420])
def test_more_parent_configurations_than_any_float(n_columns):
    # Every row has a parent configuration of its own: each is worth ln(1/r), whatever the ess.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, size=(12, n_columns))
    X[:8] = np.arange(8)[:, None]
    parents = [(f"x{j}", "x0") for j in range(1, n_columns)]
    alone = structure_score(X, [])
    column = structure_score(X[:, :1], [])
    expected = alone - column + 12 * math.log(1 / 8)
    assert structure_score(X, parents) == pytest.approx(expected, rel=1e-12)
    assert structure_score(X, parents, score_type="loglik") == pytest.approx(
        structure_score(X, [], score_type="loglik")
        - structure_score(X[:, :1], [], score_type="loglik"), rel=1e-12)
    estimator = BayesNetStructureEstimator(init=parents, max_iter=1).fit(X)
    assert np.isfinite(estimator.score_samples(X)).all()
    np.testing.assert_allclose(estimator.predict_proba(X)[0].sum(axis=1), 1.0)
    penalised = structure_score(X, parents, score_type="bic")
    assert penalised < -1e30
    greedy = BayesNetStructureEstimator(score_type="bic", init=parents[:20]).fit(X)
    assert len(greedy.network_.parents("x0")) < 3


class Doubled(BDeu):
    """BDeu twice: a user's own score, evaluated without tables."""

    tabulated = False

    def cell_terms(self, counts, family):
        return 2 * super().cell_terms(counts, family)

    def parent_terms(self, counts, family):
        return 2 * super().parent_terms(counts, family)


def test_a_score_of_ones_own():
    X = table()
    assert isinstance(Doubled(), Score)
    assert structure_score(X, EDGES, score_type=Doubled()) == pytest.approx(
        2 * structure_score(X, EDGES), rel=1e-12
    )


@pytest.mark.parametrize(("options", "kind", "message"), [
    ({"ess": 0}, ValueError, "ess must be a finite number above zero, got 0"),
    ({"ess": -1.0}, ValueError, r"got -1\.0"),
    ({"ess": math.inf}, ValueError, "got inf"),
    ({"ess": math.nan}, ValueError, "got nan"),
    ({"ess": "1"}, TypeError, "ess must be an instance of float, not str"),
    ({"score_type": "BDeu"}, ValueError, "score_type must be one of .* got 'BDeu'"),
    ({"score_type": BDeu}, TypeError, "a class, not an object"),
    ({"score_type": object()}, TypeError, "without cell_terms, parent_terms, constant"),
])
def test_options_that_make_no_sense(options, kind, message):
    with pytest.raises(kind, match=message):
        structure_score(table(), EDGES, **options)


def test_an_estimator_that_is_not_fitted():
    for graph in (BayesNetStructureEstimator(), BayesNetStructureEstimator(init=EDGES)):
        with pytest.raises(TypeError, match="that is not fitted") as caught:
            structure_score(table(), graph)
        assert "pass its edges_" in str(caught.value)


def test_a_graph_of_other_columns():
    X = table()
    estimator = BayesNetStructureEstimator(init=[("a", "target")], max_iter=0)
    estimator.fit(X, pd.Series(X["a"].to_numpy(), name="target"))
    with pytest.raises(ValueError, match="its variable 'target', which is not a column"):
        structure_score(X, estimator)
