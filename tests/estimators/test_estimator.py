"""The estimator: predictions against the enumerated joint, the kinds of tables, what it keeps."""

import io
import itertools
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError

from skbn import BayesNetClassifier, BayesNetStructureEstimator, TabuSearch, structure_score
from skbn.estimators import predictions
from skbn.scores.bayesian import BDeu

NAMES = ["a", "b", "c", "d"]
EDGES = [("a", "b"), ("b", "d"), ("c", "d"), ("a", "y"), ("y", "d")]


def codes_of_a_table(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n_rows)
    b = (a + (rng.random(n_rows) < 0.3)) % 3
    c = rng.integers(0, 2, n_rows)
    d = (b + c) % 2
    y = (a + rng.integers(0, 2, n_rows)) % 3
    return np.column_stack([a, b, c, d]), y


def text_frame(**options):
    X, y = codes_of_a_table(**options)
    levels = np.array(["low", "mid", "top"], dtype=object)
    return pd.DataFrame(levels[X], columns=NAMES, dtype=object), pd.Series(levels[y], name="y")


def enumerated_joint(network):
    """P of every joint state, multiplied out from the readable tables."""
    levels = [states.tolist() for states in network.categories]
    tables = {label: network.cpt(label) for label in network.labels}
    joint = {}
    for row in itertools.product(*levels):
        state = dict(zip(network.labels, row, strict=True))
        p = 1.0
        for label, table in tables.items():
            given = tuple(state[parent] for parent in table.parents)
            states = table.states.tolist()
            if given in table.configurations:
                p *= table.probabilities[table.configurations.index(given)][
                    states.index(state[label])
                ]
            else:
                p /= len(states)
        joint[row] = p
    return joint


def fixed(edges, **parameters):
    return BayesNetStructureEstimator(init=edges, max_iter=0, ess=2.0, **parameters)


# Against brute force.


@pytest.mark.parametrize("edges", [EDGES, [], [("y", name) for name in NAMES],
                                   [(name, "y") for name in NAMES], None])
def test_scores_and_predictions_with_y_against_the_enumerated_joint(edges):
    X, y = text_frame()
    estimator = BayesNetStructureEstimator(random_state=0) if edges is None else fixed(edges)
    estimator.fit(X, y)
    if edges is not None:
        assert set(estimator.edges_) == set(edges)
    joint = enumerated_joint(estimator.network_)
    assert sum(joint.values()) == pytest.approx(1.0, abs=1e-12)
    every = pd.DataFrame(list(joint), columns=[*NAMES, "y"])
    p = np.array(list(joint.values()))
    np.testing.assert_allclose(
        estimator.score_samples(every[NAMES], every["y"]), np.log(p), rtol=1e-12
    )
    marginal = every[NAMES].assign(p=p).groupby(NAMES, sort=False)["p"].transform("sum")
    np.testing.assert_allclose(estimator.score_samples(every[NAMES]), np.log(marginal), rtol=1e-11)
    proba = estimator.predict_proba(every[NAMES])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    columns = pd.Index(estimator.classes_).get_indexer(every["y"])
    own = proba[np.arange(len(every)), columns]
    np.testing.assert_allclose(own, p / marginal, rtol=1e-11)
    predicted = estimator.predict(every[NAMES])
    np.testing.assert_array_equal(predicted, estimator.classes_[proba.argmax(axis=1)])
    # The observed rows: score is the mean, weighted if asked.
    log_prob = np.log([joint[row] for row in zip(*X.T.to_numpy(), y, strict=True)])
    assert estimator.score(X, y) == pytest.approx(log_prob.mean(), rel=1e-12)
    weights = np.arange(len(X)) / 7
    assert estimator.score(X, y, sample_weight=weights) == pytest.approx(
        np.average(log_prob, weights=weights), rel=1e-12
    )


