"""Does averaging over graphs predict better than the best graph? Cross-validated log-loss.

    python benchmarks/averaging.py --data folder/of/uci [--sets 10] [--ess 1]

The sets with the fewest cells (rows times columns) among the .csv and .csv.gz files of the
folder; a file <name>.levels.tsv beside a set (columns: column, arity) declares its levels. Both
models see the same folds, levels and equivalent sample size.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from skbn import BayesNetAverager


def read(path):
    X = pd.read_csv(path)
    levels = path.with_name(path.name.partition(".")[0] + ".levels.tsv")
    if not levels.exists():
        return X, {c: sorted(X[c].unique()) for c in X}
    arities = pd.read_csv(levels, sep="\t").set_index("column")["arity"]
    return X, {c: list(range(arities[c])) for c in X}


def compare(X, levels, ess, n_splits, n_graphs, random_state):
    """Mean test log-loss per row of the best graph and of the average, and its spread."""
    best, average = np.empty(len(X)), np.empty(len(X))
    n_networks = []
    for train, test in KFold(n_splits, shuffle=True, random_state=random_state).split(X):
        model = BayesNetAverager(
            ess=ess, n_graphs=n_graphs, categories=levels, random_state=random_state
        ).fit(X.iloc[train])
        average[test] = -model.score_samples(X.iloc[test])
        best[test] = -model.estimator_.score_samples(X.iloc[test])
        n_networks.append(len(model.networks_))
    gain = best - average
    return best.mean(), average.mean(), gain.std() / np.sqrt(len(X)), np.mean(n_networks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--ess", type=float, default=1.0)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--graphs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    tables = {path.name.partition(".")[0]: read(path) for path in args.data.glob("*.csv*")}
    names = sorted(tables, key=lambda name: (tables[name][0].size, name))[: args.sets]
    print(f"ess {args.ess:g}, {args.splits} folds, {args.graphs} graphs drawn")
    print(f"{'set':10} {'rows':>5} {'cols':>4} {'best graph':>10} {'average':>8} {'gain':>8} "
          f"{'± s.e.':>7} {'networks':>8} {'s':>5}")
    wins = 0
    for name in names:
        X, levels = tables[name]
        started = time.process_time()
        best, average, error, n_networks = compare(
            X, levels, args.ess, args.splits, args.graphs, args.seed
        )
        wins += average <= best
        print(f"{name:10} {len(X):5} {X.shape[1]:4} {best:10.4f} {average:8.4f} "
              f"{best - average:+8.4f} {error:7.4f} {n_networks:8.0f} "
              f"{time.process_time() - started:5.1f}", flush=True)
    print(f"The average is no worse on {wins} of {len(names)} sets.")


if __name__ == "__main__":
    main()
