"""In scikit-learn's pipelines, searches, curves, importances and reprs; and on a real table."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, get_scorer_names, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder
from sklearn.utils import estimator_html_repr

from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    ESSSearchCV,
    GreedySearch,
    TabuSearch,
    bootstrap_edges,
    compare_estimators,
    edge_report,
)
from skbn.scores.bayesian import K2, BDeu

FOLDS = KFold(4, shuffle=True, random_state=0)
FIVE = KFold(5, shuffle=True, random_state=0)


def table(n_rows=160, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = pd.DataFrame({
        name: (y + (rng.random(n_rows) < noise) * rng.integers(0, 3, n_rows)) % 3
        for name, noise in {"good": 0.1, "fair": 0.5, "useless": 1.0}.items()
    })
    return X, pd.Series(np.array(["u", "v", "w"])[y], name="kind")


def bins():
    return KBinsDiscretizer(3, encode="ordinal", strategy="uniform")


# Pipelines.


def test_after_a_feature_union():
    # Coarse and fine bins of the same measurements, side by side.
    X, y = load_iris(return_X_y=True)
    both = FeatureUnion([
        ("coarse", bins()),
        ("fine", KBinsDiscretizer(5, encode="ordinal", strategy="uniform")),
    ])
    model = make_pipeline(both, BayesNetClassifier(ess=5.0, random_state=0))
    assert cross_val_score(model, X, y, cv=FOLDS).mean() > 0.9
    fitted = model.fit(X, y)[-1]
    assert fitted.n_features_in_ == 8
    alone = BayesNetClassifier(ess=5.0, random_state=0).fit(both.fit_transform(X), y)
    assert fitted.edges_ == alone.edges_
    np.testing.assert_array_equal(model.predict(X), alone.predict(both.transform(X)))


def test_pipeline_with_bins():
    X, y = load_iris(return_X_y=True, as_frame=True)
    for output in ("default", "pandas"):
        model = make_pipeline(bins(), BayesNetClassifier(random_state=0))
        model.set_output(transform=output)
        assert model.fit(X, y).score(X, y) > 0.9
        names = list(model[-1].network_.labels)
        assert names == ([*X.columns, "target"] if output == "pandas" else
                         ["x0", "x1", "x2", "x3", "target"])
        assert model.predict_proba(X).shape == (150, 3)
    joint = make_pipeline(bins(), BayesNetStructureEstimator(random_state=0)).fit(X)
    assert np.isfinite(joint.score(X))
    assert cross_val_score(model, X, y, cv=FOLDS).mean() > 0.9


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_column_transformer(output):
    rng = np.random.default_rng(0)
    X, y = table()
    X = X.assign(length=rng.normal(size=len(X)), word=np.where(X["fair"] > 0, "yes", "no"))
    columns = ColumnTransformer([
        ("cut", bins(), ["length"]),
        ("text", OrdinalEncoder(dtype=int), ["word"]),
        ("kept", "passthrough", ["good", "useless"]),
    ])
    model = make_pipeline(columns, BayesNetClassifier(random_state=0)).set_output(transform=output)
    assert model.fit(X, y).score(X, y) > 0.8
    if output != "default":
        assert list(model[-1].feature_names_in_) == [
            "cut__length", "text__word", "kept__good", "kept__useless"]
    assert cross_val_score(model, X, y, cv=FOLDS).mean() > 0.8


# Searches.


@pytest.mark.parametrize("grid", [
    {"ess": [0.1, 1, 10.0, 100]},
    {"score_type": ["bdeu", "bic", "k2", "aic", K2()], "ess": [1.0]},
    {"search": ["greedy", "first_ascent", "tabu", "order", GreedySearch()]},
    {"search": [TabuSearch()], "search__tabu_length": [1, 5], "search__patience": [2]},
    {"init": ["empty", "tree", [("kind", "good")]], "n_restarts": [0, 2]},
    {"parameter_ess": [None, 5.0], "max_parents": [None, 1], "graph_prior": [None, 2.0]},
], ids=lambda grid: "+".join(grid))
def test_grid_search(grid):
    X, y = table()
    for estimator in (BayesNetStructureEstimator(random_state=0),
                      BayesNetClassifier(random_state=0)):
        search = GridSearchCV(estimator, grid, cv=FOLDS, error_score="raise").fit(X, y)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        best = search.best_estimator_.get_params()
        for name, value in search.best_params_.items():
            assert repr(best[name]) == repr(value) or name == "search"
        assert isinstance(search.best_estimator_.edges_, list)
        best = cross_val_score(search.best_estimator_, X, y, cv=FOLDS).mean()
        assert search.best_score_ == pytest.approx(best)


def test_nested_parameters_reach_the_search_object():
    estimator = BayesNetStructureEstimator(search=TabuSearch())
    estimator.set_params(search__tabu_length=4)
    assert estimator.search.tabu_length == 4
    copy = clone(estimator)
    assert copy.search is not estimator.search
    assert copy.get_params()["search__tabu_length"] == 4
    with pytest.raises(ValueError, match="Invalid parameter 'tabu' for estimator TabuSearch"):
        estimator.set_params(search__tabu=1)


def test_grid_search_without_a_target_maximises_minus_the_log_loss():
    X, _ = table()
    search = GridSearchCV(
        BayesNetStructureEstimator(random_state=0), {"ess": [0.01, 1.0, 1e4]}, cv=FOLDS).fit(X)
    scores = [
        np.mean([
            BayesNetStructureEstimator(ess=ess, random_state=0).fit(X.iloc[train]).score_samples(
                X.iloc[test]).mean()
            for train, test in FOLDS.split(X)
        ]) for ess in (0.01, 1.0, 1e4)
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_validation_in_threads_and_processes(n_jobs):
    X, y = table()
    model = BayesNetClassifier(random_state=0, score_type=BDeu(), search=TabuSearch())
    scores = cross_validate(
        model, X, y, cv=FOLDS, n_jobs=n_jobs, return_train_score=True,
        scoring=["accuracy", "neg_log_loss", "roc_auc_ovr"], error_score="raise",
    )
    assert (scores["test_accuracy"] > 0.7).all()
    assert (scores["test_neg_log_loss"] > -0.8).all()
    assert (scores["test_roc_auc_ovr"] > 0.9).all()
    assert np.isfinite(scores["train_neg_log_loss"]).all()


@pytest.mark.parametrize("make", [
    lambda X, y: (X, y),
    lambda X, y: (X.to_numpy(), y.to_numpy()),
    lambda X, y: (X.astype("category"), y.astype("category")),
    lambda X, y: (pl.from_pandas(X), pl.from_pandas(y)),
], ids=["pandas", "arrays", "categorical", "polars"])
def test_tables_of_every_kind_go_through_cross_validation(make):
    X, y = make(*table())
    score = cross_val_score(BayesNetClassifier(random_state=0), X, y, cv=StratifiedKFold(4))
    joint = cross_val_score(BayesNetStructureEstimator(random_state=0), X, cv=4)
    assert score.mean() > 0.7
    assert np.isfinite(joint).all()


def test_a_frozen_estimator_is_a_start_that_survives_clones():
    X, y = table()
    fitted = BayesNetStructureEstimator(random_state=0).fit(X, y)
    for init in (FrozenEstimator(fitted), fitted.network_, fitted.edges_, fitted.adjacency_):
        model = BayesNetStructureEstimator(init=init, max_iter=0)
        search = GridSearchCV(model, {"ess": [1.0, 10.0]}, cv=2, error_score="raise").fit(X, y)
        assert search.best_estimator_.edges_ == fitted.edges_
    with pytest.raises(TypeError, match="init is a BayesNetStructureEstimator that is not fitted"):
        clone(BayesNetStructureEstimator(init=fitted)).fit(X, y)
    assert BayesNetStructureEstimator(init=fitted, max_iter=0).fit(X, y).edges_ == fitted.edges_


def test_levels_that_a_fold_lacks():
    X, y = table(n_rows=60)
    X = X.astype(str)
    X.loc[7, "fair"] = "rare"
    with pytest.raises(ValueError, match="Column 'fair' has values that are not among its levels"):
        cross_val_score(BayesNetClassifier(), X, y, cv=FOLDS, error_score="raise")
    levels = ["0", "1", "2", "rare"]
    by_hand = BayesNetClassifier(categories={"fair": levels}, random_state=0)
    by_dtype = BayesNetClassifier(random_state=0)
    declared = X.astype({"fair": pd.CategoricalDtype(levels)})
    scores = [
        cross_val_score(model, Z, y, cv=FOLDS, error_score="raise", scoring="neg_log_loss")
        for model, Z in ((by_hand, X), (by_dtype, declared))
    ]
    np.testing.assert_array_equal(*scores)


def test_classes_that_a_fold_lacks():
    X, y = table(n_rows=60)
    order = np.argsort(y.to_numpy(), kind="stable")
    X, y = X.iloc[order], y.iloc[order]  # folds without shuffling: a class is cut out
    X = X.astype(pd.CategoricalDtype([0, 1, 2]))
    declared = y.astype(pd.CategoricalDtype(["u", "v", "w"]))
    def loss(model, X, target):
        # Its scorer by name takes the classes from the labels of the fold.
        return log_loss(target, model.predict_proba(X), labels=model.classes_)

    found = [
        cross_val_score(model, X, target, cv=KFold(3), scoring=loss, error_score="raise")
        for model, target in (
            (BayesNetClassifier(random_state=0), declared),
            (BayesNetClassifier(categories={"kind": ["u", "v", "w"]}, random_state=0), y),
        )
    ]
    assert np.isfinite(found[0]).all()
    assert (found[0] > 0.5).all()  # what was never seen is not likely
    np.testing.assert_array_equal(*found)


def test_bins_that_are_empty_in_a_training_part():
    X, y = load_wine(return_X_y=True)
    ten = KBinsDiscretizer(10, encode="ordinal", strategy="uniform")
    model = BayesNetClassifier(random_state=0)
    with pytest.raises(ValueError, match=r"categories=\{'x4': range\(0, 10\)\}"):
        cross_val_score(make_pipeline(ten, model), X, y, cv=FIVE, error_score="raise")
    model.set_params(categories=[range(10)] * 13)
    scores = cross_val_score(make_pipeline(ten, model), X, y, cv=FIVE, error_score="raise")
    assert scores.mean() > 0.9


# Classes declared in an order of their own: scikit-learn takes the columns sorted.

CODES = np.random.default_rng(1).permutation(160) % 3
VALUES = {
    "text": np.array(["low", "mid", "high"])[CODES],
    "numbers": np.array([1, 0, 2])[CODES],
    "two texts": np.array(["yes", "no", "yes"])[CODES],
    "two numbers": np.array([1, 0, 1])[CODES],
    "truth values": np.array([True, False, True])[CODES],
}
DECLARE = {
    "categorical": lambda values, order: pd.Series(pd.Categorical(values, order), name="y"),
    "ordered": lambda values, order: pd.Series(pd.Categorical(values, order, ordered=True)),
    "Enum": lambda values, order: pl.Series(values, dtype=pl.Enum(order)),
    "dictionary": lambda values, order: pa.chunked_array([pa.DictionaryArray.from_arrays(
        pa.array([order.index(value) for value in values.tolist()]), pa.array(order))]),
    "categories=": lambda values, order: values,
}
DECLARED = [
    (values, how) for values in VALUES for how in DECLARE
    if how not in ("Enum", "dictionary") or "text" in values
]
METRICS = [
    name for name in get_scorer_names()
    if get_scorer(name)._response_method != "predict"
]


def declared(values, how, model=None):
    """A table, y in descending order, the plain y, and a model that takes both."""
    plain = VALUES[values]
    order = np.unique(plain)[::-1].tolist()
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        name: (CODES + (rng.random(160) < noise) * rng.integers(0, 3, 160)) % 3
        for name, noise in {"good": 0.2, "fair": 0.6}.items()
    })
    given = {"categories": {"y": order}} if how == "categories=" else {}
    model = BayesNetClassifier(random_state=0) if model is None else model
    return X, DECLARE[how](plain, order), plain, model.set_params(**given)


class ByName(ClassifierMixin, BaseEstimator):
    """A classifier that asks the network for each class by its name."""

    def __init__(self, network, classes):
        self.network, self.classes_ = network, classes

    def predict_proba(self, X):
        told = self.network.posterior("y", X)
        return np.column_stack([told[state] for state in self.classes_.tolist()])


@pytest.mark.parametrize("how", DECLARE)
def test_three_doses_by_hand(how):
    X = pd.DataFrame({"dose": [0, 1, 2] * 20})
    order = ["low", "mid", "high"]
    y = DECLARE[how](np.array(order * 20), order)
    model = BayesNetClassifier(
        random_state=0, categories={"y": order} if how == "categories=" else "auto"
    ).fit(X, y)
    assert model.classes_.tolist() == ["high", "low", "mid"]
    assert model.categories_[-1].tolist() == order
    # Of 60 rows 20 have each dose, and all of these the class of the dose; ess 1 over 9 cells.
    own = (20 + 1 / 9) / (20 + 1 / 3)
    for scoring, expected in (
        ("neg_log_loss", np.log(own)), ("roc_auc_ovr", 1.0), ("roc_auc_ovo", 1.0),
        ("average_precision", 1.0),
        ("neg_brier_score", -((1 - own) ** 2 + 2 * ((1 - own) / 2) ** 2)),
        # Against the shares of the classes, a third each.
        ("d2_log_loss_score", 1 - np.log(own) / np.log(1 / 3)),
    ):
        assert get_scorer(scoring)(model, X, y) == pytest.approx(expected, rel=1e-12), scoring


@pytest.mark.parametrize(("values", "how"), DECLARED)
def test_every_scorer_gets_sorted_classes(values, how):
    X, y, plain, model = declared(values, how)
    model.fit(X, y)
    by_name = ByName(model.network_, np.unique(plain))
    assert model.classes_.tolist() == np.unique(plain).tolist()
    np.testing.assert_allclose(model.predict_proba(X), by_name.predict_proba(X), rtol=1e-12)
    judged = 0
    for name in METRICS:
        scorer = get_scorer(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the best two of two classes
            try:
                expected = scorer(by_name, X, plain)
            except ValueError:
                continue  # two texts, of which scikit-learn wants to be told the positive one
            assert scorer(model, X, y) == pytest.approx(expected, rel=1e-9), name
        judged += np.isfinite(expected)
    assert judged >= 7


@pytest.mark.parametrize("how", ["categorical", "ordered", "categories="])
@pytest.mark.parametrize("make", [BayesNetStructureEstimator, BayesNetAverager])
def test_other_estimators_have_sorted_classes(make, how):
    X, y, plain, model = declared("text", how, make(random_state=0))
    model.fit(X, y)
    assert model.classes_.tolist() == ["high", "low", "mid"]
    each = np.column_stack([model.score_samples(X, [c] * len(X)) for c in ("high", "low", "mid")])
    proba = np.exp(each - model.score_samples(X)[:, None])
    np.testing.assert_allclose(model.predict_proba(X), proba, rtol=1e-9)
    assert (model.predict(X) == plain).mean() > 0.8


ENSEMBLES = {
    "search": lambda model: GridSearchCV(
        model, {"ess": [1.0, 30.0]}, cv=FOLDS, scoring="neg_log_loss", error_score="raise"),
    "search of the ess": lambda model: ESSSearchCV(
        model, [1.0, 30.0], cv=FOLDS, scoring="neg_log_loss", error_score="raise"),
    "sigmoid": lambda model: CalibratedClassifierCV(model, cv=FOLDS),
    "isotonic": lambda model: CalibratedClassifierCV(model, method="isotonic", cv=FOLDS),
    "frozen": lambda model: CalibratedClassifierCV(FrozenEstimator(model)),
    "voting": lambda model: VotingClassifier(
        [("bn", model), ("lr", LogisticRegression())], voting="soft"),
    "stacking": lambda model: StackingClassifier(
        [("bn", model), ("lr", LogisticRegression())], cv=FOLDS),
    "one against the rest": lambda model: OneVsRestClassifier(model),
    "pipeline": lambda model: make_pipeline("passthrough", model),
}


@pytest.mark.parametrize("ensemble", ENSEMBLES)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("how", ["categorical", "ordered"])
def test_ensembles_get_sorted_classes(ensemble, values, how):
    X, y, plain, model = declared(values, how)
    of_declared, of_plain = (
        ENSEMBLES[ensemble](model.fit(X, target) if ensemble == "frozen" else clone(model))
        .fit(X, target) for target in (y, plain)
    )
    assert of_declared.classes_.tolist() == np.unique(plain).tolist()
    np.testing.assert_allclose(
        of_declared.predict_proba(X), of_plain.predict_proba(X), rtol=1e-6, atol=1e-9)
    assert (of_declared.predict(X) == plain).mean() > 0.8


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_cross_val_predict_gets_sorted_classes(values, method):
    X, y, plain, model = declared(values, "categorical")
    found = cross_val_predict(model, X, y, cv=FOLDS, method=method)
    expected = np.empty(found.shape)
    for train, test in FOLDS.split(X):
        fitted = clone(model).fit(X.iloc[train], plain[train])
        expected[test] = ByName(fitted.network_, np.unique(plain)).predict_proba(X.iloc[test])
    np.testing.assert_allclose(
        found, np.log(expected) if "log" in method else expected, rtol=1e-9)
    assert (np.unique(plain)[found.argmax(axis=1)] == plain).mean() > 0.8


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frame_of_one_column_is_y_everywhere(kind):
    X, y = table()
    frame = {"pandas": y.to_frame(), "polars": pl.DataFrame({"kind": y.to_numpy()}),
             "pyarrow": pa.table({"kind": y.to_numpy()})}[kind]
    model = BayesNetClassifier(random_state=0)
    fitted = [clone(model).fit(X, target) for target in (y, frame)]
    assert fitted[1].network_.labels[-1] == "kind"
    assert fitted[0].score(X, y) == fitted[1].score(X, frame)
    for judge in (
        lambda y: edge_report(fitted[0], X, y)["log_bayes_factor"],
        lambda y: edge_report([("good", "kind")], X, y, ess=1.0)["log_bayes_factor"],
        lambda y: compare_estimators([model], X, y)["log_loss"],
        lambda y: bootstrap_edges(model, X, y, n_resamples=3, random_state=0).directed,
        lambda y: ESSSearchCV(model, [1.0, 9.0], cv=FOLDS, scoring="neg_log_loss").fit(
            X, y).cv_results_["mean_test_score"],
        lambda y: cross_val_score(model, X, y, cv=FOLDS, scoring="neg_log_loss"),
        lambda y: BayesNetAverager(n_graphs=5, random_state=0).fit(X, y).score_samples(X, y),
    ):
        np.testing.assert_array_equal(judge(y), judge(frame))


# Curves and importances.


def test_learning_and_validation_curves():
    X, y = table()
    sizes, _, test = learning_curve(
        BayesNetClassifier(random_state=0), X, y, cv=FOLDS, train_sizes=[0.2, 1.0], shuffle=True,
        random_state=0, scoring="neg_log_loss", error_score="raise")
    assert sizes.tolist() == [24, 120]
    assert test[1].mean() > test[0].mean()
    _, test = validation_curve(
        BayesNetStructureEstimator(random_state=0), X, None, param_name="ess",
        param_range=[1.0, 1e5], cv=FOLDS)
    assert test[0].mean() > test[1].mean()


@pytest.mark.parametrize("make", [lambda X: X, lambda X: X.to_numpy(),
                                  lambda X: X.astype("category")],
                         ids=["pandas", "array", "categorical"])
def test_permutation_importance(make):
    X, y = table()
    model = BayesNetClassifier(random_state=0).fit(make(X), y)
    found = permutation_importance(model, make(X), y, n_repeats=5, random_state=0)
    assert found.importances_mean.argmax() == 0
    assert found.importances_mean[0] > 0.2
    assert abs(found.importances_mean[2]) < 0.05


# Metadata, sets of options, reprs.


def test_sample_weight_is_routed():
    X, y = table()
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        for Estimator in (BayesNetStructureEstimator, BayesNetClassifier):
            model = Estimator(random_state=0).set_fit_request(sample_weight=True)
            model.set_score_request(sample_weight=True)
            found = cross_validate(model, X, y, cv=FOLDS, params={"sample_weight": weights},
                                   error_score="raise")["test_score"]
            by_hand = [
                Estimator(random_state=0)
                .fit(X.iloc[train], y.iloc[train], sample_weight=weights[train])
                .score(X.iloc[test], y.iloc[test], sample_weight=weights[test])
                for train, test in FOLDS.split(X)
            ]
            np.testing.assert_array_equal(found, by_hand)
            pipeline = make_pipeline(OrdinalEncoder(), clone(model))
            grid = GridSearchCV(pipeline, {f"{Estimator.__name__.lower()}__ess": [1.0, 5.0]}, cv=2,
                                error_score="raise")
            assert np.isfinite(grid.fit(X, y, sample_weight=weights).best_score_)
            plain = Estimator(random_state=0).set_fit_request(sample_weight=False)
            plain.set_score_request(sample_weight=False)
            unweighted = cross_val_score(plain, X, y, cv=FOLDS)
            assert not np.array_equal(unweighted, found)


@pytest.mark.parametrize("estimator", [
    BayesNetStructureEstimator(), BayesNetClassifier(search=TabuSearch(), score_type=BDeu()),
    BayesNetStructureEstimator(init=np.zeros((3, 3)), categories={"good": np.arange(3)}),
    BayesNetStructureEstimator(init=pd.DataFrame(np.zeros((3, 3)))),
], ids=["plain", "objects", "arrays", "frame"])
def test_reprs(estimator):
    name = type(estimator).__name__
    assert name in repr(estimator)
    assert f"{name}" in estimator_html_repr(estimator)
    assert name in estimator._repr_html_()
    if "zeros" not in repr(estimator) and not isinstance(estimator.init, pd.DataFrame):
        X, y = table()
        html = estimator_html_repr(make_pipeline(OrdinalEncoder(), clone(estimator)))
        assert name in html
        if isinstance(estimator, BayesNetClassifier):
            assert "Fitted" in estimator_html_repr(clone(estimator).fit(X, y))


def test_set_config_changes_nothing():
    X, y = table()
    expected = BayesNetClassifier(random_state=0).fit(X, y).predict_proba(X)
    for option in ({"assume_finite": True}, {"transform_output": "pandas"},
                   {"skip_parameter_validation": True}):
        with sklearn.config_context(**option):
            found = BayesNetClassifier(random_state=0).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(found, expected)
