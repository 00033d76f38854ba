"""Local scores of families: counted, summed, and remembered."""

import math
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from skbn.counting._counting import sum_families
from skbn.counting.counts import count_family
from skbn.counting.data import CategoricalData
from skbn.counting.packs import PackLevels
from skbn.messages import brief, first_few
from skbn.scores.gamma import Tail
from skbn.scores.score import Family, Score, constant_of, key_of, tail_of, terms_of
from skbn.scores.term_tables import KnownTerms, Shapes, TermTables

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
        For fractional weights under a score that needs whole counts, and for weights that sum to
        at most 1 under BIC and MDL.

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
        if score.needs_whole_counts:
            _refuse_fractions(data, score)
        if score.takes_log_of_rows:
            _refuse_shares(data, score)
        self.data = data
        self.score = score
        self.ess = float(ess)
        self.log_prior = log_prior
        self.n_evaluations = 0
        self._is_stopped = False
        self._cardinalities = data.cardinalities.tolist()
        distinct, self._cardinality_class = np.unique(data.cardinalities, return_inverse=True)
        self._distinct_cardinalities = distinct.tolist()
        self._every = np.arange(data.n_variables, dtype=np.int32)
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
        row = self._evaluate(child, parents, self._every)
        row.flags.writeable = False
        self._rows.put((child, parents), row, row.nbytes + 300)
        return row

    def _evaluate(
        self, child: int, parents: tuple[int, ...], changes: np.ndarray
    ) -> np.ndarray:
        """Local scores of `child` with each of `changes` joining or leaving its parents.

        `child` among the changes stands for no change.
        """
        if self._is_stopped:
            raise RuntimeError("The search was stopped.")
        self.n_evaluations += len(changes)
        native = self.data.has_whole_weights and self.score.tabulated
        families = [] if native and self.log_prior is None else [
            tuple(sorted(_toggle(child, parents, change))) for change in changes.tolist()
        ]
        if native:
            scores, is_finite = self._evaluate_natively(child, parents, changes)
        else:
            scores = np.array([self._evaluate_counts(child, family) for family in families])
            is_finite = False
        if self.log_prior is not None:
            scores += [self.log_prior(child, family) for family in families]
        elif is_finite:
            return scores
        if not scores.max() < np.inf:
            wrong = np.flatnonzero(~(scores < np.inf))
            family = sorted(_toggle(child, parents, int(changes[wrong[0]])))
            raise ValueError(
                f"{brief(self.score)} gave {scores[wrong[0]]} for variable {child} with parents "
                f"[{first_few(family)}]. A score is a number of nats, or -inf where a family may "
                "not be."
            )
        if scores.min() < FORBIDDEN:
            scores[scores < FORBIDDEN] = -np.inf
        return scores

    def _evaluate_counts(self, child: int, parents: tuple[int, ...]) -> float:
        cells, parent_counts = count_family(self.data, child, parents)
        family = self._family(child, math.prod(self._states(parents)), len(parents))
        family = family._replace(n_observed_parent_states=len(parent_counts))
        return (
            float(np.sum(terms_of(self.score.cell_terms, cells, family)))
            - float(np.sum(terms_of(self.score.parent_terms, parent_counts, family)))
            + constant_of(self.score, family)
        )

    def _evaluate_natively(
        self, child: int, parents: tuple[int, ...], changes: np.ndarray
    ) -> tuple[np.ndarray, bool]:
        """The scores, and whether all are sure to be finite."""
        shapes, which = self._shapes_of_changes(child, parents, changes)
        totals = np.zeros(len(changes), dtype=np.int64)
        room = 2 * len(changes) * min(self.data.n_rows, int(self.data.n_samples // shapes.n_known))
        owners = np.empty(room, dtype=np.int32)
        counts = np.empty(room, dtype=np.int64)
        packs = self._packs.cheapest(shapes.n_cells)
        n_unknown = sum_families(
            self.data.codes, self.data.cardinalities, self.data.weights,
            packs.codes, packs.cardinalities, packs.starts,
            child, np.array(parents, dtype=np.int32), changes,
            shapes.addresses.take(which, axis=0), shapes.n_known, shapes.length,
            totals, owners, counts, which, shapes.tails,
        )
        large = shapes.unusable.take(which) if shapes.has_unusable else None
        if n_unknown:
            found = shapes.add_unknown(which, owners[:n_unknown], counts[:n_unknown], totals)
            large = found if large is None else large if found is None else large | found
        scores = totals / shapes.scales.take(which)
        scores += shapes.constants.take(which)
        if large is None:
            return scores, shapes.is_finite
        for k in large.nonzero()[0].tolist():
            scores[k] = self._evaluate_counts(child, _toggle(child, parents, int(changes[k])))
        return scores, False

    def _shapes_of_changes(
        self, child: int, parents: tuple[int, ...], changes: np.ndarray
    ) -> tuple[Shapes, np.ndarray]:
        """The shapes that the family may take, and which of them it takes with each change."""
        if changes is not self._every:
            return self._shapes_around(child, parents, False), np.zeros(1, dtype=np.int64)
        # First whoever joins, by cardinality; then no change; then whoever leaves, by cardinality.
        which = self._cardinality_class.copy()
        unchanged = len(self._distinct_cardinalities)
        which[child] = unchanged
        shapes = self._shapes_around(child, parents, True)
        for parent in parents:
            which[parent] = unchanged + 1 + shapes.leaving.index(self._cardinalities[parent])
        return shapes, which

    def _shapes_around(self, child: int, parents: tuple[int, ...], every: bool) -> Shapes:
        """The shapes for all changes of the parents, or for no change alone."""
        cardinalities = sorted(self._states(parents))
        key = ("shapes", self._cardinalities[child], tuple(cardinalities), every)
        shapes = self._shapes.get(key)
        if shapes is None:
            states = math.prod(cardinalities)
            # Changes of one cardinality in one direction share the shape of the family.
            wanted, leaving = [(states, len(parents))], []
            if every:
                leaving = sorted(set(cardinalities))
                joined = [(states * r, len(parents) + 1) for r in self._distinct_cardinalities]
                wanted = joined + wanted + [(states // r, len(parents) - 1) for r in leaving]
            families = [self._family(child, *shape) for shape in wanted]
            tables = [self._tables(family) for family in families]
            n_cells = states * self._cardinalities[child]
            shapes = Shapes(self.score, families, tables, n_cells, leaving)
            self._shapes.put(key, shapes, 2000 + 120 * len(tables))
        return shapes

    def _tables(self, family: Family) -> TermTables:
        functions = self.score.cell_terms, self.score.parent_terms
        keys = tuple(key_of(function, family) for function in functions)
        tables = self._shapes.get(("tables", keys))
        if tables is None:
            known = [self._shapes.get(("terms", key)) for key in keys]
            if None in known:
                tails = [tail_of(function, family) for function in functions]
                known = [
                    self._known_terms(key, function, family, tail, None not in tails)
                    for key, function, tail in zip(keys, functions, tails, strict=True)
                ]
            tables = TermTables(self.score, family, known)
            self._shapes.put(("tables", keys), tables, 2 * 8 * len(tables.cells))
        return tables

    def _known_terms(
        self, key: Hashable, function: Callable, family: Family, tail: Tail | None, short: bool
    ) -> KnownTerms:
        terms = self._shapes.get(("terms", key))
        if terms is None:
            terms = KnownTerms(function, family, tail, short)
            self._shapes.put(("terms", key), terms, terms.values.nbytes + 300)
        return terms

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


def _refuse_shares(data: CategoricalData, score: Score) -> None:
    if data.is_at_most_a_row:
        raise ValueError(
            f"{type(score).__name__} charges ln(N) / 2 nats for every parameter, with N the sum of "
            f"sample_weight, which must be more than 1; it is {data.n_samples:.6g}, which makes "
            "parameters free, or a gain. A weight says how often its row counts. If the weights "
            "are shares, scale them to a mean of 1: sample_weight / numpy.mean(sample_weight)."
        )


def _toggle(child: int, parents: tuple[int, ...], change: int) -> tuple[int, ...]:
    if change == child:
        return parents
    if change in parents:
        return tuple(p for p in parents if p != change)
    return (*parents, change)
