"""Local scores of every child given every set of parents, as differences of numbers of sets."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from skbn.counting.counts import count_joint_states
from skbn.messages import brief, first_few
from skbn.resources import CallGroup
from skbn.scores.local_scores import LocalScores
from skbn.scores.score import Family, constant_of, has_constant, is_set_score, terms_of
from skbn.subsets.parent_sets import ParentRules, bits
from skbn.subsets.set_sums import Layer, SubsetSums, Terms

# One by one in Python takes tens of microseconds each; beyond this nobody would wait.
_MAX_ONE_BY_ONE = 2**22
_BATCH = 256
_AT_ONCE = 2**16
# Rows of numbers a power of two apart would push each other out of the caches.
_PADDING = 2**6


class SubsetPrior(NamedTuple):
    """A log prior: what every parent costs, or what is added for a child and a set of parents."""

    per_edge: float = 0.0
    of_family: Callable[[int, int], float] | None = None


class SubsetScores:
    """Numbers of all sets of variables, and from them all local scores.

    Variables with few states should come first; `numbering` is what messages call each of them.

    The local score of c given P is ``numbers[plus[c]][P | 1 << c] - numbers[minus[c]][P]``. A
    score that is a difference of one function of sets needs one array of 2^n numbers; one with
    cell terms and parent terms of their own needs one array of parents per distinct cardinality;
    any other, and any prior that is a function of the family, one array per child.

    Attributes
    ----------
    layers : list of Layer
        What has to be summed over the counts of all sets, by `fill_layers`.
    is_dense : bool
        Whether `dense_tasks` come after that.
    numbers : list of ndarray of shape (2 ** n_variables,)
        There once these are done.
    """

    def __init__(
        self, scores: LocalScores, counting: SubsetSums, rules: ParentRules, prior: SubsetPrior,
        numbering: list[int],
    ) -> None:
        self._scores = scores
        self._rules = rules
        self._penalty, self._prior = prior
        self._numbering = numbering
        self._counting = counting
        data, score = scores.data, scores.score
        n = data.n_variables
        self.is_counted = data.has_whole_weights and score.tabulated
        self.layers: list[Layer] = []
        self.numbers: list[np.ndarray] = []
        self.plus, self.minus = [0] * n, [0] * n
        if self.is_counted or is_set_score(score):
            self._plan_layers()
        self.is_dense = self._prior is not None or not self.layers
        self._refuse_if_too_slow()

    def _refuse_if_too_slow(self) -> None:
        n = self._scores.data.n_variables
        one_by_one = self._rules.n_families() if self.is_dense else 0
        if not self.is_counted and self.layers:
            one_by_one += len(self.layers) * sum(
                math.comb(n, size) for size in range(min(n, self._rules.max_parents + 1) + 1)
            )
        if one_by_one > _MAX_ONE_BY_ONE:
            cause = (
                "this graph_prior" if self._prior is not None
                else "a score without tabulated terms, or fractional weights,"
            )
            raise ValueError(
                f"An exact search over {n} variables with {cause} has {one_by_one} families "
                f"to look at one by one, more than the {_MAX_ONE_BY_ONE} that end in reasonable "
                "time. Set max_parents, use fewer columns, or choose another search."
            )

    @property
    def key(self) -> tuple[int, float]:
        """What tells the scores of one table apart."""
        return id(self._scores.score), self._scores.ess

    @property
    def n_stages(self) -> int:
        """How many groups of calls `fill_layers` and `dense_tasks` are, to say how much is done."""
        return bool(self.layers) + len(self._numbering) * self.is_dense

    def memory(self, n_at_once: int, n_threads: int) -> int:
        """Bytes for the numbers of so many scores like this one, and for filling them."""
        n_sets = 2**self._scores.data.n_variables
        needed = 8 * (n_at_once * len(self.layers) + (len(self.plus) + 1) * self.is_dense) * n_sets
        if self.is_counted:
            n_layers = n_at_once * len(self.layers)
            needed += self._counting.table_memory(n_layers)
            needed += self._counting.remembered_memory()
            needed += n_threads * self._counting.memory(n_layers)
        return needed

    def _family(self, r: int, n_parent_states: int, n_parents: int) -> Family:
        data = self._scores.data
        return Family(
            r, n_parent_states, n_parents, data.n_variables, data.n_samples, self._scores.ess
        )

    def _plan_layers(self) -> None:
        signatures = self._counting.signatures
        sizes = np.array(signatures.sizes, dtype=np.float64)
        if is_set_score(self._scores.score):
            set_terms, set_terms_at = self._set_terms()
            potential = self._potential()
            if potential is not None:
                potential -= self._penalty * sizes * (sizes - 1) / 2
                self.layers = [Layer(set_terms, potential, set_terms_at)]
                return
            cell_layers = [Layer(set_terms, np.zeros(signatures.n), set_terms_at)]
            parent_terms = [(set_terms, set_terms_at)] * len(signatures.classes)
        else:
            cell_layers = self._cell_layers()
            parent_terms = [
                (self._parent_terms_of(k), None) for k in range(len(signatures.classes))
            ]
        self.layers = list(cell_layers)
        for k, (of_signature, terms_at) in enumerate(parent_terms):
            self.layers.append(
                Layer(of_signature, self._penalty * sizes - self._constants(k), terms_at)
            )
        for child, k in enumerate(signatures.class_of):
            self.plus[child] = k if len(cell_layers) > 1 else 0
            self.minus[child] = len(cell_layers) + k

    def _set_terms(self) -> tuple[Callable[[int], Terms], Callable]:
        """Terms of a `SetScore`, for one signature and for many at once."""
        score, ess, states = self._scores.score, self._scores.ess, self._counting.signatures.states
        log_states = np.array([math.log(n_states) for n_states in states])
        return (
            lambda signature: lambda counts: score.set_terms(counts, states[signature], ess),
            lambda counts, which: score.set_terms_of_many(counts, which, log_states, ess),
        )

    def _family_of_set(self, k: int, signature: int) -> Family:
        """A child of class k with parents that make up a set of this signature with it."""
        signatures = self._counting.signatures
        r = signatures.classes[k]
        return self._family(
            r, signatures.states[signature] // r, signatures.sizes[signature] - 1
        )

    def _family_of_parents(self, k: int, signature: int) -> Family | None:
        """A child of class k with parents of this signature; None if they take that whole class."""
        signatures = self._counting.signatures
        if signatures.members[signature][k] == signatures.multiplicities[k]:
            return None
        return self._family(
            signatures.classes[k], signatures.states[signature], signatures.sizes[signature]
        )

    def _parent_terms_of(self, k: int) -> Callable[[int], Terms | None]:
        def of_signature(signature: int) -> Terms | None:
            family = self._family_of_parents(k, signature)
            if family is None:
                return None
            return lambda counts: terms_of(self._scores.score.parent_terms, counts, family)

        return of_signature

    def _cell_layers(self) -> list[Layer]:
        """Cell terms per class of the child, or once if they are the same for all classes."""
        score, counting = self._scores.score, self._counting
        signatures = counting.signatures
        counts = np.append(np.arange(1.0, counting.table_length), self._scores.data.n_samples)

        def of_signature(signature: int, k: int | None) -> Terms | None:
            members = signatures.members[signature]
            if k is None:
                k = next((k for k, count in enumerate(members) if count), None)
            if k is None or not members[k]:
                return None
            family = self._family_of_set(k, signature)
            return lambda counts: terms_of(score.cell_terms, counts, family)

        def differ(signature: int) -> bool:
            tables = [
                of_signature(signature, k)(counts)
                for k, count in enumerate(signatures.members[signature]) if count
            ]
            return any(not np.array_equal(tables[0], table) for table in tables[1:])

        nothing = np.zeros(signatures.n)
        if any(differ(signature) for signature in range(signatures.n)):
            return [
                Layer(lambda signature, k=k: of_signature(signature, k), nothing)
                for k in range(len(signatures.classes))
            ]
        return [Layer(lambda signature: of_signature(signature, None), nothing)]

    def _constant(self, family: Family) -> float:
        value = constant_of(self._scores.score, family)
        if not value < math.inf:
            raise ValueError(
                f"{brief(self._scores.score)} gave the constant {value} for a variable of "
                f"{family.cardinality} states with {family.n_parents} parents. A score is a number "
                "of nats, or -inf where a family may not be."
            )
        return value

    def _constants(self, k: int) -> np.ndarray:
        """Constants of the families of a child of class k, by signature of the parents."""
        constants = np.zeros(self._counting.signatures.n)
        if not has_constant(self._scores.score):
            return constants
        for signature in range(len(constants)):
            family = self._family_of_parents(k, signature)
            if family is not None:
                constants[signature] = self._constant(family)
        return constants

    def _potential(self) -> np.ndarray | None:
        """u with constant(family) = u({X} u P) - u(P), by signature, if there is one.

        The constants of equivalent scores have one, as the scores themselves do.
        """
        signatures = self._counting.signatures
        potential = np.zeros(signatures.n)
        if not has_constant(self._scores.score):
            return potential
        for signature in range(1, signatures.n):
            values = [
                potential[signature - signatures.strides[k]]
                + self._constant(self._family_of_set(k, signature))
                for k, count in enumerate(signatures.members[signature]) if count
            ]
            tolerance = 1e-13 * max(map(abs, values))
            if not math.isfinite(tolerance) or max(values) - min(values) > tolerance:
                return None
            # The largest class last, so that sums of growing penalties lose no digits.
            potential[signature] = values[-1]
        return potential

    def dense_tasks(self) -> Iterator[CallGroup]:
        """Groups of calls that work out what has to be looked at family by family."""
        if not self.is_dense:
            return
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
        self.numbers.append(np.zeros(2**n))
        self.plus, self.minus = list(range(n)), [n] * n

    def discourage(self, per_edge: float) -> None:
        """Take so much from every local score for each parent; changes the numbers in place."""
        is_potential = self.plus == self.minus
        for number in set(self.minus):
            row = self.numbers[number]
            for start in range(0, len(row), _AT_ONCE):
                sizes = np.bitwise_count(np.arange(start, min(start + _AT_ONCE, len(row))))
                sizes = sizes.astype(np.float64)
                change = -sizes * (sizes - 1) / 2 if is_potential else sizes
                row[start : start + _AT_ONCE] += per_edge * change

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
                f"The score of variable {self._numbering[child]} given the parents "
                f"[{first_few(given)}] is {value}: a score and a graph prior must be finite, or "
                "minus infinity."
            )
        local[parents | 1 << child] += value


def fill_layers(
    plans: Sequence[SubsetScores], counting: SubsetSums, max_size: int
) -> Iterator[tuple[float, CallGroup]]:
    """Groups of calls that sum the layers of several scores of one table, and shares of the work.

    The plans get their numbers; those of sets of more than `max_size` members stay 0.
    """
    n = counting.data.n_variables
    layers = [layer for plan in plans for layer in plan.layers]
    if not layers:
        return
    # Zeros, for arithmetic on whole arrays, where sets of too many members are never filled.
    sums = np.zeros((len(layers), 2**n + _PADDING))
    rows = iter(sums[:, : 2**n])
    for plan in plans:
        plan.numbers = list(islice(rows, len(plan.layers)))
    if plans[0].is_counted:
        yield from counting.tasks(layers, max_size, sums)
    else:
        yield 1.0, _one_by_one(layers, counting, max_size, sums)


def _one_by_one(
    layers: Sequence[Layer], counting: SubsetSums, max_size: int, sums: np.ndarray
) -> CallGroup:
    """The same sums from counts of any weights."""
    data = counting.data
    signatures = counting.signatures.of_subsets(data.n_variables)

    def fill(sets: list[int]) -> None:
        for members in sets:
            counts = np.sort(count_joint_states(data, list(bits(members))).counts)
            signature = int(signatures[members])
            for layer, row in zip(layers, sums, strict=True):
                terms = layer.terms_of(signature)
                if terms is not None:
                    row[members] = float(np.sum(terms(counts))) + layer.constants[signature]

    sets = (s for s in range(2**data.n_variables) if s.bit_count() <= max_size)
    return _batches(fill, sets)


def _batches(function: Callable[[list[int]], None], sets: Iterator[int]) -> CallGroup:
    """Calls of a function of a list of sets, not native."""
    calls = []
    while batch := list(islice(sets, _BATCH)):
        calls.append(lambda batch=batch: function(batch))
    return CallGroup(calls, False)
