"""Exact search: the best network over all directed acyclic graphs."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from joblib import effective_n_jobs

from skbn.counting.counts import count_family
from skbn.counting.data import CategoricalData
from skbn.counting.memory import memory_limit, refuse_if_too_large
from skbn.graphs.graph_prior import EdgePenalty, LogPrior
from skbn.scores.local_scores import LocalScores
from skbn.scores.score import Family, constant_of, terms_of
from skbn.search._subsets import best_subset, fill_pieces, n_pieces, settle_piece, spread_block
from skbn.subsets.parent_sets import ParentRules, as_set, bits
from skbn.subsets.signatures import Signatures
from skbn.subsets.subset_scores import SubsetScores, fill_layers
from skbn.subsets.subset_sums import SubsetSums
from skbn.subsets.workers import CallGroup, Workers

# Relative to the score of the empty network. Float noise is below 1e-14, and must not decide: a
# set's last variable must win by more than _TIE. What that can lose along an order of 30 variables
# is less than _EDGE, what every edge costs so that fewer edges win.
_TIE = 2e-14
_EDGE = 2e-12
# Best local scores are worked out block by block; a block of all children takes the larger of
# this and twice the numbers themselves, in bytes.
_BLOCK_MEMORY = 64 * 2**20
_MAX_TAIL = 24
# Several scores are summed at once while their numbers take no more than so many bytes.
_GRID_MEMORY = 2**30
# Sets that one native call looks at, so that it stays well below a second.
_CALL_SETS = 2**22
_CALLS_PER_BLOCK = 64
_SETTLED_BITS = 6
# Calls on less than so many pieces, or sets, are hardly worth the making.
_CALL_PIECES = 4
_SETTLED_SETS_BITS = 12
_PADDING = 2**10 + 64
# One table is often searched several times, for different scores or equivalent sample sizes.
_COUNTING: WeakKeyDictionary[CategoricalData, SubsetSums] = WeakKeyDictionary()


class ExactNetwork(NamedTuple):
    """The best network.

    Attributes
    ----------
    parents : list of tuple of int
        Parents of each variable, ascending.
    score : float
        Its score with the graph prior, in nats.
    """

    parents: list[tuple[int, ...]]
    score: float


def exact_search(
    scores: LocalScores,
    *,
    max_parents: int | None = None,
    allowed: np.ndarray | None = None,
    required: np.ndarray | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> ExactNetwork:
    """The best network over all DAGs, by dynamic programming over the subsets of the variables.

    Time and memory double with every further variable. The method is that of Silander and
    Myllymaki (2006). Where networks tie, one with the fewest edges is returned. Of several such,
    edges lead to the variables of more states, and of as many to the later ones: in that order
    the highest variable that can have no children has none, then the highest of the rest that can
    have none among the rest, and so on; of the parent sets that are left, the one comes that lacks
    the highest variable by which they differ.

    Parameters
    ----------
    scores : LocalScores
        With the graph prior, if any.
    max_parents : int or None
        Largest number of parents of a variable.
    allowed : ndarray of shape (n_variables, n_variables), bool, or None
        ``allowed[p, c]`` says that p may be a parent of c; None allows all. The diagonal is not
        read.
    required : ndarray of shape (n_variables, n_variables), bool, or None
        ``required[p, c]`` says that p must be a parent of c.
    max_memory : int or None
        Bytes that the search may take; None for the memory that is available.
    n_jobs : int or None
        Threads, as joblib counts them. The result does not depend on it.
    progress : callable or None
        Called with the fraction that is done, from the calling thread.

    Returns
    -------
    ExactNetwork

    Raises
    ------
    MemoryError
        Before anything is allocated, if the search would take more than `max_memory`.
    ValueError
        If no network meets the constraints, or families have to be scored one by one and are too
        many.
    """
    (network,) = exact_searches(
        [scores], max_parents=max_parents, allowed=allowed, required=required,
        max_memory=max_memory, n_jobs=n_jobs, progress=progress,
    )
    return network


def exact_searches(
    scores: Sequence[LocalScores],
    *,
    max_parents: int | None = None,
    allowed: np.ndarray | None = None,
    required: np.ndarray | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[ExactNetwork]:
    """The best network for each equivalent sample size, all sets of variables counted once.

    What `exact_search` finds for each of `scores`, to the last bit, in a fraction of the time.

    Parameters
    ----------
    scores : sequence of LocalScores
        Of one table, and with one score; only the equivalent sample sizes differ.
    max_parents, allowed, required, max_memory, n_jobs, progress
        As in `exact_search`. Where `max_memory` is too little for all of `scores` at once, the
        sets are counted several times.

    Returns
    -------
    list of ExactNetwork

    Raises
    ------
    MemoryError, ValueError
        As `exact_search`.
    """
    if not scores:
        return []
    data = scores[0].data
    if any(other.data is not data or other.score != scores[0].score for other in scores):
        raise ValueError("All scores must be of the same table, and the same but for their ess.")
    n = data.n_variables
    n_tail = _tail(n)
    limit = memory_limit(max_memory)
    # The rest of the estimate takes its time for very many columns: the least comes first.
    fixed = _search_memory(n, n_tail) + Signatures(data.cardinalities.tolist()).memory
    _refuse_if_too_large(n, 8 * 2**n + fixed, limit)
    # Variables with few states come first: the counting ends with them.
    order = np.argsort(data.cardinalities, kind="stable").tolist()
    rules = _rules(order, max_parents, allowed, required)
    counting = _counting_of(data, order)
    ordered = counting.data
    scales = _scales(scores)
    plans = [
        SubsetScores(
            LocalScores(ordered, one.score, one.ess), counting, rules,
            *_prior(order, one.log_prior, _EDGE * scale), order,
        )
        for one, scale in zip(scores, scales, strict=True)
    ]
    n_threads = max(1, effective_n_jobs(n_jobs))
    _refuse_if_too_large(n, plans[0].memory(1, n_threads) + fixed, limit)
    at_once = _at_once(plans[0], len(plans), n_threads, limit - fixed)

    if plans[0].is_counted:
        counting.prepare()
    room = _room(n, n_tail)
    networks = []
    with Workers(n_threads, progress) as workers:
        for start in range(0, len(plans), at_once):
            chosen = plans[start : start + at_once]
            # Typically, counting is most of the work.
            share = 0.75 / chosen[0].n_stages / len(plans)
            for part, group in fill_layers(chosen, counting, min(n, rules.max_parents + 1)):
                workers.run(group, part * share * len(chosen))
            for k, subsets in enumerate(chosen, start):
                for group in subsets.dense_tasks():
                    workers.run(group, share)
                found = _best_parents_of_all(
                    subsets, rules, room, n, n_tail, _TIE * scales[k], workers, 0.25 / len(plans)
                )
                subsets.numbers = []
                if found is None:
                    raise ValueError(
                        "No acyclic graph meets the constraints: the required edges are not all "
                        f"allowed, form a cycle, or are more than max_parents={max_parents} for "
                        "some variable."
                    )
                parents: list[tuple[int, ...]] = [()] * n
                for child, members in enumerate(found):
                    parents[order[child]] = tuple(sorted(order[b] for b in bits(members)))
                networks.append(ExactNetwork(parents, scores[k].total(parents)))
    return networks


def _counting_of(data: CategoricalData, order: list[int]) -> SubsetSums:
    """The counts of a table with its columns in this order; the same object for the same table."""
    counting = _COUNTING.get(data)
    if counting is None:
        counting = SubsetSums(CategoricalData(
            np.ascontiguousarray(data.codes[order]), data.cardinalities[order], data.weights,
            data.n_samples,
        ))
        _COUNTING[data] = counting
    return counting


def _scales(scores: Sequence[LocalScores]) -> list[float]:
    """What differences between scores are small or large beside: the empty network's score."""
    data = scores[0].data
    alone = [
        (int(r), *count_family(data, child, ())) for child, r in enumerate(data.cardinalities)
    ]
    scales = []
    for one in scores:
        values = []
        for r, cells, total in alone:
            family = Family(r, 1, 0, data.n_variables, data.n_samples, one.ess, 1)
            values.append(
                float(np.sum(terms_of(one.score.cell_terms, cells, family)))
                - float(np.sum(terms_of(one.score.parent_terms, total, family)))
                + constant_of(one.score, family)
            )
        scales.append(math.fsum(abs(value) for value in values if math.isfinite(value)) or 1.0)
    return scales


