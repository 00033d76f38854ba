"""Tables and parameters at the ends of what numbers can hold; slower ones: tests/limits.py."""

import math
import pickle
import tracemalloc
from collections import Counter

import mpmath
import numpy as np
import pandas as pd
import pytest

from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    DataWarning,
    analytic_ess,
    edge_report,
    resources,
    structure_score,
)

ESS = [1e-300, 1e-12, 1.0, 1e12, 1e300]


def bdeu(codes, cardinalities, parents, ess, weights=None):
    """BDeu with so many digits that nothing cancels, overflows or underflows."""
    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        weights = np.ones(len(codes)) if weights is None else weights
        for child, given in enumerate(parents):
            cells, sums = Counter(), Counter()
            for row, weight in zip(codes.tolist(), weights.tolist(), strict=True):
                state = tuple(row[p] for p in given)
                cells[state, row[child]] += mpmath.mpf(weight)
                sums[state] += mpmath.mpf(weight)
            q = math.prod(cardinalities[p] for p in given)
            for counts, n_states, sign in (
                (cells, q * cardinalities[child], 1), (sums, q, -1)
            ):
                alpha = mpmath.mpf(ess) / n_states
                # Of equal counts, one is enough.
                for n, times in Counter(counts.values()).items():
                    if n < 2000:
                        term = mpmath.fsum(mpmath.log(alpha + i) for i in range(int(n)))
                    else:
                        term = mpmath.loggamma(n + alpha) - mpmath.loggamma(alpha)
                    total += sign * times * term
        return float(total)


def fitted(codes, edges, cardinalities=None, **parameters):
    categories = "auto" if cardinalities is None else [list(range(r)) for r in cardinalities]
    estimator = BayesNetStructureEstimator(
        init=edges, max_iter=0, categories=categories, **parameters)
    return estimator.fit(codes)


@pytest.mark.parametrize("ess", ESS)
def test_products_of_cardinalities_beyond_every_float(ess):
    # 130 parents of 300 states: 300^130 = 1e322 configurations.
    rng = np.random.default_rng(0)
    n, r = 131, 300
    codes = rng.integers(0, r, (12, n))
    codes[6:] = codes[:6]
    edges = [(f"x{j}", f"x{n - 1}") for j in range(n - 1)]
    parents = [*[()] * (n - 1), tuple(range(n - 1))]
    model = fitted(codes, edges, [r] * n, ess=ess)
    expected = bdeu(codes, [r] * n, parents, ess)
    assert model.structure_score_ == pytest.approx(expected, rel=1e-11)
    assert np.isfinite(model.score_samples(codes)).all()
    assert np.isfinite(model.sample(3, random_state=0)).all()
    if ess != 1.0:
        return
    target = BayesNetStructureEstimator(
        init=[(f"x{j}", "y") for j in range(n - 1)], max_iter=0, categories=model.categories_[:-1]
    ).fit(codes[:, :-1], codes[:, -1])
    np.testing.assert_allclose(target.predict_proba(codes[:2, :-1]).sum(axis=1), 1.0)
    for score_type in ("loglik", "k2", "bds", "bdj", "fnml", "qnml"):
        score = structure_score(
            codes, edges, score_type=score_type, categories=model.categories_)
        assert -1e6 < score <= 0, score_type
    for score_type in ("bic", "aic", "mdl"):
        # The price of so many parameters is beyond every float.
        score = structure_score(
            codes, edges, score_type=score_type, categories=model.categories_)
        assert score == -math.inf, score_type
    estimate = analytic_ess(codes, edges, categories=model.categories_)
    assert not math.isnan(estimate.ess)
    report = edge_report(edges[:3], codes, ess=ess, categories=model.categories_)
    assert np.isfinite(report["log_bayes_factor"]).all()


@pytest.mark.filterwarnings("ignore:The graph has families:skbn.DataWarning")
@pytest.mark.parametrize("ess", ESS)
def test_fifty_parents(ess):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (300, 51))
    codes[:, 50] = codes[:, 0]
    edges = [(f"x{j}", "x50") for j in range(50)]
    model = fitted(codes, edges, ess=ess)
    expected = bdeu(codes, [2] * 51, [*[()] * 50, tuple(range(50))], ess)
    assert model.structure_score_ == pytest.approx(expected, rel=1e-11)
    for proba in model.predict_proba(codes[:3]):
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    unseen = 1 - codes[:3]
    conditional = model.score_samples(unseen) - fitted(codes, [], ess=ess).score_samples(unseen)
    assert np.isfinite(conditional).all()


