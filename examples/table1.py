"""Table 1 of Steck (UAI 2008): which equivalent sample size (ESS) suits a table of data.

For every table, ours beside the paper's numbers where it has the table: rows N and columns n; the
ESS M in 1, ..., 100 whose best graph has the highest marginal likelihood, and the interval I of
values around it for which that graph stays the best one; the estimate of Eq. 18 by coordinate
ascent from the optimum of BIC and its number of steps k; and the seconds that M and I, and the
ascent, took. All graphs are found by exact search.

    python examples/table1.py              balance and tictac from their rules, iris and wine
    python examples/table1.py --data DIR   every .csv and .csv.gz file in DIR

The bins of iris and wine made here close on the left, those of the paper on the right: a few values
lie on an edge, and the numbers differ. The columns of a file must be categorical. Where
NAME.levels.tsv lies beside NAME.csv, with columns "column" and "arity", the states are 0, 1, ...,
arity - 1, seen or not.
"""

import argparse
import csv
import gzip
import itertools
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import KBinsDiscretizer

from skbn import BayesNetStructureEstimator, ess_path

# N, n, I, M, Eq. 18, k
PAPER = {
    "balance": (625, 5, (1, 100), 48, 44, 1),
    "iris": (150, 5, (1, 3), 2, 2, 2),
    "thyroid": (215, 6, (2, 2), 2, 3, 5),
    "liver": (345, 7, (3, 6), 4, 3, 3),
    "ecoli": (336, 8, (7, 10), 8, 8, 3),
    "abalone": (4177, 9, (6, 6), 6, 7, 3),
    "diabetes": (768, 9, (3, 5), 4, 3, 3),
    "post_op": (90, 9, (3, 5), 3, 3, 3),
    "yeast": (1484, 9, (1, 6), 6, 6, 3),
    "cancer": (286, 10, (6, 10), 8, 7, 2),
    "shuttle": (58000, 10, (1, 3), 3, 3, 2),
    "tictac": (958, 10, (51, 62), 51, 60, 2),
    "bc_wisc": (699, 11, (7, 15), 8, 5, 2),
    "glass": (214, 11, (5, 6), 6, 6, 3),
    "page": (5473, 11, (3, 3), 3, 3, 4),
    "heart_cl": (303, 14, (13, 16), 13, 9, 2),
    "heart_hu": (294, 14, (5, 6), 5, 5, 3),
    "heart_st": (270, 14, (7, 10), 10, 10, 3),
    "wine": (178, 14, (8, 8), 8, 7, 4),
    "adult": (32561, 15, (48, 58), 50, 49, 3),
}
ESS_VALUES = range(1, 101)


def balance() -> np.ndarray:
    """All 625 balances of weight and distance, 1 to 5 on each side, and where they tip."""
    rows = [
        (*row, int(np.sign(row[0] * row[1] - row[2] * row[3])))
        for row in itertools.product(range(1, 6), repeat=4)
    ]
    return np.array(rows)


def tic_tac_toe() -> np.ndarray:
    """All 958 boards on which a game of tic-tac-toe can end, x moving first, and whether x won."""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    ends = set()

    def play(board: str, player: str) -> None:
        if any(board[a] == board[b] == board[c] != "b" for a, b, c in lines) or "b" not in board:
            ends.add(board)
            return
        for square in range(9):
            if board[square] == "b":
                following = board[:square] + player + board[square + 1 :]
                play(following, "o" if player == "x" else "x")

    play("b" * 9, "x")
    won = [any(all(board[i] == "x" for i in line) for line in lines) for board in sorted(ends)]
    return np.array([[*board, str(x_won)] for board, x_won in zip(sorted(ends), won, strict=True)])


def in_three_bins(data) -> np.ndarray:
    """Measurements in three bins of equal width, and the class."""
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    return np.column_stack([bins.fit_transform(data.data), data.target]).astype(int)


def own_tables() -> dict:
    """Name -> table, levels."""
    return {
        "balance": (balance(), "auto"),
        "iris": (in_three_bins(load_iris()), "auto"),
        "tictac": (tic_tac_toe(), "auto"),
        "wine": (in_three_bins(load_wine()), "auto"),
    }


def read_csv(path: Path) -> tuple[np.ndarray, list | str]:
    """A table, and its levels if a file beside it says how many there are."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows)
    levels = path.with_name(f"{name_of(path)}.levels.tsv")
    if not levels.exists():
        return table, "auto"
    with levels.open(newline="") as file:
        arity = {row["column"]: int(row["arity"]) for row in csv.DictReader(file, delimiter="\t")}
    return table.astype(int), [np.arange(arity[column]) for column in header]


def name_of(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".csv")


def read_folder(folder: Path) -> dict:
    """Name -> table, levels; those of the paper in its order, the others after them."""
    paths = {name_of(path): path for path in sorted(folder.glob("*.csv*"))
             if path.name.endswith((".csv", ".csv.gz"))}
    if not paths:
        raise SystemExit(f"There is no .csv and no .csv.gz file in {folder}.")
    names = [name for name in PAPER if name in paths]
    names += [name for name in paths if name not in PAPER]
    return {name: read_csv(paths[name]) for name in names}


def measure(table: np.ndarray, categories, n_jobs: int | None) -> dict:
    """One row of the table."""
    started = time.perf_counter()
    path = ess_path(table, ESS_VALUES, categories=categories, n_jobs=n_jobs)
    seconds_of_path = time.perf_counter() - started
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = BayesNetStructureEstimator(ess="analytic", search="exact", categories=categories)
        model.fit(table)
    seconds_of_ascent = time.perf_counter() - started
    return {
        "I": path.map_interval,
        "M": path.map_ess,
        "estimate": model.ess_,
        # The first member of the history belongs to the optimum of BIC.
        "k": len(model.ess_history_) - 1,
        "warnings": [str(warning.message) for warning in caught],
        "seconds": (seconds_of_path, seconds_of_ascent),
    }


def interval(ends) -> str:
    return f"{ends[0]:g}..{ends[1]:g}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of CSV files")
    parser.add_argument("--n-jobs", type=int, help="threads of the exact searches over the grid")
    options = parser.parse_args(arguments)
    tables = own_tables() if options.data is None else read_folder(options.data)

    pairs = (("N", 6), ("n", 3), ("I", 8), ("M", 4), ("Eq. 18", 7), ("k", 3))
    print("Of each pair ours first, then the paper's; seconds for M and I, and for Eq. 18\n")
    print(f"{'':10}" + "".join(f"{name:>{2 * width + 1}}  " for name, width in pairs)
          + f"{'seconds':>13}")
    notes, total = [], 0.0
    for name, (table, categories) in tables.items():
        found = measure(table, categories, options.n_jobs)
        ours = (
            str(len(table)), str(table.shape[1]), interval(found["I"]), f"{found['M']:g}",
            f"{found['estimate']:.2f}", str(found["k"]),
        )
        theirs = [""] * 6
        if name in PAPER:
            n_rows, n_columns, ends, best, estimate, k = PAPER[name]
            theirs = [str(n_rows), str(n_columns), interval(ends), str(best), str(estimate), str(k)]
        cells = (
            f"{mine:>{width}} {other:>{width}}  "
            for mine, other, (_, width) in zip(ours, theirs, pairs, strict=True)
        )
        print(f"{name:10}" + "".join(cells) + "{:>6.2f} {:>6.2f}".format(*found["seconds"]))
        notes += [f"{name}: {note}" for note in found["warnings"]]
        total += sum(found["seconds"])
    print(f"\n{total:.1f} seconds in all")
    for note in notes:
        print(note)


if __name__ == "__main__":
    main()
