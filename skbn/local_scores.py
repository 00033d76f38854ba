"""Local scores of families: counted, summed, and remembered."""

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from skbn._counting import sum_families
from skbn.counts import count_family
from skbn.data import CategoricalData
from skbn.scores import Family, Score

# Counts below this are looked up; there are at most n_samples / 1024 larger ones per sum.
_TABLE_LENGTH = 1024
_NO_CANDIDATE = np.array([-1], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class _Terms:
    """f and g of one shape of family for counts 0, 1, ... in units of 1 / scale."""

    cells: np.ndarray
    parents: np.ndarray
    scale: float


class LocalScores:
    """Local scores of one table under one score, for any child and any parents.

    Parameters
    ----------
    data : CategoricalData
    score : Score
    ess : float
        Equivalent sample size, for the scores that use one.
    memory : int
        Bytes that remembered scores may take; the least recently used ones are dropped first.

    Attributes
    ----------
    n_evaluations : int
        How many families were counted.
    """

    def __init__(
        self, data: CategoricalData, score: Score, ess: float, memory: int = 256 * 2**20
    ) -> None:
        self.data = data
        self.score = score
        self.ess = float(ess)
        self.n_evaluations = 0
        self._cardinalities = data.cardinalities.tolist()
        self._terms: dict[tuple[int, int], _Terms] = {}
        self._rows: OrderedDict[tuple[int, tuple[int, ...]], np.ndarray] = OrderedDict()
        self._max_rows = max(2 * data.n_variables, memory // (8 * data.n_variables + 300))

    def local(self, child: int, parents: Iterable[int]) -> float:
        """The local score of `child` given `parents`, in nats."""
        return float(self._evaluate(child, sorted(parents), _NO_CANDIDATE)[0])

    def total(self, parents: Sequence[Iterable[int]]) -> float:
        """The score of the graph in which `parents[i]` are the parents of i, in nats.

        The sum is rounded once, so it does not depend on the order of the variables.
        """
        return math.fsum(self.local(child, given) for child, given in enumerate(parents))

    def toggled(self, child: int, parents: Sequence[int]) -> np.ndarray:
        """Local scores of `child` with each variable in turn added to `parents` or removed.

        Returns
        -------
        ndarray of shape (n_variables,)
            Entry j is the score with j among the parents if it was not, without j if it was;
            entry `child` is the score given `parents` themselves. Read-only.
        """
        parents = tuple(sorted(parents))
        key = (child, parents)
        row = self._rows.get(key)
        if row is not None:
            self._rows.move_to_end(key)
            return row
        row = np.empty(self.data.n_variables)
        others = np.ones(self.data.n_variables, dtype=bool)
        others[child] = False
        others[list(parents)] = False
        candidates = np.flatnonzero(others).astype(np.int32)
        # -1, no candidate, comes along: the score given `parents` themselves.
        scores = self._evaluate(child, parents, np.append(candidates, _NO_CANDIDATE))
        row[candidates] = scores[:-1]
        row[child] = scores[-1]
        for parent in parents:
            rest = tuple(p for p in parents if p != parent)
            known = self._rows.get((child, rest))
            row[parent] = self.local(child, rest) if known is None else known[child]
        row.flags.writeable = False
        self._rows[key] = row
        if len(self._rows) > self._max_rows:
            self._rows.popitem(last=False)
        return row

    def _evaluate(self, child: int, parents: Sequence[int], candidates: np.ndarray) -> np.ndarray:
        """Local scores given `parents` and each candidate; -1 is no candidate."""
        self.n_evaluations += len(candidates)
        if self.data.has_whole_weights and getattr(self.score, "tabulated", False):
            return self._evaluate_tabulated(child, parents, candidates)
        return np.array([
            self._evaluate_counts(child, [*parents, candidate] if candidate >= 0 else parents)
            for candidate in candidates.tolist()
        ])

    def _family(self, child: int, n_parents: int, n_parent_states: int) -> Family:
        return Family(
            self._cardinalities[child],
            n_parent_states,
            n_parents,
            self.data.n_variables,
            self.data.n_samples,
            self.ess,
        )

    def _evaluate_counts(self, child: int, parents: Sequence[int]) -> float:
        n_parent_states = math.prod(self._cardinalities[p] for p in parents)
        cells, parent_counts = count_family(self.data, child, parents)
        family = self._family(child, len(parents), n_parent_states)
        family = family._replace(n_observed_parent_states=len(parent_counts))
        return (
            float(np.sum(self.score.cell_terms(cells, family)))
            - float(np.sum(self.score.parent_terms(parent_counts, family)))
            + self.score.constant(family)
        )

    def _evaluate_tabulated(
        self, child: int, parents: Sequence[int], candidates: np.ndarray
    ) -> np.ndarray:
        base_states = math.prod(self._cardinalities[p] for p in parents)
        families: list[Family] = []
        terms: list[_Terms] = []
        row_of_cardinality: dict[int, int] = {}
        rows = np.empty(len(candidates), dtype=np.int32)
        for k, candidate in enumerate(candidates.tolist()):
            cardinality = 0 if candidate < 0 else self._cardinalities[candidate]
            row = row_of_cardinality.setdefault(cardinality, len(families))
            if row == len(families):
                n_parents = len(parents) + (candidate >= 0)
                family = self._family(child, n_parents, base_states * max(cardinality, 1))
                families.append(family)
                terms.append(self._tabulate(family))
            rows[k] = row

        cell_terms = np.stack([t.cells for t in terms])
        parent_terms = np.stack([t.parents for t in terms])
        totals = np.empty(len(candidates), dtype=np.int64)
        n_large = 2 * len(candidates) * int(self.data.n_samples // cell_terms.shape[1])
        owners = np.empty(n_large, dtype=np.int32)
        large = np.empty(n_large, dtype=np.int64)
        n_large = sum_families(
            self.data.codes, self.data.cardinalities, self.data.weights, child,
            np.asarray(parents, dtype=np.int32), candidates, rows, cell_terms, parent_terms,
            totals, owners, large,
        )
        if n_large:
            self._add_large(owners[:n_large], large[:n_large], rows, families, terms, totals)
        scales = np.array([t.scale for t in terms])
        constants = np.array([self.score.constant(family) for family in families])
        return totals / scales[rows] + constants[rows]

    def _add_large(
        self, owners: np.ndarray, counts: np.ndarray, rows: np.ndarray,
        families: list[Family], terms: list[_Terms], totals: np.ndarray,
    ) -> None:
        candidates, is_parent = owners >> 1, (owners & 1).astype(bool)
        for row, (family, term) in enumerate(zip(families, terms, strict=True)):
            for which, sign, function in (
                (~is_parent, 1, self.score.cell_terms),
                (is_parent, -1, self.score.parent_terms),
            ):
                chosen = which & (rows[candidates] == row)
                values = function(counts[chosen].astype(np.float64), family)
                fixed = np.rint(values * term.scale).astype(np.int64)
                np.add.at(totals, candidates[chosen], sign * fixed)

    def _tabulate(self, family: Family) -> _Terms:
        shape = (family.cardinality, family.n_parent_states)
        known = self._terms.get(shape)
        if known is not None:
            return known
        length = int(min(self.data.n_samples + 1, _TABLE_LENGTH))
        counts = np.append(np.arange(1.0, length), self.data.n_samples)
        cells = self.score.cell_terms(counts, family)
        parents = self.score.parent_terms(counts, family)
        # |f(n)| <= n max |f(m)| / m, so sums of counts up to N stay below N times that: scaled to
        # 2^60, which leaves room for the term at the counts between the tables' end and N.
        slope = max(np.max(np.abs(cells) / counts), np.max(np.abs(parents) / counts))
        # Terms that are all 0 take any scale; the least slope keeps it a finite one.
        bound = self.data.n_samples * max(float(slope), 2.0**-900)
        scale = 2.0 ** (60 - math.frexp(bound)[1])
        terms = _Terms(
            np.concatenate([[0], np.rint(cells[:-1] * scale)]).astype(np.int64),
            np.concatenate([[0], np.rint(parents[:-1] * scale)]).astype(np.int64),
            scale,
        )
        self._terms[shape] = terms
        return terms
