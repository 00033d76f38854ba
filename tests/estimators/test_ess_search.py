"""ESSSearchCV: against GridSearchCV and by hand, in everything that scikit-learn does with it."""

import pickle
import re
import warnings

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import (
    ConvergenceWarning,
    FitFailedWarning,
    NotFittedError,
    UndefinedMetricWarning,
    UnsetMetadataPassedError,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder, StandardScaler
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from skbn import (
    BayesNetClassifier,
    BayesNetStructureEstimator,
    ESSSearchCV,
    TabuSearch,
    analytic_ess,
    edge_posteriors,
)


def named(value):
    """A name for a test that is the same in every process."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))

# Small tables have no estimate in some folds, and the ascent says so.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FOLDS = KFold(2, shuffle=True, random_state=0)
GRID = [0.5, 4.0]
POLICIES = {"analytic": "analytic", "map": "marginal_likelihood"}
ESTIMATORS = [BayesNetStructureEstimator, BayesNetClassifier]


def table(n_rows=90, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = pd.DataFrame({
        name: (y + (rng.random(n_rows) < noise) * rng.integers(0, 3, n_rows)) % 3
        for name, noise in {"good": 0.2, "fair": 0.6, "useless": 1.0}.items()
    })
    return X, pd.Series(np.array(["u", "v", "w"])[y], name="kind")


def real_valued(n_rows=90, seed=0):
    X, y = table(n_rows, seed)
    return X + np.random.default_rng(seed).normal(0, 0.2, X.shape), y


def bins():
    return KBinsDiscretizer(3, encode="ordinal", strategy="uniform")


def declared(X, levels):
    """The table with columns of a categorical dtype."""
    return pd.DataFrame({
        name: pd.Categorical(X[name], categories=levels[name]) for name in X.columns
    })


def name_of_ess(estimator):
    return f"{estimator.steps[-1][0]}__ess" if isinstance(estimator, Pipeline) else "ess"


def assert_like_grid_search(
    estimator, X, y=None, *, ess=GRID, cv=FOLDS, fit_params=None, **options
):
    """Fit both on a table whose levels no fold lacks; return ours."""
    fit_params = fit_params or {}
    ours = ESSSearchCV(estimator, ess, cv=cv, **options).fit(X, y, **fit_params)
    theirs = GridSearchCV(estimator, {name_of_ess(estimator): ess}, cv=cv, **options).fit(
        X, y, **fit_params)
    assert_same_results(ours, theirs)
    return ours


def assert_same_results(ours, theirs):
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, expected in theirs.cv_results_.items():
        found = ours.cv_results_[key]
        if "time" in key:
            assert found.shape == expected.shape
            assert (found >= 0).all()
        elif key == "params" or key.startswith("param_"):
            assert list(found) == list(expected)
        elif not key.startswith("rank"):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=key)
    means = theirs.cv_results_["mean_test_score"]
    if len(set(np.round(means, 10))) == len(means):
        assert ours.cv_results_["rank_test_score"].tolist() == (
            theirs.cv_results_["rank_test_score"].tolist())
        assert ours.best_params_ == theirs.best_params_
        assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-12, nan_ok=True)
    assert ours.n_splits_ == theirs.n_splits_


def folds_by_hand(estimator, policy, X, y=None, weights=None, levels=None, score_weights=None):
    """ESS and score of every fold: the estimator fitted on the training part alone."""
    found = []
    for train, test in FOLDS.split(X):
        model = clone(estimator).set_params(ess=policy)
        if levels is not None:
            model.set_params(categories=levels)
        part = [X.iloc[train]] if y is None else [X.iloc[train], y.iloc[train]]
        rest = [X.iloc[test]] if y is None else [X.iloc[test], y.iloc[test]]
        kwargs = {} if weights is None else {"sample_weight": weights[train]}
        model.fit(*part, **kwargs)
        kwargs = {} if score_weights is None else {"sample_weight": score_weights[test]}
        found.append((model.ess_, model.score(*rest, **kwargs)))
    return np.array(found).T


def assert_policies(search, estimator, X, y=None, **options):
    for prefix, policy in POLICIES.items():
        values, scores = folds_by_hand(estimator, policy, X, y, **options)
        np.testing.assert_allclose(getattr(search, f"{prefix}_fold_ess_"), values, rtol=1e-12)
        np.testing.assert_allclose(getattr(search, f"{prefix}_fold_scores_"), scores, rtol=1e-12)
        assert getattr(search, f"{prefix}_score_") == pytest.approx(np.mean(scores), rel=1e-12)
        assert type(getattr(search, f"{prefix}_ess_")) is float
        assert type(getattr(search, f"{prefix}_score_")) is float


# Against GridSearchCV, and the two policies by hand.


@pytest.mark.parametrize(("name", "search"), [
    ("iris", "exact"), ("post_op", "exact"), ("balance", "greedy"), ("page", "greedy"),
])
def test_real_tables(name, search, uci):
    X, levels = uci(name)
    X = declared(X.head(300), levels)
    joint = BayesNetStructureEstimator(search=search, random_state=0)
    found = assert_like_grid_search(joint, X)
    assert_policies(found, joint, X)
    whole = clone(joint).set_params(ess="analytic").fit(X)
    assert found.analytic_ess_ == whole.ess_
    assert found.map_ess_ == clone(joint).set_params(ess="marginal_likelihood").fit(X).ess_
    assert found.analytic_ess_ == pytest.approx(analytic_ess(X, whole).ess, rel=1e-12)
    target = X.columns[-1]
    features, y = X.drop(columns=target), X[target]
    found = assert_like_grid_search(
        BayesNetClassifier(search=search, random_state=0), features, y)
    assert found.analytic_ess_ == pytest.approx(whole.ess_, rel=1e-9)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize("options", [
    {"score_type": "bic"}, {"score_type": "bds"}, {"parameter_ess": 3.0}, {"n_restarts": 2},
    {"search": TabuSearch(tabu_length=3)}, {"max_parents": 1, "graph_prior": 2.0},
    {"required_edges": [("fair", "good")], "init": "tree"}, {"ess": "analytic"},
    {"random_state": np.random.RandomState(3), "search": "first_ascent"},
], ids=lambda options: "+".join(options))
def test_estimators_of_every_kind(options, Estimator):
    X, y = table()
    estimator = Estimator(**{"random_state": 0, **options})
    y = y if Estimator is BayesNetClassifier else None
    found = assert_like_grid_search(estimator, X, y)
    assert_policies(found, estimator, X, y)


@pytest.mark.parametrize("make", [
    lambda X, y: (X.to_numpy(), y.to_numpy()),
    lambda X, y: (X.to_numpy().tolist(), y.tolist()),
    lambda X, y: (X.astype(str), y.astype("category")),
    lambda X, y: (X.astype("category"), y),
    lambda X, y: (pl.from_pandas(X), pl.from_pandas(y)),
    lambda X, y: (pl.from_pandas(X.astype(str)).cast(pl.Categorical), y),
    lambda X, y: (X.set_index(np.arange(len(X)) % 7), y.set_axis(np.arange(len(X)) % 5)),
    lambda X, y: (X.set_axis([3, 1, 2], axis=1), y),
    lambda X, y: (X.astype(bool).assign(good=X["good"].astype(float)), y == "u"),
], ids=["arrays", "lists", "text", "categorical", "polars", "polars categorical", "odd index",
        "integer labels", "bools and floats"])
def test_tables_of_every_kind(make):
    X, y = make(*table())
    for estimator, target in (
        (BayesNetStructureEstimator(random_state=0), None),
        (BayesNetStructureEstimator(random_state=0), y),
        (BayesNetClassifier(random_state=0), y),
    ):
        found = assert_like_grid_search(estimator, X, target)
        assert np.isfinite(found.analytic_ess_)


@pytest.mark.parametrize("cv", [None, 4, StratifiedKFold(3), LeaveOneOut(),
                                [(np.arange(5, 21), np.arange(5)), (np.arange(17), [17, 18])],
                                [(np.arange(21) % 2 == 0, np.arange(21) % 2 == 1)]],
                         ids=["None", "4", "stratified", "leave one out", "pairs", "masks"])
def test_folds_of_every_kind(cv):
    X, y = table(21)
    X, y = X.astype(pd.CategoricalDtype([0, 1, 2])), y.astype(pd.CategoricalDtype(["u", "v", "w"]))
    assert_like_grid_search(BayesNetClassifier(random_state=0), X, y, cv=cv, ess=[1.0])


def test_folds_that_are_drawn_anew():
    X, y = table()
    ours, theirs = (
        search.fit(X, y) for search in (
            ESSSearchCV(BayesNetClassifier(random_state=0), GRID,
                        cv=KFold(3, shuffle=True, random_state=np.random.RandomState(5))),
            GridSearchCV(BayesNetClassifier(random_state=0), {"ess": GRID},
                         cv=KFold(3, shuffle=True, random_state=np.random.RandomState(5))))
    )
    assert_same_results(ours, theirs)
    ESSSearchCV(BayesNetClassifier(), GRID, cv=FOLDS.split(X)).fit(X, y)  # a generator


@pytest.mark.parametrize("ess", [
    (1.0, 5.0), np.array([1, 5]), np.array([5.0], dtype=np.float32), range(1, 3), [5, 1, 5],
    [1, np.float64(3)], [1e-6, 1e8],
], ids=named)
def test_grids_of_every_kind(ess):
    X, y = table()
    found = assert_like_grid_search(BayesNetClassifier(random_state=0), X, y, ess=ess)
    assert len(found.cv_results_["params"]) == len(ess)


def test_a_grid_in_a_series():
    search = ESSSearchCV(BayesNetClassifier(), pd.Series([1, 5], index=[7, 8]), cv=FOLDS)
    assert search.fit(*table()).cv_results_["params"] == [{"ess": 1}, {"ess": 5}]


# Scorers.


def spherical(y_true, proba):
    """A proper score of one's own."""
    columns = np.searchsorted(["u", "v", "w"], y_true)
    return np.mean(proba[np.arange(len(proba)), columns] / np.linalg.norm(proba, axis=1))


def held_out(estimator, X, y):
    return estimator.score_samples(X, y).min()


@pytest.mark.parametrize("scoring", [
    None, "accuracy", "neg_log_loss", "roc_auc_ovr", "balanced_accuracy", "f1_macro", held_out,
    make_scorer(spherical, response_method="predict_proba"),
    make_scorer(log_loss, response_method="predict_proba", greater_is_better=False),
], ids=named)
def test_scorers(scoring):
    X, y = table()
    estimator = BayesNetClassifier(random_state=0)
    found = assert_like_grid_search(estimator, X, y, scoring=scoring)
    for prefix, policy in POLICIES.items():
        by_hand = cross_val_score(
            clone(estimator).set_params(ess=policy), X, y, cv=FOLDS, scoring=scoring)
        np.testing.assert_allclose(getattr(found, f"{prefix}_fold_scores_"), by_hand, rtol=1e-12)
    assert found.score(X, y) == found.scorer_(found.best_estimator_, X, y)


def test_scorers_of_the_joint_model():
    X, y = table()
    joint = BayesNetStructureEstimator(random_state=0)
    assert_like_grid_search(joint, X, y, scoring="neg_log_loss")
    assert_like_grid_search(joint, X, scoring=lambda model, X, y=None: len(model.edges_))


def test_several_scores_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match="scoring"):
        ESSSearchCV(BayesNetClassifier(), GRID, scoring=["accuracy", "neg_log_loss"]).fit(X, y)
    with pytest.raises(TypeError, match="one number, got a dictionary with 'a', 'b'"):
        ESSSearchCV(BayesNetClassifier(), GRID, cv=2,
                    scoring=lambda model, X, y: {"a": 1.0, "b": 2.0}).fit(X, y)


