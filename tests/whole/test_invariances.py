"""What scores, parameters and predictions must not depend on, and learned graphs neither."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skbn import BayesNetStructureEstimator, structure_score

SEARCHES = ["greedy", "first_ascent", "tabu", "order"]
SCORES = ["bdeu", "loglik", "bic", "aic", "mdl", "k2"]


@st.composite
def tables(draw, min_columns=2, max_columns=5):
    """A table of codes with dependent columns, weights, and a graph that fits it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_columns = draw(st.integers(min_columns, max_columns))
    n_rows = draw(st.sampled_from([1, 2, 5, 30, 120]))
    cardinalities = rng.integers(1, 5, n_columns)
    codes = np.empty((n_rows, n_columns), dtype=np.int64)
    for j, r in enumerate(cardinalities):
        codes[:, j] = rng.integers(0, r, n_rows)
        if j and rng.random() < 0.7:
            copied = rng.random(n_rows) < 0.7
            codes[copied, j] = codes[copied, rng.integers(0, j)] % r
    order = rng.permutation(n_columns)
    edges = [(f"v{order[i]}", f"v{order[j]}") for i in range(n_columns)
             for j in range(i + 1, n_columns) if rng.random() < 0.5]
    return codes, edges, rng


def fractional_weights(rng, n, low=0.0):
    """More than a row in all: of less BIC is not defined."""
    weights = rng.uniform(low, 3, n)
    weights[0] += 1.0
    return weights


def frame(codes):
    return pd.DataFrame(codes, columns=[f"v{j}" for j in range(codes.shape[1])])


def fit_fixed(X, edges, **parameters):
    sample_weight = parameters.pop("sample_weight", None)
    return BayesNetStructureEstimator(init=edges, max_iter=0, **parameters).fit(
        X, sample_weight=sample_weight
    )


def assert_same_network(a, b, exact=True):
    """Equal tables, compared by the names of columns and states."""
    assert set(a.edges_) == set(b.edges_)
    for label in a.network_.labels:
        assert read_table(a, label).keys() == read_table(b, label).keys()
        for key, p in read_table(a, label).items():
            q = read_table(b, label)[key]
            assert p == q if exact else p == pytest.approx(q, rel=1e-12)


def read_table(estimator, label):
    table = estimator.network_.cpt(label)
    order = np.argsort(np.array(table.parents, dtype=object), kind="stable")
    return {
        (tuple(given[i] for i in order), state): table.probabilities[row, place]
        for row, given in enumerate(table.configurations)
        for place, state in enumerate(table.states.tolist())
    }


# A given graph.


@settings(max_examples=60, deadline=None)
@given(problem=tables(), data=st.data())
def test_column_order(problem, data):
    codes, edges, _ = problem
    X = frame(codes)
    permuted = X[data.draw(st.permutations(list(X.columns)))]
    for score_type in SCORES:
        assert structure_score(X, edges, score_type=score_type) == structure_score(
            permuted, edges, score_type=score_type
        )
    a, b = fit_fixed(X, edges, ess=1.5), fit_fixed(permuted, edges, ess=1.5)
    assert a.structure_score_ == b.structure_score_
    assert_same_network(a, b)
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(permuted), rtol=1e-12)
    predicted = pd.DataFrame(b.predict(permuted), columns=permuted.columns)[X.columns]
    probas = dict(zip(permuted.columns, b.predict_proba(permuted), strict=True))
    for place, (name, proba) in enumerate(zip(X.columns, a.predict_proba(X), strict=True)):
        np.testing.assert_allclose(proba, probas[name], rtol=1e-12)
        # Equally probable states may change places by rounding.
        clear = (proba > proba.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) == 1
        np.testing.assert_array_equal(
            a.predict(X)[clear, place], predicted[name].to_numpy()[clear])


@settings(max_examples=60, deadline=None)
@given(problem=tables(), fractional=st.booleans())
def test_row_order(problem, fractional):
    codes, edges, rng = problem
    weights = fractional_weights(rng, len(codes)) if fractional else None
    order = rng.permutation(len(codes))
    X = frame(codes)
    shuffled, w = X.iloc[order], None if weights is None else weights[order]
    for score_type in SCORES:
        assert structure_score(
            X, edges, score_type=score_type, sample_weight=weights
        ) == structure_score(shuffled, edges, score_type=score_type, sample_weight=w)
    a = fit_fixed(X, edges, sample_weight=weights)
    b = fit_fixed(shuffled, edges, sample_weight=w)
    assert_same_network(a, b)
    np.testing.assert_array_equal(a.score_samples(X)[order], b.score_samples(shuffled))
    np.testing.assert_array_equal(a.predict(X)[order], b.predict(shuffled))


