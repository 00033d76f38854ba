"""Learned graphs beside reference graphs, and edges of resampled tables."""

import itertools
import math

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from skbn import (
    BayesNetClassifier,
    BayesNetStructureEstimator,
    bootstrap_edges,
    compare_graphs,
    structural_hamming_distance,
)


def random_edges(rng, n):
    order = rng.permutation(n)
    return [(f"v{order[a]}", f"v{order[b]}") for a, b in itertools.combinations(range(n), 2)
            if rng.random() < 0.4]


def markov_class(edges, labels):
    """Slow twin of the essential graph: all DAGs of the same skeleton and v-structures."""

    def signature(arrows):
        joined = {frozenset(arrow) for arrow in arrows}
        return joined, {
            (frozenset((a, c)), b) for (a, b), (c, d) in itertools.permutations(arrows, 2)
            if b == d and frozenset((a, c)) not in joined
        }

    def acyclic(arrows):
        left = set(labels)
        while left:
            free = {x for x in left if not any(b == x and a in left for a, b in arrows)}
            if not free:
                return False
            left -= free
        return True

    target = signature(edges)
    found = [set(arrows) for arrows in itertools.product(*[((a, b), (b, a)) for a, b in edges])
             if acyclic(arrows) and signature(arrows) == target]
    # What a pair is in all members, or None where they differ.
    return {
        frozenset(edge): edge if all(edge in arrows for arrows in found)
        else edge[::-1] if all(edge[::-1] in arrows for arrows in found) else None
        for edge in edges
    }


def test_figures_against_a_slow_twin():
    rng = np.random.default_rng(0)
    for _ in range(30):
        labels = [f"v{i}" for i in range(5)]
        ours, theirs = random_edges(rng, 5), random_edges(rng, 5)
        found = compare_graphs(ours, theirs, labels=labels)
        a, b = set(ours), set(theirs)
        assert set(found.kept) == a & b
        assert set(found.reversed) == {e for e in a if e[::-1] in b}
        assert set(found.extra) == {e for e in a if e not in b and e[::-1] not in b}
        assert set(found.missing) == {e for e in b if e not in a and e[::-1] not in a}
        assert found.directed == (len(a & b), len(a), len(b))
        pairs, others = ({frozenset(e) for e in edges} for edges in (ours, theirs))
        assert found.skeleton == (len(pairs & others), len(a), len(b))
        first, second = markov_class(ours, labels), markov_class(theirs, labels)
        right = sum(pair in second and first[pair] == second[pair] for pair in first)
        assert found.cpdag == (right, len(a), len(b))
        assert found.shd == structural_hamming_distance(ours, theirs, labels=labels)
        assert found.cpdag_shd == structural_hamming_distance(
            ours, theirs, labels=labels, cpdag=True
        )


def test_equivalent_graphs_agree_in_their_class():
    found = compare_graphs([("a", "b"), ("b", "c")], [("c", "b"), ("b", "a")])
    assert (found.directed.f1, found.skeleton.f1, found.cpdag.f1) == (0, 1, 1)
    assert found.cpdag_shd == 0


def test_graphs_without_edges():
    found = compare_graphs(np.zeros((3, 3)), np.zeros((3, 3)))
    assert math.isnan(found.directed.precision) and math.isnan(found.cpdag.f1)
    found = compare_graphs([("a", "b")], [], labels=["a", "b"])
    assert found.directed.precision == 0 and math.isnan(found.directed.recall)
    assert found.directed.f1 == 0
    assert "nan" in str(found)


def test_any_form_of_graph_and_a_frame():
    pd = pytest.importorskip("pandas")
    networkx = pytest.importorskip("networkx")
    X = np.random.default_rng(0).integers(2, size=(50, 3))
    edges = [("x0", "x1"), ("x2", "x1")]
    bn = BayesNetStructureEstimator(init=edges, max_iter=0).fit(X)
    for graph in (bn, bn.network_, networkx.DiGraph(edges), edges):
        found = compare_graphs(graph, edges)
        assert found.directed.f1 == 1 and found.shd == 0
    frame = pd.DataFrame(compare_graphs(bn, [("x0", "x1")]).to_dict()).set_index("edges")
    assert frame.loc["directed", "precision"] == 0.5 and frame.loc["directed", "recall"] == 1
    with pytest.raises(ValueError, match="reference has"):
        compare_graphs(edges, [("a", "b"), ("b", "a")])