@pytest.mark.parametrize("edges", [EDGES[:3], [], [("a", "b"), ("c", "b"), ("d", "b")], None])
def test_scores_and_predictions_without_y_against_the_enumerated_joint(edges):
    X, _ = text_frame(n_rows=40, seed=3)
    estimator = BayesNetStructureEstimator(random_state=0) if edges is None else fixed(edges)
    estimator.fit(X)
    assert not hasattr(estimator, "classes_")
    joint = enumerated_joint(estimator.network_)
    every = pd.DataFrame(list(joint), columns=NAMES)
    p = np.array(list(joint.values()))
    np.testing.assert_allclose(estimator.score_samples(every), np.log(p), rtol=1e-12)
    assert estimator.score(every) == pytest.approx(np.log(p).mean(), rel=1e-12)
    probabilities, predicted = estimator.predict_proba(every), estimator.predict(every)
    assert isinstance(probabilities, list)
    assert predicted.shape == every.shape
    for place, name in enumerate(NAMES):
        levels, proba = estimator.categories_[place], probabilities[place]
        assert proba.shape == (len(every), len(levels))
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        others = [other for other in NAMES if other != name]
        total = every.assign(p=p).groupby(others, sort=False)["p"].transform("sum")
        own = proba[np.arange(len(every)), pd.Index(levels).get_indexer(every[name])]
        np.testing.assert_allclose(own, p / total, rtol=1e-11)
        np.testing.assert_array_equal(predicted[:, place], levels[proba.argmax(axis=1)])


def test_samples_follow_the_enumerated_joint():
    X, y = text_frame()
    estimator = fixed(EDGES).fit(X, y)
    n = 40_000
    drawn, target = estimator.sample(n, random_state=0)
    counts = drawn.assign(y=target).value_counts()
    for row, p in enumerated_joint(estimator.network_).items():
        # Six standard deviations, for about a hundred states.
        assert abs(counts.get(row, 0) / n - p) <= 6 * np.sqrt(p / n) + 1e-4
    again, _ = estimator.sample(n, random_state=0)
    pd.testing.assert_frame_equal(drawn, again)
    assert not estimator.sample(n, random_state=1)[0].equals(drawn)


def test_parameters_take_the_ess_unless_given_their_own():
    X, y = text_frame()
    for given, ess in ((None, 2.0), (50.0, 50.0)):
        estimator = fixed([], parameter_ess=given).fit(X, y)
        counts = X["a"].value_counts().reindex(estimator.categories_[0])
        expected = (counts + ess / 3) / (len(X) + ess)
        np.testing.assert_allclose(estimator.network_.cpt("a").probabilities[0], expected)
        assert estimator.ess_ == 2.0


# Fitted attributes.


def test_fitted_attributes_belong_together():
    X, y = text_frame(n_rows=300)
    estimator = BayesNetStructureEstimator(random_state=0, n_restarts=3).fit(X, y)
    labels = [*NAMES, "y"]
    assert estimator.n_features_in_ == 4
    assert estimator.feature_names_in_.tolist() == NAMES
    assert list(estimator.network_.labels) == labels
    assert estimator.edges_
    assert estimator.edges_ == estimator.network_.edges
    assert estimator.adjacency_.dtype == bool
    assert {(labels[a], labels[b]) for a, b in np.argwhere(estimator.adjacency_)} == set(
        estimator.edges_
    )
    joined = X.assign(y=y)
    score = structure_score(joined, estimator.edges_, ess=estimator.ess)
    assert estimator.structure_score_ == pytest.approx(score, rel=1e-12)
    assert estimator.restart_scores_.shape == (4,)
    assert estimator.restart_scores_.max() == pytest.approx(estimator.structure_score_, rel=1e-9)
    assert len(estimator.restart_histories_) == 4
    assert estimator.history_ in estimator.restart_histories_
    assert estimator.n_iter_ == len(estimator.history_)
    assert estimator.history_[-1].score == estimator.structure_score_


def test_the_history_replayed_leads_to_the_graph():
    X, y = text_frame(n_rows=300)
    estimator = BayesNetStructureEstimator(random_state=0).fit(X, y)
    joined, edges = X.assign(y=y), set()
    for kind, parent, child, score in estimator.history_:
        if kind == "add":
            edges.add((parent, child))
        else:
            edges.remove((parent, child))
            if kind == "reverse":
                edges.add((child, parent))
        assert score == pytest.approx(structure_score(joined, edges), rel=1e-12)
    assert edges == set(estimator.edges_)