@pytest.mark.filterwarnings("ignore::skbn.DataWarning")  # a name of rows, as a parent
@pytest.mark.parametrize("n_states", [65_536, 65_537])
def test_more_states_in_a_column_than_16_bits_count(n_states):
    codes = np.column_stack([np.arange(n_states), np.arange(n_states) % 2])[::-1]
    assert structure_score(codes, []) == pytest.approx(
        bdeu(codes[:, :1], [n_states], [()], 1.0) + bdeu(codes[:, 1:], [2], [()], 1.0), rel=1e-11)
    model = fitted(codes, [("x0", "x1")])
    assert len(model.categories_[0]) == n_states
    logs = model.score_samples(codes[:5])
    # P(x0) is uniform; P(x1 | x0) from one row and half a prior of a / q.
    a = 1.0 / n_states
    expected = -math.log(n_states) + math.log((1 + a / 2) / (1 + a))
    np.testing.assert_allclose(logs, expected, rtol=1e-12)


def test_very_many_declared_levels():
    n_states = 200_000
    codes = np.array([[5, 0], [n_states - 1, 1], [5, 0], [7, 1]])
    model = fitted(codes, [("x0", "x1")], [n_states, 2])
    expected = bdeu(codes, [n_states, 2], [(), (0,)], 1.0)
    assert model.structure_score_ == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("total", [2.0**31 - 1, 2.0**31, 2.0**33 + 2, 1e15, 1e100, 9e299])
@pytest.mark.parametrize("ess", [1e-300, 1.0, 1e12])
def test_weights_that_sum_to_more_than_integers_hold(total, ess):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, (20, 3))
    weights = np.floor(rng.dirichlet(np.ones(20)) * total * 0.99)
    weights[0] += total - weights.sum()
    edges, parents = [("x0", "x2"), ("x1", "x2")], [(), (), (0, 1)]
    score = structure_score(codes, edges, ess=ess, sample_weight=weights)
    assert score == pytest.approx(bdeu(codes, [3] * 3, parents, ess, weights), rel=1e-9)
    model = BayesNetStructureEstimator(ess=ess, random_state=0).fit(codes, sample_weight=weights)
    assert math.isfinite(model.structure_score_)
    for proba in model.predict_proba(codes):
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("score_type", ["fnml", "qnml"])
def test_counts_that_nml_scores_cannot_tell_from_others(score_type):
    codes = np.array([[0, 0], [1, 1], [0, 1]])
    for total in (1e10, 2.0**52):
        assert math.isfinite(structure_score(
            codes, [("x0", "x1")], score_type=score_type, sample_weight=[total, 1, 1]))
    for total in (2.0**54, 1e290):
        with pytest.raises(ValueError, match=r"whole counts below 2\*\*53"):
            structure_score(
                codes, [("x0", "x1")], score_type=score_type, sample_weight=[total, 1, 1])


def test_a_sum_of_weights_beyond_what_can_be_counted():
    with pytest.raises(ValueError, match="Divide the weights"):
        structure_score([[0, 1], [1, 0]], [], sample_weight=[1e300, 1e300])


@pytest.mark.parametrize("search", ["greedy", "first_ascent", "tabu", "order", "exact"])
@pytest.mark.parametrize("ess", [1e-300, 1e300])
def test_searches_at_the_ends_of_the_equivalent_sample_size(search, ess):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (100, 4))
    codes[:, 1] = codes[:, 0]
    model = BayesNetStructureEstimator(search=search, ess=ess, random_state=0).fit(codes)
    parents = [tuple(np.flatnonzero(column)) for column in model.adjacency_.T]
    expected = bdeu(codes, [3] * 4, parents, ess)
    assert model.structure_score_ == pytest.approx(expected, rel=1e-11)
    exact = BayesNetStructureEstimator(search="exact", ess=ess).fit(codes)
    assert model.structure_score_ <= exact.structure_score_ + 1e-9 * abs(exact.structure_score_)


# Columns that are different in nearly every row: 16,000 rows of 16,000 states.

N = 16_000


@pytest.fixture(scope="module")
def identifiers():
    """A table, the network row -> code -> kind, which only fits if it keeps what was observed."""
    table = pd.DataFrame({
        "row": range(N), "code": [f"k{i}" for i in range(N)], "kind": [i % 2 for i in range(N)],
    }).astype("category")
    tracemalloc.start()
    bn = BayesNetStructureEstimator(init=[("row", "code"), ("code", "kind")], max_iter=0)
    with pytest.warns(DataWarning, match="'code' given 'row' has 16,000 configurations"):
        bn.fit(table)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return table, bn, taken


@pytest.fixture
def little_memory(monkeypatch):
    """A machine with 200 MB left."""
    monkeypatch.setattr(resources, "_physical", lambda: 2e8)


