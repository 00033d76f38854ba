"""Prediction averaged over graphs."""

import itertools
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbn import BayesNetAverager, edge_posteriors
from skbn.inference.conditional_table import ConditionalTable
from skbn.networks.mixture import NetworkMixture
from skbn.networks.network import BayesianNetwork

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data":
        "The check feeds real-valued columns, which are refused.",
    "check_estimators_nan_inf": "Missing cells are summed out at prediction.",
}


@parametrize_with_checks(
    [BayesNetAverager(n_graphs=20, random_state=0)], expected_failed_checks=lambda _: EXPECTED
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    a = rng.integers(3, size=60)
    b = np.where(rng.random(60) < 0.7, a, rng.integers(3, size=60))
    return pd.DataFrame({"a": a, "b": b, "c": rng.integers(2, size=60),
                         "d": (a > 0) ^ (rng.random(60) < 0.2)})


@pytest.fixture(scope="module")
def model(table):
    return BayesNetAverager(n_graphs=300, random_state=0).fit(table)


def twin_log_joint(model, X):
    """ln of the mean over the networks, one row and one network at a time."""
    codes = np.array([
        [list(levels).index(value) for value in X[name]]
        for name, levels in zip(model.networks_[0].labels, model.categories_, strict=True)
    ], dtype=np.uint8)
    each = np.array([network.log_prob_codes(codes) for network in model.networks_])
    return logsumexp(each + np.log(model.weights_)[:, None], axis=0)


def test_the_average_is_the_mean_over_the_networks(model, table):
    assert model.weights_.sum() == pytest.approx(1)
    assert (np.diff(model.weights_) <= 0).all()
    assert len({tuple(network.parent_indices) for network in model.networks_}) == len(
        model.networks_) > 3
    expected = twin_log_joint(model, table)
    np.testing.assert_allclose(model.score_samples(table), expected, rtol=1e-12)
    assert model.score(table) == pytest.approx(expected.mean())
    for name, levels, p in zip(table, model.categories_, model.predict_proba(table), strict=True):
        joint = np.stack([
            twin_log_joint(model, table.assign(**{name: [level] * len(table)}))
            for level in levels
        ], axis=1)
        np.testing.assert_allclose(
            p, np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), rtol=1e-11)
    predicted = model.predict(table)
    assert predicted.shape == table.shape


def test_missing_cells_are_summed_out(model, table):
    rows = table.head(6).astype(object)
    rows.iloc[1, 0] = rows.iloc[2, 3] = None
    rows.iloc[3, :3] = np.nan
    rows.iloc[4] = None
    levels = [list(states) for states in model.categories_]
    found, of_b = model.score_samples(rows), model.predict_proba(rows)[1]
    for place, row in enumerate(rows.itertuples(index=False)):
        choices = [
            states if pd.isna(cell) else [cell] for cell, states in zip(row, levels, strict=True)
        ]

        def total(choices):
            completions = pd.DataFrame(itertools.product(*choices), columns=table.columns)
            return logsumexp(twin_log_joint(model, completions))
        assert found[place] == pytest.approx(total(choices), abs=1e-12)
        each = np.array([total([choices[0], [b], *choices[2:]]) for b in levels[1]])
        np.testing.assert_allclose(of_b[place], np.exp(each - logsumexp(each)), rtol=1e-12)


def test_missing_classes_and_categories_of_their_own(table):
    X, y = table.drop(columns="d"), table["d"]
    X = X.astype(object)
    X.iloc[0, 0] = None
    with pytest.raises(ValueError, match="'a' has 1 missing"):
        BayesNetAverager().fit(X, y)
    model = BayesNetAverager(handle_missing="category", n_graphs=20, random_state=0).fit(X, y)
    assert model.categories_[0][-1] is None
    X.iloc[1, 1] = None
    alone = model.predict_proba(X.iloc[2:])
    np.testing.assert_allclose(model.predict_proba(X)[2:], alone, rtol=1e-12)
    both = np.stack([model.score_samples(X, np.full(len(X), state)) for state in (False, True)])
    np.testing.assert_allclose(model.score_samples(X), logsumexp(both, axis=0), rtol=1e-12)


def test_posteriors_are_those_of_the_function(model, table):
    posterior = edge_posteriors(table)
    np.testing.assert_array_equal(model.edge_posterior_.edges, posterior.edges)
    assert model.log_marginal_likelihood_ == posterior.log_marginal_likelihood
    frequency = sum(
        weight * network.adjacency
        for weight, network in zip(model.weights_, model.networks_, strict=True)
    )
    assert np.abs(frequency - posterior.edges).max() < 5 * 0.5 / np.sqrt(300)
    assert list(model.edge_posterior_.to_frame()) == list("abcd")


