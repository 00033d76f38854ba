"""Beyond the best graph: the posterior of every edge, and how the prior's strength bends it.

The best graph is one of many that explain a table about as well. Summed over all directed acyclic
graphs, each edge has a probability, and it depends on the equivalent sample size (ESS) as the best
graph does: H. Steck, Learning the Bayesian Network Structure (UAI 2008), ends with that warning.

1. P(row -> column | data) for a weak prior, for the ESS of the highest marginal likelihood summed
   over all graphs, and for a strong one.
2. The probability that two columns are adjacent, for every pair, against the ESS; below it the log
   marginal likelihood of the best graph and that over all graphs. The second is lower: the prior
   gives the best graph a share only, and 14 columns have 10^36 graphs.
3. Test log-loss of the best graph and of the average over graphs drawn from the posterior. The
   average gains the most where many graphs compete, with few rows for the columns (wine), and
   nothing where one class of equivalent graphs has nearly all the posterior: on iris at its best
   ESS the two differ by less than the standard error, either way. `benchmarks/averaging.py` has
   more tables: of the ten smallest of 20 UCI sets the average is no worse on all ten for ESS 1 and
   10, and on nine for 3 (ecoli, by 0.005 nats of 4.7) and 30 (iris, by 0.002).

    python examples/plot_edge_posteriors.py                    wine, opens the pictures
    python examples/plot_edge_posteriors.py --table iris       or iris, or tictac
    python examples/plot_edge_posteriors.py --save DIRECTORY   saves them, no display

Wine and iris are cut into three bins of equal width and take the class as their last column;
tictac has all endgames of tic-tac-toe.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import KFold
from sklearn.preprocessing import KBinsDiscretizer
from structure_search import tic_tac_toe

from skbn import BayesNetAverager, EdgePosteriorDisplay, edge_posteriors, ess_path

SHORT = {
    "od280/od315_of_diluted_wines": "od280/od315", "nonflavanoid_phenols": "nonflavanoids",
    "alcalinity_of_ash": "alcalinity", "total_phenols": "phenols", "color_intensity": "color",
    "proanthocyanins": "proanthoc.",
}


def in_three_bins(data):
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    columns = [SHORT.get(name, name.removesuffix(" (cm)")) for name in data.feature_names]
    X = pd.DataFrame(bins.fit_transform(data.data).astype(int), columns=columns)
    return X.assign(**{"class": data.target})


def read(name):
    if name == "tictac":
        squares = [row + column for row in "abc" for column in "123"]
        return pd.DataFrame(tic_tac_toe(), columns=[*squares, "x won"])
    return in_three_bins(load_wine() if name == "wine" else load_iris())


def draw_matrices(plt, X, weak, chosen, strong):
    figure, axes = plt.subplots(1, 3, figsize=(15, 5.2), layout="constrained")
    for ax, (title, ess) in zip(
        axes, [("weak prior", weak), ("highest marginal likelihood", chosen),
               ("strong prior", strong)], strict=True
    ):
        posterior = edge_posteriors(X, ess=ess, n_jobs=2)
        EdgePosteriorDisplay.from_posterior(
            posterior, ax=ax, colorbar=False, numbers=X.shape[1] <= 6
        )
        ax.set_title(f"{title}: ESS {ess:.4g}\n{posterior.edges.sum():.1f} edges expected")
    figure.colorbar(axes[0].images[0], ax=axes, label="P(row -> column | data)", shrink=0.8)
    return figure


def draw_curves(plt, X, path):
    adjacent = np.array([edge_posteriors(X, ess=ess, n_jobs=2).adjacent for ess in path.ess])
    figure, (ax, below) = plt.subplots(
        2, 1, figsize=(8, 8), sharex=True, layout="constrained", height_ratios=(3, 2)
    )
    first, second = np.triu_indices(X.shape[1], 1)
    curves = adjacent[:, first, second]
    moved = np.argsort(-np.ptp(curves, axis=0), kind="stable")
    ax.plot(path.ess, curves[:, moved[6:]], color="0.75", linewidth=0.8)
    for k in moved[:6]:
        label = f"{X.columns[first[k]]} - {X.columns[second[k]]}"
        ax.plot(path.ess, curves[:, k], linewidth=1.8, label=label)
    ax.set_ylabel("P(adjacent | data)")
    ax.set_ylim(-0.02, 1.02)
    ax.set_title("all pairs of columns; in colour: the six that move the most")
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    below.plot(path.ess, path.scores, "o-", markersize=3, label="the best graph")
    below.plot(path.ess, path.log_marginal_likelihoods, "s-", markersize=3, label="all graphs")
    for ess, color in ((path.map_ess, "C0"), (path.all_graphs_ess, "C1")):
        below.axvline(ess, color=color, linestyle=":", linewidth=1.2)
    below.set_xscale("log")
    below.set_xlabel("equivalent sample size (rows)")
    below.set_ylabel("log marginal likelihood (nats)")
    below.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    for axes in (ax, below):
        axes.grid(alpha=0.3)
    return figure


def print_losses(X, ess_values):
    """Mean test log-loss per row, in ten folds, of the best graph and of the average."""
    levels = {column: sorted(X[column].unique()) for column in X}
    print("    ESS  best graph  average    gain  ± s.e.")
    for ess in ess_values:
        best, average = np.empty((2, len(X)))
        for train, test in KFold(10, shuffle=True, random_state=0).split(X):
            model = BayesNetAverager(ess=ess, n_graphs=300, categories=levels, random_state=0)
            model.fit(X.iloc[train])
            average[test] = -model.score_samples(X.iloc[test])
            best[test] = -model.estimator_.score_samples(X.iloc[test])
        error = np.std(best - average) / np.sqrt(len(X))
        print(f"{ess:7.3g}  {best.mean():10.4f}  {average.mean():7.4f}  "
              f"{best.mean() - average.mean():+.4f}  {error:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--table", choices=["wine", "iris", "tictac"], default="wine")
    parser.add_argument("--save", type=Path, help="a directory for the pictures")
    parser.add_argument("--per-decade", type=int, default=8)
    args = parser.parse_args()
    if args.save:
        import matplotlib

        matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    X = read(args.table)
    grid = np.logspace(-1, 3, 4 * args.per_decade + 1)
    path = ess_path(X, grid, all_graphs=True, n_jobs=2)
    print(f"{args.table}: {len(X)} rows, {X.shape[1]} columns; the marginal likelihood is highest "
          f"for ESS {path.map_ess:.3g} with the best graph, {path.all_graphs_ess:.3g} over all "
          "graphs")
    posterior = edge_posteriors(X, ess=path.all_graphs_ess)
    edges = posterior.to_frame().stack().sort_values(ascending=False)
    print("The most probable edges there (both directions are equally likely where no third "
          "column tells them apart):")
    for (parent, child), p in edges.head(8).items():
        print(f"    {p:.3f}  {parent} -> {child}")
    print_losses(X, [1.0, path.all_graphs_ess])
    figures = {
        "edge_posteriors": draw_matrices(plt, X, 0.1, path.all_graphs_ess, 1000.0),
        "against_ess": draw_curves(plt, X, path),
    }
    if args.save:
        args.save.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            figure.savefig(args.save / f"{name}.png", dpi=110)
    else:
        plt.show()


if __name__ == "__main__":
    main()