def _at_once(subsets: SubsetScores, n_scores: int, n_threads: int, room: float) -> int:
    """How many scores are summed at once, of so many like this one."""
    while n_scores > 1:
        needed = subsets.memory(n_scores, n_threads)
        if needed <= room and needed - subsets.memory(1, n_threads) <= _GRID_MEMORY:
            break
        n_scores -= 1
    return n_scores


def _rules(
    order: list[int], max_parents: int | None, allowed: np.ndarray | None,
    required: np.ndarray | None,
) -> ParentRules:
    n = len(order)
    every = np.ones((n, n), dtype=bool) if allowed is None else np.array(allowed, dtype=bool)
    needed = np.zeros((n, n), dtype=bool) if required is None else np.array(required, dtype=bool)
    for name, matrix in (("allowed", every), ("required", needed)):
        if matrix.shape != (n, n):
            raise ValueError(f"{name} must have shape {(n, n)}, got {matrix.shape}.")
    np.fill_diagonal(every, False)
    every, needed = every[np.ix_(order, order)], needed[np.ix_(order, order)]
    return ParentRules(
        [as_set(np.flatnonzero(every[:, child])) for child in range(n)],
        [as_set(np.flatnonzero(needed[:, child])) for child in range(n)],
        n - 1 if max_parents is None else min(n - 1, int(max_parents)),
    )


