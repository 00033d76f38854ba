"""Sums over all graphs in exact arithmetic, and for numbers of graphs that are known."""

import math
from fractions import Fraction

import numpy as np
import pytest

from skbn.graphs.constraints import Constraints, EdgePenalty
from skbn.posteriors.family_weights import put_in, take_out
from skbn.posteriors.graph_sums import GraphSums, sum_over_members
from skbn.posteriors.marginal_likelihood import log_prior_total
from skbn.resources import Workers

# Labelled directed acyclic graphs of n variables: sequence A003024 of the OEIS.
N_GRAPHS = [
    1, 1, 3, 25, 543, 29281, 3781503, 1138779265, 783702329343, 1213442454842881,
    4175098976430598143, 31603459396418917607425, 521939651343829405020504063,
    18676600744432035186664816926721, 1439428141044398334941790719839535103,
]


@pytest.fixture
def workers():
    with Workers(1, None) as one:
        yield one


def exact_sum(weights):
    """Weight of all graphs in fractions; weights[j][P] with the child's bit taken out of P."""
    n = len(weights)
    families = []
    for row in weights:
        sums = list(row)
        for b in range(n - 1):
            for members in range(len(sums)):
                if members >> b & 1:
                    sums[members] += sums[members ^ 1 << b]
        families.append(sums)
    total = [Fraction(0)] * 2**n
    total[0] = Fraction(1)
    for members in range(1, 2**n):
        last = members
        while last:
            rest = members ^ last
            term = total[rest]
            for j in range(n):
                if last >> j & 1:
                    term *= families[j][take_out(rest, j)]
            total[members] += term if last.bit_count() % 2 else -term
            last = (last - 1) & members
    return total[-1]


def log_of(value):
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    return math.log(value / Fraction(2) ** shift) + shift * math.log(2)


@pytest.mark.parametrize("block_bits", [12, 2])
@pytest.mark.parametrize("spread", [0, 3, 60, 2000])
def test_exact_fractions_agree(spread, block_bits, workers, monkeypatch):
    monkeypatch.setattr("skbn.posteriors.graph_sums._BLOCK_BITS", block_bits)
    monkeypatch.setattr("skbn.posteriors.graph_sums._CALL_PAIRS", 3 ** (block_bits + 1))
    n = 6
    rng = np.random.default_rng(spread)
    powers = rng.integers(-spread, spread + 1, size=(n, 2 ** (n - 1)))
    if spread == 3:
        powers[rng.random(powers.shape) < 0.4] = -10**6  # 0
        powers[:, 0] = 0
    weights = [[Fraction(2) ** int(p) if p > -10**6 else Fraction(0) for p in row]
               for row in powers]
    logs = np.where(powers > -10**6, powers * math.log(2), -np.inf)
    sums = GraphSums(logs, workers)
    log_sum, nondescendants = sums.sum_dags(with_nondescendants=True)
    whole = exact_sum(weights)
    assert log_sum == pytest.approx(log_of(whole), rel=1e-14, abs=1e-13)
    assert sums.sum_dags() == (log_sum, None)
    np.testing.assert_allclose(nondescendants.sum(axis=1), 1, rtol=1e-13)
    parents = sums.parent_sets(nondescendants)
    np.testing.assert_allclose(parents.sum(axis=1), 1, rtol=1e-13)
    for child in range(0, n, 3):
        for place in rng.integers(2 ** (n - 1), size=3).tolist():
            only = [list(row) for row in weights]
            only[child] = [w if p == place else Fraction(0) for p, w in enumerate(weights[child])]
            expected = exact_sum(only) / whole
            assert parents[child, place] == pytest.approx(float(expected), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("block_bits", [12, 2])
def test_required_parents_agree_with_fractions(block_bits, workers, monkeypatch):
    monkeypatch.setattr("skbn.posteriors.graph_sums._BLOCK_BITS", block_bits)
    n, required = 6, {5: 0, 3: 1, 0: 1}
    powers = np.random.default_rng(1).integers(-3, 4, size=(n, 2 ** (n - 1)))
    places = np.arange(2 ** (n - 1))
    allowed = np.ones(powers.shape, dtype=bool)
    for child, parent in required.items():
        allowed[child] = take_out(1 << parent, child) & places != 0
    weights = [[Fraction(2) ** int(p) * int(ok) for p, ok in zip(row, oks, strict=True)]
               for row, oks in zip(powers, allowed, strict=True)]
    sums = GraphSums(np.where(allowed, powers * math.log(2), -np.inf), workers)
    log_sum, nondescendants = sums.sum_dags(with_nondescendants=True)
    assert log_sum == pytest.approx(log_of(exact_sum(weights)), rel=1e-14)
    parents = sums.parent_sets(nondescendants)
    assert (parents[~allowed] == 0).all()
    np.testing.assert_allclose(parents.sum(axis=1), 1, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 10, 13, 14])