# Pipelines.


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_pipelines_with_bins(Estimator, output):
    X, y = real_valued()
    model = make_pipeline(StandardScaler(), bins(), Estimator(random_state=0, search="exact"))
    model.set_output(transform=output)
    found = assert_like_grid_search(model, X, y)
    assert found.best_params_ == {f"{Estimator.__name__.lower()}__ess": GRID[found.best_index_]}
    assert found.best_estimator_[-1].ess_ == GRID[found.best_index_]
    for prefix, policy in POLICIES.items():
        whole = clone(model).set_params(**{name_of_ess(model): policy}).fit(X, y)
        assert getattr(found, f"{prefix}_ess_") == whole[-1].ess_
        by_hand = cross_val_score(
            clone(model).set_params(**{name_of_ess(model): policy}), X, y, cv=FOLDS)
        np.testing.assert_allclose(getattr(found, f"{prefix}_fold_scores_"), by_hand, rtol=1e-12)
    if Estimator is BayesNetStructureEstimator:
        assert_like_grid_search(model, X)


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_column_transformers(output):
    X, y = real_valued()
    X = X.assign(word=np.where(X["fair"] > 1, "yes", "no"), code=table()[0]["useless"])
    columns = ColumnTransformer([
        ("cut", bins(), ["good", "fair"]),
        ("text", OrdinalEncoder(dtype=int), ["word"]),
        ("kept", "passthrough", ["code"]),
    ])
    model = make_pipeline(columns, BayesNetClassifier(random_state=0)).set_output(transform=output)
    found = assert_like_grid_search(model, X, y)
    assert found.best_score_ > 0.7
    assert list(found.feature_names_in_) == list(X.columns)
    np.testing.assert_array_equal(found.predict(X), found.best_estimator_.predict(X))
    assert_like_grid_search(model, X, y, scoring="neg_log_loss")


