"""Where a search starts and how it climbs: the course write-up's experiment on real tables.

For every start (given, empty, full, random), both ways of climbing (greedy, first-ascent) and both
scores (AIC, BIC), repeated over seeds: mean and standard deviation of the score, the number of
parameters, moves, seconds and families counted.

    python examples/structure_search.py                        the tables, for tic-tac-toe and wine
    python examples/structure_search.py --plot search.png      also draws score against moves
    python examples/structure_search.py --data FILE.csv        for a table of yours

The given graph is that of naive Bayes, with edges from the last column to all others.
"""

import argparse
import csv
import itertools
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import KBinsDiscretizer

from skbn import BayesNetStructureEstimator

STARTS = ("given", "empty", "full", "random")
SEARCHES = ("greedy", "first_ascent")
SCORES = ("aic", "bic")
COLUMNS = ("score", "parameters", "moves", "seconds", "families")


def tic_tac_toe() -> np.ndarray:
    """All 958 boards on which a game of tic-tac-toe can end, x moving first, and whether x won."""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    ends = set()

    def play(board: str, player: str) -> None:
        won = any(board[a] == board[b] == board[c] != "b" for a, b, c in lines)
        if won or "b" not in board:
            ends.add(board)
            return
        for square in range(9):
            if board[square] == "b":
                following = board[:square] + player + board[square + 1 :]
                play(following, "o" if player == "x" else "x")

    play("b" * 9, "x")
    x_won = [any(all(b[i] == "x" for i in line) for line in lines) for b in sorted(ends)]
    return np.array([[*board, str(won)] for board, won in zip(sorted(ends), x_won, strict=True)])


def wine() -> np.ndarray:
    """The wine data, every measurement cut into three bins, and the cultivar."""
    data = load_wine()
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    return np.column_stack([bins.fit_transform(data.data), data.target]).astype(int)


def read_csv(path: Path) -> np.ndarray:
    with path.open(newline="") as file:
        return np.array(list(csv.reader(file))[1:])


def n_parameters(model: BayesNetStructureEstimator) -> int:
    return sum(
        (table.cardinality - 1) * table.n_configurations for table in model.network_.tables
    )


def run(table: np.ndarray, start: str, search: str, score: str, seed: int):
    """One fit: the row of the table of results, and the score after every move."""
    names = [f"x{i}" for i in range(table.shape[1])]
    given = [(names[-1], name) for name in names[:-1]]
    model = BayesNetStructureEstimator(
        score_type=score,
        search=search,
        init=given if start == "given" else start,
        random_state=seed,
    )
    started = time.perf_counter()
    model.fit(table)
    seconds = time.perf_counter() - started
    row = (
        model.structure_score_, n_parameters(model), model.n_iter_, seconds, model.n_evaluations_
    )
    return row, [step.score for step in model.history_]


def report(name: str, table: np.ndarray, n_seeds: int) -> dict:
    print(f"\n{name}: {len(table)} rows, {table.shape[1]} columns; mean (standard deviation)")
    print(f"{'score':<6}{'search':<14}{'start':<8}" + "".join(f"{c:>22}" for c in COLUMNS))
    traces = {}
    for score, search, start in itertools.product(SCORES, SEARCHES, STARTS):
        runs = [run(table, start, search, score, seed) for seed in range(n_seeds)]
        results = np.array([row for row, _ in runs])
        traces[score, search, start] = [trace for _, trace in runs]
        cells = [
            f"{mean:.{digits}f} ({deviation:.{digits}f})"
            for mean, deviation, digits in zip(
                results.mean(axis=0), results.std(axis=0), (1, 1, 1, 3, 1), strict=True
            )
        ]
        print(f"{score:<6}{search:<14}{start:<8}" + "".join(f"{cell:>22}" for cell in cells))
    return traces


def draw(all_traces: dict[str, dict], path: Path) -> None:
    """Score against moves, one panel per table, score and search, one colour per start."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    panels = [(name, *pair) for name in all_traces for pair in itertools.product(SCORES, SEARCHES)]
    rows = len(all_traces)
    figure, axes = plt.subplots(
        rows, 4, figsize=(15, 3.6 * rows), squeeze=False, layout="constrained"
    )
    for axis, (name, score, search) in zip(axes.flat, panels, strict=True):
        for colour, start in enumerate(STARTS):
            for number, trace in enumerate(all_traces[name][score, search, start]):
                axis.plot(
                    range(1, len(trace) + 1), trace, color=f"C{colour}", alpha=0.6, linewidth=1,
                    label=start if number == 0 else None,
                )
                axis.plot(len(trace), trace[-1] if trace else np.nan, "o", color=f"C{colour}", ms=3)
        axis.set_title(f"{name}, {score.upper()}, {search.replace('_', '-')}", fontsize=10)
        axis.set_xlabel("moves")
        axis.set_xscale("log")
        axis.grid(alpha=0.3)
        best = max(t[-1] for s in STARTS for t in all_traces[name][score, search, s] if t)
        axis.set_ylim(top=best + 0.02 * abs(best), bottom=best - 0.35 * abs(best))
    for row in axes:
        row[0].set_ylabel("score (nats)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, title="start", loc="outside right upper")
    figure.savefig(path, dpi=120)
    print(f"\nDrawn: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="CSV file with a header, all columns categorical")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--plot", type=Path, help="picture file to draw")
    arguments = parser.parse_args()
    if arguments.data:
        tables = {arguments.data.stem: read_csv(arguments.data)}
    else:
        tables = {"tic-tac-toe": tic_tac_toe(), "wine": wine()}
    traces = {name: report(name, table, arguments.seeds) for name, table in tables.items()}
    if arguments.plot:
        draw(traces, arguments.plot)


if __name__ == "__main__":
    main()
