import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from skbn.data import CategoricalData

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("SKBN_SHARED", HERE.parents[1] / "shared"))


@pytest.fixture(scope="session")
def twins():
    """The slow twins of the searches, a file beside this one that is no test."""
    spec = importlib.util.spec_from_file_location("twins_graph", HERE / "twins_graph.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_table(rng, n_variables, n_rows, kind="plain"):
    """Codes, cardinalities and weights of a table with dependent columns and a few oddities.

    Kinds: "plain"; "constant" and "duplicated" columns; "unseen" levels; "fractional" and "whole"
    weights. Mix them with "+".
    """
    kinds = kind.split("+")
    cardinalities = rng.integers(2, 4, size=n_variables)
    codes = np.empty((n_variables, n_rows), dtype=np.uint8)
    for i, r in enumerate(cardinalities):
        codes[i] = rng.integers(r, size=n_rows)
        if i and rng.random() < 0.8:
            source = codes[rng.integers(i)]
            codes[i] = np.where(rng.random(n_rows) < 0.7, source % r, codes[i])
    if "duplicated" in kinds and n_variables > 1:
        codes[-1], cardinalities[-1] = codes[0], cardinalities[0]
    if "constant" in kinds:
        column = rng.integers(n_variables)
        codes[column] = 0
        cardinalities[column] = 1
    if "unseen" in kinds:
        cardinalities = cardinalities + rng.integers(3, size=n_variables)
    weights = None
    if "fractional" in kinds:
        weights = rng.uniform(0.2, 3.0, size=n_rows)
    elif "whole" in kinds:
        weights = rng.integers(1, 4, size=n_rows).astype(float)
    return codes, cardinalities, weights


@pytest.fixture(scope="session")
def make_table():
    return random_table


@pytest.fixture(scope="session")
def alarm():
    """The alarm table of 37 columns and 20,000 rows."""
    path = SHARED / "data" / "bnlearn" / "alarm.csv.gz"
    if not path.exists():
        pytest.skip(f"needs {path.name} in {path.parent}")
    rows = np.loadtxt(path, delimiter=",", dtype=str, skiprows=1, quotechar='"')
    columns = [np.unique(column, return_inverse=True) for column in rows.T]
    return CategoricalData.from_codes(
        np.array([codes for _, codes in columns]), [len(levels) for levels, _ in columns]
    )
