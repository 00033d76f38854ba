"""Missing and unknown cells through the estimators."""

import io
import itertools
import pickle
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from skbn import (
    BayesNetClassifier,
    BayesNetStructureEstimator,
    ESSSearchCV,
    analytic_ess,
    edge_report,
    ess_path,
    read_bif,
    structure_score,
)


def complete_table(seed=0, n_rows=300):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n_rows)
    b = np.where(rng.random(n_rows) < 0.7, a, rng.integers(0, 3, n_rows))
    c = np.where(rng.random(n_rows) < 0.8, b > 0, rng.random(n_rows) < 0.5)
    d = np.where(rng.random(n_rows) < 0.6, c, rng.integers(0, 2, n_rows)).astype(float)
    return pd.DataFrame({"a": np.array(list("xyz"), dtype=object)[a], "b": b, "c": c, "d": d})


X = complete_table()
Y = pd.Series(np.where(np.random.default_rng(1).random(300) < 0.7, X["b"], 2), name="t")
HOLES = np.random.default_rng(2).random(X.shape) < 0.2
WITH_GAPS = X.astype(object).mask(HOLES)
FITTED = BayesNetStructureEstimator(random_state=0).fit(X)
CLASSIFIER = BayesNetClassifier(random_state=0).fit(X, Y)


def completions(row, free=()):
    """Every complete row that agrees with what the row has; `free` columns take all states."""
    levels = dict(zip(X.columns, FITTED.categories_, strict=True))
    options = [
        levels[name].tolist() if name in free or pd.isna(state) else [state]
        for name, state in row.items()
    ]
    return pd.DataFrame(list(itertools.product(*options)), columns=X.columns)


MAKERS = {
    "object": lambda t: t,
    "inferred": lambda t: t.infer_objects(),
    "nullable": lambda t: t.convert_dtypes(),
    "category": lambda t: t.astype("category"),
    "pyarrow dtypes": lambda t: t.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "pyarrow": lambda t: pa.Table.from_pandas(t, preserve_index=False),
    "array": lambda t: t.to_numpy(),
    "None": lambda t: t.where(t.notna(), None).to_numpy(),
    "lists": lambda t: t.to_numpy().tolist(),
}


# Prediction.


@pytest.mark.parametrize("kind", MAKERS)
def test_missing_cells_are_summed_out_in_every_kind_of_table(kind):
    make = MAKERS[kind]
    part = WITH_GAPS.head(20)
    fitted = clone(FITTED).fit(make(X.astype(object)) if kind != "array" else X.to_numpy())
    scores = fitted.score_samples(make(part))
    for (_, row), score in zip(part.iterrows(), scores, strict=True):
        p = np.exp(FITTED.score_samples(completions(row))).sum()
        assert np.exp(score) == pytest.approx(p, rel=1e-12)
    probabilities = fitted.predict_proba(make(part))
    for j, name in enumerate(X.columns):
        for i, (_, row) in enumerate(part.iterrows()):
            rows = completions(row, free=[name])
            p = np.exp(FITTED.score_samples(rows))
            sums = [p[rows[name] == s].sum() for s in FITTED.categories_[j]] / p.sum()
            np.testing.assert_allclose(probabilities[j][i], sums, rtol=1e-12)
    predicted = fitted.predict(make(part))
    for j, levels in enumerate(fitted.categories_):
        assert predicted[:, j].tolist() == levels[probabilities[j].argmax(axis=1)].tolist()
    weights = np.arange(1.0, 21)
    assert fitted.score(make(part), sample_weight=weights) == pytest.approx(
        np.average(scores, weights=weights))


def test_the_class_given_what_a_row_has():
    part = WITH_GAPS.head(30)
    got = CLASSIFIER.predict_proba(part)
    for (_, row), p in zip(part.iterrows(), got, strict=True):
        rows = completions(row)
        joint = np.array([
            np.exp(CLASSIFIER.score_samples(rows, np.full(len(rows), label))).sum()
            for label in CLASSIFIER.classes_
        ])
        np.testing.assert_allclose(p, joint / joint.sum(), rtol=1e-12)
        x = np.exp(CLASSIFIER.score_samples(rows)).sum()
        assert np.exp(CLASSIFIER.score_samples(row.to_frame().T)[0]) == pytest.approx(x, rel=1e-12)
    np.testing.assert_array_equal(
        CLASSIFIER.predict(part), CLASSIFIER.classes_[got.argmax(axis=1)])
    assert CLASSIFIER.score(part, Y.head(30)) == (CLASSIFIER.predict(part) == Y.head(30)).mean()
    np.testing.assert_allclose(np.exp(CLASSIFIER.predict_log_proba(part)), got)