def test_with_y(table):
    X, y = table.drop(columns="b"), table["b"].map({0: "low", 1: "mid", 2: "high"})
    model = BayesNetAverager(n_graphs=100, random_state=0).fit(X, y)
    assert list(model.classes_) == ["high", "low", "mid"]
    p = model.predict_proba(X)
    assert p.shape == (60, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.predict(X) == y).mean() > 0.5
    joint = np.stack([model.score_samples(X, [c] * 60) for c in model.classes_], axis=1)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-11)
    np.testing.assert_allclose(np.log(p), joint - model.score_samples(X)[:, None], rtol=1e-9)
    drawn, classes = model.sample(5, random_state=0)
    assert list(drawn) == list(X)
    assert set(classes) <= set(model.classes_)
    with pytest.raises(ValueError, match="fitted without y"):
        model.fit(X).score(X, y)
    assert not hasattr(model, "classes_")
    assert model.feature_names_in_.tolist() == list(X)
    assert not hasattr(model.fit(X.to_numpy()), "feature_names_in_")


@pytest.mark.parametrize("ess", [1.0, 20.0])
def test_the_average_is_near_the_ratio_of_marginal_likelihoods(table, ess):
    """p(row | data) over all graphs is p(data and the row) / p(data), with Equation 3's means."""
    levels = {c: sorted(table[c].unique()) for c in table}
    model = BayesNetAverager(ess=ess, n_graphs=4000, categories=levels, random_state=0).fit(table)
    rows = pd.DataFrame([(0, 2, 1, True), (1, 1, 0, True), (2, 0, 1, False)], columns=list("abcd"))
    for k in range(3):
        more = pd.concat([table, rows[k : k + 1]])
        posterior = edge_posteriors(more, ess=ess, categories=levels)
        exact = posterior.log_marginal_likelihood - model.log_marginal_likelihood_
        each = np.exp([
            network.log_prob_codes(*model.estimator_._read_codes(rows[k : k + 1]))[0]
            for network in model.networks_
        ])
        mean = model.weights_ @ each
        error = np.sqrt(model.weights_ @ (each - mean) ** 2 / 4000) / mean
        assert abs(model.score_samples(rows[k : k + 1])[0] - exact) < 4 * error + 1e-9


def test_the_prior_over_graphs_and_the_ess_of_the_parameters(table):
    model = BayesNetAverager(
        graph_prior=2.5, parameter_ess=30.0, n_graphs=30, random_state=0).fit(table)
    expected = edge_posteriors(table, graph_prior=2.5)
    np.testing.assert_array_equal(model.edge_posterior_.edges, expected.edges)
    assert model.log_marginal_likelihood_ == expected.log_marginal_likelihood
    for network in model.networks_:
        for v, levels in enumerate(model.categories_):
            if not network.parent_indices[v]:
                counts = (table.iloc[:, v].to_numpy()[:, None] == levels).sum(axis=0)
                found = np.exp(network.tables[v].log_probabilities[0])
                np.testing.assert_allclose(found, (counts + 30 / len(levels)) / 90)


def test_repeats_pickles_and_clones(model, table):
    again = clone(model).fit(table)
    np.testing.assert_array_equal(again.score_samples(table), model.score_samples(table))
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.score_samples(table), model.score_samples(table))
    assert repr(loaded._mixture) == f"NetworkMixture({len(model.networks_)} networks)"
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[list("dcba")])
    with pytest.raises(ValueError, match="n_graphs"):
        BayesNetAverager(n_graphs=0).fit(table)


def test_blocks_of_rows_change_nothing(model, table, monkeypatch):
    expected = model.score_samples(table), model.predict_proba(table)
    monkeypatch.setattr("skbn.networks.mixture._BLOCK", 1)
    np.testing.assert_allclose(model.score_samples(table), expected[0], rtol=1e-13)
    for found, whole in zip(model.predict_proba(table), expected[1], strict=True):
        np.testing.assert_allclose(found, whole, rtol=1e-12)


def test_rows_drawn_have_the_averaged_distribution(model):
    drawn = model.sample(4000, random_state=0)
    assert list(drawn) == list("abcd")
    assert drawn.dtypes["d"].kind == "b"
    every = pd.DataFrame(
        [(a, b, c, d) for a in range(3) for b in range(3) for c in range(2)
         for d in (False, True)], columns=list("abcd"))
    p = np.exp(model.score_samples(every))
    assert p.sum() == pytest.approx(1)
    counts = every.merge(drawn.value_counts().rename("n").reset_index(), how="left")["n"].fillna(0)
    assert (np.abs(counts / 4000 - p) < 5 * np.sqrt(p * (1 - p) / 4000) + 1e-3).all()


def test_rows_drawn_come_in_no_order(table):
    """One network knows one state, and the other the other: rows of both are mixed."""
    networks = [
        BayesianNetwork([0], [np.arange(2)], [
            ConditionalTable.from_rows(0, (), 2, (), np.zeros((1, 0), dtype=np.uint8), np.log([p]))
        ])
        for p in ([1.0, 1e-300], [1e-300, 1.0])
    ]
    codes = NetworkMixture(networks, np.array([0.25, 0.75])).sample_codes(
        2000, np.random.RandomState(0))
    for part in np.split(codes[0], 10):
        assert abs(part.mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 200)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are delivered otherwise")
def test_an_interrupt_gets_through():
    import _thread

    # Whoever started the tests may ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    X = np.random.default_rng(0).integers(2, size=(20, 19))
    timer = threading.Timer(1.0, _thread.interrupt_main)
    timer.start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            edge_posteriors(X)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 4
