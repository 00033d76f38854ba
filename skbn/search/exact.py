"""Exact search: the best network over all directed acyclic graphs."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from skbn.counting.counts import count_family
from skbn.resources import CallGroup, Workers, memory_limit, refuse_if_too_large
from skbn.scores.local_scores import LocalScores
from skbn.scores.score import Family, constant_of, terms_of
from skbn.search._exact import best_subset, fill_pieces, n_pieces, settle_piece, spread_block
from skbn.subsets.all_families import AllFamilies
from skbn.subsets.parent_sets import ParentRules, bits
from skbn.subsets.subset_scores import SubsetScores

# Relative to the score of the empty network. Float noise is below 1e-14, and must not decide: a
# set's last variable must win by more than _TIE. What that can lose along an order of 30 variables
# is less than _EDGE, what every edge costs so that fewer edges win.
_TIE = 2e-14
_EDGE = 2e-12
# Best local scores are worked out block by block; a block of all children takes the larger of
# this and twice the numbers themselves, in bytes.
_BLOCK_MEMORY = 64 * 2**20
_MAX_TAIL = 24
# Sets that one native call looks at, so that it stays well below a second.
_CALL_SETS = 2**22
_CALLS_PER_BLOCK = 64
_SETTLED_BITS = 6
# Calls on less than so many pieces, or sets, are hardly worth the making.
_CALL_PIECES = 4
_SETTLED_SETS_BITS = 12
_PADDING = 2**10 + 64


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


def exact_searches(
    scores: Sequence[LocalScores],
    families: AllFamilies,
    *,
    max_memory: float | None = None,
    n_jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[ExactNetwork]:
    """The best network over all DAGs, by dynamic programming over the subsets of the variables.

    Scores differ in nothing but their ess. Refused with a MemoryError, before anything is
    allocated, if it would take more than `max_memory`; where that is too little for all scores at
    once, the sets are counted several times.

    Time and memory double with every further variable. The method is that of Silander and
    Myllymaki (2006). Where networks tie, one with the fewest edges is returned. Of several such,
    edges lead to the variables of more states, and of as many to the later ones: in that order
    the highest variable that can have no children has none, then the highest of the rest that can
    have none among the rest, and so on; of the parent sets that are left, the one comes that lacks
    the highest variable by which they differ.
    """
    if not scores:
        return []
    if any(one.data is not families.table or one.score != scores[0].score for one in scores):
        raise ValueError("All scores must be of the same table, and the same but for their ess.")
    n = families.n
    n_tail = _tail(n)
    limit = memory_limit(max_memory)
    # The rest of the estimate takes its time for very many columns: the least comes first.
    fixed = _search_memory(n, n_tail) + families.lists_memory
    _refuse_if_too_large(n, 8 * 2**n + fixed, limit)
    plans = [families.plan(one) for one in scores]
    n_threads = max(1, effective_n_jobs(n_jobs))
    _refuse_if_too_large(n, plans[0].memory(1, n_threads) + fixed, limit)
    room = _room(n, n_tail)
    networks = []
    with Workers(n_threads, progress) as workers:
        filled = families.filled(plans, workers, limit - fixed, share=0.75 / len(plans))
        for one, scale, subsets in zip(scores, _scales(scores), filled, strict=True):
            subsets.discourage(_EDGE * scale)
            found = _best_parents_of_all(
                subsets, families.rules, room, n_tail, _TIE * scale, workers, 0.25 / len(plans)
            )
            if found is None:
                raise ValueError(
                    "No acyclic graph meets the constraints: the required edges are not all "
                    "allowed, form a cycle, or are more than "
                    f"max_parents={families.rules.max_parents} for some variable."
                )
            parents: list[tuple[int, ...]] = [()] * n
            for child, members in enumerate(found):
                given = (families.order[b] for b in bits(members))
                parents[families.order[child]] = tuple(sorted(given))
            networks.append(ExactNetwork(parents, one.total(parents)))
    return networks


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
    subsets: SubsetScores, rules: ParentRules, room: tuple[np.ndarray, ...], n_tail: int,
    tie: float, workers: Workers, share: float,
) -> list[int] | None:
    """Parents of each variable in the best network; None if there is none."""
    sinks, best = _best_sinks(subsets, rules, room, n_tail, tie, workers, share)
    return None if best == -math.inf else _best_parents(subsets, rules, sinks, tie)


def _best_sinks(
    subsets: SubsetScores, rules: ParentRules, room: tuple[np.ndarray, ...], n_tail: int,
    tie: float, workers: Workers, share: float,
) -> tuple[np.ndarray, float]:
    """The last variable of the best network over every set, and the best score of all."""
    scores, sinks, best = room
    n = len(rules.allowed)
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