@pytest.mark.parametrize("table", [X, WITH_GAPS], ids=["complete", "gaps"])
def test_y_is_summed_out_where_it_is_missing(table):
    y = Y.astype(float).where(np.arange(300) % 3 > 0)
    for estimator in (CLASSIFIER, BayesNetStructureEstimator(random_state=0).fit(X, Y)):
        got = estimator.score_samples(table, y)
        np.testing.assert_allclose(
            got, np.where(y.isna(), estimator.score_samples(table),
                          estimator.score_samples(table, y.fillna(0))), rtol=1e-12)
        np.testing.assert_array_equal(
            got, estimator.score_samples(table, [None if pd.isna(v) else int(v) for v in y]))


def test_all_missing_rows_give_the_marginals():
    nothing = pd.DataFrame(np.nan, index=range(2), columns=X.columns, dtype=object)
    np.testing.assert_array_equal(FITTED.score_samples(nothing), 0.0)
    rows = completions(nothing.iloc[0])
    p = np.exp(FITTED.score_samples(rows))
    for name, levels, got in zip(
        X.columns, FITTED.categories_, FITTED.predict_proba(nothing), strict=True
    ):
        marginal = [p[rows[name] == state].sum() for state in levels]
        np.testing.assert_allclose(got, [marginal] * 2, rtol=1e-12)
        np.testing.assert_allclose(FITTED.network_.posterior(name).probabilities, marginal)


def test_whatever_else_is_in_the_table_a_row_has_its_numbers():
    together = FITTED.score_samples(WITH_GAPS)
    apart = np.concatenate([FITTED.score_samples(WITH_GAPS.iloc[[i]]) for i in range(300)])
    np.testing.assert_allclose(together, apart, rtol=1e-12)
    whole = ~HOLES.any(axis=1)
    np.testing.assert_array_equal(together[whole], FITTED.score_samples(X[whole]))
    for one, other in zip(
        FITTED.predict_proba(WITH_GAPS), FITTED.predict_proba(WITH_GAPS[::-1]), strict=True
    ):
        np.testing.assert_allclose(one, other[::-1], rtol=1e-12)


# Missing as a level.


@pytest.mark.parametrize("kind", MAKERS)
def test_missing_is_the_last_level_of_a_column_that_has_missing_cells(kind):
    table = MAKERS[kind](WITH_GAPS)
    estimator = BayesNetStructureEstimator(handle_missing="category", random_state=0).fit(table)
    # The same as with a name for it.
    text = WITH_GAPS.astype(object).where(WITH_GAPS.notna(), "~missing").astype(str)
    named = BayesNetStructureEstimator(random_state=0).fit(text)
    assert estimator.network_.adjacency.tolist() == named.network_.adjacency.tolist()
    assert estimator.structure_score_ == pytest.approx(named.structure_score_)
    np.testing.assert_allclose(estimator.score_samples(table), named.score_samples(text))
    for levels, known in zip(estimator.categories_, FITTED.categories_, strict=True):
        assert pd.isna(levels[-1])
        assert levels[:-1].tolist() == known.tolist()
    for one, other in zip(estimator.predict_proba(table), named.predict_proba(text), strict=True):
        np.testing.assert_allclose(one, other)
    assert pd.isna(estimator.predict(table)).sum() == (named.predict(text) == "~missing").sum()
    # `sample` gives the kind of table that came, and it can be learned from as the first was.
    drawn = estimator.sample(400, random_state=0)
    if kind == "lists":
        assert type(drawn) is np.ndarray
    else:
        assert type(drawn) is type(table)
    for attribute in ("dtypes", "schema", "dtype"):
        if hasattr(table, attribute) and not hasattr(table, "iloc"):
            assert getattr(drawn, attribute) == getattr(table, attribute)
    if hasattr(table, "iloc"):
        assert drawn.dtypes.equals(table.dtypes)
    frame = drawn.to_pandas() if hasattr(drawn, "to_pandas") else pd.DataFrame(drawn)
    assert frame.isna().any().all()
    again = clone(estimator).fit(drawn)
    for one, other in zip(again.categories_, estimator.categories_, strict=True):
        assert one[:-1].tolist() == other[:-1].tolist()
    copy = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(copy.score_samples(table), estimator.score_samples(table))


