"""Learn a Bayesian network from the wine data, judge it on held-out rows, and tune its prior.

Thirteen chemical measurements of 178 wines are cut into three bins each; the cultivar is the
fourteenth variable. Run it with ``python examples/quickstart.py``.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from skbn import BayesNetClassifier, BayesNetStructureEstimator


def main() -> None:
    wine = load_wine()
    table = np.column_stack([wine.data, wine.target])
    names = {f"x{i}": name for i, name in enumerate([*wine.feature_names, "cultivar"])}
    train, test = train_test_split(table, test_size=0.3, random_state=0)

    # 1. A network of all columns. The bins are declared: one that a small sample misses counts too.
    n_bins = 3
    bins = KBinsDiscretizer(n_bins, encode="ordinal", strategy="uniform")
    network = BayesNetStructureEstimator(
        ess=2.0, categories=[np.arange(n_bins)] * table.shape[1], random_state=0
    )
    model = make_pipeline(bins, network).fit(train)
    print(f"{len(network.edges_)} edges, BDeu score {network.structure_score_:.2f}:")
    for parent, child in network.edges_:
        print(f"    {names[parent]} -> {names[child]}")
    print(f"Held-out log-loss: {-model.score(test):.3f} nats a row\n")

    # 2. Cross-validation, and the strength of the prior by grid search, bins cut inside the folds.
    folds = KFold(5, shuffle=True, random_state=0)
    loss = -cross_val_score(model, table, cv=folds)
    print(f"Cross-validated log-loss at ess=2: {loss.mean():.3f} +- {loss.std():.3f}")
    grid = GridSearchCV(
        model, {"bayesnetstructureestimator__ess": [0.5, 1, 2, 5, 10, 20, 50]}, cv=folds
    ).fit(table)
    print("Equivalent sample size   log-loss")
    for parameters, score in zip(
        grid.cv_results_["params"], grid.cv_results_["mean_test_score"], strict=True
    ):
        print(f"{parameters['bayesnetstructureestimator__ess']:22}   {-score:8.3f}")
    print(f"Best: {grid.best_params_['bayesnetstructureestimator__ess']}\n")

    # 3. The same model as a classifier of the cultivar.
    classifier = make_pipeline(
        KBinsDiscretizer(n_bins, encode="ordinal", strategy="uniform"),
        BayesNetClassifier(ess=5.0, random_state=0),
    )
    accuracy = cross_val_score(classifier, wine.data, wine.target, cv=folds)
    print(f"Cultivar from the measurements: accuracy {accuracy.mean():.3f}")


if __name__ == "__main__":
    main()