def renamed(codes, rng):
    """The same table with new state names, whose order is another one."""
    columns = {}
    for j, column in enumerate(codes.T):
        names = rng.permutation([f"state {k}" for k in range(5)])
        columns[f"v{j}"] = names[column]
    return pd.DataFrame(columns, dtype=object)


@settings(max_examples=60, deadline=None)
@given(problem=tables(), fractional=st.booleans())
def test_state_names(problem, fractional):
    codes, edges, rng = problem
    weights = fractional_weights(rng, len(codes)) if fractional else None
    X, Z = frame(codes), renamed(codes, rng)
    for score_type in SCORES:
        options = {"score_type": score_type, "sample_weight": weights}
        assert structure_score(X, edges, **options) == structure_score(Z, edges, **options)
    a = fit_fixed(X, edges, sample_weight=weights)
    b = fit_fixed(Z, edges, sample_weight=weights)
    np.testing.assert_array_equal(a.score_samples(X), b.score_samples(Z))
    for proba, other, old, new, before, after in zip(
        a.predict_proba(X), b.predict_proba(Z), X.to_numpy().T, Z.to_numpy().T,
        a.categories_, b.categories_, strict=True,
    ):
        names = dict(zip(old.tolist(), new.tolist(), strict=True))
        place = [after.tolist().index(names[level]) for level in before.tolist()]
        np.testing.assert_allclose(proba, other[:, place], rtol=1e-12)


KINDS = {
    "int8 array": lambda codes: codes.astype(np.int8),
    "uint64 array": lambda codes: codes.astype(np.uint64),
    "float array": lambda codes: codes.astype(float),
    "float32 array": lambda codes: codes.astype(np.float32),
    "Fortran array": np.asfortranarray,
    "object array": lambda codes: codes.astype(object),
    "text object array": lambda codes: codes.astype(str).astype(object),
    "text array": lambda codes: codes.astype(str),
    "lists": lambda codes: codes.tolist(),
    "lists of text": lambda codes: codes.astype(str).tolist(),
    "pandas": pd.DataFrame,
    "pandas str": lambda codes: pd.DataFrame(codes).astype(str),
    "pandas string": lambda codes: pd.DataFrame(codes).astype(str).astype("string"),
    "pandas object": lambda codes: pd.DataFrame(codes.astype(str), dtype=object),
    "pandas nullable": lambda codes: pd.DataFrame(codes).convert_dtypes(),
    "pandas categorical": lambda codes: pd.DataFrame(codes).astype(str).astype("category"),
    "pandas categorical of integers": lambda codes: pd.DataFrame(codes).astype("category"),
    "polars": lambda codes: pl.DataFrame(codes),
    "polars text": lambda codes: pl.DataFrame(codes.astype(str)),
    "polars Categorical": lambda codes: pl.DataFrame(codes.astype(str)).cast(pl.Categorical),
    "pyarrow": lambda codes: pa.table({f"v{j}": column for j, column in enumerate(codes.T)}),
    "pyarrow text": lambda codes: pa.table(
        {f"v{j}": column.astype(str) for j, column in enumerate(codes.T)}),
    "record batch": lambda codes: pa.record_batch(
        {f"v{j}": column for j, column in enumerate(codes.T)}),
}


def matrix_of(edges, n_columns):
    adjacency = np.zeros((n_columns, n_columns), dtype=bool)
    for parent, child in edges:
        adjacency[int(parent[1:]), int(child[1:])] = True
    return adjacency


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@settings(max_examples=8, deadline=None)
@given(problem=tables(), fractional=st.booleans())
def test_the_kind_of_table(make, problem, fractional):
    codes, edges, rng = problem
    weights = fractional_weights(rng, len(codes)) if fractional else None
    graph = matrix_of(edges, codes.shape[1])
    X = make(codes)
    plain = fit_fixed(codes, graph, sample_weight=weights)
    other = fit_fixed(X, graph, sample_weight=weights)
    assert other.structure_score_ == plain.structure_score_
    assert structure_score(X, graph, sample_weight=weights) == plain.structure_score_
    np.testing.assert_array_equal(other.score_samples(X), plain.score_samples(codes))
    for a, b in zip(other.predict_proba(X), plain.predict_proba(codes), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        other.predict(X).astype(float).astype(int), plain.predict(codes))
    learned = [BayesNetStructureEstimator(random_state=0).fit(table, sample_weight=weights)
               for table in (codes, X)]
    assert learned[0].structure_score_ == learned[1].structure_score_
    np.testing.assert_array_equal(learned[0].adjacency_, learned[1].adjacency_)


