"""The alarm table of R's bnlearn, 20,000 rows of 37 columns of text, from file to samples."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skbn import BayesNetStructureEstimator, structure_score

SHARED = Path(os.environ.get("SKBN_SHARED", Path(__file__).resolve().parents[3] / "shared"))


@pytest.fixture(scope="module")
def alarm():
    path = SHARED / "data" / "bnlearn" / "alarm.csv.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in {path.parent}")
    return pd.read_csv(path, dtype=str)


def test_from_file_to_samples(alarm):
    train, test = alarm[:-2000], alarm[-2000:]
    estimator = BayesNetStructureEstimator(ess=1.0, random_state=0).fit(train)
    columns = list(alarm.columns)
    assert estimator.feature_names_in_.tolist() == columns
    assert {name for edge in estimator.edges_ for name in edge} <= set(columns)
    assert 40 < len(estimator.edges_) < 80
    # Edges that every score finds in these data, in one direction or the other.
    skeleton = set(map(frozenset, estimator.edges_))
    for edge in (("CVP", "LVV"), ("HIST", "LVF"), ("PAP", "PMB"), ("HRBP", "ERLO")):
        assert frozenset(edge) in skeleton
    assert estimator.structure_score_ == pytest.approx(
        structure_score(train, estimator.edges_), rel=1e-12)
    empty = BayesNetStructureEstimator(ess=1.0, init=[], max_iter=0).fit(train)
    assert estimator.score(test) > empty.score(test) + 5
    proba = estimator.predict_proba(test)
    assert len(proba) == 37
    for p, levels in zip(proba, estimator.categories_, strict=True):
        assert p.shape == (2000, len(levels))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert (estimator.predict(test) == test.to_numpy()).mean() > 0.9
    drawn = estimator.sample(20_000, random_state=0)
    assert drawn.columns.equals(alarm.columns)
    assert drawn.dtypes.equals(alarm.dtypes)
    # Their own scores are near those of rows that were held out.
    assert estimator.score(drawn) == pytest.approx(estimator.score(test), abs=0.3)


def test_restarts_and_threads(alarm):
    rows = alarm[:2000]
    alone = BayesNetStructureEstimator(random_state=4).fit(rows)
    runs = [BayesNetStructureEstimator(random_state=4, n_restarts=3, n_jobs=n_jobs).fit(rows)
            for n_jobs in (1, 2)]
    for run in runs:
        assert run.restart_scores_[0] == alone.structure_score_
        assert run.structure_score_ == run.restart_scores_.max()
    np.testing.assert_array_equal(runs[0].restart_scores_, runs[1].restart_scores_)
    assert runs[0].edges_ == runs[1].edges_
    assert runs[0].restart_histories_ == runs[1].restart_histories_
    np.testing.assert_array_equal(runs[0].score_samples(rows), runs[1].score_samples(rows))


def test_row_order_and_the_kind_of_table(alarm):
    rows = alarm[:3000]
    plain = BayesNetStructureEstimator(random_state=0).fit(rows)
    for table in (rows.sample(frac=1.0, random_state=0), rows.astype("category"),
                  rows.to_numpy(dtype=object)):
        other = BayesNetStructureEstimator(random_state=0).fit(table)
        assert other.structure_score_ == plain.structure_score_
        np.testing.assert_array_equal(other.adjacency_, plain.adjacency_)
