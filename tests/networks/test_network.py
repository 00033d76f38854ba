import csv
import itertools
import math
import os
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from skbn.counting.data import CategoricalData
from skbn.inference.conditional_table import ConditionalTable
from skbn.networks import network as network_module
from skbn.networks.network import BayesianNetwork

SHARED = Path(os.environ.get("SKBN_SHARED", Path(__file__).resolve().parents[3] / "shared"))
LEARNING_TEST = "[A][C][F][B|A][D|A:C][E|B:F]"
ASIA = "[A][S][T|A][L|S][B|S][D|B:E][E|T:L][X|E]"


class TwinNetwork:
    """Slow, obvious twin: counts in dictionaries, one row at a time, Eq. 3 as written."""

    def __init__(self, codes, cardinalities, parents, ess, weights=None):
        self.cardinalities, self.parents, self.ess = cardinalities, parents, ess
        weights = np.ones(codes.shape[1]) if weights is None else weights
        self.counts = [defaultdict(float) for _ in parents]
        for row, weight in zip(codes.T.tolist(), weights, strict=True):
            for child, family in enumerate(parents):
                configuration = tuple(row[parent] for parent in family)
                self.counts[child][configuration] += weight
                self.counts[child][configuration, row[child]] += weight

    def log_prob(self, row):
        total = 0.0
        for child, family in enumerate(self.parents):
            configuration = tuple(row[parent] for parent in family)
            q = math.prod(self.cardinalities[parent] for parent in family)
            r = self.cardinalities[child]
            total += math.log(
                (self.counts[child][configuration, row[child]] + self.ess / (r * q))
                / (self.counts[child][configuration] + self.ess / q)
            )
        return total

    def joint_over(self, row, variable):
        """p(row) with `variable` in each of its states."""
        return np.array([
            math.exp(self.log_prob([*row[:variable], state, *row[variable + 1 :]]))
            for state in range(self.cardinalities[variable])
        ])


@st.composite
def problems(draw):
    """A table with states that may be unseen, a graph, weights and an ESS."""
    n = draw(st.integers(1, 5))
    cardinalities = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    n_rows = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.stack([rng.integers(r, size=n_rows, dtype=np.uint8) for r in cardinalities])
    order = rng.permutation(n)
    parents = [()] * n
    for place, child in enumerate(order):
        earlier = order[:place][rng.random(place) < 0.5]
        parents[child] = tuple(int(parent) for parent in earlier)
    weights = draw(st.sampled_from([None, "whole", "fractional"]))
    if weights == "whole":
        weights = rng.integers(1, 4, size=n_rows).astype(float)
    elif weights == "fractional":
        weights = rng.uniform(0.1, 3.0, size=n_rows)
    ess = 10.0 ** draw(st.floats(-3, 4))
    return codes, cardinalities, parents, ess, weights, rng


def fit(codes, cardinalities, parents, ess=1.0, weights=None, labels=None):
    labels = [f"x{i}" for i in range(len(cardinalities))] if labels is None else labels
    data = CategoricalData.from_codes(codes, cardinalities, weights)
    categories = [np.arange(r) for r in cardinalities]
    return BayesianNetwork.from_data(data, parents, ess, labels=labels, categories=categories)


def every_row(cardinalities):
    return np.array(list(np.ndindex(*cardinalities)), dtype=np.uint8).T