@pytest.mark.filterwarnings("ignore:sample_weight sums to:skbn.DataWarning")
@settings(max_examples=60, deadline=None)
@given(problem=tables(), cut=st.sampled_from([1, 2, 4]))
def test_repetition_and_weights(problem, cut):
    codes, edges, rng = problem
    X = frame(codes)
    counts = rng.integers(0, 5, len(X))
    counts[rng.integers(len(X))] += 1
    repeated = X.loc[X.index.repeat(counts)]
    # The weight of a row may also come in parts; a power of two keeps the sums exact.
    parts = pd.concat([X] * cut)
    weights = np.tile(counts / cut, cut)
    kept = X[counts > 0]
    for score_type in SCORES:
        expected = structure_score(repeated, edges, score_type=score_type)
        assert structure_score(X, edges, score_type=score_type, sample_weight=counts) == expected
        score = structure_score(parts, edges, score_type=score_type, sample_weight=weights)
        assert score == pytest.approx(expected, rel=1e-12, abs=1e-9)
    a = fit_fixed(repeated, edges)
    for table, given_weights in ((X, counts), (parts, weights)):
        b = fit_fixed(table, edges, sample_weight=given_weights)
        assert_same_network(a, b)
        np.testing.assert_array_equal(a.score_samples(kept), b.score_samples(kept))


@settings(max_examples=40, deadline=None)
@given(problem=tables())
def test_rows_of_weight_zero_change_nothing(problem):
    codes, edges, rng = problem
    X = frame(codes).astype(object)
    weights = fractional_weights(rng, len(X), 0.1)
    # Levels, missing cells and real values that no other row has.
    odd = pd.DataFrame([[99] * X.shape[1], [None] * X.shape[1], [0.5] * X.shape[1]],
                       columns=X.columns, dtype=object)
    longer = pd.concat([odd, X, odd], ignore_index=True)
    w = np.r_[0, 0, 0, weights, 0, 0, 0]
    a = fit_fixed(X, edges, sample_weight=weights)
    b = fit_fixed(longer, edges, sample_weight=w)
    assert a.structure_score_ == b.structure_score_
    assert structure_score(longer, edges, sample_weight=w) == a.structure_score_
    for before, after in zip(a.categories_, b.categories_, strict=True):
        assert before.tolist() == after.tolist()
    assert_same_network(a, b)
    y = rng.integers(0, 2, len(X)).tolist()
    with_y = [
        BayesNetStructureEstimator(random_state=0).fit(X, y, sample_weight=weights),
        BayesNetStructureEstimator(random_state=0).fit(
            longer, ["x", None, 1.5, *y, "x", None, 1.5], sample_weight=w),
    ]
    assert with_y[0].edges_ == with_y[1].edges_
    assert with_y[0].classes_.tolist() == with_y[1].classes_.tolist()


# A learned graph, with a fixed random state.


@pytest.mark.filterwarnings("ignore:The graph has families:skbn.DataWarning")
@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=25, deadline=None)
@given(problem=tables(max_columns=6), score_type=st.sampled_from(SCORES),
       weighting=st.sampled_from(["none", "whole", "fractional"]))
def test_learned_graphs(search, problem, score_type, weighting):
    codes, _, rng = problem
    X = frame(codes)
    weights = {"none": None, "whole": rng.integers(1, 4, len(X)),
               "fractional": fractional_weights(rng, len(X), 0.1)}[weighting]
    parameters = {"search": search, "score_type": score_type, "random_state": 1, "n_restarts": 2}
    plain = BayesNetStructureEstimator(**parameters).fit(X, sample_weight=weights)
    order = rng.permutation(len(X))
    others = [
        BayesNetStructureEstimator(**parameters).fit(
            X.iloc[order], sample_weight=None if weights is None else weights[order]),
        BayesNetStructureEstimator(**parameters).fit(renamed(codes, rng), sample_weight=weights),
        BayesNetStructureEstimator(**parameters, n_jobs=2).fit(X, sample_weight=weights),
    ]
    if weighting == "whole":
        others.append(BayesNetStructureEstimator(**parameters).fit(
            X.loc[X.index.repeat(weights)]))
    for other in others:
        assert other.structure_score_ == plain.structure_score_
        assert other.edges_ == plain.edges_
        assert other.history_ == plain.history_
        np.testing.assert_array_equal(other.restart_scores_, plain.restart_scores_)


@settings(max_examples=25, deadline=None)
@given(problem=tables(max_columns=6))
def test_weights_in_parts_lead_to_the_same_graph(problem):
    codes, _, _ = problem
    X = frame(codes)
    whole = BayesNetStructureEstimator(random_state=0).fit(X)
    parts = BayesNetStructureEstimator(random_state=0).fit(
        pd.concat([X, X]), sample_weight=np.full(2 * len(X), 0.5)
    )
    assert parts.edges_ == whole.edges_
    assert parts.structure_score_ == pytest.approx(whole.structure_score_, rel=1e-12)
