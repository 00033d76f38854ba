"""Dirichlet prior versus data: what a strong prior makes of a learned graph, in three pictures.

The theory is that of H. Steck, Learning the Bayesian Network Structure: Dirichlet Prior versus
Data (UAI 2008); the tables are iris and wine, cut into three bins, and the endgames of tic-tac-toe.

1. Figure 1 of the paper: two independent binary variables, 100 rows. The more skewed they are, and
   the larger the equivalent sample size (ESS), the more an edge between them is favoured.
2. The learned graph grows with the ESS, up to the complete graph where the columns are skewed
   enough (iris; wine but for one edge), not where they are closer to uniform (tic-tac-toe).
   Colours say which edges the data support and which rest on the prior and on skewness.
3. The log Bayes factor of an edge (Eq. 7) and what it comes to for large ESS (Eq. 8): the
   difference falls with the square of the ESS.

    python examples/plot_dirichlet_prior_versus_data.py                    opens the pictures
    python examples/plot_dirichlet_prior_versus_data.py --save DIRECTORY   saves them, no display
    python examples/plot_dirichlet_prior_versus_data.py --data FILE.csv    for a table of yours
"""

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import KBinsDiscretizer
from structure_search import tic_tac_toe

from skbn import (
    BayesNetStructureEstimator,
    contingency_table,
    edge_report,
    ess_threshold,
    large_ess_log_bayes_factor,
    log_bayes_factor,
)

VERDICTS = {"supported": "#2a6f97", "prior and skewness": "#e09f3e", "unsupported": "#9d9d9d"}


@dataclass
class Table:
    title: str
    columns: list[str]
    rows: np.ndarray

    @property
    def n_pairs(self) -> int:
        return len(self.columns) * (len(self.columns) - 1) // 2

    def name(self, label: str) -> str:
        """The name of the column that an array calls "x0", "x1", ..."""
        return self.columns[int(label[1:])]


def in_three_bins(title: str, data, target: str) -> Table:
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    columns = [name.removesuffix(" (cm)") for name in data.feature_names]
    rows = np.column_stack([bins.fit_transform(data.data), data.target]).astype(int)
    return Table(title, [*columns, target], rows)


def own_tables() -> list[Table]:
    rows, columns = ("top", "middle", "bottom"), ("left", "middle", "right")
    squares = [f"{row} {column}" for row in rows for column in columns]
    return [
        in_three_bins("iris", load_iris(), "species"),
        Table("tic-tac-toe", [*squares, "x won"], tic_tac_toe()),
        in_three_bins("wine", load_wine(), "cultivar"),
    ]


def read_csv(path: Path) -> Table:
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    return Table(path.stem, header, np.array(rows))


# --- 1. Figure 1 of the paper ---------------------------------------------------------------------


def draw_figure_1(plt):
    n, z = 100, np.linspace(0, 0.5, 101)
    curves = ((100, "-"), (10, "-"), (1, "-"), (1_000, "--"), (10_000, "--"))
    counts = [n * np.outer([p, 1 - p], [p, 1 - p]) for p in z]
    factors = np.array([log_bayes_factor(c, ess=[ess for ess, _ in curves]) for c in counts])
    figure, (whole, window) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for axis in (whole, window):
        for colour, ((ess, style), values) in enumerate(zip(curves, factors.T, strict=True)):
            axis.plot(z, values, style, color=f"C{colour}", label=f"{ess:,}")
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set(xlabel="z = P(A=1) = P(B=1) in the data", xlim=(0, 0.5))
        axis.grid(alpha=0.3)
    whole.set(ylabel="log Bayes factor of the edge A - B (nats)", title="The whole range")
    window.set(ylim=(-3, 1), title="The range of the paper's figure")
    window.text(0.49, 0.93, "edge favoured", ha="right", va="top")
    window.text(0.49, -2.2, "absence favoured", ha="right", va="top")
    whole.legend(title="ESS (rows)")
    figure.suptitle("A and B independent in 100 rows: skewness and a strong prior make an edge")
    print("ESS above which the edge is favoured for good, 100 independent rows:")
    for p in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5):
        threshold = ess_threshold(n * np.outer([p, 1 - p], [p, 1 - p]))
        print(f"    z = {p:4}: {threshold:12.4g}")
    return figure


# --- 2. Growth of the graph with the ESS ----------------------------------------------------------


def grow(table: Table, ess_values: np.ndarray) -> np.ndarray:
    """How many edges of each verdict the best graph found has, for every ESS."""
    numbers, previous = [], "empty"
    for ess in ess_values:
        models = [
            BayesNetStructureEstimator(
                ess=ess, init=init, n_restarts=n_restarts, random_state=0
            ).fit(table.rows)
            for init, n_restarts in (("empty", 5), ("full", 0), (previous, 0))
        ]
        best = max(models, key=lambda model: model.structure_score_)
        previous = best.edges_
        verdicts = edge_report(best, table.rows)["verdict"]
        numbers.append([verdicts.count(verdict) for verdict in VERDICTS])
    return np.array(numbers)


