"""scikit-learn's own checks, and on integer columns those that feed real-valued ones."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks, shuffle
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skbn import BayesNetClassifier, BayesNetStructureEstimator, TabuSearch

REAL_VALUED = "The check feeds real-valued columns, which are refused."
EXPECTED = {
    BayesNetStructureEstimator: {"check_sample_weight_equivalence_on_dense_data": REAL_VALUED},
    BayesNetClassifier: {
        "check_sample_weight_equivalence_on_dense_data": REAL_VALUED,
        "check_classifiers_one_label_sample_weights": REAL_VALUED,
    },
}
ESTIMATORS = [
    BayesNetStructureEstimator(),
    BayesNetClassifier(),
    BayesNetStructureEstimator(
        score_type="bic", search=TabuSearch(tabu_length=3), init="tree", n_restarts=1
    ),
    BayesNetClassifier(search="first_ascent", score_type="k2", max_parents=2, parameter_ess=2.0),
]


@parametrize_with_checks(
    ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED[type(estimator)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS[:2], ids=lambda e: type(e).__name__)
def test_exactly_the_expected_checks_fail_and_none_is_skipped(estimator):
    results = check_estimator(
        estimator, expected_failed_checks=EXPECTED[type(estimator)], on_skip=None
    )
    status = {result["check_name"]: result["status"] for result in results}
    assert {name for name, found in status.items() if found == "xfail"} == set(
        EXPECTED[type(estimator)]
    )
    # Skipped where the environment does not switch it on, whatever the estimator.
    assert {name for name, found in status.items() if found == "skipped"} <= {
        "check_array_api_input"
    }
    for result in results:
        if result["status"] == "xfail":
            # The refusal, and nothing else, is what fails them.
            error = result["exception"]
            assert "is real-valued" in str(error) or "is real-valued" in str(error.__cause__)


@pytest.mark.parametrize("check", [
    "check_dataframe_column_names_consistency",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_get_params_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_param_validation",
    "check_set_params",
    "check_no_attributes_set_in_init",
    "check_dont_overwrite_parameters",
    "check_estimators_overwrite_params",
    "check_methods_subset_invariance",
    "check_methods_sample_order_invariance",
    "check_readonly_memmap_input",
])
@pytest.mark.parametrize("estimator", ESTIMATORS[:2], ids=lambda e: type(e).__name__)
def test_checks_by_name(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, clone(estimator))


# The logic of the checks that are expected to fail, on columns that can be read.


def outputs(estimator, X):
    proba = estimator.predict_proba(X)
    columns = proba if isinstance(proba, list) else [proba]
    return [estimator.predict(X), estimator.score_samples(X), *columns]


@pytest.mark.parametrize("with_y", [True, False])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_weights_are_equivalent_to_repetition_and_removal(estimator, with_y):
    if not with_y and isinstance(estimator, BayesNetClassifier):
        pytest.skip("a classifier has a y")
    rng = np.random.RandomState(42)
    X = rng.randint(0, 3, size=(15, 30))
    y = rng.randint(0, 3, size=15)
    weights = rng.randint(0, 5, size=15)
    assert (weights == 0).any()
    repeated = clone(estimator).set_params(random_state=0)
    repeated.fit(X.repeat(weights, axis=0), y.repeat(weights) if with_y else None)
    shuffled, y_shuffled, w_shuffled = shuffle(X, y, weights, random_state=0)
    weighted = clone(estimator).set_params(random_state=0)
    weighted.fit(shuffled, y_shuffled if with_y else None, sample_weight=w_shuffled)
    assert weighted.edges_ == repeated.edges_
    assert weighted.structure_score_ == repeated.structure_score_
    assert all(
        np.array_equal(a, b)
        for a, b in zip(weighted.categories_, repeated.categories_, strict=True)
    )
    kept = X[weights > 0]
    for a, b in zip(outputs(weighted, kept), outputs(repeated, kept), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("estimator", [ESTIMATORS[1], ESTIMATORS[3]], ids=repr)
def test_a_single_class_left_by_the_weights_is_predicted(estimator):
    rng = np.random.RandomState(0)
    X, X_test = rng.randint(0, 2, size=(2, 10, 10))
    y = np.arange(10) % 2
    classifier = clone(estimator).fit(X, y, sample_weight=y)
    assert classifier.classes_.tolist() == [1]
    seen = X[y == 1]
    assert all(
        np.array_equal(levels, np.unique(column))
        for levels, column in zip(classifier.categories_[:-1], seen.T, strict=True)
    )
    X_test = np.where(X_test > seen.max(axis=0), seen.max(axis=0), X_test)
    X_test = np.where(X_test < seen.min(axis=0), seen.min(axis=0), X_test)
    np.testing.assert_array_equal(classifier.predict(X_test), np.ones(10))
    np.testing.assert_array_equal(classifier.predict_proba(X_test), np.ones((10, 1)))