@pytest.mark.parametrize("steps", [
    [("only", BayesNetStructureEstimator(random_state=0))],
    [("skip", "passthrough"), ("last", BayesNetStructureEstimator(random_state=0))],
    [("none", None), ("bins", bins()), ("last", BayesNetStructureEstimator(random_state=0))],
    [("bins", make_pipeline(StandardScaler(), bins())),
     ("last", BayesNetStructureEstimator(random_state=0))],
], ids=["alone", "passthrough", "None", "nested"])
def test_odd_pipelines(steps):
    X = real_valued()[0] if "bins" in dict(steps) else table()[0]
    assert_like_grid_search(Pipeline(steps), X)


def test_the_estimator_is_not_touched(tmp_path):
    X, y = real_valued()
    for model in (
        make_pipeline(bins(), BayesNetClassifier(random_state=0)),
        make_pipeline(bins(), BayesNetClassifier(random_state=0), memory=str(tmp_path)),
    ):
        before = repr(model)
        search = ESSSearchCV(model, GRID, cv=FOLDS).fit(X, y)
        assert search.estimator is model
        assert repr(model) == before
        assert not hasattr(model[-1], "network_")
        with pytest.raises(NotFittedError):
            check_is_fitted(model[0])
        assert search.best_estimator_.memory == model.memory


class DrawnBins(KBinsDiscretizer):
    """Bins whose number is drawn at fit: two fits of one object differ."""

    def __init__(self, random_state=None, n_bins=3, encode="ordinal", strategy="uniform"):
        super().__init__(n_bins, encode=encode, strategy=strategy)
        self.random_state = random_state

    def fit(self, X, y=None):
        self.n_bins = int(self.random_state.randint(2, 9))
        return super().fit(X, y)


def test_every_fold_has_a_pipeline_of_its_own():
    X, _ = real_valued(300)
    model = make_pipeline(
        DrawnBins(np.random.RandomState(0)), BayesNetStructureEstimator(random_state=0))
    assert_like_grid_search(model, X)


def test_folds_in_threads():
    X, y = real_valued(400)
    model = make_pipeline(
        KBinsDiscretizer(4, encode="ordinal", strategy="quantile",
                         quantile_method="averaged_inverted_cdf"),
        BayesNetClassifier(random_state=0))
    plain = ESSSearchCV(model, GRID, cv=8, scoring="neg_log_loss").fit(X, y)
    with joblib.parallel_config("threading"):
        threads = ESSSearchCV(model, GRID, cv=8, scoring="neg_log_loss", n_jobs=4).fit(X, y)
    assert_same_numbers(plain, threads)


# Weights and other metadata.