def test_arrays_give_the_names_x0_x1():
    X, _ = codes_of_a_table()
    estimator = BayesNetStructureEstimator(random_state=0).fit(X)
    assert list(estimator.network_.labels) == ["x0", "x1", "x2", "x3"]
    assert not hasattr(estimator, "feature_names_in_")


def test_labels_of_any_one_kind_come_back():
    X, _ = codes_of_a_table()
    for columns in ([3, 1, 0, 2], [("a", 1), ("a", 2), ("b", 1), ("b", 2)]):
        frame = pd.DataFrame(X)
        frame.columns = pd.Index(columns)
        estimator = BayesNetStructureEstimator(random_state=0).fit(frame)
        assert list(estimator.network_.labels) == columns
        assert {label for edge in estimator.edges_ for label in edge} <= set(columns)
        assert list(estimator.sample(2).columns) == columns


# Small and odd tables.


@pytest.mark.parametrize("y", [None, ["u"]])
def test_one_row(y):
    estimator = BayesNetStructureEstimator(random_state=0).fit([["p", 3]], y)
    assert estimator.edges_ == []
    assert estimator.score([["p", 3]], y) == 0.0
    assert estimator.predict([["p", 3]]).tolist() == (["u"] if y else [["p", 3]])


def test_one_column():
    estimator = BayesNetStructureEstimator(ess=1.0).fit(np.array([[0], [1], [1]]))
    assert estimator.edges_ == []
    np.testing.assert_allclose(estimator.predict_proba([[0]])[0], [[1.5 / 4, 2.5 / 4]])
    assert estimator.predict([[0], [1]]).tolist() == [[1], [1]]


@pytest.mark.parametrize("search", ["greedy", "first_ascent", "tabu", "order"])
@pytest.mark.parametrize("init", ["empty", "full", "bic", "tree", "random"])
@pytest.mark.parametrize("score_type", ["bdeu", "bic", "k2"])
def test_a_constant_column_is_isolated(search, init, score_type):
    X, y = text_frame(n_rows=200)
    X.insert(1, "k", "same")
    estimator = BayesNetStructureEstimator(
        random_state=0, search=search, init=init, score_type=score_type, n_restarts=2
    ).fit(X, y)
    assert estimator.edges_
    assert "k" not in {label for edge in estimator.edges_ for label in edge}
    required = clone(estimator).set_params(required_edges=[("k", "a")], init="empty")
    assert [edge for edge in required.fit(X, y).edges_ if "k" in edge] == [("k", "a")]


@pytest.mark.parametrize("search", ["greedy", "first_ascent", "tabu"])
def test_a_constant_column_changes_nothing_else(search):
    X, y = text_frame(n_rows=200)
    estimator = BayesNetStructureEstimator(random_state=0, search=search)
    narrow = clone(estimator).fit(X, y)
    X.insert(1, "k", "same")
    wide = clone(estimator).fit(X, y)
    assert wide.edges_ == narrow.edges_
    assert wide.history_ == narrow.history_
    assert wide.structure_score_ == narrow.structure_score_


def test_a_given_graph_keeps_its_edges_at_a_constant_column():
    X, y = text_frame(n_rows=200)
    wide = fixed([*EDGES, ("k", "a"), ("k", "b")]).fit(X.assign(k="same"), y)
    narrow = fixed(EDGES).fit(X, y)
    assert ("k", "a") in wide.edges_
    assert wide.structure_score_ == narrow.structure_score_
    np.testing.assert_array_equal(
        wide.score_samples(X.assign(k="same"), y), narrow.score_samples(X, y)
    )


def test_all_columns_constant():
    X = np.zeros((5, 3), dtype=int)
    for init in ("empty", "full", "random", "bic", "tree"):
        estimator = BayesNetStructureEstimator(init=init, random_state=0).fit(X)
        assert estimator.structure_score_ == 0.0
        assert estimator.score(X) == 0.0


