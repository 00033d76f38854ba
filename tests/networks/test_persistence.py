"""Pickles load in the version that wrote them, and say so where they do not."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

import skbn
from skbn import BayesNetAverager, BayesNetClassifier, BayesNetStructureEstimator, ESSSearchCV
from skbn.networks import persistence

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (40, 3))
X[:30, 1] = X[:30, 0]
X[:35, 2] = 0
y = np.array(["no", "yes"])[X[:, 0] // 2]
PLAIN = BayesNetStructureEstimator(random_state=0).fit(X)
FITTED = {
    "estimator": PLAIN,
    "classifier": BayesNetClassifier(random_state=0).fit(X, y),
    "averager": BayesNetAverager(n_graphs=5, random_state=0).fit(X),
    "search": ESSSearchCV(BayesNetStructureEstimator(random_state=0), [1.0, 2.0], cv=2).fit(X),
    "network": PLAIN.network_,
}


def predictions(fitted):
    if hasattr(fitted, "network_"):
        return fitted.score_samples(X)
    if hasattr(fitted, "score"):
        return np.array([fitted.score(X)])
    return np.concatenate([np.ravel(fitted.cpt(x).probabilities) for x in fitted.labels])


def of_version(fitted, version, layout):
    """What another version would have written."""
    known = skbn.__version__, persistence.LAYOUT
    try:
        skbn.__version__, persistence.LAYOUT = version, layout
        return pickle.dumps(fitted)
    finally:
        skbn.__version__, persistence.LAYOUT = known


@pytest.mark.parametrize("fitted", FITTED.values(), ids=FITTED)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_this_version(fitted, protocol):
    again = pickle.loads(pickle.dumps(fitted, protocol))
    assert vars(again).keys() == vars(fitted).keys()
    np.testing.assert_array_equal(predictions(again), predictions(fitted))


@pytest.mark.parametrize("fitted", FITTED.values(), ids=FITTED)
def test_copies(fitted):
    for again in (copy.copy(fitted), copy.deepcopy(fitted)):
        assert vars(again).keys() == vars(fitted).keys()
        np.testing.assert_array_equal(predictions(again), predictions(fitted))


@pytest.mark.parametrize("fitted", FITTED.values(), ids=FITTED)
def test_a_version_with_other_attributes_is_refused(fitted):
    written = of_version(fitted, "0.0.7", persistence.LAYOUT - 1)
    with pytest.raises(ValueError, match=r"was pickled by skbn 0\.0\.7") as refused:
        pickle.loads(written)
    assert f"those of skbn {skbn.__version__}" in str(refused.value)
    assert "Load it with the version that wrote it, or fit it again." in str(refused.value)


@pytest.mark.parametrize("fitted", FITTED.values(), ids=FITTED)
def test_a_version_with_the_same_attributes_loads(fitted):
    again = pickle.loads(of_version(fitted, "99.0", persistence.LAYOUT))
    np.testing.assert_array_equal(predictions(again), predictions(fitted))


def test_pickles_from_before_versions_were_written():
    state = PLAIN.__getstate__()
    del state["_skbn_written_by"]
    with pytest.raises(ValueError, match=r"a version before 0\.1\.0"):
        BayesNetStructureEstimator().__setstate__(state)


def test_inside_a_pipeline_and_a_file_of_joblib(tmp_path):
    pipe = make_pipeline(KBinsDiscretizer(2, encode="ordinal", strategy="uniform"),
                         BayesNetClassifier(random_state=0)).fit(RNG.random((40, 3)), y)
    joblib.dump(pipe, tmp_path / "pipe")
    again = joblib.load(tmp_path / "pipe")
    values = RNG.random((5, 3))
    np.testing.assert_array_equal(again.predict_proba(values), pipe.predict_proba(values))
    assert clone(again)[-1].get_params() == clone(pipe)[-1].get_params()


def test_layouts_are_counted():
    """If it fails after a release: raise `persistence.LAYOUT`, and then change this."""
    assert persistence.LAYOUT == 2
    parameters = set(PLAIN.get_params(deep=False))
    assert sorted(set(vars(PLAIN)) - parameters) == ATTRIBUTES
    assert sorted(vars(PLAIN.network_)) == [
        "_children", "_order", "_places", "categories", "file_states", "labels", "parent_indices",
        "tables",
    ]


ATTRIBUTES = [
    "_x_template", "_y_template", "adjacency_", "categories_", "edges_", "ess_", "ess_history_",
    "history_", "n_evaluations_", "n_features_in_", "n_iter_", "network_", "restart_edges_",
    "restart_histories_", "restart_scores_", "structure_score_",
]