def draw_growth(plt, tables: list[Table], per_decade: int):
    ess = np.logspace(-2, 8, 10 * per_decade + 1)
    figure, axes = plt.subplots(
        1, len(tables), figsize=(1.5 + 4.2 * len(tables), 4.4), squeeze=False, layout="constrained"
    )
    for axis, table in zip(axes[0], tables, strict=True):
        numbers = grow(table, ess)
        axis.stackplot(ess, numbers.T, labels=VERDICTS, colors=VERDICTS.values(), step="mid")
        axis.axhline(table.n_pairs, color="black", linestyle=":", label="complete graph")
        axis.set(
            xscale="log", xlabel="ESS (rows)", xlim=ess[[0, -1]], ylim=(0, 1.08 * table.n_pairs),
            title=f"{table.title}: {len(table.rows)} rows, {len(table.columns)} columns",
        )
        total = numbers.sum(axis=1)
        print(f"\n{table.title}: edges of the learned graph, of {table.n_pairs}")
        for value, row in list(zip(ess, numbers, strict=True))[::per_decade]:
            parts = ", ".join(f"{n} {v}" for n, v in zip(row, VERDICTS, strict=True) if n)
            print(f"    ESS {value:9.3g}: {row.sum():3}  ({parts})")
        print(f"    most: {total.max()}, from ESS {ess[total.argmax()]:.3g} on")
    axes[0, 0].set_ylabel("edges of the learned graph")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=4)
    figure.suptitle("The graph grows with the strength of the prior")
    return figure


# --- 3. Equation 8 against Equation 7 -------------------------------------------------------------


def strongest_edges(table: Table) -> list[tuple[str, dict]]:
    """For each verdict the edge, present or absent, with the largest log Bayes factor either way.

    They are rows of the report on the graph learned with ESS 100.
    """
    model = BayesNetStructureEstimator(ess=100.0, random_state=0).fit(table.rows)
    report = edge_report(model, table.rows, absent=True)
    rows = [dict(zip(report, row, strict=True)) for row in zip(*report.values(), strict=True)]
    chosen = []
    for verdict in VERDICTS:
        kind = [row for row in rows if row["verdict"] == verdict]
        if kind:
            chosen.append((verdict, max(kind, key=lambda row: abs(row["log_bayes_factor"]))))
    return chosen


def draw_equation_8(plt, tables: list[Table]):
    figure, axes = plt.subplots(
        2, len(tables), figsize=(1.5 + 4.2 * len(tables), 7.6), squeeze=False, layout="constrained",
        sharex="col",
    )
    ess = np.logspace(-2, 8, 201)
    symlog_ticks = [*(-(10.0 ** np.arange(4, -4, -2))), 0, *10.0 ** np.arange(-2, 5, 2)]
    for (upper, lower), table in zip(axes.T, tables, strict=True):
        for verdict, row in strongest_edges(table):
            counts = contingency_table(table.rows, row["parent"], row["child"], row["given"])
            exact = log_bayes_factor(counts, ess=ess)
            large = large_ess_log_bayes_factor(counts, ess=ess)
            edge = f"{table.name(row['parent'])} $\\to$ {table.name(row['child'])}"
            others = len(row["given"])
            label = f"{edge} | {others} other{'s' * (others != 1)}" if others else edge
            upper.plot(ess, exact, color=VERDICTS[verdict], label=label)
            upper.plot(ess, large, "--", color=VERDICTS[verdict], linewidth=1)
            lower.plot(ess, np.abs(exact - large), color=VERDICTS[verdict])
            guide = np.abs(exact - large)[-1] * (ess[-1] / ess) ** 2
            lower.plot(ess, guide, ":", color="black", linewidth=0.9)
        upper.axhline(0, color="black", linewidth=0.8)
        upper.set_yscale("symlog", linthresh=1e-3, linscale=0.5)
        upper.set(title=table.title, ylim=(-3e4, 3e4), yticks=symlog_ticks)
        upper.legend(fontsize=8, loc="lower right")
        lower.set(xscale="log", yscale="log", xlabel="ESS (rows)", xlim=ess[[0, -1]])
        lower.set(ylim=(1e-9, 1e8))
        for axis in (upper, lower):
            axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("log Bayes factor (nats)\nEq. 7 solid, Eq. 8 dashed")
    axes[1, 0].set_ylabel("|Eq. 7 - Eq. 8| (nats)\ndotted: 1 / ESS$^2$")
    handles = [plt.Line2D([], [], color=colour) for colour in VERDICTS.values()]
    figure.legend(
        handles, VERDICTS, title="verdict at ESS 100", loc="outside lower center", ncols=3
    )
    figure.suptitle("Log Bayes factors (Eq. 7) come to N / (2 ESS) (N U - d$_F$) (Eq. 8)")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="CSV file with a header, all columns categorical")
    parser.add_argument("--save", type=Path, help="directory for the pictures, instead of windows")
    parser.add_argument("--per-decade", type=int, default=4, help="graphs learned per factor of 10")
    arguments = parser.parse_args()
    if arguments.save:
        import matplotlib

        matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    tables = [read_csv(arguments.data)] if arguments.data else own_tables()
    figures = {
        "figure_1": draw_figure_1(plt),
        "growth": draw_growth(plt, tables, arguments.per_decade),
        "equation_8": draw_equation_8(plt, tables),
    }
    if not arguments.save:
        plt.show()
        return
    arguments.save.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        path = arguments.save / f"{name}.png"
        figure.savefig(path, dpi=120)
        print(f"Drawn: {path}")


if __name__ == "__main__":
    main()
