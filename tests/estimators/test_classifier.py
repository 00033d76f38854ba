"""The classifier: the same model, with classes and accuracy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_predict

from skbn import BayesNetClassifier, BayesNetStructureEstimator


def table(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    noisy = [(y + (rng.random(n_rows) < p) * rng.integers(0, 3, n_rows)) % 3 for p in (0.2, 0.5)]
    return np.column_stack([*noisy, rng.integers(0, 2, n_rows)]), y


def test_it_is_the_estimator_with_accuracy_as_score():
    X, y = table()
    classifier = BayesNetClassifier(ess=3.0, n_restarts=2, random_state=0).fit(X, y)
    estimator = BayesNetStructureEstimator(ess=3.0, n_restarts=2, random_state=0).fit(X, y)
    assert is_classifier(classifier)
    assert not is_classifier(estimator)
    assert classifier.get_params() == estimator.get_params()
    assert classifier.edges_ == estimator.edges_
    assert classifier.structure_score_ == estimator.structure_score_
    proba = classifier.predict_proba(X)
    np.testing.assert_array_equal(proba, estimator.predict_proba(X))
    np.testing.assert_array_equal(classifier.predict(X), estimator.predict(X))
    np.testing.assert_array_equal(classifier.score_samples(X, y), estimator.score_samples(X, y))
    np.testing.assert_array_equal(classifier.score_samples(X), estimator.score_samples(X))
    assert classifier.score(X, y) == accuracy_score(y, estimator.predict(X))
    weights = np.arange(len(y))
    assert classifier.score(X, y, sample_weight=weights) == pytest.approx(
        np.average(classifier.predict(X) == y, weights=weights)
    )
    np.testing.assert_allclose(classifier.predict_log_proba(X), np.log(proba))


def test_naive_bayes_by_hand():
    X, y = table()
    edges = [("y", f"x{i}") for i in range(3)]
    classifier = BayesNetClassifier(init=edges, max_iter=0, ess=1.5).fit(X, y)
    joint = np.empty((len(X), 3))
    for k in range(3):
        chosen = y == k
        joint[:, k] = (chosen.sum() + 1.5 / 3) / (len(y) + 1.5)
        for column, r in zip(X.T, (3, 3, 2), strict=True):
            same = np.array([(column[chosen] == value).sum() for value in column])
            joint[:, k] *= (same + 1.5 / (3 * r)) / (chosen.sum() + 1.5 / 3)
    np.testing.assert_allclose(
        classifier.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), rtol=1e-12
    )


def test_weights_count_as_repeated_rows():
    X, y = table()
    weights = np.arange(len(y)) % 4
    kept = np.repeat(np.arange(len(y)), weights)
    weighted = BayesNetClassifier(random_state=0).fit(X, y, weights)
    repeated = BayesNetClassifier(random_state=0).fit(X[kept], y[kept])
    assert weighted.edges_ == repeated.edges_
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-12)


def test_a_target_is_required():
    X, y = table()
    message = "BayesNetClassifier requires y to be passed, but the target y is None"
    with pytest.raises(ValueError, match=message):
        BayesNetClassifier().fit(X, None)
    with pytest.raises(TypeError, match="y"):
        BayesNetClassifier().fit(X)
    # Predictions and marginal scores need none.
    assert BayesNetClassifier().fit(X, y).score_samples(X).shape == (len(X),)


@pytest.mark.parametrize(("y", "message"), [
    (np.linspace(0, 1, 120) + 0.5, "Unknown label type: continuous"),
    (np.r_[np.nan, np.ones(119)], "Column 'y' has 1 missing value"),
    (np.ones((120, 2), dtype=int), "y should be a 1d array"),
    (np.ones(119, dtype=int), "X has 120 rows, but y has 119"),
    (np.ma.array(np.ones(120, dtype=int), mask=np.arange(120) == 5), "1 masked cells"),
])
def test_targets_that_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        BayesNetClassifier().fit(table()[0], y)


@pytest.mark.parametrize("levels", [["u", "v", "never", "w"], ["never", "w", "v", "u"]])
def test_declared_classes_that_do_not_occur(levels):
    X, codes = table()
    y = np.array(["u", "v", "w"])[codes]
    by_hand = BayesNetClassifier(categories={"y": levels}, random_state=0).fit(X, y)
    by_dtype = BayesNetClassifier(random_state=0).fit(X, pd.Categorical(y, categories=levels))
    for classifier in (by_hand, by_dtype):
        assert classifier.categories_[-1].tolist() == levels
        assert classifier.classes_.tolist() == ["never", "u", "v", "w"]
        proba = classifier.predict_proba(X)
        assert proba.shape == (len(X), 4)
        assert (proba > 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert proba[:, 0].max() < 0.1
        assert set(classifier.predict(X)) <= {"u", "v", "w"}
    np.testing.assert_array_equal(by_hand.predict_proba(X), by_dtype.predict_proba(X))


def test_a_class_that_is_not_declared_is_refused():
    X, y = table()
    with pytest.raises(ValueError, match="Column 'y' has values that are not among its levels: 2"):
        BayesNetClassifier(categories={"y": [0, 1]}).fit(X, y)


def test_classes_of_several_types():
    X, codes = table()
    y = pd.Series(pd.Categorical.from_codes(codes, categories=["b", 1, "a"]))
    with pytest.raises(TypeError, match=r"Classes must be of one type.*y\.astype\(str\)"):
        BayesNetClassifier().fit(X, y)
    # They cannot be sorted: they stay as they are.
    estimator = BayesNetStructureEstimator(random_state=0).fit(X, y)
    assert estimator.classes_.tolist() == ["b", 1, "a"]
    by_name = estimator.network_.posterior("y", pd.DataFrame(X, columns=["x0", "x1", "x2"]))
    np.testing.assert_allclose(estimator.predict_proba(X), by_name.probabilities, rtol=1e-12)


def test_one_class():
    X, y = table()
    classifier = BayesNetClassifier(random_state=0).fit(X, np.zeros_like(y))
    assert classifier.classes_.tolist() == [0]
    np.testing.assert_array_equal(classifier.predict_proba(X), np.ones((len(X), 1)))
    assert classifier.score(X, np.zeros_like(y)) == 1.0


def test_the_order_of_declared_classes_changes_nothing():
    X, y = table()
    orders = [[0, 1, 2], [2, 0, 1]]
    edges = [("x0", "y"), ("x1", "y"), ("y", "x2")]
    probas = [
        BayesNetClassifier(categories={"y": order}, init=edges, max_iter=0).fit(X, y)
        .predict_proba(X)
        for order in orders
    ]
    np.testing.assert_allclose(*probas, rtol=1e-14)


def test_a_class_that_a_fold_lacks():
    X, y = table(n_rows=60)
    y[:] = np.arange(60) // 20  # KFold without shuffling leaves each class out once.
    classifier = BayesNetClassifier(categories={"y": [0, 1, 2]}, random_state=0)
    proba = cross_val_predict(classifier, X, y, cv=[
        (np.flatnonzero(y != k), np.flatnonzero(y == k)) for k in range(3)
    ], method="predict_proba")
    assert proba.shape == (60, 3)
    assert (proba > 0).all()