@settings(max_examples=60, deadline=None)
@given(problems())
def test_probabilities_against_the_twin(problem):
    codes, cardinalities, parents, ess, weights, _ = problem
    network = fit(codes, cardinalities, parents, ess, weights)
    twin = TwinNetwork(codes, cardinalities, parents, ess, weights)
    rows = every_row(cardinalities)

    log_p = network.log_prob_codes(rows)
    np.testing.assert_allclose(log_p, [twin.log_prob(row) for row in rows.T.tolist()], atol=1e-10)
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-12)
    for variable in range(len(cardinalities)):
        joint = np.array([twin.joint_over(row, variable) for row in rows.T.tolist()])
        ignored = rows.copy()
        ignored[variable] = 255
        conditional = network.conditional_codes(ignored, variable)
        marginal = joint.sum(axis=1)
        np.testing.assert_allclose(conditional, joint / marginal[:, None], rtol=1e-9)
        np.testing.assert_allclose(conditional.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(
            network.marginal_log_prob_codes(ignored, variable), np.log(marginal), atol=1e-10
        )


@settings(max_examples=60, deadline=None)
@given(problems())
def test_column_order_state_names_row_order_and_repetition_change_nothing(problem):
    codes, cardinalities, parents, ess, weights, rng = problem
    rows = every_row(cardinalities)
    n_variables, n_rows = codes.shape
    expected = fit(codes, cardinalities, parents, ess, weights).log_prob_codes(rows)

    def check(network, rows):
        np.testing.assert_allclose(network.log_prob_codes(rows), expected, rtol=0, atol=1e-9)

    columns = rng.permutation(n_variables)
    place = np.argsort(columns)
    permuted = [[int(place[p]) for p in parents[old]] for old in columns]
    check(fit(codes[columns], np.take(cardinalities, columns), permuted, ess, weights),
          rows[columns])

    names = [rng.permutation(r).astype(np.uint8) for r in cardinalities]
    check(fit(np.stack([name[c] for name, c in zip(names, codes, strict=True)]), cardinalities,
              parents, ess, weights),
          np.stack([name[c] for name, c in zip(names, rows, strict=True)]))

    shuffle = rng.permutation(n_rows)
    shuffled = None if weights is None else weights[shuffle]
    check(fit(codes[:, shuffle], cardinalities, parents, ess, shuffled), rows)

    if weights is not None and (weights == np.floor(weights)).all():
        repeated = np.repeat(codes, weights.astype(int), axis=1)
        check(fit(repeated, cardinalities, parents, ess), rows)


@pytest.mark.parametrize("ess", [1e-300, 1.0, 1e300])
def test_a_child_of_fifty_parents_with_twenty_states(ess):
    rng = np.random.default_rng(4)
    cardinalities = [3, *[20] * 50]
    codes = np.stack([rng.integers(r, size=60, dtype=np.uint8) for r in cardinalities])
    network = fit(codes, cardinalities, [range(1, 51), *[()] * 50], ess)
    unseen = np.stack([rng.integers(r, size=60, dtype=np.uint8) for r in cardinalities])
    for rows in (codes, unseen):
        log_p = network.log_prob_codes(rows)
        assert np.isfinite(log_p).all()
        for variable in (0, 17):
            conditional = network.conditional_codes(rows, variable)
            np.testing.assert_allclose(conditional.sum(axis=1), 1.0, atol=1e-12)
            chosen = conditional[np.arange(60), rows[variable]]
            # ln p(row) = ln P(variable | the others) + ln p(the others)
            seen = chosen > 0
            np.testing.assert_allclose(
                log_p[seen],
                np.log(chosen[seen]) + network.marginal_log_prob_codes(rows, variable)[seen],
                rtol=1e-12,
            )


def test_evidence_too_unlikely_for_a_float():
    """Six children in states never seen with either state of the cause: p(row) is 1e-1800."""
    codes = np.array([[0, 0, 1], *[[0, 0, 0]] * 6], dtype=np.uint8)
    network = fit(codes, [2, *[3] * 6], [(), *[(0,)] * 6], 1e-300)
    rows = np.array([[0], *[[2]] * 6], dtype=np.uint8)
    # p(child = 2 | cause) = a/6 / N_cause, so P(cause) is in proportion to N_cause / N_cause^6.
    np.testing.assert_allclose(network.conditional_codes(rows, 0), [[1 / 33, 32 / 33]], rtol=1e-12)
    log_evidence = 6 * math.log(1e-300 / 6) + math.log(2 / 3 / 2**6 + 1 / 3)
    assert network.marginal_log_prob_codes(rows, 0) == pytest.approx(log_evidence, rel=1e-14)


def test_one_row_and_a_constant_column():
    network = fit(np.array([[1], [0]], dtype=np.uint8), [2, 1], [(1,), ()], 2.0)
    assert network.log_prob_codes(np.array([[1, 0], [0, 0]])) == pytest.approx(
        np.log([2 / 3, 1 / 3])
    )
    np.testing.assert_array_equal(network.conditional_codes(np.array([[1], [0]]), 1), [[1.0]])
    assert (network.sample_codes(5, np.random.default_rng(0))[1] == 0).all()


def test_no_rows_to_predict():
    network = fit(np.array([[1], [0]], dtype=np.uint8), [2, 3], [(1,), ()])
    nothing = np.empty((2, 0), dtype=np.uint8)
    assert network.log_prob_codes(nothing).shape == (0,)
    assert network.conditional_codes(nothing, 1).shape == (0, 3)
    assert network.sample_codes(0, np.random.default_rng(0)).shape == (2, 0)


def test_probability_zero_never_becomes_nan():
    with np.errstate(divide="ignore"):
        copy = np.log(np.array([[1.0, 0.0], [0.0, 1.0]]))
        never = np.log(np.array([[1.0, 0.0]]))
    states, none = np.array([[0], [1]], dtype=np.uint8), np.empty((1, 0), dtype=np.uint8)
    tables = [
        ConditionalTable.from_rows(0, (), 2, (), none, never),
        ConditionalTable.from_rows(1, (0,), 2, (2,), states, copy),
    ]
    network = BayesianNetwork(["a", "b"], [np.arange(2)] * 2, tables)
    rows = every_row([2, 2])
    assert np.exp(network.log_prob_codes(rows)).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert network.conditional_codes(rows, 1).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert network.conditional_codes(rows, 0).tolist() == [[1, 0], [0.5, 0.5]] * 2
    assert np.exp(network.marginal_log_prob_codes(rows, 0)).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert (network.sample_codes(100, np.random.default_rng(0)) == 0).all()


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    cardinalities = [3, 2, 4]
    codes = np.stack([rng.integers(r, size=100, dtype=np.uint8) for r in cardinalities])
    network = fit(codes, cardinalities, [(1,), (), (0, 1)])

    def results():
        return [
            network.log_prob_codes(codes),
            network.conditional_codes(codes, 0),
            network.marginal_log_prob_codes(codes, 0),
            network.sample_codes(100, np.random.default_rng(1)),
        ]

    whole = results()
    monkeypatch.setattr(network_module, "_BLOCK", 7)
    for expected, got in zip(whole, results(), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("generator", [np.random.default_rng, np.random.RandomState])
def test_samples_follow_the_joint_distribution(generator):
    rng = np.random.default_rng(8)
    cardinalities = [3, 2, 2, 3]
    codes = np.stack([rng.integers(r, size=9, dtype=np.uint8) for r in cardinalities])
    # 9 rows: many configurations of the last variable's parents are not observed.
    network = fit(codes, cardinalities, [(1,), (), (0,), (0, 1, 2)], 3.0)
    sample = network.sample_codes(50_000, generator(0))
    assert sample.dtype == np.uint8
    observed = np.bincount(np.ravel_multi_index(tuple(sample), cardinalities), minlength=36)
    expected = 50_000 * np.exp(network.log_prob_codes(every_row(cardinalities)))
    assert expected.min() > 5
    assert chisquare(observed, expected).pvalue > 0.01
    np.testing.assert_array_equal(network.sample_codes(50_000, generator(0)), sample)


def bracketed(graph):
    """Column -> parents of a graph written like [A][B|A:C]."""
    nodes = [node.partition("|") for node in graph.strip("[]").split("][")]
    return {name: parents.split(":") if parents else [] for name, _, parents in nodes}


def read_shared(name):
    """Labels, codes and categories (sorted levels of the whole table) of a shared csv file."""
    path = SHARED / "data" / "bnlearn" / name
    if not path.exists():
        pytest.skip(f"needs {name} of the shared data")
    with open(path, newline="") as file:
        labels, *rows = csv.reader(file)
    encoded = [np.unique(column, return_inverse=True) for column in zip(*rows, strict=True)]
    codes = np.stack([codes for _, codes in encoded]).astype(np.uint8)
    return labels, codes, [levels for levels, _ in encoded]


def fit_shared(name, graph, ess):
    labels, codes, categories = read_shared(name)
    parents = bracketed(graph)
    parents = [[labels.index(parent) for parent in parents[label]] for label in labels]
    data = CategoricalData.from_codes(codes[:, :4000], [len(levels) for levels in categories])
    network = BayesianNetwork.from_data(data, parents, ess, labels=labels, categories=categories)
    return network, codes[:, 4000:]


@pytest.mark.parametrize(
    ("name", "graph", "ess", "expected"),
    [
        ("learning_test.csv", LEARNING_TEST, 1, -4780.3662282376),
        ("learning_test.csv", LEARNING_TEST, 10, -4780.3585725348),
        ("learning_test.csv", LEARNING_TEST, 100, -4781.6078183533),
        ("asia.csv", ASIA, 1, -2233.2669668976),
        ("asia.csv", ASIA, 10, -2233.7072558763),
        ("asia.csv", ASIA, 100, -2250.8584472942),
    ],
)
def test_reference_log_likelihood_of_new_rows(name, graph, ess, expected):
    network, new_rows = fit_shared(name, graph, ess)
    assert 1000 * network.log_prob_codes(new_rows).mean() == pytest.approx(expected, abs=1e-8)


def test_prediction_from_the_markov_blanket_alone():
    network, rows = fit_shared("asia.csv", ASIA, 1.0)
    e = network.labels.index("E")
    expected = network.conditional_codes(rows, e)
    outside = {*network.labels} - {"E", *network.markov_blanket("E")}
    for label in outside:
        rows[network.labels.index(label)] = 0
    assert outside == {"A", "S"}
    np.testing.assert_allclose(network.conditional_codes(rows, e), expected, rtol=1e-12)


@pytest.fixture
def named():
    """b -> 3 -> ("t", 1) <- b, and d on its own."""
    codes = np.array([[0, 1, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]], dtype=np.uint8)
    data = CategoricalData.from_codes(codes, [2, 3, 2, 2])
    categories = [np.array(["n", "y"]), np.array([10, 20, 30]), np.array(["u", "v"]), np.arange(2)]
    return BayesianNetwork.from_data(
        data, [(), (0,), (1, 0), ()], 1.0, labels=["b", 3, ("t", 1), "d"], categories=categories
    )


def test_the_graph_by_name(named):
    assert named.parents(("t", 1)) == ["b", 3]
    assert named.parents("b") == []
    assert named.children("b") == [3, ("t", 1)]
    assert named.markov_blanket("b") == [3, ("t", 1)]
    assert named.markov_blanket(3) == ["b", ("t", 1)]
    assert named.markov_blanket("d") == []
    assert named.edges == [("b", 3), ("b", ("t", 1)), (3, ("t", 1))]
    assert np.argwhere(named.adjacency).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert named.adjacency.dtype == bool
    assert named.parent_indices == ((), (0,), (0, 1), ())
    assert repr(named) == "BayesianNetwork(4 variables, 3 edges)"


def test_markov_blanket_includes_the_other_parents_of_children():
    codes = np.zeros((4, 2), dtype=np.uint8)
    network = fit(codes, [2] * 4, [(), (0, 2), (), (1,)], labels="abcd")
    assert network.markov_blanket("a") == ["b", "c"]
    assert network.markov_blanket("d") == ["b"]


def test_cpt_by_name(named):
    cpt = named.cpt(("t", 1))
    assert cpt.parents == ("b", 3)
    assert cpt.configurations == [("n", 10), ("y", 20)]
    assert cpt.states.tolist() == ["u", "v"]
    assert cpt.n_configurations == 6
    alpha = 1 / 12
    np.testing.assert_allclose(
        cpt.probabilities,
        [[alpha / (1 + 1 / 6), (1 + alpha) / (1 + 1 / 6)], [0.5, 0.5]],
    )
    frame = cpt.to_frame()
    assert frame.loc[("y", 20), "u"] == pytest.approx(0.5)
    assert list(frame.index.names) == ["b", 3]
    assert frame.columns.name == ("t", 1)
    assert named.cpt("d").configurations == [()]
    assert str(cpt).startswith("P(('t', 1) | b, 3)\nb  3 ")


@pytest.mark.parametrize("method", ["parents", "children", "markov_blanket", "cpt"])
@pytest.mark.parametrize("unknown", ["c", 0, ["b"]])
def test_an_unknown_column_is_named_with_the_known_ones(named, method, unknown):
    with pytest.raises(ValueError) as caught:
        getattr(named, method)(unknown)
    assert str(caught.value) == (
        f"No column is called {unknown!r}. The network has 'b', 3, ('t', 1), 'd'."
    )


def test_a_long_list_of_known_columns_is_cut():
    network = fit(np.zeros((23, 1), dtype=np.uint8), [1] * 23, [()] * 23)
    with pytest.raises(ValueError, match=r"'x18', 'x19' and 3 more\.$"):
        network.parents("z")


def test_what_does_not_fit_is_refused(named):
    labels, categories, tables = named.labels, named.categories, named.tables
    with pytest.raises(ValueError, match="Two columns are called 'b'"):
        BayesianNetwork(["a", "b", "b", "d"], categories, tables)
    with pytest.raises(ValueError, match="equally many, got 4, 3 and 4"):
        BayesianNetwork(labels, categories[:3], tables)
    with pytest.raises(ValueError, match=r"position 0 \('b'\) is that of variable 3"):
        BayesianNetwork(labels, categories, tables[::-1])
    with pytest.raises(ValueError, match="Column 'b' has 3 categories, but 2 states in the table"):
        BayesianNetwork(labels, [np.arange(3), *categories[1:]], tables)
    with pytest.raises(ValueError, match="this one has 'x0' -> 'x1' -> 'x0'"):
        fit(np.zeros((2, 1), dtype=np.uint8), [2, 2], [(1,), (0,)])


def test_frozen_and_picklable_and_without_training_rows():
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(3, size=20_000, dtype=np.uint8) for _ in range(8)])
    network = fit(codes, [3] * 8, [(), *[(i,) for i in range(7)]])
    with pytest.raises(AttributeError):
        network.labels = ()
    pickled = pickle.dumps(network)
    assert len(pickled) < 10_000
    copy = pickle.loads(pickled)
    np.testing.assert_array_equal(copy.log_prob_codes(codes), network.log_prob_codes(codes))
    assert copy.edges == network.edges


def test_the_joint_of_asia_sums_to_one():
    network, _ = fit_shared("asia.csv", ASIA, 1.0)
    rows = np.array(list(itertools.product([0, 1], repeat=8)), dtype=np.uint8).T
    assert np.exp(network.log_prob_codes(rows)).sum() == pytest.approx(1.0, abs=1e-12)