def test_the_number_of_graphs(n, workers):
    sums = GraphSums(np.zeros((n, 2 ** (n - 1))), workers)
    log_sum, given = sums.sum_dags(with_nondescendants=True)
    assert log_sum == pytest.approx(math.log(N_GRAPHS[n]), rel=1e-15, abs=1e-13)
    total = log_prior_total(Constraints.none(n), None, range(n), workers)
    assert total == pytest.approx(math.log(N_GRAPHS[n]), rel=1e-15, abs=1e-13)
    # Every edge is as probable as every other.
    parents = sums.parent_sets(given)
    edges = np.array([sum_over_members(row, child) for child, row in enumerate(parents)])
    off = ~np.eye(n, dtype=bool)
    if n > 1:
        np.testing.assert_allclose(edges[off], edges[0, 1], rtol=1e-13)
    assert (edges[~off] == 0).all()


@pytest.mark.parametrize("per_edge", [0.0, 1.5, 12.0])
def test_independent_columns(per_edge, workers):
    """All graphs compete, with most of the weight on those of few edges: the hardest sums."""
    n = 12
    sizes = np.bitwise_count(np.arange(2 ** (n - 1)))
    logs = np.tile(-per_edge * sizes, (n, 1)).astype(float)
    sums = GraphSums(logs, workers)
    log_sum, given = sums.sum_dags(with_nondescendants=True)

    def exact(edge):
        totals = [Fraction(1)]
        for m in range(1, n + 1):
            totals.append(sum((-1) ** (k + 1) * math.comb(m, k) * totals[m - k]
                              * (1 + edge) ** (k * (m - k)) for k in range(1, m + 1)))
        return totals[n]

    edge = Fraction(math.exp(-per_edge))
    whole = exact(edge)
    assert log_sum == pytest.approx(log_of(whole), rel=1e-14, abs=3e-15)
    # The expected number of edges is the derivative of ln Z by the logarithm of their weight.
    step = Fraction(1, 10**25)
    expected = float((exact(edge * (1 + step)) - whole) / (step * whole)) / (n * (n - 1))
    parents = sums.parent_sets(given)
    for child in (0, 7):
        found = np.delete(sum_over_members(parents[child], child), child)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    total = log_prior_total(Constraints.none(n), EdgePenalty(per_edge), range(n), workers)
    assert total == pytest.approx(log_sum, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("max_parents", [0, 1, 2, 4])
@pytest.mark.parametrize("over_orders", [False, True])
def test_closed_forms_of_the_prior_agree_with_sums(max_parents, over_orders, workers):
    every = Constraints.none(5, max_parents)
    for plain in (every, every.isolating(np.array([False, True, False, False, True]))):
        for log_prior in (None, EdgePenalty(0.8)):
            closed = log_prior_total(plain, log_prior, range(5), workers, over_orders=over_orders)
            summed = log_prior_total(
                plain,
                lambda child, parents: -0.8 * len(parents) * (log_prior is not None),  # noqa: B023
                range(5), workers, over_orders=over_orders,
            )
            assert closed == pytest.approx(summed, abs=1e-12)


def test_bits_of_sets():
    for members in range(32):
        for variable in range(5):
            if not members >> variable & 1:
                assert put_in(take_out(members, variable), variable) == members
    assert take_out(0b10100, 1) == 0b1010
    values = np.arange(8.0)
    sums = sum_over_members(values, 2)
    for variable, place in ((0, 0), (1, 1), (3, 2)):
        assert sums[variable] == sum(v for v in range(8) if v >> place & 1)
    assert sums[2] == 0


def test_no_graph_is_minus_infinity(workers):
    logs = np.zeros((3, 4))
    logs[:, 0] = -np.inf  # every variable needs a parent
    sums = GraphSums(logs, workers)
    assert sums.sum_dags(with_nondescendants=True) == (-math.inf, None)
    assert sums.log_order_sum == -math.inf