def weights_for(n, seed=1, zeros=False):
    return np.random.default_rng(seed).integers(0 if zeros else 1, 4, n).astype(float)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_weights_without_routing(Estimator):
    X, y = table()
    weights = weights_for(len(X))
    estimator = Estimator(random_state=0)
    found = assert_like_grid_search(estimator, X, y, fit_params={"sample_weight": weights})
    assert_policies(found, estimator, X, y, weights=weights, score_weights=weights)
    assert found.analytic_ess_ == (
        clone(estimator).set_params(ess="analytic").fit(X, y, sample_weight=weights).ess_)
    plain = ESSSearchCV(estimator, GRID, cv=FOLDS).fit(X, y)
    assert not np.allclose(plain.cv_results_["mean_test_score"],
                           found.cv_results_["mean_test_score"], atol=1e-9)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_weights_of_a_step(Estimator):
    X, y = real_valued()
    weights, others = weights_for(len(X)), weights_for(len(X), seed=2)
    bins_with_weights = KBinsDiscretizer(
        3, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    # The name of one step ends with that of the other.
    model = Pipeline([("ba", bins_with_weights), ("a", Estimator(random_state=0))])
    for fit_params in (
        {"a__sample_weight": weights},
        {"ba__sample_weight": others, "a__sample_weight": weights},
        {"ba__sample_weight": others},
    ):
        assert_like_grid_search(model, X, y, fit_params=fit_params)
    with pytest.raises(ValueError, match="sample_weight"):
        ESSSearchCV(model, GRID, cv=FOLDS, error_score="raise").fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_weights_with_routing(Estimator):
    X, y = table()
    weights = weights_for(len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = Estimator(random_state=0).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        fit_params = {"sample_weight": weights}
        found = assert_like_grid_search(model, X, y, fit_params=fit_params)
        assert_policies(found, model, X, y, weights=weights)
        both = clone(model).set_score_request(sample_weight=True)
        found = assert_like_grid_search(both, X, y, fit_params=fit_params)
        assert_policies(found, both, X, y, weights=weights, score_weights=weights)
        pipeline = Pipeline([("code", OrdinalEncoder(dtype=int)), ("net", both)])
        assert_like_grid_search(pipeline, X, y, fit_params=fit_params)
        neither = Estimator(random_state=0).set_fit_request(sample_weight=False)
        neither.set_score_request(sample_weight=True)
        found = assert_like_grid_search(neither, X, y, fit_params=fit_params)
        assert_policies(found, neither, X, y, score_weights=weights)
        renamed = Estimator(random_state=0).set_fit_request(sample_weight="counts")
        renamed.set_score_request(sample_weight=False)
        found = assert_like_grid_search(renamed, X, y, fit_params={"counts": weights})
        assert_policies(found, renamed, X, y, weights=weights)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            ESSSearchCV(Estimator(), GRID, cv=FOLDS).fit(X, y, sample_weight=weights)
        # One level further up.
        outer = cross_validate(
            ESSSearchCV(both, GRID, cv=FOLDS), X, y, cv=2, params=fit_params, error_score="raise")
        assert np.isfinite(outer["test_score"]).all()


def n_levels(model, X, y=None):
    network = model[-1] if isinstance(model, Pipeline) else model
    return len(network.categories_[1])


@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize(("routing", "key"), [
    (False, "sample_weight"), (True, "sample_weight"), (True, "counts"),
])
@pytest.mark.filterwarnings("ignore:The scoring .* does not support sample_weight")
def test_levels_of_rows_of_weight_zero_do_not_count(routing, key, in_pipeline):
    X, _ = table(60)
    weights = weights_for(len(X), zeros=True)
    X = X.astype(str)
    X.loc[(weights == 0).argmax(), "fair"] = "rare"
    with sklearn.config_context(enable_metadata_routing=routing):
        model = BayesNetStructureEstimator(random_state=0)
        if routing:
            model.set_fit_request(sample_weight=True if key == "sample_weight" else key)
        if in_pipeline:
            columns = ColumnTransformer([("kept", "passthrough", list(X))])
            model = Pipeline([("columns", columns), ("net", model)])
            key = key if routing else f"net__{key}"
        search = ESSSearchCV(model, GRID, scoring=n_levels, cv=FOLDS, error_score="raise")
        search.fit(X, **{key: weights})
    assert search.cv_results_["mean_test_score"].tolist() == [3.0, 3.0]
    assert search.analytic_fold_scores_.tolist() == [3.0, 3.0]


def test_groups():
    X, y = table()
    groups = np.arange(len(X)) % 5
    assert_like_grid_search(
        BayesNetClassifier(random_state=0), X, y, cv=GroupKFold(5), fit_params={"groups": groups})
    with sklearn.config_context(enable_metadata_routing=True):
        assert_like_grid_search(
            BayesNetClassifier(random_state=0), X, y, cv=GroupKFold(5),
            fit_params={"groups": groups})
    with pytest.raises(ValueError, match="groups"):
        ESSSearchCV(BayesNetClassifier(), GRID, cv=GroupKFold(5)).fit(X, y)


# What refit chooses.


@pytest.mark.parametrize("refit", [True, "cv"])
def test_refit_with_the_best_of_the_grid(refit):
    X, y = table()
    search = ESSSearchCV(BayesNetClassifier(random_state=0), GRID, cv=FOLDS, refit=refit).fit(X, y)
    assert search.best_index_ == search.cv_results_["mean_test_score"].argmax()
    assert search.best_params_ == {"ess": GRID[search.best_index_]}
    assert search.best_score_ == search.cv_results_["mean_test_score"][search.best_index_]
    assert search.best_estimator_.ess_ == GRID[search.best_index_]
    assert search.refit_time_ >= 0
    by_hand = BayesNetClassifier(random_state=0, ess=search.best_params_["ess"]).fit(X, y)
    assert by_hand.edges_ == search.best_estimator_.edges_
    np.testing.assert_array_equal(by_hand.predict_proba(X), search.predict_proba(X))


@pytest.mark.parametrize("refit", POLICIES)
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_refit_with_a_policy(in_pipeline, refit):
    X, y = table()
    estimator = BayesNetClassifier(random_state=0)
    name = "ess"
    if in_pipeline:
        estimator = Pipeline([("code", OrdinalEncoder(dtype=int)), ("net", estimator)])
        name = "net__ess"
    search = ESSSearchCV(estimator, GRID, cv=FOLDS, refit=refit).fit(X, y)
    chosen = getattr(search, f"{refit}_ess_")
    assert search.best_params_ == {name: chosen}
    assert search.best_score_ == getattr(search, f"{refit}_score_")
    assert not hasattr(search, "best_index_")
    assert search.best_estimator_.get_params()[name] == chosen
    assert np.isfinite(search.score(X, y))
    # Another choice leaves nothing of this one, and the other way round.
    search.set_params(refit="cv").fit(X, y)
    assert search.best_params_ == {name: GRID[search.best_index_]}
    search.set_params(refit=refit).fit(X, y)
    assert not hasattr(search, "best_index_")


def test_without_refit():
    X, y = table()
    search = ESSSearchCV(BayesNetClassifier(random_state=0), GRID, cv=FOLDS, refit=False).fit(X, y)
    theirs = GridSearchCV(BayesNetClassifier(random_state=0), {"ess": GRID}, cv=FOLDS, refit=False)
    assert_same_results(search, theirs.fit(X, y))
    assert np.isfinite([search.analytic_ess_, search.map_ess_]).all()
    for name in ("best_estimator_", "refit_time_", "predict", "predict_proba", "score_samples",
                 "classes_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(search, name), name
    with pytest.raises(AttributeError, match="refit=False"):
        search.score(X, y)


def test_attributes_are_those_of_grid_search_and_the_policies():
    X, y = table()
    ours = ESSSearchCV(BayesNetClassifier(random_state=0), GRID, cv=FOLDS).fit(X, y)
    theirs = GridSearchCV(BayesNetClassifier(random_state=0), {"ess": GRID}, cv=FOLDS).fit(X, y)
    assert {name for name in vars(ours) if name.endswith("_")} == {
        name for name in vars(theirs) if name.endswith("_")
    } | {f"{policy}_{name}_" for policy in POLICIES
         for name in ("ess", "score", "fold_ess", "fold_scores")}
    assert ours.multimetric_ is False
    assert ours.n_features_in_ == 3
    assert list(ours.feature_names_in_) == list(X.columns)
    assert ours.classes_.tolist() == ["u", "v", "w"]
    assert is_classifier(ours)
    assert not is_classifier(ESSSearchCV(BayesNetStructureEstimator(), GRID))
    for policy in POLICIES:
        for name in ("fold_ess", "fold_scores"):
            value = getattr(ours, f"{policy}_{name}_")
            assert value.shape == (2,)
            assert value.dtype == np.float64


def test_delegation():
    X, y = table()
    search = ESSSearchCV(BayesNetClassifier(random_state=0), GRID, cv=FOLDS).fit(X, y)
    best = search.best_estimator_
    for name in ("predict", "predict_proba", "predict_log_proba", "score_samples"):
        np.testing.assert_array_equal(getattr(search, name)(X), getattr(best, name)(X))
    assert search.score(X, y) == best.score(X, y)
    joint = ESSSearchCV(BayesNetStructureEstimator(random_state=0), GRID, cv=FOLDS).fit(X)
    assert joint.score(X) == joint.best_estimator_.score(X)
    np.testing.assert_array_equal(joint.predict(X), joint.best_estimator_.predict(X))
    assert not hasattr(joint, "predict_log_proba")
    with pytest.raises(ValueError, match="feature names"):
        search.predict(X[X.columns[::-1]])
    with pytest.raises(NotFittedError):
        ESSSearchCV(BayesNetClassifier(), GRID).predict(X)


# One graph held fixed.


EDGES = [("good", "fair"), ("kind", "good")]


def adjacency():
    labels = ["good", "fair", "useless", "kind"]
    matrix = np.zeros((4, 4), dtype=int)
    for parent, child in EDGES:
        matrix[labels.index(parent), labels.index(child)] = 1
    return pd.DataFrame(matrix, index=labels, columns=labels)


def fitted():
    return BayesNetStructureEstimator(init=EDGES, max_iter=0).fit(*table())


@pytest.mark.parametrize(("search", "form"), [
    ("greedy", lambda: EDGES), ("exact", lambda: EDGES), ("order", lambda: nx.DiGraph(EDGES)),
    ("greedy", adjacency), ("greedy", lambda: adjacency().to_numpy()), ("greedy", fitted),
    ("exact", lambda: fitted().network_),
], ids=["edges", "edges and exact", "networkx", "frame", "array", "estimator", "network"])
def test_a_fixed_graph(search, form):
    X, y = table()
    graph = form()
    found = ESSSearchCV(BayesNetClassifier(search=search, random_state=0), GRID, graph=graph,
                        cv=FOLDS, scoring="neg_log_loss").fit(X, y)
    assert set(found.best_estimator_.edges_) == set(EDGES)
    fixed = BayesNetClassifier(init=EDGES, max_iter=0)
    theirs = GridSearchCV(fixed, {"ess": GRID}, cv=FOLDS, scoring="neg_log_loss").fit(X, y)
    assert_same_results(found, theirs)
    whole = X.assign(kind=y)
    assert found.analytic_ess_ == pytest.approx(analytic_ess(whole, EDGES).ess, rel=1e-12)
    by_hand = [analytic_ess(whole.iloc[train], EDGES).ess for train, _ in FOLDS.split(X)]
    np.testing.assert_allclose(found.analytic_fold_ess_, by_hand, rtol=1e-12)
    if form is not fitted:  # a clone of it is not fitted
        clone(found).fit(X, y)


def test_a_fixed_graph_in_a_pipeline_and_with_restarts():
    X, y = table()
    model = make_pipeline(
        OrdinalEncoder(dtype=int).set_output(transform="pandas"),
        BayesNetStructureEstimator(n_restarts=3, max_iter=5, init="random", random_state=0))
    found = ESSSearchCV(model, GRID, graph=EDGES, cv=FOLDS).fit(X, y)
    assert set(found.best_estimator_[-1].edges_) == set(EDGES)
    joint = ESSSearchCV(BayesNetStructureEstimator(), GRID, graph=EDGES, cv=FOLDS).fit(X, y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"],
                               joint.cv_results_["mean_test_score"], rtol=1e-12)
    empty = ESSSearchCV(BayesNetStructureEstimator(), GRID, graph=[], cv=FOLDS).fit(X)
    assert empty.best_estimator_.edges_ == []


def test_a_graph_that_does_not_fit():
    X, y = table()
    for graph, error in (
        ([("good", "nobody")], "nobody"), ([("good", "fair"), ("fair", "good")], "cycle"),
        (np.zeros((7, 7)), "adjacency"),
    ):
        with pytest.raises(ValueError, match=error):
            ESSSearchCV(BayesNetClassifier(), GRID, graph=graph, cv=FOLDS).fit(X, y)
    forbidding = BayesNetClassifier(forbidden_edges=[("good", "fair")])
    with pytest.raises(ValueError, match="good"):
        ESSSearchCV(forbidding, GRID, graph=EDGES, cv=FOLDS).fit(X, y)


# Levels that a fold lacks.


@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "pipeline"])
def test_rare_levels(kind):
    X, y = table(60)
    X = X.astype(str)
    X.loc[7, "fair"] = "rare"
    y[11] = "x"  # a class that occurs once
    levels = {"fair": ["0", "1", "2", "rare"], "kind": ["u", "v", "w", "x"]}
    Z, model = X, BayesNetStructureEstimator(random_state=0)
    by_hand = clone(model).set_params(categories=levels)
    if kind == "polars":
        Z, y = pl.from_pandas(X), pl.from_pandas(y)
    elif kind == "array":
        Z = X.to_numpy()
        by_hand.set_params(categories={"x1": levels["fair"], "kind": levels["kind"]})
    elif kind == "pipeline":
        skip = ColumnTransformer([("kept", "passthrough", list(X))],
                                 verbose_feature_names_out=False).set_output(transform="pandas")
        model, by_hand = make_pipeline(skip, model), make_pipeline(skip, by_hand)
    ours = ESSSearchCV(model, GRID, cv=FOLDS, error_score="raise").fit(Z, y)
    theirs = GridSearchCV(by_hand, {name_of_ess(model): GRID}, cv=FOLDS, error_score="raise")
    assert_same_results(ours, theirs.fit(Z, y))
    for policy in POLICIES.values():
        scores = cross_val_score(clone(by_hand).set_params(**{name_of_ess(model): policy}), Z, y,
                                 cv=FOLDS, error_score="raise")
        prefix = "analytic" if policy == "analytic" else "map"
        np.testing.assert_allclose(getattr(ours, f"{prefix}_fold_scores_"), scores, rtol=1e-12)


def test_rare_levels_of_a_real_table(uci):
    X, _ = uci("post_op")
    seen = {column: sorted(X[column].unique()) for column in X.columns}
    ours = ESSSearchCV(BayesNetStructureEstimator(random_state=0), GRID, cv=FOLDS,
                       error_score="raise").fit(X)
    theirs = GridSearchCV(BayesNetStructureEstimator(random_state=0, categories=seen),
                          {"ess": GRID}, cv=FOLDS, error_score="raise").fit(X)
    assert_same_results(ours, theirs)
    assert_policies(ours, BayesNetStructureEstimator(random_state=0), X, levels=seen)


def test_declared_levels_are_kept():
    X, y = table()
    levels = {"fair": [0, 1, 2, 3, 4], "kind": ["u", "v", "w", "never"]}
    model = BayesNetClassifier(categories=levels, random_state=0)
    found = ESSSearchCV(model, GRID, cv=FOLDS).fit(X, y)
    assert found.classes_.tolist() == ["never", "u", "v", "w"]
    assert found.best_estimator_.categories_[1].tolist() == [0, 1, 2, 3, 4]
    assert_policies(found, model, X, y)


# Classes that a test part lacks.

LABELS = ["a", "b", "c"]
FEW_OF_C = ["a", "b"] * 9 + ["a", "c"]  # none of the first ten rows is of class c


def own_log_loss(model, X, y):
    proba = model.predict_proba(X)
    return np.mean([-np.log(row[LABELS.index(c)]) for row, c in zip(proba, y, strict=True)])


def test_a_class_without_a_row_in_a_test_part():
    X = [[0], [1]] * 10
    search = ESSSearchCV(BayesNetClassifier(random_state=0), [1, 10], cv=KFold(2),
                         scoring="neg_log_loss", error_score="raise").fit(X, FEW_OF_C)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], [-0.28800, -0.51541], atol=5e-6)
    assert search.best_params_ == {"ess": 1}
    by_hand = cross_val_score(
        BayesNetClassifier(ess=10, categories={"y": LABELS}, random_state=0), X, FEW_OF_C,
        cv=KFold(2), scoring=lambda *given: -own_log_loss(*given))
    np.testing.assert_allclose(
        [search.cv_results_[f"split{k}_test_score"][1] for k in range(2)], by_hand, rtol=1e-12)


