"""A table of estimators by cross-validated log-loss."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    compare_estimators,
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(120, 4))
    X[:100, 1] = X[:100, 0]
    X[0, 3] = 7  # a level that four training sets in five have, and one has not
    return X


def test_joint_losses_by_hand(table):
    greedy = BayesNetStructureEstimator(random_state=0)
    empty = BayesNetStructureEstimator(max_parents=0)
    cv = KFold(4, shuffle=True, random_state=1)
    found = compare_estimators({"empty": empty, "greedy": greedy}, table, cv=cv)
    assert found["estimator"] == ["greedy", "empty"]
    levels = [sorted(set(column)) for column in table.T.tolist()]
    losses = {}
    for name, estimator in (("greedy", greedy), ("empty", empty)):
        losses[name] = [
            -estimator.set_params(categories=levels).fit(table[train]).score(table[test])
            for train, test in cv.split(table)
        ]
    for place, name in enumerate(found["estimator"]):
        assert np.isclose(found["log_loss"][place], np.mean(losses[name]))
        assert np.isclose(found["log_loss_std"][place], np.std(losses[name]))
    apart = np.subtract(losses["empty"], losses["greedy"])
    np.testing.assert_allclose(found["difference"], [0, apart.mean()])
    np.testing.assert_allclose(found["difference_se"], [0, apart.std(ddof=1) / 2])
    assert found["n_edges"][1] == 0 and found["n_edges"][0] >= 1
    assert (found["fit_seconds"] > 0).all()


def test_class_losses_beside_other_classifiers(table):
    y = np.array(["a", "b", "c"])[table[:, 0]]
    estimators = {
        "network": BayesNetClassifier(random_state=0), "shares": DummyClassifier(strategy="prior")
    }
    with parallel_config(backend="threading"):
        found = compare_estimators(estimators, table[:, 1:], y, cv=3, n_jobs=2)
    assert found["estimator"] == ["network", "shares"]
    assert np.isnan(found["n_edges"][1])
    expected = []
    for train, test in StratifiedKFold(3).split(table, y):
        shares = {label: np.mean(y[train] == label) for label in "abc"}
        expected.append(-np.mean([np.log(shares[label]) for label in y[test]]))
    assert np.isclose(found["log_loss"][1], np.mean(expected))


def test_a_class_that_is_not_known_has_probability_0(table):
    X, y = table[:, 1:], np.array(["a", "b"] * 60)
    y[7] = "rare"
    cv = KFold(3)
    estimators = {
        "known": BayesNetClassifier(max_parents=0),
        "of the fold": DummyClassifier(strategy="prior"),
    }
    found = compare_estimators(estimators, X, y, cv=cv)
    assert found["estimator"] == ["known", "of the fold"]
    assert np.isfinite(found["log_loss"][0])
    assert found["log_loss"][1] == found["difference"][1] == np.inf
    assert np.isnan([found["log_loss_std"][1], found["difference_se"][1]]).all()
    found = compare_estimators([DummyClassifier(strategy="uniform")], X, y, cv=cv)
    assert found["log_loss"][0] == np.inf


def test_pipelines_and_frames(table):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(table, columns=list("abcd")).astype("category")
    pipe = make_pipeline("passthrough", BayesNetStructureEstimator(random_state=0))
    result = compare_estimators({"pipe": pipe, "plain": pipe[-1]}, X, cv=3)
    frame = pd.DataFrame(result).set_index("estimator")
    assert frame.loc["pipe", "log_loss"] == frame.loc["plain", "log_loss"]
    assert frame["n_edges"].notna().all()


def test_a_list_is_named_by_class_or_as_written(table):
    weak, strong = (BayesNetStructureEstimator(ess=ess, max_parents=0) for ess in (1.0, 50.0))
    found = compare_estimators([strong, weak], table, cv=2)
    assert set(found["estimator"]) == {repr(weak), repr(strong)}
    pipe = make_pipeline("passthrough", weak)
    found = compare_estimators((weak, pipe), table.clip(max=2), cv=2)
    assert set(found["estimator"]) == {"BayesNetStructureEstimator", "Pipeline"}
    for wrong in ([weak, weak], weak, "greedy"):
        with pytest.raises(TypeError, match="Pass a dictionary of name -> estimator"):
            compare_estimators(wrong, table)


def test_what_cannot_be_compared(table):
    with pytest.raises(ValueError, match="at least one"):
        compare_estimators({}, table)
    with pytest.raises(ValueError, match="at least one"):
        compare_estimators([], table)
    with pytest.raises(ValueError, match="'c' are classifiers, 'j' are not"):
        compare_estimators(
            {"c": BayesNetClassifier(), "j": BayesNetStructureEstimator()}, table, table[:, 0]
        )


def test_missing_cells_as_a_category_and_averages():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(80, 3)).astype(object)
    X[::9, 1] = None
    models = {
        "one": BayesNetStructureEstimator(handle_missing="category", random_state=0),
        "many": BayesNetAverager(handle_missing="category", n_graphs=10, random_state=0),
    }
    found = compare_estimators(models, X, cv=KFold(4))
    assert set(found["estimator"]) == set(models)
    assert np.isfinite(found["log_loss"]).all()


@pytest.mark.parametrize("wrong", [None, 3, BayesNetStructureEstimator])
def test_what_is_no_estimator_is_named(wrong):
    with pytest.raises(TypeError, match="estimators must hold estimators, but 'a' is"):
        compare_estimators({"a": wrong}, [[0, 1], [1, 0]] * 5)


def test_classes_that_no_fit_has_seen_cost_all_there_is():
    found = compare_estimators(
        {"a": make_pipeline(BayesNetClassifier()), "b": make_pipeline(DummyClassifier())},
        [[0], [1], [0], [1]], [0, 0, 1, 2], cv=KFold(2),
    )
    assert np.isposinf(found["log_loss"]).all() and np.isnan(found["difference"]).all()
