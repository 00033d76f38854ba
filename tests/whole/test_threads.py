"""Many threads fit and predict at once, with estimators of their own and with shared ones."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from skbn import (
    BayesNetClassifier,
    BayesNetStructureEstimator,
    edge_report,
    ess_path,
    structure_score,
)

N_THREADS = 12
RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (300, 6))
for column in range(1, 6):
    X[:, column] = np.where(RNG.random(300) < 0.6, X[:, column - 1], X[:, column])
Y = X[:, -1]
OTHER = RNG.integers(0, 2, (40, 3))
SHARED = BayesNetStructureEstimator(n_restarts=2, random_state=0).fit(X)
CLASSIFIER = BayesNetClassifier(random_state=0).fit(X[:, :-1], Y)


def at_once(calls):
    """The results of calls that all start together, each in a thread of its own."""
    barrier = threading.Barrier(len(calls))

    def run(call):
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(run, call) for call in calls]]


def state_of(estimator):
    return (
        estimator.edges_, estimator.structure_score_, estimator.restart_scores_.tolist(),
        estimator.score_samples(X).tolist(),
    )


@pytest.mark.parametrize("parameters", [
    {"n_restarts": 2, "n_jobs": 2}, {"search": "tabu"}, {"search": "order"},
    {"search": "first_ascent"}, {"search": "exact", "n_jobs": 2}, {"ess": "analytic"},
    {"score_type": "fnml"}, {"score_type": "qnml", "search": "exact"},
], ids=str)
def test_estimators_of_their_own(parameters):
    def fit():
        return state_of(BayesNetStructureEstimator(random_state=0, **parameters).fit(X))

    expected = fit()
    assert at_once([fit] * N_THREADS) == [expected] * N_THREADS


def test_predictions_of_a_shared_estimator():
    calls = [
        lambda: SHARED.score_samples(X).tolist(), lambda: SHARED.predict(X).tolist(),
        lambda: [p.tolist() for p in SHARED.predict_proba(X)],
        lambda: SHARED.sample(50, random_state=1).tolist(),
        lambda: CLASSIFIER.predict_proba(X[:, :-1]).tolist(),
        lambda: str(SHARED.network_.cpt("x1")),
        lambda: SHARED.network_.cpdag().tolist(),
        lambda: [list(map(str, column)) for column in edge_report(SHARED, X).values()],
    ]
    expected = [call() for call in calls]
    assert at_once(calls * 3) == expected * 3


def test_functions_on_one_table():
    calls = [
        lambda: structure_score(X, SHARED, score_type="bdeu"),
        lambda: structure_score(X, SHARED, score_type="qnml"),
        lambda: structure_score(X, SHARED, score_type="fnml"),
        lambda: ess_path(X, [0.1, 1, 10]).scores.tolist(),
    ]
    expected = [call() for call in calls]
    assert at_once(calls * 3) == expected * 3


def test_one_estimator_fitted_by_many_threads_to_one_table():
    shared = BayesNetStructureEstimator(random_state=0)
    expected = state_of(BayesNetStructureEstimator(random_state=0).fit(X))
    at_once([lambda: shared.fit(X)] * N_THREADS)
    assert state_of(shared) == expected


def test_predictions_while_others_fit():
    """Copies that are fitted again do not disturb a fitted estimator."""
    expected = SHARED.score_samples(X).tolist()

    def fit():
        return BayesNetStructureEstimator(random_state=0).fit(OTHER).edges_

    def predict():
        return [SHARED.score_samples(X).tolist() for _ in range(5)]

    edges = fit()
    assert at_once([fit, predict] * 6) == [edges, [expected] * 5] * 6
