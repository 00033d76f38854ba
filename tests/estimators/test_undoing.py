"""A fit that fails, or is interrupted, leaves the estimator as it was."""

import numpy as np
import pytest

from skbn import BayesNetAverager, BayesNetClassifier, BayesNetStructureEstimator, ESSSearchCV
from skbn.estimators.predictions import undone_on_failure

RNG = np.random.default_rng(0)
SMALL = RNG.integers(0, 2, (30, 3))
SMALL[:25, 1] = SMALL[:25, 0]
LARGE = RNG.integers(0, 3, (40, 5))


def prior_that_stops(error):
    def prior(variable, parents):
        raise error

    return prior


MAKE = {
    "estimator": lambda **p: BayesNetStructureEstimator(random_state=0, **p),
    "classifier": lambda **p: BayesNetClassifier(random_state=0, **p),
    "averager": lambda **p: BayesNetAverager(n_graphs=3, random_state=0, **p),
}


def fit(estimator, X):
    if isinstance(estimator, BayesNetClassifier):
        return estimator.fit(X[:, :-1], X[:, -1])
    return estimator.fit(X)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no"), MemoryError()], ids=repr)
@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_fit_that_fails(make, error):
    fresh = make(graph_prior=prior_that_stops(error))
    before = dict(vars(fresh))
    with pytest.raises(type(error)):
        fit(fresh, LARGE)
    assert vars(fresh) == before

    fitted = fit(make(), SMALL)
    fitted.set_params(graph_prior=prior_that_stops(error))
    before = dict(vars(fitted))
    with pytest.raises(type(error)):
        fit(fitted, LARGE)
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[name] is value for name, value in before.items())
    features = SMALL[:, : fitted.n_features_in_]
    assert np.isfinite(fitted.score_samples(features)).all()


def test_a_search_that_is_interrupted_after_a_fold():
    search = ESSSearchCV(BayesNetStructureEstimator(random_state=0), [1.0], cv=2).fit(SMALL)
    n_calls = 0

    def scoring(estimator, X, y=None):
        nonlocal n_calls
        n_calls += 1
        if n_calls > 3:
            raise KeyboardInterrupt
        return estimator.score(X)

    search.set_params(scoring=scoring)
    before = dict(vars(search))
    with pytest.raises(KeyboardInterrupt):
        search.fit(LARGE)
    assert n_calls > 3
    assert vars(search).keys() == before.keys()
    assert all(vars(search)[name] is value for name, value in before.items())


def test_what_a_method_gives_and_is_called_stays():
    class Thing:
        @undone_on_failure
        def method(self, value, *, fail=False):
            """What it says."""
            self.value = value
            if fail:
                raise ValueError("no")
            return self

    thing = Thing()
    assert thing.method(1) is thing
    with pytest.raises(ValueError, match="no"):
        thing.method(2, fail=True)
    assert vars(thing) == {"value": 1}
    assert Thing.method.__doc__ == "What it says."
