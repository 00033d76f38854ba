import csv
import importlib.util
import itertools
import json
import math
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from scipy.special import gammaln

from skbn.counting.data import CategoricalData

# Programs beside the tests, which import each other as such.
collect_ignore = ["faults", "fuzz", "golden.py", "interrupted.py", "limits.py"]

settings.register_profile("skbn", deadline=None, derandomize=True)
settings.load_profile("skbn")

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("SKBN_SHARED", HERE.parents[1] / "shared"))


class Twin:
    """Slow, obvious twin of counting and scoring: dictionaries, one row at a time."""

    def __init__(self, codes, cardinalities, weights=None):
        self.rows = np.asarray(codes).T.tolist()
        self.cardinalities = [int(cardinality) for cardinality in cardinalities]
        self.weights = [1.0] * len(self.rows) if weights is None else [float(w) for w in weights]
        self.n_samples = math.fsum(self.weights)

    def counts(self, variables):
        """Sum of the weights of every joint state of `variables`, exact before one rounding."""
        found = defaultdict(list)
        for row, weight in zip(self.rows, self.weights, strict=True):
            if weight > 0:
                found[tuple(row[variable] for variable in variables)].append(weight)
        return {state: math.fsum(weights) for state, weights in found.items()}

    def local(self, name, child, parents, ess=1.0):
        """The score as its definition reads, and the sum of the sizes of its terms."""
        parents = list(parents)
        cells, totals = self.counts([*parents, child]), self.counts(parents)
        r = self.cardinalities[child]
        q = math.prod(self.cardinalities[parent] for parent in parents)
        terms = []
        if name in ("bdeu", "k2"):
            alpha = 1.0 if name == "k2" else ess / (r * q)
            terms += [gammaln(n + alpha) - gammaln(alpha) for n in cells.values()]
            terms += [gammaln(r * alpha) - gammaln(n + r * alpha) for n in totals.values()]
        else:
            terms += [n * math.log(n / totals[state[:-1]]) for state, n in cells.items()]
            if name != "loglik":
                price = 1.0 if name == "aic" else math.log(self.n_samples) / 2
                terms.append(-price * (r - 1) * q)
            if name == "mdl":
                n = len(self.cardinalities)
                terms += [-math.log(n), -math.log(math.comb(n, len(parents)))]
        return math.fsum(terms), math.fsum(map(abs, terms))


@pytest.fixture(scope="session")
def twin():
    return Twin


@pytest.fixture(scope="session")
def all_dags():
    """Function of n: the parent sets of every DAG of n nodes."""

    def enumerate_dags(n):
        pairs = list(itertools.combinations(range(n), 2))
        for arrows in itertools.product((None, 0, 1), repeat=len(pairs)):
            parents = [set() for _ in range(n)]
            for pair, arrow in zip(pairs, arrows, strict=True):
                if arrow is not None:
                    parents[pair[1 - arrow]].add(pair[arrow])
            placed = set()
            while ready := [i for i in range(n) if i not in placed and parents[i] <= placed]:
                placed.update(ready)
            if len(placed) == n:
                yield [tuple(sorted(given)) for given in parents]

    return enumerate_dags


@pytest.fixture(scope="session")
def shared():
    """Function of a path inside the shared folder; the test is skipped where it is absent."""

    def find(name):
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"needs {path.name} of the shared data")
        return path

    return find


@pytest.fixture(scope="session")
def read_codes(shared):
    """Function of a csv file's name: its header, codes and cardinalities."""

    def read(name):
        with shared(name).open(newline="") as file:
            header, *rows = csv.reader(file)
        columns = [
            np.unique(column, return_inverse=True) for column in zip(*rows, strict=True)
        ]
        codes = np.array([inverse for _, inverse in columns], dtype=np.uint8)
        return header, codes, [len(levels) for levels, _ in columns]

    return read


@pytest.fixture(scope="session")
def uci(shared):
    """Function of a UCI set's name: its table of codes, and the levels that every column has."""
    pd = pytest.importorskip("pandas")

    def read(name):
        folder = shared("data/uci")
        path = folder / f"{name}.csv"
        X = pd.read_csv(path if path.exists() else folder / f"{name}.csv.gz")
        arities = pd.read_csv(folder / f"{name}.levels.tsv", sep="\t")
        return X, {c: list(range(r)) for c, r in zip(arities["column"], arities["arity"],
                                                     strict=True)}

    return read


@pytest.fixture(scope="session")
def reference(shared):
    """The reference figures."""
    return json.loads(shared("reference/reference.json").read_text())


@pytest.fixture(scope="session")
def read_graph():
    """Function of a header and a graph like [A][B|A][C|A:B]: the parents of every variable."""

    def read(header, text):
        parents = [()] * len(header)
        for part in text.strip("[]").split("]["):
            child, _, given = part.partition("|")
            names = given.split(":") if given else []
            parents[header.index(child)] = tuple(sorted(map(header.index, names)))
        return parents

    return read


@pytest.fixture(scope="session")
def twins():
    """The slow twins of the searches, a file beside this one that is no test."""
    return beside("twins_graph")


@pytest.fixture(scope="session")
def golden():
    """What must be the same to the last bit wherever it is computed."""
    return beside("golden")


def beside(name):
    """A module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
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