def _prior(
    order: list[int], log_prior: LogPrior | None, per_edge: float
) -> tuple[float, Callable[[int, int], float] | None]:
    """The penalty per edge, and the prior in terms of the variables as they are ordered here."""
    if log_prior is None:
        return per_edge, None
    if isinstance(log_prior, EdgePenalty):
        return log_prior.per_edge + per_edge, None

    def prior(child: int, parents: int) -> float:
        return float(log_prior(order[child], tuple(sorted(order[b] for b in bits(parents)))))

    return per_edge, prior


def _tail(n: int) -> int:
    """How many variables the sets of one block range over."""
    n_tail = min(n, _MAX_TAIL)
    while n_tail > 1 and 8 * n * 2**n_tail > max(_BLOCK_MEMORY, 16 * 2**n):
        n_tail -= 1
    return n_tail


def _room(n: int, n_tail: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores and sinks of all sets, and best local scores of one block, for every child."""
    # Rows a power of two apart would push each other out of the caches.
    return np.empty(2**n), np.empty(2**n, np.uint8), np.empty((n, 2**n_tail + _PADDING))


def _search_memory(n: int, n_tail: int) -> int:
    """Bytes of scores and sinks of all sets and of the best local scores of one block."""
    return 9 * 2**n + 8 * n * (2**n_tail + _PADDING)


def _refuse_if_too_large(n: int, needed: int, limit: float) -> None:
    refuse_if_too_large(
        needed, limit, f"An exact search over {n} variables takes",
        "Use fewer columns, or another search, such as 'greedy' or 'order'; "
        "ExactSearch(max_memory=) sets the limit.",
    )


def _best_parents_of_all(
    subsets: SubsetScores, rules: ParentRules, room: tuple[np.ndarray, ...], n: int, n_tail: int,
    tie: float, workers: Workers, share: float,
) -> list[int] | None:
    """Parents of each variable in the best network; None if there is none."""
    sinks, best = _best_sinks(subsets, rules, room, n, n_tail, tie, workers, share)
    return None if best == -math.inf else _best_parents(subsets, rules, sinks, tie)


def _best_sinks(
    subsets: SubsetScores, rules: ParentRules, room: tuple[np.ndarray, ...], n: int, n_tail: int,
    tie: float, workers: Workers, share: float,
) -> tuple[np.ndarray, float]:
    """The last variable of the best network over every set, and the best score of all."""
    scores, sinks, best = room
    for start in range(0, 2**n, _CALL_SETS):
        scores[start : start + _CALL_SETS] = -np.inf
        sinks[start : start + _CALL_SETS] = 0
    scores[0] = 0.0
    n_blocks = 2 ** (n - n_tail)

    plus, minus = (np.array(rows, dtype=np.int32) for rows in (subsets.plus, subsets.minus))
    allowed, required = (np.array(sets, dtype=np.int64) for sets in (rules.allowed, rules.required))
    n_calls = max(1, min(_CALLS_PER_BLOCK, n_pieces(n_tail) // _CALL_PIECES))
    edges = np.linspace(0, n_pieces(n_tail), n_calls + 1, dtype=np.int64).tolist()
    # Pieces in which the sets of the settled ones grow: by the number of members they share.
    n_bits = max(n_tail - _SETTLED_BITS, min(n_tail, _SETTLED_SETS_BITS))
    layers = [
        [piece for piece in range(2 ** (n_tail - n_bits)) if piece.bit_count() == size]
        for size in range(n_tail - n_bits + 1)
    ]

    def fill(prefix: int, start: int, stop: int) -> None:
        fill_pieces(
            subsets.numbers, plus, minus, allowed, required, rules.max_parents,
            n_tail, prefix, start, stop, best,
        )

    for prefix in range(n_blocks):
        outside = [child for child in range(n) if not prefix << n_tail & 1 << child]
        calls = [
            partial(fill, prefix, start, stop) for start, stop in pairwise(edges) if start < stop
        ]
        workers.run(CallGroup(calls, True), 0.6 * share / n_blocks)
        calls = [partial(spread_block, best[child], n_tail, child) for child in outside]
        workers.run(CallGroup(calls, True), 0.3 * share / n_blocks)
        for layer in layers:
            calls = [
                partial(settle_piece, scores, sinks, best, n_tail, prefix, n_bits, piece, tie)
                for piece in layer
            ]
            workers.run(CallGroup(calls, True), 0.1 * share / n_blocks / len(layers))
    return sinks, float(scores[-1])


def _best_parents(
    subsets: SubsetScores, rules: ParentRules, sinks: np.ndarray, tie: float
) -> list[int]:
    """Parents of each variable in the network that the sinks describe."""
    parents = [0] * len(rules.allowed)
    left = len(sinks) - 1
    while left:
        child = int(sinks[left])
        left &= ~(1 << child)
        candidates = left & rules.allowed[child]
        best, best_score, part = 0, -math.inf, 0
        while True:
            best, best_score, part = best_subset(
                subsets.numbers[subsets.plus[child]], subsets.numbers[subsets.minus[child]],
                child, candidates, rules.required[child], rules.max_parents,
                part, _CALL_SETS, best, best_score, tie,
            )
            if not part:
                break
        parents[child] = best
    return parents