@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize("scoring", [
    "neg_log_loss", "neg_brier_score", "d2_log_loss_score", "d2_brier_score", "top_k_accuracy",
    "roc_auc_ovo", "roc_auc_ovr_weighted",
    make_scorer(log_loss, response_method="predict_proba", greater_is_better=False),
], ids=str)
def test_metrics_are_told_the_classes(scoring, in_pipeline):
    # scikit-learn's own search wants them said by hand, for the model and for the metric.
    X = np.array([[0], [1]] * 10)
    model = BayesNetClassifier(categories={"y": LABELS}, random_state=0)
    model = make_pipeline("passthrough", model) if in_pipeline else model
    scorer = get_scorer(scoring)
    by_hand = make_scorer(
        scorer._score_func, response_method=scorer._response_method,
        greater_is_better=scorer._sign > 0, labels=LABELS, **scorer._kwargs)
    with warnings.catch_warnings():
        # The best two of three; shares that a class without rows has none of.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        ours, theirs = (
            search.fit(X, FEW_OF_C) for search in (
                ESSSearchCV(model, GRID, cv=KFold(2), scoring=scoring, error_score="raise"),
                GridSearchCV(model, {name_of_ess(model): GRID}, cv=KFold(2), scoring=by_hand,
                             error_score="raise"),
            )
        )
    assert_same_results(ours, theirs)
    assert np.isfinite(ours.cv_results_["mean_test_score"]).all()
    assert by_hand._kwargs["labels"] is LABELS
    assert "labels" not in scorer._kwargs


