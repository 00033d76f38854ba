"""What a `DataWarning` tells of, at every door, and what it does not."""

import itertools
import math
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer
from sklearn.utils import Bunch

from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    DataWarning,
    ESSSearchCV,
    analytic_ess,
    bootstrap_edges,
    compare_estimators,
    edge_posteriors,
    edge_report,
    ess_path,
    read_bif,
    structure_score,
)
from skbn.counting.data import CategoricalData
from skbn.messages import warn_user
from skbn.scores.saturated import SaturatedFamilies
from skbn.tables.reading import read_table

FAMILIES, COLUMNS, WEIGHTS = "say next to nothing about", "measurements or identifiers", "sums to"
SEARCHES = ("greedy", "first_ascent", "tabu", "order", "exact")
UCI = (
    "abalone", "adult", "balance", "bc_wisc", "cancer", "diabetes", "ecoli", "glass", "heart_cl",
    "heart_hu", "heart_st", "iris", "liver", "page", "post_op", "shuttle", "thyroid", "tictac",
    "wine", "yeast",
)


def told(call, *arguments, **options):
    """The texts of the warnings about tables, which all point at this file, and the result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        result = call(*arguments, **options)
    caught = [one for one in caught if issubclass(one.category, DataWarning)]
    assert all(one.filename == __file__ for one in caught)
    texts = [str(one.message) for one in caught]
    assert all(len(text) < 2000 for text in texts)
    return Bunch(
        result=result, texts=texts,
        families=[text for text in texts if FAMILIES in text],
        columns=[text for text in texts if COLUMNS in text],
        weights=[text for text in texts if WEIGHTS in text],
    )


def noise(n_columns=12, n_rows=300):
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        f"x{j}": pd.qcut(rng.normal(size=n_rows), 3, labels=False) for j in range(n_columns)
    })


def estimator(**parameters):
    return BayesNetStructureEstimator(random_state=0, **parameters)


# Families that the data cannot speak about.


@pytest.mark.parametrize("name", ["bdeu", "k2", "bds", "bdj", "fnml"])
def test_a_family_with_a_row_per_configuration_scores_the_same_whatever_the_data_say(name):
    # Of a parent that names rows: each is the only one of its configuration, with 1 / r.
    for x in ([0, 1, 2] * 10, [0] * 30, sorted([0, 1, 2] * 10)):
        table = pd.DataFrame({"row": range(30), "x": x})
        levels = {"row": range(30), "x": range(3)}
        given, without = (
            structure_score(table, edges, score_type=name, categories=levels)
            for edges in ([("row", "x")], [])
        )
        alone = structure_score(table[["x"]], [], score_type=name, categories={"x": range(3)})
        assert given - without + alone == pytest.approx(-30 * math.log(3), rel=1e-9)


def test_the_best_graph_of_noise():
    table = noise()
    found = told(estimator(search="exact").fit, table)
    bn = found.result
    assert len(bn.edges_) == 25
    (text,) = found.families
    assert found.texts == [text]
    assert "The graph has families that 300 rows say" in text
    children = sorted({child for _, child in bn.edges_})
    assert children == ["x0", "x10", "x6"]
    for child in children:
        parents = list(bn.network_.parents(child))
        named = ", ".join(map(repr, parents[:3]))
        n_configurations = len(table[parents].drop_duplicates())
        assert (f"{child!r} given {named} and {len(parents) - 3} more has {n_configurations} "
                "configurations") in text
    for cure in ("max_parents", "coarser", "larger table", "identify rows"):
        assert cure in text
    limited = told(estimator(search="exact", max_parents=3).fit, table)
    assert limited.result.edges_ == [] and not limited.texts


@pytest.mark.parametrize("prior", ["graphs", "orders"])
def test_sums_over_graphs_of_noise(prior):
    found = told(edge_posteriors, noise(), prior=prior)
    (text,) = found.families
    assert "more than a tenth of the posterior is on families that 300 rows" in text
    limited = told(edge_posteriors, noise(), prior=prior, max_parents=3)
    assert not limited.texts
    if prior == "graphs":
        assert found.result.edges.max() == pytest.approx(0.82, abs=0.005)
        assert limited.result.edges.max() == pytest.approx(0.0015, abs=5e-5)


@pytest.mark.parametrize("n_columns", [4, 6])
@pytest.mark.parametrize("ess", [0.01, 1.0, 100.0, 1e4])
def test_what_the_posterior_of_a_variable_has_on_such_families(n_columns, ess):
    table = pd.DataFrame(np.random.default_rng(3).integers(4, size=(40, n_columns)))
    table[0] = np.arange(40) % 2
    posterior = told(edge_posteriors, table, ess=ess)
    # Brute force: every set of parents that has more than 20 configurations, and fewer than two
    # rows to each.
    shares = []
    for label in table:
        share = 0.0
        for parents, probability in posterior.result.parent_sets(label, n=2**n_columns):
            n_found = len(table[list(parents)].drop_duplicates()) if parents else 1
            share += probability * (n_found > 20 and 40 < 2 * n_found)
        shares.append(share)
    # The posterior is looked at in sixteen steps.
    if abs(max(shares) - 0.1) > 0.05:
        assert bool(posterior.families) == (max(shares) > 0.1), shares


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search(search):
    # The likelihood never falls with a further parent, so every search ends in such families.
    found = told(estimator(search=search, score_type="loglik").fit, noise(9))
    assert len(found.result.edges_) > 20
    assert len(found.texts) == len(found.families) == 1


@pytest.mark.parametrize("ess", ["analytic", "marginal_likelihood"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_chosen_ess(ess):
    found = told(estimator(search="exact", ess=ess, init="empty").fit, noise(10, 60))
    assert len(found.families) == 1 and not found.columns


def test_other_doors_once():
    table, folds = noise(10, 100), KFold(3)
    exact = estimator(search="exact")
    y = table.pop("x9").rename("y")
    whole = table.assign(y=y)
    for call in (
        lambda: BayesNetClassifier(search="exact").fit(table, y),
        lambda: make_pipeline(FunctionTransformer(), exact).fit(whole),
        lambda: BayesNetAverager(random_state=0).fit(whole),
        lambda: ess_path(whole, [0.5, 1, 2]),
        lambda: bootstrap_edges(exact, whole, n_resamples=5, random_state=0),
        lambda: bootstrap_edges(
            make_pipeline(FunctionTransformer(), exact), whole, n_resamples=5, random_state=0),
        lambda: ESSSearchCV(exact, [1, 2], cv=folds).fit(whole),
        lambda: edge_posteriors(whole.to_numpy()),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = told(call)
        assert len(found.families) == 1, found.texts
        assert found.texts == found.families


def test_resamples_say_in_how_many_of_them():
    text = told(bootstrap_edges, estimator(search="exact"), noise(10), n_resamples=4,
                random_state=0).families[0]
    assert text.startswith("4 of 4 resampled graphs have, as one of them, families that 300 rows")


def saturated(codes, weights=None, family=(1, [0])):
    codes = np.asarray(codes)
    sizes = (codes.max(axis=1) + 1).tolist()
    data = CategoricalData.from_codes(codes, sizes, weights)
    return SaturatedFamilies.among([family], data, ["a", "b", "c"]).families


def test_where_it_begins():
    def column(n_configurations, n_rows):
        return [np.arange(n_rows) % n_configurations, np.arange(n_rows) % 2]

    assert saturated(column(21, 41)) == [("b", ("a",), 21)]
    # Two rows to each, and few configurations.
    assert not saturated(column(21, 42)) and not saturated(column(20, 20))
    # A weight is so many rows, and never fewer than the row itself.
    assert not saturated(column(21, 21), np.full(21, 2.0))
    assert saturated(column(21, 41), np.full(41, 1 / 41)) and saturated(column(21, 21))
    assert not saturated(column(21, 42), np.full(42, 1 / 42))
    # Configurations that could be, but are not.
    both = np.arange(100) % 5
    assert not saturated([both, both * 10, np.arange(100) % 2], family=(2, [0, 1]))


@pytest.mark.parametrize("search", ["greedy", "order"])
@pytest.mark.parametrize("name", UCI)
def test_uci_tables_are_nothing_to_speak_of(uci, name, search):
    X, levels = uci(name)
    assert told(estimator(search=search, categories=levels).fit, X).texts == []
    assert told(estimator(search=search).fit, X).texts == []


@pytest.mark.parametrize("name", UCI)
def test_nor_are_the_best_graphs_of_uci_tables_with_other_ess(uci, name):
    X, levels = uci(name)
    for ess in (1.0, 10.0, 100.0):
        assert told(estimator(search="exact", ess=ess, categories=levels).fit, X).texts == []
        assert told(edge_posteriors, X, ess=ess, categories=levels).texts == []


@pytest.mark.parametrize("search", ["greedy", "order"])
def test_samples_of_networks_are_nothing_to_speak_of(shared, search):
    paths = sorted(shared("data/bif").glob("*.bif.gz"))
    assert len(paths) == 10
    for path in paths:
        X = pd.DataFrame(read_bif(path).sample(1000, random_state=0))
        if search == "order" and X.shape[1] > 60:
            # A sweep over so many columns takes its time; one shows the kind of graph.
            X = X.iloc[:, :60]
        assert told(estimator(search=search).fit, X).texts == [], path.name


@pytest.mark.parametrize("search", SEARCHES)
def test_learning_test_is_nothing_to_speak_of(shared, search):
    X = pd.read_csv(shared("data/bnlearn/learning_test.csv"))
    assert told(estimator(search=search).fit, X).texts == []


# Columns that are no categories.


def measured():
    rng = np.random.default_rng(0)
    amount = rng.integers(250, 18000, 1000)
    months = np.clip(amount // 400 + rng.integers(-8, 9, 1000), 1, 60)
    return pd.DataFrame({"amount": amount, "months": months})


def identified():
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "id": [f"u{i}" for i in range(1000)], "sex": rng.choice(["f", "m"], 1000),
        "ill": rng.choice(["n", "y"], 1000),
    })


def test_whole_number_measurements():
    table = measured()
    (text,) = told(estimator().fit, table).texts
    assert re.search(
        rf"'amount', 'months' with {table['amount'].nunique()}, {table['months'].nunique()} levels "
        r"in 1,000 rows", text)
    for cure in ('KBinsDiscretizer(encode="ordinal")', "drop identifiers", "categorical dtype",
                 "categories="):
        assert cure in text


def test_identifiers():
    found = told(estimator().fit, identified())
    assert {parent for parent, _ in found.result.edges_} == {"id"}
    (text,) = found.columns
    assert "'id' with 1000 levels in 1,000 rows" in text and "'sex'" not in text
    assert "'sex' given 'id' has 1,000 configurations" in found.families[0]


FRAMES = {
    "array": lambda table: table.to_numpy(),
    "float array": lambda table: table.to_numpy(dtype=float),
    "object array": lambda table: table.to_numpy(dtype=object),
    "lists": lambda table: table.to_numpy().tolist(),
    "pandas": lambda table: table,
    "floats": lambda table: table.astype(float),
    "nullable": lambda table: table.astype("Int64"),
    "objects": lambda table: table.astype(object),
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_numbers_of_all_kinds(make):
    (text,) = told(estimator().fit, make(measured())).columns
    assert "with 972, 52 levels in 1,000 rows" in text


TEXTS = {
    "array": lambda table: table.to_numpy(dtype=str),
    "lists": lambda table: table.to_numpy().tolist(),
    "pandas": lambda table: table,
    "string": lambda table: table.astype("string"),
    "polars": pl.from_pandas,
    "pyarrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
}


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
def test_text_of_all_kinds(make):
    (text,) = told(estimator(max_parents=0).fit, make(identified())).texts
    assert "with 1000 levels in 1,000 rows" in text


DECLARED = {
    "category": lambda table: table.astype("category"),
    "ordered": lambda table: table.apply(lambda column: pd.Categorical(column, ordered=True)),
    "polars Categorical": lambda table: pl.from_pandas(table.astype(str)).cast(pl.Categorical),
    "polars Enum": lambda table: pl.DataFrame({
        name: pl.Series(column.astype(str)).cast(pl.Enum(sorted(set(column.astype(str)))))
        for name, column in table.items()
    }),
    "pyarrow dictionary": lambda table: pa.table({
        name: pa.array(column.astype(str)).dictionary_encode() for name, column in table.items()
    }),
    "pyarrow in pandas": lambda table: table.astype(str).astype(
        pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
}


@pytest.mark.parametrize("make", DECLARED.values(), ids=DECLARED)
@pytest.mark.parametrize("table", [measured, identified])
def test_declared_levels_are_nothing_to_speak_of(table, make):
    assert told(estimator(max_parents=0).fit, make(table())).texts == []


def test_levels_by_hand_are_nothing_to_speak_of():
    table = measured()
    levels = [range(250, 18000), range(1, 61)]
    for given in (levels, dict(zip(table.columns, levels, strict=True))):
        assert told(estimator(categories=given).fit, table).texts == []
    for given in ([levels[0], "auto"], {"amount": levels[0]}):
        (text,) = told(estimator(categories=given).fit, table).texts
        assert "'months'" in text and "'amount'" not in text
    # y by name, beside columns that are not.
    X = table[["months"]]
    given = {"months": levels[1], "amount": levels[0]}
    assert told(estimator(categories=given).fit, X, table["amount"]).texts == []
    (text,) = told(estimator(categories={"months": levels[1]}).fit, X, table["amount"]).texts
    assert "'amount' with" in text


def test_a_class_is_nothing_to_speak_of_and_another_y_is_a_column():
    X = np.random.default_rng(0).integers(3, size=(1000, 2))
    y = measured()["months"]
    assert told(BayesNetClassifier().fit, X, y).texts == []
    assert "'months'" in told(estimator().fit, X, y).columns[0]
    assert "'months'" in told(BayesNetAverager(n_graphs=5).fit, X, y).columns[0]
    X, y = measured().to_numpy()[:, :1], X[:, 0]
    assert "'x0'" in told(BayesNetClassifier().fit, X, y).columns[0]


def test_where_columns_begin_to_be_none():
    def fit(values):
        table = pd.DataFrame({"a": values, "b": np.arange(len(values)) % 2})
        return bool(told(estimator(max_parents=0).fit, table).columns)

    numbers = np.arange(21 * 30) % 21
    assert not fit(numbers) and fit(numbers[:-1])
    assert fit(-numbers[:-1] * 7.0)
    text = np.array([f"zip {k}" for k in range(21)] * 2, dtype=object)
    assert not fit(text) and fit(text[:-1])
    # Few levels are no reason, however few rows there are: small tables of rows that all differ.
    for n in (1, 2, 10, 20):
        assert not fit(np.arange(n)) and not fit([f"row {k}" for k in range(n)])
    # Codes of fifty districts in two rows each as text, and truth values.
    assert not fit([f"{k:05}" for k in range(50)] * 2)
    assert not fit(np.arange(100) % 2 == 0)


def test_weights_are_rows_there_too():
    numbers = pd.DataFrame({"a": np.arange(30), "b": np.arange(30) % 2})
    fit = estimator(max_parents=0).fit
    assert told(fit, numbers).columns
    assert told(fit, numbers, sample_weight=[2] * 30).columns
    assert not told(fit, numbers, sample_weight=[30] * 30).texts
    # Shares make no fewer rows of them than there are; rows of weight zero are none.
    table = pd.DataFrame({"a": np.arange(21 * 30) % 21, "b": 0})
    assert not told(fit, table, sample_weight=np.full(630, 1 / 630)).columns
    assert told(fit, table, sample_weight=[0] + [1] * 629).columns


def test_bins_are_nothing_to_speak_of():
    bins = KBinsDiscretizer(5, encode="ordinal", quantile_method="averaged_inverted_cdf")
    assert told(make_pipeline(bins, estimator()).fit, measured()).texts == []
    assert told(make_pipeline(bins, estimator()).fit, load_iris().data).texts == []


def test_missing_cells_are_of_a_level_beside_numbers():
    table = pd.DataFrame({"age": np.arange(200) % 40, "b": np.arange(200) % 2}).astype(object)
    table.iloc[0, 0] = None
    for made in (table, table.astype(float)):
        (text,) = told(estimator(handle_missing="category").fit, made).columns
        assert "'age' with 41 levels" in text


def test_every_door_tells_of_columns_once():
    table, folds = measured(), KFold(3)
    exact = estimator(search="exact")
    pipe = make_pipeline(FunctionTransformer(), exact)
    for call in (
        lambda: estimator().fit(table),
        lambda: pipe.fit(table),
        lambda: BayesNetAverager(n_graphs=5).fit(table),
        lambda: edge_posteriors(table),
        lambda: ess_path(table, [1, 2]),
        lambda: bootstrap_edges(exact, table, n_resamples=3, random_state=0),
        lambda: bootstrap_edges(pipe, table, n_resamples=3, random_state=0),
        lambda: ESSSearchCV(estimator(), [1, 2], cv=folds).fit(table),
        lambda: ESSSearchCV(estimator(), [1, 2], cv=folds, refit=False).fit(table),
        lambda: ESSSearchCV(pipe, [1, 2], cv=folds).fit(table),
        lambda: ESSSearchCV(estimator(), [1], cv=folds, all_graphs=True).fit(table),
        lambda: compare_estimators([exact, estimator(ess=2.0), BayesNetAverager(n_graphs=5)],
                                   table, cv=folds),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = told(call)
        assert len(found.columns) == 1, found.texts
        assert "'amount', 'months'" in found.columns[0]


def test_functions_that_learn_nothing_do_not_tell():
    table, edges = measured(), [("amount", "months")]
    assert told(structure_score, table, edges).texts == []
    assert told(analytic_ess, table, edges).texts == []
    assert told(edge_report, edges, table, ess=1.0).texts == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        bn = estimator().fit(table)
    assert told(bn.score, table).texts == []
    assert told(bn.predict, table[:5]).texts == []


@pytest.mark.parametrize("n_columns", [70, 6830])
def test_messages_do_not_grow_with_the_table(n_columns):
    rows = np.random.default_rng(0).integers(10**6, size=(60, n_columns))
    (text,) = told(read_table(rows).warn_of_columns).texts
    assert f"'x5' and {n_columns - 6:,} more" in text
    labels = [("long" * 20, k) for k in range(n_columns)]
    wide = pd.DataFrame(rows)
    wide.columns = pd.MultiIndex.from_tuples(labels)
    assert len(told(read_table(wide).warn_of_columns).texts) == 1
    families = [(0, range(1, 50)), (1, range(2, 50)), (2, range(3, 50)), (3, range(4, 50))]
    data = CategoricalData.from_codes(rows.T % 3, [3] * n_columns)
    found = SaturatedFamilies.among(families, data, [label[0] + str(label) for label in labels])
    (text,) = told(found.warn, "The graph has").texts
    assert "and 46 more has 60 configurations" in text and "; and 1 more." in text


# Weights that are shares.

CROSSED = [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize("name", ["bic", "mdl"])
@pytest.mark.parametrize("total", [1e-300, 0.5, 0.8, 1 - 1e-15, 1.0, 1 + 1e-15, 1 + 1e-7])
def test_scores_that_take_ln_n_refuse_a_row_and_less(name, total):
    weights = np.full(4, total / 4)
    table, edges = pd.DataFrame(CROSSED, columns=["a", "b"]), [("a", "b")]
    bn = {search: estimator(score_type=name, search=search) for search in SEARCHES}
    for call in (
        lambda: structure_score(table, edges, score_type=name, sample_weight=weights),
        lambda: structure_score(table, [], score_type=name, sample_weight=weights),
        *(lambda bn=bn: bn.fit(table, sample_weight=weights) for bn in bn.values()),
        lambda: BayesNetClassifier(score_type=name).fit(CROSSED, [0, 1, 1, 0], weights),
        lambda: BayesNetAverager(score_type=name).fit(table, sample_weight=weights),
        lambda: edge_posteriors(table, score_type=name, sample_weight=weights),
        lambda: ess_path(table, [1.0], score_type=name, sample_weight=weights),
        lambda: estimator(init="bic").fit(table, sample_weight=weights),
        lambda: estimator(ess="analytic").fit(table, sample_weight=weights),
        lambda: estimator(ess="marginal_likelihood").fit(table, sample_weight=weights),
    ):
        with pytest.raises(ValueError, match=r"ln\(N\) / 2 .* must be more than 1; it") as error:
            call()
        assert "sample_weight / numpy.mean(sample_weight)" in str(error.value)


@pytest.mark.parametrize("name", ["bic", "mdl"])
def test_what_the_cure_makes_of_shares(name):
    # Independent columns: no edge, as of the rows themselves.
    shares = np.full(4, 0.2)
    cured = estimator(score_type=name, search="exact").fit(
        CROSSED, sample_weight=shares / np.mean(shares))
    assert cured.edges_ == []
    plain = estimator(score_type=name, search="exact").fit(CROSSED)
    assert cured.structure_score_ == plain.structure_score_


def test_a_row_alone_has_a_bic_however_it_is_written():
    levels = {"a": [0, 1], "b": [0, 1]}
    table = pd.DataFrame({"a": [0], "b": [1]})
    for X, weights in ((table, None), (table, [1.0]), (pd.concat([table] * 2), [0.5, 0.5])):
        found = told(structure_score, X, [("a", "b")], score_type="bic", categories=levels,
                     sample_weight=weights)
        assert found.result == 0.0
    with pytest.raises(ValueError, match=r"it is 0\.5"):
        structure_score(table, [], score_type="bic", categories=levels, sample_weight=[0.5])


@pytest.mark.parametrize("name", ["bdeu", "k2", "bds", "bdj", "loglik", "aic"])
def test_other_scores_tell_of_shares(name):
    table, edges, weights = np.array(CROSSED * 25), [("x0", "x1")], np.full(100, 0.01)
    options = {"score_type": name, "sample_weight": weights}
    for call in (
        lambda: structure_score(table, edges, **options),
        *(lambda search=search: estimator(score_type=name, search=search).fit(
            table, sample_weight=weights) for search in SEARCHES),
        lambda: BayesNetClassifier(score_type=name).fit(table[:, :1], table[:, 1], weights),
        lambda: BayesNetAverager(score_type=name, n_graphs=5).fit(table, sample_weight=weights),
        lambda: edge_posteriors(table, **options),
        lambda: ess_path(table, [1.0, 2.0], **options),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = told(call)
        assert len(found.weights) == 1, found.texts
        assert found.texts == found.weights
        assert "sums to 1 over 100 row(s)" in found.texts[0]
        assert "sample_weight / numpy.mean(sample_weight)" in found.texts[0]


def test_estimates_and_reports_tell_of_shares():
    table, edges, weights = np.array(CROSSED * 25), [("x0", "x1")], np.full(100, 0.008)
    assert len(told(analytic_ess, table, edges, sample_weight=weights).weights) == 1
    found = told(edge_report, edges, table, ess=1.0, sample_weight=weights)
    assert len(found.weights) == 1
    # ln N is below zero: what would be a price is none.
    assert np.isnan(found.result["bic_change"]).all()
    assert np.isfinite(found.result["aic_change"]).all()
    assert np.isfinite(edge_report(edges, table, ess=1.0)["bic_change"]).all()


def test_a_search_for_the_ess_tells_of_shares_once():
    table, weights = np.array(CROSSED * 25), np.full(100, 0.01)
    with pytest.raises(ValueError, match="must be more than 1"):
        # Eq. 18 begins with the graph that is best for BIC.
        ESSSearchCV(estimator(), [1.0], cv=KFold(2), error_score="raise").fit(
            table, sample_weight=weights)
    table, weights = np.repeat(table, 10, axis=0), np.full(1000, 0.004)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for refit in (True, False):
            found = told(ESSSearchCV(estimator(), [1.0], cv=KFold(2), refit=refit).fit, table,
                         sample_weight=weights)
            assert len(found.weights) == 1 and found.texts == found.weights


@pytest.mark.parametrize(("n_rows", "each", "tells"), [
    (4, 0.2, True), (4, 0.3, True), (4, 0.5, False), (4, 0.8, False), (1, 0.9, True),
    (1, 1.8, False), (2, 0.9, False), (2, 0.5, True), (10, 0.29, True), (10, 0.31, False),
    (1000, 0.0099, True), (1000, 0.011, False), (1000, 0.5, False), (1000, 1.0, False),
    (1000, 2.0, False), (5, 1e-300, True),
])
def test_which_weights_are_shares(n_rows, each, tells):
    table = np.arange(n_rows)[:, None] % 2
    found = told(structure_score, table, [], sample_weight=np.full(n_rows, each))
    assert bool(found.texts) == tells


def test_weights_that_are_counts_or_means_to_score_by_are_nothing_to_speak_of():
    table = np.array(CROSSED * 5)
    bn = estimator().fit(table)
    assert told(bn.score, table, sample_weight=np.full(20, 0.05)).texts == []
    for weights in (np.ones(20), np.arange(20), np.arange(20) / 9.5):
        assert told(estimator().fit, table, sample_weight=weights).texts == []


# The warnings themselves.


def test_a_warning_made_an_error_leaves_the_estimator_as_it_was():
    for table, parameters in ((measured(), {}), (noise(10, 60), {"search": "exact"})):
        bn = estimator(**parameters)
        before = dict(vars(bn))
        with warnings.catch_warnings(), pytest.raises(DataWarning):
            warnings.simplefilter("error", DataWarning)
            bn.fit(table)
        assert vars(bn) == before


def test_they_can_be_silenced():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DataWarning)
        estimator().fit(identified())
    assert not caught


def test_where_nobody_called_there_is_no_line_to_point_at():
    namespace = {"__name__": "skbn.alone", "warn_user": warn_user}
    with pytest.warns(DataWarning, match="alone"):
        exec("warn_user('alone')", namespace)
    assert list(itertools.islice(namespace, 1)) == ["__name__"]
