"""Restarts, folds and grids on a dask cluster, through joblib."""

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from skbn import BayesNetStructureEstimator, ESSSearchCV

distributed = pytest.importorskip("distributed")
FOLDS = KFold(3, shuffle=True, random_state=0)
# Of dask's own making.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes on this machine."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield cluster


def table():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, size=(200, 6))
    for column in range(1, 6):
        X[:, column] = np.where(rng.random(200) < 0.5, X[:, column - 1], X[:, column])
    return X


def test_restarts(cluster):
    X = table()
    model = BayesNetStructureEstimator(n_restarts=5, random_state=0)
    alone = model.fit(X)
    expected = alone.edges_, alone.restart_scores_.tolist()
    with joblib.parallel_config(backend="dask"):
        model.set_params(n_jobs=-1).fit(X)
    assert (model.edges_, model.restart_scores_.tolist()) == expected
    # Families are counted by the process that needs them: here by the workers.
    assert model.n_evaluations_ == 0


@pytest.mark.parametrize("kind", [ESSSearchCV, GridSearchCV])
def test_folds_and_grids(kind, cluster):
    X = table()
    grid = [0.5, 2.0, 8.0]
    grid = {"ess": grid} if kind is GridSearchCV else grid
    model = BayesNetStructureEstimator(search="exact")
    alone = kind(model, grid, cv=FOLDS).fit(X).cv_results_["mean_test_score"]
    with joblib.parallel_config(backend="dask"):
        spread = kind(model, grid, cv=FOLDS, n_jobs=-1).fit(X).cv_results_["mean_test_score"]
    assert spread.tolist() == alone.tolist()


def test_the_golden_table(golden, cluster):
    expected = golden.results()
    with joblib.parallel_config(backend="dask"):
        assert golden.results(2) == expected