# The target.


LEVELS = np.array(["low", "mid", "top"], dtype=object)
CATEGORICAL = pd.CategoricalDtype(["top", "low", "mid", "never"], ordered=True)
TARGETS = {
    "list": (lambda y: LEVELS[y].tolist(), "y", ["low", "mid", "top"]),
    "tuple": (lambda y: tuple(y.tolist()), "y", [0, 1, 2]),
    "text array": (lambda y: LEVELS[y].astype(str), "y", ["low", "mid", "top"]),
    "object array": (lambda y: LEVELS[y], "y", ["low", "mid", "top"]),
    "int8 array": (lambda y: y.astype(np.int8), "y", [0, 1, 2]),
    "float array": (lambda y: y / 1.0, "y", [0.0, 1.0, 2.0]),
    "bool array": (lambda y: y > 0, "y", [False, True]),
    "bool list": (lambda y: (y > 0).tolist(), "y", [False, True]),
    "Series": (lambda y: pd.Series(LEVELS[y], name="grade"), "grade", ["low", "mid", "top"]),
    "Series without name": (lambda y: pd.Series(LEVELS[y]), "y", ["low", "mid", "top"]),
    "Series with another index": (
        lambda y: pd.Series(y, index=np.arange(len(y))[::-1], name=7), 7, [0, 1, 2]),
    "nullable Series": (lambda y: pd.Series(y, dtype="Int64"), "y", [0, 1, 2]),
    "categorical Series": (lambda y: pd.Series(LEVELS[y], dtype=CATEGORICAL, name="grade"),
                           "grade", ["low", "mid", "never", "top"]),
    "pandas Categorical": (lambda y: pd.Categorical(LEVELS[y], dtype=CATEGORICAL),
                           "y", ["low", "mid", "never", "top"]),
    "polars": (lambda y: pl.Series("grade", LEVELS[y].tolist()), "grade", ["low", "mid", "top"]),
    "polars without name": (lambda y: pl.Series(LEVELS[y].tolist()), "y", ["low", "mid", "top"]),
    "polars Enum": (lambda y: pl.Series("grade", LEVELS[y].tolist(),
                                        dtype=pl.Enum(["top", "low", "mid", "never"])),
                    "grade", ["low", "mid", "never", "top"]),
    "pyarrow": (lambda y: pa.chunked_array([LEVELS[y].tolist()]), "y", ["low", "mid", "top"]),
    "pyarrow array": (lambda y: pa.array(y), "y", [0, 1, 2]),
    "pandas frame": (lambda y: pd.DataFrame({"grade": LEVELS[y]}, dtype=CATEGORICAL),
                     "grade", ["low", "mid", "never", "top"]),
    "polars frame": (lambda y: pl.DataFrame({"grade": y}), "grade", [0, 1, 2]),
    "pyarrow table": (lambda y: pa.table({"grade": y}), "grade", [0, 1, 2]),
}


@pytest.mark.parametrize("Estimator", [BayesNetStructureEstimator, BayesNetClassifier])
@pytest.mark.parametrize(("make", "label", "classes"), TARGETS.values(), ids=TARGETS)
def test_targets_of_every_kind(make, label, classes, Estimator):
    X, y = codes_of_a_table()
    target = make(y)
    estimator = Estimator(random_state=0).fit(X, target)
    assert estimator.network_.labels[-1] == label
    assert estimator.classes_.tolist() == classes
    assert [type(a) for a in estimator.classes_.tolist()] == [type(a) for a in classes]
    assert estimator.predict_proba(X).shape == (len(X), len(classes))
    assert set(estimator.predict(X).tolist()) <= set(classes)
    drawn, column = estimator.sample(5, random_state=0)
    assert type(drawn) is np.ndarray
    assert drawn.dtype == X.dtype
    kept = (pd.Series, pl.Series, pa.ChunkedArray)
    if isinstance(target, kept):
        assert type(column) is type(target)
        dtype = "type" if isinstance(target, pa.ChunkedArray) else "dtype"
        assert getattr(column, dtype) == getattr(target, dtype)
        assert getattr(column, "name", None) == getattr(target, "name", None)
    elif isinstance(target, np.ndarray):
        assert column.dtype == target.dtype
    elif hasattr(target, "columns"):
        assert type(column) is {pd.DataFrame: pd.Series, pl.DataFrame: pl.Series}.get(
            type(target), pa.ChunkedArray)
    # The same scores however the target came.
    log_prob = estimator.score_samples(X, target)
    values = target["grade"] if hasattr(target, "columns") else target
    assert log_prob.tolist() == estimator.score_samples(X, list(values.to_pylist() if hasattr(
        values, "to_pylist") else np.asarray(values).tolist())).tolist()