@pytest.mark.parametrize(("values", "last"), [
    (np.array([[1.0], [np.nan], [2.0]]), np.nan),
    (np.array([["u"], [None], ["v"]], dtype=object), None),
    (np.array([["u"], [np.nan], ["v"]], dtype=object), np.nan),
    ([[True], [None], [False]], None),
    (pd.DataFrame({"x": pd.Series([1, None, 2], dtype="Int64")}), None),
    (pd.DataFrame({"x": pd.Series([1.5, None, 2.5], dtype="category")}), np.nan),
])
def test_the_level_is_a_missing_value_of_the_column_s_kind(values, last):
    estimator = BayesNetStructureEstimator(handle_missing="category").fit(values)
    found = estimator.categories_[0].tolist()
    assert len(found) == 3
    assert found[-1] is None if last is None else np.isnan(found[-1])
    draws = estimator.sample(50, random_state=0)
    column = draws["x"] if isinstance(values, pd.DataFrame) else pd.Series(draws[:, 0])
    assert column.isna().any()


def test_a_column_without_missing_cells_at_fit_has_them_summed_out():
    table = WITH_GAPS.assign(d=X["d"])
    estimator = BayesNetStructureEstimator(handle_missing="category", random_state=0).fit(table)
    assert estimator.categories_[3].tolist() == [0.0, 1.0]
    later = table.assign(d=table["d"].where(np.arange(300) % 2 > 0))
    got = estimator.score_samples(later)
    both = np.exp([estimator.score_samples(table.assign(d=state)) for state in (0.0, 1.0)])
    np.testing.assert_allclose(
        np.exp(got), np.where(later["d"].isna(), both.sum(axis=0),
                              np.exp(estimator.score_samples(table))), rtol=1e-12)


def test_a_column_of_missing_cells_only_is_constant():
    table = X.assign(a=None)
    estimator = BayesNetStructureEstimator(handle_missing="category", random_state=0).fit(table)
    assert estimator.categories_[0].tolist() == [None]
    without = BayesNetStructureEstimator(random_state=0).fit(X.drop(columns="a"))
    np.testing.assert_allclose(
        estimator.score_samples(table), without.score_samples(X.drop(columns="a")))
    lenient = clone(estimator).set_params(handle_unknown="missing").fit(table)
    np.testing.assert_array_equal(lenient.score_samples(X), lenient.score_samples(table))


def test_y_may_have_missing_as_a_class_where_it_is_no_classifier():
    y = Y.astype(float).where(np.arange(300) > 20)
    estimator = BayesNetStructureEstimator(handle_missing="category", random_state=0).fit(X, y)
    assert estimator.classes_.tolist()[:-1] == [0, 1, 2]
    assert np.isnan(estimator.classes_[-1])
    assert estimator.predict_proba(X).shape == (300, 4)
    _, drawn = estimator.sample(300, random_state=0)
    assert drawn.isna().any()


@pytest.mark.parametrize("declare", [
    lambda y: pd.Series(pd.Categorical(y, ["w", "v", "u"])),
    lambda y: pl.Series(y, dtype=pl.Enum(["w", "v", "u"])),
    lambda y: y,
], ids=["pandas", "polars", "categories="])
def test_a_missing_class_is_the_last_of_the_sorted_ones(declare):
    y = [None if row < 20 else "uvw"[k] for row, k in enumerate(Y.tolist())]
    by_hand = {"categories": {"y": ["w", "v", "u"]}} if declare(y) is y else {}
    estimator = BayesNetStructureEstimator(
        handle_missing="category", random_state=0, **by_hand).fit(X, declare(y))
    assert estimator.categories_[-1].tolist() == ["w", "v", "u", None]
    assert estimator.classes_.tolist() == ["u", "v", "w", None]
    np.testing.assert_allclose(
        estimator.predict_proba(X),
        estimator.network_.posterior("y", X).probabilities[:, [2, 1, 0, 3]], rtol=1e-12)


