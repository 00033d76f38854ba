import csv
import itertools
import math
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from scipy.special import gammaln

settings.register_profile("skbn", deadline=None, derandomize=True)
settings.load_profile("skbn")

SHARED = Path(os.environ.get("SKBN_SHARED", Path(__file__).resolve().parents[2] / "shared"))


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
