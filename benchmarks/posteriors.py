"""Time and memory of exact edge posteriors.

    python benchmarks/posteriors.py --data alarm25_1000.csv [--columns 10 15 20] [--threads 2]

The first columns of a CSV file of text, and as many independent binary columns of 200 rows, which
no sum over graphs can leave anything out of: the slowest kind. Each runs in a process of its own.
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd

from skbn import edge_posteriors


def run(path, n_columns, n_threads):
    if path == "independent":
        X = np.random.default_rng(0).integers(2, size=(200, n_columns))
    else:
        X = pd.read_csv(path, dtype=str, keep_default_na=False).iloc[:, :n_columns]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    posterior = edge_posteriors(X, n_jobs=n_threads)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    drawing = time.process_time()
    posterior.sample(1000, random_state=0)
    drawing = time.process_time() - drawing
    print(f"{n_columns:7} {path.rpartition('/')[2]:20} {wall:8.2f} {cpu:8.2f} {memory:8.0f} "
          f"{drawing:12.2f} {posterior.log_marginal_likelihood:15.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 15, 20])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--one", type=int, help="run this one in this process")
    args = parser.parse_args()
    if args.one:
        run(args.data, args.one, args.threads)
        return
    print(f"{args.threads} threads")
    print(f"{'columns':>7} {'table':20} {'s':>8} {'CPU s':>8} {'MB':>8} {'1000 graphs':>12} "
          f"{'ln p(data)':>15}", flush=True)
    for n_columns in args.columns:
        for path in (args.data, "independent"):
            subprocess.run([sys.executable, __file__, "--data", path, "--one", str(n_columns),
                            "--threads", str(args.threads)], check=True)


if __name__ == "__main__":
    main()