def test_levels_by_hand_may_end_in_a_missing_value():
    levels = {"a": ["z", "y", "x", "w", None], "d": np.array([1.0, 0.0, np.nan])}
    estimator = BayesNetStructureEstimator(categories=levels, handle_missing="category")
    for table in (X, WITH_GAPS):
        estimator.fit(table)
        assert estimator.categories_[0].tolist() == ["z", "y", "x", "w", None]
        assert estimator.categories_[3].tolist()[:2] == [1, 0]
        assert np.isnan(estimator.categories_[3][2])
    # Where they do not, missing is added.
    estimator.set_params(categories={"a": ["z", "y", "x"]}).fit(WITH_GAPS)
    assert pd.isna(estimator.categories_[0][-1])
    assert estimator.categories_[0][:-1].tolist() == ["z", "y", "x"]
    for bad, said in (([None, "x"], "contain a missing value"), ([None, None], "several missing")):
        with pytest.raises(ValueError, match=said):
            estimator.set_params(categories={"a": bad}).fit(WITH_GAPS)
    with pytest.raises(ValueError, match="with handle_missing='category' it may be listed"):
        BayesNetStructureEstimator(categories={"a": ["x", "y", "z", None]}).fit(X)


def test_rows_of_weight_zero_make_no_level_of_missing_cells():
    weights = (~HOLES).all(axis=1).astype(float)
    for handle in ("error", "category"):
        estimator = BayesNetStructureEstimator(handle_missing=handle, random_state=0)
        estimator.fit(WITH_GAPS, sample_weight=weights)
        assert not any(pd.isna(levels).any() for levels in estimator.categories_)


# Unknown categories.


@pytest.mark.parametrize("handle", ["error", "category"])
def test_unknown_categories_are_as_if_they_were_missing(handle):
    train = X if handle == "error" else WITH_GAPS
    estimator = BayesNetStructureEstimator(
        handle_missing=handle, handle_unknown="missing", random_state=0).fit(train)
    odd = X.assign(
        a=X["a"].where(np.arange(300) % 4 > 0, "?"), b=X["b"].where(np.arange(300) % 7 > 0, 99))
    gone = odd.assign(a=odd["a"].where(odd["a"] != "?"), b=odd["b"].where(odd["b"] != 99))
    np.testing.assert_array_equal(estimator.score_samples(odd), estimator.score_samples(gone))
    assert pd.DataFrame(estimator.predict(odd)).equals(pd.DataFrame(estimator.predict(gone)))
    with pytest.raises(ValueError, match=r"'a' has values .* handle_unknown='missing'"):
        estimator.set_params(handle_unknown="error").score_samples(odd)


def test_an_unknown_y_is_summed_out():
    estimator = clone(CLASSIFIER).set_params(handle_unknown="missing").fit(X, Y)
    y = Y.where(np.arange(300) % 5 > 0, 17)
    np.testing.assert_allclose(
        estimator.score_samples(X, y),
        np.where(y == 17, estimator.score_samples(X), estimator.score_samples(X, Y)), rtol=1e-12)
    with pytest.raises(ValueError, match="Column 't' has values that are not among its levels: 17"):
        CLASSIFIER.score_samples(X, y)


def test_a_column_of_another_type_is_refused_all_the_same():
    estimator = clone(FITTED).set_params(handle_unknown="missing").fit(X)
    with pytest.raises(ValueError, match="The types differ: text in the column, numbers in the"):
        estimator.score_samples(X.assign(b=X["b"].astype(str)))
    with pytest.raises(ValueError, match="contains infinity"):
        estimator.score_samples(X.assign(b=np.inf))


# Neighbours.