def noisy_chain(n=300):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(n, 4))
    for column in (1, 2):
        X[:, column] = np.where(rng.random(n) < 0.9, X[:, column - 1], X[:, column])
    return X


def test_bootstrap_frequencies():
    X = noisy_chain()
    found = bootstrap_edges(
        BayesNetStructureEstimator(), X, n_resamples=20, random_state=0
    )
    assert found.labels == ["x0", "x1", "x2", "x3"] and found.n_resamples == 20
    np.testing.assert_array_equal(found.strength, found.strength.T)
    assert found.strength[0, 1] == found.strength[1, 2] == 1
    assert found.strength[0, 2] < 0.5 and found.strength[3].max() < 0.5
    assert (found.compelled <= found.directed + 1e-15).all()
    # A chain's directions cannot be told.
    assert found.compelled[0, 1] < 0.5
    np.testing.assert_allclose(found.directed * 20, np.round(found.directed * 20), atol=1e-12)
    with parallel_config(backend="threading"):
        again = bootstrap_edges(
            BayesNetStructureEstimator(), X, n_resamples=20, random_state=0, n_jobs=2
        )
    np.testing.assert_array_equal(found.directed, again.directed)
    other = bootstrap_edges(BayesNetStructureEstimator(), X, n_resamples=20, random_state=1)
    assert (found.directed != other.directed).any()


def test_a_v_structure_is_compelled():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(2000, 3))
    X[:, 2] = (X[:, 0] & X[:, 1]) ^ (rng.random(2000) < 0.05)
    found = bootstrap_edges(BayesNetStructureEstimator(), X, n_resamples=10, random_state=0)
    assert found.compelled[0, 2] > 0.7 and found.compelled[1, 2] > 0.7
    assert found.compelled[2].max() == 0


def test_bootstrap_keeps_levels_names_and_the_estimator():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(noisy_chain(60), columns=list("abcd"))
    X.loc[0, "a"] = 9  # in no resample that leaves out this row
    clf = BayesNetClassifier()
    seen = []

    class Recorder(BayesNetClassifier):
        def fit(self, X, y=None, sample_weight=None):
            super().fit(X, y, sample_weight)
            seen.append([levels.tolist() for levels in self.categories_])
            assert sample_weight.sum() == 60
            return self

    found = bootstrap_edges(Recorder(), X[["a", "b", "c"]], X["d"], n_resamples=6, random_state=0)
    assert all(levels == [[0, 1, 9], [0, 1], [0, 1], [0, 1]] for levels in seen)
    frame = found.to_frame()
    assert list(frame.index) == list(frame.columns) == list("abcd")
    assert frame.loc["a", "b"] == found.directed[0, 1]
    np.testing.assert_array_equal(found.to_frame("strength").to_numpy(), found.strength)
    with pytest.raises(ValueError, match="what must be"):
        found.to_frame("edges")
    assert not hasattr(clf, "network_")
    with pytest.raises(ValueError, match="n_resamples"):
        bootstrap_edges(clf, X, n_resamples=0)


def test_one_resample_is_a_fit_with_weights():
    X = noisy_chain(40)
    found = bootstrap_edges(BayesNetStructureEstimator(), X, n_resamples=1, random_state=3)
    row_seed, search_seed = np.random.RandomState(3).randint(np.iinfo(np.int32).max, size=2)
    rows = np.random.default_rng(row_seed).integers(40, size=40)
    bn = BayesNetStructureEstimator(random_state=int(search_seed), categories=[[0, 1]] * 4)
    np.testing.assert_array_equal(found.directed, bn.fit(X[rows]).adjacency_)


