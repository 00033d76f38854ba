"""What bad input gets: the message names the column or parameter, what came and what to do."""

import re

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from skbn import BayesNetClassifier, BayesNetStructureEstimator, TabuSearch
from skbn.scores.bayesian import BDeu
from skbn.search.searches import ExactSearch


def named(value):
    """A name for a test that is the same in every process."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))

X = pd.DataFrame({
    "a": ["u", "v", "u", "v", "u", "v"],
    "b": [0, 1, 2, 0, 1, 2],
    "c": [True, False, False, True, True, False],
})
Y = pd.Series([0, 1, 0, 1, 0, 0], name="t")
FITTED = BayesNetStructureEstimator().fit(X)
FITTED_ARRAY = BayesNetStructureEstimator().fit(X[["b"]].to_numpy().repeat(2, axis=1))
METHODS = ["predict", "predict_proba", "score", "score_samples"]


def message(call, *args, kind=ValueError, **kwargs):
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def refused_fit(table, y=None, sample_weight=None, kind=ValueError, **parameters):
    """What both estimators say; the classifier with a target of its own."""
    estimator = BayesNetStructureEstimator(**parameters)
    said = message(estimator.fit, table, y, sample_weight, kind=kind)
    if y is None:
        n_rows = table.shape[0] if hasattr(table, "shape") else len(table)
        target = pd.Series(np.arange(n_rows) % 2, name="target")
        classifier = BayesNetClassifier(**parameters)
        again = message(classifier.fit, table, target, sample_weight, kind=kind)
        assert again.replace("BayesNetClassifier", "BayesNetStructureEstimator").split(
            " The columns are")[0] == said.split(" The columns are")[0]
    return said


def refused_prediction(table, kind=ValueError, estimator=FITTED):
    """What all four methods say."""
    said = {message(getattr(estimator, method), table, kind=kind) for method in METHODS}
    assert len(said) == 1
    return said.pop()


# Cells.


@pytest.mark.parametrize("make", [
    lambda X: X, lambda X: X.convert_dtypes(), pl.from_pandas, pa.Table.from_pandas,
], ids=["pandas", "nullable", "polars", "pyarrow"])
def test_real_values(make):
    real = np.array([0.5, 0.25, 1.5, 0.25, 0.125, 0.125])
    said = refused_fit(make(X.assign(b=real)))
    assert "Column 'b' is real-valued: 4 distinct values such as 0.125, 0.25" in said
    assert 'KBinsDiscretizer(encode="ordinal")' in said
    assert "a categorical dtype or categories=" in said


def test_real_values_in_arrays():
    said = refused_fit(np.column_stack([np.arange(6), np.arange(6) / 4]))
    assert "Column 'x1' is real-valued: 6 distinct values" in said
    said = refused_fit([["u", 0.5], ["v", 1.5]])
    assert "Column 'x1' is real-valued: 2 distinct values" in said


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_missing_cells(missing):
    table = X.astype(object)
    table.loc[[2, 4], "b"] = missing
    said = refused_fit(table)
    assert "Column 'b' has 2 missing value(s) (NaN, None or null), the first in row 2" in said
    assert "Fill them, drop their rows, or make them a category of their own" in said
    assert "handle_missing='category' in the estimators" in said
    assert "X['b'].astype('string').fillna('missing')" in said
    # The cures that it names are cures.
    BayesNetStructureEstimator(handle_missing="category").fit(table)
    BayesNetStructureEstimator().fit(
        table.assign(b=table["b"].astype("string").fillna("missing")).astype(str))


def test_all_columns_with_missing_cells_are_named():
    table = X.assign(a=X["a"].where(X.index < 4), b=X["b"].where(X.index != 1))
    table["d"] = [0.5, 0.25, 0.125, np.nan, 1.5, 2.5]
    said = refused_fit(table, Y.where(Y.index != 5))
    assert said.startswith(
        "Column 'a' has 2 missing value(s) (NaN, None or null), the first in row 4, column 'b' has "
        "1, the first in row 1, column 'd' has 1, the first in row 3, column 't' has 1, the first "
        "in row 5 (counted from 0)."
    )
    assert "X['a'].astype('string').fillna('missing'); pandas.qcut(X['d'], 4" in said
    assert "X['b']" not in said
    # A real-valued column beside them does not hide them.
    assert "'a' has 2 missing" in refused_fit(table.assign(d=np.linspace(0, 1, 6)))
    with_categories = BayesNetStructureEstimator(handle_missing="category")
    said = message(with_categories.fit, table)
    assert "Column 'd' is real-valued" in said
    assert "since cells are missing, with pandas.qcut(X['d'], 4, duplicates='drop')" in said
    bins = pd.qcut(table["d"], 4, duplicates="drop").cat.rename_categories(str)
    *levels, gap = with_categories.fit(table.assign(d=bins)).categories_[3].tolist()
    assert set(map(type, levels)) == {str} and gap is None
    # Neither of these states keeps a network out of a file.
    assert "None" in with_categories.network_.to_bif()
    filled = bins.cat.add_categories("missing").fillna("missing")
    cured = X.assign(d=filled)
    assert BayesNetStructureEstimator().fit(cured).categories_[3].tolist()[-1] == "missing"


def test_a_class_must_be_known_at_fit():
    y = Y.where(Y.index != 5)
    for handle in ("error", "category"):
        said = message(BayesNetClassifier(handle_missing=handle).fit, X, y)
        assert "Column 't' has 1 missing value(s)" in said
        assert said.endswith(
            "A class must be known: leave out the rows without one, X[y.notna()] and y[y.notna()]."
        )
        assert "handle_missing" not in said and "fillna" not in said
    BayesNetClassifier().fit(X[y.notna()], y[y.notna()])
    said = message(BayesNetClassifier().fit, X.assign(a=X["a"].where(X.index > 0)), y)
    assert "Column 'a' has 1 missing" in said
    assert "column 't' has 1, the first in row 5" in said
    assert "Fill those of X" in said and "X['a'].astype('string').fillna('missing')" in said
    assert "y.astype" not in said and "A class must be known" in said
    # Where y is a variable like any other, it may be filled.
    assert "y.astype('string').fillna('missing')" in message(
        BayesNetStructureEstimator().fit, X, y)


def test_missing_cells_in_frames_of_other_libraries_and_arrays():
    floats = X.assign(b=[0, 1, np.nan, 0, 1, 2])
    for table in (pl.from_pandas(floats), pa.Table.from_pandas(floats)):
        assert "Column 'b' has 1 missing value(s)" in refused_fit(table)
    array = np.array([[0.0, 1.0], [np.nan, 0.0]])
    assert "Column 'x0' has 1 missing value(s)" in refused_fit(array)


def test_missing_cells_of_a_categorical():
    table = X.assign(a=X["a"].astype("category").where(X.index != 3))
    assert "Column 'a' has 1 missing value(s)" in refused_fit(table)
    assert "the first in row 3" in refused_fit(table)


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinity(infinity):
    table = X.assign(b=[0, 1, infinity, 0, 1, infinity])
    for said in (refused_fit(table), refused_prediction(table), refused_fit(pl.from_pandas(table))):
        assert "Column 'b' contains infinity (inf) in 2 row(s)" in said
        assert "correct those cells or bin the column" in said
    # A categorical dtype does not make a level of it either.
    said = refused_fit(table.astype({"b": "category"}))
    assert "Column 'b' contains infinity (inf) among its levels" in said


def test_unknown_categories():
    table = X.assign(a=["u", "w", "v", "z", "w", "u"])
    said = refused_prediction(table)
    assert "Column 'a' has values that are not among its levels: 'w', 'z', in 3 row(s)" in said
    assert "the first in row 1 (counted from 0)" in said
    assert "Its levels are 'u', 'v'" in said
    assert "give the whole table a categorical dtype before it is split" in said
    assert "or list them with categories=" in said
    assert "handle_unknown='missing'" in said
    # The cures that it names are cures.
    by_dtype = X.assign(a=X["a"].astype(pd.CategoricalDtype(["u", "v", "w", "z"])))
    for cured in (
        BayesNetStructureEstimator().fit(by_dtype),
        BayesNetStructureEstimator(categories={"a": ["u", "v", "w", "z"]}).fit(X),
    ):
        assert np.isfinite(cured.score_samples(table)).all()
        assert cured.predict(table).shape == table.shape
    lenient = BayesNetStructureEstimator(handle_unknown="missing").fit(X)
    np.testing.assert_array_equal(
        lenient.score_samples(table),
        lenient.score_samples(table.assign(a=table["a"].where(table["a"].isin(["u", "v"])))),
    )


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pd.Categorical, pl.Series],
                         ids=lambda make: make.__name__)
@pytest.mark.parametrize("kind", [int, float])
def test_whole_numbers_with_holes(make, kind):
    def table(values):
        column = make(list(map(kind, values)))
        if make in (list, np.array):
            return np.column_stack([column, column])
        return (pl if make is pl.Series else pd).DataFrame({"x0": column, "x1": column})

    known, new = table([2, 3, 5, 5, 9, 9]), table([2, 4, 8, 9])
    said = message(BayesNetStructureEstimator().fit(known).score, new)
    assert "in every such column: categories={'x0': range(2, 10)}." in said
    cured = BayesNetStructureEstimator(categories=[range(2, 10)] * 2).fit(known)
    assert np.isfinite(cured.score(new))
    # Of numbers far apart, of text and of evidence nobody says so.
    assert "range(" not in message(BayesNetStructureEstimator().fit(known).score, table([2, 40]))
    text = pd.DataFrame({"a": list("0134")})
    assert "range(" not in message(BayesNetStructureEstimator().fit(text).score, text + "2")
    evidence = pd.DataFrame({"x0": [4]})
    network = BayesNetStructureEstimator().fit(known).network_
    assert "range(" not in message(network.log_prob, evidence)


ENCODER = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("missing", [False, True])
def test_what_ordinal_encoders_write_for_unknown_categories(dtype, missing):
    learned, come = X.astype(str), X.astype(str).assign(a=["u", "w", "v", "z", "w", "u"])
    if missing and dtype is np.float64:
        learned.loc[0, "a"] = None
    encoder = clone(ENCODER).set_params(dtype=dtype)
    bn = make_pipeline(encoder, BayesNetStructureEstimator(handle_missing="category"))
    said = message(bn.fit(learned).predict, come)
    assert "has values that are not among its levels: -1.0, in 3 row(s)" in said or (
        "not among its levels: -1, in 3 row(s)" in said)
    assert said.endswith(
        ". OrdinalEncoder writes -1 for a category that it did not see at fit: let "
        "handle_unknown='missing' take such cells for missing."
    )
    assert "categorical dtype" not in said and "categories=" not in said
    # The cure is one.
    bn[-1].set_params(handle_unknown="missing")
    encoded = bn[:-1].transform(come).astype(float)
    encoded[encoded == -1] = np.nan
    np.testing.assert_array_equal(bn.score_samples(come), bn[-1].score_samples(encoded))


@pytest.mark.parametrize(("levels", "strange"), [
    ([-1, 1], -2), ([0.5, 1.5], -1), ([-2, 0], -1), (["a", "b"], "-1"), ([0, 1], -2)])
def test_minus_one_that_no_encoder_wrote(levels, strange):
    bn = BayesNetStructureEstimator(categories=[levels])
    bn.fit(np.array([[level] for level in levels]))
    said = message(bn.predict, np.array([[strange]]))
    assert "OrdinalEncoder" not in said
    assert "Every level must be declared at fit: list them with categories=. " in said
    assert said.endswith("Or let handle_unknown='missing' take such cells for missing.")


@pytest.mark.parametrize(("make", "words"), [
    (pl.from_pandas, "give the columns of the whole table the type polars.Enum before it is split"),
    (pa.Table.from_pandas, "encode the columns of the whole table as dictionaries before it is "
                           "split"),
], ids=["polars", "pyarrow"])
def test_levels_are_declared_in_the_words_of_the_library(make, words):
    table = X[["a"]].assign(a=["u", "w", "v", "z", "w", "u"])
    said = message(BayesNetStructureEstimator().fit(make(X[["a"]])).predict, make(table))
    assert f"Every level must be declared at fit: {words}, or list them with categories=." in said
    # The cures that it names are cures.
    if make is pl.from_pandas:
        whole = make(table).cast(pl.Enum(["u", "v", "w", "z"]))
    else:
        whole = pa.table({"a": make(table)["a"].dictionary_encode()})
    assert len(BayesNetStructureEstimator().fit(whole[:2]).predict(whole)) == 6


@pytest.mark.filterwarnings("ignore::skbn.DataWarning")  # a tie may make it a parent
def test_columns_that_identify_rows_are_asked_about():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": [f"p{k}" for k in range(60)], "a": rng.integers(2, size=60)})
    bn = BayesNetStructureEstimator(max_parents=1).fit(table[:40])
    hint = "If 'id' identifies rows, drop it."
    assert message(bn.score, table[40:]).endswith(hint)
    assert message(bn.score, table[25:]).endswith(hint)
    # A few new names are no reason, nor is one that came often, nor are numbers for text.
    for other in (table[:41], table[40:].assign(id="new"), table[40:].assign(id=range(20))):
        assert "drop it" not in message(bn.score, other)
    assert "drop it" not in message(BayesNetStructureEstimator().fit(table[:9]).score, table[40:])


def test_unknown_categories_of_another_type():
    said = refused_prediction(X.assign(b=X["b"].astype(str)))
    assert "The types differ: text in the column, numbers in the levels" in said
    said = refused_prediction(X.assign(c=X["c"].astype(int)))
    assert "The types differ: numbers in the column, truth values in the levels" in said


def test_an_unknown_class_at_scoring():
    estimator = BayesNetStructureEstimator().fit(X, Y)
    said = message(estimator.score, X, Y + 1)
    assert "Column 't' has values that are not among its levels: 2" in said
    assert "Its levels are 0, 1" in said


def test_mixed_types_in_a_column():
    table = X.astype({"b": object})
    table.loc[0, "b"] = "zero"
    said = refused_fit(table, kind=TypeError)
    assert "Column 'b' cannot be read as levels" in said
    assert ".astype(str)" in said
    table.loc[0, "b"] = True
    assert "Column 'b' mixes truth values with numbers" in refused_fit(table, kind=TypeError)


def test_dtypes_that_are_no_categories():
    table = X.assign(b=pd.date_range("2020-01-01", periods=6))
    said = refused_fit(table, kind=TypeError)
    assert "Column 'b' has dtype datetime64" in said
    assert "bin it into a categorical dtype" in said


# Tables.


def test_ragged_tables():
    for table in ([[0, 1], [0]], np.array([[0, 1], [0]], dtype=object)):
        assert "Reshape your data" in refused_fit(table)
    ragged = X.assign(b=[[0], [0, 1], [1], [0], [1], [1, 2]])
    said = refused_fit(ragged, kind=TypeError)
    assert "Column 'b'" in said


@pytest.mark.parametrize("empty", [
    X.iloc[:0], X.iloc[:0].to_numpy(), pl.from_pandas(X).clear(),
    pa.Table.from_pandas(X).slice(0, 0),
], ids=["pandas", "array", "polars", "pyarrow"])
def test_no_rows(empty):
    said = refused_fit(empty)
    assert said == "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required."
    if not isinstance(empty, np.ndarray):
        assert refused_prediction(empty) == said


def test_no_columns():
    assert "0 feature(s) (shape=(6, 0))" in refused_fit(X[[]])


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_sparse_tables(make):
    table = make(np.eye(4, dtype=int))
    assert "Sparse data was passed" in refused_fit(table, kind=TypeError)
    assert "Sparse data was passed" in refused_prediction(table, kind=TypeError)


def test_what_is_no_table():
    assert "Reshape your data" in refused_fit(np.arange(6))
    assert "Found array with dim 3" in refused_fit(np.zeros((2, 2, 2), dtype=int))
    assert "Complex data not supported" in refused_fit(np.ones((2, 2)) * 1j)
    assert "Expected a 2-dimensional container" in refused_fit(X["a"])
    assert "Collect it first" in message(
        BayesNetStructureEstimator().fit, pl.from_pandas(X).lazy(), kind=TypeError)


# Columns.


def test_repeated_columns():
    repeated = X.set_axis(["a", "b", "a"], axis=1)
    for said in (refused_fit(repeated), refused_prediction(repeated)):
        assert said == ("Column labels must differ, but 'a' occur(s) more than once. Rename or "
                        "drop the repeated columns.")


def test_labels_of_mixed_types_get_scikit_learns_error():
    table = X.set_axis(["a", 1, "c"], axis=1)
    said = refused_fit(table, kind=TypeError)
    assert "Feature names are only supported if all input features have string names" in said
    assert "['int', 'str']" in said


def test_too_few_and_too_many_columns():
    for table in (X[["a", "b"]], pl.from_pandas(X[["a", "b"]])):
        said = refused_prediction(table)
        assert "The feature names should match those that were passed during fit" in said
        assert "- c" in said
    assert "Feature names unseen at fit time" in refused_prediction(X.assign(d=1))
    said = refused_prediction(np.zeros((2, 3), dtype=int), estimator=FITTED_ARRAY)
    assert said == (
        "X has 3 features, but BayesNetStructureEstimator is expecting 2 features as input."
    )


@pytest.mark.parametrize("make", [
    lambda X: X, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"])
def test_permuted_names(make):
    said = refused_prediction(make(X[["b", "a", "c"]]))
    assert "Feature names must be in the same order as they were in fit" in said


def labels_that_are_no_text():
    return {
        "integers": pd.Index([7, 3, 5]),
        "tuples": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        "dates": pd.date_range("2020-01-01", periods=3),
    }


@pytest.mark.parametrize(
    "labels", labels_that_are_no_text().values(), ids=labels_that_are_no_text())
def test_permuted_labels_that_are_no_text(labels):
    # Three columns of the same levels: nothing but the labels could tell.
    table = pd.DataFrame(np.array([[0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]]))
    table.columns = labels
    for y in (None, [0, 1, 0, 1]):
        estimator = BayesNetStructureEstimator().fit(table, y)
        assert np.isfinite(estimator.score(table))
        said = refused_prediction(table.iloc[:, [1, 0, 2]], estimator=estimator)
        assert said.startswith("The columns must be those of fit, in the same order: fit had ")
        assert "; now come " in said
        other = table.set_axis([0, 1, 2], axis=1)
        assert "now come 0, 1, 2." in refused_prediction(other, estimator=estimator)


def test_many_labels_are_cut():
    table = pd.DataFrame(np.zeros((2, 30), dtype=int))
    estimator = BayesNetStructureEstimator().fit(table)
    said = refused_prediction(table[list(range(29, -1, -1))], estimator=estimator)
    assert said.endswith("fit had 0, 1, 2, 3, 4, 5 and 24 more; now come 29, 28, 27, 26, 25, 24 "
                         "and 24 more.")
    # Those that are in their places say nothing.
    said = refused_prediction(table[[*range(20), 25, *range(21, 25), 20, *range(26, 30)]],
                              estimator=estimator)
    assert said.endswith("fit had 20, 25; now come 25, 20.")


def test_names_that_came_only_once_get_scikit_learns_warning():
    text = X.astype(str)
    estimator = BayesNetStructureEstimator().fit(text)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        estimator.predict(text.to_numpy())
    estimator.fit(text.to_numpy())
    with pytest.warns(UserWarning, match="X has feature names, but"):
        estimator.predict(text)


# The target.


def test_a_target_that_does_not_fit():
    fit = BayesNetStructureEstimator().fit
    assert message(fit, X, Y[:4]) == "X has 6 rows, but y has 4."
    assert "y should be a 1d array" in message(fit, X, np.zeros((6, 2), dtype=int))
    assert "Column 't' is real-valued" in message(fit, X, Y + 0.5)
    assert "Column 't' has 2 missing value(s)" in message(fit, X, Y.where(Y == 0))
    assert "Column 't' contains infinity" in message(fit, X, Y.replace(1, np.inf))
    assert "Column 'y' mixes truth values with numbers" in message(
        fit, X, [True, 2, True, 2, 2, 2], kind=TypeError)
    assert "Column 'y' cannot be read as levels" in message(
        fit, X, [1, "a", 1, "a", 1, 1], kind=TypeError)
    assert "1 masked cells" in message(fit, X, np.ma.array(range(6), mask=[1, 0, 0, 0, 0, 0]))
    assert "Sparse data was passed for y" in message(
        fit, X, scipy.sparse.csr_array(np.ones((6, 1))), kind=TypeError)


@pytest.mark.parametrize("make", [
    lambda: pd.Series(Y.to_numpy(), name="a"), lambda: pl.Series("a", Y.to_list())])
def test_a_target_with_the_name_of_a_column(make):
    for Estimator in (BayesNetStructureEstimator, BayesNetClassifier):
        said = message(Estimator().fit, X, make())
        assert said == (
            "y joins the network as a variable called 'a', but a column of X has that name. "
            "Rename one of them, or leave y out."
        )
    said = message(BayesNetStructureEstimator().fit, X.rename(columns={"b": "y"}), list(Y))
    assert "a variable called 'y'" in said


def test_a_target_at_scoring_that_fit_did_not_have():
    for method in ("score", "score_samples"):
        said = message(getattr(FITTED, method), X, Y)
        assert said == "y came to a network that was fitted without y. Fit it with y."
    assert message(BayesNetStructureEstimator().fit(X, Y).score, X, Y[:2]) == (
        "X has 6 rows, but y has 2."
    )


# Weights.


@pytest.mark.parametrize(("weights", "words"), [
    ([1, 1, -1, 1, 1, 1], "Negative values in data passed to `sample_weight`"),
    ([1, 1, np.nan, 1, 1, 1], "sample_weight contains NaN"),
    ([1, 1, np.inf, 1, 1, 1], "sample_weight contains infinity"),
    ([0] * 6, "Sample weights must contain at least one non-zero number"),
    ([1] * 5, "sample_weight.shape == (5,), expected (6,)"),
    (np.ones((6, 1)), "Sample weights must be 1D array or scalar"),
    ([1e308] * 6, "The sum of sample_weight is too large for a float. Divide the weights."),
])
def test_wrong_weights(weights, words):
    assert words in refused_fit(X, sample_weight=weights)
    assert words in message(FITTED.score, X, sample_weight=weights)
    assert words in message(BayesNetStructureEstimator().fit(X, Y).score, X, Y, weights)


# Parameters.


@pytest.mark.parametrize(("parameters", "words"), [
    *[({name: value}, f"The '{name}' parameter of BayesNetStructureEstimator must be")
      for name, values in {
          "ess": [0, -1.0, np.inf, np.nan, "one", None],
          "parameter_ess": [0, -1.0, np.inf, np.nan, "one"],
          "score_type": ["BDeu", None, 3, object()],
          "search": ["hill", None, 3, object()],
          "n_restarts": [-1, 1.5, None, "2"],
          "max_parents": [-1, 1.5, "2"],
          "max_iter": [-1, 1.5, "2"],
          "categories": ["Auto", None, 3],
          "graph_prior": ["x", np.nan, np.inf],
          "n_jobs": ["2", 1.5],
          "random_state": ["x", -1],
          "verbose": ["x", -1],
      }.items() for value in values],
    ({"init": "emtpy"}, "init must be one of 'empty', 'full', 'random', 'bic', 'tree' or a graph, "
                        "got 'emtpy'"),
    ({"init": [("a", "z")]}, "init names 'z', which is not a column"),
    ({"init": [("a", "a")]}, "init has an edge from 'a' to itself"),
    ({"init": [("a", "b"), ("b", "c"), ("c", "a")]}, "'a' -> 'b' -> 'c' -> 'a'"),
    ({"init": ["ab"]}, "init must hold (parent, child) pairs of column names, got 'ab'"),
    ({"init": nx.DiGraph([("a", "z")])}, "init names 'z'"),
    ({"init": [("a", "b"), ("c", "b")], "max_parents": 1}, "more than max_parents=1"),
    ({"init": [("a", "b")], "forbidden_edges": [("a", "b")]}, "init has the forbidden edges"),
    ({"init": [("a", "b")], "required_edges": [("b", "c")]}, "init lacks the required edges"),
    ({"required_edges": [("a", "z")]}, "required_edges names 'z'"),
    ({"forbidden_edges": [("z", "a")]}, "forbidden_edges names 'z'"),
    ({"required_edges": [("a", "b"), ("b", "a")]}, "'a' -> 'b' -> 'a'"),
    ({"required_edges": [("a", "b")], "forbidden_edges": [("a", "b")]},
     "required_edges and forbidden_edges both name ('a', 'b')"),
    ({"tiers": ["a", "b"]}, "Write ['a']"),
    ({"tiers": [["a"], ["z"]]}, "tiers names 'z'"),
    ({"tiers": [["a"], ["a"]]}, "tiers name 'a' twice"),
    ({"categories": {"z": [0]}}, "categories names 'z', which is no column"),
    ({"categories": {"b": [0, 1]}}, "Column 'b' has values that are not among its levels: 2"),
    ({"categories": {"b": []}}, "Column 'b' is given no levels"),
    ({"categories": {"b": [0, 1, 2, 2]}}, "The levels of column 'b' repeat 2"),
    ({"categories": [["u", "v"]]}, "categories has 1 entries for 3 columns"),
    ({"search": TabuSearch(tabu_length=-1)},
     "The 'tabu_length' parameter of TabuSearch must be an int in the range [0, inf). Got -1"),
    ({"search": TabuSearch(tabu_length=2.5)}, "The 'tabu_length' parameter"),
    ({"search": TabuSearch(patience=-1)}, "The 'patience' parameter of TabuSearch must be"),
], ids=named)
def test_parameters_that_make_no_sense(parameters, words):
    said = refused_fit(X, **parameters)
    assert words in said
    for value in parameters.values():
        if isinstance(value, (str, int, float)) and "parameter of Bayes" in words:
            assert f"Got {value!r} instead" in said


@pytest.mark.parametrize(("parameters", "words"), [
    ({"score_type": BDeu}, "got a class, not an object; call it"),
    ({"search": TabuSearch}, "got the class TabuSearch. Call it: TabuSearch()."),
    ({"init": None}, "init must be (parent, child) pairs, an adjacency matrix, a networkx graph"),
    ({"init": nx.Graph([("a", "b")])}, "init is an undirected graph. Pass a networkx.DiGraph."),
    ({"init": BayesNetStructureEstimator()},
     "init is a BayesNetStructureEstimator that is not fitted"),
    ({"categories": {"b": "levels"}}, "The levels of column 'b' must be 'auto' or a list"),
], ids=named)
def test_parameters_of_the_wrong_kind(parameters, words):
    assert words in refused_fit(X, kind=TypeError, **parameters)


@pytest.mark.parametrize("search", ["exact", ExactSearch()], ids=named)
def test_an_exact_search_has_no_start(search):
    inits = (("full", "'full'"), ([("a", "b")], "a graph"), (np.zeros((3, 3)), "a graph"))
    for init, shown in inits:
        said = message(BayesNetStructureEstimator(search=search, init=init).fit, X)
        assert f"init is {shown}. Leave init at 'empty', or choose another search." in said
    said = message(BayesNetStructureEstimator(search=search, n_restarts=2).fit, X)
    assert "n_restarts is 2. Leave n_restarts at 0, or choose another search." in said
    plain = BayesNetStructureEstimator(search=search, n_restarts=np.int64(0))
    assert plain.fit(X).structure_score_ < 0


def test_adjacency_matrices_that_are_none():
    for matrix, words in (
        (np.zeros((2, 2)), "must be a 3 x 3 adjacency matrix"),
        (np.full((3, 3), 0.5), "init must hold 0 and 1 only"),
        (np.eye(3), "init has an edge from 'a' to itself"),
        (np.ones((3, 3)) - np.eye(3), "'a' -> 'b' -> 'a'"),
        (np.array([["a", "b"]]), "Pass pairs of column names as a list"),
    ):
        assert words in message(BayesNetStructureEstimator(init=matrix).fit, X)


@pytest.mark.parametrize(("n_samples", "kind"), [
    (0, ValueError), (-3, ValueError), (2.5, TypeError), ("3", TypeError), (None, TypeError)])
def test_samples_that_are_no_number(n_samples, kind):
    assert "n_samples" in message(FITTED.sample, n_samples, kind=kind)
    with pytest.raises(ValueError, match="cannot be used to seed"):
        FITTED.sample(2, random_state="x")
