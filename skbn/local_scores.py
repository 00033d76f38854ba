"""Local scores of families: counted, summed, and remembered."""

import math
import threading
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from skbn._counting import sum_families
from skbn.counts import count_family
from skbn.data import CategoricalData
from skbn.scores import Family, Score
from skbn.term_tables import TermTables

# Scores below this are -inf, so that sums of finite ones stay finite.
FORBIDDEN = -1e300


class _Memory:
    """A dictionary that forgets everything when it would grow beyond so many bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._known: dict = {}
        self._lock = threading.Lock()

    def __reduce__(self):
        # Another process starts with nothing remembered; addresses would mean nothing there.
        return _Memory, (self._max_bytes,)

    def get(self, key):
        return self._known.get(key)

    def put(self, key, value, n_bytes: int) -> None:
        with self._lock:
            if self._bytes + n_bytes > self._max_bytes:
                self._known.clear()
                self._bytes = 0
            self._known[key] = value
            self._bytes += n_bytes


class LocalScores:
    """Local scores of one table under one score, for any child and any parents.

    Several threads may ask at once; what one has counted, the others find. Answers do not depend
    on what was asked before.

    Parameters
    ----------
    data : CategoricalData
    score : Score
    ess : float
        Equivalent sample size, for the scores that use one.
    log_prior : callable, optional
        ``log_prior(child, parents)``, added to every local score; parents are a sorted tuple.
    memory : int
        Bytes that remembered scores may take; all are forgotten when they would take more.

    Attributes
    ----------
    n_evaluations : int
        How many families were counted.
    """

    def __init__(
        self,
        data: CategoricalData,
        score: Score,
        ess: float,
        log_prior: Callable[[int, tuple[int, ...]], float] | None = None,
        memory: int = 256 * 2**20,
    ) -> None:
        self.data = data
        self.score = score
        self.ess = float(ess)
        self.log_prior = log_prior
        self.n_evaluations = 0
        self._cardinalities = data.cardinalities.tolist()
        self._shapes = _Memory(memory)
        self._rows = _Memory(memory)
        self._families = _Memory(memory // 2)

    def local(self, child: int, parents: Iterable[int]) -> float:
        """The local score of `child` given `parents`, in nats."""
        parents = tuple(sorted(parents))
        key = (child, parents)
        row = self._rows.get(key)
        if row is not None:
            return float(row[child])
        known = self._families.get(key)
        if known is None:
            known = float(self._evaluate(child, parents, np.array([child], dtype=np.int32))[0])
            self._families.put(key, known, 200 + 16 * len(parents))
        return known

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
        row = self._rows.get((child, parents))
        if row is not None:
            return row
        joining = np.ones(self.data.n_variables, dtype=bool)
        joining[[child, *parents]] = False
        changes = np.concatenate([np.flatnonzero(joining), [child, *parents]]).astype(np.int32)
        row = np.empty(self.data.n_variables)
        row[changes] = self._evaluate(child, parents, changes)
        row.flags.writeable = False
        self._rows.put((child, parents), row, row.nbytes + 300)
        return row

    def _evaluate(
        self, child: int, parents: tuple[int, ...], changes: np.ndarray
    ) -> np.ndarray:
        """Local scores of `child` with each of `changes` joining or leaving its parents.

        `child` among the changes stands for no change; it and leaving parents come last.
        """
        self.n_evaluations += len(changes)
        native = self.data.has_whole_weights and getattr(self.score, "tabulated", False)
        families = [] if native and self.log_prior is None else [
            tuple(sorted(_toggle(child, parents, change))) for change in changes.tolist()
        ]
        if native:
            scores = self._evaluate_natively(child, parents, changes)
        else:
            scores = np.array([self._evaluate_counts(child, family) for family in families])
        if self.log_prior is not None:
            scores += [self.log_prior(child, family) for family in families]
        wrong = np.flatnonzero(~(scores < np.inf))
        if len(wrong):
            family = sorted(_toggle(child, parents, int(changes[wrong[0]])))
            raise ValueError(
                f"{self.score!r} gave {scores[wrong[0]]} for variable {child} with parents "
                f"{family}. A score is a number of nats, or -inf where a family may not be."
            )
        scores[scores < FORBIDDEN] = -np.inf
        return scores

    def _evaluate_counts(self, child: int, parents: tuple[int, ...]) -> float:
        cells, parent_counts = count_family(self.data, child, parents)
        family = self._family(child, parents)
        family = family._replace(n_observed_parent_states=len(parent_counts))
        return (
            float(np.sum(self.score.cell_terms(cells, family)))
            - float(np.sum(self.score.parent_terms(parent_counts, family)))
            + self.score.constant(family)
        )

    def _family(self, child: int, parents: Iterable[int]) -> Family:
        states = [self._cardinalities[parent] for parent in parents]
        return Family(
            self._cardinalities[child],
            math.prod(states),
            len(states),
            self.data.n_variables,
            self.data.n_samples,
            self.ess,
        )

    def _evaluate_natively(
        self, child: int, parents: tuple[int, ...], changes: np.ndarray
    ) -> np.ndarray:
        # Changes of one cardinality in one direction share the shape of the family.
        shape_of_kind: dict[int, int] = {}
        families: list[Family] = []
        shape = np.empty(len(changes), dtype=np.int64)
        for k, change in enumerate(changes.tolist()):
            cardinality = self._cardinalities[change]
            kind = 0 if change == child else -cardinality if change in parents else cardinality
            shape[k] = shape_of_kind.setdefault(kind, len(families))
            if shape[k] == len(families):
                families.append(self._family(child, _toggle(child, parents, change)))
        tables = [self._tables(family) for family in families]
        known, length = tables[0].n_known, len(tables[0].cells)
        totals = np.zeros(len(changes), dtype=np.int64)
        n_unknown = 2 * len(changes) * int(self.data.n_samples // known)
        owners = np.empty(n_unknown, dtype=np.int32)
        counts = np.empty(n_unknown, dtype=np.int64)
        addresses = np.array([table.addresses for table in tables], dtype=np.uintp)
        n_unknown = sum_families(
            self.data.codes, self.data.cardinalities, self.data.weights, child,
            np.array(parents, dtype=np.int32), changes,
            addresses[shape, 0], addresses[shape, 1], known, length, totals, owners, counts,
        )
        if n_unknown:
            owners, counts = owners[:n_unknown], counts[:n_unknown]
            group = 2 * shape[owners >> 1] + (owners & 1)
            for g in np.unique(group).tolist():
                chosen = group == g
                values = tables[g >> 1].evaluate(counts[chosen], g & 1)
                np.add.at(totals, owners[chosen] >> 1, -values if g & 1 else values)
        scales = np.array([table.scale for table in tables])
        constants = np.array([self.score.constant(family) for family in families])
        return totals / scales[shape] + constants[shape]

    def _tables(self, family: Family) -> TermTables:
        key = (family.cardinality, family.n_parent_states)
        tables = self._shapes.get(key)
        if tables is None:
            tables = TermTables(self.score, family)
            self._shapes.put(key, tables, 2 * 8 * len(tables.cells))
        return tables


def _toggle(child: int, parents: tuple[int, ...], change: int) -> tuple[int, ...]:
    if change == child:
        return parents
    if change in parents:
        return tuple(p for p in parents if p != change)
    return (*parents, change)