def test_a_test_part_of_one_class():
    X, y = [[0], [1], [1], [0]] * 5, np.array([True] * 10 + [False, True] * 5)
    search = ESSSearchCV(BayesNetClassifier(random_state=0), GRID, cv=KFold(2),
                         scoring="neg_log_loss", error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_labels_that_are_said_stay():
    X = [[0], [1]] * 10
    ours = []
    for labels in (LABELS, [*LABELS, "d"]):
        scorer = make_scorer(
            log_loss, response_method="predict_proba", greater_is_better=False, labels=labels)
        search = ESSSearchCV(BayesNetClassifier(random_state=0), GRID, cv=KFold(2), scoring=scorer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # three columns for four labels
            ours.append(search.fit(X, FEW_OF_C).cv_results_["mean_test_score"])
    assert np.isfinite(ours[0]).all()
    assert np.isnan(ours[1]).all()
    # Of predictions `labels` are another thing: those whose scores are averaged.
    found = ESSSearchCV(BayesNetClassifier(random_state=0), GRID, cv=KFold(2),
                        scoring="f1_macro").fit(X, FEW_OF_C)
    theirs = GridSearchCV(BayesNetClassifier(categories={"y": LABELS}, random_state=0),
                          {"ess": GRID}, cv=KFold(2), scoring="f1_macro").fit(X, FEW_OF_C)
    assert_same_results(found, theirs)


def test_a_metric_without_labels_needs_every_class():
    X = [[0], [1]] * 10
    search = ESSSearchCV(
        BayesNetClassifier(random_state=0), GRID, cv=KFold(2), scoring="average_precision")
    with pytest.warns(UserWarning, match="Scoring failed|are non-finite"):
        search.fit(X, FEW_OF_C)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


# Fits that fail.


class Fails:
    """A score that fails for one ESS, or whenever a row is among those counted."""

    tabulated = False

    def __init__(self, ess=None, n_samples=None):
        self.ess = ess
        self.n_samples = n_samples

    def _check(self, family):
        if family.ess == self.ess or family.n_samples == self.n_samples:
            raise ArithmeticError("not this one")

    def cell_terms(self, counts, family):
        self._check(family)
        return counts * np.log(counts)

    parent_terms = cell_terms

    def constant(self, family):
        return -(family.cardinality - 1.0) * family.n_parent_states


UNEVEN = [(np.arange(30, 90), np.arange(30)), (np.arange(55), np.arange(55, 90)),
          (np.arange(0, 90, 2), np.arange(1, 90, 2))]


@pytest.mark.parametrize("error_score", [np.nan, -7.0])
@pytest.mark.parametrize("failing", [{"ess": 4.0}, {"n_samples": 55}], ids=["one ess", "one fold"])
def test_failing_fits_are_treated_as_by_grid_search(failing, error_score):
    X, _ = table()
    estimator = BayesNetStructureEstimator(score_type=Fails(**failing), max_parents=1,
                                           random_state=0)
    options = {"cv": UNEVEN, "error_score": error_score}
    n_failing = 3 if "ess" in failing else len(GRID)
    found = []
    for search in (ESSSearchCV(estimator, GRID, **options),
                   GridSearchCV(estimator, {"ess": GRID}, **options)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search.fit(X)
        found.append((search, sorted(str(warning.message).split("\n")[1] for warning in caught
                                     if warning.category is FitFailedWarning)))
    assert_same_results(found[0][0], found[1][0])
    assert found[0][1] == found[1][1] == [f"{n_failing} fits failed out of a total of 6."]
    search = found[0][0]
    assert np.isfinite([search.analytic_ess_, search.map_ess_, search.best_estimator_.ess_]).all()
    if "n_samples" in failing:
        for policy in POLICIES:
            assert np.isnan(getattr(search, f"{policy}_fold_ess_")).tolist() == [False, True, False]
            score = getattr(search, f"{policy}_fold_scores_")[1]
            assert score == error_score or np.isnan([score, error_score]).all()


def test_failing_fits_raise_when_asked():
    X, _ = table()
    for failing in ({"ess": 4.0}, {"n_samples": 55}):
        estimator = BayesNetStructureEstimator(score_type=Fails(**failing), max_parents=1)
        with pytest.raises(ArithmeticError, match="not this one"):
            ESSSearchCV(estimator, GRID, cv=UNEVEN, error_score="raise").fit(X)


@pytest.mark.parametrize("error_score", [np.nan, 0.0])
def test_all_fits_failing_raise(error_score):
    X, _ = real_valued()
    for estimator in (BayesNetStructureEstimator(), BayesNetStructureEstimator(max_parents=-1),
                      make_pipeline(StandardScaler(), BayesNetStructureEstimator())):
        with pytest.raises(ValueError, match="All the 4 fits failed"):
            ESSSearchCV(estimator, GRID, cv=FOLDS, error_score=error_score).fit(X)
    with pytest.raises(ValueError, match="real-valued"):
        ESSSearchCV(BayesNetStructureEstimator(), GRID, cv=FOLDS, error_score="raise").fit(X)


def test_parameters_of_the_estimator_are_checked():
    X, _ = table()
    for wrong in ({"max_parents": -1}, {"parameter_ess": -1.0}, {"n_restarts": 0.5}):
        search = ESSSearchCV(BayesNetStructureEstimator(**wrong), GRID, cv=FOLDS,
                             error_score="raise")
        with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter of BayesNet"):
            search.fit(X)


def test_failing_scorers():
    X, y = table()

    def picky(model, X, y):
        if model.ess_ == 4.0:
            raise ArithmeticError("no score")
        return 1.0

    for error_score in (np.nan, -3.0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours = ESSSearchCV(BayesNetClassifier(random_state=0), GRID, cv=FOLDS, scoring=picky,
                               error_score=error_score).fit(X, y)
        assert sum("Scoring failed" in str(warning.message) for warning in caught) == 2
        np.testing.assert_array_equal(
            ours.cv_results_["mean_test_score"], [1.0, error_score])
    with pytest.raises(ArithmeticError, match="no score"):
        ESSSearchCV(BayesNetClassifier(), GRID, cv=FOLDS, scoring=picky,
                    error_score="raise").fit(X, y)


def test_unusable_estimates_warn_and_the_search_goes_on():
    X = np.array([(a, b) for a in range(2) for b in range(2)] * 12)  # uniform
    with pytest.warns(ConvergenceWarning):
        search = ESSSearchCV(
            BayesNetStructureEstimator(search="exact"), GRID, cv=KFold(2), refit="map").fit(X)
    values = [search.analytic_ess_, search.map_ess_, *search.analytic_fold_ess_,
              *search.map_fold_ess_, search.analytic_score_, search.map_score_]
    assert np.isfinite(values).all()
    assert min(values[:2]) > 0
    constant = np.zeros((12, 2), dtype=int)
    with pytest.warns(ConvergenceWarning):
        search = ESSSearchCV(BayesNetStructureEstimator(), GRID, cv=KFold(3),
                             refit="analytic").fit(constant)
    assert search.best_params_ == {"ess": 1.0}


# Bad input.


@pytest.mark.parametrize("ess", [
    [], np.array([]), [0.0], [1.0, 0], [-1.0], [np.nan], [1.0, np.inf], ["a"], ["analytic"],
    [1.0, None], [True, False], [[1.0, 2.0]], [[1.0], [1.0, 2.0]], [1j], 5.0, "abc", None,
    {1.0, 2.0}, {"ess": [1.0]},
], ids=named)
def test_bad_grids(ess):
    with pytest.raises((ValueError, TypeError), match="ess"):
        ESSSearchCV(BayesNetStructureEstimator(), ess, cv=FOLDS).fit(table()[0])


@pytest.mark.parametrize("estimator", [
    LogisticRegression(), StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(BayesNetStructureEstimator(), StandardScaler()),
    make_pipeline(StandardScaler(), "passthrough"), BayesNetStructureEstimator,
    ESSSearchCV(BayesNetStructureEstimator(), [1.0]),
    GridSearchCV(BayesNetStructureEstimator(), {"ess": [1.0]}),
], ids=lambda estimator: getattr(type(estimator), "__name__", "class"))
@pytest.mark.parametrize("graph", [None, []])
def test_estimators_of_another_kind(graph, estimator):
    with pytest.raises(TypeError, match="needs a BayesNetStructureEstimator"):
        ESSSearchCV(estimator, GRID, graph=graph, cv=FOLDS).fit(*table())


@pytest.mark.parametrize(("options", "message"), [
    ({"refit": "best"}, "refit"), ({"refit": 2}, "refit"), ({"cv": 1}, "cv"), ({"cv": []}, "folds"),
    ({"scoring": "nothing"}, "scoring"), ({"error_score": "ignore"}, "error_score"),
    ({"n_jobs": 1.5}, "n_jobs"), ({"estimator": None}, "estimator"),
    ({"estimator": 3}, "estimator"),
])
def test_bad_parameters(options, message):
    X, y = table()
    search = ESSSearchCV(BayesNetClassifier(), GRID).set_params(**options)
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)


def test_bad_tables():
    X, y = table()
    search = ESSSearchCV(BayesNetClassifier(), GRID, cv=FOLDS, error_score="raise")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search.fit(X, y[:-1])
    with pytest.raises(ValueError, match="requires y"):
        search.fit(X)
    with pytest.raises(ValueError, match="n_splits"):
        search.fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="name"):
        search.fit(X.assign(kind=1), y)
    with pytest.raises(ValueError, match="missing"):
        search.fit(X.astype(float).mask(X == 2), y)
    with pytest.raises((TypeError, ValueError)):
        search.fit(X, y, sample_weight=np.full(len(X), -1.0))


# Copies, jobs, nesting, reprs.


def assert_same_numbers(a, b):
    for key, value in a.cv_results_.items():
        if "time" not in key:
            np.testing.assert_array_equal(value, b.cv_results_[key])
    for policy in POLICIES:
        for name in ("ess", "score", "fold_ess", "fold_scores"):
            np.testing.assert_array_equal(
                getattr(a, f"{policy}_{name}_"), getattr(b, f"{policy}_{name}_"))
    assert a.best_params_ == b.best_params_


def test_jobs():
    X, y = real_valued()
    model = make_pipeline(bins(), BayesNetClassifier(random_state=0))
    plain = ESSSearchCV(model, GRID, cv=4, scoring="neg_log_loss").fit(X, y)
    for n_jobs in (1, 2):
        assert_same_numbers(plain, clone(plain).set_params(n_jobs=n_jobs).fit(X, y))


def test_copies(tmp_path):
    X, y = table()
    search = ESSSearchCV(BayesNetClassifier(random_state=0), np.array(GRID), cv=FOLDS).fit(X, y)
    again = clone(search)
    assert not hasattr(again, "best_params_")
    assert_same_numbers(search, again.fit(X, y))
    joblib.dump(search, tmp_path / "search.joblib")
    for copied in (pickle.loads(pickle.dumps(search)), joblib.load(tmp_path / "search.joblib")):
        assert_same_numbers(search, copied)
        np.testing.assert_array_equal(copied.predict_proba(X), search.predict_proba(X))
        copied.fit(X, y)
    assert_same_numbers(search, search.fit(X, y))


def test_parameters():
    search = ESSSearchCV(make_pipeline(bins(), BayesNetClassifier()), GRID)
    assert search.get_params()["estimator__bayesnetclassifier__ess"] == 1.0
    search.set_params(estimator__kbinsdiscretizer__n_bins=5, ess=[2.0])
    assert search.estimator[0].n_bins == 5
    X, y = real_valued()
    assert search.fit(X, y).best_estimator_[0].n_bins == 5
    outer = GridSearchCV(search, {"estimator__kbinsdiscretizer__n_bins": [2, 3]}, cv=2,
                         error_score="raise").fit(X, y)
    assert outer.best_params_["estimator__kbinsdiscretizer__n_bins"] == 3


def test_nested():
    X, y = real_valued()
    inner = ESSSearchCV(BayesNetClassifier(random_state=0), GRID, cv=FOLDS)
    as_a_step = make_pipeline(bins(), inner)
    scores = cross_val_score(as_a_step, X, y, cv=FOLDS, error_score="raise")
    inside = ESSSearchCV(make_pipeline(bins(), BayesNetClassifier(random_state=0)), GRID, cv=FOLDS)
    assert scores.mean() > 0.7
    by_hand = []
    for train, test in FOLDS.split(X):
        search = clone(inside).fit(X.iloc[train], y.iloc[train])
        by_hand.append(search.score(X.iloc[test], y.iloc[test]))
    np.testing.assert_array_equal(
        cross_val_score(inside, X, y, cv=FOLDS, error_score="raise"), by_hand)
    assert cross_val_predict(inside, X, y, cv=2, method="predict_proba").shape == (len(X), 3)
    found = cross_validate(inside, X, y, cv=2, scoring=["accuracy", "neg_log_loss"],
                           return_estimator=True, error_score="raise")
    assert all(len(search.analytic_fold_ess_) == 2 for search in found["estimator"])
    joint = ESSSearchCV(BayesNetStructureEstimator(random_state=0), GRID, cv=FOLDS)
    assert np.isfinite(cross_val_score(joint, table()[0], cv=3, error_score="raise")).all()


def test_reprs():
    X, y = real_valued()
    search = ESSSearchCV(make_pipeline(bins(), BayesNetClassifier()), GRID, graph=[("x0", "x1")])
    assert repr(search).startswith("ESSSearchCV(")
    assert "KBinsDiscretizer" in estimator_html_repr(search)
    search.set_params(graph=None).fit(X, y)
    html = search._repr_html_()
    assert "ESSSearchCV" in html and "BayesNetClassifier" in html and "Fitted" in html
    assert "ESSSearchCV" in estimator_html_repr(make_pipeline(bins(), search))


@pytest.mark.parametrize("verbose", [0, 1, 2, True])
def test_verbose(verbose, capsys):
    X, _ = table()
    ESSSearchCV(BayesNetStructureEstimator(random_state=0), GRID, cv=FOLDS, verbose=verbose).fit(X)
    lines = capsys.readouterr().out.splitlines()
    # One per fold, then one per ESS.
    assert len(lines) == (2 + len(GRID) + 2 if verbose else 0)


def test_nothing_depends_on_global_output():
    X, y = real_valued()
    model = make_pipeline(bins(), BayesNetClassifier(random_state=0))
    plain = ESSSearchCV(model, GRID, cv=FOLDS).fit(X, y)
    for option in ({"transform_output": "pandas"}, {"skip_parameter_validation": True},
                   {"assume_finite": True}):
        with sklearn.config_context(**option):
            found = ESSSearchCV(model, GRID, cv=FOLDS).fit(X, y)
        np.testing.assert_allclose(found.cv_results_["mean_test_score"],
                                   plain.cv_results_["mean_test_score"], rtol=1e-12)


def test_scikit_learn_checks():
    # With bins in front, since the checks feed real-valued columns.
    classifier = BayesNetClassifier(score_type="bic", max_parents=1, random_state=0)
    model = make_pipeline(bins(), classifier)
    with warnings.catch_warnings():
        # scikit-learn's own reading of an infinite y
        warnings.filterwarnings("ignore", "invalid value encountered in cast", RuntimeWarning)
        check_estimator(ESSSearchCV(model, [1.0], cv=2, error_score="raise"), on_skip=None)


@pytest.mark.parametrize("with_y", [False, True])
def test_the_sum_over_all_graphs(with_y):
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    y = (X[:, 0] + 0.3 * rng.random(60) > 0.6).astype(int) if with_y else None
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    model = make_pipeline(bins, BayesNetStructureEstimator(random_state=0))
    grid = [1.0, 30.0, 5.0]
    search = ESSSearchCV(model, grid, cv=2, all_graphs=True).fit(X, y)
    table = bins.fit_transform(X).astype(int)
    if with_y:
        table = np.column_stack([table, y])
    expected = [edge_posteriors(table, ess=ess).log_marginal_likelihood for ess in grid]
    np.testing.assert_allclose(search.log_marginal_likelihood_, expected, rtol=1e-12)
    assert search.all_graphs_ess_ == grid[int(np.argmax(expected))]
    search.set_params(all_graphs=False).fit(X, y)
    assert not hasattr(search, "log_marginal_likelihood_")


def test_a_fitted_pipeline_as_the_graph():
    X = np.random.default_rng(0).integers(3, size=(60, 3))
    X[:40, 1] = X[:40, 0]
    pipe = make_pipeline(bins(), BayesNetStructureEstimator(random_state=0)).fit(X)
    found = ESSSearchCV(pipe, [1.0, 10.0], graph=pipe, cv=2).fit(X)
    assert found.best_estimator_[-1].edges_ == pipe[-1].edges_ != []