def test_bootstrap_of_a_pipeline_fits_its_steps_on_every_resample():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 3))
    X[:, 1] += X[:, 0]
    y = (X[:, 1] > 0).astype(int)
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    pipe = make_pipeline(bins, BayesNetClassifier(random_state=0))
    found = bootstrap_edges(pipe, X, y, n_resamples=4, random_state=2)
    assert found.labels == ["x0", "x1", "x2", "y"]
    # The same by hand, with rows that are there several times.
    seeds = np.random.RandomState(2).randint(np.iinfo(np.int32).max, size=(4, 2))
    directed = np.zeros((4, 4))
    for row_seed, search_seed in seeds.tolist():
        rows = np.random.default_rng(row_seed).integers(150, size=150)
        levels = [sorted(set(column)) for column in clone(bins).fit(X[rows]).transform(X).T]
        model = clone(pipe).set_params(
            bayesnetclassifier__random_state=search_seed, bayesnetclassifier__categories=levels
        )
        directed += model.fit(X[rows], y[rows])[-1].adjacency_ / 4
    np.testing.assert_allclose(found.directed, directed)
    frame = bootstrap_edges(
        make_pipeline("passthrough", pipe[-1]), pd.DataFrame(X > 0, columns=list("abc")), y,
        n_resamples=2, random_state=0,
    )
    assert frame.labels == ["a", "b", "c", "y"]


def test_steps_see_the_classes_of_the_rows_drawn():
    class Checks(TransformerMixin, BaseEstimator):
        def fit(self, X, y):
            np.testing.assert_array_equal(X[:, 0], y)
            self.seen_ = len(y)
            return self

        def transform(self, X):
            return X

    X = np.random.default_rng(0).integers(3, size=(50, 2))
    found = bootstrap_edges(
        make_pipeline(Checks(), BayesNetClassifier()), X, X[:, 0], n_resamples=3, random_state=0)
    assert found.strength[0, 2] == 1


def test_bootstrap_says_what_it_takes():
    pytest.importorskip("pandas")
    X = np.random.default_rng(0).integers(3, size=(60, 4))
    bn = BayesNetStructureEstimator()
    for wrong, found in ((GridSearchCV(bn, {"ess": [1.0]}), "got GridSearchCV"),
                         (make_pipeline(OrdinalEncoder()), "got Pipeline that ends in Ordinal")):
        with pytest.raises(TypeError, match=f"{found}.*pass best_estimator_"):
            bootstrap_edges(wrong, X)
    best = make_pipeline(SelectKBest(k=2), bn).set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"columns .* of one resample and .* of another"):
        bootstrap_edges(best, X, X[:, 0] % 2 ^ X[:, 1] % 2, n_resamples=20, random_state=0)


@pytest.mark.parametrize("compare", [compare_graphs, structural_hamming_distance])
def test_labels_and_graphs_that_are_none_are_refused(compare):
    edges = [("a", "b")]
    for labels, error, message in ((["a", "b", "a"], ValueError, "labels has 'a' twice"),
                                   (3, TypeError, "labels must be a list of names, got 3"),
                                   ([["a"], "b"], TypeError, r"but holds \['a'\]")):
        with pytest.raises(error, match=message):
            compare(edges, edges, labels=labels)
    for wrong in (3, None, [3], b"ab", np.array(1), object()):
        with pytest.raises((TypeError, ValueError), match=r"must|names"):
            compare(edges, wrong)
        with pytest.raises((TypeError, ValueError), match=r"must|names"):
            compare(wrong, edges)


def test_bootstrap_refuses_dictionaries_and_numbers_of_jobs_that_are_none():
    bn = BayesNetStructureEstimator()
    with pytest.raises(TypeError, match="X must be an array or a data frame, got a dictionary"):
        bootstrap_edges(make_pipeline("passthrough", bn), {"a": [1, 2], "b": [3, 4]})
    for n_jobs in (1.5, "two"):
        with pytest.raises(TypeError, match="n_jobs must be an instance of int"):
            bootstrap_edges(bn, [[0, 1], [1, 0]] * 5, n_jobs=n_jobs)
