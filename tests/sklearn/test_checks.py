"""scikit-learn's own checks, and on integer columns those that feed real-valued ones."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks, shuffle
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skbn import BayesNetClassifier, BayesNetStructureEstimator, TabuSearch

REAL_VALUED = "The check feeds real-valued columns, which are refused."
SUMMED_OUT = "The check wants NaN refused at prediction, where it is summed out."


def expected(estimator):
    """The checks that fail, and why."""
    checks = {"check_sample_weight_equivalence_on_dense_data": REAL_VALUED}
    if isinstance(estimator, BayesNetClassifier):
        checks["check_classifiers_one_label_sample_weights"] = REAL_VALUED
    if estimator.handle_missing == "category":
        # The check for NaN is not run: the tag says that it is taken.
        checks["check_positive_only_tag_during_fit"] = REAL_VALUED
    else:
        checks["check_estimators_nan_inf"] = SUMMED_OUT
    return checks


ESTIMATORS = [
    BayesNetStructureEstimator(),
    BayesNetClassifier(),
    BayesNetStructureEstimator(
        score_type="bic", search=TabuSearch(tabu_length=3), init="tree", n_restarts=1
    ),
    BayesNetClassifier(search="first_ascent", score_type="k2", max_parents=2, parameter_ess=2.0),
    BayesNetStructureEstimator(handle_missing="category", handle_unknown="missing"),
    BayesNetClassifier(handle_missing="category", handle_unknown="missing"),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [*ESTIMATORS[:2], *ESTIMATORS[-2:]], ids=repr)
def test_exactly_the_expected_checks_fail_and_none_is_skipped(estimator):
    results = check_estimator(
        estimator, expected_failed_checks=expected(estimator), on_skip=None
    )
    status = {result["check_name"]: result["status"] for result in results}
    assert {name for name, found in status.items() if found == "xfail"} == set(
        expected(estimator)
    )
    # Skipped where the environment does not switch it on, whatever the estimator.
    assert {name for name, found in status.items() if found == "skipped"} <= {
        "check_array_api_input"
    }
    for result in results:
        if result["check_name"] == "check_estimators_nan_inf" and result["status"] == "xfail":
            assert str(result["exception"]).endswith("doesn't check for NaN and inf in predict.")
        elif result["status"] == "xfail":
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


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_nan_and_infinity_on_integer_columns(estimator):
    rng = np.random.RandomState(0)
    finite = rng.randint(0, 3, size=(30, 3)).astype(float)
    y = np.arange(30) % 2
    takes_nan = estimator.handle_missing == "category"
    assert estimator.__sklearn_tags__().input_tags.allow_nan == takes_nan
    assert not BayesNetClassifier().__sklearn_tags__().input_tags.allow_nan
    for bad in (np.nan, np.inf, -np.inf):
        X = finite.copy()
        X[2, 1] = bad
        fitted = clone(estimator).fit(finite, y)
        if np.isnan(bad):
            # Brute force: what the row may have been, weighted by its probability.
            completions = np.tile(X[2], (3, 1))
            completions[:, 1] = [0, 1, 2]
            summed = np.log(np.exp(fitted.score_samples(completions)).sum())
            assert fitted.score_samples(X)[2] == pytest.approx(summed, rel=1e-12)
            for one, other in zip(outputs(fitted, X), outputs(fitted, finite), strict=True):
                others = np.arange(30) != 2
                np.testing.assert_allclose(one[others], other[others], rtol=1e-12)
        else:
            for method in ("predict", "predict_proba", "score_samples"):
                with pytest.raises(ValueError, match="contains infinity"):
                    getattr(fitted, method)(X)
        if takes_nan and np.isnan(bad):
            assert np.isnan(clone(estimator).fit(X, y).categories_[1][-1])
        else:
            with pytest.raises(ValueError, match=r"'x1' (has 1 missing|contains infinity)"):
                clone(estimator).fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS[-2:], ids=repr)
def test_the_tags_do_not_ask_for_positive_values_and_integers_below_zero_are_levels(estimator):
    rng = np.random.RandomState(0)
    X = rng.randint(-3, 0, size=(30, 3))
    assert not estimator.__sklearn_tags__().input_tags.positive_only
    assert clone(estimator).fit(X, np.arange(30) % 2).categories_[0].tolist() == [-3, -2, -1]


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


@pytest.mark.parametrize("estimator", [ESTIMATORS[1], ESTIMATORS[3], ESTIMATORS[5]], ids=repr)
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
