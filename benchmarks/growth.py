"""How the seconds of skbn grow with rows, columns and the number of equivalent sample sizes.

    python benchmarks/growth.py --data DIR [--plot growth.png]

prints, for each, the median seconds at every size, the exponent between successive sizes and the
exponent of the power law fitted to all of them. One thread, every run in a process of its own.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import launch
import numpy as np
import pandas as pd
from networks import read_bif, read_text_table, sample, sparse_network
from workloads import SEED

_GREEDY = {"program": "skbn_fit", "score": "bdeu", "ess": 1.0}


class Series(NamedTuple):
    """Sizes along one axis, the table and the job of each."""

    title: str
    axis: str
    sizes: list[int]
    make: Callable[[int], pd.DataFrame]
    job: Callable[[int], dict]


def list_series(data: Path) -> dict[str, Series]:
    alarm = read_bif(data / "bif" / "alarm.bif.gz")
    return {
        "rows": Series(
            "greedy BDeu, alarm, 37 columns",
            "rows",
            [1_000, 10_000, 100_000, 1_000_000],
            lambda n_rows: sample(alarm, n_rows, SEED),
            lambda _: _GREEDY,
        ),
        "columns": Series(
            "greedy BDeu, sparse random networks, 5,000 rows",
            "columns",
            [25, 50, 100, 200, 400, 1_000],
            lambda n_columns: sample(sparse_network(n_columns, SEED), 5_000, SEED),
            lambda _: _GREEDY,
        ),
        "ess": Series(
            "path of exact optima, first 15 columns of alarm, 1,000 rows",
            "ESS values",
            [1, 2, 4, 8, 16, 32, 64],
            lambda _: read_text_table(data / "alarm25_1000.csv", 15),
            lambda n_values: {
                "program": "skbn_ess_path",
                "grid": np.geomspace(100.0, 0.1, n_values).tolist(),
            },
        ),
    }


def measure(series: Series, n_runs: int) -> list[float]:
    """Median seconds at each size; runs of all sizes take turns."""
    seconds: dict[int, list[float]] = {size: [] for size in series.sizes}
    with tempfile.TemporaryDirectory() as folder:
        for size in series.sizes:
            series.make(size).to_feather(f"{folder}/{size}.feather")
        for number in range(n_runs):
            for size in series.sizes:
                print(f"{size} {series.axis}, run {number + 1}", file=sys.stderr)
                job = {"threads": 1, "seed": number, "table": f"{folder}/{size}.feather"}
                result = launch.run_python(sys.executable, job | series.job(size))
                seconds[size].append(result["seconds"])
    return [statistics.median(seconds[size]) for size in series.sizes]


def fit_exponent(sizes: list[int], seconds: list[float]) -> float:
    """The b of seconds = a size^b, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def print_series(series: Series, seconds: list[float]) -> None:
    print(f"\n{series.title}")
    print(f"{series.axis:>12} {'seconds':>10} {'exponent':>9}")
    for place, (size, spent) in enumerate(zip(series.sizes, seconds, strict=True)):
        local = ""
        if place:
            pair = slice(place - 1, place + 1)
            local = f"{fit_exponent(series.sizes[pair], seconds[pair]):.2f}"
        print(f"{size:>12,} {spent:>10.4f} {local:>9}")
    if len(seconds) > 1:
        print(f"{'fitted':>12} {'':>10} {fit_exponent(series.sizes, seconds):>9.2f}", flush=True)


def plot(measured: list[tuple[Series, list[float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shape = {"figsize": (4.2 * len(measured), 3.6), "layout": "constrained"}
    figure, every = plt.subplots(1, len(measured), squeeze=False, **shape)
    for axes, (series, seconds) in zip(every[0], measured, strict=True):
        axes.loglog(series.sizes, seconds, "o", color="tab:blue", label="median seconds")
        if len(seconds) > 1:
            exponent, shift = np.polyfit(np.log(series.sizes), np.log(seconds), 1)
            fitted = np.exp(shift) * np.array(series.sizes, dtype=float) ** exponent
            axes.loglog(series.sizes, fitted, color="tab:gray", label=f"exponent {exponent:.2f}")
        axes.set(xlabel=series.axis, ylabel="seconds")
        axes.set_title(series.title, fontsize="small")
        axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data")
    parser.add_argument("--runs", type=int, default=5, help="runs at each size (5)")
    parser.add_argument("--only", choices=["rows", "columns", "ess"], help="one of the three")
    parser.add_argument("--largest", type=int, help="leave out sizes above this")
    parser.add_argument("--plot", type=Path, help="PNG file for the figure (needs matplotlib)")
    arguments = parser.parse_args()
    measured = []
    for name, series in list_series(arguments.data).items():
        if arguments.only not in (None, name):
            continue
        if arguments.largest is not None:
            series = series._replace(sizes=[s for s in series.sizes if s <= arguments.largest])
        if not series.sizes:
            continue
        try:
            seconds = measure(series, arguments.runs)
        except launch.RunFailed as error:
            print(f"\n{series.title}: {error}")
            continue
        print_series(series, seconds)
        measured.append((series, seconds))
    if arguments.plot is not None and measured:
        plot(measured, arguments.plot)


if __name__ == "__main__":
    main()