def test_a_column_vector_is_taken_with_scikit_learns_warning():
    X, y = codes_of_a_table()
    plain = BayesNetStructureEstimator(random_state=0).fit(X, y)
    for column in (y[:, None], [[value] for value in y.tolist()]):
        with pytest.warns(DataConversionWarning, match="column-vector y"):
            estimator = BayesNetStructureEstimator(random_state=0).fit(X, column)
        assert estimator.edges_ == plain.edges_
        assert estimator.network_.labels[-1] == "y"


def test_refitting_without_y_forgets_the_classes():
    X, y = codes_of_a_table()
    estimator = BayesNetStructureEstimator(random_state=0).fit(X, y)
    assert hasattr(estimator, "classes_")
    estimator.fit(X)
    assert not hasattr(estimator, "classes_")
    assert isinstance(estimator.predict_proba(X), list)
    assert isinstance(estimator.sample(2), np.ndarray)
    fresh = BayesNetStructureEstimator(random_state=0).fit(X)
    np.testing.assert_array_equal(estimator.score_samples(X), fresh.score_samples(X))


def test_a_failed_first_fit_leaves_it_unfitted():
    estimator = BayesNetStructureEstimator()
    with pytest.raises(ValueError, match="real-valued"):
        estimator.fit([[0.5], [0.25]])
    for method in ("predict", "predict_proba", "score", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(estimator, method)([[1]])
    with pytest.raises(NotFittedError):
        estimator.sample()


# The kind of table that comes back.


def kinds_of_tables():
    X, _ = text_frame()
    codes, _ = codes_of_a_table()
    mixed = pd.DataFrame({
        "a": codes[:, 0], "b": X["b"], "c": codes[:, 2] > 0,
        "d": pd.Categorical(X["d"], categories=["top", "mid", "low", "never"], ordered=True),
    }).set_axis(np.arange(len(X)) * 2)
    return {
        "int array": codes,
        "uint8 array": codes.astype(np.uint8),
        "float32 array": codes.astype(np.float32),
        "bool array": codes > 0,
        "object array": X.to_numpy(),
        "text array": X.to_numpy().astype(str),
        "pandas": mixed,
        "pandas with int labels": mixed.set_axis([4, 2, 0, 9], axis=1),
        "pandas nullable": mixed.convert_dtypes(),
        "polars": pl.from_pandas(mixed),
        "pyarrow": pa.Table.from_pandas(mixed, preserve_index=False),
    }


@pytest.mark.parametrize("table", kinds_of_tables().values(), ids=kinds_of_tables())
def test_samples_are_the_kind_of_table_that_was_fitted(table):
    estimator = BayesNetStructureEstimator(random_state=0).fit(table)
    drawn = estimator.sample(7, random_state=0)
    assert type(drawn) is type(table)
    assert drawn.shape == (7, 4)
    if isinstance(table, np.ndarray):
        assert drawn.dtype == table.dtype
    elif isinstance(table, pd.DataFrame):
        assert drawn.columns.equals(table.columns)
        assert drawn.dtypes.equals(table.dtypes)
        assert drawn.index.equals(pd.RangeIndex(7))
    else:
        assert drawn.schema == (
            table.schema.remove_metadata() if isinstance(table, pa.Table) else table.schema
        )
    # What was drawn can be scored, predicted and fitted.
    assert np.isfinite(estimator.score(drawn))
    assert estimator.predict(drawn).shape == (7, 4)
    BayesNetStructureEstimator(categories=estimator.categories_).fit(drawn)


@pytest.mark.parametrize("with_y", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_blocks_of_rows_change_no_prediction(with_y, gaps, monkeypatch):
    X, y = codes_of_a_table()
    bn = BayesNetStructureEstimator(init=EDGES if with_y else EDGES[:3], max_iter=0)
    X = pd.DataFrame(X, columns=NAMES)
    bn.fit(X, pd.Series(y, name="y") if with_y else None)
    rows = X.astype(float)
    if gaps:
        rows[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    proba = bn.predict_proba(rows)
    if with_y:
        expected = bn.classes_[proba.argmax(axis=1)]
    else:
        expected = np.stack([
            levels[p.argmax(axis=1)] for levels, p in zip(bn.categories_, proba, strict=True)
        ], axis=1)
    for block in (1, 20, 10**6):
        monkeypatch.setattr(predictions, "_BLOCK", block)
        np.testing.assert_array_equal(bn.predict(rows), expected)


def test_predictions_keep_the_type_of_the_levels():
    big = np.array([2**53 + 1, 2**53 + 3])
    for first in (big, big.astype(np.uint64)):
        X = pd.DataFrame({"big": first, "half": [0.0, 1.0], "text": ["u", "v"]})
        for frame in (X, X[["big", "half"]]):
            estimator = BayesNetStructureEstimator(init=[("big", "half")], max_iter=0)
            predicted = estimator.fit(frame).predict(frame)
            # As floats these integers would be other ones.
            assert set(predicted[:, 0].tolist()) <= set(big.tolist())
            assert {type(value) for value in predicted[:, 0].tolist()} == {int}
    for dtype in (np.int8, np.float32, bool, "<U2", object):
        array = np.array([[0, 1], [1, 0]]).astype(dtype)
        assert BayesNetStructureEstimator().fit(array).predict(array).dtype == dtype


# Copies.


SETTINGS = [
    {},
    {"search": TabuSearch(tabu_length=3, patience=5), "score_type": BDeu(), "n_restarts": 2},
    {"init": [("a", "b")], "categories": {"a": ["low", "mid", "top", "never"]},
     "required_edges": [("a", "b")], "forbidden_edges": [("b", "c")], "tiers": [["a"], ["b", "c"]],
     "graph_prior": 0.5, "max_parents": 2, "max_iter": 50, "parameter_ess": 3.0},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=["plain", "objects", "constraints"])
@pytest.mark.parametrize("with_y", [True, False])
def test_copies_predict_the_same(settings, with_y):
    X, y = text_frame()
    y = y if with_y else None
    estimator = BayesNetStructureEstimator(random_state=0, **settings).fit(X, y)
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    copies = [pickle.loads(pickle.dumps(estimator)), joblib.load(file),
              clone(estimator).fit(X, y)]
    for copy in copies:
        assert copy.edges_ == estimator.edges_
        assert copy.structure_score_ == estimator.structure_score_
        np.testing.assert_array_equal(copy.score_samples(X, y), estimator.score_samples(X, y))
        drawn = [e.sample(3, random_state=0) for e in (copy, estimator)]
        if with_y:
            pd.testing.assert_series_equal(drawn[0][1], drawn[1][1])
            drawn = [X_drawn for X_drawn, _ in drawn]
        pd.testing.assert_frame_equal(*drawn)
    unfitted = clone(estimator)
    assert not hasattr(unfitted, "network_")
    assert repr(unfitted) == repr(BayesNetStructureEstimator(random_state=0, **settings))


@pytest.mark.parametrize("library", ["array", "pandas", "polars", "pyarrow"])
def test_no_training_rows_are_kept(library):
    sizes = []
    for repeats in (1, 40):
        X, y = text_frame(n_rows=200)
        X, y = pd.concat([X] * repeats, ignore_index=True), pd.concat([y] * repeats)
        X, y = X.set_axis([f"x{i}" for i in range(4)], axis=1), y.rename("target")
        table = {"array": X.to_numpy, "pandas": X.copy, "polars": lambda X=X: pl.from_pandas(X),
                 "pyarrow": lambda X=X: pa.Table.from_pandas(X)}[library]()
        edges = [("x0", "x1"), ("x1", "target"), ("x2", "target")]
        estimator = BayesNetStructureEstimator(random_state=0, init=edges, max_iter=0)
        sizes.append(len(pickle.dumps(estimator.fit(table, y))))
    assert abs(sizes[1] - sizes[0]) < 50


def test_parameters_are_not_changed_by_fitting():
    X, y = text_frame()
    init, categories = [("a", "b")], {"y": ["low", "mid", "top", "never"]}
    estimator = BayesNetStructureEstimator(init=init, categories=categories, random_state=0)
    estimator.fit(X, y)
    assert estimator.init is init
    assert init == [("a", "b")]
    assert estimator.categories is categories
    assert categories == {"y": ["low", "mid", "top", "never"]}
    frame, target = X.copy(), y.copy()
    estimator.fit(X, y)
    pd.testing.assert_frame_equal(X, frame)
    pd.testing.assert_series_equal(y, target)
    array, _ = codes_of_a_table()
    array.flags.writeable = False
    BayesNetStructureEstimator().fit(array, sample_weight=np.arange(len(array)))


# Restarts and threads.


@pytest.mark.parametrize("search", ["greedy", "first_ascent", "tabu", "order"])
@pytest.mark.parametrize("init", ["empty", "random", "full", "bic", "tree", [("a", "b")]], ids=str)
def test_restarts_leave_the_first_run_alone_and_threads_change_nothing(search, init):
    X, y = text_frame(n_rows=150)
    parameters = {"search": search, "init": init, "random_state": 3}
    alone = BayesNetStructureEstimator(**parameters).fit(X, y)
    runs = [BayesNetStructureEstimator(**parameters, n_restarts=4, n_jobs=n_jobs).fit(X, y)
            for n_jobs in (None, 1, 2)]
    for run in runs:
        assert run.restart_scores_[0] == alone.structure_score_
        assert run.restart_histories_[0] == alone.history_
        assert run.structure_score_ >= alone.structure_score_ - 1e-9 * abs(alone.structure_score_)
        np.testing.assert_array_equal(run.restart_scores_, runs[0].restart_scores_)
        assert run.restart_histories_ == runs[0].restart_histories_
        assert run.edges_ == runs[0].edges_
    fewer = BayesNetStructureEstimator(**parameters, n_restarts=2).fit(X, y)
    np.testing.assert_array_equal(fewer.restart_scores_, runs[0].restart_scores_[:3])


def test_the_constraints_hold_for_columns_and_y():
    X, y = text_frame(n_rows=300)
    for search in ("greedy", "first_ascent", "tabu", "order"):
        estimator = BayesNetStructureEstimator(
            search=search, n_restarts=2, random_state=0, max_parents=2,
            required_edges=[("y", "c")], forbidden_edges=[("a", "y"), ("y", "a")],
            tiers=[["d"], ["a", "b"]],
        ).fit(X, y)
        edges = set(estimator.edges_)
        assert ("y", "c") in edges
        assert not edges & {("a", "y"), ("y", "a"), ("a", "d"), ("b", "d")}
        assert estimator.adjacency_.sum(axis=0).max() <= 2
    none = BayesNetStructureEstimator(max_parents=0).fit(X, y)
    assert none.edges_ == []


def test_verbose_prints_a_line_per_run(capsys):
    X, _ = codes_of_a_table()
    BayesNetStructureEstimator(n_restarts=2).fit(X)
    assert capsys.readouterr().out == ""
    BayesNetStructureEstimator(n_restarts=2, verbose=1).fit(X)
    assert len(capsys.readouterr().out.splitlines()) == 3
