# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Kernels of the dynamic programming over all subsets of the variables.

A set is a number whose bit b stands for variable b. Subsets of the lowest variables, under one
choice of the others (the prefix), are contiguous, and every call works on one such block.
All kernels release the GIL and trust their caller.
"""

# Python's own allocator that needs no GIL: tracemalloc sees it, and tests can have it fail.
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t


# Best local scores are worked out in pieces of so many bits, which stay in the first-level cache.
cdef int64_t PIECE = 10


cdef inline int64_t size_of(int64_t members) noexcept nogil:
    cdef int64_t n = 0
    while members:
        members &= members - 1
        n += 1
    return n


cdef void fill_unlimited(
    const double* plus, const double* minus, int64_t own, int64_t size, double* best,
) noexcept nogil:
    """best = max(best, plus - minus) for all sets of a piece that `own` is no member of."""
    cdef int64_t i, run, start, stop
    cdef double value
    if own < size and own >= 16:
        for run in range(size // (2 * own)):
            start = 2 * own * run
            for i in range(start, start + own):
                value = plus[i] - minus[i]
                best[i] = value if value > best[i] else best[i]
        return
    # Runs without a low bit would be short: sets with it are worked out as well, for nothing,
    # but the last ones, for which `plus` would be read past its end.
    stop = size - own if own < size else size
    for i in range(stop):
        value = plus[i] - minus[i]
        best[i] = value if value > best[i] else best[i]


cdef void fill_limited(
    const double* plus, const double* minus, int64_t allowed, int64_t required,
    int64_t max_size, double* best,
) noexcept nogil:
    """The same for subsets of `allowed` that hold `required` and have at most `max_size`."""
    cdef int64_t i = 0
    cdef double value
    while True:
        if (i & required) == required and size_of(i) <= max_size:
            value = plus[i] - minus[i]
            if value > best[i]:
                best[i] = value
        if i == allowed:
            break
        i = (i - allowed) & allowed


cdef void spread_piece(double* best, int64_t n_bits, int64_t left_out) noexcept nogil:
    """best[S] = max over the subsets of S, in place; the bit `left_out` is no member of any S."""
    cdef int64_t bit, half, run, i, size = (<int64_t>1) << n_bits
    cdef double* lower
    cdef double* upper
    for bit in range(n_bits):
        if bit == left_out:
            continue
        half = (<int64_t>1) << bit
        # Loops of so few steps would cost more than the steps.
        if half == 1:
            for i in range(0, size, 2):
                best[i + 1] = best[i + 1] if best[i + 1] > best[i] else best[i]
            continue
        if half == 2:
            for i in range(0, size, 4):
                best[i + 2] = best[i + 2] if best[i + 2] > best[i] else best[i]
                best[i + 3] = best[i + 3] if best[i + 3] > best[i + 1] else best[i + 1]
            continue
        if half == 4:
            for run in range(size // 8):
                lower = best + 8 * run
                upper = lower + 4
                for i in range(4):
                    upper[i] = upper[i] if upper[i] > lower[i] else lower[i]
            continue
        for run in range(size // (2 * half)):
            lower = best + 2 * half * run
            upper = lower + half
            for i in range(half):
                upper[i] = upper[i] if upper[i] > lower[i] else lower[i]


cdef void spread(double* best, int64_t n_bits, int64_t n_done, int64_t left_out) noexcept nogil:
    """The same from bit `n_done` on, the halves of the sets one after the other."""
    cdef int64_t half, i
    cdef double* upper
    if n_bits == n_done:
        return
    half = (<int64_t>1) << (n_bits - 1)
    spread(best, n_bits - 1, n_done, left_out)
    if n_bits - 1 == left_out:
        return
    upper = best + half
    for i in range(half):
        upper[i] = upper[i] if upper[i] > best[i] else best[i]
    spread(upper, n_bits - 1, n_done, left_out)


def fill_pieces(
    list numbers, const int32_t[::1] plus, const int32_t[::1] minus,
    const int64_t[::1] allowed, const int64_t[::1] required, int64_t max_parents,
    int64_t n_tail, int64_t prefix, int64_t start, int64_t stop, double[:, ::1] best,
):
    """Best local scores over those subsets of the sets of a block that differ in low bits.

    To be followed by `spread_block`. The sets of a block have the members `prefix` from bit
    `n_tail` upward; a piece of it is the sets that agree but for the lowest bits.

    Parameters
    ----------
    numbers, plus, minus
        The local score of c given P is
        ``numbers[plus[c]][P | 1 << c] - numbers[minus[c]][P]``; arrays of 2 ** n_variables.
    allowed, required, max_parents
        The parents of c come from the set ``allowed[c]``, hold ``required[c]``, and are at most
        so many.
    start, stop : int
        The pieces to fill, of `n_pieces`.
    best : (n_variables, at least 2 ** n_tail), out
        Minus infinity where no parent set is possible; not defined for sets with the child.

    Notes
    -----
    All children take their turn in one piece, as they read the same numbers.
    """
    cdef int64_t n_bits = min(PIECE, n_tail)
    cdef int64_t size = (<int64_t>1) << n_bits
    cdef int64_t n = best.shape[0]
    cdef int64_t low = size - 1
    cdef int64_t child, own, piece, first, fixed, part, members, n_members, i
    cdef int64_t low_allowed, low_required
    cdef const double[::1] array
    cdef const double* x
    cdef const double* y
    cdef const double** pointers = <const double**>malloc(len(numbers) * sizeof(double*))
    if pointers == NULL:
        raise MemoryError("pointers to the numbers of all sets")
    for i in range(len(numbers)):
        array = numbers[i]
        pointers[i] = &array[0]
    with nogil:
        for piece in range(start, stop):
            first = piece << n_bits
            # The members of all sets of the piece.
            fixed = (prefix << n_tail) | first
            for child in range(n):
                if not fixed >> child & 1:
                    for i in range(size):
                        best[child, first + i] = -INFINITY
            # All subsets of the prefix. Parents have exactly the members of `first` of the tail
            # beyond the piece: `spread_block` brings in the sets with more of them.
            part = 0
            while True:
                members = (part << n_tail) | first
                n_members = size_of(members)
                for child in range(n):
                    own = (<int64_t>1) << child
                    if (
                        fixed & own or members & ~allowed[child]
                        or required[child] & ~low & ~members or n_members > max_parents
                    ):
                        continue
                    low_allowed = allowed[child] & low
                    low_required = required[child] & low
                    x = pointers[plus[child]] + members + own
                    y = pointers[minus[child]] + members
                    if low_required == 0 and ((low_allowed | own) & low) == low and (
                        n_members + n_bits <= max_parents
                    ):
                        fill_unlimited(x, y, own, size, &best[child, first])
                    else:
                        fill_limited(
                            x, y, low_allowed, low_required, max_parents - n_members,
                            &best[child, first],
                        )
                if part == prefix:
                    break
                part = (part - prefix) & prefix
            for child in range(n):
                if not fixed >> child & 1:
                    spread_piece(&best[child, first], n_bits, child)
    free(pointers)


def n_pieces(int64_t n_tail):
    """How many pieces a block has."""
    return (<int64_t>1) << max(0, n_tail - PIECE)


def spread_block(double[::1] best, int64_t n_tail, int64_t child):
    """Take the maximum over all subsets of each set, pieces being done; in place, for one child."""
    with nogil:
        spread(&best[0], n_tail, min(PIECE, n_tail), child)


cdef inline void improve(
    const double* scores, const double* best, double* new_scores, uint8_t* sinks, uint8_t child,
    int64_t n, double tie,
) noexcept nogil:
    """Let `child` come last where that beats what the new scores have by more than a tie."""
    cdef int64_t i
    cdef double value
    for i in range(n):
        value = scores[i] + best[i]
        if value > new_scores[i] + tie:
            new_scores[i] = value
            sinks[i] = child


cdef void settle(
    double* scores, uint8_t* sinks, const double* best, int64_t stride, int64_t n_bits,
    double tie,
) noexcept nogil:
    """Give each set its best last variable among the lowest `n_bits`, in place."""
    cdef int64_t half
    if n_bits == 0:
        return
    half = (<int64_t>1) << (n_bits - 1)
    settle(scores, sinks, best, stride, n_bits - 1, tie)
    improve(
        scores, best + (n_bits - 1) * stride, scores + half, sinks + half,
        <uint8_t>(n_bits - 1), half, tie,
    )
    settle(scores + half, sinks + half, best + half, stride, n_bits - 1, tie)


def settle_piece(
    double[::1] scores, uint8_t[::1] sinks, const double[:, ::1] best, int64_t n_tail,
    int64_t prefix, int64_t n_bits, int64_t piece, double tie,
):
    """Best networks over the sets of one piece of a block, and what later blocks gain from them.

    Pieces come after those with fewer of their members; those with equally many do not meet.

    Parameters
    ----------
    scores : (2 ** n_variables,), in and out
        Score of the best network over each set. The empty set has 0, what is not reached yet
        minus infinity.
    sinks : (2 ** n_variables,), in and out
        The variable that is last in that network's order.
    best : (n_variables, at least 2 ** n_tail)
        Best local scores given subsets of each set of the block, for each child outside it.
    n_tail, prefix : int
        The block.
    n_bits, piece : int
        The sets of a piece differ in the lowest `n_bits` variables.
    tie : float
        Scores that differ by no more are equal.

    Notes
    -----
    Every set meets its possible last variables from the highest to the lowest, however the sets
    are cut into blocks and pieces, and of equal ones the first stays.
    """
    cdef int64_t n = (<int64_t>1) << n_bits
    cdef int64_t offset = piece << n_bits
    cdef int64_t base = (prefix << n_tail) | offset
    cdef int64_t child, own
    with nogil:
        for child in range(n_tail - 1, n_bits - 1, -1):
            own = (<int64_t>1) << child
            if offset & own:
                improve(
                    &scores[base ^ own], &best[child, offset ^ own], &scores[base], &sinks[base],
                    <uint8_t>child, n, tie,
                )
        settle(&scores[base], &sinks[base], &best[0, offset], best.shape[1], n_bits, tie)
        for child in range(n_tail, best.shape[0]):
            own = (<int64_t>1) << child
            if not base & own:
                improve(
                    &scores[base], &best[child, offset], &scores[base | own], &sinks[base | own],
                    <uint8_t>child, n, tie,
                )


def best_subset(
    const double[::1] plus, const double[::1] minus, int64_t child, int64_t candidates,
    int64_t required, int64_t max_parents, int64_t start, int64_t n_steps,
    int64_t best, double best_score, double tie,
):
    """The subset of `candidates` with the best local score, looking at `n_steps` from `start` on.

    Returns the best subset, its score (those passed in if none is better) and the subset to go on
    from, 0 when all were seen. A subset must beat those before it by more than `tie`.
    """
    cdef int64_t own = (<int64_t>1) << child
    cdef int64_t part = start, _step
    cdef double value
    with nogil:
        for _step in range(n_steps):
            if (part & required) == required and size_of(part) <= max_parents:
                value = plus[part | own] - minus[part]
                if value > best_score + tie:
                    best_score = value
                    best = part
            part = (part - candidates) & candidates
            if part == 0:
                break
    return best, best_score, part
