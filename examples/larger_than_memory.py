"""Learn from a table that is too large to load: let the database count its distinct rows.

    pip install duckdb
    python examples/larger_than_memory.py [number of rows]

A network needs no rows, only how often each distinct one occurs. A table of ten million answers to
eight questions has few of them. DuckDB, which runs inside this process, groups the table where it
lies (here a Parquet file that this script makes) in as much memory as it is allowed, and `fit` gets
the distinct rows with their counts as ``sample_weight``. The result is that of all rows, to the
last bit.

The same in Spark::

    rows = table.groupBy(*columns).count().toPandas()
    model.fit(rows[columns], sample_weight=rows["count"])

"""

import sys
import tempfile
import time
from pathlib import Path

import duckdb

from skbn import BayesNetStructureEstimator

# Each answer, by its parents' answers: whether a number between 0 and 1 that is drawn for each row
# and column is below some bound.
ANSWERS = """
    SELECT
        smokes, coughs, exercises, tired,
        CASE WHEN u5 < 0.2 THEN 'village' WHEN u5 < 0.5 THEN 'town' ELSE 'city' END AS lives,
        u6 < CASE WHEN exercises THEN 0.7 ELSE 0.3 END AS sleeps_well,
        u7 < CASE WHEN coughs AND tired THEN 0.6 WHEN coughs OR tired THEN 0.2 ELSE 0.05 END AS ill,
        u8 < 0.5 AS tuesday
    FROM (
        SELECT *,
            u2 < CASE WHEN smokes THEN 0.5 ELSE 0.1 END AS coughs,
            u4 < CASE WHEN exercises THEN 0.15 ELSE 0.4 END AS tired
        FROM (
            SELECT u1 < 0.25 AS smokes, u3 < 0.45 AS exercises, *
            FROM (
                SELECT {numbers} FROM range({n_rows}) AS rows(i)
            )
        )
    )
"""


def make_table(database: duckdb.DuckDBPyConnection, path: Path, n_rows: int) -> None:
    """Write a Parquet file of so many rows, the same every time."""
    numbers = ", ".join(f"hash(i * 8 + {k}) / 18446744073709551616.0 AS u{k}" for k in range(1, 9))
    answers = ANSWERS.format(numbers=numbers, n_rows=n_rows)
    database.execute(f"COPY ({answers}) TO '{path}' (FORMAT parquet)")


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        database.execute("SET memory_limit = '1GB'")
        path = Path(folder, "answers.parquet")
        make_table(database, path, n_rows)
        started = time.perf_counter()
        # All columns but the count are grouped by.
        rows = database.sql(f"SELECT *, count(*) AS n FROM '{path}' GROUP BY ALL").df()
        counted = time.perf_counter()
    answers, counts = rows.drop(columns="n"), rows["n"]
    print(f"{counts.sum():,} rows, {len(rows):,} of them distinct: {counted - started:.2f} s")

    started = time.perf_counter()
    model = BayesNetStructureEstimator(search="exact", ess=1.0)
    model.fit(answers, sample_weight=counts)
    print(f"the best of all networks: {time.perf_counter() - started:.2f} s")
    for parent, child in model.edges_:
        print(f"    {parent} -> {child}")
    print(model.network_.cpt("ill"))


if __name__ == "__main__":
    main()
