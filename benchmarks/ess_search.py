"""ESSSearchCV beside GridSearchCV: the same grid, folds and scores, exact search.

    python benchmarks/ess_search.py heart_cl.csv

A file ``heart_cl.levels.tsv`` beside the table holds the number of states of each column, in a
column of its own called arity.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, KFold

from skbn import BayesNetStructureEstimator, ESSSearchCV


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path, help="a CSV of whole numbers from 0 upward")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()

    X = pd.read_csv(options.table)
    levels = pd.read_csv(
        options.table.with_name(options.table.name.split(".")[0] + ".levels.tsv"), sep="\t"
    )
    categories = {
        name: list(range(n)) for name, n in zip(X.columns, levels["arity"], strict=True)
    }
    grid = np.geomspace(0.5, 100, 20).tolist()
    folds = KFold(5, shuffle=True, random_state=0)
    model = BayesNetStructureEstimator(search="exact", categories=categories)
    searches = {
        "GridSearchCV": GridSearchCV(model, {"ess": grid}, cv=folds),
        "ESSSearchCV": ESSSearchCV(model, grid, cv=folds),
    }
    seconds = {name: [] for name in searches}
    for _ in range(options.runs):
        for name, search in searches.items():
            start = time.process_time()
            search.fit(X)
            seconds[name].append(time.process_time() - start)
    by_name = [search.cv_results_["mean_test_score"] for search in searches.values()]
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"{name}: {median:.2f} s")
    print(f"ratio: {medians['ESSSearchCV'] / medians['GridSearchCV']:.2f}")
    print(f"largest difference of scores: {np.abs(np.subtract(*by_name)).max():.1e}")


if __name__ == "__main__":
    main()
