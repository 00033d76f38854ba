"""Local scores of every child given every set of parents, as differences of numbers of sets."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from skbn.counts import count_joint_states
from skbn.local_scores import LocalScores
from skbn.parent_sets import ParentRules, bits
from skbn.scores import Family
from skbn.subset_sums import SubsetSums, Terms
from skbn.workers import CallGroup

# One by one in Python takes tens of microseconds each; beyond this nobody would wait.
_MAX_ONE_BY_ONE = 2**22
_BATCH = 256


@dataclass(frozen=True, eq=False)
class _Sums:
    """One array of numbers of sets: sums of terms of the counts, and constants, by signature."""

    terms_of: Callable[[int], Terms | None]
    constants: np.ndarray


class SubsetScores:
    """Numbers of all sets of variables, and from them all local scores.

    The local score of c given P is ``numbers[plus[c]][P | 1 << c] - numbers[minus[c]][P]``. A
    score that is a difference of one function of sets needs one array of 2^n numbers; one with
    cell terms and parent terms of their own needs one array of parents per distinct cardinality;
    any other, and any prior that is a function of the family, one array per child.

    Parameters
    ----------
    scores : LocalScores
        Variables with few states should come first.
    rules : ParentRules
    edge_penalty : float
        Subtracted once for every parent.
    prior : callable or None
        Added to the local score; called with a child and a set of parents (as a number).
    numbering : list of int
        What the caller knows each variable by, for messages.

    Attributes
    ----------
    n_arrays : int
        How many arrays of 2^n float64 are filled.
    """

    def __init__(
        self, scores: LocalScores, rules: ParentRules, edge_penalty: float,
        prior: Callable[[int, int], float] | None, numbering: list[int],
    ) -> None:
        self._scores = scores
        self._rules = rules
        self._penalty = edge_penalty
        self._prior = prior
        self._numbering = numbering
        data, score = scores.data, scores.score
        n = data.n_variables
        self._is_counted = data.has_whole_weights and getattr(score, "tabulated", False)
        self._sums: list[_Sums] = []
        self._subset_sums = SubsetSums(data)
        self.plus, self.minus = [0] * n, [0] * n
        is_set_function = getattr(score, "set_function", False) and self._has_set_terms()
        if self._is_counted or is_set_function:
            self._plan_sums(is_set_function)
        self._is_dense = prior is not None or not self._sums
        self.n_arrays = len(self._sums) + n * self._is_dense
        self.n_one_by_one = rules.n_families() if self._is_dense else 0
        if not self._is_counted and self._sums:
            self.n_one_by_one += len(self._sums) * sum(
                math.comb(n, size) for size in range(min(n, rules.max_parents + 1) + 1)
            )
        if self.n_one_by_one > _MAX_ONE_BY_ONE:
            cause = (
                "this graph_prior" if prior is not None
                else "a score without tabulated terms, or fractional weights,"
            )
            raise ValueError(
                f"An exact search over {n} variables with {cause} has {self.n_one_by_one} families "
                f"to look at one by one, more than the {_MAX_ONE_BY_ONE} that end in reasonable "
                "time. Set max_parents, use fewer columns, or choose another search."
            )

    def memory(self, n_threads: int) -> int:
        """Bytes that filling and keeping the numbers takes."""
        arrays = 8 * self.n_arrays * 2**self._scores.data.n_variables
        if not self._is_counted:
            return arrays
        counting = self._subset_sums
        return arrays + counting.table_memory() + n_threads * counting.memory()

    @property
    def n_groups(self) -> int:
        return len(self._sums) + len(self.plus) * self._is_dense

    def tasks(self) -> Iterator[CallGroup]:
        """Groups of calls, one after the other, that fill the numbers."""
        n = self._scores.data.n_variables
        max_size = min(n, self._rules.max_parents + 1)
        # Zeros, for arithmetic on whole arrays, where sets of too many members are never filled.
        self.numbers = [np.zeros(2**n) for _ in self._sums]
        if self._is_counted:
            self._subset_sums.prepare()
        for sums, numbers in zip(self._sums, self.numbers, strict=True):
            if self._is_counted:
                calls = self._subset_sums.blocks(sums.terms_of, sums.constants, max_size, numbers)
                yield CallGroup(list(calls), True)
            else:
                yield self._one_by_one(sums, max_size, numbers)
        if self._is_dense:
            yield from self._dense_tasks()

    def _family(self, r: int, n_parent_states: int, n_parents: int) -> Family:
        data = self._scores.data
        return Family(
            r, n_parent_states, n_parents, data.n_variables, data.n_samples, self._scores.ess
        )

    def _has_set_terms(self) -> bool:
        """Whether set terms are the cell and parent terms, which a subclass may have changed."""
        score = self._scores.score
        cardinalities = self._scores.data.cardinalities.tolist()
        counts = np.array([1.0, 2.0, 3.0, self._scores.data.n_samples])
        for r in self._subset_sums.signatures.classes:
            for q in (1, math.prod(cardinalities) // r):
                family = self._family(r, q, 0 if q == 1 else len(cardinalities) - 1)
                if not (
                    np.allclose(score.set_terms(counts, r * q, family),
                                score.cell_terms(counts, family), rtol=1e-12, atol=0)
                    and np.allclose(score.set_terms(counts, q, family),
                                    score.parent_terms(counts, family), rtol=1e-12, atol=0)
                ):
                    return False
        return True

    def _plan_sums(self, is_set_function: bool) -> None:
        score, signatures = self._scores.score, self._subset_sums.signatures
        self._members = [signatures.members(s) for s in range(signatures.n)]
        self._states = [signatures.n_states(s) for s in range(signatures.n)]
        sizes = np.array([sum(members) for members in self._members], dtype=np.float64)
        if is_set_function:
            def set_terms(signature: int) -> Terms:
                size = sum(self._members[signature])
                family = self._family(1, self._states[signature], size)
                return lambda counts: score.set_terms(counts, self._states[signature], family)

            potential = self._potential()
            if potential is not None:
                potential -= self._penalty * sizes * (sizes - 1) / 2
                self._sums = [_Sums(set_terms, potential)]
                return
            cell_sums = [_Sums(set_terms, np.zeros(signatures.n))]
            parent_terms = [set_terms] * len(signatures.classes)
        elif self._is_counted:
            cell_sums = self._cell_sums()
            parent_terms = [
                self._parent_terms_of(k) for k in range(len(signatures.classes))
            ]
        self._sums = list(cell_sums)
        for k, terms_of in enumerate(parent_terms):
            self._sums.append(_Sums(terms_of, self._penalty * sizes - self._constants(k)))
        for child, k in enumerate(signatures.class_of):
            self.plus[child] = k if len(cell_sums) > 1 else 0
            self.minus[child] = len(cell_sums) + k

    def _family_of_set(self, k: int, signature: int) -> Family:
        """A child of class k with parents that make up a set of this signature with it."""
        r = self._subset_sums.signatures.classes[k]
        return self._family(
            r, self._states[signature] // r, sum(self._members[signature]) - 1
        )

    def _family_of_parents(self, k: int, signature: int) -> Family | None:
        """A child of class k with parents of this signature; None if they take that whole class."""
        signatures = self._subset_sums.signatures
        if self._members[signature][k] == signatures.multiplicities[k]:
            return None
        return self._family(
            signatures.classes[k], self._states[signature], sum(self._members[signature])
        )

    def _parent_terms_of(self, k: int) -> Callable[[int], Terms | None]:
        def terms_of(signature: int) -> Terms | None:
            family = self._family_of_parents(k, signature)
            if family is None:
                return None
            return lambda counts: self._scores.score.parent_terms(counts, family)

        return terms_of

    def _cell_sums(self) -> list[_Sums]:
        """Cell terms per class of the child, or once if they are the same for all classes."""
        score, counting = self._scores.score, self._subset_sums
        signatures = counting.signatures
        counts = np.append(np.arange(1.0, counting.table_length), self._scores.data.n_samples)

        def terms_of(signature: int, k: int | None) -> Terms | None:
            members = self._members[signature]
            if k is None:
                k = next((k for k, count in enumerate(members) if count), None)
            if k is None or not members[k]:
                return None
            family = self._family_of_set(k, signature)
            return lambda counts: score.cell_terms(counts, family)

        def differ(signature: int) -> bool:
            tables = [
                terms_of(signature, k)(counts)
                for k, count in enumerate(self._members[signature]) if count
            ]
            return any(not np.array_equal(tables[0], table) for table in tables[1:])

        nothing = np.zeros(signatures.n)
        if any(differ(signature) for signature in range(signatures.n)):
            return [
                _Sums(lambda signature, k=k: terms_of(signature, k), nothing)
                for k in range(len(signatures.classes))
            ]
        return [_Sums(lambda signature: terms_of(signature, None), nothing)]

    def _constants(self, k: int) -> np.ndarray:
        """Constants of the families of a child of class k, by signature of the parents."""
        constants = np.zeros(len(self._states))
        for signature in range(len(self._states)):
            family = self._family_of_parents(k, signature)
            if family is not None:
                constants[signature] = self._scores.score.constant(family)
        return constants

    def _potential(self) -> np.ndarray | None:
        """u with constant(family) = u({X} u P) - u(P), by signature, if there is one.

        The constants of equivalent scores have one, as the scores themselves do.
        """
        signatures = self._subset_sums.signatures
        potential = np.zeros(signatures.n)
        for signature in range(1, signatures.n):
            values = [
                potential[signature - signatures.strides[k]]
                + self._scores.score.constant(self._family_of_set(k, signature))
                for k, count in enumerate(self._members[signature]) if count
            ]
            tolerance = 1e-13 * max(map(abs, values))
            if not math.isfinite(tolerance) or max(values) - min(values) > tolerance:
                return None
            # The largest class last, so that sums of growing penalties lose no digits.
            potential[signature] = values[-1]
        return potential

    def _one_by_one(self, sums: _Sums, max_size: int, numbers: np.ndarray) -> CallGroup:
        """The same sums from counts of any weights."""
        data = self._scores.data
        signatures = self._subset_sums.signatures.of_subsets(data.n_variables)

        def fill(sets: list[int]) -> None:
            for members in sets:
                counts = np.sort(count_joint_states(data, list(bits(members))).counts)
                signature = int(signatures[members])
                terms = sums.terms_of(signature)
                if terms is not None:
                    numbers[members] = float(np.sum(terms(counts))) + sums.constants[signature]

        sets = (s for s in range(2**data.n_variables) if s.bit_count() <= max_size)
        return _batches(fill, sets)

    def _dense_tasks(self) -> Iterator[CallGroup]:
        n = self._scores.data.n_variables
        differences = self.numbers
        self.numbers = []
        for child in range(n):
            local = np.zeros(2**n)
            if differences:
                halves = (2 ** (n - 1 - child), 2, 2**child)
                np.subtract(
                    differences[self.plus[child]].reshape(halves)[:, 1],
                    differences[self.minus[child]].reshape(halves)[:, 0],
                    out=local.reshape(halves)[:, 1],
                )
            self.numbers.append(local)

            def fill(batch: list[int], child: int = child, local: np.ndarray = local) -> None:
                for parents in batch:
                    self._add_to(local, child, parents, not differences)

            yield _batches(fill, self._rules.families(child))
        # Pages that are never written take no memory.
        self.numbers.append(np.zeros(2**n))
        self.plus, self.minus = list(range(n)), [n] * n

    def _add_to(self, local: np.ndarray, child: int, parents: int, with_score: bool) -> None:
        value = 0.0
        if with_score:
            members = tuple(bits(parents))
            value = self._scores.local(child, members) - self._penalty * len(members)
        if self._prior is not None:
            value += self._prior(child, parents)
        if not value < math.inf:
            given = sorted(self._numbering[b] for b in bits(parents))
            raise ValueError(
                f"The score of variable {self._numbering[child]} given the parents {given} is "
                f"{value}: a score and a graph prior must be finite, or minus infinity."
            )
        local[parents | 1 << child] += value


def _batches(function: Callable[[list[int]], None], sets: Iterator[int]) -> CallGroup:
    """Calls of a function of a list of sets, not native."""
    calls = []
    while batch := list(islice(sets, _BATCH)):
        calls.append(lambda batch=batch: function(batch))
    return CallGroup(calls, False)