def test_parameters_of_identifiers_take_little_memory(identifiers):
    table, bn, taken = identifiers
    assert taken < 1e8  # 16,000 x 16,000 floats are 2 GB
    assert len(pickle.dumps(bn)) < 3e6
    # Equation 3 with one row in each configuration, by hand.
    a = 1.0
    seen = math.log((1 + a / N**2) / (1 + a / N))
    expected = -math.log(N) + seen + math.log((1 + a / (2 * N)) / (1 + a / N))
    np.testing.assert_allclose(bn.score_samples(table), expected, rtol=1e-12)
    codes = bn.network_.log_prob({"row": 3, "code": "k7"})
    assert codes == pytest.approx(-math.log(N) + math.log((a / N**2) / (1 + a / N)), rel=1e-12)


def test_identifiers_are_predicted_in_blocks(identifiers, little_memory):
    table, bn, _ = identifiers
    rows = table[7:57]
    tracemalloc.start()
    predicted = bn.predict(rows)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert predicted.tolist() == rows.to_numpy(dtype=object).tolist()
    assert taken < 2e8
    of_code = BayesNetStructureEstimator(init=[("row", "code")], max_iter=0)
    with pytest.warns(DataWarning, match="'code' given 'row'"):
        of_code.fit(table[["row"]], table["code"])
    assert of_code.predict(rows[["row"]]).tolist() == rows["code"].tolist()
    # Whatever fits is given.
    best = of_code.predict_proba(rows[["row"]][:2]).argmax(axis=1)
    assert of_code.classes_[best].tolist() == ["k7", "k8"]


def averager(table):
    return BayesNetAverager(n_graphs=3, random_state=0).fit(table)


def classifier():
    """Fitted to two rows; its target declares 16,000 classes."""
    return BayesNetClassifier(categories={"x0": [0, 1], "y": range(N)}).fit([[0], [1]], [3, 5])


@pytest.mark.filterwarnings("ignore::skbn.DataWarning")  # such a table is warned of
@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda bn, X: bn.predict_proba(X), "16,000 states of 'row' in 16,000 rows"),
        (lambda bn, X: averager(X).predict_proba(X), "16,000 states of 'row' in 16,000 rows"),
        (lambda bn, X: classifier().predict_log_proba([[0]] * N), "16,000 states of 'y' in 16,000"),
        (lambda bn, X: bn.network_.posterior("code", X[["row"]]),
         "16,000 states of 'code' in 16,000 rows"),
        (lambda bn, X: bn.network_.cpt("code").probabilities, "The table of 'code' has 16,000"),
        (lambda bn, X: bn.network_.cpt("code").to_frame(), "The table of 'code' has 16,000"),
        (lambda bn, X: bn.network_.to_networkx(), "The table of 'code' has 16,000"),
        (lambda bn, X: bn.network_.tables[1].log_probabilities, "The table of 'variable 1' has"),
        (lambda bn, X: bn.network_.to_bif(default_rows=True), "in the table of 'code'"),
    ],
    ids=[
        "predict_proba", "averager", "predict_log_proba", "posterior", "probabilities", "to_frame",
        "to_networkx", "log_probabilities", "to_bif",
    ],
)
def test_what_would_not_fit_is_refused_by_column_and_size(identifiers, little_memory, ask, named):
    table, bn, _ = identifiers
    with pytest.raises(MemoryError, match=r"about \d+ bytes \(.* GB\), more than .* all") as caught:
        ask(bn, table)
    assert named in str(caught.value)
    assert "identifiers" in str(caught.value)
    assert len(str(caught.value)) < 600


def test_tables_of_identifiers_print_what_they_print_of_any(identifiers, little_memory):
    _, bn, _ = identifiers
    lines = str(bn.network_.cpt("code")).splitlines()
    assert lines[0] == "P(code | row)"
    assert lines[1].split() == ["row", *sorted(f"k{i}" for i in range(N))[:12], "..."]
    assert lines[2].split()[:3] == ["0", "0.9999", "4e-09"]
    assert "15,970 more observed configurations" in lines[-1]
    assert bn.network_.cpt("code")._repr_html_().count("<tr>") == 31


@pytest.mark.parametrize("search", ["greedy", "order", "exact"])
def test_a_search_over_too_many_columns_is_refused_before_it_starts(search, monkeypatch):
    monkeypatch.setattr(resources, "_physical", lambda: 1e7)
    # 16 bytes for each of 1,200^2 pairs.
    with pytest.raises(MemoryError, match=r"Graphs over 1,200 columns take about 23040000 bytes"):
        BayesNetStructureEstimator(search=search).fit(np.eye(2, 1200, dtype=int))
    with pytest.raises(MemoryError, match=r"Graphs over 3,000 columns take about 27000000 bytes"):
        structure_score(np.eye(2, 3000, dtype=int), [("x0", "x1")])
