"""Results that must be the same to the last bit wherever they are computed, printed as JSON.

    python tests/golden.py [n_jobs] [backend] [rows]

``rows`` is "permuted" for the same table in another order of rows.
"""

import hashlib
import json
import sys

import numpy as np
from joblib import parallel_config

from skbn import (
    BayesNetClassifier,
    BayesNetStructureEstimator,
    ESSSearchCV,
    edge_posteriors,
    ess_path,
    structure_score,
)

SCORES = ["bdeu", "loglik", "bic", "aic", "mdl", "k2", "bds", "bdj", "fnml", "qnml"]
SEARCHES = ["greedy", "first_ascent", "tabu", "order"]
GRAPH = [("x0", "x1"), ("x0", "x2"), ("x1", "x3"), ("x2", "x3"), ("x3", "x5"), ("x4", "x5")]


def table(n_rows=240, n_columns=7):
    """Codes of dependent columns, by a generator that no library can change."""
    state, codes = 12345, []
    for _ in range(n_rows):
        row = []
        for j in range(n_columns):
            state = (1103515245 * state + 12345) % 2**31
            value = state >> 16
            r = 2 + j % 3
            row.append(row[(j - 1) // 2] % r if j and value % 5 < 3 else value % r)
        codes.append(row)
    return np.array(codes)


def digest(*what):
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def fingerprint(estimator):
    return [
        digest(estimator.edges_), float(estimator.structure_score_).hex(),
        [float(score).hex() for score in estimator.restart_scores_], float(estimator.ess_).hex(),
    ]


def results(n_jobs=1, order=None):
    """Name to fingerprint of every case."""
    X = table()
    y = X[:, -1]
    weights = np.arange(len(X)) % 7 / 8.0
    if order is not None:
        X, y, weights = X[order], y[order], weights[order]
    told = {}
    for name in SCORES:
        told[f"structure_score {name}"] = structure_score(X, GRAPH, score_type=name).hex()
    told["structure_score weighted"] = structure_score(X, GRAPH, sample_weight=weights).hex()
    for search in SEARCHES:
        told[search] = fingerprint(BayesNetStructureEstimator(
            search=search, n_restarts=3, n_jobs=n_jobs, random_state=0).fit(X))
    told["weighted"] = fingerprint(BayesNetStructureEstimator(
        n_restarts=3, n_jobs=n_jobs, random_state=0).fit(X, sample_weight=weights))
    for ess in ("analytic", "marginal_likelihood"):
        told[ess] = fingerprint(BayesNetStructureEstimator(
            ess=ess, n_restarts=2, n_jobs=n_jobs, random_state=0).fit(X))
    for name in ("bdeu", "bic", "bds"):
        told[f"exact {name}"] = fingerprint(BayesNetStructureEstimator(
            search="exact", score_type=name, n_jobs=n_jobs).fit(X))
    classifier = BayesNetClassifier(n_restarts=2, n_jobs=n_jobs, random_state=0)
    told["classifier"] = fingerprint(classifier.fit(X[:, :-1], y))
    probe = table()[:20, :-1]
    told["predict_proba"] = digest(classifier.predict_proba(probe).tolist())
    told["sample"] = digest(classifier.sample(20, random_state=0)[0].tolist())
    path = ess_path(X, [0.1, 1, 10, 100], n_jobs=n_jobs)
    told["ess_path"] = [digest(path.graphs), [float(score).hex() for score in path.scores]]
    posterior = edge_posteriors(X[:, :5], n_jobs=n_jobs)
    told["edge_posteriors"] = digest(posterior.edges.tolist())
    if order is None:
        # Folds are rows, in their order.
        search = ESSSearchCV(BayesNetStructureEstimator(random_state=0), [1, 10], cv=3,
                             n_jobs=n_jobs).fit(X)
        told["ESSSearchCV"] = digest(
            search.cv_results_["mean_test_score"].tolist(), search.analytic_ess_, search.map_ess_)
    return told


if __name__ == "__main__":
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    backend = sys.argv[2] if len(sys.argv) > 2 else "threading"
    order = None
    if len(sys.argv) > 3 and sys.argv[3] == "permuted":
        order = np.random.default_rng(0).permutation(len(table()))
    with parallel_config(backend=backend):
        print(json.dumps(results(jobs, order), indent=1))