def test_searches_and_cross_validation_with_missing_as_a_level():
    folds = KFold(3, shuffle=True, random_state=0)
    estimator = BayesNetStructureEstimator(handle_missing="category", random_state=0)
    search = ESSSearchCV(estimator, ess=[1, 5], cv=folds, error_score="raise").fit(WITH_GAPS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.categories_[0].tolist()[:-1] == ["x", "y", "z"]
    # A fold whose training part has no missing cell still has the level, as the whole table has.
    rare = X.astype(object)
    rare.iloc[0, 0] = None
    assert np.isfinite(
        ESSSearchCV(estimator, ess=[1], cv=KFold(3), error_score="raise").fit(rare).best_score_)
    ESSSearchCV(
        BayesNetClassifier(handle_missing="category"), ess=[1], cv=folds, error_score="raise"
    ).fit(WITH_GAPS, Y)
    ESSSearchCV(estimator, ess=[1], cv=folds, error_score="raise").fit(
        WITH_GAPS, Y.where(Y.index % 9 > 0))
    assert np.isfinite(cross_val_score(estimator, WITH_GAPS, cv=folds)).all()
    # What a fold does not know is not needed where it may be summed out.
    grid = GridSearchCV(
        BayesNetStructureEstimator(random_state=0),
        {"handle_missing": ["category"], "handle_unknown": ["missing"], "ess": [1, 5]},
        cv=KFold(3), error_score="raise",
    )
    assert np.isfinite(grid.fit(rare.assign(b=np.arange(300) // 30)).best_score_)
    report = edge_report(estimator.fit(WITH_GAPS), WITH_GAPS)
    assert len(report["verdict"]) == len(estimator.edges_)


def test_functions_and_searches_without_a_word_on_missing_cells_refuse_them():
    for call in (
        lambda: structure_score(WITH_GAPS, []),
        lambda: ess_path(WITH_GAPS, [1.0]),
        lambda: analytic_ess(WITH_GAPS, []),
        lambda: edge_report(FITTED, WITH_GAPS),
        lambda: ESSSearchCV(FITTED, ess=[1], error_score="raise").fit(WITH_GAPS),
    ):
        with pytest.raises(ValueError, match="missing value") as caught:
            call()
        assert all(f"column {name!r}" in str(caught.value) for name in "bcd")


# Levels that readers of tables take for missing.


def test_levels_called_none_are_read_as_the_pages_advise(shared):
    """A table of the insurance network, of which two columns have a level called None."""
    network = read_bif(shared("data/bif/insurance.bif.gz"))
    drawn = pd.DataFrame(network.sample(2000, random_state=0))
    assert {name for name in drawn if "None" in set(drawn[name])} == {"Accident", "ThisCarDam"}
    csv = drawn.to_csv(index=False)
    kept = pd.read_csv(io.StringIO(csv), dtype=str, keep_default_na=False, na_values="")
    pd.testing.assert_frame_equal(kept, drawn, check_dtype=False)
    # By the definition: the sum of the cells' own logarithms.
    codes = np.stack([
        [levels.tolist().index(state) for state in drawn[label]]
        for label, levels in zip(network.labels, network.categories, strict=True)
    ]).astype(np.uint8)
    expected = sum(
        np.log(table.dense().reshape(*table.parent_cardinalities, table.cardinality)[
            tuple(codes[[*table.parents, child]])])
        for child, table in enumerate(network.tables)
    )
    np.testing.assert_allclose(network.log_prob(kept), expected, rtol=1e-12)
    # What the advice is against: these cells are summed out, without a word.
    lost = pd.read_csv(io.StringIO(csv), dtype=str)
    assert (network.log_prob(lost) - expected).mean() > 0.05
    polars = pl.read_csv(io.StringIO(csv), infer_schema=False)
    np.testing.assert_array_equal(network.log_prob(polars), network.log_prob(kept))


@pytest.mark.parametrize("name", ["None", "NA", "N/A", "null", "nan", "<NA>", "#N/A", "n/a"])
def test_such_levels_are_levels_at_every_door(name):
    csv = f"a,b\n{name},x\nother,y\n{name},x\n,y\n"
    table = pd.read_csv(io.StringIO(csv), dtype=str, keep_default_na=False, na_values="")
    assert table["a"].isna().tolist() == [False, False, False, True]
    fitted = BayesNetStructureEstimator(init=[("a", "b")], max_iter=0).fit(table[:3])
    assert fitted.categories_[0].tolist() == sorted([name, "other"])
    text = fitted.network_.to_bif()
    assert read_bif(io.StringIO(text)).categories[0].tolist() == sorted([name, "other"])
    # ess 1: (2 + 1/4) / (3 + 1/2) and so on, by Equation 3.
    assert fitted.network_.log_prob(table[:1])[0] == pytest.approx(
        np.log(2.5 / 4) + np.log(2.25 / 2.5))
    assert fitted.network_.log_prob(table[3:])[0] == pytest.approx(
        np.log(2.5 / 4 * 0.25 / 2.5 + 1.5 / 4 * 1.25 / 1.5))


# Speed.


def test_ten_thousand_rows_of_alarm(shared):
    path = shared("data/bnlearn/alarm.csv.gz")
    table = pd.read_csv(path, dtype=str, keep_default_na=False).astype("category")
    estimator = BayesNetStructureEstimator(random_state=0, max_iter=40).fit(table)
    part = table.head(10_000)
    holes = np.random.default_rng(0).random(part.shape) < 0.3
    started = time.process_time()
    scores = estimator.score_samples(part.mask(holes))
    assert time.process_time() - started < 20
    assert np.isfinite(scores).all()
    assert (scores > estimator.score_samples(part) - 1e-9).all()
