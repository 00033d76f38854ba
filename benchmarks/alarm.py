"""Time and memory of one greedy fit of the alarm data, from a data frame of text to the network.

    python benchmarks/alarm.py PATH_TO/alarm.csv.gz

prints a table: score, median seconds of seven fits (processor seconds of one thread), peak memory
that the fit added, and what the encoded table takes.
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd

from skbn import BayesNetStructureEstimator


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", help="CSV file with a header and text states")
    parser.add_argument("--fits", type=int, default=7)
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.path, dtype=str, keep_default_na=False)
    print(f"{len(table)} rows, {table.shape[1]} columns of text")
    print(f"{'score':>6} {'found':>12} {'edges':>6} {'seconds':>8} {'peak MB':>8} {'table MB':>9}")
    for score_type in ("bdeu", "bic"):
        seconds = []
        before = peak_megabytes()
        for seed in range(arguments.fits):
            model = BayesNetStructureEstimator(score_type=score_type, ess=1.0, random_state=seed)
            started = time.process_time()
            model.fit(table)
            seconds.append(time.process_time() - started)
        print(
            f"{score_type:>6} {model.structure_score_:12.2f} {len(model.edges_):6d} "
            f"{np.median(seconds):8.3f} {peak_megabytes() - before:8.1f} "
            f"{table.size / 2**20:9.1f}"
        )


if __name__ == "__main__":
    main()
