"""Local scores of families: counted, summed, and remembered."""

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from skbn._counting import sum_families
from skbn.counts import count_family
from skbn.data import CategoricalData
from skbn.packs import PackLevels
from skbn.scores import Family, Score, terms_of
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

    Raises
    ------
    ValueError
        For fractional weights under a score that needs whole counts.

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
        if getattr(score, "needs_whole_counts", False):
            _refuse_fractions(data, score)
        self.data = data
        self.score = score
        self.ess = float(ess)
        self.log_prior = log_prior
        self.n_evaluations = 0
        self._is_stopped = False
        self._cardinalities = data.cardinalities.tolist()
        distinct, self._cardinality_class = np.unique(data.cardinalities, return_inverse=True)
        self._distinct_cardinalities = distinct.tolist()
        self._packs = PackLevels(data.codes, data.cardinalities)
        self._shapes = _Memory(memory // 4)
        self._rows = _Memory(memory // 2)
        self._families = _Memory(memory // 4)

    def stop(self) -> None:
        """Refuse to count more families, so that runs in other threads end."""
        self._is_stopped = True

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
        if self._is_stopped:
            raise RuntimeError("The search was stopped.")
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
        family = self._family(child, math.prod(self._states(parents)), len(parents))
        family = family._replace(n_observed_parent_states=len(parent_counts))
        return (
            float(np.sum(terms_of(self.score.cell_terms, cells, family)))
            - float(np.sum(terms_of(self.score.parent_terms, parent_counts, family)))
            + self.score.constant(family)
        )

    def _evaluate_natively(
        self, child: int, parents: tuple[int, ...], changes: np.ndarray
    ) -> np.ndarray:
        shapes = self._shapes_of_changes(child, parents, len(changes) > 1)
        # Whoever joins comes first, by cardinality; then no change, then each parent that leaves.
        n_joining = max(len(changes) - 1 - len(parents), 0)
        which = np.arange(-n_joining, len(changes) - n_joining) + shapes.n_joining
        which[:n_joining] = self._cardinality_class[changes[:n_joining]]
        known, length = shapes.tables[0].n_known, len(shapes.tables[0].cells)
        totals = np.zeros(len(changes), dtype=np.int64)
        n_unknown = 2 * len(changes) * min(self.data.n_rows, int(self.data.n_samples // known))
        owners = np.empty(n_unknown, dtype=np.int32)
        counts = np.empty(n_unknown, dtype=np.int64)
        packs = self._packs.cheapest(shapes.n_parent_states * self._cardinalities[child])
        n_unknown = sum_families(
            self.data.codes, self.data.cardinalities, self.data.weights,
            packs.codes, packs.cardinalities, packs.starts,
            child, np.array(parents, dtype=np.int32), changes,
            shapes.addresses[which], known, length, totals, owners, counts,
        )
        by_counts = shapes.unusable[which]
        if n_unknown:
            owners, counts = owners[:n_unknown], counts[:n_unknown]
            group = 2 * which[owners >> 1] + (owners & 1)
            for g in np.unique(group).tolist():
                chosen = group == g
                values, fits = shapes.tables[g >> 1].evaluate(counts[chosen], g & 1)
                places = owners[chosen] >> 1
                np.add.at(totals, places, -values if g & 1 else values)
                if not fits.all():
                    by_counts[places[~fits]] = True
        scores = totals / shapes.scales[which] + shapes.constants[which]
        if by_counts.any():
            for k in by_counts.nonzero()[0].tolist():
                scores[k] = self._evaluate_counts(child, _toggle(child, parents, int(changes[k])))
        return scores

    def _shapes_of_changes(self, child: int, parents: tuple[int, ...], every: bool) -> "_Shapes":
        """Tables for every change of the parents, or for no change alone."""
        cardinalities = tuple(self._states(parents))
        key = (self._cardinalities[child], cardinalities, every)
        shapes = self._shapes.get(key)
        if shapes is None:
            states = math.prod(cardinalities)
            # Changes of one cardinality in one direction share the shape of the family.
            wanted = [(states, len(parents))]
            n_joining = 0
            if every:
                n_joining = len(self._distinct_cardinalities)
                joined = [(states * r, len(parents) + 1) for r in self._distinct_cardinalities]
                wanted = joined + wanted + [(states // r, len(parents) - 1) for r in cardinalities]
            tables = [self._tables(child, *shape) for shape in wanted]
            shapes = _Shapes.of(tables, n_joining, states)
            self._shapes.put(key, shapes, 500 + 60 * len(tables))
        return shapes

    def _tables(self, child: int, n_parent_states: int, n_parents: int) -> TermTables:
        key = (self._cardinalities[child], n_parent_states, n_parents)
        tables = self._shapes.get(key)
        if tables is None:
            tables = TermTables(self.score, self._family(child, n_parent_states, n_parents))
            self._shapes.put(key, tables, 2 * 8 * len(tables.cells))
        return tables

    def _states(self, variables: Iterable[int]) -> list[int]:
        return [self._cardinalities[variable] for variable in variables]

    def _family(self, child: int, n_parent_states: int, n_parents: int) -> Family:
        return Family(
            self._cardinalities[child],
            n_parent_states,
            n_parents,
            self.data.n_variables,
            self.data.n_samples,
            self.ess,
        )


class _Shapes(NamedTuple):
    """Tables of terms of several shapes of family, and their parts side by side."""

    tables: list[TermTables]
    n_joining: int
    n_parent_states: int
    addresses: np.ndarray
    scales: np.ndarray
    constants: np.ndarray
    unusable: np.ndarray

    @classmethod
    def of(cls, tables: list[TermTables], n_joining: int, n_parent_states: int) -> "_Shapes":
        return cls(
            tables,
            n_joining,
            n_parent_states,
            np.array([table.addresses for table in tables], dtype=np.uintp),
            np.array([table.scale for table in tables]),
            np.array([table.constant + table.shift for table in tables]),
            np.array([not table.usable for table in tables]),
        )


def _refuse_fractions(data: CategoricalData, score: Score) -> None:
    if data.has_whole_weights:
        return
    fractional = data.weights[data.weights != np.floor(data.weights)]
    if len(fractional):
        raise ValueError(
            f"The score {type(score).__name__} needs whole counts, as all NML scores do, but with "
            f"this sample_weight a row counts {fractional[0]:g} times. Pass whole weights, or "
            "choose a score that takes fractional ones, such as 'bdeu' or 'bic'."
        )


def _toggle(child: int, parents: tuple[int, ...], change: int) -> tuple[int, ...]:
    if change == child:
        return parents
    if change in parents:
        return tuple(p for p in parents if p != change)
    return (*parents, change)
