"""Sums over all directed acyclic graphs, and over all orders of the variables."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from skbn.posteriors._dag_sums import (
    exponentials,
    sum_dags_above,
    sum_dags_below,
    sum_orders_above,
    sum_orders_below,
    sum_over_subsets,
    sum_over_supersets,
)
from skbn.posteriors.family_weights import put_in
from skbn.resources import CallGroup, Workers

# Pairs of nested sets that one native call looks at: a fraction of a second.
_CALL_PAIRS = 2**23
# Sets of one block of the sum from below, as a power of two: they stay in the fast caches.
_BLOCK_BITS = 12
# Sets whose orders one call sums.
_CALL_ORDERS = 2**18
_NOTHING = -(2**56)


@dataclass(frozen=True, eq=False)
class Scaled:
    """Numbers of any size, none negative: mantissas from 1 to 2, or 0, times powers of two.

    Unpacked it gives both arrays, as the kernels take them.
    """

    mantissas: np.ndarray
    powers: np.ndarray

    @classmethod
    def zeros(cls, *shape: int) -> "Scaled":
        return cls(np.zeros(shape), np.full(shape, _NOTHING, dtype=np.int64))

    def __iter__(self) -> Iterator[np.ndarray]:
        yield self.mantissas
        yield self.powers

    def __getitem__(self, place) -> "Scaled":
        return Scaled(self.mantissas[place], self.powers[place])

    def __mul__(self, other: "Scaled") -> "Scaled":
        return Scaled(self.mantissas * other.mantissas, self.powers + other.powers)

    def __truediv__(self, other: "Scaled") -> "Scaled":
        return Scaled(self.mantissas / other.mantissas, self.powers - other.powers)

    def floats(self, unit: int = 0) -> np.ndarray:
        """The numbers in units of 2 ** unit; 0 for what is too small for a float."""
        powers = np.maximum(self.powers - unit, -2000)
        return np.ldexp(self.mantissas, powers.astype(np.int32))

    def log(self) -> float:
        """ln of one number."""
        if not self.mantissas > 0:
            return -math.inf
        return math.log(self.mantissas) + int(self.powers) * math.log(2.0)


class GraphSums:
    """Weights of all graphs, and of all orders, given the weights of the families.

    ``logs[j, P]`` is ln w_j(P) of the parents P of bit j, the child's own bit taken out of P; -inf
    is allowed.

    Attributes
    ----------
    families : Scaled of shape (n_variables, 2 ** (n_variables - 1))
        A_j(U) = sum of w_j(P) over the subsets P of U.
    below, above : Scaled of shape (2 ** n_variables,)
        Weights of all orders of a set, and of all orders of the rest after it.
    high, low : ndarray of shape (2 ** n_variables,)
        After `sum_dags`: B(U), the weight of all ways to complete a graph over U, as sums of two
        doubles in units of 2 ** above.powers.
    floor_power : int
        Terms below this power of two are left out.
    log_order_sum : float
        ln of the sum over all pairs of an order and a graph that agrees with it.

    Notes
    -----
    A graph's weight is the product of its families'. Let R(S) be the weight of all graphs over S
    and B(U) that of all choices of parents for the variables outside U, from all variables, which
    have no cycle outside U. Inclusion and exclusion over the variables that have no children in
    S, or no parents outside U, give both in O(3^n) steps (Tian & He 2009)::

        R(S) = sum over nonempty T in S of (-1)^(|T|+1) R(S - T) prod over j in T of A_j(S - T)
        B(U) = sum over nonempty T outside U of (-1)^(|T|+1) B(U + T) prod over j in T of A_j(U)

    with Z = B(empty) the sum over all graphs. R(U) B(U) / Z is the probability that no edge leads
    into U, and the terms of B(U) that hold j sum to R(U) times what gives the probability that U
    is exactly what does not descend from j: each graph has one such U for each j. From these
    follow the posteriors of all parent sets with positive terms alone.

    Why this loses nothing: Z depends on an error of R(S) or B(S) in the proportion of the
    probability that no edge leads into S, so relative errors of single sums add up to at most
    2^n times the worst of them, and that is 2^n roundings, as a graph with k variables without
    children is counted 2^k - 1 times. The sums are taken with twice the digits of a double, in
    which 4^n roundings are far below one of a double's for all n that can be reached. The A_j are
    sums of positive terms, and their relative errors add up to those of n doubles. The weights of
    the orders, which bound those of the graphs, give every set a unit of its own, so that neither
    large nor small scores leave the range of the numbers; and no term is larger than its unit.
    Terms are left out where they are below 2^-(100 + 6 n) of the whole, which is also what makes
    strongly dependent tables quick: more variables in T never make a term larger.

    References
    ----------
    J. Tian, R. He. Computing Posterior Probabilities of Structural Features in Bayesian Networks.
    UAI 2009. M. Koivisto, K. Sood. Exact Bayesian Structure Discovery in Bayesian Networks. JMLR
    5, 2004.
    """

    def __init__(self, logs: np.ndarray, workers: Workers) -> None:
        self.n = n = len(logs)
        self.logs = logs
        self._workers = workers
        self.families = Scaled.zeros(*logs.shape)
        self._run(partial(self._sum_families, child) for child in range(n))
        self.below, self.above = Scaled.zeros(2**n), Scaled.zeros(2**n)
        for orders, place in ((self.below, 0), (self.above, -1)):
            orders.mantissas[place], orders.powers[place] = 1.0, 0
        calls = []
        for start in range(1, 2**n, _CALL_ORDERS):
            stop = min(start + _CALL_ORDERS, 2**n)
            calls.append(partial(sum_orders_below, *self.families, start, stop, *self.below))
        backward = []
        for start in range(2**n - 1, 0, -_CALL_ORDERS):
            stop = max(start - _CALL_ORDERS, 0)
            backward.append(partial(sum_orders_above, *self.families, start, stop, *self.above))
        for pair in zip(calls, backward, strict=True):
            self._run(pair)
        self._top = int(self.below.powers[-1])
        self.floor_power = self._top - (100 + 6 * n)
        self.log_order_sum = self.below[-1].log()

    @staticmethod
    def memory(n: int) -> int:
        """Bytes that sums and posteriors over n variables take, the logarithms not included."""
        return 24 * n * 2 ** (n - 1) + 64 * 2**n + 2**24

    def sum_dags(self, with_nondescendants: bool = False) -> tuple[float, np.ndarray | None]:
        """ln of the sum over all graphs, and the probabilities of the sets of non-descendants.

        ``[j, U]`` of these: the probability that U is all that does not descend from j, the bit of
        j taken out of U. The logarithm is -inf if no graph has a weight above 0.
        """
        n = self.n
        self.high, self.low = np.zeros((2, 2**n))
        self.high[-1] = 1.0
        last = np.zeros(self.logs.shape if with_nondescendants else (0, 0))
        if self._top <= _NOTHING:
            return -math.inf, None
        below = self._sums_below() if with_nondescendants else (np.zeros(0), np.zeros(0))
        by_size = np.argsort(np.bitwise_count(np.arange(2**n)), kind="stable").astype(np.int64)
        ends = np.cumsum([math.comb(n, size) for size in range(n + 1)])
        for size in range(n - 1, -1, -1):
            sets = by_size[ends[size] - math.comb(n, size) : ends[size]]
            step = max(1, _CALL_PAIRS >> n - size)
            self._run(
                partial(
                    sum_dags_above, sets[start : start + step], *self.families,
                    self.below.powers, self.above.powers, self.floor_power,
                    self.high, self.low, *below, self._top, last,
                )
                for start in range(0, len(sets), step)
            )
        log_sum = self._whole.log()
        if not with_nondescendants or log_sum == -math.inf:
            return log_sum, None
        last /= self._whole.floats(self._top)
        return log_sum, last

    @property
    def _whole(self) -> Scaled:
        """The sum over all graphs."""
        return Scaled(self.high[0], self.above.powers[0])

    def share_of(self, whole: "GraphSums", over_orders: bool) -> float:
        """This sum over another that has all its terms and more, at most 1.

        After `sum_dags` of both, or `over_orders`. The logarithms of sums that are a billion nats
        from 0 have six digits after the point, too few for their difference.
        """
        if over_orders:
            mine, other = self.below[-1], whole.below[-1]
        else:
            mine, other = self._whole, whole._whole
        return min(1.0, float((mine / other).floats())) if mine.mantissas > 0.0 else 0.0

    def predecessors(self) -> np.ndarray:
        """Probabilities of the sets of variables before each variable in the order.

        ``[j, U]``: the probability that the variables U, and no others, precede j.
        """
        result = np.zeros(self.logs.shape)
        places = np.arange(result.shape[1], dtype=np.int64)
        for j in range(self.n):
            sets = put_in(places, j)
            after = sets | 1 << j
            weights = self.below[sets] * self.above[after] * self.families[j]
            result[j] = weights.floats(self._top)
        result /= self.below.mantissas[-1]
        return result

    def parent_sets(self, given: np.ndarray) -> np.ndarray:
        """Posteriors of all parent sets, from `sum_dags` or `predecessors`; overwrites `given`.

        Given the set that parents come from, a parent set has the probability w_j(P) / A_j(U).
        """
        self._run(partial(self._parent_sets, given[child], child) for child in range(self.n))
        return given

    def release(self) -> None:
        """Let go of the threads; what is left can be kept and pickled."""
        self._workers = None

    def _parent_sets(self, row: np.ndarray, child: int) -> None:
        mantissas, powers = np.frexp(row)
        powers = powers.astype(np.int64)
        families = self.families[child]
        known = (row > 0) & (families.mantissas > 0)
        mantissas[known] /= families.mantissas[known]
        powers[known] -= families.powers[known]
        mantissas, more = np.frexp(np.where(known, mantissas, 0.0))
        # Mantissas from 1 to 2.
        powers += more - 1
        mantissas *= 2.0
        powers[~known] = _NOTHING
        sum_over_supersets(mantissas, powers)
        weights = Scaled.zeros(len(row))
        exponentials(self.logs[child], *weights)
        row[:] = (Scaled(mantissas, powers) * weights).floats()

    def _sum_families(self, child: int) -> None:
        exponentials(self.logs[child], *self.families[child])
        sum_over_subsets(*self.families[child])

    def _sums_below(self) -> tuple[np.ndarray, np.ndarray]:
        """R(S) in units of 2 ** below.powers: from block to block of sets, smaller ones first."""
        n = self.n
        n_low = min(n, _BLOCK_BITS)
        high, low = np.zeros((2, 2**n))
        high[0] = 1.0
        step = max(1, _CALL_PAIRS // 3**n_low)
        targets = sorted(range(2 ** (n - n_low)), key=lambda target: (target.bit_count(), target))
        size = 0
        while targets:
            layer = [target for target in targets if target.bit_count() == size]
            targets = targets[len(layer) :]
            size += 1
            sources = [np.array(_subsets(target), dtype=np.int64) for target in layer]
            for start in range(0, len(sources[0]), step):
                self._run(
                    partial(
                        sum_dags_below, target, parts[start : start + step], n_low,
                        *self.families, self.below.powers, self.above.powers,
                        self.floor_power, high, low,
                    )
                    for target, parts in zip(layer, sources, strict=True)
                )
        return high, low

    def _run(self, calls) -> None:
        self._workers.run(CallGroup(list(calls), True), 0.0)


def sum_over_members(values: np.ndarray, child: int) -> np.ndarray:
    """For each variable the sum of a child's values over the sets that hold it.

    The child's bit is taken out of the sets; 0 for the child itself.
    """
    n = len(values).bit_length()
    sums = np.zeros(n)
    others = [variable for variable in range(n) if variable != child]
    for place, variable in enumerate(others):
        sums[variable] = values.reshape(-1, 2, 2**place)[:, 1].sum()
    return sums


def _subsets(members: int) -> Sequence[int]:
    """All subsets of a set, itself last."""
    return list(_iterate_subsets(members))


def _iterate_subsets(members: int) -> Iterator[int]:
    part = 0
    while True:
        yield part
        if part == members:
            return
        part = (part - members) & members
