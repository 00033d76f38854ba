import numpy as np
import pytest

from skbn import BayesNetAverager, BayesNetStructureEstimator, ess_path
from skbn.counting.data import CategoricalData
from skbn.graphs.constraints import Constraints
from skbn.resources import Workers
from skbn.scores.by_name import SCORES
from skbn.scores.local_scores import LocalScores
from skbn.subsets import set_sums
from skbn.subsets.all_families import AllFamilies
from skbn.subsets.parent_sets import bits


def table(n_rows=80, cardinalities=(2, 3, 2, 4, 3), seed=0):
    rng = np.random.default_rng(seed)
    return CategoricalData.from_codes(
        np.array([rng.integers(0, r, n_rows) for r in cardinalities]), cardinalities
    )


def filled(families, scores, **options):
    """Copies of the local scores of all families, by child and set of parents in bits."""
    plans = [families.plan(one) for one in scores]
    found = []
    with Workers(1, None) as workers:
        for plan in families.filled(plans, workers, 1e9, **options):
            found.append({
                (child, given): plan.numbers[plan.plus[child]][given | 1 << child]
                - plan.numbers[plan.minus[child]][given]
                for child in range(families.n) for given in families.rules.families(child)
            })
    return found


@pytest.fixture
def counted(monkeypatch):
    """The numbers of blocks of sets that were counted."""
    calls = []
    count = set_sums.count_sets

    def note(*arguments):
        calls.append(arguments[8])  # the prefix, which tells blocks apart
        return count(*arguments)

    monkeypatch.setattr(set_sums, "count_sets", note)
    # Nothing is remembered, as of a table too large for that.
    monkeypatch.setattr(set_sums, "_REMEMBERED", 0)
    return calls


@pytest.mark.parametrize("name", ["bdeu", "k2", "qnml", "bds"])
def test_all_families_have_their_local_scores(name):
    data = table()
    families = AllFamilies(data, Constraints.none(5, 3))
    scores = [LocalScores(data, SCORES[name], ess) for ess in (0.5, 20.0)]
    for one, found in zip(scores, filled(families, scores), strict=True):
        assert len(found) == 5 * 15
        for (child, given), value in found.items():
            members = [families.order[b] for b in bits(given)]
            expected = one.local(families.order[child], members)
            assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["bdeu", "k2"])
def test_what_is_kept_is_counted_once_and_given_to_whom_it_belongs(counted, name):
    data = table()
    families = AllFamilies(data, Constraints.none(5))
    one, other = (LocalScores(data, SCORES[name], ess) for ess in (1.0, 30.0))
    kept = filled(families, [one, other], keep=True)
    assert len(counted) == len(set(counted)) > 0
    n_counted = len(counted)
    assert filled(families, [other, one]) == kept[::-1]
    assert len(counted) == n_counted
    # They were the receiver's to change, so now they are counted anew.
    assert filled(families, [one]) == kept[:1]
    assert len(counted) == 2 * n_counted


@pytest.mark.parametrize("score", ["bdeu", "k2"])
def test_the_averager_counts_each_set_once(counted, score):
    X = table().codes.T
    model = BayesNetAverager(score_type=score, n_graphs=5, random_state=0).fit(X)
    assert len(counted) == len(set(counted)) > 0
    alone = BayesNetStructureEstimator(score_type=score, search="exact").fit(X)
    assert model.estimator_.edges_ == alone.edges_


def test_sums_over_graphs_take_no_count_beyond_that_of_an_ess_path(counted):
    rng = np.random.default_rng(1)
    rain = rng.integers(0, 2, 80)
    X = np.column_stack([rain, np.where(rng.random(80) < 0.9, rain, 1 - rain), *table().codes[:3]])
    alone = ess_path(X, [1.0, 10.0])
    n_counted = len(counted)
    counted.clear()
    path = ess_path(X, [1.0, 10.0], all_graphs=True)
    assert len(counted) == n_counted > 0
    assert path.graphs == alone.graphs
    assert path.continuous_map_ess == alone.continuous_map_ess
